/*
 * callers.h - frames that an input names innermost first, turned into a path
 * of the folder when the stack is complete.
 */
#ifndef COLLAPSE_CALLERS_H
#define COLLAPSE_CALLERS_H

#include "collapse/folder.h"
#include "share/compat.h"

#define CALLERS_MAX 65536 /* frames; further ones are counted, not kept */

struct callers {
	uint32_t *names; /* ids in the folder, innermost first */
	size_t nr, capacity;
	uint64_t nr_dropped;
};

/* A zeroed struct callers is ready to use. */
void callers_release(struct callers *callers);

static inline void callers_reset(struct callers *callers)
{
	callers->nr = 0;
}

/* The next caller; bytes as they stand, cleaned here. */
void callers_add(struct callers *callers, struct folder *folder, struct slice name);

/* Adds the nr outermost frames of another stack, or all it has. */
void callers_add_outermost(struct callers *callers, const struct callers *other, uint64_t nr);

/* The node that the frames lead to, below `root`. */
uint32_t callers_node(const struct callers *callers, struct folder *folder, uint32_t root);

/* ---- pieces of text ---- */

static inline bool char_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static inline struct slice slice_from(struct slice s, size_t at)
{
	at = MIN_OF(at, s.size);
	/* of no bytes nothing may be counted from, not even 0 */
	return at ? (struct slice){s.at + at, s.size - at} : s;
}

/* Without blanks and tabs on either side, and carriage returns at the end. */
static inline struct slice slice_trim(struct slice s)
{
	while (s.size && (char_is_blank(s.at[s.size - 1]) || s.at[s.size - 1] == '\r'))
		s.size--;
	while (s.size && char_is_blank(*s.at))
		s = slice_from(s, 1);
	return s;
}

bool slice_ends(struct slice s, const char *suffix);

/* Where `text` first stands in s, or s.size. */
static inline size_t slice_find(struct slice s, const char *text)
{
	size_t size = strlen(text), at = 0;

	/* lines are short: a search that prepares itself would not pay */
	for (; s.size - at >= size; at++) {
		const char *next = memchr(s.at + at, *text, s.size - at - size + 1);

		if (!next)
			break;
		at = (size_t)(next - s.at);
		if (memcmp(next, text, size) == 0)
			return at;
	}
	return s.size;
}

bool slice_is_digits(struct slice s);

/* Cuts the next word off, as blanks and tabs part them; empty at the end. */
static inline struct slice slice_next_word(struct slice *rest)
{
	const char *at = rest->at, *end = at + rest->size, *start;

	while (at < end && char_is_blank(*at))
		at++;
	for (start = at; at < end && !char_is_blank(*at);)
		at++;
	*rest = (struct slice){at, (size_t)(end - at)};
	return (struct slice){start, (size_t)(at - start)};
}

/* Cuts off what stands before the next `separator`, and that itself. */
struct slice slice_next_field(struct slice *rest, char separator);

/* Cuts the next line off; false where nothing is left. */
bool slice_next_line(struct slice *rest, struct slice *line);

/* "name+0x12", "name+12", "name+0x12/0x34" without what follows the "+". */
struct slice slice_cut_offset(struct slice name);

/*
 * "0x1234: name (file:line)" or "0x1234: name (in module)", as valgrind's tools
 * write a frame: the name, with_place what is in brackets too.
 */
struct slice slice_valgrind_frame(struct slice s, bool with_place);

#endif
