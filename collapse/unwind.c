#include "share/compat.h"
#include "collapse/unwind.h"

#include "collapse/cfi.h"
#include "collapse/cfi_expr.h"
#include "collapse/regs.h"
#include "share/mem.h"

#include <elf.h>
#include <pthread.h>

/* What lies this far above the copy is taken for the same stack, cut off. */
#define STACK_REACH ((uint64_t)64 << 20)

/*
 * Bytes of stack in which a scan looks for a return address: of the call that
 * led here, and of any call. No program is mapped below SCAN_LOWEST
 * (mmap_min_addr).
 */
#define SCAN_SIZE     4096
#define SCAN_SIZE_ANY 1024
#define SCAN_LOWEST   65536

/* No stub or assembler function without rules is taken for longer. */
#define FUNCTION_REACH 4096

#define CACHE_BITS  14
#define NR_RECENT   4 /* maps that a sample came by last */
#define REGS_ABI_64 2 /* PERF_SAMPLE_REGS_ABI_64 */

struct unwind_rules {
	struct modules *modules;
	struct unwind_options options;
	pthread_mutex_t lock; /* guards opening: module_elf(), module->cfi */
};

/* The rule for one place in code, NULL for none. */
struct cached {
	const struct module *module;
	uint64_t off;
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

/* One sample on its way down. */
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

	struct unwind_map recent[NR_RECENT];
	unsigned nr_recent, next_recent;
	uint32_t steps[UNWIND_NR_STEPS];
};

/* How an attempt at a step went; values below UNWIND_NR_ENDS end the walk. */
enum {
	STEP_TAKEN = UNWIND_NR_ENDS,
	STEP_REFUSED, /* this way of guessing does not apply */
};

