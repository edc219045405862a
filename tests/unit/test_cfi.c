/* test_cfi.c - rows of call frame information against libdw, and expressions. */
#include "share/compat.h"

#include "collapse/unwind/cfi.h"
#include "collapse/unwind/cfi_expr.h"

#include <criterion/criterion.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <glob.h>
#include <link.h>
#include <unistd.h>

/* Is this libdw's way to say CFA + n (in memory or the value itself)? */
static bool is_cfa_plus(const Dwarf_Op *ops, size_t nr, int64_t n, bool is_value)
{
	size_t at = 1;

	if (nr == 0 || ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	if (n != 0) {
		if (nr < 2 || ops[1].atom != DW_OP_plus_uconst || (int64_t)ops[1].number != n)
			return false;
		at = 2;
	}
	if (is_value)
		return nr == at + 1 && ops[at].atom == DW_OP_stack_value;
	return nr == at;
}

static bool same_place(Dwarf_Frame *frame, int reg, const struct cfi_place *place)
{
	Dwarf_Op mem[3], *ops;
	size_t nr;

	if (dwarf_frame_register(frame, reg, mem, &ops, &nr) != 0)
		return false;
	switch (place->kind) {
	case CFI_SAME:
	case CFI_UNDEFINED:
		return nr == 0;
	case CFI_AT_CFA:
		return is_cfa_plus(ops, nr, place->n, false);
	case CFI_IS_CFA:
		return is_cfa_plus(ops, nr, place->n, true);
	case CFI_REGISTER:
		return nr == 1 &&
		       (ops[0].atom == DW_OP_regx ? (int)ops[0].number == place->n :
		                                    ops[0].atom == DW_OP_reg0 + place->n);
	default:
		return nr > 0 && place->expr_size > 0;
	}
}

static bool same_cfa(Dwarf_Frame *frame, const struct cfi_place *cfa)
{
	Dwarf_Op *ops;
	size_t nr;

	if (dwarf_frame_cfa(frame, &ops, &nr) != 0)
		return false;
	if (cfa->kind == CFI_UNDEFINED)
		return nr == 0;
	if (cfa->kind == CFI_IS_EXPR)
		return nr > 0 && cfa->expr_size > 0;
	if (nr != 1)
		return false;
	if (ops[0].atom == DW_OP_bregx)
		return ops[0].number == cfa->reg && (int64_t)ops[0].number2 == cfa->n;
	return ops[0].atom == DW_OP_breg0 + cfa->reg && (int64_t)ops[0].number == cfa->n;
}

/*
 * Walks the rows of [start, end) as libdw cuts them, leaving out skip bytes
 * after each; false at the first that differs.
 */
static bool same_rows(struct cfi *cfi, uint16_t machine, Dwarf_CFI *theirs, uint64_t start,
                      uint64_t end, unsigned skip, size_t *nr_rows)
{
	int ra_reg = machine == EM_X86_64 ? 16 : 30;
	static const struct cfi_place same = {.kind = CFI_SAME};

	for (uint64_t at = start; at < end;) {
		const struct cfi_rule *rule = cfi_rule_at(cfi, at);
		Dwarf_Addr row_start, row_end;
		Dwarf_Frame *frame;
		bool is_signal;

		if (dwarf_cfi_addrframe(theirs, at, &frame) != 0) {
			if (rule) {
				cr_log_warn("0x%jx: a rule where libdw has none", (uintmax_t)at);
				return false;
			}
			at += 1;
			continue;
		}
		dwarf_frame_info(frame, &row_start, &row_end, &is_signal);
		if (!rule || rule->is_signal != is_signal || !same_cfa(frame, &rule->cfa) ||
		    !same_place(frame, ra_reg, &rule->ra) ||
		    cfi_rule_at(cfi, row_end - 1) != rule) {
			cr_log_warn("0x%jx: rule, CFA or return address", (uintmax_t)at);
			return false;
		}
		for (int reg = 0; reg < ra_reg; reg++) {
			const struct cfi_place *place = &same;

			for (unsigned i = 0; i < rule->nr_places; i++)
				if (rule->places[i].reg == reg)
					place = &rule->places[i];
			if (reg == 7 && place == &same)
				continue; /* x86-64's stack pointer is the CFA, which libdw says */
			if (!same_place(frame, reg, place)) {
				cr_log_warn("0x%jx: register %d", (uintmax_t)at, reg);
				return false;
			}
		}
		free(frame);
		++*nr_rows;
		at = row_end + skip;
	}
	return true;
}

/* Returns the number of rows compared. */
static size_t compare_file(const char *path, unsigned skip)
{
	int fd = open(path, O_RDONLY);
	size_t nr_rows = 0;
	struct elffile *file;
	Dwarf_CFI *theirs;
	struct cfi *cfi;
	struct err err;
	Elf *elf;

	elf_version(EV_CURRENT);
	file = elffile_open(path, &err);
	cr_assert(file, "%s", err.text);
	cfi = cfi_new(file);
	/* a handle of its own, so that nothing that one side does helps the other */
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	theirs = dwarf_getcfi_elf(elf);
	cr_assert(cfi && theirs, "%s", path);
	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct elf_segment *segment = &file->segments[i];

		if (segment->type == PT_LOAD && (segment->flags & PF_X))
			cr_assert(same_rows(cfi, file->machine, theirs, segment->vaddr,
			                    segment->vaddr + segment->file_size, skip, &nr_rows),
			          "%s", path);
	}
	dwarf_cfi_end(theirs);
	cfi_free(cfi);
	elffile_close(file);
	elf_end(elf);
	close(fd);
	return nr_rows;
}

