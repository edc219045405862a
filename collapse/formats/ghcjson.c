/*
 * ghcjson.c - cost centre profiles of GHC in JSON (+RTS -pj).
 *
 * Values: ticks, alloc (bytes).
 *
 * Source: GHC user's guide, "JSON profile format": {"cost_centres": [{"id",
 * "label", "module", "src_loc"}], "profile": {"id", "ticks", "alloc",
 * "children"}}.
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/idmap.h"
#include "collapse/formats/jsontree.h"

static int detect(struct slice head, bool is_all UNUSED)
{
	return head_is_object(head) && head_has(head, "\"cost_centres\"") ? 95 :
	       head_is_object(head) && head_has(head, "\"total_ticks\"")  ? 85 :
	                                                                    0;
}

/* id -> name "Module.label" */
static void load_centres(struct json *json, struct idmap *names, struct folder *folder,
                         const struct format_options *options)
{
	struct buf label_text = {0}, module_text = {0}, place_text = {0}, name = {0};
	struct slice key;

	if (!json_array(json))
		return;
	while (json_item(json)) {
		struct slice label = {0}, module = {0}, place = {0};
		int64_t id = -1;

		if (json_object(json)) {
			while (json_key(json, &key)) {
				if (slice_equals(key, "id"))
					id = json_index(json);
				else if (slice_equals(key, "label"))
					label = json_text(json, &label_text);
				else if (slice_equals(key, "module"))
					module = json_text(json, &module_text);
				else if (slice_equals(key, "src_loc"))
					place = json_text(json, &place_text);
				else
					json_skip(json);
			}
		}
		buf_reset(&name);
		buf_add(&name, module.at, module.size);
		buf_char(&name, '.');
		buf_add(&name, label.at, label.size);
		if (options->srcline && place.size) {
			buf_char(&name, ' ');
			buf_add(&name, place.at, place.size);
		}
		if (id >= 0)
			idmap_set(names, (uint64_t)id, folder_name(folder, name.at, name.size));
	}
	buf_release(&label_text);
	buf_release(&module_text);
	buf_release(&place_text);
	buf_release(&name);
}

static int fold(struct json *json, const struct idmap *names, const char *key_of,
                struct folder *folder, struct format_report *report, struct err *err)
{
	struct jsontree tree = {0};
	struct slice key;
	uint32_t row;
	int result = 0;

	jsontree_begin(&tree, json);
	while (jsontree_key(&tree, json, &row, &key)) {
		__int128 value;

		if (slice_equals(key, key_of)) {
			if (json_fixed(json, &value) && value >= 0)
				tree.self[row] = (weight_fx)value;
			else
				format_bad(report, "%s that is no number from 0 to 2^64", key_of);
		} else if (slice_equals(key, "id")) {
			tree.table.rows[row].name = idmap_get(names, (uint64_t)json_index(json));
		} else {
			json_skip(json);
		}
	}
	for (row = 0; row < tree.nr && !result; row++)
		if (tree.self[row] &&
		    !format_count(folder, stacktable_node(&tree.table, folder, 0, row),
		                  tree.self[row], report, err))
			result = -1;
	jsontree_release(&tree);
	return result;
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header, struct format_report *report, struct err *err)
{
	static const char *const values[] = {"ticks", "alloc"};
	struct slice text, key, centres = {0}, profile = {0};
	struct idmap names = {0};
	struct json json;
	size_t value;
	int result;

	if (format_value(options, values, ARRAY_SIZE(values), 0, &value, err) ||
	    format_whole(in, &text, err))
		return -1;
	format_values_note(header, values, ARRAY_SIZE(values));
	format_unit(report, values[value], value ? "bytes" : "ticks");
	json_init(&json, text);
	if (json_object(&json)) {
		while (json_key(&json, &key)) {
			if (slice_equals(key, "cost_centres"))
				centres = json_take(&json);
			else if (slice_equals(key, "profile"))
				profile = json_take(&json);
			else
				json_skip(&json);
		}
	}
	if (json.bad)
		format_bad(report, "offset %zu: %s", json.bad_offset, json.bad);
	json_init(&json, centres);
	load_centres(&json, &names, folder, options);
	json_init(&json, profile);
	result = fold(&json, &names, values[value], folder, report, err);
	idmap_release(&names);
	return result;
}

const struct format format_ghc_json = {
        .name = "ghc-json",
        .about = "GHC cost centre profile in JSON; values: ticks, alloc",
        .detect = detect,
        .parse = parse,
};
