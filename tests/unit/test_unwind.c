/*
 * test_unwind.c - walks over stacks made by hand: for which reason each ends,
 * what is guessed and what is not, what is counted.
 *
 * The code is this program's own: its file has rules, and addresses behind
 * real calls are had from __builtin_return_address.
 */
#include "share/compat.h"

#include "collapse/unwind/unwind.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#define STACK_START ((uint64_t)0x7ffc00000000)
#define JIT_START   ((uint64_t)0x10000000)
#define LOST_START  ((uint64_t)0x20000000)
#define FAKE_START  ((uint64_t)0x30000000)

struct world {
	struct modules *modules;
	struct module *self, *jit, *lost;
	struct unwind_rules *rules;
	struct unwinder *unwinder;
	struct unwind_map map; /* this program's code */
	uint64_t stack[64];
	uint64_t regs[33];
	struct unwind_sample sample;
	struct unwind_frame frames[UNWIND_DEPTH_MAX];
	struct unwind_result result; /* of the last walk */
};

static bool find(void *ctx, uint64_t ip, struct unwind_map *map)
{
	struct world *world = ctx;

	if (ip >= world->map.start && ip < world->map.end)
		*map = world->map;
	else if (ip >= JIT_START && ip < JIT_START + 0x1000)
		*map = (struct unwind_map){JIT_START, JIT_START + 0x1000, JIT_START, world->jit,
		                           true};
	else if (ip >= LOST_START && ip < LOST_START + 0x1000)
		*map = (struct unwind_map){LOST_START, LOST_START + 0x1000, 0, world->lost, true};
	else if (ip >= FAKE_START && ip < FAKE_START + 0x1000)
		*map = (struct unwind_map){FAKE_START, FAKE_START + 0x1000, 0, world->lost, false};
	else
		return false;
	return true;
}

static int own_segment(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct unwind_map *map = ctx;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];

		if (phdr->p_type == PT_LOAD && (phdr->p_flags & PF_X)) {
			map->start = info->dlpi_addr + phdr->p_vaddr;
			map->end = map->start + phdr->p_filesz;
			map->pgoff = phdr->p_offset;
		}
	}
	return 1; /* the first object is the program itself */
}

static struct world *world_new(uint16_t machine, bool strict)
{
	struct world *world = calloc(1, sizeof(*world));
	struct unwind_options options = {.strict = strict};
	char path[4096] = "";

