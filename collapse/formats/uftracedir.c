#include "share/compat.h"
#include "collapse/formats/uftracedir.h"

#include "collapse/formats/callers.h"
#include "collapse/formats/idmap.h"
#include "share/input.h"
#include "share/mem.h"
#include "share/num.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_MAX     ((size_t)256 << 20)
#define SESSIONS_MAX 4096

struct symbol {
	uint64_t start, end; /* end: 0 = up to the next */
	struct slice name;
};

struct module {
	char *file; /* its name without the directory */
	struct input *in;
	struct symbol *symbols; /* by start */
	size_t nr, capacity;
};

struct mapping {
	uint64_t start, end;
	struct module *module;
};

struct session {
	uint64_t time_ns, pid;
	struct slice program;
	struct mapping *mappings;
	size_t nr, capacity;
};

struct uftracedir {
	char *path; /* with the last slash */
	struct input *tasks;
	struct session *sessions;
	size_t nr, capacity;
	struct module **modules;
	size_t nr_modules, modules_capacity;
	struct idmap pids, parents; /* thread -> process, process -> its parent */
};

static struct input *open_file(const struct uftracedir *dir, const char *name, struct slice *text)
{
	char *path = mem_printf("%s%s", dir->path, name);
	struct err err;
	struct input *in = input_open(path, TEXT_MAX, &err);

	free(path);
	if (in && input_all(in, TEXT_MAX, text, &err) < 0) {
		input_close(in);
		return NULL;
	}
	return in;
}

static struct slice base_name(struct slice path)
{
	const char *slash = path.size ? memrchr(path.at, '/', path.size) : NULL;

	return slash ? slice_from(path, (size_t)(slash + 1 - path.at)) : path;
}

/* ---- symbols ---- */

