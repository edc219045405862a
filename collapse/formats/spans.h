/*
 * spans.h - calls with a begin and an end, to the time spent in each stack.
 *
 * For recordings that say when functions were entered and left. Events of all
 * threads are gathered, then each thread is replayed in the order of time: the
 * time from one event to the next belongs to the innermost call that is open.
 *
 * What real traces break, and what becomes of it: an end closes the innermost
 * open call of its name, wherever that is on the stack; one that closes
 * nothing is passed over (its begin lies before the recording); calls still
 * open are closed by the thread's last event. So a thread's sum is the length
 * of time in which at least one of its calls was open.
 */
#ifndef COLLAPSE_SPANS_H
#define COLLAPSE_SPANS_H

#include "collapse/folder.h"
#include "share/compat.h"

enum span_kind {
	SPAN_END_WHOLE, /* made by spans_whole() */
	SPAN_BEGIN,
	SPAN_END,
	SPAN_WHOLE,
	SPAN_TICK, /* time was here, nothing else */
};

#define SPAN_ANY UINT32_MAX /* an end without a name: of the innermost call */

struct span_event {
	__int128 at;     /* in units of 10^-9 of the caller's unit */
	__int128 length; /* SPAN_WHOLE */
	uint32_t thread, name;
	uint32_t order; /* of arrival; pairs the two ends of a whole span */
	enum span_kind kind;
};

struct spans {
	struct span_event *events;
	size_t nr, capacity;
	uint32_t *roots; /* by thread: the folder's node its stacks hang below */
	size_t nr_threads, threads_capacity;
	uint64_t nr_unmatched; /* ends that closed nothing */
};

/* A zeroed struct spans is ready to use. */
void spans_release(struct spans *spans);

/* Adds a thread; roots[thread] may be set until spans_fold(). */
uint32_t spans_thread(struct spans *spans, uint32_t root);

void spans_event(struct spans *spans, uint32_t thread, enum span_kind kind, uint32_t name,
                 __int128 at);

/* Begin and end in one; of length 0 or below is nothing. */
void spans_whole(struct spans *spans, uint32_t thread, uint32_t name, __int128 at, __int128 length);

/* Counts all time. false where the folder's total would reach 2^64. */
bool spans_fold(struct spans *spans, struct folder *folder);

#endif
