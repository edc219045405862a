/*
 * xctrace.c - tables that Apple's `xctrace export` writes as XML.
 *
 * Values: samples (a row each), time (nanoseconds, the rows' weights). Any
 * schema with backtraces will do; time-profile is the usual one.
 *
 * An element with an id may be referred to later by an empty one of the same
 * name with ref=ID. Read as a stream by libxml2, so that memory grows with
 * distinct backtraces, not with rows.
 *
 * Source: xctrace 14 and 15 on macOS, `xctrace export --xpath` (Instruments);
 * frames run from the innermost out.
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/idmap.h"
#include "collapse/formats/xmlin.h"
#include "share/mem.h"
#include "share/num.h"

struct backtrace {
	size_t first, nr; /* names, innermost first */
};

struct reading {
	struct folder *folder;
	const struct format_options *options;
	struct format_report *report;
	bool by_time;
	struct idmap frames, threads, weights, backtrace_ids; /* by id */
	uint32_t *names;
	size_t nr_names, names_capacity;
	struct backtrace *backtraces;
	size_t nr_backtraces, backtraces_capacity;
	uint64_t *weight_values;
	size_t nr_weights, weights_capacity;

	/* the row at hand */
	uint32_t root, backtrace;
	uint64_t weight;
	bool has_backtrace, in_backtrace;
	uint64_t tag; /* id of the tagged backtrace at hand, or 0 */
};

static int detect(struct slice head, bool is_all UNUSED)
{
	return head_has(head, "<trace-query-result>") ? 98 : 0;
}

/* "main  0x8480c1 (rust_test2, pid: 49374)" -> the name, pid and tid */
static uint32_t thread_root(struct reading *reading, struct slice fmt)
{
	const char *bracket = memmem(fmt.at, fmt.size, "0x", 2), *pid_at;
	struct slice name = fmt;
	uint64_t tid = 0;
	int64_t pid = -1;

	pid_at = memmem(fmt.at, fmt.size, "pid: ", 5);
	if (pid_at) {
		pid = 0;
		for (pid_at += 5; pid_at < fmt.at + fmt.size && *pid_at >= '0' && *pid_at <= '9' &&
		                  pid < INT32_MAX;
		     pid_at++)
			pid = pid * 10 + (*pid_at - '0');
	}
	if (bracket) {
		size_t digits = 2;

		while (bracket + digits < fmt.at + fmt.size && bracket[digits] != ' ')
			digits++;
		num_parse_hex(bracket, digits, &tid);
		name.size = (size_t)(bracket - fmt.at);
		while (name.size && name.at[name.size - 1] == ' ')
			name.size--;
	}
	return format_root(reading->folder, reading->options, name.size ? name.at : NULL, name.size,
	                   pid, tid ? (int64_t)(tid & INT64_MAX) : -1);
}

/* Looks a reference up; false for an element that is no reference. */
static bool refer(const struct xmlin *xml, const struct idmap *map, uint32_t *value)
{
	struct slice ref = xmlin_attribute(xml, "ref");
	uint64_t id;

	if (!ref.at)
		return false;
	*value = num_parse_u64(ref.at, ref.size, &id) ? UINT32_MAX : idmap_get(map, id);
	return true;
}

static void define(const struct xmlin *xml, struct idmap *map, uint32_t value)
{
	struct slice text = xmlin_attribute(xml, "id");
	uint64_t id;

	if (text.at && num_parse_u64(text.at, text.size, &id) == 0)
		idmap_set(map, id, value);
}

static void begin_backtrace(struct reading *reading, const struct xmlin *xml)
{
	uint32_t index;

	if (refer(xml, &reading->backtrace_ids, &index)) {
		reading->has_backtrace |= index != UINT32_MAX;
		if (index != UINT32_MAX)
			reading->backtrace = index;
		if (index != UINT32_MAX && reading->tag)
			idmap_set(&reading->backtrace_ids, reading->tag, index);
		return;
	}
	MEM_GROW(reading->backtraces, reading->nr_backtraces, reading->backtraces_capacity);
	index = (uint32_t)reading->nr_backtraces++;
	reading->backtraces[index] = (struct backtrace){reading->nr_names, 0};
	define(xml, &reading->backtrace_ids, index);
	if (reading->tag)
		idmap_set(&reading->backtrace_ids, reading->tag, index);
	reading->backtrace = index;
	reading->has_backtrace = true;
	reading->in_backtrace = !xml->is_empty;
}

/* Newer versions wrap a backtrace, and refer to the wrapping. */
static void begin_tagged(struct reading *reading, const struct xmlin *xml)
{
	struct slice id = xmlin_attribute(xml, "id");

	if (xmlin_attribute(xml, "ref").at)
		begin_backtrace(reading, xml);
	else if (!id.at || num_parse_u64(id.at, id.size, &reading->tag))
		reading->tag = 0;
}

