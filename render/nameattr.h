/*
 * nameattr.h - links and tooltips for frames, from a file.
 *
 * Grammar, that of flamegraph.pl's --nameattr: a line is a frame's name, then
 * tab-separated KEY=VALUE pairs, where a value may stand in double quotes.
 * Known keys: href (http:, https:, mailto: or relative, never a script) and
 * title; others (target, class, style, g_extra, a_extra, onclick, ...) are passed over,
 * because they would let a data file put markup or script into the picture.
 */
#ifndef RENDER_NAMEATTR_H
#define RENDER_NAMEATTR_H

#include "share/compat.h"
#include "share/err.h"
#include "share/strtab.h"

struct nameattr_entry {
	char *href, *title; /* or NULL */
};

struct nameattr {
	struct strtab names;
	struct nameattr_entry *entries; /* by name id */
	size_t capacity;
	uint64_t nr_skipped; /* attributes not taken */
};

/* Fails on a line without a tab, naming it. */
int nameattr_read(struct nameattr *attributes, struct slice text, const char *file,
                  struct err *err);
void nameattr_release(struct nameattr *attributes);

/* NULL where the name (without its mark) has none. */
const struct nameattr_entry *nameattr_find(const struct nameattr *attributes, struct slice name);

#endif
