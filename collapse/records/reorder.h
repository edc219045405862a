/*
 * reorder.h - records in the order of their time.
 *
 * A recorder drains its rings one after the other, so the order in the stream
 * is not that of time. FINISHED_ROUND promises that nothing older than the
 * newest record of the round before is still to come; that much is handed on
 * at each. Records of equal time keep the order of the stream; records
 * without a time are handed on at once.
 *
 * Memory: 24 bytes a waiting record, and a copy of those that the reader
 * cannot keep. Above REORDER_MAX_* the older half goes out early, so that a
 * recording without rounds does not fill the memory.
 */
#ifndef COLLAPSE_REORDER_H
#define COLLAPSE_REORDER_H

#include "collapse/records/reader.h"
#include "share/compat.h"

#define REORDER_MAX_RECORDS ((size_t)4 << 20)
#define REORDER_MAX_COPIED  ((size_t)192 << 20)

struct reorder_entry {
	uint64_t time;
	const uint8_t *at;
	uint32_t event; /* index + 1, or 0 */
	uint32_t block; /* index + 1 of the block that holds the copy, or 0 */
};

struct reorder_block;

struct reorder {
	/* called in order; the record is borrowed for the call */
	void (*deliver)(void *ctx, const struct record *record, struct event *event, uint64_t time);
	void *ctx;
	/* called before copies of records that were delivered are overwritten; may be NULL */
	void (*settle)(void *ctx);
	struct reader *reader; /* borrowed */

	struct reorder_entry *entries; /* nr_sorted of them in order, then as they came */
	size_t nr, nr_sorted, capacity;
	struct reorder_entry *scratch;
	size_t scratch_capacity;
	size_t *runs, runs_capacity;
	uint64_t newest, round_newest; /* of all so far, at the last round */
	uint64_t delivered;            /* newest time that went out */
	uint64_t nr_late;              /* came after newer ones had gone out */

	struct reorder_block **blocks;
	size_t nr_blocks, blocks_capacity, current;
	size_t copied_size;
	size_t max_records, max_copied; /* limits; tests make them small */
};

void reorder_init(struct reorder *reorder, struct reader *reader,
                  void (*deliver)(void *ctx, const struct record *record, struct event *event,
                                  uint64_t time),
                  void *ctx);
void reorder_release(struct reorder *reorder);

/* time 0: delivered before the call returns. */
void reorder_add(struct reorder *reorder, const struct record *record, struct event *event,
                 uint64_t time);

/* PERF_RECORD_FINISHED_ROUND. */
void reorder_round(struct reorder *reorder);

/* Delivers all that waits. */
void reorder_finish(struct reorder *reorder);

#endif
