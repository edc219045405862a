/*
 * symbolize.h - a place in a module to the functions that are there.
 *
 * Takes (module, off); knows no registers and no stacks. One place gives one
 * or more names: the innermost inlined function first, the function that the
 * linker placed there last. Answers are cached by the caller (one call per
 * distinct place).
 */
#ifndef COLLAPSE_SYMBOLIZE_H
#define COLLAPSE_SYMBOLIZE_H

#include "collapse/names/module.h"
#include "share/compat.h"
#include "share/strtab.h"

enum symbolize_demangle { DEMANGLE_FULL, DEMANGLE_SHORT, DEMANGLE_NONE };

struct symbolize_options {
	enum symbolize_demangle demangle;
	bool no_inlines;
	bool srcline;         /* fill file and line */
	bool no_symbols;      /* module+0xoff only */
	const char *kallsyms; /* file to use instead of /proc/kallsyms, or NULL */
	const char *vmlinux;  /* or NULL */
	struct strtab *names; /* receives the names; borrowed */
};

struct symbol {
	uint32_t name; /* in options->names; demangled, not yet cleaned */
	uint32_t file; /* in options->names, or UINT32_MAX */
	uint32_t line; /* 0 = unknown */
	bool inlined;  /* was inlined into the next one of the array */
	bool resolved; /* false: name is "[module]" or "[unknown]" */
};

#define SYMBOLIZE_MAX 256 /* most names that one place gives */

struct symbolizer;

struct symbolizer *symbolizer_new(struct modules *modules, const struct symbolize_options *options);
void symbolizer_free(struct symbolizer *symbolizer);

/*
 * When symbolize_span() is first asked for a place in the kernel, its list is
 * read on another thread in the meantime. Changes no answer; nothing else of
 * a symbolizer may be used by two threads.
 */
void symbolizer_use_thread(struct symbolizer *symbolizer);

/*
 * Finds and reads what names the module now, not when it is first asked for:
 * where servers are asked, those whose names matter most should be first.
 */
void symbolizer_prepare(struct symbolizer *symbolizer, struct module *module);

/*
 * is_return: off is a return address, so the place looked up is off - 1 (the
 * one function in which one is subtracted). Returns the number of names
 * written, at least 1 and at most SYMBOLIZE_MAX.
 */
size_t symbolize(struct symbolizer *symbolizer, struct module *module, uint64_t off, bool is_return,
                 struct symbol out[SYMBOLIZE_MAX]);

/* Places of a module that have the same names: from start up to end, which is not of them. */
struct symbol_span {
	uint64_t start, end;
	bool is_named; /* false: only the module is known, as of every other such span */
};

/*
 * The span around a place (of a return address, off - 1), so that stacks can
 * be counted by function before names are asked for. False where every place
 * must be asked for itself: with lines, or while the kernel's list is still
 * being read.
 */
bool symbolize_span(struct symbolizer *symbolizer, struct module *module, uint64_t place,
                    struct symbol_span *span);

#endif
