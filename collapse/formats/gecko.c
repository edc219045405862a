/*
 * gecko.c - the profiles of Firefox: gecko's own and the processed ones, which
 * samply and others write too.
 *
 * Both hold tables (stacks, frames, strings) per thread or, in newer ones,
 * shared by all threads; gecko's are rows with a schema, the processed ones
 * columns. Other processes are further profiles inside of the first, in old
 * ones as JSON in a string. Weights are samples, unless the samples table has
 * a weight column.
 *
 * Source: firefox-devtools/profiler, docs-developer/gecko-profile-format.md,
 * processed-profile-format.md and src/types/profile.js.
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/jsontok.h"
#include "collapse/formats/stacktable.h"
#include "share/mem.h"

struct column {
	__int128 *at; /* indices, or 10^-9 of a number; -1 for null, negative and missing */
	size_t nr, capacity;
};

/* Tables as JSON text; empty where a thread uses the shared ones. */
struct tables {
	struct slice strings, stacks, frames, funcs, resources;
	struct stacktable table;
	bool is_built;
};

struct reading {
	struct folder *folder;
	const struct format_options *options;
	struct format_report *report;
	struct slice *profiles; /* still to be read */
	size_t nr_profiles, profiles_capacity;
	struct arena texts; /* profiles that were strings */
	struct tables shared;
	int64_t pid;     /* of the profile at hand, or -1 */
	bool is_our_own; /* written by to_firefox.c: a thread -1 is none */
};

static int detect(struct slice head, bool is_all UNUSED)
{
	if (!head_is_object(head))
		return 0;
	if (head_has(head, "\"stackTable\"") || head_has(head, "\"frameTable\""))
		return 90;
	if (head_has(head, "\"breakpadId\"") ||
	    (head_has(head, "\"meta\"") &&
	     (head_has(head, "\"processType\"") ||
	      head_has(head, "\"preprocessedProfileVersion\"") || head_has(head, "\"stackwalk\""))))
		return 85;
	return 0;
}

/* ---- tables ---- */

static void add_value(struct column *column, struct json *json, bool is_index)
{
	__int128 value = -1;

	MEM_GROW(column->at, column->nr, column->capacity);
	if (is_index)
		value = json_index(json);
	else if (!json_fixed(json, &value) || value < 0)
		value = -1;
	column->at[column->nr++] = value;
}

/* Row form: the place of a column in {"schema": {NAME: PLACE}}; -1 = not there. */
static int64_t schema_place(struct json *json, const char *name)
{
	struct slice key;
	int64_t place = -1;

	if (json_object(json)) {
		while (json_key(json, &key)) {
			if (slice_equals(key, name))
				place = json_index(json);
			else
				json_skip(json);
		}
	}
	return place;
}

static void rows_column(struct json *json, int64_t place, struct column *column, bool is_index)
{
	if (!json_array(json))
		return;
	while (json_item(json)) {
		size_t before = column->nr;

		if (json_array(json)) {
			for (int64_t i = 0; json_item(json); i++) {
				if (i == place)
					add_value(column, json, is_index);
				else
					json_skip(json);
			}
		}
		if (column->nr == before) {
			MEM_GROW(column->at, column->nr, column->capacity);
			column->at[column->nr++] = -1;
		}
	}
}

/* A column of a table in either form. */
static void load_column(struct slice table, const char *name, struct column *column, bool is_index)
{
	struct slice key, data = {0};
	struct json json;
	int64_t place = -1;

	json_init(&json, table);
	if (!json_object(&json))
		return;
	while (json_key(&json, &key)) {
		if (slice_equals(key, "schema"))
			place = schema_place(&json, name);
		else if (slice_equals(key, "data") && place >= 0)
			rows_column(&json, place, column, is_index);
		else if (slice_equals(key, "data"))
			data = json_take(&json);
		else if (slice_equals(key, name) && json_peek(&json) == '[') {
			json_array(&json);
			while (json_item(&json))
				add_value(column, &json, is_index);
		} else
			json_skip(&json);
	}
	if (place >= 0 && data.at && !column->nr) {
		json_init(&json, data);
		rows_column(&json, place, column, is_index);
	}
}

