/*
 * callgrind.c - profiles in the format of valgrind's callgrind, which
 * cachegrind, Xdebug, ruby-prof and many converters write too.
 *
 * Each event of its "events:" line is a value; the first is folded unless
 * another is named. Functions and what they called at what cost are known,
 * stacks are not: callgraph.h says what is made of that. With --by tid the
 * threads of --separate-threads=yes are told apart. What the file says the
 * program cost beyond its functions stands at "[outside of functions]"; where
 * its lines come to another sum than it states, that is said.
 *
 * A function is known by the number that stands for its name, so that two
 * static functions of one name stay apart; by its name where it has none.
 *
 * Source: valgrind manual, chapter "Callgrind Format Specification" (format
 * version 1), and callgrind/dump.c of valgrind 3.19 for "thread:" and the
 * position that follows a jump.
 */
#include "share/compat.h"
#include "collapse/formats/callgraph.h"
#include "collapse/formats/format.h"

#include "collapse/formats/callers.h"
#include "share/mem.h"
#include "share/num.h"

#define EVENTS_MAX 64
#define NEAR_MAX   65536
#define NONE       UINT32_MAX

struct callgrind {
	struct folder *folder;
	const struct format_options *options;
	struct folded_header *header;
	struct format_report *report;
	struct err *err;
	uint64_t line;

	struct callgraph graph;
	struct idmap by_number, by_name; /* number; name in the folder -> function */
	uint32_t near[NEAR_MAX];         /* by_number of the small ones, plus 1 */
	char *event;                     /* the one that is folded */
	struct buf descriptions;         /* of events, a line each: "NAME : TEXT" */
	size_t column, nr_positions;
	uint32_t factor; /* of its costs */
	bool has_events;

	uint32_t function, callee;
	uint64_t nr_calls;  /* of the next line; 0: it is the function's own */
	uint64_t last_cost; /* of the line before */
	uint64_t pid, thread;
	uint64_t found, stated[2]; /* by "summary:", by "totals:" */
	bool is_stated[2];
	bool is_xdebug;
};

static int detect(struct slice head, bool is_all UNUSED)
{
	bool has_events = slice_starts(head, "events:") || head_has(head, "\nevents:");
	bool has_function = head_has(head, "\nfn=") || slice_starts(head, "fn=");

	if (slice_starts(head, "# callgrind format"))
		return 100;
	if (has_events && (has_function || head_has(head, "\ncreator: callgrind-")))
		return 90;
	return 0;
}

static int bad(struct callgrind *c, const char *what, struct slice line)
{
	format_bad(c->report, "line %llu: %s: %.*s", (unsigned long long)c->line, what,
	           (int)MIN_OF(line.size, (size_t)100), line.at);
	return 0;
}

static bool parse_number(struct slice word, uint64_t *value)
{
	if (slice_starts(word, "0x"))
		return num_parse_hex(word.at, word.size, value) == 0;
	return num_parse_u64(word.at, word.size, value) == 0;
}

/* ---- names ---- */

static uint32_t function_of(struct idmap *map, uint64_t key, struct callgraph *graph, uint32_t name)
{
	uint32_t function = idmap_get(map, key);

	if (function == NONE || graph->functions[function].name != name) {
		function = callgraph_function(graph, name);
		idmap_set(map, key, function);
	}
	return function;
}

static uint32_t function_of_number(struct callgrind *c, uint64_t number)
{
	return number < NEAR_MAX ? c->near[number] - 1 : idmap_get(&c->by_number, number);
}

/* "(12) name" defines, "(12)" refers, "name" does both; NONE where it refers to nothing. */
static uint32_t resolve(struct callgrind *c, struct slice text)
{
	bool is_number = text.size && *text.at == '(';
	const char *close = is_number ? memchr(text.at, ')', text.size) : NULL;
	uint64_t number;
	struct slice name;

	if (close && num_parse_u64(text.at + 1, (size_t)(close - text.at - 1), &number) == 0) {
		name = slice_trim(slice_from(text, (size_t)(close - text.at) + 1));
		if (name.size) {
			uint32_t function = function_of(&c->by_number, number, &c->graph,
			                                folder_name(c->folder, name.at, name.size));

			if (number < NEAR_MAX)
				c->near[number] = function + 1;
		}
		return function_of_number(c, number);
	}
	if (!text.size)
		text = (struct slice){"???", 3};
	number = folder_name(c->folder, text.at, text.size);
	return function_of(&c->by_name, number, &c->graph, (uint32_t)number);
}

/* ---- headings ---- */

static const struct unit {
	const char *event, *unit;
	uint32_t factor;
} units[] = {
        {"Ir", "instructions", 1},
        {"Instructions", "instructions", 1},
        {"Time_(10ns)", "nanoseconds", 10}, /* Xdebug 3 */
        {"Memory_(bytes)", "bytes", 1},
        {"Time", "microseconds", 1}, /* Xdebug 2 */
        {"Memory", "bytes", 1},
        {"wall_time", "microseconds", 1}, /* ruby-prof */
        {"process_time", "microseconds", 1},
};

