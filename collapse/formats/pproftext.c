/*
 * pproftext.c - what `go tool pprof` prints of a profile as text.
 *
 *   pprof-raw     -raw: the types of the values, samples as numbers and ids of
 *                 locations, innermost first, then the locations; google/pprof
 *                 profile/profile.go, Profile.String
 *   pprof-traces  -traces: a stack a block between rules, innermost first, its
 *                 value, rounded and with a unit, before the first frame;
 *                 google/pprof internal/report/report.go, printTraces
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/callers.h"
#include "collapse/formats/idmap.h"
#include "share/buf.h"
#include "share/mem.h"
#include "share/num.h"

#define TYPES_MAX 32
#define TYPE_TEXT 64

/* ---- -raw ---- */

struct location {
	size_t first, nr; /* in names, innermost first */
};

struct raw {
	struct folder *folder;
	const struct format_options *options;
	struct format_report *report;
	struct err *err;
	uint64_t line;

	struct idmap ids; /* to locations */
	struct location *locations;
	size_t nr_locations, locations_capacity;
	uint32_t *names;
	size_t nr_names, names_capacity;

	char types[TYPES_MAX][TYPE_TEXT]; /* "name", NUL, "unit" */
	size_t nr_types, value;
	uint32_t *stack;
	size_t stack_capacity;
};

static void raw_bad(struct raw *raw, const char *what, struct slice line)
{
	format_bad(raw->report, "line %llu: %s: %.*s", (unsigned long long)raw->line, what,
	           (int)MIN_OF(line.size, (size_t)100), line.at);
}

static int detect_pprof_raw(struct slice head, bool is_all UNUSED)
{
	return (slice_starts(head, "PeriodType: ") || slice_starts(head, "Samples:\n") ||
	        slice_starts(head, "Comments:")) &&
	                       head_has(head, "Samples:\n") ?
	               90 :
	               0;
}

/* "NAME FILE:LINE[:COLUMN] s=START[(MANGLED)]" */
static uint32_t raw_frame(struct raw *raw, struct slice text)
{
	struct slice name = text, file;
	int64_t line = -1;
	size_t at = text.size - MIN_OF(text.size, strlen(" s=") - 1);
	uint64_t number;

	while (at && memcmp(text.at + at - 1, " s=", strlen(" s=")) != 0)
		at--;
	if (!at)
		return folder_name(raw->folder, text.at, text.size);
	name.size = at - 1;
	for (at = name.size; at && name.at[at - 1] != ' ';)
		at--;
	file = slice_from(name, at);
	name.size = at;
	name = slice_trim(name);
	for (at = slice_find(file, ":"); at < file.size; at++) {
		struct slice digits = slice_from(file, at + 1);

		/* of drive letters and the like the colon is followed by no number */
		digits.size = slice_find(digits, ":");
		if (file.at[at] != ':' || num_parse_u64(digits.at, digits.size, &number))
			continue;
		line = number && number <= INT32_MAX ? (int64_t)number : -1;
		file.size = at;
	}
	return format_frame(raw->folder, raw->options, name, file, line);
}

static void add_raw_name(struct raw *raw, uint32_t name)
{
	MEM_GROW(raw->names, raw->nr_names, raw->names_capacity);
	raw->names[raw->nr_names++] = name;
}

/* That a frame was inlined shows in the line after it: that names its caller. */
static void mark_inlined(struct raw *raw, uint32_t *name)
{
	struct buf text = {0};

	if (!raw->options->annotate)
		return;
	buf_string(&text, strtab_text(&raw->folder->names, *name));
	buf_string(&text, "_[i]");
	*name = folder_name(raw->folder, text.at, text.size);
	buf_release(&text);
}

