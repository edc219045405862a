#include "share/compat.h"
#include "collapse/writers/to.h"

#include "share/mem.h"

extern const struct to_format to_folded, to_pprof, to_speedscope, to_firefox, to_chrome, to_trace,
        to_json, to_rows;

const struct to_format *const to_formats[] = {&to_folded,  &to_pprof,  &to_speedscope,
                                              &to_firefox, &to_chrome, &to_trace,
                                              &to_json,    &to_rows,   NULL};

static int write_folded(const struct folder *folder, const struct folded_header *header,
                        struct output *out, struct err *err UNUSED)
{
	folded_header_write(header, out);
	folder_write(folder, out);
	return 0;
}

const struct to_format to_folded = {
        .name = "folded",
        .about = "folded stacks, one line each (the default)",
        .write = write_folded,
};

const struct to_format *to_format_by_name(const char *name)
{
	for (size_t i = 0; to_formats[i]; i++)
		if (strcmp(to_formats[i]->name, name) == 0)
			return to_formats[i];
	return NULL;
}

const char *to_unit(const struct folded_header *header)
{
	const char *unit = folded_header_get(header, "unit");

	return unit ? unit : "samples";
}

const char *to_event(const struct folded_header *header)
{
	const char *event = folded_header_get(header, "event");

	return event ? event : "";
}

uint64_t to_unit_ns(const char *unit)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = {{"nanoseconds", 1},
	             {"microseconds", 1000},
	             {"milliseconds", 1000000},
	             {"seconds", 1000000000}};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strcmp(units[i].unit, unit) == 0)
			return units[i].ns;
	return 0;
}

bool to_all_whole(const struct folder *folder)
{
	for (uint32_t node = 0; node < folder->nr; node++)
		if (folder->nodes[node].self % WEIGHT_ONE)
			return false;
	return true;
}

size_t to_path(const struct folder *folder, uint32_t node, uint32_t **path, size_t *capacity)
{
	size_t nr = 0;

	for (; node; node = folder->nodes[node].parent) {
		MEM_GROW(*path, nr, *capacity);
		(*path)[nr++] = folder->nodes[node].name;
	}
	for (size_t i = 0, j = nr; i + 1 < j; i++) {
		uint32_t swap = (*path)[i];

		(*path)[i] = (*path)[--j];
		(*path)[j] = swap;
	}
	return nr;
}

void to_children_init(struct to_children *children, const struct folder *folder)
{
	children->first = mem_zalloc(folder->nr * sizeof(uint32_t));
	children->next = mem_zalloc(folder->nr * sizeof(uint32_t));
	for (uint32_t node = folder->nr - 1; node; node--) {
		uint32_t parent = folder->nodes[node].parent;

		children->next[node] = children->first[parent];
		children->first[parent] = node;
	}
}

void to_children_release(struct to_children *children)
{
	free(children->first);
	free(children->next);
}

void to_json_string(struct output *out, struct slice text)
{
	size_t plain = 0;

	output_add(out, "\"", 1);
	for (size_t i = 0; i < text.size; i++) {
		unsigned char c = (unsigned char)text.at[i];

		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		output_add(out, text.at + plain, i - plain);
		if (c < 0x20)
			output_printf(out, "\\u%04x", c);
		else
			output_printf(out, "\\%c", c);
		plain = i + 1;
	}
	output_add(out, text.at + plain, text.size - plain);
	output_add(out, "\"", 1);
}

void to_weight(struct output *out, weight_fx weight)
{
	char text[WEIGHT_TEXT];

	output_add(out, text, weight_format(text, weight));
}
