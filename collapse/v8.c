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
#include "collapse/format.h"

#include "collapse/jsontok.h"
#include "collapse/v8profile.h"
#include "share/mem.h"

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

/* A nested tree: each object holds its children. */
struct tree {
	struct folder *folder;
	const struct format_options *options;
	struct stacktable table;
	weight_fx *self; /* by row */
	size_t nr, capacity;
	uint32_t *open; /* rows of the objects around the place read now */
	size_t nr_open, open_capacity;
};

static void open_row(struct tree *tree)
{
	uint32_t parent = tree->nr_open ? tree->open[tree->nr_open - 1] : STACKTABLE_NONE;

	MEM_GROW(tree->self, tree->nr, tree->capacity);
	MEM_GROW(tree->open, tree->nr_open, tree->open_capacity);
	tree->self[tree->nr++] = 0;
	tree->open[tree->nr_open++] = stacktable_add(&tree->table, parent, STACKTABLE_NONE);
}

/*
 * Takes the object of a node and all below it. self_key: the key of its own
 * weight. Old nodes carry the keys of a callFrame themselves.
 */
static void take_tree(struct tree *tree, struct json *json, const char *self_key)
{
	struct buf function = {0}, url = {0};
	struct slice key;

	if (!json_object(json))
		return;
	open_row(tree);
	while (tree->nr_open) {
		uint32_t row = tree->open[tree->nr_open - 1];
		struct slice function_name = {0}, url_name = {0};
		bool is_old = false, went_down = false;
		int64_t line = -1;
		__int128 value;

		while (!went_down && json_key(json, &key)) {
			if (slice_equals(key, "children") && json_peek(json) == '[') {
				json_array(json);
				went_down = true;
			} else if (slice_equals(key, self_key)) {
				if (json_fixed(json, &value) && value > 0)
					tree->self[row] = (weight_fx)value;
			} else if (slice_equals(key, "callFrame")) {
				tree->table.rows[row].name =
				        v8_call_frame(json, tree->folder, tree->options, &function);
			} else if (slice_equals(key, "functionName")) {
				function_name = json_text(json, &function);
				is_old = true;
			} else if (slice_equals(key, "url")) {
				url_name = json_text(json, &url);
			} else if (slice_equals(key, "lineNumber")) {
				line = json_index(json) - 1;
			} else {
				json_skip(json);
			}
		}
		if (is_old)
			tree->table.rows[row].name = v8_frame_name(tree->folder, tree->options,
			                                           function_name, url_name, line);
		if (json->bad)
			break;
		/* behind an object's end: its siblings, else the rest of the parent */
		if (!went_down)
			tree->nr_open--;
		while (went_down || tree->nr_open) {
			went_down = false;
			if (!json_item(json))
				break;
			if (json_object(json)) {
				open_row(tree);
				break;
			}
			went_down = true;
		}
	}
	buf_release(&function);
	buf_release(&url);
}

static int fold_tree(struct tree *tree, struct format_report *report, struct err *err)
{
	for (uint32_t row = 0; row < tree->nr; row++) {
		if (!tree->self[row])
			continue;
		if (!format_count(tree->folder, stacktable_node(&tree->table, tree->folder, 0, row),
		                  tree->self[row], report, err))
			return -1;
	}
	return 0;
}

static void tree_release(struct tree *tree)
{
	stacktable_release(&tree->table);
	free(tree->self);
	free(tree->open);
}

static int parse_cpu(struct input *in, struct folder *folder, const struct format_options *options,
                     struct folded_header *header, struct format_report *report, struct err *err)
{
	static const char *const values[] = {"samples", "time"};
	struct tree tree = {.folder = folder, .options = options};
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
	v8_profile_init(&profile, folder, options);
	if (json_peek(&json) == '{') {
		struct json again = json;

		v8_profile_object(&profile, &json);
		if (!profile.nr_nodes && json_object(&again)) {
			while (json_key(&again, &key)) {
				if (slice_equals(key, "head"))
					take_tree(&tree, &again, "hitCount");
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
		result = fold_tree(&tree, report, err);
		report->nr_samples = (uint64_t)(folder->total / WEIGHT_ONE);
	} else {
		result = v8_profile_fold(&profile, 0, value, report, err);
	}
	v8_profile_release(&profile);
	tree_release(&tree);
	return result;
}

static int parse_heap(struct input *in, struct folder *folder, const struct format_options *options,
                      struct folded_header *header UNUSED, struct format_report *report,
                      struct err *err)
{
	static const char *const values[] = {"bytes"};
	struct tree tree = {.folder = folder, .options = options};
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
				take_tree(&tree, &json, "selfSize");
			else
				json_skip(&json);
		}
	}
	if (json.bad)
		format_bad(report, "offset %zu: %s", json.bad_offset, json.bad);
	result = fold_tree(&tree, report, err);
	tree_release(&tree);
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
