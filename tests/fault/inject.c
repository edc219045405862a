/*
 * inject.c - makes the nth call of one libc function fail; a library for
 * LD_PRELOAD.
 *
 * FAULT_CALL names the function (malloc counts calloc and realloc too, open
 * counts openat). FAULT_NTH counts its calls from 1; 0 only counts. The number
 * of calls goes into the file FAULT_COUNT at the end.
 *
 * Besides, where FAULT_PATH names a file, FAULT_INSTEAD is opened in its place;
 * and the clock of the day is ahead by the seconds that the file FAULT_CLOCK
 * holds.
 */
#include "share/compat.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* glibc's own names for the allocator, which cannot be looked up without allocating */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t nr, size_t size);
void *__libc_realloc(void *old, size_t size);

static const char *call;
static long nth;
static long nr_calls;

__attribute__((constructor)) static void begin(void)
{
	const char *text = getenv("FAULT_NTH");

	call = getenv("FAULT_CALL");
	nth = text ? strtol(text, NULL, 10) : 0;
}

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("FAULT_COUNT");
	char text[24];
	int fd;

	if (!path)
		return;
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		return;
	snprintf(text, sizeof(text), "%ld\n", nr_calls);
	syscall(SYS_write, fd, text, strlen(text));
	syscall(SYS_close, fd);
}

static bool fails(const char *name, int error)
{
	if (!call || strcmp(call, name) != 0)
		return false;
	if (__atomic_add_fetch(&nr_calls, 1, __ATOMIC_RELAXED) != nth)
		return false;
	errno = error;
	return true;
}

void *malloc(size_t size)
{
	return fails("malloc", ENOMEM) ? NULL : __libc_malloc(size);
}

void *calloc(size_t nr, size_t size)
{
	return fails("malloc", ENOMEM) ? NULL : __libc_calloc(nr, size);
}

void *realloc(void *old, size_t size)
{
	return fails("malloc", ENOMEM) ? NULL : __libc_realloc(old, size);
}

ssize_t read(int fd, void *to, size_t size)
{
	return fails("read", EIO) ? -1 : syscall(SYS_read, fd, to, size);
}

ssize_t write(int fd, const void *from, size_t size)
{
	/* stderr is how the failure is told: it works */
	return fd != STDERR_FILENO && fails("write", ENOSPC) ? -1 :
	                                                       syscall(SYS_write, fd, from, size);
}

int close(int fd)
{
	int result = (int)syscall(SYS_close, fd);

	return fails("close", EIO) ? -1 : result;
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	if (fails("mmap", ENOMEM))
		return MAP_FAILED;
	return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	const char *path = clock == CLOCK_REALTIME ? getenv("FAULT_CLOCK") : NULL;
	int result = (int)syscall(SYS_clock_gettime, clock, time);
	char text[24] = "";
	int fd;

	if (result < 0 || !path)
		return result;
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
	if (fd >= 0) {
		if (syscall(SYS_read, fd, text, sizeof(text) - 1) > 0)
			time->tv_sec += strtol(text, NULL, 10);
		syscall(SYS_close, fd);
	}
	return 0;
}

static int open_at(int dir, const char *path, int flags, va_list args)
{
	mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
	const char *replaced = getenv("FAULT_PATH");

	if (replaced && strcmp(path, replaced) == 0)
		path = getenv("FAULT_INSTEAD");
	return fails("open", EMFILE) ? -1 : (int)syscall(SYS_openat, dir, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
	va_list args;
	int fd;

	va_start(args, flags);
	fd = open_at(AT_FDCWD, path, flags, args);
	va_end(args);
	return fd;
}

int openat(int dir, const char *path, int flags, ...)
{
	va_list args;
	int fd;

	va_start(args, flags);
	fd = open_at(dir, path, flags, args);
	va_end(args);
	return fd;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *arg)
{
	static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (fails("pthread_create", EAGAIN))
		return EAGAIN;
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
	return next(thread, attributes, start, arg);
}
