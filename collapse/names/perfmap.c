#include "share/compat.h"
#include "collapse/names/perfmap.h"

#include "share/below.h"
#include "share/mem.h"
#include "share/num.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PERFMAP_MAX_SIZE ((off_t)2 << 30)

struct symtab *perfmap_parse(char *text_take, size_t size)
{
	struct symtab *symtab = symtab_new();
	char *end = text_take + size;
	uint32_t order = 0;

	symtab->owned = text_take;
	text_take[size] = '\0';
	symtab_add_text(symtab, (struct slice){text_take, size + 1});
	for (char *at = text_take, *next; at < end; at = next) {
		char *line_end = memchr(at, '\n', (size_t)(end - at)), *first, *second;
		uint64_t start, length;

		if (!line_end)
			line_end = end;
		next = line_end + 1;
		first = memchr(at, ' ', (size_t)(line_end - at));
		second = first ? memchr(first + 1, ' ', (size_t)(line_end - first - 1)) : NULL;
		if (!second || num_parse_hex(at, (size_t)(first - at), &start) != 0 ||
		    num_parse_hex(first + 1, (size_t)(second - first - 1), &length) != 0 ||
		    start > UINT64_MAX - length)
			continue;
		/* a line that ends in a carriage return was written by a program of another world
		 */
		if (line_end > second + 1 && line_end[-1] == '\r')
			line_end[-1] = '\0';
		*line_end = '\0';
		for (char *c = second + 1; c < line_end; c++)
			if (!*c && c + 1 < line_end)
				*c = '?';
		if (second[1])
			symtab_add(symtab, start, start + length, 0,
			           (uint32_t)(second + 1 - text_take), order++);
	}
	ranges_finish(&symtab->ranges);
	return symtab;
}

/* The pid in the innermost namespace, and the user; false where no such process runs. */
static bool process_facts(int32_t pid, int32_t *inner_pid, uid_t *user)
{
	char path[64], line[512];
	FILE *status;
	bool any = false;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	status = fopen(path, "re");
	if (!status)
		return false;
	while (fgets(line, sizeof(line), status)) {
		uint64_t value;
		char *from, *last;

		if (strncmp(line, "Uid:\t", 5) == 0) {
			from = line + 5;
			if (num_parse_u64(from, strspn(from, "0123456789"), &value) == 0) {
				*user = (uid_t)value;
				any = true;
			}
		} else if (strncmp(line, "NSpid:\t", 7) == 0) {
			/* one number for each level, the innermost last (proc(5)) */
			line[strcspn(line, "\n")] = '\0';
			last = strrchr(line, '\t') + 1;
			if (num_parse_u64(last, strlen(last), &value) == 0)
				*inner_pid = (int32_t)value;
		}
	}
	fclose(status);
	return any;
}

/* root: "/", or that of a process, whose links may lead anywhere. */
static struct symtab *read_map(const char *root, const char *path, const uid_t *user,
                               struct err *err)
{
	int fd = below_open(root, path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
	struct symtab *symtab = NULL;
	struct stat st;

	if (fd < 0) {
		err->code = errno;
		err_set(err, errno == ENOENT ? "no %s" : "cannot open %s", path);
		return NULL;
	}
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		err_set(err, "%s is not a regular file", path);
	} else if (st.st_uid != geteuid() && st.st_uid != 0 && !(user && st.st_uid == *user)) {
		err_set(err, "%s belongs to another user", path);
	} else if (st.st_size > PERFMAP_MAX_SIZE) {
		err_set(err, "%s is too large", path);
	} else {
		/* it may still grow: what is there now is read */
		char *text = mem_alloc((size_t)st.st_size + 1);
		size_t size = 0;
		ssize_t got;

		while (size < (size_t)st.st_size &&
		       (got = read(fd, text + size, (size_t)st.st_size - size)) > 0)
			size += (size_t)got;
		symtab = perfmap_parse(text, size);
	}
	close(fd);
	return symtab;
}

struct symtab *perfmap_read(int32_t pid, bool live, struct err *err)
{
	struct symtab *symtab = NULL;
	int32_t inner_pid = pid;
	uid_t user;
	char root[32], path[32];
	bool runs = live && process_facts(pid, &inner_pid, &user);

	if (runs) {
		snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)inner_pid);
		symtab = read_map(root, path, &user, err);
	}
	if (!symtab) {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid);
		symtab = read_map("/", path, runs ? &user : NULL, err);
	}
	return symtab;
}
