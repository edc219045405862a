/*
 * countout.h - counts as text aligned like perf stat's, as CSV or as JSON,
 * with the ratios people expect.
 *
 * CSV columns: time in s (intervals only), value, unit, event, deviation in
 * %, time counted in ns, share of the time counted in %, ratio, unit of the
 * ratio. JSON: one object a line with the same, named.
 */
#ifndef COLLECT_COUNTOUT_H
#define COLLECT_COUNTOUT_H

#include "collect/count.h"
#include "share/output.h"

enum count_format {
	COUNT_TEXT,
	COUNT_CSV,
	COUNT_JSON,
};

/* The values since the last interval, with its time. */
void countout_interval(const struct count *count, struct output *out, enum count_format format);

/* The means over all runs. what: the command, or who was counted. */
void countout_total(const struct count *count, struct output *out, enum count_format format,
                    const char *what);

#endif
