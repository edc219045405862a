/*
 * timehist.h - one line for each switch away from a CPU: how long the thread
 * had waited before it came onto it, how long of that it could have run, and
 * how long it ran.
 *
 * Columns and their meaning are those of `perf sched timehist --no-call-graph`
 * (perf-sched(1)): the time of the switch, the CPU, the thread, and three
 * times in milliseconds. The wait is from the switch away before this one,
 * the delay from the wakeup; unknown times are 0. Idle CPUs are threads too.
 */
#ifndef COLLAPSE_TIMEHIST_H
#define COLLAPSE_TIMEHIST_H

#include "collapse/bytid.h"
#include "collapse/measure.h"
#include "collapse/moves.h"
#include "collapse/records/session.h"
#include "share/compat.h"
#include "share/output.h"

struct timehist {
	struct session *session;             /* borrowed, as the next ones */
	const struct measure_filter *filter; /* of the lines, not of what they are made from */
	struct output *out;
	struct bytid tasks;
	uint64_t nr_lines;
};

void timehist_init(struct timehist *timehist, struct session *session,
                   const struct measure_filter *filter, struct output *out);
void timehist_release(struct timehist *timehist);

/* is_record: it comes from a record, and a sample may have told it before. */
void timehist_move(struct timehist *timehist, const struct move *move, bool is_record);

#endif
