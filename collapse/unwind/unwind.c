#include "share/compat.h"
#include "collapse/unwind/unwind.h"

#include "collapse/unwind/cfi_expr.h"
#include "collapse/unwind/walk.h"
#include "share/mem.h"

#include <elf.h>

/* What lies this far above the copy is taken for the same stack, cut off. */
#define STACK_REACH ((uint64_t)64 << 20)

#define CACHE_BITS 14

struct unwind_rules {
	struct modules *modules;
	struct unwind_options options;
};

/* The rule for one place in code, NULL for none. */
struct cached {
	const struct module *module;
	uint64_t key; /* of the offset and the machine */
	const struct cfi_rule *rule;
};

/* What this thread knows of a module, by its id. */
struct module_state {
	struct cfi *cfi;
	bool tried;
	struct unwind_counts counts;
};

struct unwinder {
	struct unwind_rules *rules;
	struct module_state *states;
	size_t nr_states;
	struct unwind_counts totals;
	struct cached cache[1 << CACHE_BITS];
};

const char *unwind_end_text(enum unwind_end end)
{
	static const char *const texts[UNWIND_NR_ENDS] = {
	        [UNWIND_BOTTOM] = "bottom reached",
	        [UNWIND_CUT] = "stack copy exhausted",
	        [UNWIND_NO_REGS] = "no registers that are understood",
	        [UNWIND_NO_MODULE] = "no module",
	        [UNWIND_NO_FILE] = "no file for the module",
	        [UNWIND_NO_RULE] = "no rule",
	        [UNWIND_UNREADABLE] = "unreadable memory",
	        [UNWIND_NO_PROGRESS] = "not progressing",
	        [UNWIND_TOO_DEEP] = "depth limit",
	};

	return texts[end];
}

const char *unwind_step_text(enum unwind_step step)
{
	static const char *const texts[UNWIND_NR_STEPS] = {
	        [UNWIND_BY_SAMPLE] = "the sampled registers",
	        [UNWIND_BY_RULE] = "call frame information",
	        [UNWIND_BY_FRAME_POINTER] = "frame pointer",
	        [UNWIND_BY_TRAMPOLINE] = "known frame layout",
	        [UNWIND_BY_SCAN] = "stack scan",
	};

	return texts[step];
}

struct unwind_rules *unwind_rules_new(struct modules *modules, const struct unwind_options *options)
{
	struct unwind_rules *rules = mem_zalloc(sizeof(*rules));

	rules->modules = modules;
	rules->options = *options;
	return rules;
}

void unwind_rules_free(struct unwind_rules *rules)
{
	if (!rules)
		return;
	for (size_t id = 0; id < modules_nr(rules->modules); id++) {
		struct module *module = modules_at(rules->modules, id);

		cfi_free(module->cfi);
		module->cfi = NULL;
		module->cfi_tried = false;
	}
	free(rules);
}

struct unwinder *unwinder_new(struct unwind_rules *rules)
{
	struct unwinder *unwinder = mem_zalloc(sizeof(*unwinder));

	unwinder->rules = rules;
	return unwinder;
}

void unwinder_free(struct unwinder *unwinder)
{
	if (!unwinder)
		return;
	free(unwinder->states);
	free(unwinder);
}

static struct module_state *state_of(struct unwinder *unwinder, const struct module *module)
{
	if (UNLIKELY(module->id >= unwinder->nr_states)) {
		size_t nr = (size_t)module->id * 2 + 16, old = unwinder->nr_states;

		unwinder->states = mem_resize(unwinder->states, nr, sizeof(*unwinder->states));
		memset(unwinder->states + old, 0, (nr - old) * sizeof(*unwinder->states));
		unwinder->nr_states = nr;
	}
	return &unwinder->states[module->id];
}

/* 32-bit tasks have a vdso of their own, by the same name, which is not here. */
static struct cfi *of_machine(const struct walk *walk, struct cfi *cfi)
{
	return cfi && cfi_machine(cfi) == walk->machine->elf_machine ? cfi : NULL;
}

struct cfi *walk_cfi(struct walk *walk, struct module *module)
{
	struct unwinder *unwinder = walk->unwinder;
	struct unwind_rules *rules = unwinder->rules;
	struct module_state *state = state_of(unwinder, module);

