/*
 * callgraph.h - functions, what each cost itself, and who called whom at what
 * cost, turned into stacks.
 *
 * Such profiles hold no stacks; where a function has several callers it is not
 * known which of their calls led to which of its own. The stacks made here
 * assume, as gprof does, that a function behaves the same whoever calls it: its
 * cost is divided among the ways to it in proportion to the cost of the calls
 * on each, or to their number where no cost is known. What is exact: the sum, and the sum of own
 * cost of each function.
 *
 * A call back into a function that is open already (recursion) adds no way to
 * it. A function that nothing calls, and the part of a function's cost that no
 * call accounts for, begins a stack. Graphs of a few hundred functions can hold
 * more ways than can be written: the CALLGRAPH_WAYS_MAX heaviest are followed, and
 * the own cost that is left stands at "[rare paths];function".
 */
#ifndef COLLAPSE_CALLGRAPH_H
#define COLLAPSE_CALLGRAPH_H

#include "collapse/formats/format.h"
#include "collapse/formats/idmap.h"
#include "share/compat.h"

struct callgraph_function {
	uint32_t name;                   /* of the folder */
	uint32_t first_call, nr_callers; /* callers: other functions than itself */
	weight_fx self;
};

struct callgraph_call {
	uint32_t caller, callee, next; /* next: of the caller, or UINT32_MAX */
	bool is_back;                  /* into a function that is open */
	weight_fx weight;              /* with all that was called from there */
	uint64_t nr_calls;
	double share; /* of the callee's cost that belongs to this call */
};

#define CALLGRAPH_WAYS_MAX  50000
#define CALLGRAPH_DEPTH_MAX 4096

struct callgraph {
	struct callgraph_function *functions;
	size_t nr_functions, functions_capacity;
	struct callgraph_call *calls;
	size_t nr_calls, calls_capacity;
	struct idmap by_pair;
};

/* A zeroed struct callgraph is ready to use; a released one likewise. */
void callgraph_release(struct callgraph *graph);

/* Adds a function; its index. */
uint32_t callgraph_function(struct callgraph *graph, uint32_t name);

/* false where the function's cost would reach 2^64. */
bool callgraph_self(struct callgraph *graph, uint32_t function, weight_fx weight);

/* Adds up over equal pairs. */
bool callgraph_call(struct callgraph *graph, uint32_t caller, uint32_t callee, uint64_t nr_calls,
                    weight_fx weight);

/*
 * Counts all of it below root and forgets costs and calls; functions stay.
 * -1, and err filled, where the total would reach 2^64.
 */
int callgraph_fold(struct callgraph *graph, struct folder *folder, uint32_t root, struct err *err);

/* Says in the header of the output that stacks are made this way. */
void callgraph_note(struct folded_header *header);

#endif
