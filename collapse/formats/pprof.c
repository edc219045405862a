/*
 * pprof.c - profiles of Go and all others who write pprof's protocol buffer.
 *
 * Values are those the file names; without --value its default_sample_type,
 * else the last, as profile.proto asks for, but samples where the first counts
 * them. Samples refer to tables that follow them, so the file is
 * walked twice: for the tables, then for the samples.
 *
 * Source: google/pprof, proto/profile.proto. Locations run from the innermost
 * out, and so do the lines of one: all but its last were inlined.
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/idmap.h"
#include "collapse/formats/proto.h"
#include "share/mem.h"
#include "share/num.h"

enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_DEFAULT_TYPE = 14,
	PROFILE_LAST = 15,
};

struct mapping {
	uint64_t id, start, offset, file;
};

struct function {
	uint64_t name, file;
};

struct location {
	size_t first, nr; /* names, innermost first */
};

struct pprof {
	struct folder *folder;
	const struct format_options *options;
	struct slice *strings, *types, *functions_raw, *locations_raw, *mappings_raw;
	size_t nr_strings, strings_capacity, nr_types, types_capacity;
	size_t nr_functions, functions_capacity, nr_locations, locations_capacity;
	size_t nr_mappings, mappings_capacity;
	struct function *functions;
	struct mapping *mappings;
	struct location *locations;
	uint32_t *names;
	size_t nr_names, names_capacity;
	struct idmap function_ids, mapping_ids, location_ids;
	uint64_t default_type; /* string */
};

static int detect(struct slice head, bool is_all)
{
	/* wire types of fields 1 to 15 */
	static const uint8_t wire[PROFILE_LAST + 1] = {9, 2, 2, 2, 2, 2, 2, 0,
	                                               0, 0, 0, 2, 0, 2, 0, 2};
	struct proto proto = proto_of(head);
	struct proto_field field;
	size_t nr = 0, nr_samples = 0;

	while (nr < 1000 && proto_next(&proto, &field)) {
		bool is_repeated_number = field.number == 13 && field.wire == 0;

		if (field.number > PROFILE_LAST ||
		    (field.wire != wire[field.number] && !is_repeated_number))
			return 0;
		nr_samples += field.number == PROFILE_SAMPLE;
		nr++;
	}
	if (proto.is_bad && is_all && nr < 8)
		return 0;
	return nr >= 3 && (nr_samples || !is_all) ? 70 : 0;
}

static struct slice string_at(const struct pprof *pprof, uint64_t index)
{
	return index < pprof->nr_strings ? pprof->strings[index] : (struct slice){"", 0};
}

static void keep(struct slice **list, size_t *nr, size_t *capacity, struct slice bytes)
{
	MEM_GROW(*list, *nr, *capacity);
	(*list)[(*nr)++] = bytes;
}

static void load_tables(struct pprof *pprof, struct proto proto, struct format_report *report)
{
	const uint8_t *start = proto.at;
	struct proto_field field;

	while (proto_next(&proto, &field)) {
		switch (field.number) {
		case PROFILE_SAMPLE_TYPE:
			keep(&pprof->types, &pprof->nr_types, &pprof->types_capacity, field.bytes);
			break;
		case PROFILE_MAPPING:
			keep(&pprof->mappings_raw, &pprof->nr_mappings, &pprof->mappings_capacity,
			     field.bytes);
			break;
		case PROFILE_LOCATION:
			keep(&pprof->locations_raw, &pprof->nr_locations,
			     &pprof->locations_capacity, field.bytes);
			break;
		case PROFILE_FUNCTION:
			keep(&pprof->functions_raw, &pprof->nr_functions,
			     &pprof->functions_capacity, field.bytes);
			break;
		case PROFILE_STRING:
			keep(&pprof->strings, &pprof->nr_strings, &pprof->strings_capacity,
			     field.bytes);
			break;
		case PROFILE_DEFAULT_TYPE:
			pprof->default_type = field.value;
			break;
		default:
			break;
		}
	}
	if (proto.is_bad)
		format_bad(report, "the file is cut, or damaged, before offset %zu",
		           (size_t)(proto.end - start));
}

