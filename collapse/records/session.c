#include "share/compat.h"
#include "collapse/records/session.h"

#include "collapse/names/jitdump.h"
#include "share/mem.h"

#include <sys/mman.h>
#include <sys/stat.h>

#define COMM_UNKNOWN UINT32_MAX
#define KERNEL_PID   (-1)
#define GONE_TID     (-1) /* of a task that is being taken down */

void session_init(struct session *session, struct reader *reader, struct modules *modules)
{
	*session = (struct session){.reader = reader, .modules = modules};
	session->kernel = maps_new();
	/* the idle threads share an id and have no COMM record */
	session_thread(session, 0, 0)->comm = strtab_cstr(&session->texts, "swapper");
}

void session_release(struct session *session)
{
	for (size_t i = 0; i < session->nr_thread_slots; i++)
		free(session->threads[i]);
	for (size_t i = 0; i < session->nr_process_slots; i++) {
		if (session->processes[i]) {
			jitdump_free(session->processes[i]->jit);
			maps_unref(session->processes[i]->maps);
			maps_unref(session->processes[i]->replaced);
		}
		free(session->processes[i]);
	}
	free(session->threads);
	free(session->processes);
	free(session->cgroup);
	maps_unref(session->kernel);
	strtab_release(&session->texts);
	*session = (struct session){0};
}

/* ---- tables: pointers by id, open addressing, never removed from ---- */

static size_t slot_by_id(int32_t id, size_t nr_slots)
{
	return hash_u64((uint32_t)id, 1) & (nr_slots - 1);
}

static struct process *find_process(const struct session *session, int32_t pid)
{
	size_t at;

	if (!session->nr_process_slots)
		return NULL;
	at = slot_by_id(pid, session->nr_process_slots);
	while (session->processes[at] && session->processes[at]->pid != pid)
		at = (at + 1) & (session->nr_process_slots - 1);
	return session->processes[at];
}

static struct process *get_process(struct session *session, int32_t pid)
{
	struct process *process = find_process(session, pid);
	size_t at;

	if (process)
		return process;
	if (session->nr_processes >= session->nr_process_slots / 2) {
		struct process **old = session->processes;
		size_t nr_old = session->nr_process_slots;

		session->nr_process_slots = nr_old ? nr_old * 2 : 64;
		session->processes = mem_zalloc(session->nr_process_slots * sizeof(*old));
		for (size_t i = 0; i < nr_old; i++) {
			if (!old[i])
				continue;
			at = slot_by_id(old[i]->pid, session->nr_process_slots);
			while (session->processes[at])
				at = (at + 1) & (session->nr_process_slots - 1);
			session->processes[at] = old[i];
		}
		free(old);
	}
	at = slot_by_id(pid, session->nr_process_slots);
	while (session->processes[at])
		at = (at + 1) & (session->nr_process_slots - 1);
	process = mem_zalloc(sizeof(*process));
	process->pid = pid;
	process->maps = maps_new();
	session->processes[at] = process;
	session->nr_processes++;
	return process;
}

static struct thread *find_thread(const struct session *session, int32_t tid)
{
	size_t at;

	if (!session->nr_thread_slots)
		return NULL;
	at = slot_by_id(tid, session->nr_thread_slots);
	while (session->threads[at] && session->threads[at]->tid != tid)
		at = (at + 1) & (session->nr_thread_slots - 1);
	return session->threads[at];
}

static bool is_counted(const struct thread *thread)
{
	return !thread->is_gone && thread->life == thread->process->life;
}

/* The thread is alive. */
static void count_thread(struct thread *thread)
{
	if (is_counted(thread))
		return;
	thread->process->nr_threads++;
	thread->life = thread->process->life;
	thread->is_gone = false;
}

static void move_to_process(struct session *session, struct thread *thread, int32_t pid)
{
	if (thread->process && is_counted(thread))
		thread->process->nr_threads--;
	thread->pid = pid;
	thread->process = get_process(session, pid);
	thread->is_gone = true;
	count_thread(thread);
}

struct thread *session_find(const struct session *session, int32_t tid)
{
	return find_thread(session, tid);
}

struct thread *session_thread(struct session *session, int32_t pid, int32_t tid)
{
	struct thread *thread = find_thread(session, tid);
	struct thread *leader;
	size_t at;

