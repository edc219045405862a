#include "share/compat.h"
#include "collapse/unwind/regs.h"

#include <elf.h>

/*
 * Linux 6.1 arch/x86/include/uapi/asm/perf_regs.h: AX BX CX DX SI DI BP SP IP
 * FLAGS CS SS DS ES FS GS R8 to R15. DWARF: System V ABI, AMD64 supplement,
 * figure 3.36.
 */
static const int8_t perf_to_dwarf[] = {
        0, 3, 2, 1, 4, 5, 6, 7, -1, -1, -1, -1, -1, -1, -1, -1, 8, 9, 10, 11, 12, 13, 14, 15,
};

enum { RBP = 6, RSP = 7, RIP = 16, PERF_IP = 8 };

static uint64_t strip(uint64_t ip)
{
	return ip;
}

/*
 * Intel SDM volume 2, CALL: E8 rel32, or FF /2 with a ModRM byte, possibly a
 * SIB byte and a displacement, possibly prefixes.
 */
static bool after_call(const struct code *code)
{
	size_t before = (size_t)(code->at - code->begin);
	const uint8_t *at = code->at;

	if (before >= 5 && at[-5] == 0xe8)
		return true;
	for (unsigned size = 2; size <= 7 && size <= before; size++) {
		const uint8_t *op = at - size;
		unsigned mod = op[1] >> 6, rm = op[1] & 7, length = 2;

		if (op[0] != 0xff || (op[1] >> 3 & 7) != 2)
			continue;
		if (mod != 3 && rm == 4) {
			if (size < 3)
				continue;
			length++;
			if (mod == 0 && (op[2] & 7) == 5)
				length += 4;
		}
		if (mod == 1)
			length += 1;
		else if (mod == 2 || (mod == 0 && rm == 5))
			length += 4;
		if (length == size)
			return true;
	}
	return false;
}

static uint64_t call_target(const struct code *code, uint64_t ip)
{
	int32_t distance;

	if (code->at - code->begin < 5 || code->at[-5] != 0xe8)
		return 0;
	memcpy(&distance, code->at - 4, sizeof(distance));
	return ip + (uint64_t)(int64_t)distance;
}

static bool starts(const struct code *code, const void *bytes, size_t size)
{
	return (size_t)(code->end - code->at) >= size && memcmp(code->at, bytes, size) == 0;
}

static int ra_hint(const struct code *code)
{
	if (starts(code, "\xf3\x0f\x1e\xfa", 4) || /* endbr64 */
	    starts(code, "\x55", 1) ||             /* push %rbp */
	    starts(code, "\x48\x83\xec", 3) ||     /* sub $imm8,%rsp */
	    starts(code, "\x48\x81\xec", 3) ||     /* sub $imm32,%rsp */
	    starts(code, "\xc3", 1) ||             /* ret */
	    starts(code, "\xf3\xc3", 2) ||         /* rep ret */
	    starts(code, "\xc2", 1))               /* ret imm16 */
		return 0;
	if (starts(code, "\x48\x89\xe5", 3) || starts(code, "\x48\x8b\xec", 3)) /* mov %rsp,%rbp */
		return 8;
	if (starts(code, "\x48\x83\xc4", 3) && code->end - code->at >= 5 && code->at[4] == 0xc3 &&
	    code->at[3] < 0x80) /* add $imm8,%rsp; ret */
		return code->at[3];
	return REGS_NO_HINT;
}

static bool is_sigreturn(const struct code *code)
{
	return starts(code, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9) || /* mov $15,%rax; syscall */
	       starts(code, "\xb8\x0f\0\0\0\x0f\x05", 7);           /* mov $15,%eax; syscall */
}

/*
 * Linux 6.1 arch/x86/include/asm/sigframe.h: the handler returned to pretcode,
 * so sp is at struct ucontext; uc_mcontext is 40 bytes into it (struct
 * sigcontext_64: r8 to r15, di, si, bp, bx, dx, ax, cx, sp, ip).
 */
static bool sigframe(struct regs *regs, const struct stack_copy *stack, uint64_t *pc)
{
	static const uint8_t order[] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16};
	uint64_t at = regs->value[RSP] + 40, value = 0;

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		if (!stack_read(stack, at + 8 * i, &value))
			return false;
		regs_set(regs, order[i], value);
	}
	*pc = value;
	return true;
}

/*
 * ---- 32-bit tasks: of a 32-bit kernel, or of a 64-bit one, which gives them
 * the same places (R8 and up are zero) ----
 *
 * DWARF: System V ABI, Intel386 supplement, 4th edition, figure 5.2.
 */
static const int8_t perf_to_dwarf_32[] = {0, 3, 1, 2, 6, 7, 5, 4, -1};

enum { EBP = 5, ESP = 4, EIP = 8 };

static uint64_t strip_32(uint64_t ip)
{
	return (uint32_t)ip;
}

static uint64_t call_target_32(const struct code *code, uint64_t ip)
{
	return (uint32_t)call_target(code, ip);
}

static int ra_hint_32(const struct code *code)
{
	if (starts(code, "\xf3\x0f\x1e\xfb", 4) || /* endbr32 */
	    starts(code, "\x55", 1) ||             /* push %ebp */
	    starts(code, "\x83\xec", 2) ||         /* sub $imm8,%esp */
	    starts(code, "\x81\xec", 2) ||         /* sub $imm32,%esp */
	    starts(code, "\xc3", 1) ||             /* ret */
	    starts(code, "\xf3\xc3", 2) ||         /* rep ret */
	    starts(code, "\xc2", 1))               /* ret imm16 */
		return 0;
	if (starts(code, "\x89\xe5", 2) || starts(code, "\x8b\xec", 2)) /* mov %esp,%ebp */
		return 4;
	return REGS_NO_HINT;
}

/* The C libraries' own code for it has rules; the vdso's file is not here. */
static bool is_sigreturn_32(const struct code *code UNUSED)
{
	return false;
}

const struct regs_machine regs_i386 = {
        .elf_machine = EM_386,
        .word = 4,
        .sp = ESP,
        .fp = EBP,
        .ra = EIP,
        .ra_on_stack = true,
        .perf_to_dwarf = perf_to_dwarf_32,
        .nr_perf = ARRAY_SIZE(perf_to_dwarf_32),
        .perf_pc = PERF_IP,
        .strip = strip_32,
        .after_call = after_call,
        .call_target = call_target_32,
        .ra_hint = ra_hint_32,
        .is_sigreturn = is_sigreturn_32,
};

const struct regs_machine regs_x86_64 = {
        .elf_machine = EM_X86_64,
        .word = 8,
        .sp = RSP,
        .fp = RBP,
        .ra = RIP,
        .ra_on_stack = true,
        .perf_to_dwarf = perf_to_dwarf,
        .nr_perf = ARRAY_SIZE(perf_to_dwarf),
        .perf_pc = PERF_IP,
        .strip = strip,
        .after_call = after_call,
        .call_target = call_target,
        .ra_hint = ra_hint,
        .is_sigreturn = is_sigreturn,
        .sigframe = sigframe,
};
