#include "share/compat.h"
#include "collect/procmaps.h"

#include "collect/buildid.h"
#include "collect/cgroups.h"
#include "collect/procfile.h"
#include "collect/regular.h"
#include "share/mem.h"
#include "share/num.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

struct procmaps_file {
	uint64_t device, inode; /* inode 0 = free slot */
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_size; /* 0 = has none, or cannot be read */
};

void procmaps_init(struct procmaps *maps, struct recout *rec, bool data_maps, bool build_ids)
{
	*maps = (struct procmaps){.rec = rec, .data_maps = data_maps, .build_ids = build_ids};
}

void procmaps_release(struct procmaps *maps)
{
	buf_release(&maps->text);
	free(maps->files);
	maps->files = NULL;
}

/* ---- build-ids of files ---- */

static struct procmaps_file *file_slot(struct procmaps *maps, uint64_t device, uint64_t inode)
{
	uint64_t hash = (inode * 0x9e3779b97f4a7c15 ^ device) * 0x9e3779b97f4a7c15;
	size_t mask = maps->files_capacity - 1;

	for (size_t i = hash >> 40;; i++) {
		struct procmaps_file *file = &maps->files[i & mask];

		if (!file->inode || (file->inode == inode && file->device == device))
			return file;
	}
}

static void grow_files(struct procmaps *maps)
{
	struct procmaps_file *old = maps->files;
	size_t nr = maps->files_capacity;

	maps->files_capacity = nr ? nr * 2 : 256;
	maps->files = mem_zalloc(maps->files_capacity * sizeof(*maps->files));
	for (size_t i = 0; i < nr; i++)
		if (old[i].inode)
			*file_slot(maps, old[i].device, old[i].inode) = old[i];
	free(old);
}

/*
 * The file behind a map may be deleted, or lie in another mount namespace
 * where the path means something else: its device and inode decide.
 */
static int open_mapped(const struct recout_map *map)
{
	char path[4200];
	struct stat st;
	int fd = regular_open(map->path, &st);

	if (fd >= 0 && st.st_ino == map->inode)
		return fd;
	if (fd >= 0)
		close(fd);
	snprintf(path, sizeof(path), "/proc/%u/map_files/%jx-%jx", map->pid, (uintmax_t)map->start,
	         (uintmax_t)(map->start + map->size));
	return regular_open(path, &st);
}

static void find_build_id(struct procmaps *maps, struct recout_map *map)
{
	uint64_t device = makedev(map->major, map->minor);
	struct procmaps_file *file;
	int fd;

	if (maps->nr_files * 2 >= maps->files_capacity)
		grow_files(maps);
	file = file_slot(maps, device, map->inode);
	if (!file->inode) {
		file->device = device;
		file->inode = map->inode;
		maps->nr_files++;
		fd = open_mapped(map);
		if (fd >= 0) {
			file->build_id_size = (uint8_t)build_id_of_file(fd, file->build_id);
			close(fd);
		}
	}
	if (file->build_id_size) {
		map->build_id = file->build_id;
		map->build_id_size = file->build_id_size;
	}
}

/* ---- processes ---- */

static uint64_t hex_at(char **at)
{
	uint64_t value = 0;

	for (;; (*at)++) {
		unsigned int c = (unsigned char)**at;

		if (c - '0' < 10)
			value = value << 4 | (c - '0');
		else if (c - 'a' < 6)
			value = value << 4 | (c - 'a' + 10);
		else
			return value;
	}
}

/* "start-end rwxp offset major:minor inode   path"; the line is NUL-terminated. */
static bool parse_map(struct recout_map *map, char *line)
{
	char *at = line;
	uint64_t end;

	map->start = hex_at(&at);
	if (*at++ != '-')
		return false;
	end = hex_at(&at);
	if (*at++ != ' ' || end <= map->start || strnlen(at, 5) < 5)
		return false;
	map->size = end - map->start;
	map->prot = (at[0] == 'r' ? 1u : 0) | (at[1] == 'w' ? 2u : 0) | (at[2] == 'x' ? 4u : 0);
	map->shared = at[3] == 's';
	at += 5;
	map->offset = hex_at(&at);
	if (*at++ != ' ')
		return false;
	map->major = (uint32_t)hex_at(&at);
	if (*at++ != ':')
		return false;
	map->minor = (uint32_t)hex_at(&at);
	if (*at++ != ' ')
		return false;
	map->inode = strtoull(at, &at, 10);
	at += strspn(at, " ");
	map->path = *at ? at : "//anon";
	return true;
}

