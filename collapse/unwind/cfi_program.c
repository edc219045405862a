#include "share/compat.h"
#include "collapse/unwind/cfi_program.h"

#include "share/mem.h"
#include "share/strtab.h"

#include <dwarf.h>
#include <elf.h>

#define STATES_MAX                             16 /* nested DW_CFA_remember_state; compilers use one */
#define DW_CFA_AARCH64_negate_ra_state_with_pc 0x2c

static unsigned sp_of(uint16_t machine)
{
	return machine == EM_AARCH64 ? 31 : machine == EM_386 ? 4 : 7;
}

static unsigned address_size(const struct cfi_section *section)
{
	return section->machine == EM_386 ? 4 : 8;
}

/* What a CIE says about its FDEs. */
struct cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_reg;
	uint8_t pointer_encoding;
	bool has_augmentation; /* FDEs carry augmentation data of a stated size */
	bool is_signal;
	struct cursor program;
};

struct fde {
	struct cie cie;
	uint64_t start, size;
	struct cursor program;
};

/* The virtual machine of DWARF 5 6.4.1: one row of the table, being made. */
struct state {
	struct cfi_place cfa, regs[CFI_NR_REGS];
	bool is_signed;
};

struct machine {
	const struct cfi_section *section;
	const struct fde *fde;
	struct state now, initial, saved[STATES_MAX];
	unsigned nr_saved;
	uint64_t pc; /* bytes after the start of the function */

	struct cfi_rule_set *rules;
	struct cfi_row *rows;
	size_t nr, capacity;
};

bool cfi_pointer(struct cursor *cursor, uint8_t encoding, const struct cfi_section *section,
                 uint64_t data_base, uint64_t *value)
{
	uint64_t here = section->vaddr + (uint64_t)(cursor->at - section->data);
	uint64_t base = 0;

	switch (encoding & 0x70) {
	case 0:
		break;
	case DW_EH_PE_pcrel:
		base = here;
		break;
	case DW_EH_PE_datarel:
		base = data_base;
		break;
	default:
		return false;
	}
	switch (encoding & 0x8f) {
	case DW_EH_PE_absptr:
		*value = cursor_uint(cursor, address_size(section));
		break;
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		*value = cursor_uint(cursor, 8);
		break;
	case DW_EH_PE_uleb128:
		*value = cursor_uleb(cursor);
		break;
	case DW_EH_PE_sleb128:
		*value = (uint64_t)cursor_sleb(cursor);
		break;
	case DW_EH_PE_udata2:
		*value = cursor_uint(cursor, 2);
		break;
	case DW_EH_PE_sdata2:
		*value = (uint64_t)cursor_int(cursor, 2);
		break;
	case DW_EH_PE_udata4:
		*value = cursor_uint(cursor, 4);
		break;
	case DW_EH_PE_sdata4:
		*value = (uint64_t)cursor_int(cursor, 4);
		break;
	default: /* indirect ones need the running program's memory */
		return false;
	}
	*value += base;
	if (address_size(section) == 4)
		*value = (uint32_t)*value;
	return !cursor->bad;
}

/*
 * The entry's body behind length and id. id_at is where the id stands, since
 * .eh_frame counts back to the CIE from there. false at the section's end.
 */
static bool entry_read(const struct cfi_section *section, size_t offset, struct cursor *body,
                       size_t *id_at, uint64_t *id, bool *is_64, size_t *next)
{
	struct cursor all;
	uint64_t length;

	if (offset >= section->size)
		return false;
	all = cursor_of(section->data + offset, section->size - offset);
	length = cursor_uint(&all, 4);
	*is_64 = length == 0xffffffff;
	if (*is_64)
		length = cursor_uint(&all, 8);
	if (all.bad || length > cursor_left(&all))
		return false;
	if (length == 0 && !section->is_debug)
		return false; /* the terminator of .eh_frame */
	*body = cursor_of(all.at, length);
	*next = (size_t)(all.at - section->data) + length;
	*id_at = (size_t)(body->at - section->data);
	/* .eh_frame ids are four bytes even in the 64-bit form */
	*id = length ? cursor_uint(body, *is_64 && section->is_debug ? 8 : 4) : 0;
	return true;
}

static bool is_cie_id(const struct cfi_section *section, uint64_t id, bool is_64)
{
	if (!section->is_debug)
		return id == 0;
	return id == (is_64 ? UINT64_MAX : UINT32_MAX);
}