static int64_t value_at(const struct column *column, int64_t row)
{
	return row >= 0 && (uint64_t)row < column->nr ? (int64_t)column->at[row] : -1;
}

/* ---- names ---- */

struct names {
	struct slice *strings; /* as JSON */
	size_t nr, capacity;
	struct buf text;
};

static void load_strings(struct names *names, struct slice text)
{
	struct json json;

	json_init(&json, text);
	if (!json_array(&json))
		return;
	while (json_item(&json)) {
		MEM_GROW(names->strings, names->nr, names->capacity);
		names->strings[names->nr++] = json_take(&json);
	}
}

static struct slice string_at(struct names *names, int64_t index)
{
	struct json json;

	if (index < 0 || (uint64_t)index >= names->nr)
		return (struct slice){0};
	json_init(&json, names->strings[index]);
	return json_text(&json, &names->text);
}

/* "name (url:12:3)" -> "name", where what is in the brackets ends in a line number. */
static struct slice without_place(struct slice text)
{
	size_t i = text.size;

	if (!i || text.at[i - 1] != ')')
		return text;
	for (i--; i > 0 && text.at[i - 1] >= '0' && text.at[i - 1] <= '9'; i--)
		;
	if (i == text.size - 1 || text.at[i - 1] != ':')
		return text;
	for (; i > 1; i--)
		if (text.at[i - 1] == '(' && text.at[i - 2] == ' ')
			return (struct slice){text.at, i - 2};
	return text;
}

/* is_location: gecko's own strings hold the place of JavaScript too. */
static uint32_t frame_name(struct reading *reading, struct names *names, int64_t string,
                           int64_t resource_name, bool is_location)
{
	struct slice text = string_at(names, string);
	struct buf name = {0};
	uint32_t id;

	if (is_location && !reading->options->srcline)
		text = without_place(text);
	buf_add(&name, text.at, text.size);
	/* an address without a symbol says more with its library */
	if (slice_starts(text, "0x") && resource_name >= 0) {
		struct slice library = string_at(names, resource_name);
		char *address = mem_strndup(name.at, name.size);

		buf_reset(&name);
		buf_add(&name, library.at, library.size);
		buf_printf(&name, "+%s", address);
		free(address);
	}
	id = folder_name(reading->folder, name.at, name.size);
	buf_release(&name);
	return id;
}

static void build(struct reading *reading, struct tables *tables)
{
	struct column location = {0}, func = {0}, name = {0}, resource = {0}, resource_name = {0};
	struct column prefix = {0}, frame = {0};
	struct names names = {0};
	uint32_t *frame_names;
	size_t nr_frames;

	load_strings(&names, tables->strings);
	load_column(tables->frames, "location", &location, true); /* gecko */
	load_column(tables->frames, "func", &func, true);         /* processed */
	load_column(tables->funcs, "name", &name, true);
	load_column(tables->funcs, "resource", &resource, true);
	load_column(tables->resources, "name", &resource_name, true);
	load_column(tables->stacks, "prefix", &prefix, true);
	load_column(tables->stacks, "frame", &frame, true);

	nr_frames = MAX_OF(location.nr, func.nr);
	frame_names = mem_resize(NULL, nr_frames + 1, sizeof(*frame_names));
	for (size_t i = 0; i < nr_frames; i++) {
		int64_t f = value_at(&func, (int64_t)i);
		int64_t string = func.nr ? value_at(&name, f) : value_at(&location, (int64_t)i);
		int64_t library = func.nr ? value_at(&resource_name, value_at(&resource, f)) : -1;

		frame_names[i] = frame_name(reading, &names, string, library, !func.nr);
	}
	for (size_t i = 0; i < frame.nr; i++) {
		int64_t f = (int64_t)frame.at[i], parent = value_at(&prefix, (int64_t)i);

		stacktable_add(
		        &tables->table,
		        parent < 0 || parent >= UINT32_MAX ? STACKTABLE_NONE : (uint32_t)parent,
		        f < 0 || (uint64_t)f >= nr_frames ? STACKTABLE_NONE : frame_names[f]);
	}
	stacktable_drop_root(&tables->table, reading->folder);
	tables->is_built = true;
	free(frame_names);
	free(location.at);
	free(func.at);
	free(name.at);
	free(resource.at);
	free(resource_name.at);
	free(prefix.at);
	free(frame.at);
	free(names.strings);
	buf_release(&names.text);
}

