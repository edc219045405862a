/*
 * format_trees.c - call trees as indented text.
 *
 *   sample        "    825 main  (in rg) + 41  [0x1]" behind columns of "+!:|";
 *                 inclusive samples; sample(1) of macOS
 *   instruments   "2.45 s  0.0%\t846.00 ms\t  delta()": time or cycles with and
 *                 without the callees, or bytes and number of allocations with
 *                 them: a deep copy out of Instruments 7 to 16
 *   pmcstat       "20.86%  [7447]   function @ module": callers below callees;
 *                 pmcstat -G of FreeBSD, pmcstat(8)
 *   ghc_prof      cost centres with module, individual time and allocation;
 *                 GHC User's Guide, "Profiling", time and allocation reports
 */
#include "share/compat.h"
#include "collapse/formats/calltree.h"
#include "collapse/formats/format.h"

#include "collapse/formats/callers.h"
#include "share/num.h"

struct trees {
	struct input *in;
	const struct format_options *options;
	struct format_report *report;
	struct err *err;
	struct calltree tree;
	bool has_begun;    /* behind the headings */
	size_t columns[2]; /* ghc_prof: where the module and the numbers begin */
	uint64_t total;    /* ghc_prof: ticks or bytes, where only percentages follow */
	size_t field;      /* ghc_prof: number to read, from the right end or from the left */
	struct buf name;
};

static void bad(struct trees *t, const char *what, struct slice line)
{
	format_bad(t->report, "line %llu: %s: %.*s", (unsigned long long)input_line_number(t->in),
	           what, (int)MIN_OF(line.size, (size_t)100), line.at);
}

static int add(struct trees *t, size_t depth, struct slice name, weight_fx weight,
               struct slice line)
{
	bool is_skipped;
	int rc = calltree_add(&t->tree, depth, name, weight, &is_skipped);

	if (is_skipped)
		bad(t, "it is indented deeper than a child of the line above", line);
	return rc;
}

static size_t blanks(struct slice s)
{
	size_t nr = 0;

	while (nr < s.size && s.at[nr] == ' ')
		nr++;
	return nr;
}

/* ---- Apple's sample ---- */

static int detect_sample(struct slice head, bool is_all UNUSED)
{
	return slice_starts(head, "Analysis of sampling ") || head_has(head, "\nCall graph:\n") ?
	               90 :
	               0;
}

/* "main  (in rg) + 41  [0x1]" to "rg`main", as the other tracers write it. */
static struct slice sample_name(struct trees *t, struct slice text)
{
	size_t in = slice_find(text, "  (in ");
	struct slice module = slice_from(text, in + 6);

	if (in == text.size) {
		text.size = slice_find(text, "  ");
		return slice_trim(text);
	}
	module.size = slice_find(module, ")");
	if (slice_ends(module, ".dylib"))
		module.size -= 6;
	buf_reset(&t->name);
	buf_add(&t->name, module.at, module.size);
	buf_char(&t->name, '`');
	buf_add(&t->name, text.at, in);
	return (struct slice){t->name.at, t->name.size};
}

static int line_sample(struct trees *t, struct slice line)
{
	struct slice text, number;
	size_t indent = 0;
	weight_fx weight;

	if (!t->has_begun) {
		t->has_begun = slice_equals(line, "Call graph:");
		return 0;
	}
	if (!line.size || slice_starts(line, "Total number in stack")) {
		t->has_begun = !line.size && !t->tree.nr;
		return calltree_finish(&t->tree);
	}
	while (indent < line.size && strchr(" +!:|", line.at[indent]))
		indent++;
	text = slice_from(line, indent);
	number = (struct slice){text.at, slice_find(text, " ")};
	if (indent < 4 || number.size == text.size ||
	    weight_parse(number.at, number.size, &weight) != WEIGHT_OK) {
		bad(t, "it has no count where one belongs", line);
		return 0;
	}
	return add(t, (indent - 4) / 2, sample_name(t, slice_trim(slice_from(text, number.size))),
	           weight, line);
}

