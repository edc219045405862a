/*
 * v8.c - the profiles of V8 by themselves: .cpuprofile and .heapprofile.
 *
 * Values of a CPU profile: samples, time (microseconds, each sample standing
 * for the time until the next); of a heap profile: bytes. Until Chrome 57 the
 * tree of a CPU profile was nested ("head"), with hit counts and no deltas.
 *
 * Source: Chrome DevTools protocol, Profiler.Profile and
 * HeapProfiler.SamplingHeapProfile; the old form: protocol version 1.1.
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/jsontok.h"
#include "collapse/formats/jsontree.h"
#include "collapse/formats/v8profile.h"

static int detect_cpu(struct slice head, bool is_all UNUSED)
{
	if (!head_is_object(head))
		return 0;
	if (head_has(head, "\"hitCount\"") && head_has(head, "\"functionName\""))
		return head_has(head, "\"traceEvents\"") ? 0 : 85;
	if (head_has(head, "\"callFrame\"") && head_has(head, "\"nodes\""))
		return head_has(head, "\"traceEvents\"") ? 0 : 75;
	return 0;
}

static int detect_heap(struct slice head, bool is_all UNUSED)
{
	return head_is_object(head) && head_has(head, "\"selfSize\"") &&
	                       head_has(head, "\"callFrame\"") ?
	               85 :
	               0;
}

/*
 * Takes a nested tree. self_key: the key of an object's own weight. Old nodes
 * carry the keys of a callFrame themselves.
 */
static void take_tree(struct jsontree *tree, struct json *json, struct folder *folder,
                      const struct format_options *options, const char *self_key,
                      struct format_report *report)
{
	struct slice key, function = {0}, url = {0};
	struct buf function_text = {0}, url_text = {0};
	uint32_t row, last_row = UINT32_MAX;
	int64_t line = -1;

	jsontree_begin(tree, json);
	while (jsontree_key(tree, json, &row, &key)) {
		uint32_t *name = &tree->table.rows[row].name;
		__int128 value;

		if (row != last_row) {
			function = url = (struct slice){0};
			line = -1;
		}
		last_row = row;
		if (slice_equals(key, self_key)) {
			if (json_fixed(json, &value) && value >= 0)
				tree->self[row] = (weight_fx)value;
			else
				format_bad(report, "%s that is no number from 0 to 2^64", self_key);
			continue;
		}
		if (slice_equals(key, "callFrame")) {
			*name = v8_call_frame(json, folder, options, &function_text);
			continue;
		}
		if (slice_equals(key, "functionName")) {
			function = json_text(json, &function_text);
		} else if (slice_equals(key, "url")) {
			url = json_text(json, &url_text);
		} else if (slice_equals(key, "lineNumber")) {
			line = json_index(json) - 1;
		} else {
			json_skip(json);
			continue;
		}
		if (function.at)
			*name = v8_frame_name(folder, options, function, url, line);
	}
	buf_release(&function_text);
	buf_release(&url_text);
}

static int fold_tree(struct jsontree *tree, struct folder *folder, struct format_report *report,
                     struct err *err)
{
	stacktable_drop_root(&tree->table, folder);
	for (uint32_t row = 0; row < tree->nr; row++)
		if (tree->self[row] &&
		    !format_count(folder, stacktable_node(&tree->table, folder, 0, row),
		                  tree->self[row], report, err))
			return -1;
	return 0;
}

static int parse_cpu(struct input *in, struct folder *folder, const struct format_options *options,
                     struct folded_header *header, struct format_report *report, struct err *err)
{
	static const char *const values[] = {"samples", "time"};
	struct jsontree tree = {0};
	struct v8_profile profile;
	struct slice text, key;
	struct json json;
	size_t value;
	int result;

	if (format_value(options, values, ARRAY_SIZE(values), options->count == COUNT_TIME, &value,
	                 err) ||
	    format_whole(in, &text, err))
		return -1;
	format_values_note(header, values, ARRAY_SIZE(values));
	format_unit(report, "cpu", value ? "microseconds" : "samples");
	json_init(&json, text);
	v8_profile_init(&profile, folder, options, value);
	if (json_peek(&json) == '{') {
		struct json again = json;

		v8_profile_object(&profile, &json);
		if (!profile.nr_nodes && json_object(&again)) {
			while (json_key(&again, &key)) {
				if (slice_equals(key, "head"))
					take_tree(&tree, &again, folder, options, "hitCount",
					          report);
				else
					json_skip(&again);
			}
		}
	}
	if (json.bad)
		format_bad(report, "offset %zu: %s", json.bad_offset, json.bad);
	if (tree.nr && value) {
		result = err_set(err, "this profile has no times, only hit counts");
	} else if (tree.nr) {
		result = fold_tree(&tree, folder, report, err);
		report->nr_samples = (uint64_t)(folder->total / WEIGHT_ONE);
	} else {
		result = v8_profile_fold(&profile, 0, report, err);
	}
	v8_profile_release(&profile);
	jsontree_release(&tree);
	return result;
}

static int parse_heap(struct input *in, struct folder *folder, const struct format_options *options,
                      struct folded_header *header UNUSED, struct format_report *report,
                      struct err *err)
{
	static const char *const values[] = {"bytes"};
	struct jsontree tree = {0};
	struct slice text, key;
	struct json json;
	size_t value;
	int result;

	if (format_value(options, values, ARRAY_SIZE(values), 0, &value, err) ||
	    format_whole(in, &text, err))
		return -1;
	format_unit(report, "heap", "bytes");
	json_init(&json, text);
	if (json_object(&json)) {
		while (json_key(&json, &key)) {
			if (slice_equals(key, "head"))
				take_tree(&tree, &json, folder, options, "selfSize", report);
			else
				json_skip(&json);
		}
	}
	if (json.bad)
		format_bad(report, "offset %zu: %s", json.bad_offset, json.bad);
	result = fold_tree(&tree, folder, report, err);
	jsontree_release(&tree);
	return result;
}

const struct format format_cpuprofile = {
        .name = "cpuprofile",
        .about = "V8 and Chrome CPU profile (.cpuprofile); values: samples, time",
        .detect = detect_cpu,
        .parse = parse_cpu,
};

const struct format format_heapprofile = {
        .name = "heapprofile",
        .about = "V8 and Chrome sampling heap profile (.heapprofile)",
        .detect = detect_heap,
        .parse = parse_heap,
};
