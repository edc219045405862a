#include "share/compat.h"
#include "collapse/records/reorder.h"

#include "share/mem.h"

#define BLOCK_SIZE ((size_t)1 << 20)
#define TIME_NONE  UINT64_MAX /* perf writes it for "no time" */

struct reorder_block {
	size_t used, nr_live;
	uint8_t bytes[BLOCK_SIZE];
};

void reorder_init(struct reorder *reorder, struct reader *reader,
                  void (*deliver)(void *ctx, const struct record *record, struct event *event,
                                  uint64_t time),
                  void *ctx)
{
	*reorder = (struct reorder){
	        .deliver = deliver,
	        .ctx = ctx,
	        .reader = reader,
	        .max_records = REORDER_MAX_RECORDS,
	        .max_copied = REORDER_MAX_COPIED,
	};
}

void reorder_release(struct reorder *reorder)
{
	for (size_t i = 0; i < reorder->nr_blocks; i++)
		free(reorder->blocks[i]);
	free(reorder->blocks);
	free(reorder->entries);
	free(reorder->scratch);
	free(reorder->runs);
	*reorder = (struct reorder){0};
}

/* A block with room; empty ones are used again before a new one is made. */
static struct reorder_block *block_for(struct reorder *reorder, size_t size)
{
	if (reorder->nr_blocks) {
		struct reorder_block *block = reorder->blocks[reorder->current];

		if (block->nr_live == 0)
			block->used = 0;
		if (BLOCK_SIZE - block->used >= size)
			return block;
	}
	for (size_t i = 0; i < reorder->nr_blocks; i++) {
		if (reorder->blocks[i]->nr_live == 0) {
			reorder->current = i;
			reorder->blocks[i]->used = 0;
			return reorder->blocks[i];
		}
	}
	MEM_GROW(reorder->blocks, reorder->nr_blocks, reorder->blocks_capacity);
	reorder->current = reorder->nr_blocks++;
	reorder->blocks[reorder->current] = mem_alloc(sizeof(struct reorder_block));
	reorder->blocks[reorder->current]->used = 0;
	reorder->blocks[reorder->current]->nr_live = 0;
	return reorder->blocks[reorder->current];
}

static size_t merge(struct reorder_entry *to, const struct reorder_entry *left, size_t nr_left,
                    const struct reorder_entry *right, size_t nr_right)
{
	size_t i = 0, j = 0, nr = 0;

	while (i < nr_left && j < nr_right) {
		/* equal times: the left one came first */
		if (left[i].time <= right[j].time)
			to[nr++] = left[i++];
		else
			to[nr++] = right[j++];
	}
	memcpy(to + nr, left + i, (nr_left - i) * sizeof(*to));
	nr += nr_left - i;
	memcpy(to + nr, right + j, (nr_right - j) * sizeof(*to));
	return nr + nr_right - j;
}

/* A merge sort of the runs that are there: one for each ring that was drained. */
static void sort(struct reorder *reorder)
{
	struct reorder_entry *from = reorder->entries, *to;
	size_t nr_runs = 0;

	if (reorder->nr_sorted == reorder->nr)
		return;
	for (size_t i = 0; i < reorder->nr; i++) {
		if (i && from[i].time >= from[i - 1].time)
			continue;
		MEM_GROW(reorder->runs, nr_runs + 1, reorder->runs_capacity);
		reorder->runs[nr_runs++] = i;
	}
	if (reorder->scratch_capacity < reorder->capacity) {
		reorder->scratch_capacity = reorder->capacity;
		reorder->scratch =
		        mem_resize(reorder->scratch, reorder->capacity, sizeof(*reorder->scratch));
	}
	to = reorder->scratch;
	while (nr_runs > 1) {
		struct reorder_entry *swap = from;
		size_t nr_merged = 0, nr = 0;

		for (size_t run = 0; run < nr_runs; run += 2) {
			size_t begin = reorder->runs[run];
			size_t middle = run + 1 < nr_runs ? reorder->runs[run + 1] : reorder->nr;
			size_t end = run + 2 < nr_runs ? reorder->runs[run + 2] : reorder->nr;

			reorder->runs[nr_merged++] = nr;
			nr += merge(to + nr, from + begin, middle - begin, from + middle,
			            end - middle);
		}
		nr_runs = nr_merged;
		from = to;
		to = swap;
	}
	if (from != reorder->entries) {
		size_t capacity = reorder->capacity;

		reorder->scratch = reorder->entries;
		reorder->entries = from;
		reorder->capacity = reorder->scratch_capacity;
		reorder->scratch_capacity = capacity;
	}
	reorder->nr_sorted = reorder->nr;
}

static void deliver(struct reorder *reorder, const struct reorder_entry *entry)
{
	struct record record;

	reader_record_at(reorder->reader, entry->at, &record);
	if (entry->time < reorder->delivered)
		reorder->nr_late++;
	else
		reorder->delivered = entry->time;
	reorder->deliver(reorder->ctx, &record,
	                 entry->event ? reorder->reader->events.at[entry->event - 1] : NULL,
	                 entry->time);
	if (entry->block) {
		reorder->blocks[entry->block - 1]->nr_live--;
		reorder->copied_size -= record.size;
	}
}

/* Delivers the oldest nr entries; all are sorted. */
static void deliver_first(struct reorder *reorder, size_t nr)
{
	bool has_copies = reorder->copied_size > 0;

	if (!nr)
		return;
	for (size_t i = 0; i < nr; i++)
		deliver(reorder, &reorder->entries[i]);
	if (has_copies && reorder->settle)
		reorder->settle(reorder->ctx);
	reorder->nr -= nr;
	memmove(reorder->entries, reorder->entries + nr, reorder->nr * sizeof(*reorder->entries));
	reorder->nr_sorted = reorder->nr;
}

void reorder_add(struct reorder *reorder, const struct record *record, struct event *event,
                 uint64_t time)
{
	struct reorder_entry entry = {time, record->at, event ? event->index + 1 : 0, 0};

	if (time == 0 || time == TIME_NONE) {
		reorder->deliver(reorder->ctx, record, event, 0);
		return;
	}
	if (reorder->nr >= reorder->max_records || reorder->copied_size >= reorder->max_copied) {
		sort(reorder);
		deliver_first(reorder, reorder->nr / 2);
	}
	if (!record->is_stable) {
		struct reorder_block *block = block_for(reorder, record->size);

		entry.at = block->bytes + block->used;
		memcpy(block->bytes + block->used, record->at, record->size);
		block->used += record->size;
		block->nr_live++;
		entry.block = (uint32_t)reorder->current + 1;
		reorder->copied_size += record->size;
	}
	MEM_GROW(reorder->entries, reorder->nr, reorder->capacity);
	reorder->entries[reorder->nr++] = entry;
	reorder->newest = MAX_OF(reorder->newest, time);
}

void reorder_round(struct reorder *reorder)
{
	size_t nr = 0;

	if (reorder->round_newest) {
		sort(reorder);
		while (nr < reorder->nr && reorder->entries[nr].time <= reorder->round_newest)
			nr++;
		deliver_first(reorder, nr);
	}
	reorder->round_newest = reorder->newest;
}

void reorder_finish(struct reorder *reorder)
{
	sort(reorder);
	deliver_first(reorder, reorder->nr);
}
