/*
 * heaptrack.c - recordings of heaptrack, raw and interpreted.
 *
 * Values: allocated (bytes, the default), allocations, leaked (bytes not freed
 * at the end). Raw recordings hold addresses only: "libfoo.so+0x1234".
 *
 * Source: KDE/heaptrack, src/util/linewriter.h, src/track/libheaptrack.cpp (raw)
 * and src/interpret/heaptrack_interpret.cpp, file versions 1 to 3. Numbers are
 * hexadecimal; traces, strings, instruction pointers and allocation infos
 * count from 1 in order of appearance (infos from 0).
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/idmap.h"
#include "collapse/formats/stacktable.h"
#include "share/mem.h"
#include "share/num.h"

enum { VALUE_ALLOCATED, VALUE_ALLOCATIONS, VALUE_LEAKED };

struct module {
	uint64_t start, end, base;
	uint32_t name;
};

struct pointer { /* an instruction pointer of an interpreted file: names, innermost first */
	size_t first, nr;
};

struct info {
	uint64_t size;
	uint32_t trace;
};

struct reading {
	struct folder *folder;
	const struct format_options *options;
	struct format_report *report;
	size_t value;
	bool is_interpreted;
	uint64_t file_version;

	struct module *modules;
	size_t nr_modules, modules_capacity;
	uint32_t *strings;
	size_t nr_strings, strings_capacity;
	uint32_t *names;
	size_t nr_names, names_capacity;
	struct pointer *pointers;
	size_t nr_pointers, pointers_capacity;
	uint32_t *traces; /* trace - 1 -> row of the table */
	size_t nr_traces, traces_capacity;
	struct stacktable table;
	struct info *infos; /* interpreted: as stored; raw: of pointers that live */
	size_t nr_infos, infos_capacity;
	struct idmap live; /* raw: address -> info + 1, 0 once freed */
	uint64_t *nr_live; /* interpreted: by info */
	size_t live_capacity;
	uint32_t exe;
};

static int detect(struct slice head, bool is_all UNUSED)
{
	return slice_starts(head, "v ") && (head_has(head, "\nX ") || head_has(head, "\nx ")) &&
	                       head_has(head, "\nI ") ?
	               90 :
	               0;
}

static bool next_hex(struct slice *rest, uint64_t *value)
{
	size_t size = 0;

	while (rest->size && *rest->at == ' ') {
		rest->at++;
		rest->size--;
	}
	while (size < rest->size && rest->at[size] != ' ')
		size++;
	if (num_parse_hex(rest->at, size, value))
		return false;
	rest->at += size;
	rest->size -= size;
	return true;
}

/* A text: behind its size since version 3, else up to the blank or the end. */
static bool next_text(const struct reading *reading, struct slice *rest, bool is_last,
                      struct slice *text)
{
	uint64_t size = rest->size;

	if (reading->file_version >= 3) {
		if (!next_hex(rest, &size) || !rest->size || size > rest->size - 1)
			return false;
		rest->at++;
		rest->size--;
	} else if (!is_last) {
		const char *blank = rest->size ? memchr(rest->at, ' ', rest->size) : NULL;

		size = blank ? (uint64_t)(blank - rest->at) : rest->size;
	}
	*text = (struct slice){rest->at, size};
	rest->at += size;
	rest->size -= size;
	return true;
}

static uint32_t base_name(struct reading *reading, struct slice path)
{
	const char *slash = path.size ? memrchr(path.at, '/', path.size) : NULL;

	if (slash) {
		path.size -= (size_t)(slash + 1 - path.at);
		path.at = slash + 1;
	}
	return folder_name(reading->folder, path.at, path.size);
}

/* "m SIZE NAME BASE {ADDRESS SIZE}": a module's segments, "m 1 -": forget all */
static bool take_module(struct reading *reading, struct slice rest)
{
	uint64_t base, address, size;
	struct slice path;
	uint32_t name;

	if (!next_text(reading, &rest, false, &path))
		return false;
	if (slice_equals(path, "-")) {
		reading->nr_modules = 0;
		return true;
	}
	if (!next_hex(&rest, &base))
		return false;
	name = slice_equals(path, "x") ? reading->exe : base_name(reading, path);
	while (rest.size && next_hex(&rest, &address) && next_hex(&rest, &size)) {
		MEM_GROW(reading->modules, reading->nr_modules, reading->modules_capacity);
		reading->modules[reading->nr_modules++] =
		        (struct module){base + address, base + address + size, base, name};
	}
	return true;
}

