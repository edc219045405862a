/*
 * gprof.c - what gprof prints: the call graph, or where that is not there the
 * flat profile.
 *
 * Microseconds (or cycles, of simulators for embedded processors) in each
 * function alone, as printed: hundredths of a second. gprof knows no stacks; it
 * divides the time of a function by the number of calls, and so do the stacks
 * made here (callgraph.h), from the calls themselves instead of the rounded times.
 *
 * Source: GNU gprof manual, "The Flat Profile" and "The Call Graph"; binutils,
 * gprof/cg_print.c and hist.c. Entries are parted by dashes; in each the line
 * that begins with "[" is the function, lines above it its callers, below it
 * what it called.
 */
#include "share/compat.h"
#include "collapse/formats/callgraph.h"
#include "collapse/formats/format.h"

#include "collapse/formats/callers.h"
#include "share/mem.h"
#include "share/num.h"

enum section { NO_SECTION, FLAT, GRAPH };

struct flat_row {
	uint32_t name;
	weight_fx self;
};

struct gprof {
	struct folder *folder;
	struct format_report *report;
	uint64_t line;
	enum section section;
	bool has_rows; /* of this section */
	bool is_behind_blank;
	bool is_cycles;
	uint32_t factor; /* of the numbers that stand in the graph or the flat profile */

	struct flat_row *rows;
	size_t nr_rows, rows_capacity;

	struct callgraph graph;
	struct idmap by_number; /* the number in brackets -> function */
	uint32_t function;      /* of this entry, or UINT32_MAX */
};

/* The heading of a call graph, as GNU's and BSD's gprof write it, however spaced. */
static bool begins_graph(struct slice line)
{
	return slice_starts(line, "index ") && slice_find(line, " self ") < line.size &&
	       (slice_find(line, " children ") < line.size ||
	        slice_find(line, " descendents ") < line.size) &&
	       slice_find(line, " called") < line.size &&
	       (slice_ends(line, " name") || slice_ends(line, "index"));
}

static int detect(struct slice head, bool is_all UNUSED)
{
	struct slice line;

	if (slice_starts(head, "Flat profile:"))
		return 95;
	while (slice_next_line(&head, &line))
		if (begins_graph(slice_trim(line)))
			return 90;
	return 0;
}

static int bad(struct gprof *g, const char *what, struct slice line)
{
	format_bad(g->report, "line %llu: %s: %.*s", (unsigned long long)g->line, what,
	           (int)MIN_OF(line.size, (size_t)100), line.at);
	return 0;
}

/* "12.34" in the unit of the output. */
static bool parse_cost(const struct gprof *g, struct slice word, weight_fx *cost)
{
	if (weight_parse(word.at, word.size, cost) != WEIGHT_OK)
		return false;
	*cost *= g->is_cycles ? g->factor : 1000000;
	return true;
}

/* "3", "2/3" and "1+2": 3, 2 and 3. */
static bool parse_calls(struct slice word, uint64_t *nr_calls)
{
	struct slice first = {word.at, MIN_OF(slice_find(word, "/"), slice_find(word, "+"))};
	struct slice second = slice_from(word, first.size + 1);
	uint64_t more = 0;

	if (num_parse_u64(first.at, first.size, nr_calls) ||
	    (first.size < word.size && num_parse_u64(second.at, second.size, &more)))
		return false;
	if (first.size < word.size && word.at[first.size] == '+')
		*nr_calls += MIN_OF(more, UINT64_MAX - *nr_calls);
	return true;
}

/* "name <cycle 1> [12]" to the name and the number; in "(12)" where no entry is printed. */
static bool cut_number(struct slice *name, uint64_t *number)
{
	size_t open = name->size, cycle;
	struct slice digits;

	while (open && name->at[open - 1] != '[' && name->at[open - 1] != '(')
		open--;
	digits = slice_from(*name, open);
	if (!open || !digits.size || num_parse_u64(digits.at, digits.size - 1, number))
		return false;
	*name = slice_trim((struct slice){name->at, open - 1});
	cycle = slice_find(*name, " <cycle ");
	if (slice_ends(*name, ">"))
		name->size = cycle;
	return name->size > 0;
}

/* ---- the flat profile ---- */

/* "%time cumulative self [calls self/call total/call] name" */
static int take_flat(struct gprof *g, struct slice line)
{
	struct slice rest = line, after;
	struct flat_row row;
	uint64_t number;
	weight_fx cost;

	slice_next_word(&rest);
	slice_next_word(&rest);
	if (!parse_cost(g, slice_next_word(&rest), &row.self))
		return bad(g, "it is no row of a flat profile", line);
	after = rest;
	if (parse_calls(slice_next_word(&after), &number) &&
	    parse_cost(g, slice_next_word(&after), &cost) &&
	    parse_cost(g, slice_next_word(&after), &cost))
		rest = after;
	rest = slice_trim(rest);
	cut_number(&rest, &number);
	row.name = folder_name(g->folder, rest.at, rest.size);
	MEM_GROW(g->rows, g->nr_rows, g->rows_capacity);
	g->rows[g->nr_rows++] = row;
	return 0;
}

