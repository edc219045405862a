/*
 * waits.c - a program that knows how long it waited, and for what.
 *
 * Five threads run for the number of seconds given: one sleeps and computes,
 * one waits for a pipe, one for a mutex, one reads a file past the page cache,
 * one burns. Each adds up what it waited on the monotonic clock; the sums are
 * printed at the end as `NAME WAITED LIVED`, in microseconds, a line each (a
 * life is counted from when the thread has its name).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

struct worker {
	const char *name;
	void (*step)(struct worker *);
	uint64_t waited_ns, lived_ns;
	pthread_t thread;
};

static uint64_t deadline;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int pipe_ends[2];
static const char *file_path;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

NOINLINE static void burn(uint64_t ns)
{
	uint64_t end = now() + ns;

	while (now() < end)
		;
}

static void pause_for(long ms)
{
	struct timespec t = {.tv_nsec = ms * 1000000};

	nanosleep(&t, NULL);
}

NOINLINE static void wait_asleep(struct worker *w)
{
	uint64_t start = now();

	pause_for(30);
	w->waited_ns += now() - start;
	burn(2000000);
}

NOINLINE static void wait_for_pipe(struct worker *w)
{
	uint64_t start = now();
	char c;

	if (read(pipe_ends[0], &c, 1) < 0)
		exit(1);
	w->waited_ns += now() - start;
	burn(1000000);
}

NOINLINE static void wait_for_mutex(struct worker *w)
{
	uint64_t start = now();

	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	pause_for(1);
	w->waited_ns += now() - start;
}

/* Holds the mutex most of the time, and feeds the pipe. */
NOINLINE static void hold_mutex(struct worker *w)
{
	uint64_t start = now();

	pthread_mutex_lock(&mutex);
	pause_for(25);
	pthread_mutex_unlock(&mutex);
	if (write(pipe_ends[1], "x", 1) < 0)
		exit(1);
	pause_for(2);
	w->waited_ns += now() - start;
}

NOINLINE static void read_uncached(struct worker *w)
{
	static char block[1 << 20] __attribute__((aligned(4096)));
	int fd = open(file_path, O_RDONLY | O_DIRECT);
	uint64_t start;

	if (fd < 0) {
		pause_for(10);
		return;
	}
	start = now();
	while (read(fd, block, sizeof(block)) > 0)
		;
	w->waited_ns += now() - start;
	close(fd);
}

static void *run(void *arg)
{
	struct worker *w = arg;
	uint64_t start;

	pthread_setname_np(pthread_self(), w->name);
	start = now();
	while (now() < deadline)
		w->step(w);
	w->lived_ns = now() - start;
	return NULL;
}

int main(int argc, char **argv)
{
	struct worker workers[] = {
	        {.name = "sleeper", .step = wait_asleep},
	        {.name = "piper", .step = wait_for_pipe},
	        {.name = "locker", .step = wait_for_mutex},
	        {.name = "holder", .step = hold_mutex},
	        {.name = "reader", .step = read_uncached},
	};
	const size_t nr = sizeof(workers) / sizeof(workers[0]);

	deadline = now() + (argc > 1 ? (uint64_t)strtol(argv[1], NULL, 10) : 3) * 1000000000;
	file_path = argc > 2 ? argv[2] : argv[0];
	if (pipe(pipe_ends) < 0)
		return 1;
	for (size_t i = 0; i < nr; i++)
		if (pthread_create(&workers[i].thread, NULL, run, &workers[i]) != 0)
			return 1;
	for (size_t i = 0; i < nr; i++) {
		/* the piper may be left without a writer */
		if (workers[i].step == wait_for_pipe && write(pipe_ends[1], "xxxxxxxxxx", 10) < 0)
			return 1;
		pthread_join(workers[i].thread, NULL);
	}
	for (size_t i = 0; i < nr; i++)
		printf("%s %llu %llu\n", workers[i].name,
		       (unsigned long long)(workers[i].waited_ns / 1000),
		       (unsigned long long)(workers[i].lived_ns / 1000));
	return 0;
}