/* True where the key is one of the tables, which is taken then. */
static bool take_table(struct tables *tables, struct slice key, struct json *json)
{
	struct slice *table = NULL;

	if (slice_equals(key, "stringTable") || slice_equals(key, "stringArray"))
		table = &tables->strings;
	else if (slice_equals(key, "stackTable"))
		table = &tables->stacks;
	else if (slice_equals(key, "frameTable"))
		table = &tables->frames;
	else if (slice_equals(key, "funcTable"))
		table = &tables->funcs;
	else if (slice_equals(key, "resourceTable"))
		table = &tables->resources;
	else
		return false;
	*table = json_take(json);
	return true;
}

/* ---- threads ---- */

static void weight_type(struct reading *reading, struct slice samples)
{
	struct buf text = {0};
	struct slice key;
	struct json json;

	format_unit(reading->report, "samples", "samples");
	json_init(&json, samples);
	if (json_object(&json)) {
		while (json_key(&json, &key)) {
			struct slice type;

			if (!slice_equals(key, "weightType")) {
				json_skip(&json);
				continue;
			}
			type = json_text(&json, &text);
			if (slice_equals(type, "tracing-ms"))
				format_unit(reading->report, "time", "milliseconds");
			else if (slice_equals(type, "bytes"))
				format_unit(reading->report, "allocations", "bytes");
		}
	}
	buf_release(&text);
}

static int fold_samples(struct reading *reading, struct tables *tables, struct slice samples,
                        uint32_t root, struct err *err)
{
	uint32_t no_stack = folder_name(reading->folder, "[no stack]", 10);
	struct column stack = {0}, weight = {0};
	int result = 0;

	load_column(samples, "stack", &stack, true);
	load_column(samples, "weight", &weight, false);
	weight_type(reading, samples);
	for (size_t i = 0; i < stack.nr && !result; i++) {
		int64_t row = (int64_t)stack.at[i];
		weight_fx w = WEIGHT_ONE;
		uint32_t node;

		if (weight.nr) /* a null weighs nothing; below zero is a deallocation */
			w = i < weight.nr && weight.at[i] > 0 ? (weight_fx)weight.at[i] : 0;
		if (row >= 0 && (uint64_t)row >= tables->table.nr) {
			format_bad(reading->report, "sample %zu: there is no stack %lld", i,
			           (long long)row);
			continue;
		}
		node = row < 0 ? folder_child(reading->folder, root, no_stack) :
		                 stacktable_node(&tables->table, reading->folder, root,
		                                 (uint32_t)row);
		if (!format_count(reading->folder, node, w, reading->report, err))
			result = -1;
	}
	free(stack.at);
	free(weight.at);
	return result;
}

