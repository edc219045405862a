/*
 * format_csv.c - call trees as comma-separated values (RFC 4180).
 *
 *   vtune   "Function Stack,CPU Time:Self,Module": depth by leading blanks,
 *           seconds without the callees; vtune -report top-down
 *           -call-stack-mode all -column ... -format csv, and any
 *           -csv-delimiter (a tab unless another is asked for)
 *   vsprof  "Level,Function Name,Number of Calls,...": depth in the first
 *           field; Visual Studio's CallTreeSummary export
 */
#include "share/compat.h"
#include "collapse/formats/calltree.h"
#include "collapse/formats/format.h"

#include "collapse/formats/callers.h"
#include "share/num.h"

#define MAX_COLUMNS 64

struct row {
	struct slice fields[MAX_COLUMNS]; /* without quotes; "" inside stays as it is */
	size_t nr;
	size_t indent; /* blanks before the first field's text, quoted or not */
};

static size_t blanks(struct slice s)
{
	size_t nr = 0;

	while (nr < s.size && s.at[nr] == ' ')
		nr++;
	return nr;
}

static void split(struct slice line, char delimiter, struct row *row)
{
	const char separator[] = {delimiter, '\0'};

	row->nr = 0;
	row->indent = blanks(line);
	line = slice_from(line, row->indent);
	while (row->nr < MAX_COLUMNS) {
		struct slice field = line;

		if (line.size && *line.at == '"') {
			size_t end = 1;

			while (end < line.size &&
			       (line.at[end] != '"' ||
			        (end + 1 < line.size && line.at[end + 1] == '"')))
				end += line.at[end] == '"' ? 2 : 1;
			end = MIN_OF(end, line.size);
			field = (struct slice){line.at + 1, end - 1};
			line = slice_from(line, end + 1);
			line = slice_from(line, slice_find(line, separator));
		} else {
			field.size = slice_find(line, separator);
			line = slice_from(line, field.size);
		}
		row->fields[row->nr++] = field;
		if (!line.size)
			break;
		line = slice_from(line, 1);
	}
	row->indent += blanks(row->fields[0]);
	row->fields[0] = slice_trim(row->fields[0]);
}

/* The column of this name, or row->nr. */
static size_t column_of(const struct row *row, const char *name)
{
	size_t at = 0;

	while (at < row->nr && !slice_equals(slice_trim(row->fields[at]), name))
		at++;
	return at;
}

struct csv {
	struct input *in;
	const struct format_options *options;
	struct format_report *report;
	struct calltree tree;
	struct row row;
	size_t weight, module; /* columns */
	uint32_t factor;       /* of the weight */
	char delimiter;
	bool has_begun;
	struct buf name;
};

static void bad(struct csv *c, const char *what)
{
	format_bad(c->report, "line %llu: %s", (unsigned long long)input_line_number(c->in), what);
}

/* Reads a number with commas between its thousands. */
static bool parse_grouped(struct slice text, weight_fx *weight)
{
	char digits[32];
	size_t nr = 0;

	for (size_t i = 0; i < text.size; i++) {
		if (text.at[i] == ',')
			continue;
		if (nr == sizeof(digits))
			return false;
		digits[nr++] = text.at[i];
	}
	return weight_parse(digits, nr, weight) == WEIGHT_OK;
}

static int add(struct csv *c, size_t depth, struct slice name, struct slice number)
{
	weight_fx weight;
	bool is_skipped;
	int rc;

	if (!name.size || !parse_grouped(slice_trim(number), &weight)) {
		bad(c, "it has no name or no number where one belongs");
		return 0;
	}
	rc = calltree_add(&c->tree, depth, name, weight * c->factor, &is_skipped);
	if (is_skipped)
		bad(c, "it is indented deeper than a child of the line above");
	return rc;
}

/* ---- VTune ---- */

/* What follows the name of the first column in the line of headings; 0 where there is none. */
static char vtune_delimiter(struct slice text)
{
	static const char column[] = "Function Stack";
	size_t at = slice_find(text, column), end;

	if (at && at < text.size && text.at[at - 1] == '"')
		at--;
	if (at == text.size || (at && text.at[at - 1] != '\n'))
		return 0;
	end = at + sizeof(column) - 1 + 2 * (text.at[at] == '"');
	return end < text.size && strchr(",\t;:|", text.at[end]) ? text.at[end] : 0;
}

