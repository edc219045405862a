/*
 * chrometrace.c - trace events of Chrome, Node and all who write that format.
 *
 * A trace may hold three things, each a value of its own: CPU profiles of V8
 * (whole in a CpuProfile event, or in ProfileChunk events), samples with a
 * table of stack frames, and spans: begin and end events (B, E) and complete
 * ones (X), whose weight is the time they took, in microseconds. Without
 * --value the first of these that is there is folded.
 *
 * Source: "Trace Event Format" (Chromium, 2016), which also says that the
 * closing bracket of the array may be missing; profile events: v8profile.h.
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/idmap.h"
#include "collapse/formats/jsontok.h"
#include "collapse/formats/spans.h"
#include "collapse/formats/v8profile.h"
#include "share/mem.h"

enum { VALUE_CPU, VALUE_SAMPLES, VALUE_SPANS, NR_VALUES };

static const char *const value_names[] = {"cpu", "samples", "spans"};

struct thread {
	int64_t pid, tid;
	uint32_t name; /* of the folder, or UINT32_MAX */
};

struct trace_profile {
	uint64_t pid_and_id;
	uint32_t thread;
	struct v8_profile profile;
};

struct trace {
	struct folder *folder;
	const struct format_options *options;
	struct format_report *report;
	struct spans spans; /* its threads are those of `threads` */
	struct thread *threads;
	size_t nr_threads, threads_capacity;
	struct idmap by_tid, process_names;
	struct trace_profile *profiles;
	size_t nr_profiles, profiles_capacity;
	struct slice samples, frames; /* JSON text, or empty */
	struct buf text;
};

struct event {
	char kind;
	struct slice name, id, args;
	__int128 at, length;
	int64_t pid, tid;
	struct buf name_text;
};

static int detect(struct slice head, bool is_all UNUSED)
{
	bool is_object = head_is_object(head);

	if (is_object && head_has(head, "\"traceEvents\""))
		return 95;
	if ((is_object || head_is_array(head)) && head_has(head, "\"ph\"") &&
	    (head_has(head, "\"pid\"") || head_has(head, "\"ts\"")))
		return 80;
	return 0;
}

/* ---- threads ---- */

static uint32_t thread_of(struct trace *trace, int64_t pid, int64_t tid)
{
	uint64_t key = hash_u64((uint64_t)pid, (uint64_t)tid);
	uint32_t index = idmap_get(&trace->by_tid, key);

	if (index != UINT32_MAX)
		return index;
	MEM_GROW(trace->threads, trace->nr_threads, trace->threads_capacity);
	trace->threads[trace->nr_threads++] = (struct thread){pid, tid, UINT32_MAX};
	index = spans_thread(&trace->spans, 0);
	idmap_set(&trace->by_tid, key, index);
	return index;
}

static uint32_t root_of(struct trace *trace, uint32_t index)
{
	const struct thread *thread = &trace->threads[index];
	uint32_t process = idmap_get(&trace->process_names, (uint64_t)thread->pid);
	uint32_t name = thread->name != UINT32_MAX ? thread->name : process;
	struct slice text = {0};

	if (name != UINT32_MAX)
		text = strtab_slice(&trace->folder->names, name);
	return format_root(trace->folder, trace->options, text.at, text.size, thread->pid,
	                   thread->tid);
}

/* A metadata event: {"args": {"name": NAME}} for a thread or process. */
static void take_metadata(struct trace *trace, const struct event *event)
{
	bool is_thread = slice_equals(event->name, "thread_name");
	struct slice key, name = {0};
	struct json json;
	uint32_t id;

	if (!is_thread && !slice_equals(event->name, "process_name"))
		return;
	json_init(&json, event->args);
	if (!json_object(&json))
		return;
	while (json_key(&json, &key)) {
		if (slice_equals(key, "name"))
			name = json_text(&json, &trace->text);
		else
			json_skip(&json);
	}
	if (!name.size)
		return;
	id = folder_name(trace->folder, name.at, name.size);
	if (is_thread) {
		uint32_t thread = thread_of(trace, event->pid, event->tid);

		trace->threads[thread].name = id;
	} else {
		idmap_set(&trace->process_names, (uint64_t)event->pid, id);
	}
}

/* ---- CPU profiles ---- */

/* The profile that a Profile event opened and its chunks continue. */
static struct v8_profile *profile_of(struct trace *trace, const struct event *event, bool is_new)
{
	uint64_t key = hash_u64((uint64_t)event->pid, hash_bytes(event->id.at, event->id.size));
	struct trace_profile *profile;

	for (size_t i = trace->nr_profiles; i-- > 0 && !is_new;)
		if (trace->profiles[i].pid_and_id == key)
			return &trace->profiles[i].profile;
	MEM_GROW(trace->profiles, trace->nr_profiles, trace->profiles_capacity);
	profile = &trace->profiles[trace->nr_profiles++];
	profile->pid_and_id = key;
	profile->thread = thread_of(trace, event->pid, event->tid);
	v8_profile_init(&profile->profile, trace->folder, trace->options,
	                trace->options->count == COUNT_TIME);
	return &profile->profile;
}