const char *unwind_end_text(enum unwind_end end)
{
	static const char *const texts[UNWIND_NR_ENDS] = {
	        [UNWIND_BOTTOM] = "bottom reached",
	        [UNWIND_CUT] = "stack copy exhausted",
	        [UNWIND_NO_REGS] = "no 64-bit registers",
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
	pthread_mutex_init(&rules->lock, NULL);
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
	pthread_mutex_destroy(&rules->lock);
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

static struct cfi *cfi_of(struct unwinder *unwinder, struct module *module)
{
	struct unwind_rules *rules = unwinder->rules;
	struct module_state *state = state_of(unwinder, module);

	if (state->tried)
		return state->cfi;
	pthread_mutex_lock(&rules->lock);
	if (!module->cfi_tried) {
		struct elffile *file = module_elf(rules->modules, module);

		module->cfi_tried = true;
		if (file)
			module->cfi = cfi_new(file);
	}
	state->cfi = module->cfi;
	state->tried = true;
	pthread_mutex_unlock(&rules->lock);
	return state->cfi;
}

/* off: the place to look up, already one less for return addresses */
static const struct cfi_rule *rule_of(struct unwinder *unwinder, struct module *module,
                                      uint64_t off)
{
	uint64_t hash = (off + ((uint64_t)module->id << 40)) * 0x9e3779b97f4a7c15;
	struct cached *cached = &unwinder->cache[hash >> (64 - CACHE_BITS)];
	uint64_t vaddr;
	struct cfi *cfi;

	if (LIKELY(cached->off == off && cached->module == module))
		return cached->rule;
	cached->module = module;
	cached->off = off;
	cached->rule = NULL;
	cfi = cfi_of(unwinder, module);
	if (cfi && cfi_vaddr(cfi, off, &vaddr))
		cached->rule = cfi_rule_at(cfi, vaddr);
	if (cached->rule && cached->rule->cfa.kind == CFI_UNDEFINED)
		cached->rule = NULL;
	return cached->rule;
}

static const struct unwind_map *find_map(struct walk *walk, uint64_t ip)
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
	walk->next_recent = (walk->next_recent + 1) % NR_RECENT;
	walk->nr_recent = MIN_OF(walk->nr_recent + 1, (unsigned)NR_RECENT);
	return map;
}

/* Machine code at ip of a map, all NULL where the file is not known. */
static struct code code_of(struct walk *walk, const struct unwind_map *map, uint64_t ip)
{
	struct cfi *cfi;

	if (!map->module || map->module->key.kind == MODULE_JIT ||
	    map->module->key.kind == MODULE_UNKNOWN)
		return (struct code){0};
	cfi = cfi_of(walk->unwinder, map->module);
	return cfi ? cfi_code(cfi, ip - map->start + map->pgoff) : (struct code){0};
}

/* The code that ends at a return address, and its map; at is NULL where it is not known. */
static struct code code_before(struct walk *walk, uint64_t ip, const struct unwind_map **map)
{
	struct code code = {0};

	*map = find_map(walk, ip - 1);
	if (*map && (*map)->executable && (*map)->module)
		code = code_of(walk, *map, ip - 1);
	else
		*map = NULL;
	/* the call is what must be inside of the segment */
	if (code.at)
		code.at++;
	return code;
}

enum belief {
	BELIEVE_MAPPED, /* code is mapped there, and where its bytes are known, a call ends there */
	BELIEVE_CALLED, /* the bytes are known, and a call ends there */
};

/* Could ip be a return address? */
static bool is_return_address(struct walk *walk, uint64_t ip, enum belief belief)
{
	const struct unwind_map *map;
	struct code code = code_before(walk, ip, &map);

	if (!map)
		return false;
	if (!code.at)
		return belief == BELIEVE_MAPPED && (map->module->key.kind == MODULE_JIT ||
		                                    !cfi_of(walk->unwinder, map->module));
	return walk->machine->after_call(&code);
}

/* Why the value at an address outside of the copy is not to be had. */
static enum unwind_end end_of_memory(const struct walk *walk, uint64_t address)
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
		return missing ? (int)end_of_memory(walk, missing) : UNWIND_UNREADABLE;
	}
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
		return missing ? (int)end_of_memory(walk, missing) : UNWIND_UNREADABLE;
	}
	if (LIKELY(rule->is_simple)) {
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

/* To a caller at ip whose stack pointer is sp. */
static int take(struct walk *walk, uint64_t ip, uint64_t sp, enum unwind_step step)
{
	regs_set(&walk->regs, walk->machine->sp, sp);
	walk->ip = ip;
	walk->exact = false;
	walk->steps[step]++;
	return STEP_TAKEN;
}

/* A pushed return address at sp + n. */
static int guess_at(struct walk *walk, uint64_t n, enum belief belief, enum unwind_step step)
{
	uint64_t address = walk->regs.value[walk->machine->sp] + n, ip;

	if (!stack_read(&walk->stack, address, &ip) ||
	    !is_return_address(walk, walk->machine->strip(ip), belief))
		return STEP_REFUSED;
	return take(walk, walk->machine->strip(ip), address + 8, step);
}

/* Both machines keep the caller's frame pointer and return address side by side. */
static int guess_by_frame_pointer(struct walk *walk)
{
	const struct regs_machine *machine = walk->machine;
	struct regs *regs = &walk->regs;
	uint64_t fp = regs->value[machine->fp], sp = regs->value[machine->sp], next, ip;

	if (!regs_know(regs, machine->fp) || fp % 8 != 0 || fp < sp)
		return STEP_REFUSED;
	if (!stack_read(&walk->stack, fp, &next) || !stack_read(&walk->stack, fp + 8, &ip))
		return end_of_memory(walk, fp + 8) == UNWIND_CUT ? UNWIND_CUT : STEP_REFUSED;
	ip = machine->strip(ip);
	if ((next != 0 && next <= fp) || !is_return_address(walk, ip, BELIEVE_MAPPED))
		return STEP_REFUSED;
	regs_set(regs, machine->fp, next);
	return take(walk, ip, fp + 16, UNWIND_BY_FRAME_POINTER);
}

/* The address at which a function that has touched nothing yet will return. */
static bool untouched_return(const struct walk *walk, uint64_t *ip, uint64_t *sp)
{
	const struct regs_machine *machine = walk->machine;

	*sp = walk->regs.value[machine->sp];
	if (machine->ra_on_stack) {
		*sp += 8;
		return walk->exact && stack_read(&walk->stack, *sp - 8, ip);
	}
	*ip = machine->strip(walk->regs.value[machine->ra]);
	return walk->exact && regs_know(&walk->regs, machine->ra);
}

static int guess_by_call(struct walk *walk)
{
	uint64_t ip, sp;

	if (!untouched_return(walk, &ip, &sp) || !is_return_address(walk, ip, BELIEVE_CALLED))
		return STEP_REFUSED;
	return take(walk, ip, sp, UNWIND_BY_TRAMPOLINE);
}

/*
 * The same where it is sure: the call leads to just before the place at hand,
 * or the link register is not from a call of this function's own, since it
 * points into a function with rules.
 */
static int guess_by_sure_call(struct walk *walk)
{
	const struct unwind_map *map;
	uint64_t ip, sp, target;
	bool has_rule, is_near;
	struct code code;

	if (!untouched_return(walk, &ip, &sp))
		return STEP_REFUSED;
	code = code_before(walk, ip, &map);
	if (!code.at)
		return STEP_REFUSED;
	has_rule = rule_of(walk->unwinder, map->module, ip - map->start + map->pgoff - 1) != NULL;
	target = walk->machine->call_target(&code, ip);
	is_near = target && walk->ip - target < FUNCTION_REACH &&
	          (has_rule || ip - target >= FUNCTION_REACH);
	if (!is_near &&
	    (walk->machine->ra_on_stack || !has_rule || !walk->machine->after_call(&code)))
		return STEP_REFUSED;
	return take(walk, ip, sp, UNWIND_BY_TRAMPOLINE);
}

/*
 * Return addresses of calls long over lie about in a stack. The one whose call
 * leads to the nearest place before the function's code at hand is its own;
 * else the lowest that any call left, if it is not far up.
 */
static int guess_by_scan(struct walk *walk)
{
	uint64_t sp = walk->regs.value[walk->machine->sp], first = 0, best = 0, nearest = 0, ip;

	for (uint64_t n = 0; n < SCAN_SIZE; n += 8) {
		const struct unwind_map *map;
		struct code code;
		uint64_t target;

		if (!stack_read(&walk->stack, sp + n, &ip))
			break;
		ip = walk->machine->strip(ip);
		if (ip < SCAN_LOWEST)
			continue;
		code = code_before(walk, ip, &map);
		if (!code.at || !walk->machine->after_call(&code))
			continue;
		if (!first && n < SCAN_SIZE_ANY)
			first = sp + n + 8;
		target = walk->machine->call_target(&code, ip);
		if (target > nearest && walk->ip - target < FUNCTION_REACH) {
			nearest = target;
			best = sp + n + 8;
		}
	}
	if (!best)
		best = first;
	if (!best || !stack_read(&walk->stack, best - 8, &ip))
		return STEP_REFUSED;
	return take(walk, walk->machine->strip(ip), best, UNWIND_BY_SCAN);
}

/* A step out of code that no rule describes. */
static int step_by_guess(struct walk *walk)
{
	const struct regs_machine *machine = walk->machine;
	struct code code = code_of(walk, &walk->map, walk->ip);
	bool is_jit = walk->map.module && walk->map.module->key.kind == MODULE_JIT;
	int hint, result;

	if (code.at && machine->is_sigreturn(&code)) {
		if (!machine->sigframe(&walk->regs, &walk->stack, &walk->ip))
			return UNWIND_UNREADABLE;
		walk->exact = true;
		walk->steps[UNWIND_BY_TRAMPOLINE]++;
		return STEP_TAKEN;
	}
	if (walk->exact && code.at) {
		hint = machine->ra_hint(&code);
		if (hint != REGS_NO_HINT) {
			result = guess_at(walk, (uint64_t)hint, BELIEVE_CALLED,
			                  UNWIND_BY_TRAMPOLINE);
			if (result != STEP_REFUSED)
				return result;
		}
	}
	result = guess_by_sure_call(walk);
	if (result != STEP_REFUSED)
		return result;
	/*
	 * An interpreter's trampoline (CPython's perf support) lowers the stack
	 * by a word and calls: the return address is above that word.
	 */
	if (is_jit && !walk->exact && machine->ra_on_stack) {
		result = guess_at(walk, 8, BELIEVE_CALLED, UNWIND_BY_TRAMPOLINE);
		if (result != STEP_REFUSED)
			return result;
	}
	result = guess_by_frame_pointer(walk);
	if (result == STEP_REFUSED)
		result = guess_by_call(walk);
	if (result == STEP_REFUSED)
		result = guess_by_scan(walk);
	/* psABI AMD64 3.4.1 and AAPCS64 6.4.6: zero marks the outermost frame */
	if (result == STEP_REFUSED && !walk->exact && regs_know(&walk->regs, machine->fp) &&
	    walk->regs.value[machine->fp] == 0)
		return UNWIND_BOTTOM;
	return result;
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
		result = strict ? (int)STEP_REFUSED : guess_by_call(walk);
		return result == STEP_REFUSED ? (int)UNWIND_NO_MODULE : result;
	}
	rule = rule_of(unwinder, module, walk->off - !walk->exact);
	if (LIKELY(rule)) {
		result = step_by_rule(walk, rule);
		walk->steps[UNWIND_BY_RULE] += result == STEP_TAKEN;
		return result;
	}
	result = strict ? (int)STEP_REFUSED : step_by_guess(walk);
	if (result != STEP_REFUSED)
		return result;
	return module->key.kind == MODULE_JIT || cfi_of(unwinder, module) ? UNWIND_NO_RULE :
	                                                                    UNWIND_NO_FILE;
}

