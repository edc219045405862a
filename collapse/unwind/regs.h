/*
 * regs.h - values of registers, the copy of a stack, and what a processor
 * architecture decides about frames besides call frame information.
 *
 * One struct regs_machine per architecture (regs_x86.c, regs_aarch64.c):
 * how perf numbers registers, how a frame pointer leads to the caller, what a
 * call looks like in machine code.
 */
#ifndef COLLAPSE_REGS_H
#define COLLAPSE_REGS_H

#include "collapse/unwind/cfi_program.h"
#include "share/compat.h"

/* By DWARF number. */
struct regs {
	uint64_t value[CFI_NR_REGS];
	uint64_t known; /* bit per register */
};

static inline bool regs_know(const struct regs *regs, unsigned reg)
{
	return reg < CFI_NR_REGS && (regs->known >> reg & 1);
}

static inline void regs_set(struct regs *regs, unsigned reg, uint64_t value)
{
	regs->value[reg] = value;
	regs->known |= (uint64_t)1 << reg;
}

/* size bytes of memory that began at the address start when they were copied */
struct stack_copy {
	const uint8_t *bytes;
	uint64_t start, size;
	unsigned word; /* bytes of an address: 4 or 8 */
};

/* Reads size (1 to 8) bytes, zero-extended; false outside of the copy. */
static inline bool stack_read_sized(const struct stack_copy *stack, uint64_t address, unsigned size,
                                    uint64_t *value)
{
	uint64_t at = address - stack->start;

	if (UNLIKELY(stack->size < size || at > stack->size - size))
		return false;
	*value = 0;
	memcpy(value, stack->bytes + at, size);
	return true;
}

/* Reads a word. */
static inline bool stack_read(const struct stack_copy *stack, uint64_t address, uint64_t *value)
{
	uint64_t at = address - stack->start;

	if (UNLIKELY(stack->word != 8))
		return stack_read_sized(stack, address, stack->word, value);
	if (UNLIKELY(stack->size < 8 || at > stack->size - 8))
		return false;
	memcpy(value, stack->bytes + at, 8);
	return true;
}

/* Machine code around an address; what lies before `at` goes back to `begin`. */
struct code {
	const uint8_t *begin, *at, *end;
};

enum { REGS_NO_HINT = -1 };

struct regs_machine {
	uint16_t elf_machine;        /* EM_... */
	uint8_t word;                /* bytes of an address: 4 or 8 */
	uint8_t sp, fp, ra;          /* DWARF numbers; ra holds the pc before the first step */
	bool ra_on_stack;            /* calls push it: a function without frame has it at sp */
	const int8_t *perf_to_dwarf; /* by perf's register number, -1 = not of use */
	uint8_t nr_perf, perf_pc;

	/* A return address without its signature, if this machine signs them. */
	uint64_t (*strip)(uint64_t ip);

	/* Does a call instruction end just before code->at? */
	bool (*after_call)(const struct code *code);

	/* Where the direct call that ends just before code->at, at address ip, leads; 0 if none. */
	uint64_t (*call_target)(const struct code *code, uint64_t ip);

	/*
	 * How many bytes above sp the return address is, as told by the
	 * instructions at an interrupted place in a prologue or epilogue;
	 * REGS_NO_HINT where they do not tell.
	 */
	int (*ra_hint)(const struct code *code);

	/*
	 * Is this the code that returns from a signal handler? Then the kernel's
	 * frame is at sp and has the interrupted registers: loads them all,
	 * and the interrupted place into *pc.
	 */
	bool (*is_sigreturn)(const struct code *code);
	bool (*sigframe)(struct regs *regs, const struct stack_copy *stack, uint64_t *pc);
};

/*
 * The machine of a task, or NULL. elf_machine: EM_... of the kernel; abi:
 * PERF_SAMPLE_REGS_ABI_32 or _64 (linux/perf_event.h), since a 64-bit kernel
 * runs 32-bit tasks too.
 */
const struct regs_machine *regs_machine_of(uint16_t elf_machine, uint64_t abi);

extern const struct regs_machine regs_x86_64, regs_i386, regs_aarch64;

/*
 * Fills regs from a sample's user registers: values[] has one per set bit of
 * mask. false where pc or sp is missing. *pc is the sampled instruction.
 */
bool regs_load(const struct regs_machine *machine, struct regs *regs, uint64_t mask,
               const uint64_t *values, uint64_t *pc);

#endif