static uint32_t address_name(struct reading *reading, uint64_t address)
{
	struct buf text = {0};
	uint32_t id;

	for (size_t i = reading->nr_modules; i-- > 0;) {
		const struct module *module = &reading->modules[i];

		if (address >= module->start && address < module->end) {
			buf_printf(&text, "%s+",
			           strtab_text(&reading->folder->names, module->name));
			address -= module->base;
			break;
		}
	}
	buf_printf(&text, "0x%llx", (unsigned long long)address);
	id = folder_name(reading->folder, text.at, text.size);
	buf_release(&text);
	return id;
}

/* "i ADDRESS MODULE {FUNCTION FILE LINE}", the innermost inlined function first */
static bool take_pointer(struct reading *reading, struct slice rest)
{
	struct pointer pointer = {.first = reading->nr_names};
	uint64_t address, module, function, file, line;

	if (!next_hex(&rest, &address) || !next_hex(&rest, &module))
		return false;
	while (rest.size && next_hex(&rest, &function)) {
		uint32_t name = function && function <= reading->nr_strings ?
		                        reading->strings[function - 1] :
		                        folder_name(reading->folder, "[unknown]", 9);

		if (rest.size && (!next_hex(&rest, &file) || !next_hex(&rest, &line)))
			return false;
		MEM_GROW(reading->names, reading->nr_names, reading->names_capacity);
		reading->names[reading->nr_names++] = name;
		if (!reading->options->inlines) /* the outermost is the last */
			reading->nr_names = pointer.first + 1, reading->names[pointer.first] = name;
	}
	if (reading->nr_names == pointer.first) {
		struct buf text = {0};

		if (module && module <= reading->nr_strings)
			buf_printf(
			        &text, "%s+",
			        strtab_text(&reading->folder->names, reading->strings[module - 1]));
		buf_printf(&text, "0x%llx", (unsigned long long)address);
		MEM_GROW(reading->names, reading->nr_names, reading->names_capacity);
		reading->names[reading->nr_names++] =
		        folder_name(reading->folder, text.at, text.size);
		buf_release(&text);
	}
	pointer.nr = reading->nr_names - pointer.first;
	MEM_GROW(reading->pointers, reading->nr_pointers, reading->pointers_capacity);
	reading->pointers[reading->nr_pointers++] = pointer;
	return true;
}

/* "t POINTER PARENT": a frame below another trace */
static bool take_trace(struct reading *reading, struct slice rest)
{
	uint64_t pointer, parent;
	uint32_t row;

	if (!next_hex(&rest, &pointer) || !next_hex(&rest, &parent))
		return false;
	row = parent && parent <= reading->nr_traces ? reading->traces[parent - 1] :
	                                               STACKTABLE_NONE;
	if (!reading->is_interpreted) {
		row = stacktable_add(&reading->table, row, address_name(reading, pointer));
	} else if (pointer && pointer <= reading->nr_pointers) {
		const struct pointer *p = &reading->pointers[pointer - 1];

		for (size_t i = p->nr; i-- > 0;)
			row = stacktable_add(&reading->table, row, reading->names[p->first + i]);
	} else {
		row = stacktable_add(&reading->table, row, STACKTABLE_NONE);
	}
	MEM_GROW(reading->traces, reading->nr_traces, reading->traces_capacity);
	reading->traces[reading->nr_traces++] = row;
	return true;
}

static int count(struct reading *reading, uint32_t trace, weight_fx weight, struct err *err)
{
	uint32_t node = trace && trace <= reading->nr_traces ?
	                        stacktable_node(&reading->table, reading->folder, 0,
	                                        reading->traces[trace - 1]) :
	                        folder_child(reading->folder, 0,
	                                     folder_name(reading->folder, "[no stack]", 10));

	return format_count(reading->folder, node, weight, reading->report, err) ? 0 : -1;
}

static void add_info(struct reading *reading, uint64_t size, uint64_t trace)
{
	MEM_GROW(reading->infos, reading->nr_infos, reading->infos_capacity);
	if (reading->infos_capacity != reading->live_capacity) {
		reading->nr_live = mem_resize(reading->nr_live, reading->infos_capacity,
		                              sizeof(*reading->nr_live));
		reading->live_capacity = reading->infos_capacity;
	}
	reading->nr_live[reading->nr_infos] = 0;
	reading->infos[reading->nr_infos++] =
	        (struct info){size, (uint32_t)MIN_OF(trace, UINT32_MAX)};
}

/* raw "+ SIZE TRACE POINTER", interpreted "+ INFO" */
static int take_allocation(struct reading *reading, struct slice rest, bool *is_good,
                           struct err *err)
{
	uint64_t size, trace, pointer, index;

