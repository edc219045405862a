/*
 * lines.h - the line number program of one unit: address to file and line.
 *
 * Run once, when first asked for; rows become a flat table. File names are
 * given without their folders, as `perf script` gives them.
 *
 * Format: DWARF 5 section 6.2; versions 2 to 4 by their own documents.
 */
#ifndef COLLAPSE_LINES_H
#define COLLAPSE_LINES_H

#include "collapse/names/dwarf.h"
#include "share/compat.h"

struct lines;

/*
 * unit: one with a DW_AT_stmt_list, else NULL is returned. program: the file
 * with the code, to leave out what its linker threw away. Names are borrowed
 * from the sections.
 */
struct lines *lines_new(const struct dwarf_unit *unit, const struct elffile *program);
void lines_free(struct lines *lines);

/* false where no row covers the address. *file may be NULL. */
bool lines_find(const struct lines *lines, uint64_t vaddr, const char **file, uint32_t *line);

/* The name of a file by its number (DW_AT_call_file), or NULL. */
const char *lines_file(const struct lines *lines, uint64_t number);

#endif
