/*
 * weights.h - an array of exact weights, by index.
 *
 * Whole parts in 64 bits, fractions beside them from the first one that
 * occurs: most profiles count whole samples, and their sums are then plain
 * 64-bit additions. The caller takes care that no sum reaches 2^64.
 */
#ifndef RENDER_WEIGHTS_H
#define RENDER_WEIGHTS_H

#include "share/compat.h"
#include "share/weight.h"

struct weights {
	uint64_t *whole;
	uint32_t *fraction; /* in 10^-9; NULL while there is none */
	size_t capacity;
};

/* A zeroed struct weights is empty. */
void weights_release(struct weights *w);

/* Room for as many; what is new is undefined until it is set. */
void weights_resize(struct weights *w, size_t capacity);

/* An array of its own where the first one has its fractions. */
void weights_like(struct weights *w, const struct weights *other, size_t capacity);

/* The first nr are those of the other array; or zeros. */
void weights_copy(struct weights *w, const struct weights *other, size_t nr);
void weights_clear(struct weights *w, size_t nr);

/* For the first fraction of all. */
void weights_begin_fractions(struct weights *w);

static inline weight_fx weights_get(const struct weights *w, size_t i)
{
	return (weight_fx)w->whole[i] * WEIGHT_ONE + (w->fraction ? w->fraction[i] : 0);
}

static inline void weights_set(struct weights *w, size_t i, weight_fx weight)
{
	uint32_t fraction;

	w->whole[i] = weight_split(weight, &fraction);
	if (UNLIKELY(fraction && !w->fraction))
		weights_begin_fractions(w);
	if (w->fraction)
		w->fraction[i] = fraction;
}

static inline void weights_add(struct weights *w, size_t i, uint64_t whole, uint32_t fraction)
{
	w->whole[i] += whole;
	if (UNLIKELY(fraction && !w->fraction))
		weights_begin_fractions(w);
	if (fraction) {
		w->fraction[i] += fraction;
		if (w->fraction[i] >= WEIGHT_ONE) {
			w->fraction[i] -= WEIGHT_ONE;
			w->whole[i]++;
		}
	}
}

/* w[i] += other[from] */
static inline void weights_add_other(struct weights *w, size_t i, const struct weights *other,
                                     size_t from)
{
	weights_add(w, i, other->whole[from], other->fraction ? other->fraction[from] : 0);
}

/* w[i] -= other[from], which is no more */
static inline void weights_sub_other(struct weights *w, size_t i, const struct weights *other,
                                     size_t from)
{
	w->whole[i] -= other->whole[from];
	if (other->fraction) {
		w->whole[i] -= w->fraction[i] < other->fraction[from];
		w->fraction[i] += (w->fraction[i] < other->fraction[from] ? WEIGHT_ONE : 0) -
		                  other->fraction[from];
	}
}

#endif
