/*
 * embedded.h - symbols that a recording carries along: simpleperf writes those
 * of all files that samples hit, because its recordings are looked at on
 * another machine.
 *
 * Only asked where the files themselves give no name. Source: simpleperf,
 * record_file.proto and the feature sections FILE (128) and FILE2 (132) of
 * record_file_format.h; dso.cpp for how each kind of file turns an address
 * into one of its symbols'.
 */
#ifndef COLLAPSE_EMBEDDED_H
#define COLLAPSE_EMBEDDED_H

#include "collapse/names/symbolize.h"
#include "share/arena.h"
#include "share/buf.h"
#include "share/compat.h"
#include "share/perfrec.h"

struct embedded_symbol {
	uint64_t start, size; /* as linked */
	const char *name;     /* mangled */
};

struct embedded_file {
	const char *path;
	uint32_t kind;                   /* enum DsoType of simpleperf */
	bool has_offset;                 /* offset is known */
	uint64_t vaddr;                  /* lowest executable address, as linked */
	uint64_t offset;                 /* its offset in the file */
	struct embedded_symbol *symbols; /* sorted by start */
	size_t nr;
};

struct embedded {
	struct embedded_file *files; /* sorted by path once embedded_find() ran */
	size_t nr, capacity;
	bool is_sorted;
	struct arena texts;
};

/* A zeroed struct embedded is ready to use. */
void embedded_release(struct embedded *embedded);

/* The section FILE, or FILE2 with is_proto. What is malformed ends the reading. */
void embedded_read(struct embedded *embedded, struct perfrec_cursor c, bool is_proto);

/* The mangled name of the place, or NULL. off, is_return: see symbolize.h. */
const char *embedded_find(struct embedded *embedded, const struct module *module, uint64_t off,
                          bool is_return);

/* The same as a name to show, into `name`; false where there is none. */
bool embedded_name(struct embedded *embedded, const struct module *module, uint64_t off,
                   bool is_return, enum symbolize_demangle demangle, struct buf *name);

#endif
