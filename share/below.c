#include "share/compat.h"
#include "share/below.h"

#include "share/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As many links as the kernel follows, and folders as fit into a path of one letter each. */
enum { MAX_LINKS = 40, MAX_FOLDERS = PATH_MAX / 2 };

/* ---- kernels without openat2 ---- */

struct steps {
	int *folders; /* from the root on to where the path is */
	size_t nr_folders, capacity;
	unsigned nr_links;
};

static void leave(struct steps *steps, size_t nr_left)
{
	while (steps->nr_folders > nr_left)
		close(steps->folders[--steps->nr_folders]);
}

/* The path that a link stands for, with the rest of the path behind it; NULL with errno set. */
static char *behind_link(struct steps *steps, int link, bool is_folder, const char *rest)
{
	char target[PATH_MAX];
	ssize_t size = readlinkat(link, "", target, sizeof(target));

	if (size >= 0 && (++steps->nr_links > MAX_LINKS || size == sizeof(target))) {
		errno = ELOOP;
		size = -1;
	}
	if (size < 0)
		return NULL;
	if (size && target[0] == '/')
		leave(steps, 1);
	return mem_printf("%.*s%s%s", (int)size, target, is_folder ? "/" : "", rest);
}

/* Opens the last component as an O_PATH descriptor, or -1 with errno set. */
static int walk(struct steps *steps, char *path_take, bool follow_last)
{
	char *path = path_take, *at = path;
	int fd = -1;

	for (;;) {
		char *end, *expanded;
		struct stat st;
		bool is_last, is_folder;

		at += strspn(at, "/");
		end = at + strcspn(at, "/");
		is_last = !end[strspn(end, "/")];
		is_folder = *end == '/';
		if (*end)
			*end++ = '\0';
		if (!*at || strcmp(at, ".") == 0 || strcmp(at, "..") == 0) {
			/* nothing is above the root */
			if (at[0] == '.' && at[1] == '.')
				leave(steps, MAX_OF(steps->nr_folders - 1, (size_t)1));
			if (is_last) {
				fd = fcntl(steps->folders[steps->nr_folders - 1], F_DUPFD_CLOEXEC,
				           0);
				break;
			}
			at = end;
			continue;
		}
		fd = openat(steps->folders[steps->nr_folders - 1], at,
		            O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &st) != 0)
			break;
		if (S_ISLNK(st.st_mode) && (is_folder || follow_last)) {
			expanded = behind_link(steps, fd, is_folder, end);
			close(fd);
			fd = -1;
			if (!expanded)
				break;
			free(path);
			path = at = expanded;
			continue;
		}
		if (is_last && (!is_folder || S_ISDIR(st.st_mode)))
			break;
		if (!S_ISDIR(st.st_mode) || steps->nr_folders == MAX_FOLDERS) {
			close(fd);
			fd = -1;
			errno = ENOTDIR;
			break;
		}
		MEM_GROW(steps->folders, steps->nr_folders, steps->capacity);
		steps->folders[steps->nr_folders++] = fd;
		at = end;
	}
	free(path);
	return fd;
}

static int open_by_steps(int root, const char *path, int flags)
{
	struct steps steps = {0};
	int fd, at, error;
	char self[64];

	MEM_GROW(steps.folders, steps.nr_folders, steps.capacity);
	steps.folders[steps.nr_folders++] = fcntl(root, F_DUPFD_CLOEXEC, 0);
	at = walk(&steps, mem_strdup(path), !(flags & O_NOFOLLOW));
	if (at >= 0 && !(flags & O_PATH)) {
		/* what was found, not its name again */
		snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
		fd = open(self, (flags & ~O_NOFOLLOW) | O_CLOEXEC);
		error = errno;
		close(at);
		errno = error;
		at = fd;
	}
	error = errno;
	leave(&steps, 0);
	free(steps.folders);
	errno = error;
	return at;
}

int below_open(const char *root, const char *path, int flags)
{
	struct open_how how = {
	        .flags = (uint64_t)(unsigned)flags | O_CLOEXEC,
	        .resolve = RESOLVE_IN_ROOT,
	};
	int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), fd, error;

	if (folder < 0)
		return -1;
	fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
	/* older kernels, and filters of containers that know nothing of it */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = open_by_steps(folder, path, flags);
	error = errno;
	close(folder);
	errno = error;
	return fd;
}
