/*
 * framer.h - the frames of one folded stack after the other as name ids.
 *
 * Where frames end is found first, and which name each could be; then all are
 * compared with their texts. So no frame waits for the memory of the one
 * before, nor does a branch depend on the length of a name. What a stack
 * begins with like the one before it, byte for byte, is not looked at again:
 * in sorted files that is most of it.
 */
#ifndef SHARE_FRAMER_H
#define SHARE_FRAMER_H

#include "share/compat.h"
#include "share/strtab.h"

struct framer_slot;

struct framer {
	struct framer_slot *slots; /* names by some of their bytes */
	uint32_t nr_slots;

	/* of the last stack: its text with ";" behind it, and its frames */
	char *text, *other_text;
	size_t text_size, text_capacity;
	uint32_t *ids;
	size_t *ends; /* in the text */
	size_t nr, capacity;
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
