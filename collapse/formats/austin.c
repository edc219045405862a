/*
 * austin.c - what austin prints: folded stacks with its own frames and metrics.
 *
 * Values: time (microseconds), memory (bytes that were allocated; what was
 * freed is left out). Frames as those of its binary format (mojo.c): threads
 * by their id in hexadecimal, functions by their name, with --srcline their
 * file and line.
 *
 * Source: P403n1x87/austin, src/events.h and README, versions 1 to 3:
 *
 *   "# KEY: VALUE"                        mode: wall, cpu, memory or full
 *   "P<pid>;T<tid>{;FILE:FUNCTION:LINE} METRIC"
 *   METRIC = time, or memory; in full mode "time,idle,memory"
 *   ";:GC:" stands for the collector, ";:INVALID:" for a frame that could not
 *   be read, ";kernel:FUNCTION:0" for the kernel
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/callers.h"
#include "share/num.h"

struct austin {
	struct folder *folder;
	const struct format_options *options;
	struct format_report *report;
	struct buf name;
	bool is_full;
};

/* "P123;T456" or, from 3.6 on, "P123;T0:456": both numbers, and what follows. */
static bool cut_thread(struct slice *line, uint64_t *pid, uint64_t *tid)
{
	struct slice rest = *line, part;
	size_t colon;

	if (!slice_starts(rest, "P"))
		return false;
	part = slice_from(rest, 1);
	part.size = slice_find(part, ";");
	if (num_parse_u64(part.at, part.size, pid))
		return false;
	rest = slice_from(rest, part.size + 2);
	if (!slice_starts(rest, "T"))
		return false;
	for (part = slice_from(rest, 1), part.size = 0;
	     part.size + 1 < rest.size && !strchr("; ", rest.at[part.size + 1]);)
		part.size++;
	*line = slice_from(rest, part.size + 1);
	colon = slice_find(part, ":");
	if (colon < part.size)
		part = slice_from(part, colon + 1);
	return num_parse_u64(part.at, part.size, tid) == 0;
}

static int detect(struct slice head, bool is_all UNUSED)
{
	uint64_t pid, tid;

	if (slice_starts(head, "# austin: "))
		return 95;
	while (slice_starts(head, "#"))
		head = slice_from(head, slice_find(head, "\n") + 1);
	return cut_thread(&head, &pid, &tid) ? 80 : 0;
}

static void take_header(struct austin *austin, struct slice line, struct folded_header *header,
                        bool *is_memory)
{
	struct slice value;

	if (!slice_starts(line, "# mode: "))
		return;
	value = slice_trim(slice_from(line, 8));
	austin->is_full = slice_equals(value, "full");
	*is_memory |= slice_equals(value, "memory");
	folded_header_set(header, "mode", "%.*s", (int)MIN_OF(value.size, (size_t)40), value.at);
}

/* "FILE:FUNCTION:LINE"; both colons are looked for from the right. */
static uint32_t add_frame(struct austin *austin, uint32_t node, struct slice frame)
{
	const char *line = memrchr(frame.at, ':', frame.size);
	const char *scope =
	        line && line > frame.at ? memrchr(frame.at, ':', (size_t)(line - frame.at)) : NULL;
	struct slice file, name;
	uint64_t number;

	if (slice_equals(frame, ":GC:"))
		return folder_child(austin->folder, node, folder_name(austin->folder, "[gc]", 4));
	if (slice_equals(frame, ":INVALID:"))
		return folder_child(austin->folder, node,
		                    folder_name(austin->folder, "[invalid]", 9));
	if (!scope || num_parse_u64(line + 1, (size_t)(frame.at + frame.size - line - 1), &number))
		return folder_child(austin->folder, node,
		                    folder_name(austin->folder, frame.at, frame.size));
	file = (struct slice){frame.at, (size_t)(scope - frame.at)};
	name = (struct slice){scope + 1, (size_t)(line - scope - 1)};
	if (slice_equals(file, "kernel") && number == 0) {
		buf_reset(&austin->name);
		buf_add(&austin->name, name.at, name.size);
		buf_string(&austin->name, austin->options->annotate ? "_[k]" : "");
		name = (struct slice){austin->name.at, austin->name.size};
		file.size = 0;
	}
	return folder_child(
	        austin->folder, node,
	        format_frame(austin->folder, austin->options, name, file, (int64_t)number));
}

