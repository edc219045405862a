/*
 * sigrec.h - the signal sampler's side of collect: no perf events at all.
 *
 * The command runs with libcollect-signal.so preloaded (preload/sampler.c),
 * which samples it from inside and writes records into memory shared with us.
 * We pass them on.
 */
#ifndef COLLECT_SIGREC_H
#define COLLECT_SIGREC_H

#include "collect/events.h"
#include "collect/recout.h"
#include "collect/sampling.h"
#include "share/compat.h"
#include "share/err.h"

struct sigrec {
	struct sigring *ring;
	int fd;
	struct recout *rec; /* borrowed */
	uint64_t nr_samples, nr_lost, nr_malformed;
	uint64_t stalled_at, stalled_ns; /* a slot that does not become ready, and since when */
};

/*
 * Checks that the command can be sampled this way, makes the shared memory,
 * describes the one event in events (which must be empty), and puts the
 * library and the memory into our environment for the command to inherit.
 */
int sigrec_open(struct sigrec *sigrec, struct recout *rec, struct event_list *events,
                const struct sampling *sampling, bool wall, const char *command, struct err *err);

/* Passes on what is ready. */
void sigrec_drain(struct sigrec *sigrec);

/* Passes on what is left and tells what was lost. */
void sigrec_finish(struct sigrec *sigrec);

/* Processes that were sampled, and those that use the signal themselves. */
uint64_t sigrec_processes(const struct sigrec *sigrec);
uint64_t sigrec_conflicts(const struct sigrec *sigrec);

void sigrec_release(struct sigrec *sigrec);

#endif
