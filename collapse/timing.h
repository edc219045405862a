/*
 * timing.h - recordings read for how long things took, not for how often
 * they were met.
 *
 * Decides which of the modules that measure time gets the samples and records
 * of a recording, and what the folded header says of what they counted.
 */
#ifndef COLLAPSE_TIMING_H
#define COLLAPSE_TIMING_H

#include "collapse/latency.h"
#include "collapse/offcpu.h"
#include "collapse/timehist.h"
#include "share/compat.h"

enum timing_what {
	TIMING_NONE,
	TIMING_OFF_CPU,
	TIMING_WALL,
	TIMING_RUN_QUEUE,
	TIMING_LATENCY,
	TIMING_TIMEHIST, /* a line for each switch, no stacks */
};

struct timing_options {
	enum timing_what what;
	bool by_state, by_waker;
	uint64_t min_ns;
	const char *pair;              /* of TIMING_LATENCY: "enter,exit" */
	struct histograms *histograms; /* or NULL */
	struct output *out;            /* of TIMING_TIMEHIST */
};

/* What was counted and what was not; numbers of all recordings of a run add up. */
struct timing_report {
	uint64_t nr, nr_open, nr_no_stack, nr_unreturned, nr_no_begin, nr_no_end;
	uint64_t nr_short, short_ns, unsampled_ns;
};

struct timing {
	struct timing_options options;
	struct offcpu offcpu;
	struct latency latency;
	struct timehist timehist;
	struct stacks *stacks;
	bool has_both_ends; /* samples of sched:sched_switch tell of switches, no record has to */
};

/* enter, leave: of TIMING_LATENCY. All is borrowed. */
void timing_init(struct timing *timing, const struct timing_options *options, struct stacks *stacks,
                 const struct measure_filter *filter, const struct event *enter,
                 const struct event *leave);
void timing_release(struct timing *timing);

/* A sample of a selected event. False where the sum would have reached 2^64. */
bool timing_sample(struct timing *timing, const struct event *event, const struct sample *sample,
                   const struct thread *thread);

/* event: the one that the record belongs to, or NULL. */
void timing_record(struct timing *timing, const struct record *record, const struct event *event,
                   uint64_t time);

/* Counts what is not over yet; adds to the report. */
void timing_finish(struct timing *timing, struct timing_report *report);

/* The header's fields `event` and, from the sums of a run, `waits` or `calls`. */
void timing_header(const struct timing_options *options, const struct timing_report *report,
                   struct folded_header *header);

#endif
