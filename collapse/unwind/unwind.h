/*
 * unwind.h - registers and a copy of the stack to the addresses of all frames.
 *
 * Decides how one frame leads to the next, and for which reason a walk ends.
 * Yields addresses and knows no names. Rules come from the call frame
 * information of the modules (cfi.h); where there is none, guarded guesses
 * take over (frame pointer, a JIT's trampoline, a scan of the stack), unless
 * strict, and each frame found so is counted.
 *
 * Shared by all threads: struct unwind_rules (the modules' tables, read
 * mostly, filled on first touch under a lock). One per thread: struct
 * unwinder (caches and counters; no locks, no allocation per frame).
 *
 * The walk never reads outside the copy, and ends after UNWIND_DEPTH_MAX
 * frames, whatever the registers, the stack and the rules say.
 */
#ifndef COLLAPSE_UNWIND_H
#define COLLAPSE_UNWIND_H

#include "collapse/names/module.h"
#include "share/compat.h"

#define UNWIND_DEPTH_MAX 4096

struct cfi_rule;

/* One mapping of a process. */
struct unwind_map {
	uint64_t start, end; /* runtime addresses, end is past the last byte */
	uint64_t pgoff;      /* off = ip - start + pgoff; start itself where off is the ip */
	struct module *module;
	bool executable; /* false for data maps (MMAP records with misc bit 0x2000) */
};

/* PERF_SAMPLE_REGS_USER and PERF_SAMPLE_STACK_USER of one sample (perf_event_open(2)). */
struct unwind_sample {
	uint16_t machine;       /* EM_X86_64, EM_386 or EM_AARCH64 of the recording (elf.h) */
	uint64_t regs_abi;      /* 0 none, 1 32-bit, 2 64-bit */
	uint64_t regs_mask;     /* attr.sample_regs_user */
	const uint64_t *regs;   /* one per set bit of the mask, lowest first; any alignment */
	const uint8_t *stack;   /* copied from the user stack pointer upwards; any alignment */
	uint64_t stack_size;    /* bytes of it that are real: dyn_size */
	uint64_t stack_request; /* bytes in the record (size); above dyn_size where the kernel
	                           met the end of the stack: then nothing was cut */

	/*
	 * The mapping that holds ip in the process and at the time of the
	 * sample, executable or not; false where nothing is mapped. Called by
	 * unwind() on its own thread, a few times per sample.
	 */
	bool (*find)(void *ctx, uint64_t ip, struct unwind_map *map);

	/*
	 * The rule for code made at run time (of a MODULE_JIT), or NULL; ip is one
	 * less for return addresses. NULL where nobody knows any.
	 */
	const struct cfi_rule *(*rule)(void *ctx, uint64_t ip);
	void *ctx;
};

struct unwind_frame {
	uint64_t ip;
	struct module *module; /* NULL where nothing is mapped there */
	uint64_t off;          /* in the module; ip where module is NULL */
	bool is_return;        /* a return address: belongs to the call before it */
};

/* Why a walk ended; kept in this order by counters and reports. */
enum unwind_end {
	UNWIND_BOTTOM,      /* the outermost frame: whole */
	UNWIND_CUT,         /* the next value lies above the copy: record more stack */
	UNWIND_NO_REGS,     /* no user registers, or of a machine that is not known here */
	UNWIND_NO_MODULE,   /* nothing executable is mapped at the address */
	UNWIND_NO_FILE,     /* the module's file is not here, so its rules are unknown */
	UNWIND_NO_RULE,     /* the module has no rule for the address */
	UNWIND_UNREADABLE,  /* the next value is outside of the stack */
	UNWIND_NO_PROGRESS, /* the rules lead back to where the walk has been */
	UNWIND_TOO_DEEP,    /* more frames than asked for */
	UNWIND_NR_ENDS,
};

/* How a frame was found. */
enum unwind_step {
	UNWIND_BY_SAMPLE, /* the sampled registers */
	UNWIND_BY_RULE,
	UNWIND_BY_FRAME_POINTER,
	UNWIND_BY_TRAMPOLINE, /* a return address of generated code at a known place */
	UNWIND_BY_SCAN,
	UNWIND_NR_STEPS,
};

/* "bottom reached", "stack copy exhausted", ...: for people. */
const char *unwind_end_text(enum unwind_end end);
const char *unwind_step_text(enum unwind_step step);

struct unwind_counts {
	uint64_t ends[UNWIND_NR_ENDS];   /* walks that ended so */
	uint64_t steps[UNWIND_NR_STEPS]; /* frames found so */
};

/* How one walk went. */
struct unwind_result {
	enum unwind_end end;
	const struct module *module; /* of the last frame, or NULL */
	uint32_t steps[UNWIND_NR_STEPS];
};

struct unwind_options {
	bool strict; /* call frame information only, no guesses */
};

struct unwind_rules;
struct unwinder;

/* modules is borrowed and must outlive the rules. */
struct unwind_rules *unwind_rules_new(struct modules *modules,
                                      const struct unwind_options *options);
void unwind_rules_free(struct unwind_rules *rules);

struct unwinder *unwinder_new(struct unwind_rules *rules);
void unwinder_free(struct unwinder *unwinder);

/*
 * Writes the frames, innermost first, and returns their number (at most max;
 * at least 1 unless the end is UNWIND_NO_REGS). The sampled instruction is the
 * first, with is_return false; so is an instruction that a signal interrupted.
 * Counts nothing.
 */
size_t unwind(struct unwinder *unwinder, const struct unwind_sample *sample,
              struct unwind_frame *out, size_t max, struct unwind_result *result);

/* Adds a walk, of this unwinder or of another, to the counts of this one. */
void unwinder_count(struct unwinder *unwinder, const struct unwind_result *result);

/* A stack is whole, or its outermost frames are missing ("[truncated]"). */
static inline bool unwind_is_whole(enum unwind_end end)
{
	return end == UNWIND_BOTTOM;
}

/* What was counted, and of that by module of the last frame (zeros where none). */
const struct unwind_counts *unwinder_totals(const struct unwinder *unwinder);
struct unwind_counts unwinder_module_counts(const struct unwinder *unwinder,
                                            const struct module *module);

#endif