	if (state->tried)
		return of_machine(walk, state->cfi);
	modules_lock();
	if (!module->cfi_tried) {
		struct elffile *file = module_elf(rules->modules, module);

		module->cfi_tried = true;
		if (file)
			module->cfi = cfi_new(file);
	}
	state->cfi = module->cfi;
	state->tried = true;
	modules_unlock();
	return of_machine(walk, state->cfi);
}

const struct cfi_rule *walk_rule(struct walk *walk, struct module *module, uint64_t off)
{
	struct unwinder *unwinder = walk->unwinder;
	/* no offset has bits so high */
	uint64_t key = off ^ (uint64_t)walk->machine->word << 60;
	uint64_t hash = (key + ((uint64_t)module->id << 40)) * 0x9e3779b97f4a7c15;
	struct cached *cached = &unwinder->cache[hash >> (64 - CACHE_BITS)];
	uint64_t vaddr;
	struct cfi *cfi;

	if (LIKELY(cached->key == key && cached->module == module))
		return cached->rule;
	cached->module = module;
	cached->key = key;
	cached->rule = NULL;
	cfi = walk_cfi(walk, module);
	if (cfi && cfi_vaddr(cfi, off, &vaddr))
		cached->rule = cfi_rule_at(cfi, vaddr);
	if (cached->rule && cached->rule->cfa.kind == CFI_UNDEFINED)
		cached->rule = NULL;
	return cached->rule;
}

static const struct cfi_rule *jit_rule(const struct walk *walk, uint64_t ip)
{
	const struct unwind_sample *sample = walk->sample;
	const struct cfi_rule *rule = sample->rule ? sample->rule(sample->ctx, ip) : NULL;

	return rule && rule->cfa.kind != CFI_UNDEFINED ? rule : NULL;
}

const struct unwind_map *walk_map(struct walk *walk, uint64_t ip)
{
	struct unwind_map *map;

	for (unsigned i = 0; i < walk->nr_recent; i++)
		if (ip >= walk->recent[i].start && ip < walk->recent[i].end)
			return &walk->recent[i];
	map = &walk->recent[walk->next_recent];
	if (!walk->sample->find(walk->sample->ctx, ip, map)) {
		/* what was there before is gone from the slot: keep it unmatched */
		*map = (struct unwind_map){0};
		return NULL;
	}
	walk->next_recent = (walk->next_recent + 1) % WALK_NR_RECENT;
	walk->nr_recent = MIN_OF(walk->nr_recent + 1, (unsigned)WALK_NR_RECENT);
	return map;
}

enum unwind_end walk_end_of_memory(const struct walk *walk, uint64_t address)
{
	uint64_t above = address - walk->stack.start - walk->stack.size;

	if (walk->sample->stack_size >= walk->sample->stack_request && above < STACK_REACH)
		return UNWIND_CUT;
	return UNWIND_UNREADABLE;
}

static bool expr_value(const struct walk *walk, const struct cfi_rule *rule,
                       const struct cfi_place *place, const uint64_t *cfa, uint64_t *value,
                       uint64_t *missing)
{
	return cfi_expr_eval(rule->section + (uint32_t)place->n, place->expr_size, &walk->regs,
	                     &walk->stack, cfa, value, missing);
}

/* The caller's value; false where it cannot be had, *missing as of cfi_expr_eval(). */
static bool place_value(const struct walk *walk, const struct cfi_rule *rule,
                        const struct cfi_place *place, uint64_t cfa, uint64_t *value,
                        uint64_t *missing)
{
	uint64_t address = cfa + (uint64_t)(int64_t)place->n;

	*missing = 0;
	switch (place->kind) {
	case CFI_IS_CFA:
		*value = address;
		return true;
	case CFI_REGISTER:
		if (!regs_know(&walk->regs, (unsigned)place->n))
			return false;
		*value = walk->regs.value[place->n];
		return true;
	case CFI_IS_EXPR:
		return expr_value(walk, rule, place, &cfa, value, missing);
	case CFI_AT_EXPR:
		if (!expr_value(walk, rule, place, &cfa, &address, missing))
			return false;
		/* fall through */
	case CFI_AT_CFA:
		*missing = address;
		return stack_read(&walk->stack, address, value);
	default:
		return false;
	}
}

/*
 * Compilers do not tell when an epilogue takes a register back from the stack.
 * What lies below the stack pointer has been taken back: the register has its
 * caller's value already.
 */
