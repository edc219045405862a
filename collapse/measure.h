/*
 * measure.h - which samples are wanted, and what one of them weighs.
 */
#ifndef COLLAPSE_MEASURE_H
#define COLLAPSE_MEASURE_H

#include "collapse/records/sample.h"
#include "collapse/records/session.h"
#include "share/compat.h"
#include "share/weight.h"

/* Lists of numbers and names to keep; empty = keep all. */
struct measure_filter {
	const char **comms;
	int64_t *pids, *tids, *cpus;
	size_t nr_comms, nr_pids, nr_tids, nr_cpus;
	uint64_t time_from, time_to; /* ns on the clock of the recording; 0 = no bound */
};

enum measure_count { MEASURE_SAMPLES, MEASURE_PERIOD, MEASURE_TIME };

/* Nothing is filtered. */
bool measure_wants_all(const struct measure_filter *filter);

/* Whatever the time. */
bool measure_wants_task(const struct measure_filter *filter, struct session *session,
                        const struct sample *sample, const struct thread *thread);

/* And at that time. */
bool measure_wants(const struct measure_filter *filter, struct session *session,
                   const struct sample *sample, const struct thread *thread);

/* Microseconds for MEASURE_TIME. False where the event does not tell. */
bool measure_weigh(enum measure_count count, const struct event *event, const struct sample *sample,
                   weight_fx *weight);

#endif