/* The last word of the line: the metric that is asked for, and whether the thread idled. */
static enum weight_parse parse_metric(const struct austin *austin, struct slice metric,
                                      bool is_memory, weight_fx *weight, bool *is_idle)
{
	*is_idle = false;
	if (austin->is_full) {
		size_t first = slice_find(metric, ",");
		struct slice rest = slice_from(metric, first + 1);

		*is_idle = slice_starts(rest, "1,");
		if (is_memory)
			metric = slice_from(rest, slice_find(rest, ",") + 1);
		else
			metric.size = first;
	}
	return weight_parse(metric.at, metric.size, weight);
}

static int take_stack(struct austin *austin, struct slice line, uint64_t number, bool is_memory,
                      struct err *err)
{
	struct slice rest = line, frame, metric;
	const char *blank = line.size ? memrchr(line.at, ' ', line.size) : NULL;
	uint64_t pid, tid;
	weight_fx weight;
	uint32_t node;
	char name[40];
	bool is_idle;
	int size;

	metric = blank ? slice_from(line, (size_t)(blank + 1 - line.at)) : (struct slice){"", 0};
	if (blank)
		rest.size = (size_t)(blank - line.at);
	if (!blank || !cut_thread(&rest, &pid, &tid)) {
		format_bad(austin->report, "line %llu: no stack of austin: %.*s",
		           (unsigned long long)number, (int)MIN_OF(line.size, (size_t)100),
		           line.at);
		return 0;
	}
	switch (parse_metric(austin, metric, is_memory, &weight, &is_idle)) {
	case WEIGHT_OK:
		break;
	case WEIGHT_NEGATIVE: /* memory that was given back */
		austin->report->nr_left_out++;
		austin->report->left_out = "measurements of freed memory";
		return 0;
	default:
		format_bad(austin->report, "line %llu: its metric is no number: %.*s",
		           (unsigned long long)number, (int)MIN_OF(metric.size, (size_t)100),
		           metric.at);
		return 0;
	}
	size = snprintf(name, sizeof(name), "thread %llx", (unsigned long long)tid);
	node = format_root(austin->folder, austin->options, name, (size_t)size, (int64_t)pid, -1);
	while (folded_frame(&rest, &frame))
		node = add_frame(austin, node, frame);
	if (is_idle)
		node = folder_child(austin->folder, node, folder_name(austin->folder, "[idle]", 6));
	return format_count(austin->folder, node, weight, austin->report, err) ? 0 : -1;
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header, struct format_report *report, struct err *err)
{
	static const char *const values[] = {"time", "memory"};
	struct austin austin = {.folder = folder, .options = options, .report = report};
	bool is_memory = false;
	struct slice line;
	size_t value;
	int rc;

	if (format_value(options, values, ARRAY_SIZE(values), 0, &value, err) < 0)
		return -1;
	while ((rc = input_line(in, &line, err)) > 0) {
		if (slice_starts(line, "#"))
			take_header(&austin, line, header, &is_memory);
		else if (slice_trim(line).size &&
		         (rc = take_stack(&austin, line, input_line_number(in),
		                          austin.is_full && value, err)) < 0)
			break;
	}
	buf_release(&austin.name);
	if (rc == 0 && !austin.is_full && options->value && is_memory != (value == 1))
		return err_set(err, "no value '%s'; there are: %s", options->value,
		               values[is_memory]);
	is_memory |= austin.is_full && value;
	if (austin.is_full)
		format_values_note(header, values, ARRAY_SIZE(values));
	format_unit(report, values[is_memory], is_memory ? "bytes" : "microseconds");
	return rc;
}

const struct format format_austin = {
        .name = "austin",
        .about = "austin's folded stacks; values: time, memory",
        .detect = detect,
        .parse = parse,
};
