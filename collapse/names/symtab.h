/*
 * symtab.h - a sorted table of functions: address to name.
 *
 * One kind of table for every source: ELF symbol tables (.symtab, .dynsym,
 * .gnu_debugdata, PLT stubs), the kernel's kallsyms, the map of a JIT. Names
 * are not copied: a table refers to texts that outlive it (a mapped file) or
 * that it owns (a text that was read).
 *
 * Decides which of several symbols at one address names it: a symbol with a
 * size before a label without one, global before local before weak, fewer
 * leading underscores, the longer name, and a nested symbol inside its own
 * bounds: as perf decides it (symbols__fixup_duplicate() of Linux 6.1,
 * tools/perf/util/symbol.c), so that its text and its recordings show the same
 * functions. Names are as stored, but for versions ("@@GLIBC_2.2.5") and the
 * prefix of glibc's own aliases, "__GI_".
 */
#ifndef COLLAPSE_SYMTAB_H
#define COLLAPSE_SYMTAB_H

#include "collapse/names/elffile.h"
#include "collapse/names/ranges.h"
#include "share/arena.h"
#include "share/compat.h"
#include "share/err.h"

struct symtab_name {
	uint32_t offset; /* in its text */
	uint8_t text;    /* index */
	uint8_t is_versioned;
};

/* How many symbols at one address are put in order; a file of lies has millions. */
enum { SYMTAB_MAX_TEXTS = 8, SYMTAB_MAX_ALIASES = 64 };

struct symtab {
	struct ranges ranges; /* values are indices into names */
	struct symtab_name *names;
	size_t nr, capacity;
	struct slice texts[SYMTAB_MAX_TEXTS]; /* each ends in a NUL */
	uint8_t nr_texts;
	char *owned;           /* one text that goes with the table, or NULL */
	uint64_t text_address; /* kallsyms: of _text, or _stext, or 0 */
	bool is_stripped;      /* of an ELF file without .symtab, its debug file included */
};

/* NULL is fine. */
void symtab_free(struct symtab *symtab);

/*
 * All functions of a file, its debug file and its embedded symbols; addresses
 * are vaddr. Borrows names from the file. Never NULL; may be empty.
 */
struct symtab *symtab_of_elf(struct elffile *file);

/* Of a kernel module's relocatable file that is loaded at `base` (see kmod_layout). */
struct symtab *symtab_of_kmod(struct elffile *file, uint64_t base);

/* "__GI___open64" is glibc's own alias of what others call "__open64". */
static inline struct slice symtab_cut_alias(struct slice name)
{
	const size_t size = sizeof("__GI_") - 1;

	if (name.size > size && slice_starts(name, "__GI_"))
		return (struct slice){name.at + size, name.size - size};
	return name;
}

/* The name at the address, and the start of its range; size 0 where none is. */
struct slice symtab_find(const struct symtab *symtab, uint64_t address);

/* ---- for makers of tables ---- */

/* How good a name is, worst first. */
enum symtab_rank { SYMTAB_LABEL, SYMTAB_SYNTHETIC, SYMTAB_WEAK, SYMTAB_LOCAL, SYMTAB_GLOBAL };

struct symtab *symtab_new(void);

/* Text whose last byte is NUL. Returns its index; RANGES_NONE where it is no text. */
uint32_t symtab_add_text(struct symtab *symtab, struct slice text);

/* The range [start, end) is called what stands at text + offset. */
void symtab_add(struct symtab *symtab, uint64_t start, uint64_t end, uint32_t text, uint32_t offset,
                uint32_t priority);

/*
 * For tables in order, without gaps: what stands at text + offset is the name
 * from start on; ranges_append() ends it with RANGES_NONE, ranges_finish() the table.
 */
void symtab_append(struct symtab *symtab, uint64_t start, uint32_t text, uint32_t offset);

/* < 0 where x is the worse one of two names of one address. */
int symtab_compare(const char *x, uint32_t rank_x, const char *y, uint32_t rank_y);

/* Where priorities are ranks: the best of the names of one start wins, later starts win. */
void symtab_finish(struct symtab *symtab);

/* What a range that was added is called, borrowed; perhaps with a version behind it. */
const char *symtab_text(const struct symtab *symtab, const struct range *range);

#endif
