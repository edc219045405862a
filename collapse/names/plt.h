/*
 * plt.h - names for the linker's stubs: "malloc@plt".
 *
 * A stub is told by its instructions: it jumps through a slot of the GOT, and
 * the relocation of that slot names the function. So the layout of the
 * section, which differs by linker and by options, does not matter.
 *
 * Sources: x86-64 psABI 1.0, 5.2 and 13.2 (IBT); AArch64 ELF ABI, PLT
 * sequences of GNU ld and lld.
 */
#ifndef COLLAPSE_PLT_H
#define COLLAPSE_PLT_H

#include "collapse/names/symtab.h"
#include "share/compat.h"

/* Adds every stub that has a name, with this priority. */
void plt_add_symbols(struct symtab *symtab, struct elffile *file, uint32_t priority);

#endif
