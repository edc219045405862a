#include "share/compat.h"
#include "collapse/names/ranges.h"

#include "share/mem.h"

#define WORTH_BLOCKS   64  /* below, a search takes no more than 6 steps */
#define WORTH_COUNTING 256 /* below, the counts cost more than the moves that they save */

void ranges_release(struct ranges *ranges)
{
	free(ranges->at);
	free(ranges->starts);
	free(ranges->values);
	free(ranges->blocks);
	*ranges = (struct ranges){0};
}

void ranges_add(struct ranges *ranges, uint64_t start, uint64_t end, uint32_t value,
                uint32_t priority)
{
	if (start >= end || ranges->nr >= RANGES_NONE - 1)
		return;
	MEM_GROW(ranges->at, ranges->nr, ranges->capacity);
	ranges->at[ranges->nr++] = (struct range){start, end, value, priority};
}

/* A stable sort, for a few; most are in order. */
static void sort_few(struct ranges *ranges)
{
	for (size_t i = 1; i < ranges->nr; i++) {
		struct range moved = ranges->at[i];
		size_t to = i;

		for (; to && ranges->at[to - 1].start > moved.start; to--)
			ranges->at[to] = ranges->at[to - 1];
		ranges->at[to] = moved;
	}
}

/* A stable sort by parts of 11 bits; only parts in which the keys differ. */
enum { DIGIT_BITS = 11, NR_DIGITS = 1 << DIGIT_BITS };

static bool is_sorted(const struct ranges *ranges)
{
	for (size_t i = 1; i < ranges->nr; i++)
		if (ranges->at[i - 1].start > ranges->at[i].start)
			return false;
	return true;
}

void ranges_sort(struct ranges *ranges)
{
	struct range *from = ranges->at, *to;
	uint64_t all = ~(uint64_t)0, any = 0;

	if (is_sorted(ranges))
		return;
	if (ranges->nr < WORTH_COUNTING) {
		sort_few(ranges);
		return;
	}
	for (size_t i = 0; i < ranges->nr; i++) {
		all &= from[i].start;
		any |= from[i].start;
	}
	to = mem_resize(NULL, ranges->nr, sizeof(*to));
	for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
		size_t counts[NR_DIGITS] = {0}, sum = 0;
		struct range *swap = from;

		if (!(((all ^ any) >> shift) & (NR_DIGITS - 1)))
			continue;
		for (size_t i = 0; i < ranges->nr; i++)
			counts[(from[i].start >> shift) & (NR_DIGITS - 1)]++;
		for (size_t i = 0; i < NR_DIGITS; i++) {
			size_t nr = counts[i];

			counts[i] = sum;
			sum += nr;
		}
		for (size_t i = 0; i < ranges->nr; i++)
			to[counts[(from[i].start >> shift) & (NR_DIGITS - 1)]++] = from[i];
		from = to;
		to = swap;
	}
	ranges->at = from;
	ranges->capacity = ranges->nr;
	free(to);
}

/* ---- the sweep: a heap of the ranges that cover the address at hand ---- */

struct sweep {
	struct ranges *ranges;
	uint32_t *heap; /* indices into ranges->at, the winner first */
	size_t nr, capacity;
};

static bool wins(const struct sweep *sweep, uint32_t a, uint32_t b)
{
	const struct range *x = &sweep->ranges->at[a], *y = &sweep->ranges->at[b];

	return x->priority != y->priority ? x->priority > y->priority : a > b;
}

static void push(struct sweep *sweep, uint32_t index)
{
	size_t at = sweep->nr;

	MEM_GROW(sweep->heap, sweep->nr, sweep->capacity);
	sweep->nr++;
	while (at && wins(sweep, index, sweep->heap[(at - 1) / 2])) {
		sweep->heap[at] = sweep->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	sweep->heap[at] = index;
}

static void pop(struct sweep *sweep)
{
	uint32_t last = sweep->heap[--sweep->nr];
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= sweep->nr)
			break;
		if (child + 1 < sweep->nr &&
		    wins(sweep, sweep->heap[child + 1], sweep->heap[child]))
			child++;
		if (!wins(sweep, sweep->heap[child], last))
			break;
		sweep->heap[at] = sweep->heap[child];
		at = child;
	}
	if (sweep->nr)
		sweep->heap[at] = last;
}

