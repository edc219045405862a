/* test_callgraph.c - stacks of a call graph: own costs exact, whatever the graph. */
#include "share/compat.h"

#include "collapse/formats/callgraph.h"

#include <criterion/criterion.h>

#define FUNCTIONS 40

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

/* The sum of what stands on stacks that end in this name. */
static weight_fx self_of(const struct folder *folder, uint32_t name)
{
	weight_fx sum = 0;

	for (uint32_t i = 1; i < folder->nr; i++)
		sum += folder->nodes[i].name == name ? folder->nodes[i].self : 0;
	return sum;
}

static uint32_t add(struct callgraph *graph, struct folder *folder, const char *name, uint64_t self)
{
	uint32_t function = callgraph_function(graph, folder_name(folder, name, strlen(name)));

	cr_assert(callgraph_self(graph, function, weight_from_u64(self)));
	return function;
}

/* Random graphs with cycles, functions that call themselves, and costs that do not add up. */
Test(callgraph, own_costs_are_exact)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct callgraph graph = {0};
		weight_fx selfs[FUNCTIONS];
		uint32_t names[FUNCTIONS];
		struct folder folder;
		uint64_t state = seed;
		struct err err;

		folder_init(&folder);
		for (int i = 0; i < FUNCTIONS; i++) {
			char name[8];
			uint64_t self = next_random(&state) % (i % 3 ? 1000000 : 3);

			snprintf(name, sizeof(name), "f%d", i);
			names[i] = folder_name(&folder, name, strlen(name));
			add(&graph, &folder, name, self);
			selfs[i] = weight_from_u64(self);
		}
		for (uint64_t i = 0; i < FUNCTIONS * (seed % 5); i++)
			cr_assert(callgraph_call(&graph, next_random(&state) % FUNCTIONS,
			                         next_random(&state) % FUNCTIONS,
			                         next_random(&state) % 100,
			                         weight_from_u64(next_random(&state) % 100000)));
		cr_assert_eq(callgraph_fold(&graph, &folder, 0, &err), 0);
		for (int i = 0; i < FUNCTIONS; i++)
			cr_assert(self_of(&folder, names[i]) == selfs[i], "seed %d function %d",
			          (int)seed, i);
		folder_release(&folder);
		callgraph_release(&graph);
	}
}

/* Two callers: the callee's cost, and that of what it calls, as their calls cost. */
Test(callgraph, shares)
{
	struct callgraph graph = {0};
	struct folder folder;
	uint32_t main, a, b, c, d, node;
	struct err err;

	folder_init(&folder);
	main = add(&graph, &folder, "main", 10);
	a = add(&graph, &folder, "a", 0);
	b = add(&graph, &folder, "b", 0);
	c = add(&graph, &folder, "c", 300);
	d = add(&graph, &folder, "d", 100);
	callgraph_call(&graph, main, a, 1, weight_from_u64(100));
	callgraph_call(&graph, main, b, 1, weight_from_u64(300));
	callgraph_call(&graph, a, c, 9, weight_from_u64(100));
	callgraph_call(&graph, b, c, 1, weight_from_u64(300));
	callgraph_call(&graph, c, d, 5, weight_from_u64(100));
	callgraph_call(&graph, d, c, 1, weight_from_u64(90)); /* recursion */
	cr_assert_eq(callgraph_fold(&graph, &folder, 0, &err), 0);
	node = folder_child(&folder, 0, folder_name(&folder, "main", 4));
	node = folder_child(&folder, node, folder_name(&folder, "b", 1));
	node = folder_child(&folder, node, folder_name(&folder, "c", 1));
	cr_assert(folder.nodes[node].self == weight_from_u64(225));
	node = folder_child(&folder, node, folder_name(&folder, "d", 1));
	cr_assert(folder.nodes[node].self == weight_from_u64(75));
	cr_assert(folder.total == weight_from_u64(410));
	folder_release(&folder);
	callgraph_release(&graph);
}

/* 2^60 ways: the heaviest are followed, the rest stays with its functions. */
Test(callgraph, too_many_ways)
{
	struct callgraph graph = {0};
	struct folder folder;
	struct err err;
	char name[8];

	folder_init(&folder);
	for (uint32_t i = 0; i < 120; i++) {
		snprintf(name, sizeof(name), "f%u", (unsigned)i);
		add(&graph, &folder, name, 1000);
		for (uint32_t caller = i % 2 ? i - 1 : i; i >= 2 && caller-- > (i & ~1u) - 2;)
			callgraph_call(&graph, caller, i, 1, weight_from_u64(1000));
	}
	cr_assert_eq(callgraph_fold(&graph, &folder, 0, &err), 0);
	cr_assert(folder.total == weight_from_u64(120000));
	cr_assert_leq(folder.nr, CALLGRAPH_WAYS_MAX + 200);
	cr_assert_neq(strtab_find(&folder.names, "[rare paths]", 12), UINT32_MAX);
	folder_release(&folder);
	callgraph_release(&graph);
}
