/*
 * plt.h - names for the linker's stubs: "malloc@plt".
 *
 * A stub is told by its instructions: it jumps through a slot of the GOT, and
 * the relocation of that slot names the function. So the layout of the
 * section, which differs by linker and by options, does not matter.
 *
 * Stubs of a program's own IFUNCs have no symbol in their relocation but the
 * address of the function that chooses (IRELATIVE): they are called as it is.
 *
 * Sources: x86-64 psABI 1.0, 5.2 and 13.2 (IBT); i386 psABI 1.1, 5.2; AArch64
 * ELF ABI; sequences of GNU ld, gold, lld and mold.
 */
#ifndef COLLAPSE_PLT_H
#define COLLAPSE_PLT_H

#include "collapse/names/symtab.h"
#include "share/compat.h"

/* Is it a name that a linker put there for a stub: mold's "malloc$plt"? */
bool plt_is_linkers_name(const struct elf_section *section, const char *name);

/* Adds every stub that has a name, with this priority. The symbols must be there already. */
void plt_add_symbols(struct symtab *symtab, struct elffile *file, uint32_t priority);

#endif