/* ---- Instruments ---- */

static int detect_instruments(struct slice head, bool is_all UNUSED)
{
	static const char *const headings[] = {"Weight\tSelf", "Running Time\tSelf",
	                                       "Bytes Used\tCount\t"};

	if (slice_starts(head, "\xef\xbb\xbf"))
		head = slice_from(head, 3);
	for (size_t i = 0; i < ARRAY_SIZE(headings); i++)
		if (slice_starts(head, headings[i]))
			return 95;
	return 0;
}

/*
 * "846.00 ms", "4.93 s", "45.92 Gc", "73.35 MB"; "-" is nothing, and a number
 * alone is in milliseconds, as "Self (ms)" says. *unit: of the result; NULL
 * where there is none to tell.
 */
static bool parse_measure(struct slice text, weight_fx *weight, const char **unit)
{
	static const struct {
		const char *suffix, *unit;
		uint32_t factor;
	} units[] = {{"ns", "microseconds", 0},      {"\xc2\xb5s", "microseconds", 1},
	             {"us", "microseconds", 1},      {"ms", "microseconds", 1000},
	             {"s", "microseconds", 1000000}, {"min", "microseconds", 60000000},
	             {"", "microseconds", 1000},     {"cycles", "cycles", 1},
	             {"Kc", "cycles", 1000},         {"Mc", "cycles", 1000000},
	             {"Gc", "cycles", 1000000000},   {"Bytes", "bytes", 1},
	             {"KB", "bytes", 1 << 10},       {"MB", "bytes", 1 << 20},
	             {"GB", "bytes", 1 << 30}};
	size_t digits = 0;
	struct slice suffix;

	*unit = NULL;
	if (slice_equals(text, "-")) {
		*weight = 0;
		return true;
	}
	while (digits < text.size &&
	       ((text.at[digits] >= '0' && text.at[digits] <= '9') || text.at[digits] == '.'))
		digits++;
	if (weight_parse(text.at, digits, weight) != WEIGHT_OK)
		return false;
	suffix = slice_trim(slice_from(text, digits));
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (!slice_equals(suffix, units[i].suffix))
			continue;
		*unit = *weight ? units[i].unit : NULL;
		*weight = units[i].factor ? *weight * units[i].factor : *weight / 1000;
		return true;
	}
	return false;
}

/* The heading says whether there is a column without the callees' part. */
static int begin_instruments(struct trees *t, struct slice line)
{
	static const char *const names[] = {"bytes", "count"};

	t->has_begun = true;
	t->field = 1;
	if (slice_find(line, "Bytes Used\t") == line.size)
		return 0;
	t->tree.is_inclusive = true;
	if (format_value(t->options, names, ARRAY_SIZE(names), 0, &t->field, t->err))
		return -1;
	snprintf(t->report->unit, sizeof(t->report->unit), t->field ? "allocations" : "bytes");
	return 0;
}

static int line_instruments(struct trees *t, struct slice line)
{
	struct slice rest = line, fields[2] = {{0}}, text;
	const char *unit = NULL;
	weight_fx weight;
	bool is_count;

	if (!t->has_begun)
		return begin_instruments(t, line);
	if (!line.size)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		fields[i] = (struct slice){rest.at, slice_find(rest, "\t")};
		rest = slice_from(rest, fields[i].size + 1);
	}
	/* up to version 13 there is an empty column before the name */
	if (slice_find(rest, "\t") < rest.size)
		rest = slice_from(rest, slice_find(rest, "\t") + 1);
	text = slice_trim(fields[t->field]);
	is_count = t->tree.is_inclusive && t->field;
	if (t->tree.is_inclusive && !t->field) /* "429.93 MB     100.0%" */
		text.size = slice_find(text, "  ");
	if (!rest.size || !(is_count ? weight_parse(text.at, text.size, &weight) == WEIGHT_OK :
	                               parse_measure(text, &weight, &unit))) {
		bad(t, "it is no row of weight, self weight and name", line);
		return 0;
	}
	if (unit && !t->report->nr_samples)
		snprintf(t->report->unit, sizeof(t->report->unit), "%s", unit);
	/* the outermost frame may itself be indented: depths count from the first one */
	if (!t->tree.nr)
		t->columns[0] = blanks(rest);
	return add(t, blanks(rest) - MIN_OF(blanks(rest), t->columns[0]), slice_trim(rest), weight,
	           line);
}

