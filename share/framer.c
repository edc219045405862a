#include "share/compat.h"
#include "share/framer.h"

#include "share/bytes64.h"
#include "share/mem.h"

#define HEAD_SIZE (BYTES64 - sizeof(uint32_t))

/*
 * A name and ";", as far as they fit, and its id, in one cache line. The table
 * is a cache of the one of all names: a name has two places, side by side, and
 * what is not found there is found in the other table.
 */
struct framer_slot {
	_Alignas(BYTES64) char head[HEAD_SIZE];
	uint32_t id; /* + 1, or 0 */
};

#define MIN_SLOTS 1024u
#define MAX_SLOTS (128u * 1024)

/* Texts are kept with room for words before them and blocks behind. */
#define BEFORE 16
#define BEHIND (2 * BYTES64)

void framer_release(struct framer *framer)
{
	free(framer->slots);
	free(framer->text);
	free(framer->other_text);
	free(framer->ids);
	free(framer->ends);
	*framer = (struct framer){0};
}

/* ---- names ---- */

static inline uint64_t load_word(const char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* Some bytes of the frame make a key; all of it is compared later. */
static inline uint32_t hash_some(const char *at, size_t size)
{
	bool is_short = size < 8;
	uint64_t last = load_word(at + size - 8) >> (is_short ? 64 - 8 * size : 0);
	uint64_t first = is_short ? 0 : load_word(at);
	uint64_t middle = is_short ? 0 : load_word(at + size / 2 - 4);

	return (uint32_t)hash_u64(last + size, first ^ (middle << 29 | middle >> 35));
}

static inline struct framer_slot *slot_of(const struct framer *framer, uint32_t hash)
{
	return &framer->slots[hash & (framer->nr_slots - 1)];
}

static inline struct framer_slot *other_slot(const struct framer *framer, uint32_t hash)
{
	return slot_of(framer, hash ^ 1);
}

/* A frame of the text, followed by ";", is the name in the slot. */
static inline bool is_name(const struct framer_slot *slot, const struct strtab *names,
                           const char *at, size_t size)
{
	uint64_t differ = ~bytes64_same(at, slot->head);

	if (LIKELY(size < HEAD_SIZE))
		return !(differ << (BYTES64 - 1 - size));
	return !(differ << (BYTES64 - HEAD_SIZE)) && slot->id &&
	       names->entries[slot->id - 1].size == size &&
	       memcmp(at + HEAD_SIZE, strtab_text(names, slot->id - 1) + HEAD_SIZE,
	              size - HEAD_SIZE) == 0;
}

/* Four times as many slots as names. What was in them is found again when it is asked for. */
static void grow_slots(struct framer *framer, uint32_t nr_names)
{
	uint32_t nr = MAX_OF(framer->nr_slots, MIN_SLOTS);
	size_t size;

	while (nr < MAX_SLOTS && nr / 4 < nr_names)
		nr *= 2;
	if (nr == framer->nr_slots)
		return;
	free(framer->slots);
	size = nr * sizeof(*framer->slots);
	framer->slots = mem_aligned(MIN_OF(size, MEM_HUGE), size);
	mem_advise_huge(framer->slots, size);
	memset(framer->slots, 0, size);
	framer->nr_slots = nr;
}

static uint32_t learn(struct framer *framer, struct strtab *names, const char *text, size_t size,
                      uint32_t hash)
{
	uint32_t id = strtab_id(names, text, size);
	struct framer_slot *slot;

	grow_slots(framer, names->nr);
	slot = slot_of(framer, hash);
	if (slot->id && (!other_slot(framer, hash)->id || hash >> 31))
		slot = other_slot(framer, hash);
	memset(slot->head, ';', HEAD_SIZE);
	memcpy(slot->head, text, MIN_OF(size, HEAD_SIZE));
	slot->id = id + 1;
	return id;
}

static inline uint32_t find_id(struct framer *framer, struct strtab *names, const char *text,
                               size_t size, uint32_t hash)
{
	const struct framer_slot *slot = slot_of(framer, hash);

	/* an empty slot has no ";" */
	if (LIKELY(is_name(slot, names, text, size)))
		return slot->id - 1;
	slot = other_slot(framer, hash);
	return is_name(slot, names, text, size) ? slot->id - 1 :
	                                          learn(framer, names, text, size, hash);
}

/* ---- stacks ---- */

/* Room for the stack; the last one's is kept. */
static void make_room(struct framer *framer, size_t size)
{
	if (!framer->slots)
		grow_slots(framer, 0);
	if (size + BEFORE + BEHIND > framer->text_capacity) {
		framer->text_capacity = 2 * size + 4096;
		framer->text = mem_resize(framer->text, framer->text_capacity, 1);
		framer->other_text = mem_resize(framer->other_text, framer->text_capacity, 1);
	}
	/* one more is written than counted */
	if (size / 2 + 2 > framer->capacity) {
		framer->capacity = size + 256;
		framer->ids = mem_resize(framer->ids, framer->capacity, sizeof(*framer->ids));
		framer->ends = mem_resize(framer->ends, framer->capacity, sizeof(*framer->ends));
	}
}

/* How many whole frames the text begins with that the last one had too. */
static size_t count_shared(const struct framer *framer, const char *text, size_t size,
                           const char *last)
{
	size_t shared = 0, nr = 0, end = MIN_OF(size, framer->text_size);
	uint64_t differ;

	while (shared <= end) {
		differ = ~bytes64_same(text + shared, last + shared);
		if (differ) {
			shared += (unsigned)__builtin_ctzll(differ);
			break;
		}
		shared += BYTES64;
	}
	/* behind the text are leftovers */
	shared = MIN_OF(shared, size + 1);
	while (nr < framer->nr && framer->ends[nr] < shared)
		nr++;
	return nr;
}

#define AT_ONCE 4

/* Where frames end from the nr-th on; returns how many there are in all. */
static size_t find_ends(const char *text, size_t size, size_t *ends, size_t nr)
{
	size_t start = nr ? ends[nr - 1] + 1 : 0;
	uint64_t before = 1;

	for (size_t at = start; at <= size; at += BYTES64) {
		uint64_t found = bytes64_find(text + at, ';');
		/* behind another: the end of an empty frame */
		uint64_t left = found & ~(found << 1 | before);

		before = found >> (BYTES64 - 1);
		/* a fixed number of steps, mostly enough, is no branch to be guessed wrong */
		for (unsigned i = 0; i < AT_ONCE; i++, left &= left - 1) {
			ends[nr] = at + (unsigned)__builtin_ctzll(left | (uint64_t)1 << 63);
			nr += left != 0;
		}
		for (; UNLIKELY(left != 0); left &= left - 1)
			ends[nr++] = at + (unsigned)__builtin_ctzll(left);
	}
	return nr;
}

#define CHUNK 32

/* The ids of some frames. */
static void find_ids(struct framer *framer, struct strtab *names, const char *text, size_t first,
                     size_t nr)
{
	const char *start[CHUNK], *next = text + (first ? framer->ends[first - 1] + 1 : 0);
	uint32_t hash[CHUNK];
	const size_t *ends = framer->ends + first;

	for (size_t i = 0; i < nr; i++) {
		while (UNLIKELY(*next == ';'))
			next++;
		start[i] = next;
		hash[i] = hash_some(next, (size_t)(text + ends[i] - next));
		__builtin_prefetch(slot_of(framer, hash[i]));
		next = text + ends[i] + 1;
	}
	for (size_t i = 0; i < nr; i++)
		framer->ids[first + i] = find_id(framer, names, start[i],
		                                 (size_t)(text + ends[i] - start[i]), hash[i]);
}

const uint32_t *framer_split(struct framer *framer, struct strtab *names, struct slice stack,
                             size_t *nr)
{
	size_t nr_shared;
	char *text;

	make_room(framer, stack.size);
	text = framer->other_text + BEFORE;
	memcpy(text, stack.at, stack.size);
	/* behind the last frame as behind the others */
	text[stack.size] = ';';
	memset(text + stack.size + 1, 0, BEHIND - 1);
	nr_shared = framer->nr ? count_shared(framer, text, stack.size, framer->text + BEFORE) : 0;
	framer->other_text = framer->text;
	framer->text = text - BEFORE;
	framer->text_size = stack.size;
	framer->nr = find_ends(text, stack.size, framer->ends, nr_shared);
	for (size_t i = nr_shared; i < framer->nr; i += CHUNK)
		find_ids(framer, names, text, i, MIN_OF(framer->nr - i, CHUNK));
	*nr = framer->nr;
	return framer->ids;
}
