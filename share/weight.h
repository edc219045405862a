/*
 * weight.h - exact sums of sample counts.
 *
 * A weight is a decimal number, not below zero, kept as a whole multiple of
 * 10^-9 in 128 bits. Integers up to 2^64 - 1 and fractions of up to nine
 * digits are exact, so sums do not depend on the order of addition. The
 * digits of a fraction beyond the ninth are rounded half up.
 */
#ifndef SHARE_WEIGHT_H
#define SHARE_WEIGHT_H

#include "share/compat.h"

/* The one typedef of this tree: C spells the 128-bit type in two words. */
typedef unsigned __int128 weight_fx;

#define WEIGHT_ONE  1000000000u
#define WEIGHT_TEXT 32 /* bytes that hold any formatted weight and a NUL */

static inline weight_fx weight_from_u64(uint64_t value)
{
	return (weight_fx)value * WEIGHT_ONE;
}

/* Its whole part; *fraction in 10^-9. Division of 128 bits is slow, and hardly ever needed. */
static inline uint64_t weight_split(weight_fx weight, uint32_t *fraction)
{
	uint64_t low = (uint64_t)weight;

	if (__builtin_expect(low == weight, 1)) {
		*fraction = (uint32_t)(low % WEIGHT_ONE);
		return low / WEIGHT_ONE;
	}
	*fraction = (uint32_t)(weight % WEIGHT_ONE);
	return (uint64_t)(weight / WEIGHT_ONE);
}

static inline double weight_to_double(weight_fx weight)
{
	return (double)weight / WEIGHT_ONE;
}

enum weight_parse {
	WEIGHT_OK,
	WEIGHT_NOT_A_NUMBER,
	WEIGHT_NEGATIVE,
	WEIGHT_TOO_LARGE, /* 2^64 or more */
};

/* Digits with an optional fraction, no sign, no exponent. */
enum weight_parse weight_parse(const char *text, size_t size, weight_fx *weight);

/* sum += weight; false, and sum unchanged, where the result is 2^64 or more. */
bool weight_add(weight_fx *sum, weight_fx weight);

/* Shortest exact decimal, as "3" or "1.5"; writes a NUL; returns the size. */
size_t weight_format(char *out, weight_fx weight);

#endif
