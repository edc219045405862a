/*
 * xdebug.c - function traces of PHP's Xdebug, computerized or for people.
 *
 * Values: time (microseconds in each function alone), memory (bytes by which
 * PHP's memory grew while the function was the innermost; what it shrank by is
 * not taken off) and calls. The trace of one request after the other in a file
 * is read as such.
 *
 * Source: Xdebug 2.9 to 3.2, src/tracing/trace_computerized.c, and its
 * documentation, "Function Trace", xdebug.trace_format=1: fields parted by
 * tabs: level, number, "0" = entry, "1" = exit, "R" = returned value, "A" =
 * assignment; time in seconds, memory; of entries also name, user-defined,
 * file that is included, file and line of the call, and parameters.
 * trace_textual.c, xdebug.trace_format=0: "TIME MEMORY -> NAME(...) FILE:LINE",
 * indented by two blanks a level, and where returned values are collected "TIME
 * MEMORY >=> VALUE". Without those no exit is known, and time belongs to the
 * function that was entered last.
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/callers.h"
#include "share/mem.h"
#include "share/num.h"

#define DEPTH_MAX 65536

enum { TIME, MEMORY, CALLS };

static const char *const values[] = {"time", "memory", "calls"};
static const char *const units[] = {"microseconds", "bytes", "calls"};

struct trace {
	struct folder *folder;
	struct format_report *report;
	struct err *err;
	size_t value;
	uint64_t line;
	uint32_t *nodes; /* of the calls that are open; [0] is the root */
	size_t nr, capacity;
	weight_fx last; /* time or memory at the record before */
	struct buf name;
};

static int detect(struct slice head, bool is_all UNUSED)
{
	return (slice_starts(head, "Version: ") || slice_starts(head, "TRACE START [")) &&
	                       head_has(head, "TRACE START [") &&
	                       (head_has(head, "\t0\t") || head_has(head, "   -> ")) ?
	               95 :
	               0;
}

static int bad(struct trace *trace, const char *what, struct slice line)
{
	format_bad(trace->report, "line %llu: %s: %.*s", (unsigned long long)trace->line, what,
	           (int)MIN_OF(line.size, (size_t)100), line.at);
	return 0;
}

/* Calls deeper than this are no longer open, however they ended. */
static void close_below(struct trace *trace, uint64_t depth)
{
	trace->nr = (size_t)MIN_OF(trace->nr, depth + 1);
}

/* What has gone by since the record before belongs to the innermost open call. */
static bool advance(struct trace *trace, weight_fx now)
{
	weight_fx delta = now > trace->last ? now - trace->last : 0;

	trace->last = now;
	return trace->nr < 2 || folder_count(trace->folder, trace->nodes[trace->nr - 1], delta);
}

/* NAME, 1, INCLUDED FILE, and of the call, not of what is called, FILE and LINE */
static uint32_t frame(struct trace *trace, struct slice rest)
{
	struct slice name = slice_next_field(&rest, '	'), included;

	slice_next_field(&rest, '	');
	included = slice_next_field(&rest, '	');
	buf_reset(&trace->name);
	buf_add(&trace->name, name.at, name.size);
	if (included.size) {
		buf_char(&trace->name, '(');
		buf_add(&trace->name, included.at, included.size);
		buf_char(&trace->name, ')');
	}
	return folder_name(trace->folder, trace->name.at, trace->name.size);
}

static int enter(struct trace *trace, uint64_t level, uint32_t name, struct slice line)
{
	uint32_t node;

	if (level >= DEPTH_MAX)
		return bad(trace, "it is too deep", line);
	node = folder_child(trace->folder, trace->nodes[trace->nr - 1], name);
	MEM_GROW(trace->nodes, trace->nr, trace->capacity);
	trace->nodes[trace->nr++] = node;
	trace->report->nr_samples++;
	if (trace->value == CALLS && !folder_count(trace->folder, node, WEIGHT_ONE))
		return format_too_large(trace->err);
	return 0;
}

/* "NAME(ARGUMENTS) FILE:LINE": the name, with the file where one is included. */
static struct slice textual_name(struct slice text)
{
	size_t end = slice_find(text, "(");

	if (slice_find(text, "{closure:") < end) /* "{closure:/a(1).php:1-1}(...)" */
		end = MIN_OF(slice_find(text, "}(") + 1, text.size);
	else if (slice_starts(text, "include") || slice_starts(text, "require"))
		end = MIN_OF(slice_find(text, ")") + 1, text.size);
	return (struct slice){text.at, end};
}

