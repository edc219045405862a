/*
 * cfi.h - the call frame information of one ELF file: address to rule.
 *
 * Decides where the information is (.eh_frame through its binary search
 * table or by a scan; .debug_frame, also compressed, also in the separate
 * debug file) and turns each function's program into rows when the function
 * is first met. Does not walk (unwind.h) and does not open files.
 *
 * Why the bytes are read here and not through libdw's dwarf_cfi_addrframe():
 * that one gives a row per call and runs the function's program from its start
 * each time, allocates per call, and must not be called by two threads; here a
 * function's rows come from one run, and readers need no lock. Measured on the
 * 18,592 places of cc1plus in one compile: the first time 11 ms here and 9 ms
 * through libdw 0.188, from then on 1.3 ms against 5.7 ms. Both agree: a test
 * compares them row by row.
 *
 * Any number of threads may look up rules in one struct cfi.
 *
 * Formats: as in cfi_program.h; LSB 5.0 Core 10.6.2 (.eh_frame_hdr).
 */
#ifndef COLLAPSE_CFI_H
#define COLLAPSE_CFI_H

#include "collapse/unwind/cfi_program.h"
#include "collapse/names/elffile.h"
#include "collapse/unwind/regs.h"
#include "share/compat.h"

struct cfi;

/*
 * The file is borrowed; its separate debug file is looked for when an address
 * has no rule without it. NULL where it is no little-endian file, or neither a
 * 64-bit one nor one of the i386. Reads no more than the search table.
 */
struct cfi *cfi_new(struct elffile *file);
void cfi_free(struct cfi *cfi);

/* An offset in the file to the address it is linked at; false outside of segments. */
bool cfi_vaddr(const struct cfi *cfi, uint64_t off, uint64_t *vaddr);

/* The rule in force at an address, valid until cfi_free(); NULL where there is none. */
const struct cfi_rule *cfi_rule_at(struct cfi *cfi, uint64_t vaddr);

/* The file's bytes around an offset of an executable segment; all NULL elsewhere. */
struct code cfi_code(const struct cfi *cfi, uint64_t off);

/* Is the address in the code that the kernel starts (e_entry)? */
bool cfi_is_entry(const struct cfi *cfi, uint64_t vaddr);

/* EM_... of the file. */
uint16_t cfi_machine(const struct cfi *cfi);

/* What was read so far. */
struct cfi_stats {
	size_t nr_fdes, nr_functions_read, nr_rules, memory_size;
};
struct cfi_stats cfi_stats(struct cfi *cfi);

#endif