static void take_frame(struct reading *reading, const struct xmlin *xml)
{
	uint32_t name;

	if (!refer(xml, &reading->frames, &name)) {
		struct slice text = xmlin_attribute(xml, "name");

		if (!text.size)
			text = xmlin_attribute(xml, "addr");
		name = folder_name(reading->folder, text.at ? text.at : "", text.size);
		define(xml, &reading->frames, name);
	}
	if (name == UINT32_MAX)
		name = folder_name(reading->folder, "[unknown]", 9);
	if (!reading->in_backtrace)
		return;
	MEM_GROW(reading->names, reading->nr_names, reading->names_capacity);
	reading->names[reading->nr_names++] = name;
	reading->backtraces[reading->backtrace].nr++;
}

static void take_weight(struct reading *reading, struct xmlin *xml)
{
	uint32_t index;
	uint64_t value = 0;

	if (!refer(xml, &reading->weights, &index)) {
		struct slice text = xmlin_text(xml);

		if (num_parse_u64(text.at, text.size, &value))
			format_bad(reading->report, "a weight that is no number");
		MEM_GROW(reading->weight_values, reading->nr_weights, reading->weights_capacity);
		index = (uint32_t)reading->nr_weights++;
		reading->weight_values[index] = value;
		define(xml, &reading->weights, index);
	}
	reading->weight = index == UINT32_MAX ? 0 : reading->weight_values[index];
}

static void take_thread(struct reading *reading, const struct xmlin *xml)
{
	uint32_t root;

	if (!refer(xml, &reading->threads, &root)) {
		struct slice fmt = xmlin_attribute(xml, "fmt");

		root = fmt.at ? thread_root(reading, fmt) : 0;
		define(xml, &reading->threads, root);
	}
	reading->root = root == UINT32_MAX ? 0 : root;
}

static int end_row(struct reading *reading, struct err *err)
{
	uint32_t node = reading->root;

	if (reading->has_backtrace && reading->backtraces[reading->backtrace].nr) {
		const struct backtrace *backtrace = &reading->backtraces[reading->backtrace];

		for (size_t i = backtrace->nr; i-- > 0;)
			node = folder_child(reading->folder, node,
			                    reading->names[backtrace->first + i]);
	} else {
		node = folder_child(reading->folder, node,
		                    folder_name(reading->folder, "[no stack]", 10));
	}
	return format_count(reading->folder, node,
	                    reading->by_time ? weight_from_u64(reading->weight) : WEIGHT_ONE,
	                    reading->report, err) ?
	               0 :
	               -1;
}

static int take_node(struct reading *reading, struct xmlin *xml, struct err *err)
{
	if (xmlin_is(xml, "row")) {
		if (xml->is_end)
			return end_row(reading, err);
		reading->root = 0;
		reading->weight = 0;
		reading->has_backtrace = reading->in_backtrace = false;
	} else if (xmlin_is(xml, "backtrace")) {
		if (xml->is_end)
			reading->in_backtrace = false;
		else
			begin_backtrace(reading, xml);
	} else if (xmlin_is(xml, "tagged-backtrace")) {
		if (xml->is_end)
			reading->tag = 0;
		else
			begin_tagged(reading, xml);
	} else if (xml->is_end) {
		return 0;
	} else if (xmlin_is(xml, "frame")) {
		take_frame(reading, xml);
	} else if (xmlin_is(xml, "thread")) {
		take_thread(reading, xml);
	} else if (xmlin_is(xml, "weight")) {
		take_weight(reading, xml);
	}
	return 0;
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header, struct format_report *report, struct err *err)
{
	static const char *const values[] = {"samples", "time"};
	struct reading reading = {.folder = folder, .options = options, .report = report};
	struct xmlin xml;
	size_t value;
	int more = 1, result = 0;

	if (format_value(options, values, ARRAY_SIZE(values), options->count == COUNT_TIME, &value,
	                 err) ||
	    xmlin_open(&xml, in, err))
		return -1;
	reading.by_time = value;
	format_values_note(header, values, ARRAY_SIZE(values));
	format_unit(report, "cpu", value ? "nanoseconds" : "samples");
	while (!result && (more = xmlin_next(&xml)) > 0)
		result = take_node(&reading, &xml, err);
	if (more < 0)
		format_bad(report, "line %d: %s", xml.bad_line, xml.bad);
	xmlin_close(&xml);
	free(reading.names);
	free(reading.backtraces);
	free(reading.weight_values);
	idmap_release(&reading.frames);
	idmap_release(&reading.threads);
	idmap_release(&reading.weights);
	idmap_release(&reading.backtrace_ids);
	return result;
}

const struct format format_xctrace = {
        .name = "xctrace",
        .about = "XML by xctrace export (Instruments); values: samples, time",
        .detect = detect,
        .parse = parse,
};