static int compare_object(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	if (info->dlpi_name[0] == '/')
		compare_file(info->dlpi_name, 100);
	return 0;
}

/* This program, and the C library and all else that it is linked to. */
Test(cfi, agrees_with_libdw)
{
	cr_assert_gt(compare_file("/proc/self/exe", 0), 100);
	dl_iterate_phdr(compare_object, NULL);
}

Test(cfi, agrees_with_libdw_on_a_large_program)
{
	glob_t found;

	if (glob("/usr/lib/gcc/*/*/cc1", 0, NULL, &found) != 0)
		return;
	cr_assert_gt(compare_file(found.gl_pathv[0], 5000), 1000);
	globfree(&found);
}

Test(cfi, expressions)
{
	static const struct {
		const char *label;
		uint8_t code[16];
		uint8_t size;
		bool is_good;
		uint64_t value;
	} rows[] = {
	        {"nothing leaves the CFA", {0}, 0, true, 0x1000},
	        {"PLT, before the push",
	         {DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and, DW_OP_lit11, DW_OP_ge,
	          DW_OP_lit3, DW_OP_shl, DW_OP_plus},
	         11,
	         true,
	         0x2008},
	        {"memory", {DW_OP_breg7, 8, DW_OP_deref}, 3, true, 0x8877665544332211},
	        {"two bytes of it", {DW_OP_breg7, 8, DW_OP_deref_size, 2}, 4, true, 0x2211},
	        {"memory outside of the copy", {DW_OP_breg7, 9, DW_OP_deref}, 3, false, 0},
	        {"an unknown register", {DW_OP_breg1, 0}, 2, false, 0},
	        {"no register of ours", {DW_OP_bregx, 0xff, 0x01, 0}, 4, false, 0},
	        {"too little on the stack", {DW_OP_plus}, 1, false, 0},
	        {"division by zero", {DW_OP_lit1, DW_OP_lit0, DW_OP_div}, 3, false, 0},
	        {"smallest by minus one",
	         {DW_OP_lit1, DW_OP_const1u, 63, DW_OP_shl, DW_OP_const1s, 0xff, DW_OP_div},
	         7,
	         true,
	         (uint64_t)1 << 63},
	        {"for ever", {DW_OP_skip, 0xfd, 0xff}, 3, false, 0},
	        {"jump out of it", {DW_OP_skip, 0xf0, 0xff}, 3, false, 0},
	        {"a branch not taken", {DW_OP_lit7, DW_OP_lit0, DW_OP_bra, 5, 0}, 5, true, 7},
	        {"swap and minus", {DW_OP_lit1, DW_OP_lit3, DW_OP_swap, DW_OP_minus}, 4, true, 2},
	        {"rotate", {DW_OP_lit1, DW_OP_lit2, DW_OP_lit3, DW_OP_rot, DW_OP_drop}, 5, true, 1},
	        {"an operation for debuggers", {DW_OP_call_frame_cfa}, 1, false, 0},
	        {"cut off inside an operand", {DW_OP_const4u, 1, 2}, 3, false, 0},
	};
	static const uint8_t bytes[16] = {0,    0,    0,    0,    0,    0,    0,    0,
	                                  0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88};
	const struct stack_copy stack = {bytes, 0x2000, sizeof(bytes), 8};
	const uint64_t cfa = 0x1000;
	struct regs regs = {.known = 0};

	regs_set(&regs, 7, 0x2000);
	regs_set(&regs, 16, 0x401026);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t value = 0, missing;

		cr_assert_eq(cfi_expr_eval(rows[i].code, rows[i].size, &regs, &stack, &cfa, &value,
		                           &missing),
		             rows[i].is_good, "%s", rows[i].label);
		if (rows[i].is_good)
			cr_assert_eq(value, rows[i].value, "%s: 0x%jx", rows[i].label,
			             (uintmax_t)value);
	}
}
