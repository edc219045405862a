/*
 * join.h - the runs of both sides, matched stack by stack.
 *
 * A run is one folded input. Every stack of every run becomes a row: the ids
 * of its canonical frame names, root first, and one weight for each run. Rows
 * stand in the order of their first appearance, runs in the order they were
 * read.
 *
 * Does not decide names (canon.h), scale anything (scale.h) or judge.
 *
 * Memory: 4 bytes a frame, 16 a run and about 32 more for each distinct
 * stack; nothing for repeated ones.
 */
#ifndef DIFF_JOIN_H
#define DIFF_JOIN_H

#include "diff/canon.h"
#include "share/compat.h"
#include "share/folded.h"
#include "share/strtab.h"
#include "share/weight.h"

enum join_side { JOIN_BEFORE, JOIN_AFTER };

struct join_run {
	enum join_side side;
	struct folded_header header; /* owned */
	weight_fx total;
	uint64_t nr_stacks, nr_bad;
	bool whole; /* every weight is a whole number */
};

struct join_stack {
	size_t first; /* of its frames in join.frames */
	uint32_t nr_frames;
	uint32_t hash;
};

/* Of the hash table of rows; the hash spares a look at rows that are others. */
struct join_slot {
	uint32_t hash;
	uint32_t stack; /* + 1, or 0 */
};

/*
 * What is known of a text that was a frame, by its id in join.names. What
 * every frame of the input needs stands together, in half a cache line.
 */
struct join_name {
	const char *text; /* as in names */
	uint32_t size;
	uint32_t callee;       /* id that last came behind it: a good guess for the next time */
	uint32_t canonical[2]; /* as a caller, as the root frame: id, or JOIN_NONE */
	uint8_t seen;          /* bit 2 * side + is_root */
};

struct join_showing {
	uint32_t shown[2]; /* of a canonical name, by side: id of the text that was read
	                      there, JOIN_NONE or JOIN_SEVERAL */
	uint32_t renamed;  /* id after the renames, or JOIN_NONE */
};

#define JOIN_NONE    UINT32_MAX
#define JOIN_SEVERAL (UINT32_MAX - 1)

struct join {
	struct canon *canon; /* borrowed */
	struct strtab names; /* texts as read and canonical ones alike */
	struct join_name *known;
	struct join_showing *showing;
	uint32_t nr_known, known_capacity;

	struct join_run *runs;
	size_t nr_runs, max_runs; /* max_runs is fixed by join_init() */

	uint32_t *frames; /* canonical name ids */
	size_t nr_frames, frames_capacity;
	struct join_stack *stacks;
	size_t nr_stacks, stacks_capacity;
	weight_fx *weights; /* [stack * max_runs + run] */
	size_t weights_capacity;
	struct join_slot *slots;
	size_t nr_slots;
};

/* max_runs: how many inputs will be read at most, at least 1. */
void join_init(struct join *join, struct canon *canon, size_t max_runs);
void join_release(struct join *join);

/*
 * Reads one folded input as the next run of a side. Bad lines are stepped
 * over; *bad then describes the first one (of this input) and counts them, in
 * words for a message, or is the empty string.
 *
 * -1 where the input cannot be read, holds lines but no stack, has two
 * columns, or is something else by mistake (which err names).
 */
int join_read(struct join *join, enum join_side side, struct input *in, char *bad, size_t bad_size,
              struct err *err);

static inline const weight_fx *join_weights(const struct join *join, size_t stack)
{
	return join->weights + stack * join->max_runs;
}

/*
 * The text to show for a canonical name: what the after side calls it, else
 * the before side, else (where one side has several names for it) itself.
 */
struct slice join_shown(const struct join *join, uint32_t name);

#endif