/* ---- pmcstat ---- */

static int detect_pmcstat(struct slice head, bool is_all UNUSED)
{
	return slice_starts(head, "@ ") && head_has(head, " samples]") && head_has(head, "%  [") ?
	               95 :
	               0;
}

static int line_pmcstat(struct trees *t, struct slice line)
{
	size_t open = slice_find(line, "%  ["), close = slice_find(line, "]");
	struct slice number, name;
	weight_fx weight;

	if (slice_starts(line, "@ ")) {
		line = slice_from(line, 2);
		line.size = slice_find(line, " [");
		snprintf(t->report->event, sizeof(t->report->event), "%.*s",
		         (int)MIN_OF(line.size, (size_t)63), line.at);
		return 0;
	}
	if (!line.size)
		return 0;
	number = slice_from(line, open + 4);
	number.size -= MIN_OF(number.size, line.size - close);
	name = slice_trim(slice_from(line, close + 1));
	name.size = slice_find(name, " @ ");
	if (open == line.size || close == line.size || !name.size ||
	    weight_parse(number.at, number.size, &weight) != WEIGHT_OK) {
		bad(t, "it is no row of percentage, count and name", line);
		return 0;
	}
	t->tree.is_inverted = true;
	/* a leaf's percentage stands at the margin, its callers' one blank further each */
	return add(t, blanks(line), name, weight, line);
}

/* ---- GHC ---- */

static int detect_ghc_prof(struct slice head, bool is_all UNUSED)
{
	return head_has(head, "Time and Allocation Profiling Report") ? 95 : 0;
}

/* "total time  =        0.02 secs   (23 ticks" and "total alloc =  59,542,424 bytes". */
static void take_total(struct trees *t, struct slice text, bool wants_bytes)
{
	char digits[24];
	size_t nr = 0;

	text = slice_from(text, slice_find(text, wants_bytes ? "=" : "(") + 1);
	text = slice_trim(text);
	for (size_t i = 0; i < text.size && nr < sizeof(digits); i++) {
		if (text.at[i] == ',')
			continue;
		if (text.at[i] < '0' || text.at[i] > '9')
			break;
		digits[nr++] = text.at[i];
	}
	if (num_parse_u64(digits, nr, &t->total) < 0)
		bad(t, "it has no total", text);
}

/* The nth blank-separated word; empty where there are fewer. */
static struct slice word_at(struct slice text, size_t nth)
{
	for (;; nth--) {
		struct slice word;

		text = slice_trim(text);
		word = (struct slice){text.at, slice_find(text, " ")};
		if (!nth || !word.size)
			return word;
		text = slice_from(text, word.size);
	}
}

/*
 * The second table is the call tree; its heading tells where the columns are.
 * Fields behind SRC: no., entries, %time, %alloc (individual, then inherited),
 * and with -P ticks and bytes.
 */
static void begin_ghc(struct trees *t, struct slice line, bool wants_bytes)
{
	t->has_begun = true;
	t->columns[0] = slice_find(line, "MODULE");
	t->columns[1] = slice_find(line, " no.");
	if (slice_find(line, "ticks") < line.size)
		t->field = wants_bytes ? 7 : 6;
	else
		t->field = wants_bytes ? 3 : 2;
}

