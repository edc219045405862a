/*
 * walk.h - one sample on its way down the stack: what unwind.c, which walks by
 * rules, and guess.c, which leaves code that has none, share. For these two
 * alone.
 */
#ifndef COLLAPSE_WALK_H
#define COLLAPSE_WALK_H

#include "collapse/unwind/cfi.h"
#include "collapse/unwind/regs.h"
#include "collapse/unwind/unwind.h"
#include "share/compat.h"

#define WALK_NR_RECENT 4 /* maps that a sample came by last */

struct walk {
	struct unwinder *unwinder;
	const struct unwind_sample *sample;
	const struct regs_machine *machine;
	struct stack_copy stack;
	struct regs regs;

	/* the frame that is being left */
	uint64_t ip;
	bool exact; /* interrupted at ip, rather than calling from before it */
	struct unwind_map map;
	uint64_t off;

	struct unwind_map recent[WALK_NR_RECENT];
	unsigned nr_recent, next_recent;
	struct unwind_result *result;
};

/* How an attempt at a step went; values below UNWIND_NR_ENDS end the walk. */
enum {
	STEP_TAKEN = UNWIND_NR_ENDS,
	STEP_REFUSED, /* this way of guessing does not apply */
};

/* The mapping that holds ip, or NULL. Valid until the next call. */
const struct unwind_map *walk_map(struct walk *walk, uint64_t ip);

/* The module's tables, opened when first asked for; NULL where it has no usable file. */
struct cfi *walk_cfi(struct walk *walk, struct module *module);

/* The rule for a place in a module, or NULL. off: one less for return addresses. */
const struct cfi_rule *walk_rule(struct walk *walk, struct module *module, uint64_t off);

/* Why the value at an address outside of the copy is not to be had. */
enum unwind_end walk_end_of_memory(const struct walk *walk, uint64_t address);

/* Machine code at ip of a map, all NULL where the file is not known. */
struct code guess_code(struct walk *walk, const struct unwind_map *map, uint64_t ip);

/* Is walk->ip no place that a call returns to, as far as its code is known? */
bool guess_is_uncalled(struct walk *walk);

/*
 * A step out of code that no rule describes; STEP_REFUSED where nothing can be
 * believed.
 */
int guess_step(struct walk *walk);

/* The same for a place where nothing is mapped. */
int guess_unmapped(struct walk *walk);

#endif