/* "ID: 0xADDRESS [M=MAPPING] [[F]] [FRAME]", or a further frame that the last was inlined into. */
static void take_location(struct raw *raw, struct slice line)
{
	struct slice text = slice_trim(line), number = text, address;
	struct location *location;
	uint64_t id;

	number.size = slice_find(text, ": ");
	if (!text.size)
		return;
	if (num_parse_u64(number.at, number.size, &id)) {
		if (!raw->nr_locations) {
			raw_bad(raw, "no location", line);
			return;
		}
		location = &raw->locations[raw->nr_locations - 1];
		if (!raw->options->inlines) {
			raw->names[location->first] = raw_frame(raw, text);
			return;
		}
		mark_inlined(raw, &raw->names[raw->nr_names - 1]);
		add_raw_name(raw, raw_frame(raw, text));
		location->nr++;
		return;
	}
	text = slice_from(text, number.size + 2);
	address = slice_next_word(&text);
	text = slice_trim(text);
	if (slice_starts(text, "M="))
		slice_next_word(&text);
	text = slice_trim(text);
	if (slice_starts(text, "[F]"))
		text = slice_trim(slice_from(text, 3));
	MEM_GROW(raw->locations, raw->nr_locations, raw->locations_capacity);
	raw->locations[raw->nr_locations] = (struct location){raw->nr_names, 1};
	idmap_set(&raw->ids, id, (uint32_t)raw->nr_locations++);
	add_raw_name(raw, text.size && !slice_equals(text, "??") ?
	                          raw_frame(raw, text) :
	                          folder_name(raw->folder, address.at, address.size));
}

/* "samples/count cpu/nanoseconds[dflt] " */
static int take_types(struct raw *raw, struct slice line, struct folded_header *header)
{
	const char *names[TYPES_MAX];
	size_t first_choice = 0;
	const char *unit;

	for (struct slice word;
	     raw->nr_types < TYPES_MAX && (word = slice_next_word(&line)).size;) {
		char *type = raw->types[raw->nr_types];
		size_t slash;

		if (slice_ends(word, "[dflt]")) {
			first_choice = raw->nr_types;
			word.size -= strlen("[dflt]");
		}
		slash = slice_find(word, "/");
		snprintf(type, TYPE_TEXT, "%.*s%c%.*s", (int)MIN_OF(slash, (size_t)40), word.at, 0,
		         (int)MIN_OF(slice_from(word, slash + 1).size, (size_t)20),
		         slice_from(word, slash + 1).at);
		names[raw->nr_types++] = type;
	}
	if (!raw->nr_types)
		return err_set(raw->err, "the samples have no types of values");
	if (format_value(raw->options, names, raw->nr_types, first_choice, &raw->value, raw->err))
		return -1;
	unit = names[raw->value] + strlen(names[raw->value]) + 1;
	format_unit(raw->report, names[raw->value],
	            strcmp(unit, "count") ? unit : names[raw->value]);
	format_values_note(header, names, raw->nr_types);
	return 0;
}

/* "VALUE VALUE: ID ID ID "; false where the sum is too large. */
static bool take_sample(struct raw *raw, struct slice line)
{
	size_t colon = slice_find(line, ":"), nr = 0, nr_values = 0, depth = 0;
	struct slice values = {line.at, colon}, ids = slice_from(line, colon + 1), word;
	enum weight_parse status = WEIGHT_NOT_A_NUMBER;
	weight_fx weight = 0;
	uint32_t node = 0;

	for (; (word = slice_next_word(&values)).size; nr_values++)
		if (nr_values == raw->value)
			status = weight_parse(word.at, word.size, &weight);
	if (colon == line.size || nr_values != raw->nr_types || status != WEIGHT_OK) {
		/* labels of the sample before, "key:[value]", are no samples */
		if (slice_find(line, ":[") == line.size)
			raw_bad(raw, "no sample", line);
		return true;
	}
	while ((word = slice_next_word(&ids)).size) {
		uint64_t id;
		uint32_t index = num_parse_u64(word.at, word.size, &id) ? UINT32_MAX :
		                                                          idmap_get(&raw->ids, id);

		if (index == UINT32_MAX) {
			raw_bad(raw, "no such location", word);
			return true;
		}
		MEM_GROW(raw->stack, nr, raw->stack_capacity);
		raw->stack[nr++] = index;
	}
	while (nr--) {
		const struct location *location = &raw->locations[raw->stack[nr]];

		depth += location->nr;
		if (depth > CALLERS_MAX) {
			raw_bad(raw, "a stack deeper than 65,536 is cut", line);
			break;
		}
		for (size_t i = location->nr; i-- > 0;)
			node = folder_child(raw->folder, node, raw->names[location->first + i]);
	}
	return !weight || format_count(raw->folder, node, weight, raw->report, raw->err);
}