/* valgrind's --xtree options describe events as "curBk : currently allocated Blocks". */
static const char *described_unit(const struct callgrind *c, const char *unit)
{
	struct slice rest = {c->descriptions.at, c->descriptions.size}, line;

	while (slice_next_line(&rest, &line)) {
		if (!slice_equals(slice_next_word(&line), c->event))
			continue;
		return slice_find(line, "Blocks") < line.size ? "blocks" :
		       slice_find(line, "Bytes") < line.size  ? "bytes" :
		                                                unit;
	}
	return unit;
}

static int choose_event(struct callgrind *c, char *const *names, size_t nr)
{
	const char *unit = "events";

	if (c->event) { /* of a part before */
		for (c->column = 0; c->column < nr; c->column++)
			if (strcmp(names[c->column], c->event) == 0)
				return 0;
		return err_set(c->err, "line %llu: a part of the file has no event '%s'",
		               (unsigned long long)c->line, c->event);
	}
	if (format_value(c->options, (const char *const *)names, nr, 0, &c->column, c->err))
		return -1;
	c->event = mem_strdup(names[c->column]);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(units[i].event, c->event) == 0) {
			unit = units[i].unit;
			c->factor = units[i].factor;
		}
	}
	format_values_note(c->header, (const char *const *)names, nr);
	format_unit(c->report, c->event, described_unit(c, unit));
	return 0;
}

/* "events: Ir Dr Dw" */
static int take_events(struct callgrind *c, struct slice rest, struct slice line)
{
	char *names[EVENTS_MAX];
	size_t nr = 0;
	int result;

	for (struct slice word; (word = slice_next_word(&rest)).size && nr < EVENTS_MAX;)
		names[nr++] = mem_strndup(word.at, word.size);
	result = nr ? choose_event(c, names, nr) : bad(c, "it names no event", line);
	c->has_events |= nr > 0;
	while (nr)
		free(names[--nr]);
	return result;
}

/* Counts what was read so far. */
static int fold(struct callgrind *c)
{
	uint32_t root = format_root(c->folder, c->options, NULL, 0,
	                            c->pid ? (int64_t)(c->pid & INT64_MAX) : -1,
	                            c->thread ? (int64_t)(c->thread & INT64_MAX) : -1);

	if (c->graph.nr_calls)
		callgraph_note(c->header);
	return callgraph_fold(&c->graph, c->folder, root, c->err);
}

/*
 * "totals: 12 34" at the end of a part is the sum of its lines; "summary: 12 34"
 * is that too where it is alone, else it holds what ran outside of functions.
 */
static void take_sum(struct callgrind *c, struct slice rest, bool is_totals)
{
	struct slice word = {0};
	uint64_t value;

	for (size_t i = 0; i <= c->column; i++)
		word = slice_next_word(&rest);
	if (parse_number(word, &value)) {
		c->stated[is_totals] += value;
		c->is_stated[is_totals] = true;
	}
}

static int take_heading(struct callgrind *c, struct slice line, size_t colon)
{
	struct slice key = {line.at, colon}, rest = slice_trim(slice_from(line, colon + 1)), word;
	uint64_t value;

	if (slice_equals(key, "events"))
		return take_events(c, rest, line);
	if (slice_equals(key, "event")) {
		buf_add(&c->descriptions, rest.at, rest.size);
		buf_char(&c->descriptions, '\n');
	} else if (slice_equals(key, "positions")) {
		for (c->nr_positions = 0; slice_next_word(&rest).size;)
			c->nr_positions++;
	} else if (slice_equals(key, "creator")) {
		c->is_xdebug = slice_starts(rest, "xdebug");
	} else if (slice_equals(key, "summary") || slice_equals(key, "totals")) {
		take_sum(c, rest, *key.at == 't');
	} else if (slice_equals(key, "thread") || slice_equals(key, "pid")) {
		word = slice_next_word(&rest);
		if (!parse_number(word, &value))
			return bad(c, "it has no number", line);
		if (c->options->by_tid && fold(c) < 0)
			return -1;
		*(*key.at == 't' ? &c->thread : &c->pid) = value;
	}
	return 0;
}

/* ---- costs ---- */

/* Some writers shorten costs as positions are: "*", "+3" and "-3" go by the line before. */
static bool parse_cost(const struct callgrind *c, struct slice word, uint64_t *cost)
{
	bool has_sign = word.size && (*word.at == '+' || *word.at == '-');
	uint64_t step;

	if (slice_equals(word, "*")) {
		*cost = c->last_cost;
		return true;
	}
	if (!has_sign)
		return parse_number(word, cost);
	if (!parse_number(slice_from(word, 1), &step) ||
	    step > (*word.at == '+' ? UINT64_MAX - c->last_cost : c->last_cost))
		return false;
	*cost = *word.at == '+' ? c->last_cost + step : c->last_cost - step;
	return true;
}