	if (thread) {
		/*
		 * Of another process than last: the id was given out again. Idle
		 * threads are all number 0, whatever process an old kernel names.
		 */
		if (thread->pid != pid && tid != 0) {
			move_to_process(session, thread, pid);
			thread->comm = COMM_UNKNOWN;
		} else if (UNLIKELY(thread->life != thread->process->life)) {
			count_thread(thread);
		}
		return thread;
	}
	if (session->nr_threads >= session->nr_thread_slots / 2) {
		struct thread **old = session->threads;
		size_t nr_old = session->nr_thread_slots;

		session->nr_thread_slots = nr_old ? nr_old * 2 : 64;
		session->threads = mem_zalloc(session->nr_thread_slots * sizeof(*old));
		for (size_t i = 0; i < nr_old; i++) {
			if (!old[i])
				continue;
			at = slot_by_id(old[i]->tid, session->nr_thread_slots);
			while (session->threads[at])
				at = (at + 1) & (session->nr_thread_slots - 1);
			session->threads[at] = old[i];
		}
		free(old);
	}
	at = slot_by_id(tid, session->nr_thread_slots);
	while (session->threads[at])
		at = (at + 1) & (session->nr_thread_slots - 1);
	thread = mem_zalloc(sizeof(*thread));
	thread->tid = tid;
	move_to_process(session, thread, pid);
	/* a thread that was never announced most likely kept its leader's name */
	leader = pid != tid && tid != GONE_TID ? find_thread(session, pid) : NULL;
	thread->comm = leader ? leader->comm : COMM_UNKNOWN;
	session->threads[at] = thread;
	session->nr_threads++;
	return thread;
}

/* ---- records ---- */

static void drop_jitdump(struct process *process)
{
	jitdump_free(process->jit);
	process->jit = NULL;
	process->jitdump = NULL;
	process->jit_tried = false;
}

static void take_comm(struct session *session, const struct record *record)
{
	struct perfrec_cursor c = reader_body(session->reader, record);
	int32_t pid = (int32_t)perfrec_u32(&c), tid = (int32_t)perfrec_u32(&c);
	struct slice comm = perfrec_text(&c);
	struct thread *thread;

	if (c.bad) {
		session->nr_bad++;
		return;
	}
	thread = session_thread(session, pid, tid);
	/* where another thread than the first executes, it takes over that one's id */
	count_thread(thread);
	thread->comm = strtab_id(&session->texts, comm.at, comm.size);
	if (record->misc & PERF_RECORD_MISC_COMM_EXEC) {
		maps_unref(thread->process->replaced);
		thread->process->replaced = thread->process->maps;
		thread->process->maps = maps_new();
		drop_jitdump(thread->process);
	}
}

static void take_fork(struct session *session, const struct record *record)
{
	struct perfrec_cursor c = reader_body(session->reader, record);
	int32_t pid = (int32_t)perfrec_u32(&c), ppid = (int32_t)perfrec_u32(&c);
	int32_t tid = (int32_t)perfrec_u32(&c), ptid = (int32_t)perfrec_u32(&c);
	struct thread *parent, *child;

	if (c.bad) {
		session->nr_bad++;
		return;
	}
	/* perf announces threads found in /proc as forks of themselves */
	if (pid == ppid && tid == ptid)
		return;
	parent = find_thread(session, ptid);
	if (!parent || parent->pid != ppid)
		parent = session_thread(session, ppid, ptid);
	child = session_thread(session, pid, tid);
	count_thread(child);
	if (parent->comm != COMM_UNKNOWN)
		child->comm = parent->comm;
	if (pid != ppid) {
		struct maps *old = child->process->maps;

		/* made up for a task found in /proc, whose own maps follow */
		child->process->maps = record->misc & PERF_RECORD_MISC_FORK_EXEC ?
		                               maps_new() :
		                               maps_share(parent->process->maps);
		drop_jitdump(child->process);
		/* other threads that are known were of the process before, or are yet to come */
		child->process->life++;
		child->process->nr_threads = 0;
		count_thread(child);
		maps_unref(old);
		maps_unref(child->process->replaced);
		child->process->replaced = NULL;
	}
}

/*
 * Since Linux 6.16 a task gives up its memory behind the record of its end, and
 * is sampled there with its user frames. So maps stay until so many others
 * have ended too.
 */
static void end_process(struct session *session, struct process *process)
{
	struct process **slot = &session->ended[session->nr_ended++ % SESSION_NR_ENDED];
	struct process *old = *slot;

	*slot = process;
	/* its id may have been given out again */
	if (!old || old->nr_threads || old == process)
		return;
	maps_unref(old->maps);
	old->maps = maps_new();
	maps_unref(old->replaced);
	old->replaced = NULL;
}

