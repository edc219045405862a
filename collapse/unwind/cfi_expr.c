#include "share/compat.h"
#include "collapse/unwind/cfi_expr.h"

#include "collapse/records/cursor.h"

#include <dwarf.h>

/* The stack of values, top last. Too much or too little of it is `bad`. */
struct values {
	uint64_t at[CFI_EXPR_DEPTH];
	unsigned nr;
	bool bad;
};

static void push(struct values *values, uint64_t value)
{
	if (values->nr == CFI_EXPR_DEPTH)
		values->bad = true;
	else
		values->at[values->nr++] = value;
}

static uint64_t peek(struct values *values, uint64_t depth)
{
	if (depth >= values->nr) {
		values->bad = true;
		return 0;
	}
	return values->at[values->nr - 1 - depth];
}

static uint64_t pop(struct values *values)
{
	uint64_t value = peek(values, 0);

	if (!values->bad)
		values->nr--;
	return value;
}

static void push_reg(struct values *values, const struct regs *regs, uint64_t reg, int64_t n)
{
	if (reg >= CFI_NR_REGS || !regs_know(regs, (unsigned)reg))
		values->bad = true;
	else
		push(values, regs->value[reg] + (uint64_t)n);
}

/* b is the former top, a what was below it */
static bool binary(unsigned op, uint64_t a, uint64_t b, uint64_t *out)
{
	int64_t sa = (int64_t)a, sb = (int64_t)b;

	switch (op) {
	case DW_OP_and:
		*out = a & b;
		break;
	case DW_OP_div:
		if (b == 0)
			return false;
		*out = sb == -1 ? 0 - a : (uint64_t)(sa / sb);
		break;
	case DW_OP_minus:
		*out = a - b;
		break;
	case DW_OP_mod:
		if (b == 0)
			return false;
		*out = a % b;
		break;
	case DW_OP_mul:
		*out = a * b;
		break;
	case DW_OP_or:
		*out = a | b;
		break;
	case DW_OP_plus:
		*out = a + b;
		break;
	case DW_OP_shl:
		*out = b < 64 ? a << b : 0;
		break;
	case DW_OP_shr:
		*out = b < 64 ? a >> b : 0;
		break;
	case DW_OP_shra:
		*out = (uint64_t)(sa >> MIN_OF(b, (uint64_t)63));
		break;
	case DW_OP_xor:
		*out = a ^ b;
		break;
	case DW_OP_le:
		*out = sa <= sb;
		break;
	case DW_OP_ge:
		*out = sa >= sb;
		break;
	case DW_OP_eq:
		*out = a == b;
		break;
	case DW_OP_lt:
		*out = sa < sb;
		break;
	case DW_OP_gt:
		*out = sa > sb;
		break;
	case DW_OP_ne:
		*out = a != b;
		break;
	default:
		return false;
	}
	return true;
}

/* To a place inside of the expression; its end counts as one. */
static void jump(struct cursor *cursor, const uint8_t *begin, int64_t delta)
{
	int64_t to = (cursor->at - begin) + delta;

	if (to < 0 || to > cursor->end - begin)
		cursor->bad = true;
	else
		cursor->at = begin + to;
}

/* Operations on the top of the stack; false where op is none of them. */
static bool stack_op(unsigned op, struct cursor *cursor, struct values *values)
{
	uint64_t a, b, c;

	switch (op) {
	case DW_OP_dup:
		push(values, peek(values, 0));
		return true;
	case DW_OP_drop:
		pop(values);
		return true;
	case DW_OP_over:
		push(values, peek(values, 1));
		return true;
	case DW_OP_pick:
		push(values, peek(values, cursor_uint(cursor, 1)));
		return true;
	case DW_OP_swap:
		b = pop(values);
		a = pop(values);
		push(values, b);
		push(values, a);
		return true;
	case DW_OP_rot:
		c = pop(values);
		b = pop(values);
		a = pop(values);
		push(values, c);
		push(values, a);
		push(values, b);
		return true;
	case DW_OP_abs:
		a = pop(values);
		push(values, (int64_t)a < 0 ? 0 - a : a);
		return true;
	case DW_OP_neg:
		push(values, 0 - pop(values));
		return true;
	case DW_OP_not:
		push(values, ~pop(values));
		return true;
	case DW_OP_plus_uconst:
		push(values, pop(values) + cursor_uleb(cursor));
		return true;
	default:
		return false;
	}
}

