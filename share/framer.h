/*
 * framer.h - the frames of one folded stack after the other as name ids.
 *
 * Stacks of one file resemble each other, so most frames are not looked up
 * but guessed, and the guess compared with the text: what the stack begins
 * with is what the stack before began with, as far as their bytes agree, and
 * behind a frame comes what came behind it the last time. Guesses cost
 * nothing but time where they are wrong.
 */
#ifndef SHARE_FRAMER_H
#define SHARE_FRAMER_H

#include "share/compat.h"
#include "share/strtab.h"

struct framer_name;
struct framer_head;

struct framer {
	struct framer_name *known; /* by name id */
	struct framer_head *heads; /* the same */
	uint32_t nr_known, known_capacity;
	uint32_t *by_hash; /* a name with such bytes, if any */

	/* ids of the last stacks, one behind the other, from the start again now and then */
	uint32_t *history;
	size_t history_capacity;
	size_t start, nr; /* of the last stack */
	/* its text, with ";" behind it, and where its frames end there */
	char *text, *other_text;
	size_t text_size, text_capacity;
	size_t *ends;
	size_t ends_capacity;
};

/* A zeroed struct framer is ready to use; always with the same table of names. */
void framer_release(struct framer *framer);

/*
 * The ids of the stack's frames, root first; *nr says how many, and may be 0.
 * Empty frames are passed over, as by folded_frame(). Valid until the next
 * call.
 */
const uint32_t *framer_split(struct framer *framer, struct strtab *names, struct slice stack,
                             size_t *nr);

#endif
