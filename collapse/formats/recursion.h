/*
 * recursion.h - stacks of functions that call themselves, made shorter.
 *
 * direct: frames that are equal and follow each other become one, so that
 * a;a;a;b becomes a;b. cycles: a frame that stands in the stack already
 * continues there, so that a;b;a;c becomes a;c; cycles of more than
 * RECURSION_CYCLE_MAX frames stay. Sums do not change.
 */
#ifndef COLLAPSE_RECURSION_H
#define COLLAPSE_RECURSION_H

#include "collapse/folder.h"
#include "share/compat.h"

#define RECURSION_CYCLE_MAX 4096

enum recursion { RECURSION_KEEP, RECURSION_DIRECT, RECURSION_CYCLES };

/* Replaces the stacks of the folder. */
void recursion_fold(struct folder *folder, enum recursion how);

#endif
