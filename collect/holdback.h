/*
 * holdback.h - waits are written when they are over, and only the longer ones.
 *
 * The kernel tells of a switch when a thread leaves its CPU, and nobody knows
 * yet how long it will be away. So the sample is held back until the thread
 * returns. Then either it is written, with the time of the return as its time
 * and the length of the wait (ns) as its period - an event named
 * "offcpu-time" - or, where the wait was shorter than min_ns, it is only added
 * to the thread's sum. Sums go out once a second, and in front of other
 * samples and the exit of the thread, as samples of an event "offcpu-short":
 * addr = how many, period = their sum (ns). So the times of a thread add up,
 * whatever is left out.
 *
 * The sample of the thread that ended a wait goes the same way, in front of
 * it, as "offcpu-waker": its period is the time from there to the return.
 * Waits that are not over at the end of the recording end there.
 *
 * Records are taken from the rings in the order of their time, since a thread
 * may leave one CPU and return on another. What is younger than the moment at
 * which a pass over the rings begins waits for the next one.
 *
 * Memory: a sample is copied only if its thread is still away when its ring
 * has to be given back. Above HOLDBACK_MAX bytes copies go without the user's
 * stack.
 */
#ifndef COLLECT_HOLDBACK_H
#define COLLECT_HOLDBACK_H

#include "collect/events.h"
#include "collect/recout.h"
#include "collect/ring.h"
#include "share/compat.h"

#define HOLDBACK_MAX ((size_t)64 << 20)

struct recorder;

struct holdback {
	struct recorder *recorder; /* borrowed */
	uint64_t min_ns;
	struct holdback_thread **slots; /* open addressing by tid, nr_slots a power of two */
	size_t nr_slots, nr_threads;
	struct holdback_thread **fresh; /* those with a sample in the rings of this pass */
	size_t nr_fresh, fresh_capacity;
	struct holdback_thread **summed; /* those with a sum to be told */
	size_t nr_summed, summed_capacity;
	struct buf scratch;
	size_t held_size;
	uint64_t last_time;          /* of all records so far */
	uint64_t told_time;          /* when sums went out last */
	uint64_t nr_short, short_ns; /* in all */
	uint64_t nr_stripped;        /* samples whose stack found no room */
};

void holdback_init(struct holdback *holdback, struct recorder *recorder, uint64_t min_ns);
void holdback_release(struct holdback *holdback);

/* Describes "offcpu-short", which the kernel knows nothing of. */
void holdback_describe(struct recout *rec);

/*
 * Takes what the rings hold. until: ns of the recording's clock, at or before
 * the moment at which the rings were looked at; UINT64_MAX takes all.
 */
bool holdback_drain(struct holdback *holdback, uint64_t until);

/* After the last drain: ends all waits, tells all sums. */
void holdback_finish(struct holdback *holdback);

#endif
