/*
 * places.h - what one frame is known by before it has a name: an offset in a
 * module, or a text. Equal places get equal ids, which count up from 0.
 *
 * With a symbolizer, addresses that will get the same names are one place
 * already where that can be told: most stacks that differ in addresses do not
 * differ in functions.
 *
 * Kept for the whole run; memory grows with distinct places.
 */
#ifndef COLLAPSE_PLACES_H
#define COLLAPSE_PLACES_H

#include "collapse/names/symbolize.h"
#include "collapse/records/session.h"
#include "share/buf.h"
#include "share/compat.h"

struct place {
	uint64_t off;          /* in the module; 0 for a text */
	struct module *module; /* NULL: `text` is all there is */
	uint32_t text;         /* id in the session's texts */
	bool is_return, is_kernel;
	uint64_t nr_samples; /* that were taken right here; counted by the user */
};

/* Where a frame is, before that is looked up. */
struct spot {
	struct module *module; /* NULL: the place is known */
	uint64_t off;          /* in the module */
	uint32_t place;
	bool is_return; /* never with a symbolizer: the call is in front of off then */
};

/* What was found last for a block of a module. */
struct places_cached {
	uint64_t start; /* first offset of the place */
	uint32_t size, place;
	uint32_t tag; /* says which module; 0 = empty */
};

/* What was mapped where an address was looked for last. */
struct places_mapped {
	uint64_t version; /* of the maps */
	uint64_t start, end;
	struct map map; /* map.end 0: nothing is */
};

struct places {
	struct session *session;       /* borrowed */
	struct symbolizer *symbolizer; /* borrowed; NULL: every address is a place of its own */
	bool is_live;                  /* open modules while their processes still run */
	bool shows_offsets;            /* names are not wanted; code without a file is one place */
	struct place *at;
	size_t nr, capacity;
	uint32_t *slots; /* id + 1; open addressing, nr_slots a power of two */
	size_t nr_slots;
	struct places_cached *cache;
	struct places_mapped user, kernel;
	uint32_t *of_module; /* id + 1, by module, where it is one place as a whole */
	size_t nr_modules;
	uint32_t *of_text; /* id + 1, by text, where not of the kernel */
	size_t nr_texts;
	uint32_t text_unknown;
};

void places_init(struct places *places, struct session *session, struct symbolizer *symbolizer,
                 bool is_live);
void places_release(struct places *places);

uint32_t places_id(struct places *places, const struct place *place);

/* text: an id in the session's texts. */
uint32_t places_of_text(struct places *places, uint32_t text, bool is_kernel);

/* Of a kernel address, a return address or not, with the maps as they are now. */
struct spot places_spot_of_kernel(struct places *places, uint64_t ip, bool is_return);

struct spot places_spot_of_user(struct places *places, struct process *process, uint64_t ip,
                                bool is_return);

uint32_t places_of_spot(struct places *places, const struct spot *spot);

/*
 * The same for many: what all of them need comes from memory together. The
 * spots are used up. places_fetch() some time before helps.
 */
void places_of_spots(struct places *places, struct spot *spots, size_t nr, uint32_t *out);
void places_fetch(const struct places *places, const struct spot *spot);

/* A place without symbols: "libc.so.6+0x1234", "[unknown]", the text. */
void places_describe(const struct places *places, const struct place *place, struct buf *out);

/* What follows the last "/" of a path. */
const char *places_base_name(const char *path);

#endif
