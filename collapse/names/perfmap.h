/*
 * perfmap.h - /tmp/perf-PID.map, which a JIT writes for profilers.
 *
 * Decides where the map of a process is (its own /tmp and its own pid, when
 * it lives in a container), whether it may be trusted (it must belong to the
 * process's user, to us, or to root: anyone can write to /tmp), and which
 * entry counts where several overlap: the later one.
 *
 * Format: "START SIZE name\n", hexadecimal, the rest of the line is the name
 * (tools/perf/Documentation/jit-interface.txt, kernel 6.18). A last line that
 * was cut off counts as far as it goes.
 */
#ifndef COLLAPSE_PERFMAP_H
#define COLLAPSE_PERFMAP_H

#include "collapse/names/symtab.h"
#include "share/compat.h"
#include "share/err.h"

/* NULL with err filled where there is none. live: the process may still run here. */
struct symtab *perfmap_read(int32_t pid, bool live, struct err *err);

/* From text in memory, which it takes (from malloc(), text[size] is writable). */
struct symtab *perfmap_parse(char *text_take, size_t size);

#endif