static int detect_vtune(struct slice head, bool is_all UNUSED)
{
	return vtune_delimiter(head) ? 95 : 0;
}

static int row_vtune(struct csv *c, struct err *err)
{
	const struct row *row = &c->row;
	struct slice name = row->fields[0], module;

	if (!c->has_begun) {
		if (!slice_equals(name, "Function Stack"))
			return 0;
		c->has_begun = true;
		c->module = column_of(row, "Module");
		c->weight = c->options->value ? column_of(row, c->options->value) : 1;
		if (c->weight >= row->nr)
			return err_set(err, "no column '%s'; the first line names them",
			               c->options->value ? c->options->value : "of numbers");
		if (slice_find(row->fields[c->weight], "Time") < row->fields[c->weight].size) {
			format_unit(c->report, "", "microseconds");
			c->factor = 1000000;
		}
		return 0;
	}
	if (c->weight >= row->nr) {
		bad(c, "it has too few fields");
		return 0;
	}
	module = c->module < row->nr ? slice_trim(row->fields[c->module]) : (struct slice){"", 0};
	if (module.size) {
		buf_reset(&c->name);
		buf_add(&c->name, module.at, module.size);
		buf_char(&c->name, '`');
		buf_add(&c->name, name.at, name.size);
		name = (struct slice){c->name.at, c->name.size};
	}
	return add(c, row->indent, name, row->fields[c->weight]);
}

/* ---- Visual Studio ---- */

static int detect_vsprof(struct slice head, bool is_all UNUSED)
{
	return slice_starts(head, "\xef\xbb\xbf"
	                          "Level,Function Name,") ||
	                       slice_starts(head, "Level,Function Name,") ?
	               95 :
	               0;
}

static int row_vsprof(struct csv *c, struct err *err)
{
	static const struct {
		const char *value, *column, *unit;
	} values[] = {
	        {"calls", "Number of Calls", "calls"},
	        {"elapsed", "Elapsed Exclusive Time %", "percent of elapsed time"},
	        {"application", "Application Exclusive Time %", "percent of application time"},
	};
	static const char *const names[] = {"calls", "elapsed", "application"};
	const struct row *row = &c->row;
	uint64_t depth;

	if (!c->has_begun) {
		size_t picked;

		if (format_value(c->options, names, ARRAY_SIZE(names), 0, &picked, err) < 0)
			return -1;
		c->has_begun = true;
		c->weight = column_of(row, values[picked].column);
		if (c->weight >= row->nr)
			return err_set(err, "no column '%s'", values[picked].column);
		format_unit(c->report, "", values[picked].unit);
		return 0;
	}
	if (row->nr <= MAX_OF(c->weight, (size_t)1) ||
	    num_parse_u64(row->fields[0].at, row->fields[0].size, &depth) < 0) {
		bad(c, "it has too few fields or no level");
		return 0;
	}
	return add(c, depth, slice_trim(row->fields[1]), row->fields[c->weight]);
}

/* ---- both ---- */

static int parse_csv(struct input *in, struct folder *folder, const struct format_options *options,
                     struct format_report *report, struct err *err,
                     int (*take)(struct csv *, struct err *))
{
	struct csv c = {
	        .in = in,
	        .options = options,
	        .report = report,
	        .tree = {.folder = folder, .report = report, .err = err},
	        .factor = 1,
	        .delimiter = ',',
	};
	struct slice line;
	int rc;

	while ((rc = input_line(in, &line, err)) > 0) {
		if (!slice_trim(line).size)
			continue;
		if (!c.has_begun && vtune_delimiter(line))
			c.delimiter = vtune_delimiter(line);
		split(line, c.delimiter, &c.row);
		if ((rc = take(&c, err)) < 0)
			break;
	}
	calltree_release(&c.tree);
	buf_release(&c.name);
	return rc;
}

#define CSV(id, text)                                                                              \
	static int parse_##id(struct input *in, struct folder *folder,                             \
	                      const struct format_options *options,                                \
	                      struct folded_header *header UNUSED, struct format_report *report,   \
	                      struct err *err)                                                     \
	{                                                                                          \
		return parse_csv(in, folder, options, report, err, row_##id);                      \
	}                                                                                          \
	const struct format format_##id = {                                                        \
	        .name = #id, .about = text, .detect = detect_##id, .parse = parse_##id}

CSV(vtune, "Intel VTune call stacks as csv; values: names of columns");
CSV(vsprof, "Visual Studio call tree summaries (csv); values: calls, elapsed, application");
