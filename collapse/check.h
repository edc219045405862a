/*
 * check.h - what is in a recording, for a person who wonders why a graph looks
 * wrong (--input-check): events, samples, losses, kind of call graphs, which
 * modules have names, why unwinding ended.
 *
 * One description, a tree of named values, is printed as JSON or as text.
 */
#ifndef COLLAPSE_CHECK_H
#define COLLAPSE_CHECK_H

#include "collapse/recording.h"
#include "collapse/span.h"
#include "share/compat.h"

/* Everything borrowed. */
struct check_view {
	const struct reader *reader;
	struct modules *modules;
	const struct session *session;
	const struct stacks *stacks;
	struct symbolizer *symbolizer; /* NULL: names are not looked up */
	const struct recording_report *report;
	const struct span *span;
};

void check_write(const struct check_view *view, bool as_json, struct output *out);

#endif
