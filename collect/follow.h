/*
 * follow.h - processes of a name: those that run, and those yet to come.
 *
 * Decides: how it is heard of new ones. Where this user may watch every
 * process, events that only tell of names ring a bell; else /proc is looked
 * through now and then, and what lives shorter than that is missed.
 *
 * Source: PERF_RECORD_COMM of perf_event_open(2), told at exec and when a
 * thread is renamed; names have 15 bytes (TASK_COMM_LEN of proc(5)).
 */
#ifndef COLLECT_FOLLOW_H
#define COLLECT_FOLLOW_H

#include "collect/ring.h"
#include "share/compat.h"

#include <poll.h>

struct follow {
	char name[16];
	struct ring *bells; /* one for each CPU; none where /proc is looked through */
	size_t nr_bells;
	uint64_t next_scan_ns;
};

#define FOLLOW_SCAN_NS 200000000ull

/* A longer name is cut, as the kernel cuts it. */
void follow_open(struct follow *follow, const char *name, const int *cpus, size_t nr_cpus);
void follow_release(struct follow *follow);

/* Fills an entry for each bell; returns their number. */
size_t follow_pollfds(const struct follow *follow, struct pollfd *fds);

/*
 * Calls found for each process that has the name, or took it since the last
 * call; the same one may be told again, and may be gone.
 */
void follow_look(struct follow *follow, void (*found)(int pid, void *arg), void *arg);

#endif
