/*
 * deferred.h - samples whose user call chain comes later, in a record of its
 * own (Linux 6.19, attr.defer_callchain): the kernel takes it when the task
 * goes back to user mode, once for all samples since it came from there.
 *
 * Such a chain ends in PERF_CONTEXT_USER_DEFERRED and a cookie; the record
 * CALLCHAIN_DEFERRED carries the same cookie.
 */
#ifndef COLLAPSE_DEFERRED_H
#define COLLAPSE_DEFERRED_H

#include "collapse/records/sample.h"
#include "share/compat.h"

/* Samples that may wait; with more of them the oldest are given up. */
#define DEFERRED_MAX 16384u

struct deferred_entry {
	uint64_t cookie;
	struct event *event;
	uint8_t *record; /* a copy, owned; NULL = taken */
};

struct deferred {
	struct deferred_entry *entries; /* a ring, oldest at `first` */
	size_t first, nr;
	uint64_t *chain; /* scratch */
	size_t chain_capacity;
};

/* A zeroed struct deferred is ready to use. */
void deferred_release(struct deferred *deferred);

/* The cookie that the sample's chain ends in, or 0. */
uint64_t deferred_cookie(const struct sample *sample);

/*
 * Keeps a copy of the record. Where that leaves no room, the oldest entry is
 * moved to *given_up, whose record the caller frees; else its record is NULL.
 */
void deferred_hold(struct deferred *deferred, uint64_t cookie, struct event *event,
                   const struct record *record, struct deferred_entry *given_up);

/* Takes out one entry that waits for the cookie (0: any); false where none does. */
bool deferred_take(struct deferred *deferred, uint64_t cookie, struct deferred_entry *entry);

/*
 * Puts nr addresses, as CALLCHAIN_DEFERRED has them, in the place of the marker
 * and the cookie. The chain is valid until the next call.
 */
void deferred_merge(struct deferred *deferred, struct sample *sample, const uint64_t *ips,
                    uint64_t nr);

#endif
