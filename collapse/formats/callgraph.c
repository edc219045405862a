#include "share/compat.h"
#include "collapse/formats/callgraph.h"

#include "share/mem.h"

#define NONE UINT32_MAX

void callgraph_release(struct callgraph *graph)
{
	free(graph->functions);
	free(graph->calls);
	idmap_release(&graph->by_pair);
	*graph = (struct callgraph){0};
}

uint32_t callgraph_function(struct callgraph *graph, uint32_t name)
{
	MEM_GROW(graph->functions, graph->nr_functions, graph->functions_capacity);
	graph->functions[graph->nr_functions] =
	        (struct callgraph_function){.name = name, .first_call = NONE};
	return (uint32_t)graph->nr_functions++;
}

bool callgraph_self(struct callgraph *graph, uint32_t function, weight_fx weight)
{
	return weight_add(&graph->functions[function].self, weight);
}

bool callgraph_call(struct callgraph *graph, uint32_t caller, uint32_t callee, uint64_t nr_calls,
                    weight_fx weight)
{
	uint64_t pair = (uint64_t)caller << 32 | callee;
	uint32_t index = idmap_get(&graph->by_pair, pair);
	struct callgraph_call *call;

	if (index == NONE) {
		index = (uint32_t)graph->nr_calls;
		idmap_set(&graph->by_pair, pair, index);
		MEM_GROW(graph->calls, graph->nr_calls, graph->calls_capacity);
		graph->calls[graph->nr_calls++] =
		        (struct callgraph_call){.caller = caller,
		                                .callee = callee,
		                                .next = graph->functions[caller].first_call};
		graph->functions[caller].first_call = index;
		graph->functions[callee].nr_callers += caller != callee;
	}
	call = &graph->calls[index];
	call->nr_calls += MIN_OF(nr_calls, UINT64_MAX - call->nr_calls);
	return weight_add(&call->weight, weight);
}

void callgraph_note(struct folded_header *header)
{
	folded_header_set(header, "stacks", "estimated from a call graph");
}

/* ---- order: callers before callees, calls into open functions set aside ---- */

struct place {
	uint32_t order;  /* when it was first met, from 1; 0 = not yet */
	uint32_t lowest; /* order of the earliest function that it can get back to */
	uint32_t next;   /* of its calls, to be looked at */
	bool is_open, is_on_cycle;

	double incoming, outgoing; /* cost of calls to it; own cost and that of calls it makes */
	double nr_incoming;        /* calls to it */
	double begins;             /* share that begins stacks */
	double total;              /* own cost and what it has of its callees' */

	weight_fx used; /* own cost that stands on ways */
	uint64_t nr_ways;
	uint32_t heaviest; /* node of the first way to it */
};

/* A stack that leads to a function. */
struct way {
	double weight; /* of all that the function costs there */
	double share;  /* of all that the function costs */
	uint32_t function, node, depth;
};

struct flow {
	struct callgraph *graph;
	struct place *places;
	uint32_t *path;   /* functions that are open, outermost first */
	uint32_t *linked; /* met, and not yet known to be on no cycle with earlier ones */
	uint32_t *sorted; /* callees before callers */
	size_t nr_path, nr_linked, nr_sorted;

	struct way *heap; /* ways not yet followed, the heaviest first */
	size_t nr_heap, heap_capacity;
};

static void meet(struct flow *flow, uint32_t function, uint32_t *order)
{
	*order += 1;
	flow->places[function] = (struct place){.order = *order,
	                                        .lowest = *order,
	                                        .next = flow->graph->functions[function].first_call,
	                                        .is_open = true};
	flow->path[flow->nr_path++] = function;
	flow->linked[flow->nr_linked++] = function;
}

/* All of the function's calls are looked at: closes it, and the cycle it is the first of. */
static void leave(struct flow *flow, uint32_t function)
{
	struct place *place = &flow->places[function];
	bool is_alone = flow->linked[flow->nr_linked - 1] == function;
	uint32_t last;

	place->is_open = false;
	flow->nr_path--;
	flow->sorted[flow->nr_sorted++] = function;
	if (flow->nr_path) {
		struct place *caller = &flow->places[flow->path[flow->nr_path - 1]];

		caller->lowest = MIN_OF(caller->lowest, place->lowest);
	}
	if (place->lowest != place->order)
		return;
	do {
		last = flow->linked[--flow->nr_linked];
		flow->places[last].is_on_cycle |= !is_alone;
		flow->places[last].lowest = NONE; /* of a cycle that is complete */
	} while (last != function);
}

