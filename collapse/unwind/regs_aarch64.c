#include "share/compat.h"
#include "collapse/unwind/regs.h"

#include <elf.h>

/*
 * Linux 6.1 arch/arm64/include/uapi/asm/perf_regs.h: X0 to X29, LR, SP, PC;
 * vector granule and beyond are of no use here. DWARF numbers (ARM IHI 0057)
 * are the same up to SP.
 */
static const int8_t perf_to_dwarf[] = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
        17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, -1,
};

enum { X29 = 29, X30 = 30, SP = 31, PERF_PC = 32 };

/*
 * Pointer authentication keeps its code in the bits above the virtual address
 * (Arm ARM D8.8); user addresses have bit 55 clear and, unless a program asks
 * for more, 48 bits.
 */
static uint64_t strip(uint64_t ip)
{
	return ip & (((uint64_t)1 << 48) - 1);
}

static uint32_t word_at(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* Arm ARM C6.2: BL, BLR, and BLRAA/BLRAB/BLRAAZ/BLRABZ. */
static bool after_call(const struct code *code)
{
	uint32_t word;

	if (code->at - code->begin < 4)
		return false;
	word = word_at(code->at - 4);
	return (word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000 ||
	       (word & 0xfefff800) == 0xd63f0800;
}

static uint64_t call_target(const struct code *code, uint64_t ip)
{
	uint32_t word;

	if (code->at - code->begin < 4)
		return 0;
	word = word_at(code->at - 4);
	if ((word & 0xfc000000) != 0x94000000)
		return 0;
	/* 26 bits, signed, in words from the instruction itself */
	return ip - 4 + (uint64_t)(((int64_t)(int32_t)(word << 6) >> 6) * 4);
}

static int ra_hint(const struct code *code)
{
	(void)code; /* a return address in a register needs no hint */
	return REGS_NO_HINT;
}

static bool is_sigreturn(const struct code *code)
{
	return code->end - code->at >= 8 && word_at(code->at) == 0xd2801168 && /* mov x8, #139 */
	       word_at(code->at + 4) == 0xd4000001;                            /* svc #0 */
}

/*
 * Linux 6.1 arch/arm64/kernel/signal.c struct rt_sigframe: siginfo (128), then
 * ucontext, whose uc_mcontext is at 176: fault_address, regs[31], sp, pc.
 */
static bool sigframe(struct regs *regs, const struct stack_copy *stack, uint64_t *pc)
{
	uint64_t at = regs->value[SP] + 128 + 176 + 8, value;

	for (unsigned reg = 0; reg <= SP; reg++) {
		if (!stack_read(stack, at + 8 * reg, &value))
			return false;
		regs_set(regs, reg, value);
	}
	return stack_read(stack, at + 8 * (SP + 1), pc);
}

const struct regs_machine regs_aarch64 = {
        .elf_machine = EM_AARCH64,
        .word = 8,
        .sp = SP,
        .fp = X29,
        .ra = X30,
        .ra_on_stack = false,
        .perf_to_dwarf = perf_to_dwarf,
        .nr_perf = ARRAY_SIZE(perf_to_dwarf),
        .perf_pc = PERF_PC,
        .strip = strip,
        .after_call = after_call,
        .call_target = call_target,
        .ra_hint = ra_hint,
        .is_sigreturn = is_sigreturn,
        .sigframe = sigframe,
};