static bool is_popped(uint64_t slot, uint64_t sp)
{
	return slot < sp && sp - slot <= STACK_REACH;
}

static int step_by_rule(struct walk *walk, const struct cfi_rule *rule)
{
	const struct regs_machine *machine = walk->machine;
	struct regs *regs = &walk->regs;
	uint64_t sp = regs->value[machine->sp], cfa, ra, missing = 0;

	if (machine->ra_on_stack)
		regs_set(regs, machine->ra, walk->ip);
	if (rule->cfa.kind == CFI_IS_CFA) {
		if (UNLIKELY(!regs_know(regs, rule->cfa.reg)))
			return UNWIND_UNREADABLE;
		cfa = regs->value[rule->cfa.reg] + (uint64_t)(int64_t)rule->cfa.n;
	} else if (!expr_value(walk, rule, &rule->cfa, NULL, &cfa, &missing)) {
		return missing ? (int)walk_end_of_memory(walk, missing) : UNWIND_UNREADABLE;
	}
	if (UNLIKELY(machine->word == 4))
		cfa = (uint32_t)cfa;
	if (rule->ra.kind == CFI_UNDEFINED)
		return UNWIND_BOTTOM;
	/* only a leaf may have nothing on the stack; only a change of stacks goes down */
	if (rule->is_simple && UNLIKELY(cfa < sp || (cfa == sp && !walk->exact)))
		return UNWIND_NO_PROGRESS;
	if (rule->ra.kind == CFI_SAME) {
		if (!walk->exact || machine->ra_on_stack)
			return UNWIND_NO_PROGRESS;
		ra = regs->value[machine->ra];
	} else if (UNLIKELY(!place_value(walk, rule, &rule->ra, cfa, &ra, &missing))) {
		return missing ? (int)walk_end_of_memory(walk, missing) : UNWIND_UNREADABLE;
	}
	if (LIKELY(rule->is_simple && machine->word == 8)) {
		for (unsigned i = 0; i < rule->nr_places; i++) {
			const struct cfi_place *place = &rule->places[i];
			uint64_t slot = cfa + (uint64_t)(int64_t)place->n;

			if (LIKELY(stack_read(&walk->stack, slot, &regs->value[place->reg])))
				regs->known |= (uint64_t)1 << place->reg;
			else if (!is_popped(slot, sp))
				regs->known &= ~((uint64_t)1 << place->reg);
		}
		regs_set(regs, machine->sp, cfa);
	} else {
		struct regs next = *regs;

		regs_set(&next, machine->sp, cfa);
		for (unsigned i = 0; i < rule->nr_places; i++) {
			const struct cfi_place *place = &rule->places[i];
			uint64_t value;

			if (place_value(walk, rule, place, cfa, &value, &missing))
				regs_set(&next, place->reg, value);
			else if (place->kind != CFI_AT_CFA || !is_popped(missing, sp))
				next.known &= ~((uint64_t)1 << place->reg);
		}
		*regs = next;
		if (!regs_know(regs, machine->sp))
			return UNWIND_UNREADABLE;
	}
	if (!machine->ra_on_stack)
		regs_set(regs, machine->ra, ra);
	if (rule->is_signed || !machine->ra_on_stack)
		ra = machine->strip(ra);
	walk->ip = ra;
	walk->exact = rule->is_signal;
	return ra == 0 ? (int)UNWIND_BOTTOM : STEP_TAKEN;
}

static int step(struct walk *walk)
{
	struct unwinder *unwinder = walk->unwinder;
	struct module *module = walk->map.module;
	bool strict = unwinder->rules->options.strict;
	const struct cfi_rule *rule;
	int result;

	if (!module) {
		/* a call through a bad pointer: the caller is known all the same */
		result = strict ? (int)STEP_REFUSED : guess_unmapped(walk);
		return result == STEP_REFUSED ? (int)UNWIND_NO_MODULE : result;
	}
	rule = UNLIKELY(module->key.kind == MODULE_JIT) ?
	               jit_rule(walk, walk->ip - !walk->exact) :
	               walk_rule(walk, module, walk->off - !walk->exact);
	if (LIKELY(rule)) {
		result = step_by_rule(walk, rule);
		walk->result->steps[UNWIND_BY_RULE] += result == STEP_TAKEN;
		return result;
	}
	result = strict ? (int)STEP_REFUSED : guess_step(walk);
	if (result != STEP_REFUSED)
		return result;
	return module->key.kind == MODULE_JIT || walk_cfi(walk, module) ? UNWIND_NO_RULE :
	                                                                  UNWIND_NO_FILE;
}