static int take_thread(struct reading *reading, struct json *json, struct err *err)
{
	struct slice key, samples = {0}, name = {0};
	struct tables own = {0}, *tables = &own;
	struct buf text = {0};
	int64_t pid = reading->pid, tid = -1;
	int result = 0;

	if (!json_object(json))
		return 0;
	while (json_key(json, &key)) {
		__int128 value;

		if (take_table(&own, key, json))
			continue;
		if (slice_equals(key, "samples"))
			samples = json_take(json);
		else if (slice_equals(key, "name"))
			name = json_text(json, &text);
		else if (slice_equals(key, "pid"))
			pid = json_fixed(json, &value) ? (int64_t)(value / WEIGHT_ONE) : pid;
		else if (slice_equals(key, "tid"))
			tid = json_fixed(json, &value) ? (int64_t)(value / WEIGHT_ONE) : tid;
		else
			json_skip(json);
	}
	if (own.stacks.at) {
		if (!own.strings.at)
			own.strings = reading->shared.strings;
		if (!own.funcs.at)
			own.funcs = reading->shared.funcs;
		if (!own.frames.at)
			own.frames = reading->shared.frames;
		if (!own.resources.at)
			own.resources = reading->shared.resources;
	} else {
		tables = &reading->shared;
	}
	if (samples.at) {
		if (!tables->is_built)
			build(reading, tables);
		result = fold_samples(reading, tables, samples,
		                      reading->is_our_own && pid < 0 ?
		                              0 :
		                              format_root(reading->folder, reading->options,
		                                          name.at, name.size, pid, tid),
		                      err);
	}
	stacktable_release(&own.table);
	buf_release(&text);
	return result;
}

/* ---- profiles ---- */

static void add_profile(struct reading *reading, struct slice text)
{
	MEM_GROW(reading->profiles, reading->nr_profiles, reading->profiles_capacity);
	reading->profiles[reading->nr_profiles++] = text;
}

static int take_threads(struct reading *reading, struct slice threads, struct err *err)
{
	struct buf text = {0};
	struct json json;
	int result = 0;

	json_init(&json, threads);
	if (json_array(&json)) {
		while (!result && json_item(&json)) {
			if (json_peek(&json) == '"') {
				struct slice s = json_text(&json, &text);

				s.at = arena_copy(&reading->texts, s.at, s.size);
				add_profile(reading, s);
			} else {
				result = take_thread(reading, &json, err);
			}
		}
	}
	buf_release(&text);
	return result;
}

static int take_profile(struct reading *reading, struct slice text, struct err *err)
{
	static const char own[] = "\"product\":\"flame-collapse\"";
	struct slice key, threads = {0};
	struct json json;
	int result;

	stacktable_release(&reading->shared.table);
	reading->shared = (struct tables){0};
	json_init(&json, text);
	if (!json_object(&json))
		return 0;
	while (json_key(&json, &key)) {
		if (slice_equals(key, "meta")) {
			struct slice meta = json_take(&json);

			reading->is_our_own = memmem(meta.at, meta.size, own, sizeof(own) - 1);
		} else if (slice_equals(key, "threads")) {
			threads = json_take(&json);
		} else if (slice_equals(key, "shared") && json_peek(&json) == '{') {
			json_object(&json);
			while (json_key(&json, &key))
				if (!take_table(&reading->shared, key, &json))
					json_skip(&json);
		} else if (slice_equals(key, "processes") && json_peek(&json) == '[') {
			json_array(&json);
			while (json_item(&json))
				add_profile(reading, json_take(&json));
		} else if (slice_equals(key, "profile") && json_peek(&json) == '{') {
			add_profile(reading, json_take(&json));
		} else {
			json_skip(&json);
		}
	}
	if (json.bad)
		format_bad(reading->report, "offset %zu: %s", json.bad_offset, json.bad);
	result = take_threads(reading, threads, err);
	return result;
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header UNUSED, struct format_report *report, struct err *err)
{
	struct reading reading = {
	        .folder = folder, .options = options, .report = report, .pid = -1};
	static const char *const values[] = {"samples"};
	struct slice text;
	size_t value;
	int result = 0;

	if (format_value(options, values, ARRAY_SIZE(values), 0, &value, err) ||
	    format_whole(in, &text, err))
		return -1;
	format_unit(report, "samples", "samples");
	add_profile(&reading, text);
	while (reading.nr_profiles && !result)
		result = take_profile(&reading, reading.profiles[--reading.nr_profiles], err);
	stacktable_release(&reading.shared.table);
	free(reading.profiles);
	arena_release(&reading.texts);
	return result;
}

const struct format format_firefox = {
        .name = "firefox",
        .about = "Firefox profiles: gecko, processed; samply",
        .detect = detect,
        .parse = parse,
};
