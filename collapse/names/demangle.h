/*
 * demangle.h - a linker's name to the name in the source.
 *
 * Decides what of it is shown:
 *   full   parameters and template arguments, no return type; what tells
 *          functions apart stays
 *   short  no parameter list, no template arguments outside of brackets;
 *          "operator<", "operator->", "operator int (*)(int)", "(anonymous
 *          namespace)", "{lambda(int)#1}" and "<T as Trait>" are names
 *   none   as the linker has it
 *
 * C++ (Itanium ABI), Rust (v0, RFC 2603) and D through libiberty; Rust's older
 * names ("17h" and 16 hexadecimal digits at the end, which are dropped).
 * Suffixes of clones stay: "f(int) [clone .cold]". Names of other languages (Go,
 * Swift, OCaml, Ada) are left as they are.
 */
#ifndef COLLAPSE_DEMANGLE_H
#define COLLAPSE_DEMANGLE_H

#include "collapse/names/symbolize.h"
#include "share/buf.h"
#include "share/compat.h"

/* Longer names, before or after, are left as they are. */
enum { DEMANGLE_MAX_IN = 1 << 16, DEMANGLE_MAX_OUT = 1 << 14 };

/* Replaces the contents of `to` by the name to show. */
void demangle(struct slice name, enum symbolize_demangle how, struct buf *to);

/* The short form of a demangled name, as above; replaces the contents of `to`. */
void demangle_shorten(struct slice name, struct buf *to);

#endif