/* Finds what is mapped at walk->ip; false where it is no code. */
static bool locate(struct walk *walk)
{
	const struct unwind_map *map = walk_map(walk, walk->ip - !walk->exact);

	if (!map || !map->executable || !map->module)
		return false;
	walk->map = *map;
	walk->off = walk->ip - map->start + map->pgoff;
	return true;
}

/*
 * Is the frame that was reached the outermost, though no rule says so? The code
 * that the kernel starts has no caller; nor has code to which no call leads:
 * somebody wrote its address at the bottom of a new stack (makecontext, fibers,
 * goroutines).
 */
static bool is_outermost(struct walk *walk)
{
	struct cfi *cfi = walk->map.module ? walk_cfi(walk, walk->map.module) : NULL;
	uint64_t vaddr;

	return cfi && ((cfi_vaddr(cfi, walk->off, &vaddr) && cfi_is_entry(cfi, vaddr)) ||
	               guess_is_uncalled(walk));
}

void unwinder_count(struct unwinder *unwinder, const struct unwind_result *result)
{
	struct unwind_counts *counts[] = {&unwinder->totals, NULL};

	if (result->module)
		counts[1] = &state_of(unwinder, result->module)->counts;
	for (size_t i = 0; i < ARRAY_SIZE(counts) && counts[i]; i++) {
		for (unsigned step = 0; step < UNWIND_NR_STEPS; step++)
			counts[i]->steps[step] += result->steps[step];
		counts[i]->ends[result->end]++;
	}
}

size_t unwind(struct unwinder *unwinder, const struct unwind_sample *sample,
              struct unwind_frame *out, size_t max, struct unwind_result *result)
{
	struct walk walk;
	enum unwind_end end;
	size_t nr = 0;
	int taken;

	*result = (struct unwind_result){.end = UNWIND_NO_REGS};
	walk.unwinder = unwinder;
	walk.sample = sample;
	walk.result = result;
	walk.machine = regs_machine_of(sample->machine, sample->regs_abi);
	walk.map = (struct unwind_map){0};
	walk.nr_recent = walk.next_recent = 0;
	walk.exact = true;
	if (!walk.machine ||
	    !regs_load(walk.machine, &walk.regs, sample->regs_mask, sample->regs, &walk.ip))
		return 0;
	walk.stack = (struct stack_copy){sample->stack, walk.regs.value[walk.machine->sp],
	                                 sample->stack_size, walk.machine->word};
	result->steps[UNWIND_BY_SAMPLE]++;
	max = MIN_OF(max, (size_t)UNWIND_DEPTH_MAX);
	for (;;) {
		if (nr == max) {
			taken = UNWIND_TOO_DEEP;
			break;
		}
		if (LIKELY(locate(&walk))) {
			out[nr++] = (struct unwind_frame){walk.ip, walk.map.module, walk.off,
			                                  !walk.exact};
		} else if (nr == 0) {
			out[nr++] = (struct unwind_frame){.ip = walk.ip, .off = walk.ip};
		} else {
			taken = UNWIND_NO_MODULE;
			break;
		}
		taken = step(&walk);
		if (UNLIKELY(taken != STEP_TAKEN))
			break;
		/* control came to a signal's trampoline by no call */
		if (walk.exact)
			out[nr - 1].is_return = false;
	}
	end = (enum unwind_end)taken;
	if ((end == UNWIND_NO_MODULE || end == UNWIND_UNREADABLE || end == UNWIND_NO_RULE) &&
	    is_outermost(&walk))
		end = UNWIND_BOTTOM;
	if (end == UNWIND_BOTTOM && guess_is_uncalled(&walk))
		out[nr - 1].is_return = false;
	result->end = end;
	result->module = walk.map.module;
	return nr;
}

const struct unwind_counts *unwinder_totals(const struct unwinder *unwinder)
{
	return &unwinder->totals;
}

struct unwind_counts unwinder_module_counts(const struct unwinder *unwinder,
                                            const struct module *module)
{
	if (module->id >= unwinder->nr_states)
		return (struct unwind_counts){0};
	return unwinder->states[module->id].counts;
}