/* args.data: {cpuProfile: {nodes, samples}, timeDeltas, startTime, endTime} */
static void take_profile(struct trace *trace, const struct event *event)
{
	bool is_whole = slice_equals(event->name, "CpuProfile");
	struct v8_profile *profile = profile_of(trace, event, is_whole);
	struct slice key, inner, data = {0};
	struct json json;

	json_init(&json, event->args);
	if (!json_object(&json))
		return;
	while (json_key(&json, &key)) {
		if (slice_equals(key, "data"))
			data = json_take(&json);
		else
			json_skip(&json);
	}
	json_init(&json, data);
	if (!json_object(&json))
		return;
	while (json_key(&json, &inner)) {
		if (slice_equals(inner, "cpuProfile"))
			v8_profile_object(profile, &json);
		else if (slice_equals(inner, "timeDeltas"))
			v8_profile_deltas(profile, &json);
		else if (slice_equals(inner, "startTime"))
			json_fixed(&json, &profile->start);
		else if (slice_equals(inner, "endTime"))
			json_fixed(&json, &profile->end);
		else
			json_skip(&json);
	}
}

/* ---- events ---- */

static void use_event(struct trace *trace, const struct event *event)
{
	static const char unnamed[] = "(unnamed)";
	struct slice name = event->name;
	enum span_kind kind = SPAN_BEGIN;
	uint32_t thread, id;

	if (event->kind == 'M') {
		take_metadata(trace, event);
		return;
	}
	if ((event->kind == 'P' || event->kind == 'I') &&
	    (slice_equals(name, "Profile") || slice_equals(name, "ProfileChunk") ||
	     slice_equals(name, "CpuProfile"))) {
		take_profile(trace, event);
		return;
	}
	if (event->kind != 'B' && event->kind != 'E' && event->kind != 'X')
		return;
	if (!name.size && event->kind != 'E')
		name = (struct slice){unnamed, sizeof(unnamed) - 1};
	thread = thread_of(trace, event->pid, event->tid);
	id = name.size ? folder_name(trace->folder, name.at, name.size) : SPAN_ANY;
	if (event->kind == 'X') {
		spans_whole(&trace->spans, thread, id, event->at, event->length);
		return;
	}
	if (event->kind == 'E')
		kind = SPAN_END;
	spans_event(&trace->spans, thread, kind, id, event->at);
}

static int64_t take_id(struct json *json)
{
	__int128 value;

	return json_fixed(json, &value) ? (int64_t)(value / WEIGHT_ONE) : 0;
}

static void take_event(struct trace *trace, struct json *json, struct event *event)
{
	struct buf name_text = event->name_text;
	struct slice key;
	bool has_length = false;

	*event = (struct event){.name_text = name_text, .id = {"", 0}};
	if (!json_object(json))
		return;
	while (json_key(json, &key)) {
		if (slice_equals(key, "ph")) {
			struct slice kind = json_text(json, &trace->text);

			event->kind = kind.size ? kind.at[0] : 0;
		} else if (slice_equals(key, "name")) {
			event->name = json_text(json, &event->name_text);
		} else if (slice_equals(key, "ts")) {
			json_fixed(json, &event->at);
		} else if (slice_equals(key, "dur") || (slice_equals(key, "tdur") && !has_length)) {
			json_fixed(json, &event->length);
			has_length |= key.at[0] == 'd';
		} else if (slice_equals(key, "pid")) {
			event->pid = take_id(json);
		} else if (slice_equals(key, "tid")) {
			event->tid = take_id(json);
		} else if (slice_equals(key, "id")) {
			event->id = json_take(json);
		} else if (slice_equals(key, "args")) {
			event->args = json_take(json);
		} else {
			json_skip(json);
		}
	}
	if (!json->bad)
		use_event(trace, event);
}

static void take_events(struct trace *trace, struct json *json)
{
	struct event event = {0};

	if (json_array(json)) {
		/* the closing bracket is optional */
		while ((json_peek(json) || json->at < json->end) && json_item(json))
			take_event(trace, json, &event);
	}
	buf_release(&event.name_text);
}

/* ---- samples with stackFrames ---- */

static void take_frames(struct trace *trace, struct stacktable *table, struct strtab *ids)
{
	struct buf text = {0};
	struct slice key;
	struct json json;

	json_init(&json, trace->frames);
	if (!json_object(&json))
		return;
	while (json_key(&json, &key)) {
		uint32_t row = strtab_id(ids, key.at, key.size), parent = STACKTABLE_NONE;
		struct slice name = {0}, field;

		if (json_object(&json)) {
			while (json_key(&json, &field)) {
				if (slice_equals(field, "name")) {
					name = json_text(&json, &trace->text);
				} else if (slice_equals(field, "parent")) {
					struct slice id = json_text(&json, &text);

					if (id.at)
						parent = strtab_id(ids, id.at, id.size);
				} else {
					json_skip(&json);
				}
			}
		}
		/* rows are the ids' own numbers; those only referred to stay nameless */
		while (table->nr < ids->nr)
			stacktable_add(table, STACKTABLE_NONE, STACKTABLE_NONE);
		table->rows[row].name = folder_name(trace->folder, name.at, name.size);
		table->rows[row].parent = parent;
	}
	buf_release(&text);
}