static void load_functions(struct pprof *pprof)
{
	pprof->functions = mem_zalloc((pprof->nr_functions + 1) * sizeof(*pprof->functions));
	for (uint32_t i = 0; i < pprof->nr_functions; i++) {
		struct proto proto = proto_of(pprof->functions_raw[i]);
		struct function *function = &pprof->functions[i];
		uint64_t id = 0, system_name = 0;
		struct proto_field field;

		while (proto_next(&proto, &field)) {
			if (field.number == 1)
				id = field.value;
			else if (field.number == 2)
				function->name = field.value;
			else if (field.number == 3)
				system_name = field.value;
			else if (field.number == 4)
				function->file = field.value;
		}
		if (!function->name)
			function->name = system_name;
		idmap_set(&pprof->function_ids, id, i);
	}
}

static void load_mappings(struct pprof *pprof)
{
	pprof->mappings = mem_zalloc((pprof->nr_mappings + 1) * sizeof(*pprof->mappings));
	for (uint32_t i = 0; i < pprof->nr_mappings; i++) {
		struct proto proto = proto_of(pprof->mappings_raw[i]);
		struct mapping *mapping = &pprof->mappings[i];
		struct proto_field field;

		while (proto_next(&proto, &field)) {
			if (field.number == 1)
				mapping->id = field.value;
			else if (field.number == 2)
				mapping->start = field.value;
			else if (field.number == 4)
				mapping->offset = field.value;
			else if (field.number == 5)
				mapping->file = field.value;
		}
		idmap_set(&pprof->mapping_ids, mapping->id, i);
	}
}

static void add_name(struct pprof *pprof, uint32_t name)
{
	MEM_GROW(pprof->names, pprof->nr_names, pprof->names_capacity);
	pprof->names[pprof->nr_names++] = name;
}

/* A place without a function: "libc.so.6+0x1234", or its address alone. */
static uint32_t address_name(struct pprof *pprof, uint64_t address, uint64_t mapping_id)
{
	uint32_t index = idmap_get(&pprof->mapping_ids, mapping_id), id;
	struct buf text = {0};

	if (index != UINT32_MAX) {
		const struct mapping *mapping = &pprof->mappings[index];
		struct slice file = string_at(pprof, mapping->file);
		const char *slash = file.size ? memrchr(file.at, '/', file.size) : NULL;

		if (slash) {
			file.size -= (size_t)(slash + 1 - file.at);
			file.at = slash + 1;
		}
		if (file.size) {
			buf_add(&text, file.at, file.size);
			buf_char(&text, '+');
			address = address - mapping->start + mapping->offset;
		}
	}
	buf_printf(&text, "0x%llx", (unsigned long long)address);
	id = folder_name(pprof->folder, text.at, text.size);
	buf_release(&text);
	return id;
}

static void add_line(struct pprof *pprof, struct slice bytes, bool is_inlined)
{
	struct proto proto = proto_of(bytes);
	struct proto_field field;
	uint64_t function_id = 0, line = 0;
	struct buf text = {0};
	struct slice name;
	uint32_t index;

	while (proto_next(&proto, &field)) {
		if (field.number == 1)
			function_id = field.value;
		else if (field.number == 2)
			line = field.value;
	}
	index = idmap_get(&pprof->function_ids, function_id);
	if (index == UINT32_MAX) {
		buf_string(&text, "[unknown]");
	} else {
		name = string_at(pprof, pprof->functions[index].name);
		buf_add(&text, name.at, name.size);
		if (pprof->options->srcline && pprof->functions[index].file) {
			name = string_at(pprof, pprof->functions[index].file);
			buf_char(&text, ' ');
			buf_add(&text, name.at, name.size);
			buf_printf(&text, ":%llu", (unsigned long long)line);
		}
	}
	if (is_inlined && pprof->options->annotate)
		buf_string(&text, "_[i]");
	add_name(pprof, folder_name(pprof->folder, text.at, text.size));
	buf_release(&text);
}

