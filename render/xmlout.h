/*
 * xmlout.h - text into XML 1.0; the only place that escapes.
 *
 * Whatever the bytes, the result is legal in element content and in
 * attribute values of either quote: markup characters become entities;
 * control bytes, invalid UTF-8, U+FFFE and U+FFFF become U+FFFD (XML 1.0
 * fifth edition, production 2 "Char").
 */
#ifndef RENDER_XMLOUT_H
#define RENDER_XMLOUT_H

#include "share/compat.h"
#include "share/output.h"

void xml_text(struct output *out, const char *text, size_t size);

static inline void xml_string(struct output *out, const char *text)
{
	xml_text(out, text, strlen(text));
}

/*
 * How many bytes of text fit in `columns` columns of a fixed-width font,
 * counting whole code points: an ASCII character is one column wide,
 * anything else is taken for two, so that no fallback font overflows.
 * Combining and joining characters stay with their base. *used gets the
 * columns taken, may be NULL.
 */
size_t xml_fit(const char *text, size_t size, size_t columns, size_t *used);

#endif