/* Pushes a constant; false where op is none. */
static bool constant(unsigned op, struct cursor *cursor, struct values *values)
{
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
		push(values, op - DW_OP_lit0);
		return true;
	}
	switch (op) {
	case DW_OP_addr:
	case DW_OP_const8u:
	case DW_OP_const8s:
		push(values, cursor_uint(cursor, 8));
		return true;
	case DW_OP_const1u:
		push(values, cursor_uint(cursor, 1));
		return true;
	case DW_OP_const1s:
		push(values, (uint64_t)cursor_int(cursor, 1));
		return true;
	case DW_OP_const2u:
		push(values, cursor_uint(cursor, 2));
		return true;
	case DW_OP_const2s:
		push(values, (uint64_t)cursor_int(cursor, 2));
		return true;
	case DW_OP_const4u:
		push(values, cursor_uint(cursor, 4));
		return true;
	case DW_OP_const4s:
		push(values, (uint64_t)cursor_int(cursor, 4));
		return true;
	case DW_OP_constu:
		push(values, cursor_uleb(cursor));
		return true;
	case DW_OP_consts:
		push(values, (uint64_t)cursor_sleb(cursor));
		return true;
	default:
		return false;
	}
}

static void load(struct values *values, unsigned size, const struct stack_copy *stack,
                 uint64_t *missing)
{
	uint64_t address = pop(values), value;

	if (values->bad)
		return;
	if (size < 1 || size > 8 || !stack_read_sized(stack, address, size, &value)) {
		*missing = address;
		values->bad = true;
		return;
	}
	push(values, value);
}

static void step(unsigned op, struct cursor *cursor, const uint8_t *begin, struct values *values,
                 const struct regs *regs, const struct stack_copy *stack, uint64_t *missing)
{
	uint64_t reg, a, b;
	int64_t delta;

	if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
		push_reg(values, regs, op - DW_OP_breg0, cursor_sleb(cursor));
		return;
	}
	if (constant(op, cursor, values) || stack_op(op, cursor, values))
		return;
	switch (op) {
	case DW_OP_nop:
		return;
	case DW_OP_bregx:
		reg = cursor_uleb(cursor);
		push_reg(values, regs, reg, cursor_sleb(cursor));
		return;
	case DW_OP_deref:
		load(values, stack->word, stack, missing);
		return;
	case DW_OP_deref_size:
		load(values, (unsigned)cursor_uint(cursor, 1), stack, missing);
		return;
	case DW_OP_skip:
		jump(cursor, begin, cursor_int(cursor, 2));
		return;
	case DW_OP_bra:
		delta = cursor_int(cursor, 2);
		if (pop(values) != 0)
			jump(cursor, begin, delta);
		return;
	default:
		b = pop(values);
		a = pop(values);
		if (values->bad || !binary(op, a, b, &a))
			values->bad = true;
		else
			push(values, a);
	}
}

bool cfi_expr_eval(const uint8_t *code, size_t size, const struct regs *regs,
                   const struct stack_copy *stack, const uint64_t *first, uint64_t *value,
                   uint64_t *missing)
{
	struct cursor cursor = cursor_of(code, size);
	struct values values;

	values.nr = 0;
	values.bad = false;
	*missing = 0;
	if (first)
		push(&values, *first);
	for (unsigned steps = 0; cursor_left(&cursor) > 0; steps++) {
		if (steps == CFI_EXPR_STEPS)
			return false;
		step((unsigned)cursor_uint(&cursor, 1), &cursor, code, &values, regs, stack,
		     missing);
		if (cursor.bad || values.bad)
			return false;
	}
	*value = peek(&values, 0);
	return !values.bad;
}
