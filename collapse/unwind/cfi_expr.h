/*
 * cfi_expr.h - DWARF expressions as rules use them, over registers and a stack
 * copy.
 *
 * Bounded: CFI_EXPR_STEPS operations, CFI_EXPR_DEPTH values, and no memory but
 * the stack copy. Operations that need a debugger (calls, types, pieces, TLS)
 * fail. Format: DWARF 5 section 2.5.
 */
#ifndef COLLAPSE_CFI_EXPR_H
#define COLLAPSE_CFI_EXPR_H

#include "collapse/unwind/regs.h"
#include "share/compat.h"

enum { CFI_EXPR_STEPS = 1000, CFI_EXPR_DEPTH = 64 };

/*
 * first: the value on the stack at the start (the CFA for rules of registers,
 * DWARF 5 6.4.2.3), or NULL. false where the expression is malformed, needs
 * more than it may, an unknown register, or memory outside of the copy; then
 * *missing is the address that could not be read, or 0.
 */
bool cfi_expr_eval(const uint8_t *code, size_t size, const struct regs *regs,
                   const struct stack_copy *stack, const uint64_t *first, uint64_t *value,
                   uint64_t *missing);

#endif