/* Tarjan's strongly connected components, without recursion. */
static void visit_from(struct flow *flow, uint32_t function, uint32_t *order)
{
	struct callgraph *graph = flow->graph;

	meet(flow, function, order);
	while (flow->nr_path) {
		uint32_t top = flow->path[flow->nr_path - 1];
		struct place *place = &flow->places[top], *callee;
		struct callgraph_call *call;

		if (place->next == NONE) {
			leave(flow, top);
			continue;
		}
		call = &graph->calls[place->next];
		place->next = call->next;
		callee = &flow->places[call->callee];
		call->is_back = callee->is_open;
		if (!callee->order) {
			meet(flow, call->callee, order);
		} else if (callee->lowest != NONE) {
			place->lowest = MIN_OF(place->lowest, callee->order);
			place->is_on_cycle |= call->callee == top;
		}
	}
}

static int lightest_first(const void *a, const void *b)
{
	const struct callgraph_call *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? -1 : 1;
	if (x->nr_calls != y->nr_calls)
		return x->nr_calls < y->nr_calls ? -1 : 1;
	if (x->caller != y->caller)
		return x->caller < y->caller ? -1 : 1;
	return x->callee < y->callee ? -1 : x->callee > y->callee;
}

/* Cycles are entered where most comes in, so each function's calls stand heaviest first. */
static void sort_calls(struct callgraph *graph)
{
	if (graph->nr_calls)
		qsort(graph->calls, graph->nr_calls, sizeof(*graph->calls), lightest_first);
	for (size_t i = 0; i < graph->nr_functions; i++)
		graph->functions[i].first_call = NONE;
	for (size_t i = 0; i < graph->nr_calls; i++) {
		struct callgraph_function *caller = &graph->functions[graph->calls[i].caller];

		graph->calls[i].next = caller->first_call;
		caller->first_call = (uint32_t)i;
	}
}

/* From what nothing calls; then, where cycles hang in the air, from each that is left. */
static void sort_functions(struct flow *flow)
{
	size_t nr = flow->graph->nr_functions;
	uint32_t order = 0;

	for (int is_rest = 0; is_rest < 2; is_rest++)
		for (uint32_t i = 0; i < nr; i++)
			if (!flow->places[i].order &&
			    (is_rest || !flow->graph->functions[i].nr_callers))
				visit_from(flow, i, &order);
}

/* ---- shares ---- */

/* What comes to each function by calls, and what it passes on. */
static void sum_calls(struct flow *flow)
{
	struct callgraph *graph = flow->graph;

	for (size_t i = 0; i < graph->nr_functions; i++)
		flow->places[i].outgoing = weight_to_double(graph->functions[i].self);
	for (size_t i = 0; i < graph->nr_calls; i++) {
		const struct callgraph_call *call = &graph->calls[i];

		if (call->is_back)
			continue;
		flow->places[call->callee].incoming += weight_to_double(call->weight);
		flow->places[call->callee].nr_incoming += (double)MAX_OF(call->nr_calls, 1u);
		flow->places[call->caller].outgoing += weight_to_double(call->weight);
	}
}

/*
 * Calls divide their callee by what they cost, or by their number where none
 * cost anything. On a cycle costs count some work twice, so only elsewhere is
 * the excess over the calls taken for a beginning; rounding is none.
 */
static void share_out(struct flow *flow)
{
	struct callgraph *graph = flow->graph;

	for (size_t i = 0; i < graph->nr_functions; i++) {
		struct place *place = &flow->places[i];

		if (!place->nr_incoming)
			place->begins = 1;
		else if (place->incoming > 0 && !place->is_on_cycle &&
		         place->incoming < place->outgoing * 0.999)
			place->begins = 1 - place->incoming / place->outgoing;
	}
	for (size_t i = 0; i < graph->nr_calls; i++) {
		struct callgraph_call *call = &graph->calls[i];
		const struct place *callee = &flow->places[call->callee];

		if (call->is_back)
			call->share = 0;
		else if (callee->incoming > 0)
			call->share = (1 - callee->begins) * weight_to_double(call->weight) /
			              callee->incoming;
		else
			call->share = (double)MAX_OF(call->nr_calls, 1u) / callee->nr_incoming;
	}
	for (size_t i = 0; i < flow->nr_sorted; i++) {
		const struct callgraph_function *function = &graph->functions[flow->sorted[i]];
		double *total = &flow->places[flow->sorted[i]].total;

		*total = weight_to_double(function->self);
		for (uint32_t c = function->first_call; c != NONE; c = graph->calls[c].next)
			*total +=
			        flow->places[graph->calls[c].callee].total * graph->calls[c].share;
	}
}

/* ---- ways ---- */