/* The text of /proc/PID/maps, which is cut up. */
static void add_map_lines(struct procmaps *maps, uint32_t pid, char *text)
{
	char *next;

	for (char *line = text; line && *line; line = next) {
		struct recout_map map = {.pid = pid, .tid = pid};

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!parse_map(&map, line))
			continue;
		/* data maps serve to find .eh_frame: that is in files, readable, private */
		if (!(map.prot & 4) && (!maps->data_maps || !map.inode || !(map.prot & 1)))
			continue;
		if (strlen(map.path) > 4095)
			continue;
		if (maps->build_ids && map.inode)
			find_build_id(maps, &map);
		recout_map(maps->rec, &map);
		maps->nr_maps++;
	}
}

static void add_maps(struct procmaps *maps, uint32_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	/* a process that ends meanwhile gives ESRCH; what was read of it stands */
	procfile_read(&maps->text, path);
	add_map_lines(maps, pid, maps->text.at);
}

static void add_threads(struct procmaps *maps, uint32_t pid)
{
	char path[64], comm[64];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		uint64_t tid;

		if (num_parse_u64(entry->d_name, strlen(entry->d_name), &tid) < 0 || tid == pid ||
		    procfile_line(comm, sizeof(comm), "/proc/%u/task/%s/comm", pid, entry->d_name) <
		            0)
			continue;
		recout_fork(maps->rec, pid, pid, (uint32_t)tid, pid);
		recout_comm(maps->rec, pid, (uint32_t)tid, comm);
		maps->nr_threads++;
	}
	if (dir)
		closedir(dir);
}

/* Threads may have namespaces of their own, which only the kernel's records tell. */
static void add_namespaces(struct procmaps *maps, uint32_t pid)
{
	/* in the order of enum perf_event_ns, linux/perf_event.h */
	static const char *const names[] = {"net", "uts", "ipc", "pid", "user", "mnt", "cgroup"};
	struct recout_namespace found[ARRAY_SIZE(names)] = {{0}};
	struct stat st;
	char path[64];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "/proc/%u/ns/%s", pid, names[i]);
		if (stat(path, &st) == 0)
			found[i] = (struct recout_namespace){st.st_dev, st.st_ino};
	}
	recout_namespaces(maps->rec, pid, pid, found, ARRAY_SIZE(found));
}

/*
 * The fields after the comm of /proc/PID/stat. Source: proc(5): the comm is in
 * parentheses and may hold any byte, so its end is the last ")".
 */
static bool parse_stat(char *text, char **comm, bool *is_kernel, uint64_t *nr_threads)
{
	char *open = strchr(text, '('), *close = strrchr(text, ')'), *at;
	unsigned int field = 3;

	if (!open || !close || close < open || !close[1])
		return false;
	*comm = open + 1;
	*close = '\0';
	for (at = close + 2; *at; field++) {
		if (field == 9)
			*is_kernel = strtoul(at, NULL, 10) & 0x200000; /* PF_KTHREAD */
		if (field == 20) {
			*nr_threads = strtoull(at, NULL, 10);
			return true;
		}
		at += strcspn(at, " ");
		at += *at == ' ';
	}
	return false;
}

void procmaps_process(struct procmaps *maps, uint32_t pid)
{
	bool is_kernel = false;
	uint64_t nr_threads = 1;
	char path[64], *comm;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (procfile_read(&maps->text, path) < 0 ||
	    !parse_stat(maps->text.at, &comm, &is_kernel, &nr_threads))
		return;
	recout_comm(maps->rec, pid, pid, comm);
	maps->nr_processes++;
	maps->nr_threads++;
	if (maps->namespaces)
		add_namespaces(maps, pid);
	if (is_kernel)
		return;
	add_maps(maps, pid);
	if (nr_threads > 1)
		add_threads(maps, pid);
}

void procmaps_all(struct procmaps *maps, void (*between)(void *), void *arg)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	unsigned int nr = 0;

	while (dir && (entry = readdir(dir))) {
		uint64_t pid;

		if (num_parse_u64(entry->d_name, strlen(entry->d_name), &pid) < 0)
			continue;
		procmaps_process(maps, (uint32_t)pid);
		if (++nr % 16 == 0)
			between(arg);
	}
	if (dir)
		closedir(dir);
}

/* ---- control groups ---- */

static void add_cgroup(uint64_t id, const char *path, void *arg)
{
	/* a record has 16 bits of size, and folders may nest deeper than that */
	if (strlen(path) < 4096)
		recout_cgroup(arg, id, path);
}

void procmaps_cgroups(struct procmaps *maps)
{
	cgroups_each(add_cgroup, maps->rec);
}