static void load_location(struct pprof *pprof, uint32_t i)
{
	struct proto proto = proto_of(pprof->locations_raw[i]);
	uint64_t id = 0, mapping = 0, address = 0;
	struct slice pending = {
	        0}; /* the line before, of which it is unclear whether it is the last */
	struct proto_field field;

	pprof->locations[i].first = pprof->nr_names;
	while (proto_next(&proto, &field)) {
		if (field.number == 1) {
			id = field.value;
		} else if (field.number == 2) {
			mapping = field.value;
		} else if (field.number == 3) {
			address = field.value;
		} else if (field.number == 4 && field.wire == 2) {
			if (pending.at && pprof->options->inlines)
				add_line(pprof, pending, true);
			pending = field.bytes;
		}
	}
	if (pending.at)
		add_line(pprof, pending, false);
	else
		add_name(pprof, address_name(pprof, address, mapping));
	pprof->locations[i].nr = pprof->nr_names - pprof->locations[i].first;
	idmap_set(&pprof->location_ids, id, i);
}

/* ---- samples ---- */

struct sample {
	uint64_t *locations;
	size_t nr, capacity;
	int64_t value;
	size_t nr_values;
	struct slice comm;
	int64_t pid, tid;
};

static void take_label(const struct pprof *pprof, struct slice bytes, struct sample *sample)
{
	struct proto proto = proto_of(bytes);
	uint64_t key = 0, string = 0, number = 0;
	struct proto_field field;
	struct slice name, text;

	while (proto_next(&proto, &field)) {
		if (field.number == 1)
			key = field.value;
		else if (field.number == 2)
			string = field.value;
		else if (field.number == 3)
			number = field.value;
	}
	name = string_at(pprof, key);
	text = string_at(pprof, string);
	if (text.size && num_parse_u64(text.at, text.size, &number))
		number = UINT64_MAX;
	if (slice_equals(name, "comm") || slice_equals(name, "thread") ||
	    slice_equals(name, "thread_name") || slice_equals(name, "thread name"))
		sample->comm = text.size ? text : sample->comm;
	else if (slice_equals(name, "pid"))
		sample->pid = (int64_t)number;
	else if (slice_equals(name, "tid") || slice_equals(name, "thread id"))
		sample->tid = (int64_t)number;
}

static void take_sample(const struct pprof *pprof, struct slice bytes, size_t value,
                        struct sample *sample)
{
	struct proto proto = proto_of(bytes);
	struct proto_field field;
	uint64_t number;

	sample->nr = sample->nr_values = 0;
	sample->value = 0;
	sample->comm = (struct slice){0};
	sample->pid = sample->tid = -1;
	while (proto_next(&proto, &field)) {
		struct proto rest = {0};

		if (field.number == 1) {
			while (proto_number(&field, &rest, &number)) {
				MEM_GROW(sample->locations, sample->nr, sample->capacity);
				sample->locations[sample->nr++] = number;
			}
		} else if (field.number == 2) {
			while (proto_number(&field, &rest, &number))
				if (sample->nr_values++ == value)
					sample->value = (int64_t)number;
		} else if (field.number == 3 && field.wire == 2) {
			take_label(pprof, field.bytes, sample);
		}
	}
}

static int fold_samples(struct pprof *pprof, struct proto proto, size_t value,
                        struct format_report *report, struct err *err)
{
	struct sample sample = {0};
	struct proto_field field;
	int result = 0;