static bool augmentation_read(struct cie *cie, struct cursor *body, const char *letters,
                              const struct cfi_section *section)
{
	struct cursor data;
	uint64_t size, ignored;

	if (*letters != 'z')
		return *letters == '\0';
	cie->has_augmentation = true;
	size = cursor_uleb(body);
	data = cursor_of(body->at, MIN_OF(size, cursor_left(body)));
	if (!cursor_skip(body, size))
		return false;
	for (letters++; *letters; letters++) {
		switch (*letters) {
		case 'R':
			cie->pointer_encoding = (uint8_t)cursor_uint(&data, 1);
			break;
		case 'P': /* personality routine */
			if (!cfi_pointer(&data,
			                 (uint8_t)cursor_uint(&data, 1) &
			                         (uint8_t)~DW_EH_PE_indirect,
			                 section, 0, &ignored))
				return false;
			break;
		case 'L':
			cursor_skip(&data, 1);
			break;
		case 'S':
			cie->is_signal = true;
			break;
		case 'B': /* signed with the B key: stripped all the same */
		case 'G': /* tagged memory */
			break;
		default: /* its size is known, its place in the data is not */
			return !data.bad;
		}
	}
	return !data.bad;
}

static bool cie_read(const struct cfi_section *section, size_t offset, struct cie *cie)
{
	struct cursor body;
	const char *letters;
	size_t next, id_at;
	uint64_t id, version;
	bool is_64;

	if (!entry_read(section, offset, &body, &id_at, &id, &is_64, &next) ||
	    !is_cie_id(section, id, is_64))
		return false;
	*cie = (struct cie){.pointer_encoding = DW_EH_PE_absptr};
	version = cursor_uint(&body, 1);
	if (version != 1 && version != 3 && version != 4)
		return false;
	letters = (const char *)body.at;
	while (cursor_uint(&body, 1) != 0)
		;
	if (body.bad)
		return false;
	if (version == 4 &&
	    (cursor_uint(&body, 1) != address_size(section) || cursor_uint(&body, 1) != 0))
		return false; /* address size, segment selector size */
	cie->code_align = cursor_uleb(&body);
	cie->data_align = cursor_sleb(&body);
	cie->ra_reg = version == 1 ? cursor_uint(&body, 1) : cursor_uleb(&body);
	if (!augmentation_read(cie, &body, letters, section))
		return false;
	cie->program = body;
	return !body.bad && cie->ra_reg < CFI_NR_REGS;
}

/* false where the section cannot be read on; fde->size is 0 where there is no FDE here */
static bool fde_read(const struct cfi_section *section, size_t offset, struct fde *fde,
                     size_t *next)
{
	struct cursor body;
	size_t id_at;
	uint64_t id;
	bool is_64;

	fde->size = 0;
	if (!entry_read(section, offset, &body, &id_at, &id, &is_64, next))
		return false;
	if (body.bad || is_cie_id(section, id, is_64))
		return true;
	if (!section->is_debug && id > id_at)
		return true;
	if (!cie_read(section, section->is_debug ? id : id_at - id, &fde->cie))
		return true;
	if (!cfi_pointer(&body, fde->cie.pointer_encoding, section, 0, &fde->start) ||
	    !cfi_pointer(&body, fde->cie.pointer_encoding & 0x0f, section, 0, &fde->size))
		fde->size = 0;
	if (fde->cie.has_augmentation)
		cursor_skip(&body, cursor_uleb(&body));
	/* a start of 0 is what linkers leave of functions that they dropped */
	if (body.bad || fde->start == 0 || fde->start + fde->size < fde->start)
		fde->size = 0;
	fde->program = body;
	return true;
}

bool cfi_fde_read(const struct cfi_section *section, size_t offset, struct cfi_fde *out)
{
	struct fde fde;

	if (!fde_read(section, offset, &fde, &out->next))
		return false;
	out->is_fde = fde.size > 0;
	out->start = out->is_fde ? fde.start : 0;
	out->size = fde.size;
	return true;
}

static size_t rule_size(const struct cfi_rule *rule)
{
	return offsetof(struct cfi_rule, places) + rule->nr_places * sizeof(rule->places[0]);
}

