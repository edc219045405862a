/*
 * stackprof.c - Ruby's stackprof, in JSON and marshalled.
 *
 * Values: samples (objects, in object mode), time (microseconds between the
 * samples, where raw_timestamp_deltas has them). Without raw stacks only the
 * functions themselves are known: one frame each.
 *
 * Source: tmm1/stackprof, README "Advanced usage" and ext/stackprof.c: "raw" is
 * LENGTH, that many frames from the root, REPETITIONS, again and again.
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/idmap.h"
#include "collapse/formats/jsontok.h"
#include "collapse/formats/marshal.h"
#include "share/mem.h"
#include "share/num.h"

struct reading {
	struct folder *folder;
	const struct format_options *options;
	struct format_report *report;
	struct slice raw, deltas, frames, mode;
	struct idmap names;
	struct buf text;
};

static int detect_json(struct slice head, bool is_all UNUSED)
{
	return head_is_object(head) && head_has(head, "\"gc_samples\"") ? 95 : 0;
}

static int detect(struct slice head, bool is_all)
{
	if (slice_starts(head, MARSHAL_RUBY_MAGIC))
		return head_has(head, "gc_samples") || head_has(head, "missed_samples") ? 95 : 0;
	return detect_json(head, is_all);
}

/* {"ID": {"name", "file", "line", "samples"}}; by_itself: fold each with its samples */
static int take_frames(struct reading *reading, bool by_itself, struct err *err)
{
	struct buf file_text = {0};
	struct slice id, key;
	struct json json;
	int result = 0;

	json_init(&json, reading->frames);
	if (!json_object(&json))
		return 0;
	while (!result && json_key(&json, &id)) {
		struct slice name = {0}, file = {0};
		int64_t line = -1, samples = 0;
		uint64_t number;
		uint32_t name_id;

		if (json_object(&json)) {
			while (json_key(&json, &key)) {
				if (slice_equals(key, "name"))
					name = json_text(&json, &reading->text);
				else if (slice_equals(key, "file"))
					file = json_text(&json, &file_text);
				else if (slice_equals(key, "line"))
					line = json_index(&json);
				else if (slice_equals(key, "samples"))
					samples = json_index(&json);
				else
					json_skip(&json);
			}
		}
		name_id = format_frame(reading->folder, reading->options, name, file, line);
		if (num_parse_u64(id.at, id.size, &number) == 0)
			idmap_set(&reading->names, number, name_id);
		if (by_itself && samples > 0 &&
		    !format_count(reading->folder, folder_child(reading->folder, 0, name_id),
		                  weight_from_u64((uint64_t)samples), reading->report, err))
			result = -1;
	}
	buf_release(&file_text);
	return result;
}

static int take_raw(struct reading *reading, bool by_time, struct err *err)
{
	struct json json, deltas;

	json_init(&json, reading->raw);
	json_init(&deltas, reading->deltas);
	if (!json_array(&json) || (by_time && !json_array(&deltas)))
		return 0;
	while (json_item(&json)) {
		int64_t nr = json_index(&json), repetitions;
		weight_fx weight;
		uint32_t node = 0;

		for (; nr > 0 && json_item(&json); nr--) {
			uint32_t name = idmap_get(&reading->names, (uint64_t)json_index(&json));

			if (name == UINT32_MAX)
				name = folder_name(reading->folder, "[unknown]", 9);
			node = folder_child(reading->folder, node, name);
		}
		repetitions = !nr && json_item(&json) ? json_index(&json) : -1;
		if (repetitions < 0) {
			format_bad(reading->report, "the raw stacks are cut, or not valid");
			break;
		}
		weight = weight_from_u64((uint64_t)repetitions);
		if (by_time) {
			__int128 delta;

			weight = 0;
			for (; repetitions && json_item(&deltas); repetitions--)
				if (json_fixed(&deltas, &delta) && delta > 0)
					weight_add(&weight, (weight_fx)delta);
		}
		if (!format_count(reading->folder, node, weight, reading->report, err))
			return -1;
	}
	return 0;
}

static int fold(struct reading *reading, struct slice text, struct folded_header *header,
                struct err *err)
{
	static const char *const values[] = {"samples", "time"};
	bool is_object_mode;
	struct slice key;
	struct json json;
	size_t value;

	json_init(&json, text);
	if (json_object(&json)) {
		while (json_key(&json, &key)) {
			if (slice_equals(key, "raw"))
				reading->raw = json_take(&json);
			else if (slice_equals(key, "raw_timestamp_deltas"))
				reading->deltas = json_take(&json);
			else if (slice_equals(key, "frames"))
				reading->frames = json_take(&json);
			else if (slice_equals(key, "mode"))
				reading->mode = json_take(&json);
			else
				json_skip(&json);
		}
	}
	if (json.bad)
		format_bad(reading->report, "offset %zu: %s", json.bad_offset, json.bad);
	is_object_mode = slice_equals(reading->mode, "\"object\"");
	if (format_value(reading->options, values, reading->deltas.size > 2 ? 2 : 1,
	                 reading->options->count == COUNT_TIME && reading->deltas.size > 2, &value,
	                 err))
		return -1;
	format_values_note(header, values, reading->deltas.size > 2 ? 2 : 1);
	format_unit(reading->report, "",
	            value          ? "microseconds" :
	            is_object_mode ? "objects" :
	                             "samples");
	if (reading->mode.size > 2)
		snprintf(reading->report->event, sizeof(reading->report->event), "%.*s",
		         (int)MIN_OF(reading->mode.size - 2, 60), reading->mode.at + 1);
	if (take_frames(reading, !reading->raw.at, err))
		return -1;
	return reading->raw.at ? take_raw(reading, value, err) : 0;
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header, struct format_report *report, struct err *err)
{
	struct reading reading = {.folder = folder, .options = options, .report = report};
	struct buf json = {0};
	struct slice bytes;
	int result = 0;

	if (format_whole(in, &bytes, err))
		return -1;
	if (slice_starts(bytes, MARSHAL_RUBY_MAGIC)) {
		result = marshal_ruby(bytes, &json, err);
		bytes = (struct slice){json.at, json.size};
	}
	if (!result)
		result = fold(&reading, bytes, header, err);
	idmap_release(&reading.names);
	buf_release(&reading.text);
	buf_release(&json);
	return result;
}

const struct format format_stackprof = {
        .name = "stackprof",
        .about = "Ruby stackprof, marshalled or JSON; values: samples, time",
        .detect = detect,
        .parse = parse,
};
