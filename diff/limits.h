/*
 * limits.h - what --check forbids.
 *
 * limit = kind ">" number unit;  several are separated by commas
 *
 *   regression>3%   a rise by more than 3 points of the total, new rows too
 *   improvement>3%  a fall by more than 3 points, gone rows too
 *   new>1%, gone>1% only those
 *   ratio>1.2x      more than 1.2 times as much as before; not new rows
 *
 * Only rows that survived the test can break a limit.
 */
#ifndef DIFF_LIMITS_H
#define DIFF_LIMITS_H

#include "diff/verdict.h"
#include "share/compat.h"
#include "share/err.h"

struct limit;

struct limits {
	struct limit *limits;
	size_t nr, capacity;
};

/* Adds the limits of one list. Returns 0 or -1. */
int limits_parse(struct limits *limits, const char *list, struct err *err);
void limits_release(struct limits *limits);

/*
 * Appends a line for each row that breaks a limit, in the verdict's order
 * under each limit; returns how many there are.
 */
size_t limits_check(const struct limits *limits, const struct verdict *verdict, struct buf *lines);

#endif
