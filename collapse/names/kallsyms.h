/*
 * kallsyms.h - the running kernel's list of its own symbols.
 *
 * Decides whether the list is that of the kernel that was recorded; names
 * from another boot are never used. Addresses that are all zero mean that
 * the kernel hides them from this user.
 *
 * Format: "address type name[\t[module]]" a line (kernel 6.18,
 * kernel/kallsyms.c, s_show()); types as nm(1) has them.
 */
#ifndef COLLAPSE_KALLSYMS_H
#define COLLAPSE_KALLSYMS_H

#include "collapse/names/module.h"
#include "collapse/names/symtab.h"
#include "share/compat.h"
#include "share/err.h"

/*
 * Reads a list; addresses are ips. NULL with err filled ("hidden by
 * kernel.kptr_restrict", ...) where it names nothing.
 */
struct symtab *kallsyms_read(const char *path, struct err *err);

/* The same from text in memory, which it takes (from malloc(), text[size] is writable). */
struct symtab *kallsyms_parse(char *text_take, size_t size, struct err *err);

/*
 * Is the kernel of this key the one that runs here? By build-id where it was
 * recorded, else by the address of its first symbol. false with err filled.
 */
bool kallsyms_is_recorded(const struct symtab *kallsyms, const struct module_key *key,
                          struct err *err);

/* The build-id of the running kernel (/sys/kernel/notes); size 0 where it is not told. */
struct build_id kallsyms_running_build_id(void);

#endif