/* Where the rule stands in the table, or the empty slot for it. */
static const struct cfi_rule **rule_slot(const struct cfi_rule_set *set,
                                         const struct cfi_rule *rule)
{
	size_t size = rule_size(rule);

	for (size_t at = hash_bytes(rule, size);; at++) {
		const struct cfi_rule **slot = &set->slots[at & (set->nr_slots - 1)];

		if (!*slot || (rule_size(*slot) == size && memcmp(*slot, rule, size) == 0))
			return slot;
	}
}

static const struct cfi_rule *rule_intern(struct cfi_rule_set *set, const struct cfi_rule *rule)
{
	const struct cfi_rule **slot;
	struct cfi_rule *copy;

	if (set->nr * 2 >= set->nr_slots) {
		struct cfi_rule_set old = *set;

		set->nr_slots = MAX_OF(old.nr_slots * 2, (size_t)256);
		set->slots = mem_zalloc(set->nr_slots * sizeof(*set->slots));
		for (size_t i = 0; i < old.nr_slots; i++)
			if (old.slots[i])
				*rule_slot(set, old.slots[i]) = old.slots[i];
		free(old.slots);
	}
	slot = rule_slot(set, rule);
	if (!*slot) {
		copy = arena_alloc(&set->arena, rule_size(rule));
		memcpy(copy, rule, rule_size(rule));
		*slot = copy;
		set->nr++;
	}
	return *slot;
}

void cfi_rule_set_release(struct cfi_rule_set *set)
{
	arena_release(&set->arena);
	free(set->slots);
	*set = (struct cfi_rule_set){0};
}

static const struct cfi_rule *rule_of(const struct machine *machine)
{
	const struct state *state = &machine->now;
	uint64_t ra_reg = machine->fde->cie.ra_reg;
	unsigned sp = sp_of(machine->section->machine);
	union {
		struct cfi_rule rule;
		uint8_t room[sizeof(struct cfi_rule) + CFI_NR_REGS * sizeof(struct cfi_place)];
	} out;
	struct cfi_rule *rule = &out.rule;
	bool has_expr = state->cfa.kind == CFI_IS_EXPR;

	memset(&out, 0, sizeof(out));
	rule->cfa = state->cfa;
	rule->ra = state->regs[ra_reg];
	rule->is_signal = machine->fde->cie.is_signal;
	rule->is_signed = state->is_signed;
	rule->is_simple =
	        !has_expr && rule->ra.kind == CFI_AT_CFA && !rule->is_signal && !rule->is_signed;
	for (unsigned reg = 0; reg < CFI_NR_REGS; reg++) {
		const struct cfi_place *place = &state->regs[reg];

		has_expr |= place->kind == CFI_AT_EXPR || place->kind == CFI_IS_EXPR;
		if (reg == ra_reg || place->kind == CFI_SAME)
			continue;
		rule->is_simple &= place->kind == CFI_AT_CFA && reg != sp;
		rule->places[rule->nr_places] = *place;
		rule->places[rule->nr_places++].reg = (uint8_t)reg;
	}
	if (has_expr)
		rule->section = machine->section->data;
	return rule_intern(machine->rules, rule);
}

/* The row that ends here, unless it says what the one before it says. */
static bool row_end(struct machine *machine)
{
	const struct cfi_rule *rule = rule_of(machine);
	uint64_t start = machine->pc;

	if (machine->nr > 0 && machine->rows[machine->nr - 1].rule == rule)
		return true;
	if (machine->nr == CFI_ROWS_MAX)
		return false;
	MEM_GROW(machine->rows, machine->nr, machine->capacity);
	machine->rows[machine->nr++] = (struct cfi_row){(uint32_t)start, rule};
	return true;
}

/* false at the end of the function as well */
static bool advance(struct machine *machine, uint64_t delta)
{
	if (delta == 0)
		return true;
	if (!row_end(machine))
		return false;
	if (delta >= machine->fde->size - machine->pc) {
		machine->pc = machine->fde->size;
		return false;
	}
	machine->pc += delta;
	return true;
}

static bool fits(int64_t n)
{
	return n == (int32_t)n;
}

static bool place_set(struct machine *machine, uint64_t reg, enum cfi_kind kind, int64_t n)
{
	if (!fits(n))
		return false;
	if (reg < CFI_NR_REGS)
		machine->now.regs[reg] = (struct cfi_place){.kind = kind, .n = (int32_t)n};
	return true;
}