static int fold_samples(struct trace *trace, struct err *err)
{
	struct stacktable table = {0};
	struct strtab ids = {0};
	struct json json;
	int result = 0;

	take_frames(trace, &table, &ids);
	json_init(&json, trace->samples);
	json_array(&json);
	while (!result && json_item(&json)) {
		int64_t pid = 0, tid = 0;
		__int128 weight = WEIGHT_ONE;
		uint32_t row = STACKTABLE_NONE;
		struct slice key, id;

		if (!json_object(&json))
			continue;
		while (json_key(&json, &key)) {
			if (slice_equals(key, "pid")) {
				pid = take_id(&json);
			} else if (slice_equals(key, "tid")) {
				tid = take_id(&json);
			} else if (slice_equals(key, "weight")) {
				json_fixed(&json, &weight);
			} else if (slice_equals(key, "sf")) {
				id = json_text(&json, &trace->text);
				row = id.at ? strtab_find(&ids, id.at, id.size) : STACKTABLE_NONE;
			} else {
				json_skip(&json);
			}
		}
		if (json.bad)
			break;
		if (row == STACKTABLE_NONE || weight < 0) {
			format_bad(trace->report, "a sample without a stack frame or a weight");
			continue;
		}
		row = stacktable_node(&table, trace->folder,
		                      root_of(trace, thread_of(trace, pid, tid)), row);
		if (!format_count(trace->folder, row, (weight_fx)weight, trace->report, err))
			result = -1;
	}
	stacktable_release(&table);
	strtab_release(&ids);
	return result;
}

/* ---- all ---- */

static bool has_value(const struct trace *trace, size_t value)
{
	if (value == VALUE_SAMPLES)
		return trace->samples.size > 2 && trace->frames.size > 2;
	if (value == VALUE_SPANS)
		return trace->spans.nr > 0;
	for (size_t i = 0; i < trace->nr_profiles; i++)
		if (trace->profiles[i].profile.nr_samples)
			return true;
	return false;
}

static int fold(struct trace *trace, size_t value, struct err *err)
{
	bool by_time = trace->options->count == COUNT_TIME;

	format_unit(trace->report, value_names[value],
	            value == VALUE_SPANS || (value == VALUE_CPU && by_time) ? "microseconds" :
	                                                                      "samples");
	if (value == VALUE_SAMPLES)
		return fold_samples(trace, err);
	if (value == VALUE_SPANS) {
		for (uint32_t i = 0; i < trace->nr_threads; i++)
			trace->spans.roots[i] = root_of(trace, i);
		if (!spans_fold(&trace->spans, trace->folder))
			return format_too_large(err);
		trace->report->nr_samples += trace->spans.nr;
		return 0;
	}
	for (size_t i = 0; i < trace->nr_profiles; i++) {
		struct trace_profile *profile = &trace->profiles[i];

		if (v8_profile_fold(&profile->profile, root_of(trace, profile->thread),
		                    trace->report, err))
			return -1;
	}
	return 0;
}

static void release(struct trace *trace)
{
	for (size_t i = 0; i < trace->nr_profiles; i++)
		v8_profile_release(&trace->profiles[i].profile);
	free(trace->profiles);
	free(trace->threads);
	spans_release(&trace->spans);
	idmap_release(&trace->by_tid);
	idmap_release(&trace->process_names);
	buf_release(&trace->text);
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header, struct format_report *report, struct err *err)
{
	struct trace trace = {.folder = folder, .options = options, .report = report};
	const char *present[NR_VALUES];
	struct slice text, key;
	struct json json;
	size_t nr = 0, value;
	int result = -1;

	if (format_whole(in, &text, err))
		return -1;
	json_init(&json, text);
	if (json_peek(&json) == '[') {
		take_events(&trace, &json);
	} else if (json_object(&json)) {
		while (json_key(&json, &key)) {
			if (slice_equals(key, "traceEvents"))
				take_events(&trace, &json);
			else if (slice_equals(key, "samples"))
				trace.samples = json_take(&json);
			else if (slice_equals(key, "stackFrames"))
				trace.frames = json_take(&json);
			else
				json_skip(&json);
		}
	}
	if (json.bad)
		format_bad(report, "offset %zu: %s", json.bad_offset, json.bad);
	for (size_t i = 0; i < NR_VALUES; i++)
		if (has_value(&trace, i))
			present[nr++] = value_names[i];
	format_values_note(header, present, nr);
	if (format_value(options, present, nr, 0, &value, err) == 0) {
		result = 0;
		for (size_t i = 0; nr && i < NR_VALUES; i++)
			if (value_names[i] == present[value])
				result = fold(&trace, i, err);
	}
	release(&trace);
	return result;
}

const struct format format_chrome_trace = {
        .name = "chrome-trace",
        .about = "trace events of Chrome, Node and others; values: cpu, samples, spans",
        .detect = detect,
        .parse = parse,
};
