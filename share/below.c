#include "share/compat.h"
#include "share/below.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

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
	error = errno;
	close(folder);
	errno = error;
	return fd;
}
