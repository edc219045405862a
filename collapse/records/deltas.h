/*
 * deltas.h - counters that samples carry along (PERF_SAMPLE_READ of a group),
 * as what each of them counted since its last reading.
 */
#ifndef COLLAPSE_DELTAS_H
#define COLLAPSE_DELTAS_H

#include "share/compat.h"

struct deltas_slot {
	uint64_t id;
	uint64_t value;
	int32_t tid;
	bool is_used;
};

struct deltas {
	struct deltas_slot *slots; /* open addressing, nr_slots a power of two */
	size_t nr_slots, nr;
};

/* A zeroed struct deltas is ready to use. */
void deltas_release(struct deltas *deltas);

/*
 * What the counter counted since the last call for it; all of value at the
 * first. tid: 0 unless each thread has a count of its own (inherited events).
 */
uint64_t deltas_of(struct deltas *deltas, uint64_t id, int32_t tid, uint64_t value);

#endif
