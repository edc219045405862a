#include "share/compat.h"
#include "share/framer.h"

#include "share/bytes64.h"
#include "share/mem.h"

#define HISTORY   (64 * 1024) /* ids: as many as stay in the cache */
#define HASH_BITS 16

/* What each frame that was guessed needs, apart from what is compared. */
struct framer_name {
	uint32_t size;
	uint32_t seen; /* in the history, where it was not guessed */
};

/* The name and ";", as far as they fit. One cache line. */
struct framer_head {
	_Alignas(BYTES64) char bytes[BYTES64];
};

void framer_release(struct framer *framer)
{
	free(framer->known);
	free(framer->heads);
	free(framer->by_hash);
	free(framer->history);
	free(framer->text);
	free(framer->other_text);
	free(framer->ends);
	*framer = (struct framer){0};
}

/* ---- names ---- */

static void grow_known(struct framer *framer, uint32_t nr)
{
	uint32_t capacity = MAX_OF(framer->known_capacity, 1024);
	struct framer_head *heads;

	while (capacity < nr)
		capacity *= 2;
	if (capacity == framer->known_capacity)
		return;
	framer->known = mem_resize(framer->known, capacity, sizeof(*framer->known));
	heads = mem_aligned(_Alignof(struct framer_head), (size_t)capacity * sizeof(*heads));
	if (framer->known_capacity)
		memcpy(heads, framer->heads, framer->nr_known * sizeof(*heads));
	free(framer->heads);
	framer->heads = heads;
	framer->known_capacity = capacity;
}

static uint32_t learn(struct framer *framer, struct strtab *names, const char *text, size_t size)
{
	uint32_t id = strtab_id(names, text, size);

	grow_known(framer, names->nr);
	for (; framer->nr_known < names->nr; framer->nr_known++) {
		struct slice name = strtab_slice(names, framer->nr_known);
		char *head = framer->heads[framer->nr_known].bytes;

		framer->known[framer->nr_known] = (struct framer_name){.size = (uint32_t)name.size};
		memset(head, ';', BYTES64);
		memcpy(head, name.at, MIN_OF(name.size, BYTES64));
	}
	return id;
}

/* The text goes on with the name and ";". */
static inline bool goes_on(const struct framer *framer, const struct strtab *names, const char *at,
                           const char *end, uint32_t id)
{
	size_t size = framer->known[id].size;
	uint64_t differ = ~bytes64_same(at, framer->heads[id].bytes);

	if (LIKELY(size < BYTES64))
		return !(differ << (BYTES64 - 1 - size));
	return !differ && size <= (size_t)(end - at) && at[size] == ';' &&
	       memcmp(at + BYTES64, strtab_text(names, id) + BYTES64, size - BYTES64) == 0;
}

static inline uint64_t load_word(const char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* Some bytes of the frame make a key for guessing, all of it is compared later. */
static inline uint32_t hash_some(const char *at, size_t size)
{
	bool is_short = size < 8;
	uint64_t last = load_word(at + size - 8) >> (is_short ? 64 - 8 * size : 0);
	uint64_t first = is_short ? 0 : load_word(at);
	uint64_t middle = is_short ? 0 : load_word(at + size / 2 - 4);

	return (uint32_t)(hash_u64(last + size, first ^ (middle << 29 | middle >> 35)) >>
	                  (64 - HASH_BITS));
}

/* ---- stacks ---- */

/* Texts are kept with room for words before them and blocks behind. */
#define BEFORE 16
#define BEHIND (BYTES64 + 16)

static void begin_history(struct framer *framer)
{
	framer->by_hash = mem_zalloc(sizeof(*framer->by_hash) << HASH_BITS);
	grow_known(framer, 1);
	/* until there is a name: no text goes on like this */
	framer->known[0] = (struct framer_name){0};
	framer->heads[0].bytes[0] = '\n';
}

/* Room for the stack; the last one's is kept. */
static void make_room(struct framer *framer, size_t size)
{
	size_t max_nr = size / 2 + 1;

	if (!framer->by_hash)
		begin_history(framer);
	if (size + BEFORE + BEHIND > framer->text_capacity) {
		framer->text_capacity = 2 * size + 4096;
		framer->text = mem_resize(framer->text, framer->text_capacity, 1);
		framer->other_text = mem_resize(framer->other_text, framer->text_capacity, 1);
	}
	if (max_nr > framer->ends_capacity) {
		size_t old = framer->history_capacity;

		framer->ends_capacity = 2 * max_nr + 256;
		framer->ends = mem_resize(framer->ends, framer->ends_capacity,
		                          sizeof(*framer->ends));
		/* a guess may run as far behind a last stack as the next one is long */
		framer->history_capacity = HISTORY + 2 * framer->ends_capacity;
		framer->history = mem_resize(framer->history, framer->history_capacity,
		                             sizeof(*framer->history));
		memset(framer->history + old, 0,
		       (framer->history_capacity - old) * sizeof(*framer->history));
	}
}

/* How many whole frames the text begins with that the last one had too. */
static size_t count_shared(const struct framer *framer, const char *text, size_t size,
                           const char *last)
{
	size_t shared = 0, nr = 0;
	uint64_t differ;

	while (shared <= framer->text_size) {
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

/* The id of a frame that was not guessed, by its bytes. */
static uint32_t look_up(struct framer *framer, struct strtab *names, const char *at, size_t size,
                        const char *end)
{
	uint32_t *guess = &framer->by_hash[hash_some(at, size)];

	if (UNLIKELY(!goes_on(framer, names, at, end, *guess)))
		*guess = learn(framer, names, at, size);
	return *guess;
}

static inline size_t frame_size(const char *at)
{
	uint64_t found = bytes64_find(at, ';');
	size_t size = 0;

	while (!found) {
		size += BYTES64;
		found = bytes64_find(at + size, ';');
	}
	return size + (unsigned)__builtin_ctzll(found);
}

const uint32_t *framer_split(struct framer *framer, struct strtab *names, struct slice stack,
                             size_t *nr)
{
	size_t next, nr_frames;
	uint32_t *ids, guess;
	char *text, *at, *end;

	make_room(framer, stack.size);
	text = framer->other_text + BEFORE;
	end = text + stack.size;
	memcpy(text, stack.at, stack.size);
	/* behind the last frame as well, and no bytes of chance */
	memset(end, ';', BEHIND);
	framer->other_text = framer->text;
	nr_frames = count_shared(framer, text, stack.size, framer->text + BEFORE);
	framer->text = text - BEFORE;
	framer->text_size = stack.size;

	next = framer->start + framer->nr;
	if (next > HISTORY)
		next = 0;
	ids = framer->history + next;
	memmove(ids, framer->history + framer->start, nr_frames * sizeof(*ids));
	/* a first guess: the same root as before */
	at = text + (nr_frames ? framer->ends[nr_frames - 1] + 1 : 0);
	next = framer->start + nr_frames;
	framer->start = (size_t)(ids - framer->history);
	while (at < end) {
		guess = framer->history[next];
		if (goes_on(framer, names, at, end, guess)) {
			next++;
		} else {
			size_t size = frame_size(at);

			if (!size) {
				at++;
				continue;
			}
			guess = look_up(framer, names, at, size, end);
			next = framer->known[guess].seen + 1;
			framer->known[guess].seen = (uint32_t)(framer->start + nr_frames);
		}
		ids[nr_frames] = guess;
		at += framer->known[guess].size;
		framer->ends[nr_frames++] = (size_t)(at++ - text);
	}
	framer->nr = nr_frames;
	*nr = nr_frames;
	return ids;
}