static void push_way(struct flow *flow, struct way way)
{
	size_t at = flow->nr_heap;

	MEM_GROW(flow->heap, flow->nr_heap, flow->heap_capacity);
	flow->nr_heap++;
	for (; at && flow->heap[(at - 1) / 2].weight < way.weight; at = (at - 1) / 2)
		flow->heap[at] = flow->heap[(at - 1) / 2];
	flow->heap[at] = way;
}

static struct way pop_way(struct flow *flow)
{
	struct way first = flow->heap[0], last = flow->heap[--flow->nr_heap];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < flow->nr_heap) {
		if (child + 1 < flow->nr_heap &&
		    flow->heap[child + 1].weight > flow->heap[child].weight)
			child++;
		if (flow->heap[child].weight <= last.weight)
			break;
		flow->heap[at] = flow->heap[child];
		at = child;
	}
	flow->heap[at] = last;
	return first;
}

/* The function's own cost on this way, in whole units, and the ways on from it. */
static bool follow(struct flow *flow, struct folder *folder, struct way way)
{
	const struct callgraph *graph = flow->graph;
	const struct callgraph_function *function = &graph->functions[way.function];
	struct place *place = &flow->places[way.function];
	uint32_t node = folder_child(folder, way.node, function->name);
	weight_fx left = function->self - place->used, own = left;

	if (way.share < 1) {
		weight_fx whole = function->self / WEIGHT_ONE;

		own = (weight_fx)(way.share * (double)whole) * WEIGHT_ONE;
	}
	own = MIN_OF(own, left);
	place->used += own;
	if (!place->nr_ways++)
		place->heaviest = node;
	for (uint32_t c = function->first_call; c != NONE && way.depth < CALLGRAPH_DEPTH_MAX;
	     c = graph->calls[c].next) {
		const struct callgraph_call *call = &graph->calls[c];
		struct way on = {.share = way.share * call->share,
		                 .function = call->callee,
		                 .node = node,
		                 .depth = way.depth + 1};

		on.weight = on.share * flow->places[call->callee].total;
		if (on.weight > 0)
			push_way(flow, on);
	}
	return folder_count(folder, node, own);
}

/* What rounding left goes to the heaviest way, what was not followed stands by itself. */
static bool count_rest(struct flow *flow, struct folder *folder, uint32_t root)
{
	uint32_t rare = folder_name(folder, "[rare paths]", 12);

	for (size_t i = 0; i < flow->graph->nr_functions; i++) {
		const struct callgraph_function *function = &flow->graph->functions[i];
		const struct place *place = &flow->places[i];
		weight_fx left = function->self - place->used;
		uint32_t node = place->heaviest;

		if (!left)
			continue;
		if (left > weight_from_u64(place->nr_ways))
			node = folder_child(folder, folder_child(folder, root, rare),
			                    function->name);
		if (!folder_count(folder, node, left))
			return false;
	}
	return true;
}

static void forget_costs(struct callgraph *graph)
{
	for (size_t i = 0; i < graph->nr_functions; i++)
		graph->functions[i] = (struct callgraph_function){.name = graph->functions[i].name,
		                                                  .first_call = NONE};
	graph->nr_calls = 0;
	idmap_release(&graph->by_pair);
}

int callgraph_fold(struct callgraph *graph, struct folder *folder, uint32_t root, struct err *err)
{
	size_t nr = graph->nr_functions;
	struct flow flow = {
	        .graph = graph,
	        .places = mem_zalloc((nr + 1) * sizeof(*flow.places)),
	        .path = mem_resize(NULL, nr + 1, sizeof(*flow.path)),
	        .linked = mem_resize(NULL, nr + 1, sizeof(*flow.linked)),
	        .sorted = mem_resize(NULL, nr + 1, sizeof(*flow.sorted)),
	};
	bool fits = true;

	sort_calls(graph);
	sort_functions(&flow);
	sum_calls(&flow);
	share_out(&flow);
	for (uint32_t i = 0; i < nr; i++) {
		double begins = flow.places[i].begins;

		if (begins > 0)
			push_way(&flow,
			         (struct way){flow.places[i].total * begins, begins, i, root, 0});
	}
	for (size_t ways = 0; fits && flow.nr_heap && ways < CALLGRAPH_WAYS_MAX; ways++)
		fits = follow(&flow, folder, pop_way(&flow));
	fits = fits && count_rest(&flow, folder, root);
	forget_costs(graph);
	free(flow.places);
	free(flow.path);
	free(flow.linked);
	free(flow.sorted);
	free(flow.heap);
	return fits ? 0 : format_too_large(err);
}