/* Locations stand below the samples that name them: they are read first. */
static int fold_raw(struct raw *raw, struct slice text, struct folded_header *header)
{
	size_t samples = slice_find(text, "Samples:\n");
	size_t locations = slice_find(text, "\nLocations\n");
	struct slice rest = slice_from(text, locations + strlen("\nLocations\n")), line;

	for (size_t i = 0; i < MIN_OF(text.size, locations + strlen("\nLocations\n")); i++)
		raw->line += text.at[i] == '\n';
	while (slice_next_line(&rest, &line) && !slice_starts(line, "Mappings")) {
		raw->line++;
		take_location(raw, line);
	}
	raw->line = 1;
	for (size_t i = 0; i < samples; i++)
		raw->line += text.at[i] == '\n';
	rest = (struct slice){text.at, locations};
	rest = slice_from(rest, samples + strlen("Samples:\n"));
	raw->line++;
	if (!slice_next_line(&rest, &line))
		return err_set(raw->err, "there are no samples");
	if (take_types(raw, line, header))
		return -1;
	while (slice_next_line(&rest, &line)) {
		raw->line++;
		if (!take_sample(raw, line))
			return -1;
	}
	return 0;
}

static int parse_pprof_raw(struct input *in, struct folder *folder,
                           const struct format_options *options, struct folded_header *header,
                           struct format_report *report, struct err *err)
{
	struct raw raw = {.folder = folder, .options = options, .report = report, .err = err};
	struct slice text;
	int result;

	if (format_whole(in, &text, err))
		return -1;
	result = fold_raw(&raw, text, header);
	idmap_release(&raw.ids);
	free(raw.locations);
	free(raw.names);
	free(raw.stack);
	return result;
}

const struct format format_pprof_raw = {
        .name = "pprof-raw",
        .about = "text of go tool pprof -raw",
        .detect = detect_pprof_raw,
        .parse = parse_pprof_raw,
};

/* ---- -traces ---- */

static const struct unit {
	const char *suffix, *unit;
	uint64_t factor;
} units[] = {
        /* measurement.go of google/pprof, UnitTypes; the longest fit is listed first */
        {"ns", "nanoseconds", 1},
        {"us", "nanoseconds", 1000},
        {"ms", "nanoseconds", 1000000},
        {"mins", "nanoseconds", 60000000000},
        {"hrs", "nanoseconds", 3600000000000},
        {"days", "nanoseconds", 86400000000000},
        {"wks", "nanoseconds", 604800000000000},
        {"yrs", "nanoseconds", 31556926080000000},
        {"s", "nanoseconds", 1000000000},
        {"kB", "bytes", 1 << 10},
        {"MB", "bytes", 1 << 20},
        {"GB", "bytes", 1 << 30},
        {"TB", "bytes", (uint64_t)1 << 40},
        {"PB", "bytes", (uint64_t)1 << 50},
        {"B", "bytes", 1},
        {"", "", 1},
};

/* "12.50ms"; false for what is no amount. */
static bool parse_amount(struct slice text, weight_fx *weight, const struct unit **unit)
{
	for (*unit = units;; (*unit)++)
		if (slice_ends(text, (*unit)->suffix))
			break;
	text.size -= strlen((*unit)->suffix);
	if (weight_parse(text.at, text.size, weight) != WEIGHT_OK)
		return false;
	if (*weight > weight_from_u64(UINT64_MAX) / (*unit)->factor)
		return false;
	*weight *= (*unit)->factor;
	return true;
}

static bool is_rule(struct slice line)
{
	return slice_starts(line, "-----------+---");
}

