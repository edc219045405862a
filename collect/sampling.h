/*
 * sampling.h - how events are sampled: frequency, call graphs, what each
 * sample carries.
 *
 * Decides: every attr field that does not tell which event it is. Nothing
 * here asks the kernel; recorder.h steps back where it refuses.
 */
#ifndef COLLECT_SAMPLING_H
#define COLLECT_SAMPLING_H

#include "collect/events.h"
#include "share/compat.h"
#include "share/err.h"

enum chain_mode {
	CHAIN_AUTO,  /* frame pointers, and a stack copy where the bandwidth allows one */
	CHAIN_FP,    /* the kernel follows frame pointers */
	CHAIN_DWARF, /* registers and a copy of the stack, for unwinding later */
	CHAIN_LBR,   /* the processor's branch records */
	CHAIN_NONE,
};

struct sampling {
	uint64_t freq_hz; /* 0 where a period was given */
	uint64_t period;
	bool freq_max; /* the highest frequency the kernel allows */
	enum chain_mode chain;
	uint32_t stack_size; /* bytes of stack copied with each sample; 0 = none */
	uint64_t bandwidth;  /* bytes a second that stack copies may take with CHAIN_AUTO */
	bool only_user, only_kernel;
	bool addresses, weights, branches;
	bool inherit;
	int clockid; /* -1 = the clock of perf itself */
};

#define SAMPLING_DEFAULT_FREQ      99
#define SAMPLING_DEFAULT_STACK     (16 * 1024)
#define SAMPLING_MAX_STACK         65528 /* a record's size is 16 bits: perf_event_open(2) */
#define SAMPLING_DEFAULT_BANDWIDTH (32ull << 20)

/* "fp", "dwarf,16384", "auto,64M", ... */
int sampling_parse_chain(struct sampling *sampling, const char *text, struct err *err);

/* "mono", "raw", "real", "boot", "tai", "perf" */
int sampling_parse_clock(struct sampling *sampling, const char *text, struct err *err);

/*
 * Settles what was left open (stack_size with CHAIN_AUTO, freq_max) and fills
 * in the attr of each event. nr_cpus: CPUs that can be busy at a time.
 */
void sampling_apply(struct sampling *sampling, struct event_list *events, size_t nr_cpus);

/* The fields of attr that ask for user registers and size bytes of stack. */
void sampling_describe_copy(struct perf_event_attr *attr, uint32_t size);

/*
 * Rings turned out smaller than sampling_ring_size() asked for: with
 * CHAIN_AUTO takes the largest stack copy for which they hold half a second.
 */
void sampling_fit(struct sampling *sampling, struct event_list *events, size_t ring_size);

/*
 * Data bytes of a ring that holds half a second of the worst case, a power of
 * two; for events at a rate of their own a guess.
 */
size_t sampling_ring_size(const struct sampling *sampling, const struct event_list *events);

#endif
