#include "share/compat.h"
#include "collapse/unwind/walk.h"

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

struct code guess_code(struct walk *walk, const struct unwind_map *map, uint64_t ip)
{
	struct cfi *cfi;

	if (!map->module || map->module->key.kind == MODULE_JIT ||
	    map->module->key.kind == MODULE_UNKNOWN)
		return (struct code){0};
	cfi = walk_cfi(walk, map->module);
	return cfi ? cfi_code(cfi, ip - map->start + map->pgoff) : (struct code){0};
}

/* The code that ends at a return address, and its map; at is NULL where it is not known. */
static struct code code_before(struct walk *walk, uint64_t ip, const struct unwind_map **map)
{
	struct code code = {0};

	*map = walk_map(walk, ip - 1);
	if (*map && (*map)->executable && (*map)->module)
		code = guess_code(walk, *map, ip - 1);
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
		return belief == BELIEVE_MAPPED &&
		       (map->module->key.kind == MODULE_JIT || !walk_cfi(walk, map->module));
	return walk->machine->after_call(&code);
}

/* To a caller at ip whose stack pointer is sp. */
static int take(struct walk *walk, uint64_t ip, uint64_t sp, enum unwind_step step)
{
	regs_set(&walk->regs, walk->machine->sp, sp);
	walk->ip = ip;
	walk->exact = false;
	walk->result->steps[step]++;
	return STEP_TAKEN;
}

/* A pushed return address at sp + n. */
static int guess_at(struct walk *walk, uint64_t n, enum belief belief, enum unwind_step step)
{
	uint64_t address = walk->regs.value[walk->machine->sp] + n, ip;

	if (!stack_read(&walk->stack, address, &ip) ||
	    !is_return_address(walk, walk->machine->strip(ip), belief))
		return STEP_REFUSED;
	return take(walk, walk->machine->strip(ip), address + walk->machine->word, step);
}

/* Both machines keep the caller's frame pointer and return address side by side. */
static int guess_by_frame_pointer(struct walk *walk)
{
	const struct regs_machine *machine = walk->machine;
	struct regs *regs = &walk->regs;
	uint64_t fp = regs->value[machine->fp], sp = regs->value[machine->sp], next, ip;
	unsigned word = machine->word;

	if (!regs_know(regs, machine->fp) || fp % word != 0 || fp < sp)
		return STEP_REFUSED;
	if (!stack_read(&walk->stack, fp, &next) || !stack_read(&walk->stack, fp + word, &ip))
		return walk_end_of_memory(walk, fp + word) == UNWIND_CUT ? UNWIND_CUT :
		                                                           STEP_REFUSED;
	ip = machine->strip(ip);
	if ((next != 0 && next <= fp) || !is_return_address(walk, ip, BELIEVE_MAPPED))
		return STEP_REFUSED;
	regs_set(regs, machine->fp, next);
	return take(walk, ip, fp + 2 * word, UNWIND_BY_FRAME_POINTER);
}

/* The address at which a function that has touched nothing yet will return. */
static bool untouched_return(const struct walk *walk, uint64_t *ip, uint64_t *sp)
{
	const struct regs_machine *machine = walk->machine;

	*sp = walk->regs.value[machine->sp];
	if (machine->ra_on_stack) {
		*sp += machine->word;
		return walk->exact && stack_read(&walk->stack, *sp - machine->word, ip);
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
	has_rule = walk_rule(walk, map->module, ip - map->start + map->pgoff - 1) != NULL;
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
	unsigned word = walk->machine->word;

	for (uint64_t n = 0; n < SCAN_SIZE; n += word) {
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
			first = sp + n + word;
		target = walk->machine->call_target(&code, ip);
		if (target > nearest && walk->ip - target < FUNCTION_REACH) {
			nearest = target;
			best = sp + n + word;
		}
	}
	if (!best)
		best = first;
	if (!best || !stack_read(&walk->stack, best - word, &ip))
		return STEP_REFUSED;
	return take(walk, walk->machine->strip(ip), best, UNWIND_BY_SCAN);
}

bool guess_is_uncalled(struct walk *walk)
{
	struct code code = guess_code(walk, &walk->map, walk->ip);

	return !walk->exact && code.at && !walk->machine->after_call(&code);
}

int guess_step(struct walk *walk)
{
	const struct regs_machine *machine = walk->machine;
	struct code code = guess_code(walk, &walk->map, walk->ip);
	bool is_jit = walk->map.module && walk->map.module->key.kind == MODULE_JIT;
	int hint, result;

	if (code.at && machine->is_sigreturn(&code)) {
		if (!machine->sigframe(&walk->regs, &walk->stack, &walk->ip))
			return UNWIND_UNREADABLE;
		walk->exact = true;
		walk->result->steps[UNWIND_BY_TRAMPOLINE]++;
		return STEP_TAKEN;
	}
	/* what lies above is left over from before this stack was made */
	if (guess_is_uncalled(walk))
		return UNWIND_BOTTOM;
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
		result = guess_at(walk, machine->word, BELIEVE_CALLED, UNWIND_BY_TRAMPOLINE);
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

int guess_unmapped(struct walk *walk)
{
	return guess_by_call(walk);
}
