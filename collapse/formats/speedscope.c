/*
 * speedscope.c - speedscope's own file format: sampled and evented profiles
 * over one table of frames. Each profile is a thread; its name is the root
 * frame where there are several.
 *
 * Source: speedscope.app/file-format-schema.json (FileFormat.File 0.0.1 to
 * 1.x) in jlfwong/speedscope, src/lib/file-format-spec.ts.
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/jsontok.h"
#include "collapse/formats/spans.h"
#include "share/mem.h"

struct profile {
	bool is_evented;
	struct slice name, samples, weights, events;
	__int128 end;
	char unit[24];
	struct buf name_text;
};

struct reading {
	struct folder *folder;
	const struct format_options *options;
	struct format_report *report;
	uint32_t *frames; /* names */
	size_t nr_frames, frames_capacity;
	struct spans spans;
	struct buf text;
};

static int detect(struct slice head, bool is_all UNUSED)
{
	if (!head_is_object(head))
		return 0;
	if (head_has(head, "speedscope.app/file-format-schema"))
		return 100;
	if (head_has(head, "\"profiles\"") &&
	    (head_has(head, "\"startValue\"") || head_has(head, "\"evented\"") ||
	     head_has(head, "\"sampled\"")))
		return 80;
	return 0;
}

/* {"frames": [{"name", "file", "line"}]} */
static void load_frames(struct reading *reading, struct slice shared)
{
	struct slice key, name, file;
	struct buf text = {0};
	struct json json;

	json_init(&json, shared);
	if (!json_object(&json))
		return;
	while (json_key(&json, &key)) {
		if (!slice_equals(key, "frames") || json_peek(&json) != '[') {
			json_skip(&json);
			continue;
		}
		json_array(&json);
		while (json_item(&json)) {
			int64_t line = -1;

			name = file = (struct slice){0};
			if (json_object(&json)) {
				while (json_key(&json, &key)) {
					if (slice_equals(key, "name"))
						name = json_text(&json, &reading->text);
					else if (slice_equals(key, "file"))
						file = json_text(&json, &text);
					else if (slice_equals(key, "line"))
						line = json_index(&json);
					else
						json_skip(&json);
				}
			}
			MEM_GROW(reading->frames, reading->nr_frames, reading->frames_capacity);
			reading->frames[reading->nr_frames++] =
			        format_frame(reading->folder, reading->options, name, file, line);
		}
	}
	buf_release(&text);
}

static bool frame_at(const struct reading *reading, struct json *json, uint32_t *name)
{
	int64_t index = json_index(json);

	if (index < 0 || (uint64_t)index >= reading->nr_frames)
		return false;
	*name = reading->frames[index];
	return true;
}

/* "samples": [[frame, ...], ...] root first, "weights": [number, ...] */
static int fold_sampled(struct reading *reading, const struct profile *profile, uint32_t root,
                        struct err *err)
{
	struct json stacks, weights;

	json_init(&stacks, profile->samples);
	json_init(&weights, profile->weights);
	if (!json_array(&stacks) || !json_array(&weights))
		return 0;
	while (json_item(&stacks) && json_item(&weights)) {
		uint32_t node = root, name;
		__int128 weight = -1;
		bool is_good = true;

		if (json_array(&stacks)) {
			while (json_item(&stacks)) {
				if (frame_at(reading, &stacks, &name))
					node = folder_child(reading->folder, node, name);
				else
					is_good = false;
			}
		}
		if (!json_fixed(&weights, &weight) || weight < 0 || !is_good) {
			format_bad(reading->report,
			           "a sample with a frame that is not there, or a weight that is "
			           "no number from 0 to 2^64");
			continue;
		}
		if (!format_count(reading->folder, node, (weight_fx)weight, reading->report, err))
			return -1;
	}
	return 0;
}