	cr_assert(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	world->modules = modules_new(&(struct module_options){0});
	world->self = modules_intern(
	        world->modules, &(struct module_key){.kind = MODULE_FILE, .path = path, .pid = -1});
	world->jit = modules_intern(
	        world->modules,
	        &(struct module_key){.kind = MODULE_JIT, .path = "//anon", .pid = 1});
	world->lost = modules_intern(
	        world->modules,
	        &(struct module_key){.kind = MODULE_FILE, .path = "/no/such/file", .pid = -1});
	dl_iterate_phdr(own_segment, &world->map);
	world->map.module = world->self;
	world->map.executable = true;
	world->rules = unwind_rules_new(world->modules, &options);
	world->unwinder = unwinder_new(world->rules);
	world->sample = (struct unwind_sample){
	        .machine = machine,
	        .regs_abi = 2,
	        .regs_mask = machine == EM_X86_64 ? 0xff0fff : 0x1ffffffff,
	        .regs = world->regs,
	        .stack = (const uint8_t *)world->stack,
	        .stack_size = sizeof(world->stack),
	        .stack_request = sizeof(world->stack),
	        .find = find,
	        .ctx = world,
	};
	return world;
}

static void world_free(struct world *world)
{
	unwinder_free(world->unwinder);
	unwind_rules_free(world->rules);
	modules_free(world->modules);
	free(world);
}

/* perf's numbers on x86-64 */
enum { BP = 6, SP = 7, IP = 8 };

static size_t walk_up_to(struct world *world, size_t max)
{
	size_t nr = unwind(world->unwinder, &world->sample, world->frames, max, &world->result);

	unwinder_count(world->unwinder, &world->result);
	return nr;
}

static size_t walk_from(struct world *world, uint64_t ip, uint64_t sp, uint64_t fp)
{
	world->regs[IP] = ip;
	world->regs[SP] = sp;
	world->regs[BP] = fp;
	return walk_up_to(world, UNWIND_DEPTH_MAX);
}

static size_t walk(struct world *world, uint64_t ip, uint64_t fp)
{
	return walk_from(world, ip, STACK_START, fp);
}

/* The address behind the call of this function. */
__attribute__((noinline)) static uint64_t place_behind_a_call(void)
{
	return (uint64_t)(uintptr_t)__builtin_return_address(0);
}

Test(unwind, no_registers)
{
	struct world *world = world_new(EM_X86_64, false);

	world->sample.regs_abi = 0;
	cr_assert_eq(walk(world, JIT_START, 0), 0, "no registers at all");
	cr_assert_eq(world->result.end, UNWIND_NO_REGS);
	world->sample.machine = EM_AARCH64;
	world->sample.regs_abi = 1;
	cr_assert_eq(walk(world, JIT_START, 0), 0, "a 32-bit task of ARM");
	world->sample.machine = EM_X86_64;
	world->sample.regs_abi = 2;
	world->sample.regs_mask = 0xff0fff & ~((uint64_t)1 << SP);
	cr_assert_eq(walk(world, JIT_START, 0), 0, "no stack pointer in the mask");
	world->sample.machine = EM_S390;
	cr_assert_eq(walk(world, JIT_START, 0), 0, "a machine without rules here");
	cr_assert_eq(unwinder_totals(world->unwinder)->ends[UNWIND_NO_REGS], 4);
	world_free(world);
}

/* A chain of frame pointers in generated code, and all that can be wrong with it. */
Test(unwind, frame_pointers)
{
	static const struct {
		const char *label;
		uint64_t next_fp, ip; /* the pair that the first frame pointer leads to */
		size_t size;
		size_t nr;
		enum unwind_end end;
	} rows[] = {
	        {"zero ends the chain", 0, JIT_START + 0x20, 512, 2, UNWIND_BOTTOM},
	        {"goes on above the copy", STACK_START + 4096, JIT_START + 0x20, 512, 2,
	         UNWIND_CUT},
	        {"downwards", STACK_START + 8, JIT_START + 0x20, 512, 1, UNWIND_NO_RULE},
	        {"to itself", STACK_START + 32, JIT_START + 0x20, 512, 1, UNWIND_NO_RULE},
	        {"return address unmapped", 0, 0x666, 512, 1, UNWIND_NO_RULE},
	        {"return address in data", 0, FAKE_START + 8, 512, 1, UNWIND_NO_RULE},
	        {"no copy at all", 0, JIT_START + 0x20, 0, 1, UNWIND_CUT},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct world *world = world_new(EM_X86_64, false);

		world->sample.stack_size = world->sample.stack_request = rows[i].size;
		world->stack[4] = rows[i].next_fp;
		world->stack[5] = rows[i].ip;
		cr_assert_eq(walk(world, JIT_START + 0x10, STACK_START + 32), rows[i].nr, "%s",
		             rows[i].label);
		cr_assert_eq(world->result.end, rows[i].end, "%s: %s", rows[i].label,
		             unwind_end_text(world->result.end));
		cr_assert_eq(world->frames[0].ip, JIT_START + 0x10, "%s", rows[i].label);
		cr_assert(!world->frames[0].is_return, "%s", rows[i].label);
		if (rows[i].nr > 1) {
			cr_assert_eq(world->frames[1].ip, rows[i].ip, "%s", rows[i].label);
			cr_assert(world->frames[1].is_return, "%s", rows[i].label);
			cr_assert_eq(world->frames[1].module, world->jit, "%s", rows[i].label);
		}
		world_free(world);
	}
}

Test(unwind, strict_does_not_guess)
{
	struct world *world = world_new(EM_X86_64, true);

	world->stack[5] = JIT_START + 0x20;
	cr_assert_eq(walk(world, JIT_START + 0x10, STACK_START + 32), 1);
	cr_assert_eq(world->result.end, UNWIND_NO_RULE);
	cr_assert_eq(walk(world, LOST_START, STACK_START + 32), 1);
	cr_assert_eq(world->result.end, UNWIND_NO_FILE);
	cr_assert_eq(walk(world, 0, STACK_START + 32), 1);
	cr_assert_eq(world->result.end, UNWIND_NO_MODULE);
	cr_assert_eq(world->frames[0].module, NULL);
	for (int step = UNWIND_BY_RULE; step < UNWIND_NR_STEPS; step++)
		cr_assert_eq(unwinder_totals(world->unwinder)->steps[step], 0);
	cr_assert_eq(unwinder_module_counts(world->unwinder, world->lost).ends[UNWIND_NO_FILE], 1);
	world_free(world);
}

/* A call through a null pointer: the caller is on top of the stack. */
Test(unwind, bad_pointer)
{
	struct world *world = world_new(EM_X86_64, false);

	world->stack[0] = place_behind_a_call();
	cr_assert_geq(walk(world, 0, 0), 2);
	cr_assert_eq(world->frames[1].ip, world->stack[0]);
	cr_assert_eq(world->frames[1].module, world->self);
	world->stack[0]++; /* no call ends there */
	cr_assert_eq(walk(world, 0, 0), 1);
	cr_assert_eq(world->result.end, UNWIND_NO_MODULE);
	world_free(world);
}

/* CPython: `sub $8,%rsp; call *%rcx`, no frame pointer, rbp is anything. */
Test(unwind, trampoline)
{
	struct world *world = world_new(EM_X86_64, false);
	uint64_t python = place_behind_a_call();

	/* generated code that called generated code by frame pointer, then the trampoline */
	world->stack[0] = STACK_START + 5;
	world->stack[1] = JIT_START + 0x20;
	world->stack[2] = 0x1234;
	world->stack[3] = python;
	cr_assert_geq(walk(world, JIT_START + 0x10, STACK_START), 3);
	cr_assert_eq(world->frames[1].ip, JIT_START + 0x20);
	cr_assert_eq(world->frames[2].ip, python);
	cr_assert_eq(unwinder_totals(world->unwinder)->steps[UNWIND_BY_TRAMPOLINE], 1);
	world_free(world);
}

/* No rule and no frame pointer: the first word that a call left there. */
Test(unwind, scan)
{
	struct world *world = world_new(EM_X86_64, false);

	world->stack[20] = place_behind_a_call();
	cr_assert_geq(walk(world, LOST_START + 5, 1), 2);
	cr_assert_eq(world->frames[1].ip, world->stack[20]);
	cr_assert_eq(unwinder_totals(world->unwinder)->steps[UNWIND_BY_SCAN], 1);
	world_free(world);
}

/* An endless chain meets the limit of frames; a short output array meets its own. */
Test(unwind, depth)
{
	struct world *world = world_new(EM_X86_64, false);
	size_t nr;

	for (size_t i = 0; i + 1 < ARRAY_SIZE(world->stack); i += 2) {
		world->stack[i] = STACK_START + 8 * (i + 2);
		world->stack[i + 1] = JIT_START + 0x20;
	}
	nr = walk(world, JIT_START + 0x10, STACK_START);
	cr_assert_eq(nr, 33);
	cr_assert_eq(world->result.end, UNWIND_CUT);
	nr = walk_up_to(world, 5);
	cr_assert_eq(nr, 5);
	cr_assert_eq(world->result.end, UNWIND_TOO_DEEP);
	world_free(world);
}

/* The kernel met the end of the stack: what is above was not cut off. */
Test(unwind, shorter_than_asked_for)
{
	struct world *world = world_new(EM_X86_64, false);

	world->stack[4] = STACK_START + 600;
	world->stack[5] = JIT_START + 0x20;
	world->sample.stack_request = 65528;
	cr_assert_eq(walk(world, JIT_START + 0x10, STACK_START + 32), 2);
	cr_assert_neq(world->result.end, UNWIND_CUT);
	world_free(world);
}

/*
 * A 32-bit task: words of four bytes, whether its kernel is a 64-bit one or not.
 * The same bytes as a 64-bit stack lead nowhere.
 */
Test(unwind, words_of_four_bytes)
{
	enum { LOW_STACK = 0x7ffc0000 };
	static const uint16_t machines[] = {EM_X86_64, EM_386};

	for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
		struct world *world = world_new(EM_X86_64, false);
		uint32_t words[] = {0,
		                    0,
		                    LOW_STACK + 20,
		                    (uint32_t)JIT_START + 0x20,
		                    7,
		                    0,
		                    (uint32_t)JIT_START + 0x30};

		memcpy(world->stack, words, sizeof(words));
		world->sample.machine = machines[i];
		world->sample.regs_abi = 1;
		cr_assert_eq(walk_from(world, JIT_START + 0x10, LOW_STACK, LOW_STACK + 8), 3);
		cr_assert_eq(world->frames[1].ip, JIT_START + 0x20);
		cr_assert_eq(world->frames[2].ip, JIT_START + 0x30);
		cr_assert_eq(world->result.end, UNWIND_BOTTOM);
		world->sample.regs_abi = 2;
		cr_assert_eq(walk_from(world, JIT_START + 0x10, LOW_STACK, LOW_STACK + 8),
		             machines[i] == EM_386 ? 0 : 1);
		world_free(world);
	}
}

/* aarch64: signatures above bit 47 come off, the frame record is the same pair. */
Test(unwind, aarch64_signature)
{
	enum { FP = 29, A_SP = 31, PC = 32 };
	struct world *world = world_new(EM_AARCH64, false);

	world->stack[2] = 0;
	world->stack[3] = ((uint64_t)0x2a << 48 | (uint64_t)0x7f << 56) | (JIT_START + 0x40);
	world->regs[PC] = JIT_START + 0x10;
	world->regs[A_SP] = STACK_START;
	world->regs[FP] = STACK_START + 16;
	cr_assert_eq(walk_up_to(world, UNWIND_DEPTH_MAX), 2);
	cr_assert_eq(world->frames[1].ip, JIT_START + 0x40);
	cr_assert_eq(world->result.end, UNWIND_BOTTOM);
	world_free(world);
}