static int detect_pprof_traces(struct slice head, bool is_all UNUSED)
{
	return (slice_starts(head, "-----------+---") || head_has(head, "\n-----------+---")) &&
	                       (slice_starts(head, "File: ") || slice_starts(head, "Type: ") ||
	                        slice_starts(head, "-----------+---") ||
	                        head_has(head, "\nType: ")) &&
	                       !head_has(head, "flat%") ?
	               85 :
	               0;
}

struct traces {
	struct folder *folder;
	const struct format_options *options;
	struct format_report *report;
	struct err *err;
	struct callers callers;
	struct buf name;
	char type[64];
	const char *unit; /* of the first value that has one */
	weight_fx weight;
	uint64_t line;
	bool is_inside, has_value;
};

static void traces_bad(struct traces *traces, const char *what, struct slice line)
{
	format_bad(traces->report, "line %llu: %s: %.*s", (unsigned long long)traces->line, what,
	           (int)MIN_OF(line.size, (size_t)100), line.at);
}

static bool end_trace(struct traces *traces)
{
	uint32_t node = callers_node(&traces->callers, traces->folder, 0);
	bool has_value = traces->has_value;

	callers_reset(&traces->callers);
	traces->has_value = false;
	return !has_value || !traces->weight ||
	       format_count(traces->folder, node, traces->weight, traces->report, traces->err);
}

/* "     10ms   FRAME", "            FRAME", "     key:  value" */
static void take_trace_line(struct traces *traces, struct slice line)
{
	struct slice text = slice_trim(line), amount = text;
	const struct unit *unit;
	weight_fx weight;
	bool is_inlined;

	amount.size = slice_find(text, "   ");
	if (!text.size || (!traces->has_value && slice_find(text, ":  ") < amount.size))
		return;
	if (!traces->has_value) {
		if (amount.size == text.size || !parse_amount(amount, &weight, &unit)) {
			traces_bad(traces, "no value", line);
			return;
		}
		if (*unit->unit && *traces->unit && strcmp(unit->unit, traces->unit) != 0) {
			traces_bad(traces, "a value of another kind", line);
			return;
		}
		if (*unit->unit)
			traces->unit = unit->unit;
		traces->weight = weight;
		traces->has_value = true;
		text = slice_trim(slice_from(text, amount.size));
	}
	is_inlined = slice_ends(text, " (inline)");
	if (is_inlined)
		text.size -= strlen(" (inline)");
	if (is_inlined && !traces->options->inlines)
		return;
	buf_reset(&traces->name);
	buf_add(&traces->name, text.at, text.size);
	if (is_inlined && traces->options->annotate)
		buf_string(&traces->name, "_[i]");
	callers_add(&traces->callers, traces->folder,
	            (struct slice){traces->name.at, traces->name.size});
}

static bool take_traces_line(struct traces *traces, struct slice line)
{
	if (is_rule(line)) {
		traces->is_inside = true;
		return end_trace(traces);
	}
	if (traces->is_inside)
		take_trace_line(traces, line);
	else if (slice_starts(line, "Type: "))
		snprintf(traces->type, sizeof(traces->type), "%.*s",
		         (int)MIN_OF(line.size - 6, sizeof(traces->type) - 1), line.at + 6);
	return true;
}

static int parse_pprof_traces(struct input *in, struct folder *folder,
                              const struct format_options *options,
                              struct folded_header *header UNUSED, struct format_report *report,
                              struct err *err)
{
	struct traces traces = {
	        .folder = folder, .options = options, .report = report, .err = err, .unit = ""};
	struct slice line;
	int rc;

	while ((rc = input_line(in, &line, err)) > 0) {
		traces.line = input_line_number(in);
		if (!take_traces_line(&traces, line)) {
			rc = -1;
			break;
		}
	}
	if (!rc && !end_trace(&traces))
		rc = -1;
	format_unit(report, traces.type,
	            *traces.unit ? traces.unit :
	            *traces.type ? traces.type :
	                           "samples");
	callers_release(&traces.callers);
	buf_release(&traces.name);
	return rc;
}

const struct format format_pprof_traces = {
        .name = "pprof-traces",
        .about = "text of go tool pprof -traces: values as rounded there",
        .detect = detect_pprof_traces,
        .parse = parse_pprof_traces,
};
