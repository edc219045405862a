/*
 * xmlin.h - XML as a stream of begins and ends of elements, by libxml2.
 *
 * Nothing outside of the input is loaded and no entity is expanded beyond
 * libxml2's own limits; depth is bounded by libxml2 (256 elements).
 */
#ifndef COLLAPSE_XMLIN_H
#define COLLAPSE_XMLIN_H

#include "share/buf.h"
#include "share/compat.h"
#include "share/err.h"
#include "share/input.h"

struct xmlin {
	void *reader; /* xmlTextReader */
	struct input *in;
	struct buf text;
	const char *name; /* of the element at hand */
	bool is_end;      /* its end tag */
	bool is_empty;    /* <a/>: no end follows */
	bool has_pending; /* the node after a text was read already */
	int pending;
	int bad_line;
	char bad[160];
};

int xmlin_open(struct xmlin *xml, struct input *in, struct err *err);
/* The same over bytes in memory, which stay the caller's. */
int xmlin_open_bytes(struct xmlin *xml, struct slice bytes, const char *name, struct err *err);
void xmlin_close(struct xmlin *xml);

/* 1 = at the next begin or end of an element, 0 = end, -1 = not well formed (bad). */
int xmlin_next(struct xmlin *xml);

static inline bool xmlin_is(const struct xmlin *xml, const char *name)
{
	return strcmp(xml->name, name) == 0;
}

/* Value of an attribute; at == NULL where there is none. Lives until the next call of any here. */
struct slice xmlin_attribute(const struct xmlin *xml, const char *name);

/* At a begin: the text up to the next tag. Lives until the next call of it. */
struct slice xmlin_text(struct xmlin *xml);

#endif