/* Positions, of which only their number matters, and a cost for each event; missing ones are 0. */
static int take_cost(struct callgrind *c, struct slice line)
{
	struct slice rest = line, word = {0};
	uint64_t cost = 0, nr_calls = c->nr_calls;
	bool fits;

	c->nr_calls = 0;
	for (size_t i = 0; i < c->nr_positions + c->column + 1; i++)
		word = slice_next_word(&rest);
	if (!c->has_events)
		return bad(c, "a cost before any 'events:' line", line);
	if (c->function == NONE || (nr_calls && c->callee == NONE))
		return bad(c, "a cost of no function", line);
	if ((word.size && !parse_cost(c, word, &cost)) || cost > UINT64_MAX / c->factor)
		return bad(c, "it is no row of positions and costs", line);
	c->last_cost = cost;
	if (nr_calls) {
		fits = callgraph_call(&c->graph, c->function, c->callee, nr_calls,
		                      weight_from_u64(cost * c->factor));
	} else {
		c->found += cost;
		c->report->nr_samples++;
		fits = callgraph_self(&c->graph, c->function, weight_from_u64(cost * c->factor));
	}
	return fits ? 0 : format_too_large(c->err);
}

/* "calls=COUNT POSITIONS" */
static int take_calls(struct callgrind *c, struct slice rest, struct slice line)
{
	struct slice word = slice_next_word(&rest);

	if (!parse_number(word, &c->nr_calls))
		bad(c, "calls without their number", line);
	c->nr_calls = MAX_OF(c->nr_calls, 1u);
	return 0;
}

static int take_line(struct callgrind *c, struct slice line)
{
	size_t sign = 0;

	if (!line.size || *line.at == '#')
		return 0;
	if ((*line.at >= '0' && *line.at <= '9') || *line.at == '+' || *line.at == '-' ||
	    *line.at == '*')
		return take_cost(c, line);
	while (sign < line.size && line.at[sign] >= 'a' && line.at[sign] <= 'z')
		sign++;
	if (sign == line.size || (line.at[sign] != '=' && line.at[sign] != ':'))
		return bad(c, "it is none of this format", line);
	if (line.at[sign] == ':')
		return take_heading(c, line, sign);
	if (slice_starts(line, "fn=")) {
		c->function = resolve(c, slice_from(line, 3));
		c->callee = NONE;
	} else if (slice_starts(line, "cfn=")) {
		c->callee = resolve(c, slice_from(line, 4));
	} else if (slice_starts(line, "calls=")) {
		return take_calls(c, slice_from(line, 6), line);
	}
	return 0; /* files, objects and jumps */
}

/* What the file states and no function has; a sum that is not there tells of a cut. */
static int check_sum(struct callgrind *c)
{
	bool has_totals = c->is_stated[1];
	bool is_whole = has_totals ? c->stated[1] == c->found : c->is_xdebug;
	uint32_t node;

	if (c->is_stated[0] && is_whole && c->stated[0] >= c->found) {
		node = folder_name(c->folder, "[outside of functions]", 22);
		if (c->stated[0] > c->found &&
		    !folder_count(c->folder, folder_child(c->folder, 0, node),
		                  (weight_fx)(c->stated[0] - c->found) * c->factor * WEIGHT_ONE))
			return format_too_large(c->err);
	} else if (c->is_stated[has_totals] && c->stated[has_totals] != c->found) {
		format_bad(c->report, "the file states a sum of %llu, its lines come to %llu",
		           (unsigned long long)c->stated[has_totals], (unsigned long long)c->found);
	}
	return 0;
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header, struct format_report *report, struct err *err)
{
	struct callgrind c = {.folder = folder,
	                      .options = options,
	                      .header = header,
	                      .report = report,
	                      .err = err,
	                      .nr_positions = 1,
	                      .factor = 1,
	                      .function = NONE,
	                      .callee = NONE};
	struct slice line;
	int rc;

	while ((rc = input_line(in, &line, err)) > 0) {
		c.line = input_line_number(in);
		if ((rc = take_line(&c, line)) < 0)
			break;
	}
	if (rc == 0)
		rc = fold(&c);
	if (rc == 0)
		rc = check_sum(&c);
	callgraph_release(&c.graph);
	idmap_release(&c.by_number);
	idmap_release(&c.by_name);
	buf_release(&c.descriptions);
	free(c.event);
	return rc;
}

const struct format format_callgrind = {
        .name = "callgrind",
        .about = "callgrind and cachegrind output; values: its events",
        .detect = detect,
        .parse = parse,
};
