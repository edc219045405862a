#include "share/compat.h"
#include "collect/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int regular_open(const char *path, struct stat *st)
{
	char again[32];
	int place = open(path, O_PATH | O_CLOEXEC), fd = -1, failure;

	if (place < 0)
		return -1;
	if (fstat(place, st) == 0) {
		errno = EINVAL;
		if (S_ISREG(st->st_mode)) {
			snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
			fd = open(again, O_RDONLY | O_CLOEXEC);
		}
	}
	failure = errno;
	close(place);
	errno = failure;
	return fd;
}
