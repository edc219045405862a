/*
 * drain.h - what becomes of the records in the kernel's rings: counted, cut to
 * what was used of stack copies, and passed on to the stream.
 *
 * One thread reads all rings as long as it keeps up. When rings are found
 * nearly full again and again, further threads share them from then on; a
 * pass still ends when all rings are read, so that rounds mean what they say.
 *
 * Events opened while a recording runs have ids that the stream's header does
 * not know: where there may be such (renumbers), all records of an event go out
 * under its first id.
 */
#ifndef COLLECT_DRAIN_H
#define COLLECT_DRAIN_H

#include "collect/recorder.h"

/* Reads every ring once. Returns whether there was anything. */
bool drain_rings(struct recorder *recorder);

/* Ends the threads, where there are any. */
void drain_release(struct recorder *recorder);

/* Counts a record; the event of a sample, NULL for other records. */
struct event *drain_count(struct recorder *recorder, const struct ring *ring, uint64_t at,
                          const struct perf_event_header *header);

/* Writes a record; event: as drain_count() said. */
void drain_pass_on(struct recorder *recorder, const struct ring *ring, uint64_t at,
                   const struct perf_event_header *header, const struct event *event);

/* Appends a sample to a buffer, without the unused end of its stack copy, or without the copy. */
void drain_copy_sample(const struct event *event, const struct ring *ring, uint64_t at,
                       bool with_stack, struct buf *out);

#endif
