/*
 * ownjson.c - reads back the JSON that to_json.c writes; the format stands
 * there.
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/jsontok.h"
#include "share/mem.h"

static int detect(struct slice head, bool is_all UNUSED)
{
	return head_is_object(head) && head_has(head, "\"flame-stacks\"") ? 100 : 0;
}

static void take_header(struct json *json, struct folded_header *header,
                        struct format_report *report)
{
	struct buf text = {0};
	struct slice key;

	if (!json_object(json))
		return;
	while (json_key(json, &key)) {
		struct slice value = json_text(json, &text);
		char *name = mem_strndup(key.at, key.size);
		char *copy = mem_strndup(value.size ? value.at : "", value.size);

		if (strcmp(name, "unit") == 0)
			snprintf(report->unit, sizeof(report->unit), "%s", copy);
		else if (strcmp(name, "event") == 0)
			snprintf(report->event, sizeof(report->event), "%s", copy);
		else if (*name && *copy && !strpbrk(copy, "\r\n") && !strpbrk(name, ":\r\n"))
			folded_header_set(header, name, "%s", copy);
		free(name);
		free(copy);
	}
	buf_release(&text);
}

/* [[PARENT, NAME, COUNT]]: a parent stands before its children */
static int take_stacks(struct json *json, const uint32_t *names, size_t nr_names,
                       struct folder *folder, struct format_report *report, struct err *err)
{
	uint32_t *nodes = NULL;
	size_t nr = 0, capacity = 0;
	int result = 0;

	if (!json_array(json))
		return 0;
	while (!result && json_item(json)) {
		__int128 values[3] = {0, -WEIGHT_ONE, 0};
		uint32_t node = 0;

		if (json_array(json)) {
			for (int i = 0; json_item(json); i++) {
				if (i < 3)
					json_fixed(json, &values[i]);
				else
					json_skip(json);
			}
		}
		values[0] /= WEIGHT_ONE;
		values[1] /= WEIGHT_ONE;
		MEM_GROW(nodes, nr, capacity);
		if (values[0] >= (__int128)nr || values[0] < -1 || values[1] < 0 ||
		    values[1] >= (__int128)nr_names || values[2] < 0) {
			format_bad(report, "stack %zu: no valid parent, name or count", nr);
			nodes[nr++] = 0;
			continue;
		}
		node = folder_child(folder, values[0] < 0 ? 0 : nodes[values[0]], names[values[1]]);
		nodes[nr++] = node;
		if (values[2] && !format_count(folder, node, (weight_fx)values[2], report, err))
			result = -1;
	}
	free(nodes);
	return result;
}

static int parse(struct input *in, struct folder *folder,
                 const struct format_options *options UNUSED, struct folded_header *header,
                 struct format_report *report, struct err *err)
{
	struct slice text, key, stacks = {0};
	size_t nr = 0, capacity = 0;
	uint32_t *names = NULL;
	struct buf buf = {0};
	struct json json;
	int result;

	if (format_whole(in, &text, err))
		return -1;
	json_init(&json, text);
	if (json_object(&json)) {
		while (json_key(&json, &key)) {
			if (slice_equals(key, "header")) {
				take_header(&json, header, report);
			} else if (slice_equals(key, "names") && json_peek(&json) == '[') {
				json_array(&json);
				while (json_item(&json)) {
					struct slice name = json_text(&json, &buf);

					MEM_GROW(names, nr, capacity);
					names[nr++] = folder_name(folder, name.at, name.size);
				}
			} else if (slice_equals(key, "stacks")) {
				stacks = json_take(&json);
			} else {
				json_skip(&json);
			}
		}
	}
	if (json.bad)
		format_bad(report, "offset %zu: %s", json.bad_offset, json.bad);
	json_init(&json, stacks);
	result = take_stacks(&json, names, nr, folder, report, err);
	free(names);
	buf_release(&buf);
	return result;
}

const struct format format_json = {
        .name = "json",
        .about = "the JSON that --to json writes",
        .detect = detect,
        .parse = parse,
};
