/*
 * offcpu.h - the time that threads spend off the CPU, or of that only the
 * time in which they could have run, at the stack where they left it.
 *
 * A wait begins when a thread leaves the CPU and is counted when it comes
 * back, or at the end of the recording. What tells of these moments is in
 * moves.h; a recording may tell the same one twice, by a sample and by a
 * record: the first counts. The stack is that of the sample which came with
 * the switch; waits without one stand at [no stack].
 *
 * Where samples of what runs are wanted too (wall time), each is charged with
 * the time that its thread has spent on the CPU since its last sample, so that
 * a thread's sum is its lifetime whatever the sampling rate. A thread that was
 * there before the recording and of which nothing is heard waits, for what is
 * not known.
 *
 * The odd cases: where a thread leaves a second time and no return was told,
 * it is taken to have come with the switch before on that CPU, when the one
 * that ran there left unseen (counted in nr_unreturned). An exit forgets a
 * wait that was not over. A return at the time of the switch makes a wait of
 * no length, which counts. CPUs do not matter to threads that move between
 * them. What a thread that has exited does last is no wait; an id that is
 * forked again begins anew. The idle task (tid 0) never waits.
 */
#ifndef COLLAPSE_OFFCPU_H
#define COLLAPSE_OFFCPU_H

#include "collapse/bytid.h"
#include "collapse/histogram.h"
#include "collapse/measure.h"
#include "collapse/moves.h"
#include "collapse/stacks.h"
#include "share/compat.h"

struct offcpu_options {
	bool wall;       /* time on the CPU as well */
	bool run_queue;  /* of waits only what came after the wakeup */
	bool by_state;   /* the reason as the innermost frame */
	bool by_waker;   /* who ended the wait, below a frame "--" */
	uint64_t min_ns; /* shorter waits of a thread are one frame, [short waits] */
	const struct measure_filter *filter;
	struct histograms *histograms; /* each wait goes there too; or NULL */
};

struct offcpu_thread;

struct offcpu {
	struct stacks *stacks; /* borrowed */
	struct offcpu_options options;
	struct bytid threads;           /* struct offcpu_thread */
	struct bytid cpus;              /* uint64_t: the last switch, ns */
	struct offcpu_thread *latest;   /* list of all */
	uint64_t first_time, last_time; /* of all records seen */
	uint64_t nr_waits;              /* counted */
	uint64_t nr_open;               /* of these, still waiting at the end of the recording */
	uint64_t nr_no_stack;        /* of these, without a stack: no sample came with the switch */
	uint64_t nr_unreturned;      /* the return was never told */
	uint64_t nr_short, short_ns; /* left out: shorter than min_ns */
	uint64_t nr_filtered;        /* left out by the filter, or without the part asked for */
	uint64_t unsampled_ns;       /* on the CPU, in threads that were never sampled there */
	bool is_full;                /* the sum would have reached 2^64 */
};

void offcpu_init(struct offcpu *offcpu, struct stacks *stacks,
                 const struct offcpu_options *options);
void offcpu_release(struct offcpu *offcpu);

/* A sample of any of the events that moves.h knows, else of a thread that runs. */
void offcpu_sample(struct offcpu *offcpu, const struct event *event, const struct sample *sample,
                   const struct thread *thread);

/* SWITCH, SWITCH_CPU_WIDE, EXIT and FORK; others are passed over. */
void offcpu_record(struct offcpu *offcpu, const struct record *record, const struct event *event,
                   uint64_t time);

/* Counts the waits that have not ended, and time still owed. */
void offcpu_finish(struct offcpu *offcpu);

#endif