/* Notes time or memory of the record at hand; -1: the sum is too large, 1: neither is one. */
static int take_now(struct trace *trace, struct slice time, struct slice memory)
{
	weight_fx now = 0;

	if (trace->value == TIME && weight_parse(time.at, time.size, &now) == WEIGHT_OK)
		now *= 1000000;
	else if (trace->value == TIME || weight_parse(memory.at, memory.size, &now) != WEIGHT_OK)
		return 1;
	if (trace->value != CALLS && !advance(trace, now))
		return format_too_large(trace->err);
	return 0;
}

static int take_textual(struct trace *trace, struct slice line)
{
	struct slice rest = line, time = slice_next_word(&rest), memory = slice_next_word(&rest),
	             delta, text = rest;
	size_t indent = 0;
	int rc;

	delta = slice_next_word(&text);
	if (slice_starts(delta, "+") || (slice_starts(delta, "-") && !slice_starts(delta, "->")))
		rest = text; /* by which memory grew */
	while (indent < rest.size && rest.at[indent] == ' ')
		indent++;
	text = slice_from(rest, indent);
	if (slice_starts(time, "=>"))
		return 0; /* an assignment */
	if ((rc = take_now(trace, time, memory)) != 0)
		return rc < 0 ? -1 : bad(trace, "it has no time and memory", line);
	if (slice_starts(text, "-> ")) {
		uint64_t level = indent < 3 ? 1 : (indent - 3) / 2 + 1;
		struct slice name = textual_name(slice_from(text, 3));

		close_below(trace, level - 1);
		return enter(trace, level, folder_name(trace->folder, name.at, name.size), line);
	}
	if (slice_starts(text, ">=> "))
		close_below(trace, indent < 4 ? 0 : (indent - 4) / 2);
	else if (!text.size)
		close_below(trace, 0); /* the end of the request */
	else
		return bad(trace, "neither entry nor exit", line);
	return 0;
}

static int take_line(struct trace *trace, struct slice line)
{
	struct slice rest = line, level_text = slice_next_field(&rest, '	'), kind, time,
	             memory;
	uint64_t level;
	int rc;

	if (slice_starts(line, "TRACE START")) {
		close_below(trace, 0);
		trace->last = 0;
		return 0;
	}
	if (!line.size || slice_starts(line, "Version: ") || slice_starts(line, "File format: ") ||
	    slice_starts(line, "TRACE END"))
		return 0;
	if (*line.at == ' ')
		return take_textual(trace, line);
	slice_next_field(&rest, '	');
	kind = slice_next_field(&rest, '	');
	if (slice_equals(kind, "R") || slice_equals(kind, "A"))
		return 0;
	time = slice_next_field(&rest, '	');
	memory = slice_next_field(&rest, '	');
	if ((rc = take_now(trace, time, memory)) != 0)
		return rc < 0 ? -1 : bad(trace, "it has no time and memory", line);
	if (!level_text.size) {
		close_below(trace, 0); /* the end of the request */
		return 0;
	}
	if (num_parse_u64(level_text.at, level_text.size, &level) || !level)
		return bad(trace, "it has no level", line);
	close_below(trace, level - 1);
	if (slice_equals(kind, "0"))
		return rest.size ? enter(trace, level, frame(trace, rest), line) :
		                   bad(trace, "a call without a name", line);
	return slice_equals(kind, "1") ? 0 : bad(trace, "neither entry nor exit", line);
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header, struct format_report *report, struct err *err)
{
	struct trace trace = {.folder = folder, .report = report, .err = err, .nr = 1};
	struct slice line;
	int rc;

	if (format_value(options, values, ARRAY_SIZE(values), TIME, &trace.value, err))
		return -1;
	format_values_note(header, values, ARRAY_SIZE(values));
	format_unit(report, values[trace.value], units[trace.value]);
	trace.nodes = mem_zalloc(16 * sizeof(*trace.nodes));
	trace.capacity = 16;
	while ((rc = input_line(in, &line, err)) > 0) {
		trace.line = input_line_number(in);
		if ((rc = take_line(&trace, line)) < 0)
			break;
	}
	free(trace.nodes);
	buf_release(&trace.name);
	return rc;
}

const struct format format_xdebug = {
        .name = "xdebug",
        .about = "PHP Xdebug traces; values: time, memory, calls",
        .detect = detect,
        .parse = parse,
};