/* ---- the call graph ---- */

static uint32_t function_of(struct gprof *g, uint64_t number, struct slice name)
{
	uint32_t function = idmap_get(&g->by_number, number);

	if (function == UINT32_MAX) {
		function =
		        callgraph_function(&g->graph, folder_name(g->folder, name.at, name.size));
		idmap_set(&g->by_number, number, function);
	}
	return function;
}

/* "[3] 100.0 0.00 0.03 [calls] name [3]" */
static int take_primary(struct gprof *g, struct slice line, struct err *err)
{
	struct slice rest = line, after;
	uint64_t number, nr_calls;
	weight_fx self;

	slice_next_word(&rest);
	slice_next_word(&rest);
	if (!parse_cost(g, slice_next_word(&rest), &self))
		return bad(g, "it is no entry of a call graph", line);
	slice_next_word(&rest);
	after = rest;
	if (parse_calls(slice_next_word(&after), &nr_calls) && slice_trim(after).size)
		rest = after;
	rest = slice_trim(rest);
	if (slice_starts(rest, "<cycle "))
		return 0; /* "as a whole": its members have entries of their own */
	if (!cut_number(&rest, &number))
		return bad(g, "it is no entry of a call graph", line);
	g->function = function_of(g, number, rest);
	g->report->nr_samples++;
	return callgraph_self(&g->graph, g->function, self) ? 0 : format_too_large(err);
}

/* "0.01 0.02 1/3 name [4]", inside of a cycle "1 name <cycle 1> [4]" */
static int take_called(struct gprof *g, struct slice line, struct err *err)
{
	struct slice rest = line, word = slice_next_word(&rest);
	uint64_t number, nr_calls;

	if (slice_find(word, ".") < word.size) {
		slice_next_word(&rest);
		word = slice_next_word(&rest);
	}
	rest = slice_trim(rest);
	if (!parse_calls(word, &nr_calls) || !cut_number(&rest, &number))
		return bad(g, "it is no call of a call graph", line);
	return callgraph_call(&g->graph, g->function, function_of(g, number, rest), nr_calls, 0) ?
	               0 :
	               format_too_large(err);
}

static int take_line(struct gprof *g, struct slice line, struct err *err)
{
	struct slice text = slice_trim(line);
	size_t bracket = slice_find(text, "(K)");

	if (slice_starts(text, "Flat profile:") || begins_graph(text)) {
		g->section = *text.at == 'F' ? FLAT : GRAPH;
		g->has_rows = g->is_behind_blank = false;
		g->function = UINT32_MAX;
		return 0;
	}
	if (!g->section || !text.size || *text.at == '\f') {
		g->is_behind_blank = g->has_rows;
		if (g->has_rows && (g->section == FLAT || (text.size && *text.at == '\f')))
			g->section = NO_SECTION; /* explanations follow */
		return 0;
	}
	/* BSD's gprof parts entries by blank lines too, but no row begins with a letter */
	if (g->is_behind_blank && !strchr("-[<0123456789", *text.at)) {
		g->section = NO_SECTION;
		return 0;
	}
	g->is_behind_blank = false;
	if (!g->has_rows && *text.at != '[' && (*text.at < '0' || *text.at > '9') &&
	    *text.at != '<') {
		g->is_cycles |= slice_find(text, "cycles") < text.size;
		g->factor = bracket < text.size ? 1000 : g->factor;
		return 0;
	}
	g->has_rows = true;
	if (g->section == FLAT)
		return take_flat(g, line);
	if (slice_starts(text, "-----"))
		g->function = UINT32_MAX;
	else if (*text.at == '[')
		return take_primary(g, line, err);
	else if (g->function != UINT32_MAX)
		return take_called(g, line, err);
	return 0;
}

static int fold(struct gprof *g, struct err *err)
{
	if (g->graph.nr_functions)
		return callgraph_fold(&g->graph, g->folder, 0, err);
	for (size_t i = 0; i < g->nr_rows; i++)
		if (!format_count(g->folder, folder_child(g->folder, 0, g->rows[i].name),
		                  g->rows[i].self, g->report, err))
			return -1;
	return 0;
}

static int parse(struct input *in, struct folder *folder,
                 const struct format_options *options UNUSED, struct folded_header *header,
                 struct format_report *report, struct err *err)
{
	struct gprof g = {.folder = folder, .report = report, .factor = 1, .function = UINT32_MAX};
	struct slice line;
	int rc;

	while ((rc = input_line(in, &line, err)) > 0) {
		g.line = input_line_number(in);
		if ((rc = take_line(&g, line, err)) < 0)
			break;
	}
	if (g.graph.nr_functions)
		callgraph_note(header);
	format_unit(report, g.is_cycles ? "cycles" : "time",
	            g.is_cycles ? "cycles" : "microseconds");
	if (rc == 0)
		rc = fold(&g, err);
	callgraph_release(&g.graph);
	idmap_release(&g.by_number);
	free(g.rows);
	return rc;
}

const struct format format_gprof = {
        .name = "gprof",
        .about = "gprof: the call graph, or the flat profile alone",
        .detect = detect,
        .parse = parse,
};