/* A product that must fit anyway; wraps instead of overflowing. */
static int64_t scaled(uint64_t n, int64_t factor)
{
	return (int64_t)(n * (uint64_t)factor);
}

static bool cfa_set(struct machine *machine, uint64_t reg, int64_t n)
{
	if (reg >= CFI_NR_REGS || !fits(n))
		return false;
	machine->now.cfa =
	        (struct cfi_place){.kind = CFI_IS_CFA, .reg = (uint8_t)reg, .n = (int32_t)n};
	return true;
}

static bool expr_set(struct machine *machine, struct cursor *code, enum cfi_kind kind,
                     struct cfi_place *place)
{
	uint64_t size = cursor_uleb(code);
	size_t at = (size_t)(code->at - machine->section->data);

	if (!cursor_skip(code, size) || size > UINT16_MAX || at > UINT32_MAX)
		return false;
	if (place)
		*place = (struct cfi_place){.kind = (uint8_t)kind,
		                            .expr_size = (uint16_t)size,
		                            .n = (int32_t)(uint32_t)at};
	return true;
}

static struct cfi_place *place_of(struct machine *machine, uint64_t reg)
{
	return reg < CFI_NR_REGS ? &machine->now.regs[reg] : NULL;
}

static void restore(struct machine *machine, uint64_t reg)
{
	if (reg < CFI_NR_REGS)
		machine->now.regs[reg] = machine->initial.regs[reg];
}

static bool set_loc(struct machine *machine, struct cursor *code)
{
	const struct fde *fde = machine->fde;
	uint64_t to;

	return cfi_pointer(code, fde->cie.pointer_encoding, machine->section, 0, &to) &&
	       to >= fde->start + machine->pc && advance(machine, to - fde->start - machine->pc);
}

/* Opcodes without an operand in their low six bits. false ends the program. */
static bool run_extended(struct machine *machine, struct cursor *code, unsigned op)
{
	const struct cie *cie = &machine->fde->cie;
	uint64_t reg;

	switch (op) {
	case DW_CFA_nop:
		return true;
	case DW_CFA_set_loc:
		return set_loc(machine, code);
	case DW_CFA_advance_loc1:
		return advance(machine, cursor_uint(code, 1) * cie->code_align);
	case DW_CFA_advance_loc2:
		return advance(machine, cursor_uint(code, 2) * cie->code_align);
	case DW_CFA_advance_loc4:
		return advance(machine, cursor_uint(code, 4) * cie->code_align);
	case DW_CFA_MIPS_advance_loc8:
		return advance(machine, cursor_uint(code, 8) * cie->code_align);
	case DW_CFA_offset_extended:
		reg = cursor_uleb(code);
		return place_set(machine, reg, CFI_AT_CFA,
		                 scaled(cursor_uleb(code), cie->data_align));
	case DW_CFA_offset_extended_sf:
		reg = cursor_uleb(code);
		return place_set(machine, reg, CFI_AT_CFA,
		                 scaled((uint64_t)cursor_sleb(code), cie->data_align));
	case DW_CFA_GNU_negative_offset_extended:
		reg = cursor_uleb(code);
		return place_set(machine, reg, CFI_AT_CFA,
		                 -scaled(cursor_uleb(code), cie->data_align));
	case DW_CFA_val_offset:
		reg = cursor_uleb(code);
		return place_set(machine, reg, CFI_IS_CFA,
		                 scaled(cursor_uleb(code), cie->data_align));
	case DW_CFA_val_offset_sf:
		reg = cursor_uleb(code);
		return place_set(machine, reg, CFI_IS_CFA,
		                 scaled((uint64_t)cursor_sleb(code), cie->data_align));
	case DW_CFA_register: {
		uint64_t from;

		reg = cursor_uleb(code);
		from = cursor_uleb(code);
		return from < CFI_NR_REGS && place_set(machine, reg, CFI_REGISTER, (int64_t)from);
	}
	case DW_CFA_restore_extended:
		restore(machine, cursor_uleb(code));
		return true;
	case DW_CFA_undefined:
		return place_set(machine, cursor_uleb(code), CFI_UNDEFINED, 0);
	case DW_CFA_same_value:
		return place_set(machine, cursor_uleb(code), CFI_SAME, 0);
	case DW_CFA_expression:
		reg = cursor_uleb(code);
		return expr_set(machine, code, CFI_AT_EXPR, place_of(machine, reg));
	case DW_CFA_val_expression:
		reg = cursor_uleb(code);
		return expr_set(machine, code, CFI_IS_EXPR, place_of(machine, reg));
	case DW_CFA_remember_state:
		if (machine->nr_saved == STATES_MAX)
			return false;
		machine->saved[machine->nr_saved++] = machine->now;
		return true;
	case DW_CFA_restore_state:
		if (machine->nr_saved == 0)
			return false;
		machine->now = machine->saved[--machine->nr_saved];
		return true;
	case DW_CFA_def_cfa:
		reg = cursor_uleb(code);
		return cfa_set(machine, reg, (int64_t)cursor_uleb(code));
	case DW_CFA_def_cfa_sf:
		reg = cursor_uleb(code);
		return cfa_set(machine, reg, scaled((uint64_t)cursor_sleb(code), cie->data_align));
	case DW_CFA_def_cfa_register:
		return machine->now.cfa.kind == CFI_IS_CFA &&
		       cfa_set(machine, cursor_uleb(code), machine->now.cfa.n);
	case DW_CFA_def_cfa_offset:
		return machine->now.cfa.kind == CFI_IS_CFA &&
		       cfa_set(machine, machine->now.cfa.reg, (int64_t)cursor_uleb(code));
	case DW_CFA_def_cfa_offset_sf:
		return machine->now.cfa.kind == CFI_IS_CFA &&
		       cfa_set(machine, machine->now.cfa.reg,
		               scaled((uint64_t)cursor_sleb(code), cie->data_align));
	case DW_CFA_def_cfa_expression:
		return expr_set(machine, code, CFI_IS_EXPR, &machine->now.cfa);
	case DW_CFA_AARCH64_negate_ra_state_with_pc:
	case DW_CFA_AARCH64_negate_ra_state: /* on SPARC: DW_CFA_GNU_window_save */
		machine->now.is_signed = !machine->now.is_signed;
		return machine->section->machine == EM_AARCH64;
	case DW_CFA_GNU_args_size:
		cursor_uleb(code);
		return true;
	default: /* operands of unknown size */
		return false;
	}
}

