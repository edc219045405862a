/*
 * columns.h - folded text with two counts a line, before and after: what
 * render draws as a differential flame graph.
 */
#ifndef DIFF_COLUMNS_H
#define DIFF_COLUMNS_H

#include "diff/join.h"
#include "diff/scale.h"
#include "share/compat.h"
#include "share/output.h"

/*
 * Header and rows. A header field that is the same in every run stands as it
 * is; others stand once a side as `before KEY` and `after KEY`, with the runs'
 * values in order. *scale is used up.
 */
void columns_write(const struct join *join, struct scale *scale, bool with_header,
                   struct output *out);

/* The sum of a row's weights over the runs of one side. */
weight_fx columns_sum(const struct join *join, size_t stack, enum join_side side);

#endif
