/*
 * to.h - the table of what collapse writes besides folded stacks.
 *
 * A writer is one file, collapse/to_NAME.c, with a struct to_format in it, and
 * a line in to.c. Writers see the header and the tree of counted stacks
 * (folder.h) or, the rich ones, samples (profile.h); they stream, so that
 * memory stays near that of either.
 */
#ifndef COLLAPSE_TO_H
#define COLLAPSE_TO_H

#include "collapse/folder.h"
#include "collapse/profile.h"
#include "share/compat.h"
#include "share/err.h"
#include "share/folded.h"
#include "share/output.h"

struct to_format {
	const char *name, *about;
	bool is_binary; /* not for a terminal */

	/*
	 * One of the two; of recordings, the second one is given what it knows
	 * beyond the counts. 0, or -1 with err filled where the counts do not fit
	 * the format.
	 */
	int (*write)(const struct folder *folder, const struct folded_header *header,
	             struct output *out, struct err *err);
	int (*write_profile)(const struct profile *profile, const struct folded_header *header,
	                     struct output *out, struct err *err);
};

/* NULL-terminated; "folded" is the first. */
extern const struct to_format *const to_formats[];

const struct to_format *to_format_by_name(const char *name);

/* ---- for writers ---- */

/* The header's unit and event; "samples" and "" where it names none. */
const char *to_unit(const struct folded_header *header);
const char *to_event(const struct folded_header *header);

/* Nanoseconds in the unit, 0 where it is no unit of time. */
uint64_t to_unit_ns(const char *unit);

/* Whether all counts are whole numbers. */
bool to_all_whole(const struct folder *folder);

/* Names of the path to a node, root first; grows *path. Returns their number. */
size_t to_path(const struct folder *folder, uint32_t node, uint32_t **path, size_t *capacity);

/* Children of nodes, as lists: first[node], next[node]; 0 ends a list. */
struct to_children {
	uint32_t *first, *next;
};

void to_children_init(struct to_children *children, const struct folder *folder);
void to_children_release(struct to_children *children);

/* Appends a text in quotes, as JSON wants it. */
void to_json_string(struct output *out, struct slice text);

/* Appends a count as a decimal number. */
void to_weight(struct output *out, weight_fx weight);

#endif