	while (!result && proto_next(&proto, &field)) {
		bool is_good;
		uint32_t node;

		if (field.number != PROFILE_SAMPLE || field.wire != 2)
			continue;
		take_sample(pprof, field.bytes, value, &sample);
		is_good = sample.value >= 0 && sample.nr_values > value;
		node = format_root(pprof->folder, pprof->options, sample.comm.at, sample.comm.size,
		                   sample.pid, sample.tid);
		for (size_t i = sample.nr; i-- > 0 && is_good;) {
			uint32_t index = idmap_get(&pprof->location_ids, sample.locations[i]);
			const struct location *location = &pprof->locations[index];

			is_good = index != UINT32_MAX;
			for (size_t j = is_good ? location->nr : 0; j-- > 0;)
				node = folder_child(pprof->folder, node,
				                    pprof->names[location->first + j]);
		}
		if (!is_good) {
			format_bad(report, "a sample with a negative value, without the value or "
			                   "with a location that is not there");
			continue;
		}
		if (!sample.nr)
			node = folder_child(pprof->folder, node,
			                    folder_name(pprof->folder, "[no stack]", 10));
		if (!format_count(pprof->folder, node, weight_from_u64((uint64_t)sample.value),
		                  report, err))
			result = -1;
	}
	free(sample.locations);
	return result;
}

/* ---- values ---- */

static int choose_value(const struct pprof *pprof, struct folded_header *header,
                        struct format_report *report, size_t *value, struct err *err)
{
	char **names = mem_zalloc((pprof->nr_types + 1) * sizeof(*names));
	size_t first_choice = pprof->nr_types ? pprof->nr_types - 1 : 0;
	int result;

	for (size_t i = pprof->nr_types; i--;) {
		struct proto proto = proto_of(pprof->types[i]);
		struct proto_field field;
		struct slice name = {"", 0}, unit = {"", 0};

		while (proto_next(&proto, &field)) {
			if (field.number == 1) {
				name = string_at(pprof, field.value);
				if (pprof->default_type ? field.value == pprof->default_type :
				                          !i && slice_equals(name, "samples"))
					first_choice = i;
			} else if (field.number == 2) {
				unit = string_at(pprof, field.value);
			}
		}
		names[i] = mem_printf("%.*s%c%.*s", (int)MIN_OF(name.size, 60), name.at, '\0',
		                      (int)MIN_OF(unit.size, 20), unit.at);
	}
	result = format_value(pprof->options, (const char *const *)names, pprof->nr_types,
	                      first_choice, value, err);
	if (!result && pprof->nr_types) {
		const char *unit = names[*value] + strlen(names[*value]) + 1;

		format_unit(report, names[*value],
		            strcmp(unit, "count") == 0 ? names[*value] : unit);
		format_values_note(header, (const char *const *)names, pprof->nr_types);
	}
	for (size_t i = 0; i < pprof->nr_types; i++)
		free(names[i]);
	free(names);
	return result;
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header, struct format_report *report, struct err *err)
{
	struct pprof pprof = {.folder = folder, .options = options};
	struct slice bytes;
	struct proto proto;
	size_t value;
	int result;

	if (format_whole(in, &bytes, err))
		return -1;
	proto = proto_of(bytes);
	load_tables(&pprof, proto, report);
	load_functions(&pprof);
	load_mappings(&pprof);
	pprof.locations = mem_zalloc((pprof.nr_locations + 1) * sizeof(*pprof.locations));
	for (uint32_t i = 0; i < pprof.nr_locations; i++)
		load_location(&pprof, i);
	result = choose_value(&pprof, header, report, &value, err);
	if (!result)
		result = fold_samples(&pprof, proto, value, report, err);
	free(pprof.strings);
	free(pprof.types);
	free(pprof.functions_raw);
	free(pprof.locations_raw);
	free(pprof.mappings_raw);
	free(pprof.functions);
	free(pprof.mappings);
	free(pprof.locations);
	free(pprof.names);
	idmap_release(&pprof.function_ids);
	idmap_release(&pprof.mapping_ids);
	idmap_release(&pprof.location_ids);
	return result;
}

const struct format format_pprof = {
        .name = "pprof",
        .about = "pprof protocol buffer (Go and others); values: as the file names them",
        .detect = detect,
        .parse = parse,
};