	*is_good = next_hex(&rest, &size);
	index = size;
	if (!reading->is_interpreted) {
		*is_good = *is_good && next_hex(&rest, &trace) && next_hex(&rest, &pointer);
		if (!*is_good)
			return 0;
		add_info(reading, size, trace);
		index = reading->nr_infos - 1;
		idmap_set(&reading->live, pointer, (uint32_t)index);
	}
	*is_good = *is_good && index < reading->nr_infos;
	if (!*is_good)
		return 0;
	reading->nr_live[index]++;
	if (reading->value == VALUE_LEAKED)
		return 0;
	return count(reading, reading->infos[index].trace,
	             reading->value == VALUE_ALLOCATED ?
	                     weight_from_u64(reading->infos[index].size) :
	                     WEIGHT_ONE,
	             err);
}

static bool take_free(struct reading *reading, struct slice rest)
{
	uint64_t index;

	if (!next_hex(&rest, &index))
		return false;
	if (!reading->is_interpreted) {
		index = idmap_get(&reading->live, index);
		if (index == UINT32_MAX) /* allocated before the recording began */
			return true;
	}
	if (index >= reading->nr_infos)
		return false;
	reading->nr_live[index] -= reading->nr_live[index] > 0;
	return true;
}

static int take_line(struct reading *reading, struct slice line, bool *is_good, struct err *err)
{
	struct slice rest = {line.at + 2, line.size - 2}, text = {0};
	uint64_t a, b;

	*is_good = true;
	switch (line.at[0]) {
	case 'v':
		if (next_hex(&rest, &a) && !next_hex(&rest, &reading->file_version))
			reading->file_version = 1;
		break;
	case 'x':
		*is_good = next_text(reading, &rest, true, &text);
		if (*is_good)
			reading->exe = base_name(reading, text);
		break;
	case 'm':
		*is_good = take_module(reading, rest);
		break;
	case 's':
		reading->is_interpreted = true;
		*is_good = next_text(reading, &rest, true, &text);
		MEM_GROW(reading->strings, reading->nr_strings, reading->strings_capacity);
		reading->strings[reading->nr_strings++] =
		        folder_name(reading->folder, text.at, *is_good ? text.size : 0);
		break;
	case 'i':
		reading->is_interpreted = true;
		*is_good = take_pointer(reading, rest);
		break;
	case 't':
		*is_good = take_trace(reading, rest);
		break;
	case 'a':
		reading->is_interpreted = true;
		*is_good = next_hex(&rest, &a) && next_hex(&rest, &b);
		if (*is_good)
			add_info(reading, a, b);
		break;
	case '+':
		return take_allocation(reading, rest, is_good, err);
	case '-':
		*is_good = take_free(reading, rest);
		break;
	default: /* X command, I pages, S suppressions, c time, R resident size, # comments */
		break;
	}
	return 0;
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header, struct format_report *report, struct err *err)
{
	static const char *const values[] = {"allocated", "allocations", "leaked"};
	struct reading reading = {.folder = folder,
	                          .options = options,
	                          .report = report,
	                          .file_version = 1,
	                          .exe = folder_name(folder, "exe", 3)};
	struct slice line;
	int more = 0, result = 0;

	if (format_value(options, values, ARRAY_SIZE(values), 0, &reading.value, err))
		return -1;
	format_values_note(header, values, ARRAY_SIZE(values));
	format_unit(report, values[reading.value],
	            reading.value == VALUE_ALLOCATIONS ? "allocations" : "bytes");
	while (!result && (more = input_line(in, &line, err)) > 0) {
		bool is_good = false;

		if (!line.size || slice_equals(line, "A"))
			continue;
		if (line.size > 2 && line.at[1] == ' ')
			result = take_line(&reading, line, &is_good, err);
		if (!is_good)
			format_bad(report, "line %llu: '%.*s'",
			           (unsigned long long)input_line_number(in),
			           (int)MIN_OF(line.size, 80), line.at);
	}
	if (more < 0)
		result = -1;
	for (size_t i = 0; i < reading.nr_infos && !result && reading.value == VALUE_LEAKED; i++) {
		unsigned __int128 bytes =
		        (unsigned __int128)reading.infos[i].size * reading.nr_live[i];

		if (bytes > UINT64_MAX)
			result = format_too_large(err);
		else if (bytes)
			result = count(&reading, reading.infos[i].trace,
			               weight_from_u64((uint64_t)bytes), err);
	}
	free(reading.modules);
	free(reading.strings);
	free(reading.names);
	free(reading.pointers);
	free(reading.traces);
	free(reading.infos);
	free(reading.nr_live);
	stacktable_release(&reading.table);
	idmap_release(&reading.live);
	return result;
}

const struct format format_heaptrack = {
        .name = "heaptrack",
        .about = "heaptrack, raw and interpreted; values: allocated, allocations, leaked",
        .detect = detect,
        .parse = parse,
};
