/*
 * scale.h - makes the two sides comparable, exactly.
 *
 * The factor is a fraction of whole numbers and is applied to running sums:
 * row i gets floor(S_i * n / d) - floor(S_(i-1) * n / d), where S_i is the sum
 * of the first i weights and everything counts in units of 10^-9 (weight.h).
 * Each row is off by less than one unit, whole results stay whole, and the
 * rows add up to the scaled total to the last digit whatever their number.
 */
#ifndef DIFF_SCALE_H
#define DIFF_SCALE_H

#include "diff/join.h"
#include "share/compat.h"
#include "share/err.h"

enum scale_mode {
	SCALE_TOTAL, /* the before side's total becomes the after side's */
	SCALE_TIME,  /* by seconds of CPU that were watched, from the header */
	SCALE_NONE,
};

struct scale {
	weight_fx numerator, denominator; /* no common divisor; 1/1 where nothing is scaled */
	weight_fx totals[2];              /* of the sides as read */
	weight_fx sum, scaled;            /* of the rows so far: S_i and what it became */
};

/*
 * Decides the factor for the before side. A side that is empty or totals zero
 * leaves it at 1 in the mode SCALE_TOTAL, as there is nothing to match.
 * -1 where the totals reach 2^64, or SCALE_TIME finds no duration.
 */
int scale_init(struct scale *scale, const struct join *join, enum scale_mode mode, struct err *err);

static inline double scale_factor(const struct scale *scale)
{
	return (double)scale->numerator / (double)scale->denominator;
}

/* The scaled form of the next row's before weight. Rows in any fixed order. */
weight_fx scale_next(struct scale *scale, weight_fx weight);

/* floor(a * b / c) where c > 0; all bits set where that needs more than 128. */
weight_fx scale_muldiv(weight_fx a, weight_fx b, weight_fx c);

/*
 * Seconds of CPU that a header's `sampled` field tells of: "5.01 s on 2 cpus
 * at 99 Hz" -> 10.02 in 10^-9, times 99 where the weights count samples.
 * 0 where the field is absent or reads otherwise.
 */
weight_fx scale_watched(const struct folded_header *header);

#endif