static void take_exit(struct session *session, const struct record *record)
{
	struct perfrec_cursor c = reader_body(session->reader, record);
	struct thread *thread, *leader;
	bool was_counted;

	perfrec_u32(&c);
	perfrec_u32(&c);
	thread = find_thread(session, (int32_t)perfrec_u32(&c));
	if (c.bad)
		session->nr_bad++;
	if (c.bad || !thread || thread->is_gone)
		return;
	was_counted = is_counted(thread);
	thread->is_gone = true;
	if (!was_counted || --thread->process->nr_threads)
		return;
	/* there may be threads that nothing told of */
	leader = find_thread(session, thread->pid);
	if (leader && leader->pid == thread->pid && !leader->is_gone)
		return;
	end_process(session, thread->process);
}

static bool is_jit_memory(const char *path)
{
	static const char *const begins[] = {"//anon", "/anon_hugepage",      "/dev/zero", "[heap]",
	                                     "[stack", "/memfd:doublemapper", "/SYSV",     "[anon"};

	if (!path[0])
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
		if (strncmp(path, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

/* "perf.data_jit_app_cache:15480-17544": simpleperf's copies of what ART compiled. */
static bool is_jit_cache(const char *path)
{
	return strstr(path, "jit_app_cache:") || strstr(path, "jit_zygote_cache:");
}

/* "/some/where/jit-123.dump", which a runtime maps to announce it. */
static bool is_jitdump(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t size;

	name = name ? name + 1 : path;
	size = strlen(name);
	return size > 9 && strncmp(name, "jit-", 4) == 0 && strcmp(name + size - 5, ".dump") == 0;
}

static void add_kernel_map(struct session *session, struct map *map, struct module_key *key,
                           uint16_t cpumode)
{
	const char *path = key->path;
	char *cut = NULL;

	key->pid = KERNEL_PID;
	if (cpumode == PERF_RECORD_MISC_GUEST_KERNEL || strncmp(path, "[guest", 6) == 0)
		return;
	if (path[0] == '[' && strncmp(path, "[kernel", 7) == 0) {
		const char *end = strchr(path, ']');

		/* "[kernel.kallsyms]_text": the symbol that map.pgoff is the address of;
		   "[kernel.kallsyms._text]" before Linux 2.6.35 */
		key->kind = MODULE_KERNEL;
		key->text_address = map->pgoff;
		if (strncmp(path, "[kernel.kallsyms.", 17) == 0)
			key->path = "[kernel.kallsyms]";
		else if (end && end[1])
			key->path = cut = mem_strndup(path, (size_t)(end + 1 - path));
	} else {
		key->kind = MODULE_KMOD;
		key->text_address = map->start;
	}
	if (!key->build_id.size) {
		const struct build_id *id = reader_build_id_of(session->reader, key->path);

		if (id)
			key->build_id = *id;
	}
	map->module = modules_intern(session->modules, key);
	free(cut);
	if (key->kind == MODULE_KERNEL && !session->kernel_module)
		session->kernel_module = map->module;
	/* off is the address itself, see module.h */
	map->pgoff = map->start;
	maps_insert(&session->kernel, map);
}

static void add_user_map(struct session *session, struct map *map, struct module_key *key,
                         int32_t tid)
{
	struct process *process = session_thread(session, key->pid, tid)->process;

	if (is_jitdump(key->path))
		process->jitdump =
		        strtab_text(&session->texts, strtab_cstr(&session->texts, key->path));
	if (strcmp(key->path, "[vdso]") == 0) {
		key->kind = MODULE_VDSO;
	} else if (session->reader->is_simpleperf && is_jit_cache(key->path)) {
		/* its symbols are those of memory; the path finds them in the recording */
		key->kind = MODULE_JIT;
		map->pgoff = map->start;
	} else if (is_jit_memory(key->path)) {
		key->kind = MODULE_JIT;
		key->path = "//anon";
		key->build_id.size = 0;
		key->device_major = key->device_minor = 0;
		key->inode = key->inode_generation = 0;
		map->pgoff = map->start;
	} else {
		const struct build_id *id = NULL;

		key->kind = MODULE_FILE;
		if (!key->build_id.size)
			id = reader_build_id_of(session->reader, key->path);
		if (id)
			key->build_id = *id;
	}
	map->module = modules_intern(session->modules, key);
	maps_insert(&process->maps, map);
}

/*
 * Does a record that says so carry a build-id? Seen with Linux 6.18: while one
 * recorder asks for build-ids, the records of others that did not ask have the
 * bit as well, but device and inode in the place.
 */
static bool is_build_id(const struct session *session, const uint8_t bytes[24])
{
	const struct events *events = &session->reader->events;

	/* u8 size, u8 and u16 reserved, u8 id[20] */
	if (bytes[0] == 0 || bytes[0] > BUILD_ID_MAX || bytes[1] || bytes[2] || bytes[3])
		return false;
	/* SHA-1 and MD5; other sizes may be a device's number */
	if (bytes[0] == 20 || bytes[0] == 16)
		return true;
	for (size_t i = 0; i < events->nr; i++)
		if (events->at[i]->attr.build_id)
			return true;
	return false;
}

static void take_mmap(struct session *session, const struct record *record)
{
	struct perfrec_cursor c = reader_body(session->reader, record);
	uint16_t cpumode = record->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	struct module_key key = {.kind = MODULE_FILE};
	struct map map = {.is_data = record->misc & PERF_RECORD_MISC_MMAP_DATA};
	int32_t tid;
	uint64_t size;
	struct slice path;
	char *name;

	key.pid = (int32_t)perfrec_u32(&c);
	tid = (int32_t)perfrec_u32(&c);
	map.start = perfrec_u64(&c);
	size = perfrec_u64(&c);
	map.pgoff = perfrec_u64(&c);
	if (record->type == PERF_RECORD_MMAP2) {
		const uint8_t *bytes = perfrec_bytes(&c, 24);
		struct perfrec_cursor id = {bytes, bytes ? bytes + 24 : NULL, c.swap, !bytes};

		if (bytes && record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID &&
		    is_build_id(session, bytes)) {
			key.build_id.size = bytes[0];
			memcpy(key.build_id.bytes, bytes + 4, key.build_id.size);
		} else if (bytes) {
			key.device_major = perfrec_u32(&id);
			key.device_minor = perfrec_u32(&id);
			key.inode = perfrec_u64(&id);
			key.inode_generation = perfrec_u64(&id);
		}
		perfrec_u64(&c); /* prot, flags */
	}
	path = perfrec_text(&c);
	if (c.bad) {
		session->nr_bad++;
		return;
	}
	/* perf has a time limit for each file of /proc (--proc-map-timeout) */
	session->nr_cut_maps += !!(record->misc & PERF_RECORD_MISC_PROC_MAP_PARSE_TIMEOUT);
	if (__builtin_add_overflow(map.start, size, &map.end))
		map.end = UINT64_MAX;
	name = mem_strndup(path.at, path.size);
	key.path = name;
	if (cpumode == PERF_RECORD_MISC_KERNEL || cpumode == PERF_RECORD_MISC_GUEST_KERNEL)
		add_kernel_map(session, &map, &key, cpumode);
	else if (cpumode != PERF_RECORD_MISC_GUEST_USER)
		add_user_map(session, &map, &key, tid);
	free(name);
}

bool session_is_data_map(const struct session *session, const struct record *record)
{
	struct perfrec_cursor c = reader_body(session->reader, record);
	const struct thread *thread;
	int32_t pid = (int32_t)perfrec_u32(&c), tid = (int32_t)perfrec_u32(&c);
	uint64_t start = perfrec_u64(&c), size = perfrec_u64(&c), end;
	struct slice path;

	if ((record->type != PERF_RECORD_MMAP && record->type != PERF_RECORD_MMAP2) ||
	    (record->misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER ||
	    !(record->misc & PERF_RECORD_MISC_MMAP_DATA) ||
	    __builtin_add_overflow(start, size, &end))
		return false;
	perfrec_bytes(&c, record->type == PERF_RECORD_MMAP2 ? 8 + 24 + 8 : 8);
	path = perfrec_text(&c);
	/* a JIT may announce its dump so */
	if (c.bad || memmem(path.at, path.size, ".dump", 5))
		return false;
	thread = find_thread(session, tid);
	return thread && thread->pid == pid && !maps_have_code(thread->process->maps, start, end);
}

static void take_ksymbol(struct session *session, const struct record *record)
{
	struct perfrec_cursor c = reader_body(session->reader, record);
	struct map map = {.start = perfrec_u64(&c)};
	uint32_t size = perfrec_u32(&c);
	uint16_t flags;
	struct slice name;

	perfrec_u16(&c); /* BPF program or out-of-line code: named alike */
	flags = perfrec_u16(&c);
	name = perfrec_text(&c);
	if (c.bad || !name.size) {
		session->nr_bad++;
		return;
	}
	if (__builtin_add_overflow(map.start, size, &map.end))
		return;
	map.name = strtab_id(&session->texts, name.at, name.size);
	if (flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER)
		maps_remove(&session->kernel, map.start, map.end);
	else
		maps_insert(&session->kernel, &map);
}

static void take_cgroup(struct session *session, const struct record *record)
{
	struct perfrec_cursor c = reader_body(session->reader, record);
	uint64_t id = perfrec_u64(&c);
	struct slice path = perfrec_text(&c);

	if (c.bad) {
		session->nr_bad++;
		return;
	}
	MEM_GROW(session->cgroup, session->nr_cgroups, session->cgroups_capacity);
	session->cgroup[session->nr_cgroups++] =
	        (struct session_cgroup){id, strtab_id(&session->texts, path.at, path.size)};
}

uint32_t session_comm(struct session *session, const struct thread *thread)
{
	char text[16];

	if (thread->comm != COMM_UNKNOWN)
		return thread->comm;
	/* the kernel has no id any more for a task that is all but gone */
	if (thread->tid == -1)
		return strtab_cstr(&session->texts, "[exited task]");
	snprintf(text, sizeof(text), ":%d", thread->tid);
	return strtab_cstr(&session->texts, text);
}

struct module *session_kernel_module(struct session *session)
{
	struct module_key key = {
	        .kind = MODULE_KERNEL, .path = "[kernel.kallsyms]", .pid = KERNEL_PID};
	const struct build_id *id;

	if (session->kernel_module)
		return session->kernel_module;
	id = reader_build_id_of(session->reader, key.path);
	if (id)
		key.build_id = *id;
	session->kernel_module = modules_intern(session->modules, &key);
	return session->kernel_module;
}

struct module *session_unknown_module(struct session *session, struct process *process)
{
	struct module_key key = {.kind = MODULE_JIT, .path = "", .pid = process->pid};

	if (!process->unknown)
		process->unknown = modules_intern(session->modules, &key);
	return process->unknown;
}

uint32_t session_cgroup_path(const struct session *session, uint64_t id)
{
	/* few, and the last of an id is the one that lives */
	for (size_t i = session->nr_cgroups; i-- > 0;)
		if (session->cgroup[i].id == id)
			return session->cgroup[i].path;
	return UINT32_MAX;
}

void session_record(struct session *session, const struct record *record)
{
	switch (record->type) {
	case PERF_RECORD_COMM:
		take_comm(session, record);
		break;
	case PERF_RECORD_FORK:
		take_fork(session, record);
		break;
	case PERF_RECORD_EXIT:
		take_exit(session, record);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		take_mmap(session, record);
		break;
	case PERF_RECORD_KSYMBOL:
		take_ksymbol(session, record);
		break;
	case PERF_RECORD_CGROUP:
		take_cgroup(session, record);
		break;
	}
}

static struct jitdump *open_jitdump(const struct process *process)
{
	char path[4096];
	struct stat st;
	struct err err = {0};
	struct jitdump *jitdump;
	bool runs;

	snprintf(path, sizeof(path), "/proc/%d", process->pid);
	runs = stat(path, &st) == 0;
	jitdump = jitdump_open(process->jitdump, runs ? &st.st_uid : NULL, &err);
	if (!jitdump && runs) {
		snprintf(path, sizeof(path), "/proc/%d/root%s", process->pid, process->jitdump);
		jitdump = jitdump_open(path, &st.st_uid, &err);
	}
	return jitdump;
}

/* "name (file:line)" */
static uint32_t name_with_line(struct session *session, const char *name, const char *file,
                               uint32_t line)
{
	const char *slash = strrchr(file, '/');
	struct buf text = {0};
	uint32_t id;

	buf_printf(&text, "%s (%s:%u)", name, slash ? slash + 1 : file, line);
	id = strtab_id(&session->texts, text.at, text.size);
	buf_release(&text);
	return id;
}

struct jitdump *session_jitdump(struct process *process)
{
	if (process->jitdump && !process->jit_tried) {
		process->jit_tried = true;
		process->jit = open_jitdump(process);
	}
	return process->jit;
}

uint32_t session_jit_name(struct session *session, struct process *process, uint64_t ip)
{
	struct jitdump *jitdump = session_jitdump(process);
	const struct jitdump_code *code = NULL;
	const char *file = NULL;
	uint32_t line = 0;

	modules_lock();
	if (jitdump)
		code = jitdump_find(jitdump, ip, session->now);
	if (code && session->jit_lines)
		line = jitdump_line(jitdump, code, ip, &file);
	modules_unlock();
	if (!code)
		return UINT32_MAX;
	return line ? name_with_line(session, code->name, file, line) :
	              strtab_cstr(&session->texts, code->name);
}