static int by_start(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void read_symbols(struct uftracedir *dir, struct module *module)
{
	char *name = mem_printf("%s.sym", module->file);
	struct slice text = {0}, line;

	module->in = open_file(dir, name, &text);
	free(name);
	if (!module->in)
		return;
	while (slice_next_line(&text, &line)) {
		struct slice word = slice_next_word(&line);
		struct symbol symbol = {0};
		uint64_t size;

		if (num_parse_hex(word.at, word.size, &symbol.start))
			continue;
		word = slice_next_word(&line);
		if (word.size > 1 && num_parse_hex(word.at, word.size, &size) == 0) {
			symbol.end = symbol.start + size;
			word = slice_next_word(&line);
		}
		symbol.name = slice_trim(line);
		if (word.size != 1 || !symbol.name.size)
			continue;
		MEM_GROW(module->symbols, module->nr, module->capacity);
		module->symbols[module->nr++] = symbol;
	}
	if (module->nr)
		qsort(module->symbols, module->nr, sizeof(*module->symbols), by_start);
}

static struct module *module_of(struct uftracedir *dir, struct slice file)
{
	struct module *module;

	for (size_t i = 0; i < dir->nr_modules; i++)
		if (slice_equals(file, dir->modules[i]->file))
			return dir->modules[i];
	module = mem_zalloc(sizeof(*module));
	module->file = mem_strndup(file.at, file.size);
	read_symbols(dir, module);
	MEM_GROW(dir->modules, dir->nr_modules, dir->modules_capacity);
	dir->modules[dir->nr_modules++] = module;
	return module;
}

static const struct symbol *find_symbol(const struct module *module, uint64_t at)
{
	size_t low = 0, high = module->nr;
	const struct symbol *symbol;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (module->symbols[middle].start <= at)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	symbol = &module->symbols[low - 1];
	/* "__sym_end" and the like close a table; they are no functions */
	if ((symbol->end && at >= symbol->end) || slice_ends(symbol->name, "sym_end"))
		return NULL;
	return symbol;
}

/* ---- sessions ---- */

/* "556b7fffa000-556b7ffff000 r-xp 00000000 00:00 0 /path/thr build-id:7c41..." */
static void read_map(struct uftracedir *dir, struct session *session, struct slice sid)
{
	char *name = mem_printf("sid-%.*s.map", (int)MIN_OF(sid.size, (size_t)64), sid.at);
	struct slice text, line;
	struct input *in = open_file(dir, name, &text);

	free(name);
	if (!in)
		return;
	while (slice_next_line(&text, &line)) {
		struct mapping mapping;
		size_t slash = slice_find(line, " /"), dash = slice_find(line, "-");
		struct slice path = slice_from(line, slash + 1), end = slice_from(line, dash + 1);

		path.size = slice_find(path, " build-id:");
		end.size = slice_find(end, " ");
		if (slash == line.size || num_parse_hex(line.at, dash, &mapping.start) ||
		    num_parse_hex(end.at, end.size, &mapping.end))
			continue;
		mapping.module = module_of(dir, base_name(slice_trim(path)));
		MEM_GROW(session->mappings, session->nr, session->capacity);
		session->mappings[session->nr++] = mapping;
	}
	input_close(in);
}

/* The text behind " key=", up to a blank; in quotes up to the last of them. */
static struct slice field(struct slice line, const char *key)
{
	struct slice text = slice_from(line, slice_find(line, key) + strlen(key));

	if (slice_starts(text, "\"")) {
		text = slice_trim(slice_from(text, 1));
		text.size -= slice_ends(text, "\"");
		return text;
	}
	text.size = slice_find(text, " ");
	return text;
}

static uint64_t number(struct slice text)
{
	uint64_t value;

	return num_parse_u64(text.at, text.size, &value) ? UINT64_MAX : value;
}

/* "1591.102426335" */
static uint64_t nanoseconds(struct slice text)
{
	size_t point = slice_find(text, ".");
	uint64_t s = number((struct slice){text.at, point}),
	         ns = number(slice_from(text, point + 1));

	return s > UINT64_MAX / 1000000000 - 1 || ns >= 1000000000 ? 0 : s * 1000000000 + ns;
}

static void read_tasks(struct uftracedir *dir, struct slice text)
{
	struct slice line;

	while (slice_next_line(&text, &line)) {
		uint64_t pid = number(field(line, " pid="));

		if (slice_starts(line, "SESS ") && dir->nr < SESSIONS_MAX) {
			struct session session = {.time_ns =
			                                  nanoseconds(field(line, " timestamp=")),
			                          .pid = pid,
			                          .program = base_name(field(line, " exename="))};

			read_map(dir, &session, field(line, " sid="));
			MEM_GROW(dir->sessions, dir->nr, dir->capacity);
			dir->sessions[dir->nr++] = session;
		} else if (pid >= UINT32_MAX) {
			continue;
		} else if (slice_starts(line, "TASK ")) {
			idmap_set(&dir->pids, number(field(line, " tid=")), (uint32_t)pid);
		} else if (slice_starts(line, "FORK ")) {
			uint64_t parent = number(field(line, " ppid="));

			idmap_set(&dir->pids, pid, (uint32_t)pid);
			if (parent < UINT32_MAX)
				idmap_set(&dir->parents, pid, (uint32_t)parent);
		}
	}
}

static int is_thread(const struct dirent *entry)
{
	size_t digits = strspn(entry->d_name, "0123456789");

	return digits && strcmp(entry->d_name + digits, ".dat") == 0;
}

size_t uftracedir_threads(const char *folder, char ***paths)
{
	char *tasks = mem_printf("%s/task.txt", folder);
	struct dirent **entries = NULL;
	size_t nr_filled = 0;
	int nr = access(tasks, R_OK) == 0 ? scandir(folder, &entries, is_thread, alphasort) : 0;

	free(tasks);
	if (nr <= 0)
		return 0;
	*paths = mem_resize(NULL, (size_t)nr, sizeof(**paths));
	for (int i = 0; i < nr; i++) {
		char *path = mem_printf("%s/%s", folder, entries[i]->d_name);
		struct stat st;

		/* a thread that called nothing leaves an empty file */
		if (stat(path, &st) == 0 && st.st_size)
			(*paths)[nr_filled++] = path;
		else
			free(path);
		free(entries[i]);
	}
	free(entries);
	if (!nr_filled)
		free(*paths);
	return nr_filled;
}

struct uftracedir *uftracedir_open(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct uftracedir *dir = mem_zalloc(sizeof(*dir));
	struct slice text;

	dir->path = mem_strndup(path, slash ? (size_t)(slash + 1 - path) : 0);
	dir->tasks = open_file(dir, "task.txt", &text);
	if (!dir->tasks) {
		uftracedir_close(dir);
		return NULL;
	}
	read_tasks(dir, text);
	return dir;
}

void uftracedir_close(struct uftracedir *dir)
{
	if (!dir)
		return;
	for (size_t i = 0; i < dir->nr_modules; i++) {
		struct module *module = dir->modules[i];

		input_close(module->in);
		free(module->symbols);
		free(module->file);
		free(module);
	}
	for (size_t i = 0; i < dir->nr; i++)
		free(dir->sessions[i].mappings);
	free(dir->modules);
	free(dir->sessions);
	idmap_release(&dir->pids);
	idmap_release(&dir->parents);
	input_close(dir->tasks);
	free(dir->path);
	free(dir);
}

/* The latest of the process that had begun by then; a fork without exec has its parent's. */
int uftracedir_session(const struct uftracedir *dir, uint64_t tid, uint64_t time_ns)
{
	uint32_t pid = idmap_get(&dir->pids, tid);
	int found = -1;

	for (int hops = 0; found < 0 && pid != UINT32_MAX && hops < 64; hops++) {
		for (size_t i = 0; i < dir->nr; i++)
			if (dir->sessions[i].pid == pid && dir->sessions[i].time_ns <= time_ns)
				found = (int)i;
		pid = idmap_get(&dir->parents, pid);
	}
	return found;
}

struct slice uftracedir_program(const struct uftracedir *dir, int session)
{
	return session < 0 ? (struct slice){0} : dir->sessions[session].program;
}

int64_t uftracedir_pid(const struct uftracedir *dir, uint64_t tid)
{
	uint32_t pid = idmap_get(&dir->pids, tid);

	return pid == UINT32_MAX ? -1 : (int64_t)pid;
}

bool uftracedir_name(struct uftracedir *dir, int session, uint64_t address, struct slice *name)
{
	const struct symbol *symbol;

	for (size_t i = 0; session >= 0 && i < dir->sessions[session].nr; i++) {
		const struct mapping *mapping = &dir->sessions[session].mappings[i];

		if (address < mapping->start || address >= mapping->end)
			continue;
		symbol = find_symbol(mapping->module, address - mapping->start);
		if (symbol)
			*name = symbol->name;
		return symbol != NULL;
	}
	return false;
}
