#include "share/compat.h"
#include "collapse/formats/v8profile.h"

#include "share/mem.h"

void v8_profile_init(struct v8_profile *profile, struct folder *folder,
                     const struct format_options *options, bool by_time)
{
	*profile = (struct v8_profile){.folder = folder, .options = options, .by_time = by_time};
}

void v8_profile_release(struct v8_profile *profile)
{
	free(profile->nodes);
	free(profile->samples);
	free(profile->deltas);
	stacktable_release(&profile->table);
	idmap_release(&profile->rows);
	idmap_release(&profile->parents);
	buf_release(&profile->text);
	*profile = (struct v8_profile){0};
}

uint32_t v8_frame_name(struct folder *folder, const struct format_options *options,
                       struct slice function, struct slice url, int64_t line)
{
	struct buf name = {0};
	uint32_t id;

	if (function.size)
		buf_add(&name, function.at, function.size);
	else
		buf_string(&name, "(anonymous)");
	/* a function without a name is known by its place alone */
	if (url.size && (options->srcline || !function.size)) {
		buf_char(&name, ' ');
		buf_add(&name, url.at, url.size);
		if (line >= 0)
			buf_printf(&name, ":%lld", (long long)line + 1);
	}
	id = folder_name(folder, name.at, name.size);
	buf_release(&name);
	return id;
}

uint32_t v8_call_frame(struct json *json, struct folder *folder,
                       const struct format_options *options, struct buf *text)
{
	struct slice key, function = {0}, url = {0};
	struct buf url_text = {0};
	int64_t line = -1;
	uint32_t id;

	if (json_object(json)) {
		while (json_key(json, &key)) {
			if (slice_equals(key, "functionName"))
				function = json_text(json, text);
			else if (slice_equals(key, "url"))
				url = json_text(json, &url_text);
			else if (slice_equals(key, "lineNumber"))
				line = json_index(json);
			else
				json_skip(json);
		}
	}
	id = v8_frame_name(folder, options, function, url, line);
	buf_release(&url_text);
	return id;
}

static void add_node(struct v8_profile *profile, struct json *json)
{
	uint32_t row = stacktable_add(&profile->table, STACKTABLE_NONE, STACKTABLE_NONE);
	struct v8_node node = {0};
	struct slice key;
	int64_t hits = 0;

	if (json_object(json)) {
		while (json_key(json, &key)) {
			if (slice_equals(key, "id"))
				node.id = (uint64_t)json_index(json);
			else if (slice_equals(key, "parent"))
				node.parent = (uint64_t)json_index(json);
			else if (slice_equals(key, "hitCount"))
				hits = json_index(json);
			else if (slice_equals(key, "callFrame"))
				profile->table.rows[row].name = v8_call_frame(
				        json, profile->folder, profile->options, &profile->text);
			else if (slice_equals(key, "children") && json_peek(json) == '[') {
				json_array(json);
				while (json_item(json))
					idmap_set(&profile->parents, (uint64_t)json_index(json),
					          row);
			} else {
				json_skip(json);
			}
		}
	}
	node.hits = (uint64_t)MAX_OF(hits, 0);
	idmap_set(&profile->rows, node.id, row);
	MEM_GROW(profile->nodes, profile->nr_nodes, profile->nodes_capacity);
	profile->nodes[profile->nr_nodes++] = node;
}

void v8_profile_nodes(struct v8_profile *profile, struct json *json)
{
	if (json_array(json))
		while (json_item(json))
			add_node(profile, json);
}

void v8_profile_samples(struct v8_profile *profile, struct json *json)
{
	int64_t id;

	if (!json_array(json))
		return;
	while (json_item(json)) {
		MEM_GROW(profile->samples, profile->nr_samples, profile->samples_capacity);
		id = json_index(json);
		profile->samples[profile->nr_samples++] =
		        id < 0 || id > UINT32_MAX ? UINT32_MAX : (uint32_t)id;
	}
}

