/*
 * hprof.c - what Java's hprof agent wrote as text (format=a): CPU samples, CPU
 * times, allocation sites and monitors.
 *
 * Values, of which the first that the file has is folded: samples, time
 * (microseconds: the percentage printed, of the total printed), calls,
 * live-bytes, live-objects, alloc-bytes, alloc-objects, monitor (microseconds,
 * likewise). Each dump while the program ran repeats what was before, so the
 * last section of its kind counts. A site's class is the innermost frame.
 *
 * Source: JDK 8, src/share/demo/jvmti/hprof: hprof_io.c (io_write_*),
 * hprof_trace.c, hprof_site.c, and manual.html. Decimal commas come with the
 * locale.
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/callers.h"
#include "collapse/formats/idmap.h"
#include "share/mem.h"
#include "share/num.h"

enum section { NO_SECTION, CPU_SAMPLES, CPU_TIME, SITES, MONITOR_TIME };

static const struct value {
	const char *name, *unit;
	enum section section;
	uint8_t column;   /* from 0; 1 is the percentage */
	bool is_fraction; /* that percentage of the section's total */
} values[] = {
        {"samples", "samples", CPU_SAMPLES, 3, false},
        {"time", "microseconds", CPU_TIME, 1, true},
        {"calls", "calls", CPU_TIME, 3, false},
        {"live-bytes", "bytes", SITES, 3, false},
        {"live-objects", "objects", SITES, 4, false},
        {"alloc-bytes", "bytes", SITES, 5, false},
        {"alloc-objects", "objects", SITES, 6, false},
        {"monitor", "microseconds", MONITOR_TIME, 1, true},
};

struct row {
	uint64_t trace;
	uint32_t name;        /* innermost frame that no trace has, or UINT32_MAX */
	weight_fx amounts[7]; /* by column */
};

struct section_rows {
	struct row *rows;
	size_t nr, capacity;
	uint64_t total_ms;
	bool is_there;
};

struct hprof {
	struct folder *folder;
	const struct format_options *options;
	struct format_report *report;
	uint64_t line;
	struct idmap threads; /* id -> name in the folder */
	struct idmap traces;  /* number -> node */
	struct callers callers;
	uint64_t trace, thread; /* that is being read */
	bool in_trace;
	enum section section;
	struct section_rows sections[MONITOR_TIME + 1];
};

static int detect(struct slice head, bool is_all UNUSED)
{
	return slice_starts(head, "JAVA PROFILE 1.0") && memchr(head.at, '\n', head.size) &&
	                       !memchr(head.at, 0, MIN_OF(head.size, (size_t)20)) ?
	               100 :
	               0;
}

static void bad(struct hprof *h, const char *what, struct slice line)
{
	format_bad(h->report, "line %llu: %s: %.*s", (unsigned long long)h->line, what,
	           (int)MIN_OF(line.size, (size_t)100), line.at);
}

/* The number behind a key, "id = 200001". */
static bool number_after(struct slice line, const char *key, uint64_t *value)
{
	struct slice digits = slice_from(line, slice_find(line, key) + strlen(key));
	size_t size = 0;

	while (size < digits.size && digits.at[size] >= '0' && digits.at[size] <= '9')
		size++;
	return num_parse_u64(digits.at, size, value) == 0;
}

/* THREAD START (obj=50000198, id = 200001, name="main", group="main") */
static void take_thread(struct hprof *h, struct slice line)
{
	struct slice name = slice_from(line, slice_find(line, "name=\"") + 6);
	uint64_t id;

	name.size = slice_find(name, "\", group=");
	if (!number_after(line, "id = ", &id))
		bad(h, "a thread without its number", line);
	else
		idmap_set(&h->threads, id, folder_name(h->folder, name.at, name.size));
}

static void end_trace(struct hprof *h)
{
	uint32_t name = idmap_get(&h->threads, h->thread);
	struct slice thread = {0};
	uint32_t root;

	if (!h->in_trace)
		return;
	if (name != UINT32_MAX)
		thread = strtab_slice(&h->folder->names, name);
	root = format_root(h->folder, h->options, thread.at, thread.size, -1,
	                   h->thread ? (int64_t)(h->thread & INT64_MAX) : -1);
	idmap_set(&h->traces, h->trace, callers_node(&h->callers, h->folder, root));
	callers_reset(&h->callers);
	h->in_trace = false;
}

/* "TRACE 300160: (thread=200004)", in heap profiles without the thread */
static void begin_trace(struct hprof *h, struct slice line)
{
	h->thread = 0;
	h->in_trace = number_after(line, "TRACE ", &h->trace);
	if (!h->in_trace)
		bad(h, "a trace without its number", line);
	number_after(line, "(thread=", &h->thread);
}

/* "\tjava.lang.String.length(String.java:12)"; "\t<empty>" */
static void take_frame(struct hprof *h, struct slice line)
{
	struct slice name = slice_trim(line), file = {0};
	const char *bracket;
	uint32_t id;

	if (!h->in_trace || slice_equals(name, "<empty>"))
		return;
	bracket = name.size ? memrchr(name.at, '(', name.size) : NULL;
	if (bracket && bracket > name.at && slice_ends(name, ")")) {
		file = slice_from(name, (size_t)(bracket + 1 - name.at));
		file.size--;
		name.size = (size_t)(bracket - name.at);
		if (slice_starts(file, "Unknown "))
			file.size = 0;
		file.size = slice_find(file, ":Unknown");
	}
	id = format_frame(h->folder, h->options, name, file, -1);
	callers_add(&h->callers, h->folder, strtab_slice(&h->folder->names, id));
}