/* ---- kernel ---- */

/*
 * Address of _text, or 0 where it is hidden. The symbol is among the first of
 * the file, whose 5 MB cost more to print than all the rest of the start.
 */
static uint64_t kernel_text(void)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	uint64_t address = 0, value;
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		char *name = strrchr(line, ' ');

		if (!name || strcmp(name, " _text\n") != 0)
			continue;
		if (num_parse_hex(line, strcspn(line, " "), &value) == 0)
			address = value;
		break;
	}
	if (file)
		fclose(file);
	return address;
}

/*
 * Size of the kernel's text: /proc/iomem has its physical extent. Without it
 * the map reaches to the modules, 1 GiB on x86_64 at most.
 */
static uint64_t kernel_text_size(void)
{
	FILE *file = fopen("/proc/iomem", "re");
	uint64_t size = 512ull << 20;
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		uint64_t start, end;
		char *at = line + strspn(line, " ");
		size_t first = strspn(at, "0123456789abcdef"), second;

		if (!strstr(at, ": Kernel code") || at[first] != '-')
			continue;
		second = strspn(at + first + 1, "0123456789abcdef");
		if (num_parse_hex(at, first, &start) == 0 &&
		    num_parse_hex(at + first + 1, second, &end) == 0 && end > start)
			size = end + 1 - start;
		break;
	}
	if (file)
		fclose(file);
	return size;
}

static void add_module(struct procmaps *maps, char *line, const struct buf *paths,
                       const char *release)
{
	/* name size users dependents state address */
	char *state = NULL, *fields[6], *path = NULL, full[4096];
	struct recout_map map = {.pid = UINT32_MAX, .prot = 5, .kernel = true};
	uint8_t build_id[BUILD_ID_MAX];
	size_t nr = 0;

	for (char *field = strtok_r(line, " ", &state); field && nr < 6;
	     field = strtok_r(NULL, " ", &state))
		fields[nr++] = field;
	if (nr < 6 || num_parse_u64(fields[1], strlen(fields[1]), &map.size) < 0 ||
	    num_parse_hex(fields[5], strlen(fields[5]), &map.start) < 0 || !map.start)
		return;
	snprintf(full, sizeof(full), "/sys/module/%s/notes/.note.gnu.build-id", fields[0]);
	map.build_id_size = build_id_of_note_file(full, build_id);
	map.build_id = map.build_id_size ? build_id : NULL;
	/* modules.dep: "kernel/fs/ext4/ext4.ko.xz: ..."; "-" and "_" are one there */
	for (const char *at = paths->at; at && *at; at += *at == '\n') {
		const char *colon = strchr(at, ':'), *name;
		size_t i = 0;

		if (!colon)
			break;
		name = memrchr(at, '/', (size_t)(colon - at));
		name = name ? name + 1 : at;
		while (fields[0][i] &&
		       (name[i] == fields[0][i] || (name[i] == '-' && fields[0][i] == '_')))
			i++;
		if (!fields[0][i] && strncmp(name + i, ".ko", 3) == 0) {
			snprintf(full, sizeof(full), "/lib/modules/%s/%.*s", release,
			         (int)(colon - at), at);
			path = full;
			break;
		}
		at = colon + strcspn(colon, "\n");
	}
	if (!path) {
		snprintf(full, sizeof(full), "[%s]", fields[0]);
		path = full;
	}
	map.path = path;
	recout_map(maps->rec, &map);
}

static void add_modules(struct procmaps *maps)
{
	struct utsname system;
	struct buf paths = {0};
	char path[256], *next;

	if (uname(&system) < 0 || procfile_read(&maps->text, "/proc/modules") < 0 ||
	    !maps->text.size)
		return;
	snprintf(path, sizeof(path), "/lib/modules/%s/modules.dep", system.release);
	procfile_read(&paths, path);
	for (char *line = maps->text.at; *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		add_module(maps, line, &paths, system.release);
	}
	buf_release(&paths);
}

bool procmaps_kernel(struct procmaps *maps)
{
	struct recout_map map = {
	        .pid = UINT32_MAX,
	        .prot = 5,
	        .kernel = true,
	        .path = "[kernel.kallsyms]_text",
	};
	uint8_t build_id[BUILD_ID_MAX];
	uint64_t text = kernel_text();

	if (!text)
		return false;
	map.start = map.offset = text;
	map.size = kernel_text_size();
	map.build_id_size = build_id_of_note_file("/sys/kernel/notes", build_id);
	map.build_id = map.build_id_size ? build_id : NULL;
	recout_map(maps->rec, &map);
	add_modules(maps);
	return true;
}
