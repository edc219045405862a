/*
 * dhat.c - heap profiles of DHAT: valgrind's and that of the Rust crate.
 *
 * Values are bytes and blocks allocated in total (total-bytes, the default),
 * at the peak and at the end; in ad hoc mode "units" and "events".
 *
 * Source: valgrind manual, chapter DHAT, "Output File Format" (file version
 * 2); frames run from the innermost out and index "ftbl".
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/callers.h"
#include "collapse/formats/jsontok.h"
#include "share/mem.h"

static const char *const values[] = {"total-bytes", "total-blocks", "peak-bytes",
                                     "peak-blocks", "end-bytes",    "end-blocks"};
static const char *const keys[] = {"tb", "tbk", "gb", "gbk", "eb", "ebk"};

static int detect(struct slice head, bool is_all UNUSED)
{
	return head_is_object(head) && head_has(head, "\"dhatFileVersion\"") ? 100 : 0;
}

static int fold(struct json *points, const uint32_t *names, size_t nr_names, const char *key_of,
                struct folder *folder, struct format_report *report, struct err *err)
{
	size_t *frames = NULL, nr, capacity = 0;
	struct slice key;
	int result = 0;

	if (!json_array(points))
		return 0;
	while (!result && json_item(points)) {
		__int128 weight = 0;
		uint32_t node = 0;
		bool is_good = true;

		nr = 0;
		if (json_object(points)) {
			while (json_key(points, &key)) {
				if (slice_equals(key, key_of)) {
					is_good &= json_fixed(points, &weight) && weight >= 0;
				} else if (slice_equals(key, "fs") && json_peek(points) == '[') {
					json_array(points);
					while (json_item(points)) {
						int64_t index = json_index(points);

						MEM_GROW(frames, nr, capacity);
						frames[nr++] = (size_t)index;
						is_good &= index >= 0 && (uint64_t)index < nr_names;
					}
				} else {
					json_skip(points);
				}
			}
		}
		if (!is_good) {
			format_bad(report,
			           "a program point with a count or frame that is not valid");
			continue;
		}
		while (nr)
			node = folder_child(folder, node, names[frames[--nr]]);
		if (!format_count(folder, node, (weight_fx)weight, report, err))
			result = -1;
	}
	free(frames);
	return result;
}

/* Of ad hoc profiles: "units" and "events", or what the program calls them. */
static void take_unit(struct format_report *report, struct slice unit)
{
	snprintf(report->unit, sizeof(report->unit), "%.*s",
	         (int)MIN_OF(unit.size, sizeof(report->unit) - 1), unit.at);
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header, struct format_report *report, struct err *err)
{
	struct slice text, key, points = {0}, frame_table = {0};
	size_t value, nr_names = 0, capacity = 0;
	uint32_t *names = NULL;
	struct buf buf = {0};
	struct json json;
	int result;

	if (format_value(options, values, ARRAY_SIZE(values), 0, &value, err) ||
	    format_whole(in, &text, err))
		return -1;
	format_values_note(header, values, ARRAY_SIZE(values));
	format_unit(report, values[value], value % 2 ? "blocks" : "bytes");
	json_init(&json, text);
	if (json_object(&json)) {
		while (json_key(&json, &key)) {
			if (slice_equals(key, "pps"))
				points = json_take(&json);
			else if (slice_equals(key, "ftbl"))
				frame_table = json_take(&json);
			else if (slice_equals(key, value % 2 ? "bksu" : "bsu"))
				take_unit(report, json_text(&json, &buf));
			else
				json_skip(&json);
		}
	}
	if (json.bad)
		format_bad(report, "offset %zu: %s", json.bad_offset, json.bad);
	json_init(&json, frame_table);
	if (json_array(&json)) {
		while (json_item(&json)) {
			struct slice name =
			        slice_valgrind_frame(json_text(&json, &buf), options->srcline);

			MEM_GROW(names, nr_names, capacity);
			names[nr_names++] = folder_name(folder, name.at, name.size);
		}
	}
	json_init(&json, points);
	result = fold(&json, names, nr_names, keys[value], folder, report, err);
	free(names);
	buf_release(&buf);
	return result;
}

const struct format format_dhat = {
        .name = "dhat",
        .about = "DHAT heap profile; values: total-, peak-, end-bytes and -blocks",
        .detect = detect,
        .parse = parse,
};