static void begin_section(struct hprof *h, struct slice line)
{
	static const char *const titles[] = {"", "CPU SAMPLES BEGIN", "CPU TIME (ms) BEGIN",
	                                     "SITES BEGIN", "MONITOR TIME BEGIN"};

	for (enum section i = CPU_SAMPLES; i <= MONITOR_TIME; i++) {
		if (!slice_starts(line, titles[i]))
			continue;
		h->section = i;
		h->sections[i].nr = 0;
		h->sections[i].is_there = true;
		h->sections[i].total_ms = 0;
		number_after(line, "(total = ", &h->sections[i].total_ms);
	}
}

/* "1.25%", "1,25%" or "120" */
static bool parse_amount(struct slice word, weight_fx *amount)
{
	char text[40];

	if (slice_ends(word, "%"))
		word.size--;
	if (word.size > sizeof(text))
		return false;
	for (size_t i = 0; i < word.size; i++)
		text[i] = word.at[i] == ',' ? '.' : word.at[i];
	return weight_parse(text, word.size, amount) == WEIGHT_OK;
}

/*
 *	rank self accum COUNT TRACE METHOD
 *	rank self accum BYTES OBJS BYTES OBJS TRACE CLASS
 */
static void take_row(struct hprof *h, struct slice line)
{
	struct section_rows *section = &h->sections[h->section];
	size_t nr_amounts = h->section == SITES ? 7 : 4;
	struct slice rest = slice_trim(line), word;
	struct row row = {.name = UINT32_MAX};

	if (!rest.size || slice_starts(rest, "rank ") || slice_starts(rest, "percent "))
		return;
	for (size_t i = 0; i <= nr_amounts; i++) {
		word = (struct slice){rest.at, slice_find(rest, " ")};
		rest = slice_trim(slice_from(rest, word.size));
		if (i < nr_amounts ? !parse_amount(word, &row.amounts[i]) :
		                     num_parse_u64(word.at, word.size, &row.trace) != 0) {
			bad(h, "it is no row of the table it stands in", line);
			return;
		}
	}
	if (h->section == SITES || h->section == MONITOR_TIME)
		row.name = folder_name(h->folder, rest.at, rest.size);
	MEM_GROW(section->rows, section->nr, section->capacity);
	section->rows[section->nr++] = row;
}

static void take_line(struct hprof *h, struct slice line)
{
	if (h->section) {
		if (line.size && *line.at >= 'A' && *line.at <= 'Z')
			h->section = NO_SECTION; /* "SITES END", or its end is not there */
		else
			take_row(h, line);
	}
	if (line.size && *line.at == '\t') {
		take_frame(h, line);
	} else if (!h->section) {
		end_trace(h);
		if (slice_starts(line, "TRACE ") && slice_find(line, ":") < line.size)
			begin_trace(h, line);
		else if (slice_starts(line, "THREAD START ("))
			take_thread(h, line);
		else
			begin_section(h, line);
	}
}

static int fold(struct hprof *h, const struct value *value, struct err *err)
{
	const struct section_rows *section = &h->sections[value->section];

	for (size_t i = 0; i < section->nr; i++) {
		const struct row *row = &section->rows[i];
		uint32_t node = idmap_get(&h->traces, row->trace);
		weight_fx weight = row->amounts[value->column];

		if (node == UINT32_MAX) {
			format_bad(h->report, "trace %llu is counted but not there",
			           (unsigned long long)row->trace);
			node = 0;
		}
		if (row->name != UINT32_MAX)
			node = folder_child(h->folder, node, row->name);
		/* percent of milliseconds */
		if (value->is_fraction)
			weight = weight / 100000 * section->total_ms * 1000000;
		if (!format_count(h->folder, node, weight, h->report, err))
			return -1;
	}
	return 0;
}

static int choose(const struct hprof *h, struct folded_header *header, size_t *picked,
                  struct err *err)
{
	const char *names[ARRAY_SIZE(values)];
	size_t indexes[ARRAY_SIZE(values)], nr = 0, i;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		if (!h->sections[values[i].section].is_there)
			continue;
		indexes[nr] = i;
		names[nr++] = values[i].name;
	}
	if (!nr)
		return err_set(err, "no section of CPU SAMPLES, CPU TIME, SITES or MONITOR TIME; "
		                    "hprof writes them when the program ends");
	if (format_value(h->options, names, nr, 0, &i, err))
		return -1;
	format_values_note(header, names, nr);
	*picked = indexes[i];
	return 0;
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header, struct format_report *report, struct err *err)
{
	struct hprof h = {.folder = folder, .options = options, .report = report};
	struct slice line;
	size_t value = 0;
	int rc;

	while ((rc = input_line(in, &line, err)) > 0) {
		h.line = input_line_number(in);
		take_line(&h, line);
	}
	end_trace(&h);
	if (rc == 0 && (rc = choose(&h, header, &value, err)) == 0) {
		format_unit(report, values[value].name, values[value].unit);
		rc = fold(&h, &values[value], err);
	}
	for (size_t i = 0; i < ARRAY_SIZE(h.sections); i++)
		free(h.sections[i].rows);
	callers_release(&h.callers);
	idmap_release(&h.threads);
	idmap_release(&h.traces);
	return rc;
}

const struct format format_hprof = {
        .name = "hprof",
        .about = "Java hprof text; values: samples, time, calls, live- and alloc-bytes and "
                 "-objects, monitor",
        .detect = detect,
        .parse = parse,
};
