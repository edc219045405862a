/*
 * latency.h - the time between two events of one thread: a system call and
 * its return, a function and its end (uprobe and uretprobe), any pair.
 *
 * Counted when the second event comes, at the stack of the first. Calls may
 * lie within each other: a stack is charged with the time inside without that
 * in the inner ones, so that sums are time that went by; the histogram gets
 * the whole length of each.
 *
 * System calls of one thread do not lie within each other: a second begin
 * takes the place of the first, whose end was not recorded. Of other events,
 * one that LATENCY_DEPTH lie within is given up likewise. Ends
 * without a begin, and what was not over at the end of the recording or of
 * its thread, are counted apart and left out, since their length is not known.
 */
#ifndef COLLAPSE_LATENCY_H
#define COLLAPSE_LATENCY_H

#include "collapse/bytid.h"
#include "collapse/histogram.h"
#include "collapse/measure.h"
#include "collapse/stacks.h"
#include "share/compat.h"

#define LATENCY_DEPTH 64

struct latency_options {
	const struct event *enter, *leave;
	uint64_t min_ns; /* shorter ones are added up, not shown */
	const struct measure_filter *filter;
	struct histograms *histograms; /* or NULL */
};

struct latency {
	struct stacks *stacks; /* borrowed */
	struct latency_options options;
	struct bytid threads;
	uint64_t nr;                 /* counted */
	uint64_t nr_begun;           /* seen to begin: not over where neither counted nor lost */
	uint64_t nr_no_begin;        /* ends without a begin */
	uint64_t nr_no_end;          /* begins whose end was not recorded */
	uint64_t nr_open;            /* not over at the end */
	uint64_t nr_short, short_ns; /* left out: shorter than min_ns */
	uint64_t nr_filtered;
	bool is_full; /* the sum would have reached 2^64 */
};

void latency_init(struct latency *latency, struct stacks *stacks,
                  const struct latency_options *options);
void latency_release(struct latency *latency);

/* A sample of either event. */
void latency_sample(struct latency *latency, const struct event *event, const struct sample *sample,
                    const struct thread *thread);

/* EXIT and FORK; others are passed over. */
void latency_record(struct latency *latency, const struct record *record);

void latency_finish(struct latency *latency);

#endif
