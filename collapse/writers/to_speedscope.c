/*
 * to_speedscope.c - writes speedscope's file format: one sampled profile, a
 * sample for each distinct stack.
 *
 * Source: https://www.speedscope.app/file-format-schema.json (version 0.0.1).
 */
#include "share/compat.h"
#include "collapse/writers/to.h"

static const char *unit_of(const struct folded_header *header)
{
	const char *unit = to_unit(header);

	return to_unit_ns(unit) || strcmp(unit, "bytes") == 0 ? unit : "none";
}

static int write_speedscope(const struct folder *folder, const struct folded_header *header,
                            struct output *out, struct err *err UNUSED)
{
	const char *event = to_event(header);
	uint32_t *path = NULL;
	size_t capacity = 0;
	bool is_first = true;

	output_string(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
	                   "\"shared\":{\"frames\":[");
	for (uint32_t name = 0; name < folder->names.nr; name++) {
		output_string(out, name ? ",\n{\"name\":" : "\n{\"name\":");
		to_json_string(out, strtab_slice(&folder->names, name));
		output_string(out, "}");
	}
	output_string(out, "]},\n\"profiles\":[{\"type\":\"sampled\",\"name\":");
	event = *event ? event : "profile";
	to_json_string(out, (struct slice){event, strlen(event)});
	output_printf(out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":", unit_of(header));
	to_weight(out, folder->total);
	output_string(out, ",\n\"samples\":[");
	for (uint32_t node = 1; node < folder->nr; node++) {
		size_t nr;

		if (!folder->nodes[node].self)
			continue;
		nr = to_path(folder, node, &path, &capacity);
		output_string(out, is_first ? "\n[" : ",\n[");
		for (size_t i = 0; i < nr; i++)
			output_printf(out, i ? ",%u" : "%u", path[i]);
		output_string(out, "]");
		is_first = false;
	}
	output_string(out, "],\n\"weights\":[");
	is_first = true;
	for (uint32_t node = 1; node < folder->nr; node++) {
		if (!folder->nodes[node].self)
			continue;
		if (!is_first)
			output_string(out, ",");
		to_weight(out, folder->nodes[node].self);
		is_first = false;
	}
	output_string(out, "]}],\n\"exporter\":\"flame-collapse\"}\n");
	free(path);
	return 0;
}

const struct to_format to_speedscope = {
        .name = "speedscope",
        .about = "speedscope.app's JSON",
        .write = write_speedscope,
};