void v8_profile_deltas(struct v8_profile *profile, struct json *json)
{
	__int128 value;

	if (!profile->by_time) {
		json_skip(json);
		return;
	}
	if (!json_array(json))
		return;
	while (json_item(json)) {
		MEM_GROW(profile->deltas, profile->nr_deltas, profile->deltas_capacity);
		json_fixed(json, &value);
		profile->deltas[profile->nr_deltas++] =
		        (int64_t)MIN_OF(MAX_OF(value / WEIGHT_ONE, -INT64_MAX), INT64_MAX);
	}
}

void v8_profile_object(struct v8_profile *profile, struct json *json)
{
	struct slice key;

	if (!json_object(json))
		return;
	while (json_key(json, &key)) {
		if (slice_equals(key, "nodes"))
			v8_profile_nodes(profile, json);
		else if (slice_equals(key, "samples"))
			v8_profile_samples(profile, json);
		else if (slice_equals(key, "timeDeltas"))
			v8_profile_deltas(profile, json);
		else if (slice_equals(key, "startTime"))
			json_fixed(json, &profile->start);
		else if (slice_equals(key, "endTime"))
			json_fixed(json, &profile->end);
		else
			json_skip(json);
	}
}

static void link_nodes(struct v8_profile *profile)
{
	for (uint32_t row = 0; row < profile->nr_nodes; row++) {
		const struct v8_node *node = &profile->nodes[row];

		profile->table.rows[row].parent = node->parent ?
		                                          idmap_get(&profile->rows, node->parent) :
		                                          idmap_get(&profile->parents, node->id);
	}
	stacktable_drop_root(&profile->table, profile->folder);
}

/* 10^-9 microseconds from sample i to the next, never below 0. */
static weight_fx time_of(const struct v8_profile *profile, size_t i, __int128 now)
{
	__int128 length = 0;

	if (i + 1 < profile->nr_deltas && i + 1 < profile->nr_samples)
		length = (__int128)profile->deltas[i + 1] * WEIGHT_ONE;
	else if (profile->start && profile->end)
		length = profile->end - now;
	return (weight_fx)MAX_OF(length, 0);
}

/* Samples, or their times, gathered by row; false where the sum would reach 2^64. */
static bool weigh_rows(struct v8_profile *profile, weight_fx *weights, struct format_report *report)
{
	__int128 now = profile->start;

	for (size_t i = 0; i < profile->nr_samples; i++) {
		uint32_t row = idmap_get(&profile->rows, profile->samples[i]);

		now += i < profile->nr_deltas ? (__int128)profile->deltas[i] * WEIGHT_ONE : 0;
		if (row == UINT32_MAX) {
			format_bad(report, "sample %zu: there is no node %u", i,
			           profile->samples[i]);
			continue;
		}
		if (!weight_add(&weights[row],
		                profile->by_time ? time_of(profile, i, now) : WEIGHT_ONE))
			return false;
		report->nr_samples++;
	}
	return true;
}

int v8_profile_fold(struct v8_profile *profile, uint32_t root, struct format_report *report,
                    struct err *err)
{
	weight_fx *weights = mem_zalloc((profile->nr_nodes + 1) * sizeof(*weights));
	uint64_t nr_samples;
	bool fits;

	link_nodes(profile);
	fits = weigh_rows(profile, weights, report);
	nr_samples = report->nr_samples;
	for (uint32_t row = 0; row < profile->nr_nodes && fits; row++) {
		if (!profile->nr_samples) {
			weights[row] = weight_from_u64(profile->nodes[row].hits);
			nr_samples += profile->nodes[row].hits;
		}
		if (weights[row])
			fits = format_count(
			        profile->folder,
			        stacktable_node(&profile->table, profile->folder, root, row),
			        weights[row], report, err);
	}
	report->nr_samples = nr_samples;
	free(weights);
	return fits ? 0 : format_too_large(err);
}
