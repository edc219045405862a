/*
 * jsontok.h - walking through JSON text without building a tree.
 *
 * A struct json stands at some place of a text in memory; the caller, who
 * knows the shape it wants, steps into objects and arrays, takes values or
 * skips them:
 *
 *	if (json_object(&json))
 *		while (json_key(&json, &key))
 *			if (slice_equals(key, "name"))
 *				name = json_text(&json, &buf);
 *			else
 *				json_skip(&json);
 *
 * Each of the calls that take a value consumes exactly one, whatever its
 * type, so that an unexpected type costs a default value and no more. Parts
 * whose meaning comes later in the text are set aside as slices with
 * json_take() and walked afterwards. Nothing recurses: skipping counts
 * brackets, so that depth costs nothing.
 *
 * The first fault of the text (its end inside of a value, for one) sets bad
 * and moves to the end: every loop then ends. Grammar: RFC 8259; a comma too
 * many or too few is let pass, as is a byte order mark.
 */
#ifndef COLLAPSE_JSONTOK_H
#define COLLAPSE_JSONTOK_H

#include "share/buf.h"
#include "share/compat.h"
#include "share/weight.h"

struct json {
	const char *at, *end, *start;
	const char *bad; /* what is wrong, or NULL */
	size_t bad_offset;
};

void json_init(struct json *json, struct slice text);

/* The first byte of the next value: { [ " digit - t f n; 0 at the end. */
char json_peek(struct json *json);

/* Steps into an object or array; other values are skipped, with false. */
bool json_object(struct json *json);
bool json_array(struct json *json);

/*
 * In an object: true with the next key (between its quotes, escapes as they
 * stand), its value follows; false at the end, which is consumed.
 */
bool json_key(struct json *json, struct slice *key);

/* In an array: true where a value follows; false at the end, consumed. */
bool json_item(struct json *json);

void json_skip(struct json *json);

/* Skips a value and gives its text. */
struct slice json_take(struct json *json);

/*
 * The text of a string, escapes resolved: borrowed from the input where there
 * are none, else from buf until its next change. Half a surrogate pair becomes
 * U+FFFD. Numbers, true and false give their text as it stands; null,
 * objects and arrays an empty slice with at == NULL.
 */
struct slice json_text(struct json *json, struct buf *buf);

/*
 * A number in units of 10^-9, as weight.h; fractions and exponents are exact
 * to that place. Strings that hold a number count as one. false for what is
 * none, and beyond 2^64.
 */
bool json_fixed(struct json *json, __int128 *value);

/* json_fixed() for what must be whole and from 0 to 2^63 - 1; -1 otherwise. */
int64_t json_index(struct json *json);

#endif