/* Finds what is mapped at walk->ip; false where it is no code. */
static bool locate(struct walk *walk)
{
	const struct unwind_map *map = find_map(walk, walk->ip - !walk->exact);

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
static bool is_outermost(struct walk *walk, bool is_return)
{
	struct cfi *cfi = walk->map.module ? cfi_of(walk->unwinder, walk->map.module) : NULL;
	struct code code;
	uint64_t vaddr;

	if (!cfi)
		return false;
	if (cfi_vaddr(cfi, walk->off, &vaddr) && cfi_is_entry(cfi, vaddr))
		return true;
	code = code_of(walk, &walk->map, walk->map.start + walk->off - walk->map.pgoff);
	return is_return && code.at && !walk->machine->after_call(&code);
}

static void count(struct walk *walk, enum unwind_end end)
{
	struct unwinder *unwinder = walk->unwinder;

	for (unsigned i = 0; i < UNWIND_NR_STEPS; i++)
		unwinder->totals.steps[i] += walk->steps[i];
	unwinder->totals.ends[end]++;
	if (walk->map.module) {
		struct unwind_counts *counts = &state_of(unwinder, walk->map.module)->counts;

		for (unsigned i = 0; i < UNWIND_NR_STEPS; i++)
			counts->steps[i] += walk->steps[i];
		counts->ends[end]++;
	}
}

size_t unwind(struct unwinder *unwinder, const struct unwind_sample *sample,
              struct unwind_frame *out, size_t max, enum unwind_end *end)
{
	struct walk walk;
	size_t nr = 0;
	int result;

	walk.unwinder = unwinder;
	walk.sample = sample;
	walk.machine = regs_machine_of(sample->machine);
	walk.map = (struct unwind_map){0};
	walk.nr_recent = walk.next_recent = 0;
	walk.exact = true;
	memset(walk.steps, 0, sizeof(walk.steps));
	*end = UNWIND_NO_REGS;
	if (sample->regs_abi != REGS_ABI_64 || !walk.machine ||
	    !regs_load(walk.machine, &walk.regs, sample->regs_mask, sample->regs, &walk.ip)) {
		count(&walk, *end);
		return 0;
	}
	walk.stack = (struct stack_copy){sample->stack, walk.regs.value[walk.machine->sp],
	                                 sample->stack_size};
	walk.steps[UNWIND_BY_SAMPLE]++;
	max = MIN_OF(max, (size_t)UNWIND_DEPTH_MAX);
	for (;;) {
		if (nr == max) {
			result = UNWIND_TOO_DEEP;
			break;
		}
		if (LIKELY(locate(&walk))) {
			out[nr++] = (struct unwind_frame){walk.ip, walk.map.module, walk.off,
			                                  !walk.exact};
		} else if (nr == 0) {
			out[nr++] = (struct unwind_frame){.ip = walk.ip, .off = walk.ip};
		} else {
			result = UNWIND_NO_MODULE;
			break;
		}
		result = step(&walk);
		if (UNLIKELY(result != STEP_TAKEN))
			break;
		/* control came to a signal's trampoline by no call */
		if (walk.exact)
			out[nr - 1].is_return = false;
	}
	*end = (enum unwind_end)result;
	if ((*end == UNWIND_NO_MODULE || *end == UNWIND_UNREADABLE || *end == UNWIND_NO_RULE) &&
	    is_outermost(&walk, out[nr - 1].is_return))
		*end = UNWIND_BOTTOM;
	count(&walk, *end);
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