/* "events": [{"type": "O" or "C", "frame", "at"}] */
static void take_events(struct reading *reading, const struct profile *profile, uint32_t root)
{
	uint32_t thread = spans_thread(&reading->spans, root);
	struct slice key, type;
	struct json json;

	json_init(&json, profile->events);
	if (!json_array(&json))
		return;
	while (json_item(&json)) {
		uint32_t name = SPAN_ANY;
		char kind = 0;
		__int128 at = 0;

		if (!json_object(&json))
			continue;
		while (json_key(&json, &key)) {
			if (slice_equals(key, "type")) {
				type = json_text(&json, &reading->text);
				kind = type.size ? type.at[0] : 0;
			} else if (slice_equals(key, "frame")) {
				frame_at(reading, &json, &name);
			} else if (slice_equals(key, "at")) {
				json_fixed(&json, &at);
			} else {
				json_skip(&json);
			}
		}
		if (json.bad)
			break;
		if ((kind != 'O' && kind != 'C') || name == SPAN_ANY) {
			format_bad(reading->report, "an event of no known type or frame");
			continue;
		}
		reading->report->nr_samples++;
		spans_event(&reading->spans, thread, kind == 'O' ? SPAN_BEGIN : SPAN_END, name, at);
	}
	if (reading->spans.nr)
		spans_event(&reading->spans, thread, SPAN_TICK, SPAN_ANY, profile->end);
}

static void take_profile(struct json *json, struct profile *profile)
{
	struct buf text = {0};
	struct slice key, value;

	if (!json_object(json))
		return;
	while (json_key(json, &key)) {
		if (slice_equals(key, "type")) {
			value = json_text(json, &text);
			profile->is_evented = slice_equals(value, "evented");
		} else if (slice_equals(key, "unit")) {
			value = json_text(json, &text);
			snprintf(profile->unit, sizeof(profile->unit), "%.*s",
			         (int)MIN_OF(value.size, sizeof(profile->unit)), value.at);
		} else if (slice_equals(key, "name")) {
			profile->name = json_text(json, &profile->name_text);
		} else if (slice_equals(key, "samples")) {
			profile->samples = json_take(json);
		} else if (slice_equals(key, "weights")) {
			profile->weights = json_take(json);
		} else if (slice_equals(key, "events")) {
			profile->events = json_take(json);
		} else if (slice_equals(key, "endValue")) {
			json_fixed(json, &profile->end);
		} else {
			json_skip(json);
		}
	}
	buf_release(&text);
}

static int take_profiles(struct reading *reading, struct slice profiles, struct err *err)
{
	struct json json, again;
	size_t nr = 0;
	int result = 0;

	json_init(&json, profiles);
	again = json;
	if (json_array(&again))
		for (; json_item(&again); nr++)
			json_skip(&again);
	if (!json_array(&json))
		return 0;
	while (!result && json_item(&json)) {
		struct profile profile = {0};
		uint32_t root = 0;

		take_profile(&json, &profile);
		if (nr > 1)
			root = format_root(reading->folder, reading->options, profile.name.at,
			                   profile.name.size, -1, -1);
		format_unit(reading->report, "",
		            *profile.unit && strcmp(profile.unit, "none") != 0 ? profile.unit :
		                                                            "samples");
		if (profile.is_evented)
			take_events(reading, &profile, root);
		else
			result = fold_sampled(reading, &profile, root, err);
		buf_release(&profile.name_text);
	}
	return result;
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header UNUSED, struct format_report *report, struct err *err)
{
	struct reading reading = {.folder = folder, .options = options, .report = report};
	struct slice text, key, shared = {0}, profiles = {0};
	struct json json;
	int result;

	if (format_whole(in, &text, err))
		return -1;
	json_init(&json, text);
	if (json_object(&json)) {
		while (json_key(&json, &key)) {
			if (slice_equals(key, "shared"))
				shared = json_take(&json);
			else if (slice_equals(key, "profiles"))
				profiles = json_take(&json);
			else
				json_skip(&json);
		}
	}
	if (json.bad)
		format_bad(report, "offset %zu: %s", json.bad_offset, json.bad);
	load_frames(&reading, shared);
	result = take_profiles(&reading, profiles, err);
	if (!result && !spans_fold(&reading.spans, folder))
		result = format_too_large(err);
	free(reading.frames);
	spans_release(&reading.spans);
	buf_release(&reading.text);
	return result;
}

const struct format format_speedscope = {
        .name = "speedscope",
        .about = "speedscope files, sampled and evented",
        .detect = detect,
        .parse = parse,
};
