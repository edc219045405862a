/*
 * safari.c - timeline recordings exported by Safari's Web Inspector.
 *
 * Values: samples, time (microseconds, as sampleDurations says).
 *
 * Source: WebKit, WebInspectorUI, TimelineRecording.js (export) and the
 * protocol's ScriptProfiler.StackTrace: frames run from the innermost out.
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/jsontok.h"
#include "collapse/formats/v8profile.h"
#include "share/mem.h"

static int detect(struct slice head, bool is_all UNUSED)
{
	return head_is_object(head) && head_has(head, "\"recording\"") &&
	                       head_has(head, "\"instrumentTypes\"") ?
	               95 :
	               0;
}

/* {"name", "url", "line"}: lines count from 1. */
static uint32_t take_frame(struct json *json, struct folder *folder,
                           const struct format_options *options)
{
	struct slice key, name = {0}, url = {0};
	struct buf name_text = {0}, url_text = {0};
	int64_t line = -1;
	uint32_t id;

	if (json_object(json)) {
		while (json_key(json, &key)) {
			if (slice_equals(key, "name"))
				name = json_text(json, &name_text);
			else if (slice_equals(key, "url"))
				url = json_text(json, &url_text);
			else if (slice_equals(key, "line"))
				line = json_index(json) - 1;
			else
				json_skip(json);
		}
	}
	id = v8_frame_name(folder, options, name, url, line);
	buf_release(&name_text);
	buf_release(&url_text);
	return id;
}

static int fold(struct json *traces, struct json *durations, bool by_time, struct folder *folder,
                const struct format_options *options, struct format_report *report, struct err *err)
{
	uint32_t *names = NULL;
	size_t nr, capacity = 0;
	struct slice key;
	int result = 0;

	if (!json_array(traces))
		return 0;
	by_time = by_time && json_array(durations);
	while (!result && json_item(traces)) {
		__int128 weight = WEIGHT_ONE;
		uint32_t node = 0;

		nr = 0;
		if (json_object(traces)) {
			while (json_key(traces, &key)) {
				if (!slice_equals(key, "stackFrames") || json_peek(traces) != '[') {
					json_skip(traces);
					continue;
				}
				json_array(traces);
				while (json_item(traces)) {
					MEM_GROW(names, nr, capacity);
					names[nr++] = take_frame(traces, folder, options);
				}
			}
		}
		if (by_time) {
			if (!json_item(durations) || !json_fixed(durations, &weight) || weight < 0)
				weight = 0;
			weight *= 1000000; /* seconds */
		}
		if (!nr) {
			MEM_GROW(names, nr, capacity);
			names[nr++] = folder_name(folder, "[no stack]", 10);
		}
		while (nr)
			if (names[--nr] != STACKTABLE_NONE)
				node = folder_child(folder, node, names[nr]);
		if (!format_count(folder, node, (weight_fx)weight, report, err))
			result = -1;
	}
	free(names);
	return result;
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header, struct format_report *report, struct err *err)
{
	static const char *const values[] = {"samples", "time"};
	struct slice text, key, traces = {0}, durations = {0};
	struct json json, other;
	size_t value;

	if (format_value(options, values, ARRAY_SIZE(values), options->count == COUNT_TIME, &value,
	                 err) ||
	    format_whole(in, &text, err))
		return -1;
	format_values_note(header, values, ARRAY_SIZE(values));
	format_unit(report, "cpu", value ? "microseconds" : "samples");
	json_init(&json, text);
	if (json_object(&json)) {
		while (json_key(&json, &key)) {
			if (!slice_equals(key, "recording") || json_peek(&json) != '{') {
				json_skip(&json);
				continue;
			}
			json_object(&json);
			while (json_key(&json, &key)) {
				if (slice_equals(key, "sampleStackTraces"))
					traces = json_take(&json);
				else if (slice_equals(key, "sampleDurations"))
					durations = json_take(&json);
				else
					json_skip(&json);
			}
		}
	}
	if (json.bad)
		format_bad(report, "offset %zu: %s", json.bad_offset, json.bad);
	json_init(&json, traces);
	json_init(&other, durations);
	return fold(&json, &other, value, folder, options, report, err);
}

const struct format format_safari = {
        .name = "safari",
        .about = "Safari timeline recording; values: samples, time",
        .detect = detect,
        .parse = parse,
};
