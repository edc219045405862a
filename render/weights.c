#include "share/compat.h"
#include "render/weights.h"

#include "share/mem.h"

void weights_release(struct weights *w)
{
	free(w->whole);
	free(w->fraction);
	*w = (struct weights){0};
}

void weights_resize(struct weights *w, size_t capacity)
{
	w->whole = mem_resize(w->whole, capacity, sizeof(*w->whole));
	if (w->fraction)
		w->fraction = mem_resize(w->fraction, capacity, sizeof(*w->fraction));
	w->capacity = capacity;
}

void weights_like(struct weights *w, const struct weights *other, size_t capacity)
{
	*w = (struct weights){0};
	weights_resize(w, capacity);
	if (other->fraction)
		w->fraction = mem_resize(NULL, capacity, sizeof(*w->fraction));
}

void weights_copy(struct weights *w, const struct weights *other, size_t nr)
{
	weights_like(w, other, nr);
	memcpy(w->whole, other->whole, nr * sizeof(*w->whole));
	if (w->fraction)
		memcpy(w->fraction, other->fraction, nr * sizeof(*w->fraction));
}

void weights_clear(struct weights *w, size_t nr)
{
	*w = (struct weights){0};
	weights_resize(w, nr);
	memset(w->whole, 0, nr * sizeof(*w->whole));
}

void weights_begin_fractions(struct weights *w)
{
	w->fraction = mem_zalloc(w->capacity * sizeof(*w->fraction));
}
