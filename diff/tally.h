/*
 * tally.h - what each function and each path weighs in every run.
 *
 * self: the weight of stacks that end in the row's frame. total: of stacks
 * that hold it anywhere, a stack counted once however often a function
 * recurses in it. Functions are merged over the whole graph. A path is a
 * chain of frames from the root; paths that weigh in every run what their
 * only continuation weighs are left out in its favour.
 *
 * Weights are doubles here: good for statistics, not for exact output.
 */
#ifndef DIFF_TALLY_H
#define DIFF_TALLY_H

#include "diff/join.h"
#include "share/buf.h"
#include "share/compat.h"

struct tally_row {
	uint32_t name;   /* canonical id of the last frame */
	uint32_t parent; /* path: row + 1 in paths; 0 = at the root. function: 0 */
};

struct tally {
	const struct join *join; /* borrowed */
	struct tally_row *rows;
	size_t nr, capacity;
	size_t nr_runs;
	double *self, *total; /* [row * nr_runs + run] */
	size_t weights_capacity;
	bool *left_out; /* [row], in favour of a longer path */
};

void tally_functions(struct tally *tally, const struct join *join);
void tally_paths(struct tally *tally, const struct join *join);
void tally_release(struct tally *tally);

/* Appends the name to show: a function, or the frames of a path with ";". */
void tally_text(const struct tally *tally, size_t row, struct buf *out);

#endif