/* Bytes of the line up to a column of code points: names may be of any script. */
static size_t at_column(struct slice line, size_t column)
{
	size_t at = 0;

	while (at < line.size && column) {
		at += MAX_OF(utf8_sequence(line.at + at, line.size - at), (size_t)1);
		column--;
	}
	return at;
}

static int line_ghc_prof(struct trees *t, struct slice line)
{
	bool wants_bytes = t->options->value && (strcmp(t->options->value, "bytes") == 0 ||
	                                         strcmp(t->options->value, "alloc") == 0);
	struct slice text = slice_trim(line), centre, module, number;
	weight_fx weight;
	size_t depth;

	if (!t->has_begun) {
		if (slice_starts(text, wants_bytes ? "total alloc" : "total time"))
			take_total(t, text, wants_bytes);
		else if (slice_starts(line, "COST CENTRE") && slice_find(line, " no.") < line.size)
			begin_ghc(t, line, wants_bytes);
		snprintf(t->report->unit, sizeof(t->report->unit), wants_bytes ? "bytes" : "ticks");
		return 0;
	}
	if (!text.size)
		return 0;
	depth = blanks(line);
	centre = word_at(line, 0);
	module = word_at(slice_from(line, at_column(line, t->columns[0])), 0);
	/* numbers are aligned to the right: "no." ends where its heading ends */
	number = slice_from(line, at_column(line, t->columns[1]));
	while (number.size && *number.at != ' ' && number.at > line.at && number.at[-1] != ' ')
		number = (struct slice){number.at - 1, number.size + 1};
	number = word_at(number, t->field);
	if (!module.size || weight_parse(number.at, number.size, &weight) != WEIGHT_OK) {
		bad(t, "it is no row of a cost centre", line);
		return 0;
	}
	if (t->field < 4)
		weight = weight * t->total / 100;
	buf_reset(&t->name);
	buf_add(&t->name, module.at, module.size);
	buf_char(&t->name, '.');
	buf_add(&t->name, centre.at, centre.size);
	return add(t, depth, (struct slice){t->name.at, t->name.size}, weight, line);
}

/* ---- all ---- */

static int parse_trees(struct input *in, struct folder *folder,
                       const struct format_options *options, struct format_report *report,
                       struct err *err, const char *unit, bool is_inclusive,
                       int (*take)(struct trees *, struct slice))
{
	struct trees t = {
	        .in = in,
	        .options = options,
	        .report = report,
	        .err = err,
	        .tree = {.folder = folder,
	                 .report = report,
	                 .err = err,
	                 .is_inclusive = is_inclusive},
	};
	struct slice line;
	int rc;

	format_unit(report, "", unit);
	while ((rc = input_line(in, &line, err)) > 0 && (rc = take(&t, line)) == 0)
		;
	if (rc == 0)
		rc = calltree_finish(&t.tree);
	calltree_release(&t.tree);
	buf_release(&t.name);
	return rc;
}

#define TREES(id, title, unit, is_inclusive, text)                                                 \
	static int parse_##id(struct input *in, struct folder *folder,                             \
	                      const struct format_options *options,                                \
	                      struct folded_header *header UNUSED, struct format_report *report,   \
	                      struct err *err)                                                     \
	{                                                                                          \
		return parse_trees(in, folder, options, report, err, unit, is_inclusive,           \
		                   line_##id);                                                     \
	}                                                                                          \
	const struct format format_##id = {                                                        \
	        .name = title, .about = text, .detect = detect_##id, .parse = parse_##id}

TREES(sample, "sample", "samples", true, "call graphs of Apple's sample");
TREES(instruments, "instruments", "microseconds", false,
      "Instruments call trees, copied as text; values of allocations: bytes, count");
TREES(pmcstat, "pmcstat", "samples", true, "FreeBSD pmcstat -G call graphs");
TREES(ghc_prof, "ghc-prof", "ticks", false, "GHC cost centres (.prof); values: ticks, bytes");
