/*
 * count.h - counting instead of sampling: how often events occurred.
 *
 * Decides: which descriptors are opened, how values are read, scaled and
 * averaged. What they look like is countout.h's.
 *
 * Source: read_format of perf_event_open(2): an event that had to share its
 * counter ran for part of the time it was enabled, and its value is scaled by
 * enabled / running.
 */
#ifndef COLLECT_COUNT_H
#define COLLECT_COUNT_H

#include "collect/events.h"
#include "collect/target.h"
#include "share/compat.h"
#include "share/err.h"

struct counter {
	const struct event *event;
	char *refusal; /* why it cannot be counted, or NULL */
	double value;  /* of the last run or interval, scaled */
	uint64_t enabled_ns, running_ns;
	/* over all runs: Welford's mean and sum of squared deviations */
	double mean, squares;
};

struct count {
	/* set by the caller, borrowed */
	struct event_list *events;
	struct target *target;
	bool inherit, only_user, only_kernel;
	uint64_t duration_ns; /* 0 = until the target ends or a signal */
	uint64_t interval_ns; /* 0 = one result at the end */
	unsigned int nr_runs; /* of a command; at least 1 */
	bool stdout_is_ours;
	uint64_t keep_capabilities; /* the others are given up once the last run is open */
	/* called after each interval; may be NULL */
	void (*on_interval)(const struct count *count, void *arg);
	void *arg;

	struct counter *counters; /* one per event */
	size_t nr_counters;
	double elapsed_s;  /* mean over runs; with intervals: since the start */
	double interval_s; /* length of the last interval */
	double elapsed_squares;
	unsigned int nr_done; /* runs behind mean */
	int command_status;   /* of the last run, as of waitpid(2) */
	bool interrupted;
};

/* Counts until done. SIGINT, SIGTERM and SIGCHLD must be blocked. */
int count_run(struct count *count, struct err *err);
void count_release(struct count *count);

/* Standard error of the mean as a fraction of it; 0 for a single run. */
double count_deviation(double mean, double squares, unsigned int nr);

#endif