/* true where the program ran to its end, or to that of the function */
static bool run(struct machine *machine, struct cursor code)
{
	const struct cie *cie = &machine->fde->cie;

	while (cursor_left(&code) > 0) {
		unsigned op = (unsigned)cursor_uint(&code, 1), operand = op & 0x3f;
		bool goes_on;

		switch (op & 0xc0) {
		case DW_CFA_advance_loc:
			goes_on = advance(machine, operand * cie->code_align);
			break;
		case DW_CFA_offset:
			goes_on = place_set(machine, operand, CFI_AT_CFA,
			                    scaled(cursor_uleb(&code), cie->data_align));
			break;
		case DW_CFA_restore:
			restore(machine, operand);
			goes_on = true;
			break;
		default:
			goes_on = run_extended(machine, &code, op);
		}
		if (code.bad)
			return false;
		if (!goes_on)
			return machine->pc == machine->fde->size;
	}
	return row_end(machine);
}

const struct cfi_rows *cfi_program_run(const struct cfi_section *section, size_t offset,
                                       struct cfi_rule_set *rules, struct arena *arena)
{
	struct fde fde;
	struct machine machine = {.section = section, .fde = &fde, .rules = rules};
	struct cfi_rows *rows = NULL;
	size_t next;

	if (!fde_read(section, offset, &fde, &next) || fde.size == 0 || fde.size > UINT32_MAX)
		return NULL;
	machine.now.cfa.kind = CFI_UNDEFINED;
	/* a CIE's program has no rows: its pc stays at the start of the function */
	if (run(&machine, fde.cie.program)) {
		machine.initial = machine.now;
		machine.nr = machine.nr_saved = 0;
		machine.pc = 0;
		if (run(&machine, fde.program) && machine.nr > 0) {
			size_t size = machine.nr * sizeof(rows->at[0]);

			rows = arena_alloc(arena, sizeof(*rows) + size);
			rows->start = fde.start;
			rows->size = fde.size;
			rows->nr = (uint32_t)machine.nr;
			memcpy(rows->at, machine.rows, size);
		}
	}
	free(machine.rows);
	return rows;
}
