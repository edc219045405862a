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

struct places {
	struct session *session;       /* borrowed */
	struct symbolizer *symbolizer; /* borrowed; NULL: every address is a place of its own */
	bool is_live;                  /* open modules while their processes still run */
	struct place *at;
	size_t nr, capacity;
	uint32_t *slots; /* id + 1; open addressing, nr_slots a power of two */
	size_t nr_slots;
	uint32_t *of_text; /* id + 1, by text, where not of the kernel */
	size_t nr_texts;
	uint32_t text_unknown;
};

/* What addresses from start up to end, which is not of them, are. */
struct places_run {
	uint64_t start, end;
	uint32_t place;
};

void places_init(struct places *places, struct session *session, struct symbolizer *symbolizer,
                 bool is_live);
void places_release(struct places *places);

uint32_t places_id(struct places *places, const struct place *place);

/* text: an id in the session's texts. */
uint32_t places_of_text(struct places *places, uint32_t text, bool is_kernel);

/*
 * Of a kernel address, with the maps as they are now; and of those around it
 * that are the same place as long as they stay so. is_return: of a return
 * address. With a symbolizer that is false, and ip is one less.
 */
void places_of_kernel(struct places *places, uint64_t ip, bool is_return, struct places_run *run);

void places_of_user(struct places *places, struct process *process, uint64_t ip, bool is_return,
                    struct places_run *run);

/* A place without symbols: "libc.so.6+0x1234", "[unknown]", the text. */
void places_describe(const struct places *places, const struct place *place, struct buf *out);

/* What follows the last "/" of a path. */
const char *places_base_name(const char *path);

#endif
