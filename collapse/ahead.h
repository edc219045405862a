/*
 * ahead.h - samples that wait for their turn while other threads unwind them.
 *
 * Decides who unwinds what and when: records come in, in order, and go out in
 * the same order, on the caller's thread; meanwhile any thread takes the
 * oldest sample that nobody has taken, the caller too, whenever it would have
 * to wait. So whoever counts the samples sees the same with any number of
 * threads.
 *
 * What a walk needs of the session is the maps of its process, which a sample
 * shares while it waits. So data that is mapped waits in the queue with the
 * samples; what changes code or tasks waits until the queue is empty.
 *
 * Threads are started when the queue is full for the first time. Memory:
 * AHEAD_SIZE samples, each with its frames.
 */
#ifndef COLLAPSE_AHEAD_H
#define COLLAPSE_AHEAD_H

#include "collapse/frames.h"
#include "share/compat.h"

#define AHEAD_SIZE 256u /* a power of two */

struct ahead;

struct ahead_options {
	struct frames *frames; /* borrowed: its unwinder is the caller's own */
	unsigned nr_threads;   /* with the caller's; 2 or more */

	/* On the caller's thread, in order; unwound is borrowed, NULL where nobody did it. */
	void (*deliver)(void *ctx, const struct record *record, struct event *event, uint64_t time,
	                const struct unwound *unwound);
	void *ctx;
};

struct ahead *ahead_new(const struct ahead_options *options);

/* Samples that were not delivered are dropped. NULL is fine. */
void ahead_free(struct ahead *ahead);

/*
 * Queues a record that stays where it is until it is delivered. event: NULL
 * where it is not known. False, with the queue empty: the caller takes the
 * record at once, because nothing may wait for it or it is gone after this
 * call (time 0), or ahead is NULL.
 */
bool ahead_queue(struct ahead *ahead, const struct record *record, struct event *event,
                 uint64_t time);

/* Delivers all that is queued. NULL is fine. */
void ahead_drain(struct ahead *ahead);

#endif
