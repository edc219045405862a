/*
 * cfi_program.h - one function's call frame program, run into rows of rules.
 *
 * Decides what a CIE and an FDE mean. Knows no files and no registers' values:
 * it gets the bytes of a section and gives, for every address of the function,
 * where the caller's registers are. A rule that says the same is stored once.
 *
 * Formats: DWARF 5 section 6.4 and 7.24 (.debug_frame); Linux Standard Base
 * 5.0 Core, chapter 10 (.eh_frame); AArch64 DWARF ABI (ARM IHI 0057), for the
 * signing of return addresses.
 */
#ifndef COLLAPSE_CFI_PROGRAM_H
#define COLLAPSE_CFI_PROGRAM_H

#include "collapse/records/cursor.h"
#include "share/arena.h"
#include "share/compat.h"

/*
 * Registers by their DWARF numbers. x86-64: 0 to 15, return address 16.
 * aarch64: x0 to x30, sp 31; the return address is x30. Rules for higher ones
 * (vector registers) are dropped: no address of a caller ever depends on them.
 */
#define CFI_NR_REGS 33

enum cfi_kind {
	CFI_SAME,      /* the register still holds it; never stored in a rule */
	CFI_UNDEFINED, /* lost; for the return address: there is no caller */
	CFI_AT_CFA,    /* in memory at CFA + n */
	CFI_IS_CFA,    /* is CFA + n */
	CFI_REGISTER,  /* in register n */
	CFI_AT_EXPR,   /* in memory where the expression says */
	CFI_IS_EXPR,   /* what the expression says */
};

/* Where the caller's value of a register is. */
struct cfi_place {
	uint8_t kind; /* enum cfi_kind */
	uint8_t reg;
	uint16_t expr_size;
	int32_t n; /* expressions: their offset in the section, as uint32_t */
};

struct cfi_rule {
	const uint8_t *section; /* base of expression offsets; NULL without any */
	struct cfi_place cfa;   /* CFI_IS_CFA: register `reg` + n; or CFI_IS_EXPR */
	struct cfi_place ra;    /* CFI_SAME: in the return address register */
	bool is_signal;         /* the caller was interrupted, not calling */
	bool is_signed;         /* the return address carries a signature (aarch64) */
	bool is_simple;         /* cfa from a register, sp is the cfa, all else CFI_AT_CFA */
	uint8_t nr_places;
	struct cfi_place places[]; /* registers other than the return address, by number */
};

struct cfi_row {
	uint32_t start; /* bytes after the start of the function */
	const struct cfi_rule *rule;
};

/* Rows of one function, sorted by start; the first begins at 0. */
struct cfi_rows {
	uint64_t start, size; /* vaddr, bytes */
	uint32_t nr;
	struct cfi_row at[];
};

/* The rule for an address; NULL where the rows do not reach. */
static inline const struct cfi_rule *cfi_rows_find(const struct cfi_rows *rows, uint64_t vaddr)
{
	uint32_t at = (uint32_t)(vaddr - rows->start);
	size_t low = 0;

	if (vaddr - rows->start >= rows->size)
		return NULL;
	for (size_t nr = rows->nr; nr > 1;) {
		size_t half = nr / 2;

		low = rows->at[low + half].start <= at ? low + half : low;
		nr -= half;
	}
	return rows->at[low].rule;
}

/* Distinct rules. A zeroed one is ready; rules live until its release. */
struct cfi_rule_set {
	struct arena arena;
	const struct cfi_rule **slots; /* hash, open addressing */
	size_t nr_slots, nr;
};

void cfi_rule_set_release(struct cfi_rule_set *set);

/* Bytes of .eh_frame or .debug_frame; data is borrowed. */
struct cfi_section {
	const uint8_t *data;
	size_t size;
	uint64_t vaddr; /* of data[0] as linked, for addresses relative to it */
	bool is_debug;  /* .debug_frame */
	uint16_t machine;
};

/* An entry's head: enough to index it. */
struct cfi_fde {
	uint64_t start, size; /* vaddr, bytes */
	size_t next;          /* offset of the entry after it */
	bool is_fde;          /* false: a CIE, a terminator or nonsense: go on with next */
};

/* Reads the entry at offset; false where the section ends or cannot be read on. */
bool cfi_fde_read(const struct cfi_section *section, size_t offset, struct cfi_fde *fde);

/*
 * The rows of the FDE at offset, in the arena; NULL where it is malformed,
 * longer than 4 GiB or of more than CFI_ROWS_MAX rows.
 */
#define CFI_ROWS_MAX 65536
const struct cfi_rows *cfi_program_run(const struct cfi_section *section, size_t offset,
                                       struct cfi_rule_set *rules, struct arena *arena);

/* A pointer in an encoding of LSB 10.5 (DW_EH_PE_*); base for data-relative ones. */
bool cfi_pointer(struct cursor *cursor, uint8_t encoding, const struct cfi_section *section,
                 uint64_t data_base, uint64_t *value);

#endif
