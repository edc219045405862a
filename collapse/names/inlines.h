/*
 * inlines.h - which functions were inlined at an address, and their lines.
 *
 * Decides what is a function and what is inlined into it, from the debugging
 * information of a file or of its separate debug file, and of .dwo and .dwp
 * files where it is split. A unit is read when an address in it is first asked
 * for: its functions only, where their entries say how far they reach
 * (DW_AT_sibling); what lies in a function or in a larger inlined call, when an
 * address in that is. Entries are not kept.
 *
 * Memory of a unit that was hit: 40 bytes a function or inlined call that was
 * read and 12 a range. A unit that is malformed gives what came before the fault.
 *
 * Not for two threads at once. Format: DWARF 5 sections 2.3, 2.17, 3.3 and 3.3.8.2.
 */
#ifndef COLLAPSE_INLINES_H
#define COLLAPSE_INLINES_H

#include "collapse/names/elffile.h"
#include "share/compat.h"

struct inlines_frame {
	const char *name; /* borrowed for the life of struct inlines; "" unknown */
	bool is_linkage;  /* a linker's name, to be demangled; else as people read it */
	bool has_scopes;  /* so read, it may have arguments and parameters: dwarf.h */
	const char *file; /* where in it the place is; NULL unknown */
	uint32_t line;    /* 0 unknown */
};

struct inlines;

/* NULL where there is no debugging information. Borrows the file. */
struct inlines *inlines_new(struct elffile *file);
void inlines_free(struct inlines *inlines);

/*
 * The functions at an address, innermost first; the last is the one that was
 * not inlined. Returns their number, 0 where nothing is known. With lines,
 * file and line are filled in; that costs the line program of each unit hit.
 */
size_t inlines_find(struct inlines *inlines, uint64_t vaddr, bool lines, struct inlines_frame *out,
                    size_t max);

/*
 * Narrows [*start, *end) to the addresses around vaddr at which the same
 * functions are. False where none is known to be there.
 */
bool inlines_narrow(struct inlines *inlines, uint64_t vaddr, uint64_t *start, uint64_t *end);

#endif