void ranges_append(struct ranges *ranges, uint64_t start, uint32_t value)
{
	if (ranges->nr_flat && ranges->starts[ranges->nr_flat - 1] == start) {
		ranges->values[ranges->nr_flat - 1] = value;
		return;
	}
	if (ranges->nr_flat && ranges->values[ranges->nr_flat - 1] == value)
		return;
	if (ranges->nr_flat >= ranges->flat_capacity) {
		ranges->flat_capacity = ranges->flat_capacity ? ranges->flat_capacity * 2 :
		                                                ranges->nr + ranges->nr / 2 + 16;
		ranges->starts =
		        mem_resize(ranges->starts, ranges->flat_capacity, sizeof(*ranges->starts));
		ranges->values =
		        mem_resize(ranges->values, ranges->flat_capacity, sizeof(*ranges->values));
	}
	ranges->starts[ranges->nr_flat] = start;
	ranges->values[ranges->nr_flat++] = value;
}

/* Ends what ends at or before the address, and says what counts from there on. */
static void close_until(struct sweep *sweep, uint64_t until)
{
	while (sweep->nr) {
		uint64_t end = sweep->ranges->at[sweep->heap[0]].end;

		if (end > until)
			return;
		while (sweep->nr && sweep->ranges->at[sweep->heap[0]].end <= end)
			pop(sweep);
		ranges_append(sweep->ranges, end,
		              sweep->nr ? sweep->ranges->at[sweep->heap[0]].value : RANGES_NONE);
	}
}

static uint64_t block_of(const struct ranges *ranges, uint64_t address)
{
	return (address - ranges->starts[0]) >> ranges->block_bits;
}

static void make_blocks(struct ranges *ranges)
{
	uint64_t span;

	if (ranges->nr_flat < WORTH_BLOCKS || ranges->nr_flat > UINT32_MAX)
		return;
	span = ranges->starts[ranges->nr_flat - 1] - ranges->starts[0];
	while (span >> ranges->block_bits >= ranges->nr_flat)
		ranges->block_bits++;
	ranges->nr_blocks = (size_t)(span >> ranges->block_bits) + 1;
	ranges->blocks = mem_alloc((ranges->nr_blocks + 1) * sizeof(*ranges->blocks));
	for (size_t i = 0, block = 0; block <= ranges->nr_blocks; block++) {
		while (i < ranges->nr_flat && block_of(ranges, ranges->starts[i]) < block)
			i++;
		ranges->blocks[block] = (uint32_t)i;
	}
}

void ranges_finish(struct ranges *ranges)
{
	struct sweep sweep = {.ranges = ranges};

	ranges_sort(ranges);
	for (size_t i = 0; i < ranges->nr; i++) {
		close_until(&sweep, ranges->at[i].start);
		push(&sweep, (uint32_t)i);
		ranges_append(ranges, ranges->at[i].start, ranges->at[sweep.heap[0]].value);
	}
	close_until(&sweep, UINT64_MAX);
	free(sweep.heap);
	free(ranges->at);
	ranges->at = NULL;
	ranges->nr = ranges->capacity = 0;
	make_blocks(ranges);
}

/* The index of the last start that is not behind the address; nr_flat where there is none. */
static size_t find_flat(const struct ranges *ranges, uint64_t address)
{
	const uint64_t *base = ranges->starts;
	size_t nr = ranges->nr_flat;

	if (!nr || address < base[0])
		return ranges->nr_flat;
	if (ranges->nr_blocks) {
		size_t block = MIN_OF(block_of(ranges, address), ranges->nr_blocks - 1);

		/* what counts at the begin of a block mostly begins in front of it */
		base += ranges->blocks[block] - (block != 0);
		nr = (size_t)(ranges->starts + ranges->blocks[block + 1] - base);
	}
	while (nr > 1) {
		size_t half = nr / 2;

		base = base[half] <= address ? base + half : base;
		nr -= half;
	}
	return (size_t)(base - ranges->starts);
}

uint32_t ranges_find(const struct ranges *ranges, uint64_t address)
{
	size_t at = find_flat(ranges, address);

	return at < ranges->nr_flat ? ranges->values[at] : RANGES_NONE;
}

uint32_t ranges_narrow(const struct ranges *ranges, uint64_t address, uint64_t *start,
                       uint64_t *end)
{
	size_t at = find_flat(ranges, address);
	bool is_before = at == ranges->nr_flat;
	size_t next = is_before ? 0 : at + 1;

	if (!is_before)
		*start = MAX_OF(*start, ranges->starts[at]);
	if (next < ranges->nr_flat)
		*end = MIN_OF(*end, ranges->starts[next]);
	return is_before ? RANGES_NONE : ranges->values[at];
}
