/*
 * format_counted.c - stacks as blocks that begin with their count; frames
 * follow, innermost first.
 *
 *   ljp   "42 3 \tCLASS.METHOD(FILE:LINE)", further frames one a line, then
 *         "Total trace count = N, Total traces = M"; lightweight-java-profiler,
 *         src/display.cc (the count may end in "d", a slip of its format)
 *   wcp   "81.789% ===== (256 samples)", "  1: FUNCTION   (at FILE:LINE)";
 *         wallClockProfiler, README and wallClockProfiler.cpp. Old versions
 *         print the share alone: it is multiplied by "N stack samples taken".
 *         New ones add up functions and outer parts of stacks before the "Full
 *         stacks", and a line of source, "  41:|   TEXT", below the first frame.
 *   pmp   "     35 FUNCTION,FUNCTION(FILE:LINE),...", a line each; pt-pmp of the
 *         Percona toolkit, which dates its samples in lines of their own
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/callers.h"
#include "share/num.h"

struct counted {
	struct folder *folder;
	const struct format_options *options;
	struct format_report *report;
	struct err *err;
	struct callers callers;
	uint64_t line, nr_taken; /* wcp: samples of all stacks */
	weight_fx count;
	bool is_open;
	bool is_elsewhere; /* in a part of the report that counts the same once more */
};

static bool close_stack(struct counted *c)
{
	bool ok = !c->is_open || format_count(c->folder, callers_node(&c->callers, c->folder, 0),
	                                      c->count, c->report, c->err);

	c->is_open = false;
	callers_reset(&c->callers);
	return ok;
}

static bool open_stack(struct counted *c, weight_fx count)
{
	bool ok = close_stack(c);

	c->is_open = true;
	c->count = count;
	return ok;
}

static void bad(struct counted *c, struct slice line)
{
	format_bad(c->report, "line %llu: no frame of a stack: %.*s", (unsigned long long)c->line,
	           (int)MIN_OF(line.size, (size_t)100), line.at);
}

/* The digits that text begins with, which are cut off; false where there are none. */
static bool cut_number(struct slice *text, uint64_t *number)
{
	size_t size = 0;

	while (size < text->size && text->at[size] >= '0' && text->at[size] <= '9')
		size++;
	if (num_parse_u64(text->at, size, number))
		return false;
	*text = slice_from(*text, size);
	return true;
}

static void add_frame(struct counted *c, struct slice name, struct slice place)
{
	struct buf text = {0};

	name = slice_trim(name);
	buf_add(&text, name.at, name.size);
	if (c->options->srcline && place.size) {
		buf_char(&text, ' ');
		buf_add(&text, place.at, place.size);
	}
	callers_add(&c->callers, c->folder, (struct slice){text.at, text.size});
	buf_release(&text);
}

/* "NAME(PLACE)" or "NAME   (at PLACE)"; false where the line ends otherwise. */
static bool take_frame(struct counted *c, struct slice text, const char *open)
{
	struct slice place;
	size_t at;

	text = slice_trim(text);
	at = slice_find(text, open);
	if (!at || at == text.size || !slice_ends(text, ")"))
		return false;
	place = slice_from(text, at + strlen(open));
	place.size--;
	text.size = at;
	add_frame(c, text, place);
	return true;
}

/* ---- lightweight-java-profiler ---- */

/* "42 3 \tFRAME": a count, the number of frames, the first of them. */
static bool cut_ljp_begin(struct slice *line, uint64_t *count)
{
	uint64_t nr_frames;

	if (!cut_number(line, count))
		return false;
	if (slice_starts(*line, "d"))
		*line = slice_from(*line, 1);
	if (!slice_starts(*line, " "))
		return false;
	*line = slice_from(*line, 1);
	return cut_number(line, &nr_frames) && slice_starts(*line, " ");
}

static int detect_ljp(struct slice head, bool is_all UNUSED)
{
	struct slice line = {head.at, slice_find(head, "\n")};
	uint64_t count;

	return cut_ljp_begin(&line, &count) && slice_ends(slice_trim(line), ")") &&
	                       slice_find(line, "(") < line.size && line.size < head.size &&
	                       (head_has(head, "\n\t") || head_has(head, "\n  ")) ?
	               88 :
	               0;
}

static bool line_ljp(struct counted *c, struct slice line)
{
	struct slice text = line;
	uint64_t count;

	if (c->is_elsewhere || !slice_trim(line).size)
		return true;
	if (slice_starts(line, "Total trace count")) { /* hot methods follow */
		c->is_elsewhere = true;
		return true;
	}
	if (cut_ljp_begin(&text, &count)) {
		if (!open_stack(c, weight_from_u64(count)))
			return false;
		if (!slice_trim(text).size)
			return true;
	}
	if (!c->is_open || !take_frame(c, text, "("))
		bad(c, line);
	return true;
}

/* ---- wallClockProfiler ---- */

static int detect_wcp(struct slice head, bool is_all UNUSED)
{
	return head_has(head, "% =====================================") && head_has(head, ": ") &&
	                       head_has(head, "(at ") ?
	               90 :
	               0;
}

/* "81.789% ===== (256 samples)" */
static bool parse_share(const struct counted *c, struct slice text, weight_fx *count)
{
	size_t percent = slice_find(text, "% ==");
	struct slice samples = slice_from(text, slice_find(text, " (") + 2);
	weight_fx share;

	if (percent == text.size || weight_parse(text.at, percent, &share) != WEIGHT_OK)
		return false;
	if (slice_ends(samples, " samples)"))
		return weight_parse(samples.at, samples.size - 9, count) == WEIGHT_OK;
	*count = (share * c->nr_taken / 100 + WEIGHT_ONE / 2) / WEIGHT_ONE * WEIGHT_ONE;
	return share <= 100 * (weight_fx)WEIGHT_ONE;
}

static bool line_wcp(struct counted *c, struct slice line)
{
	struct slice text = slice_trim(line);
	uint64_t number;
	weight_fx count;

	if (!text.size)
		return close_stack(c);
	if (slice_starts(text, "Functions with ") || slice_starts(text, "Partial stacks ") ||
	    slice_starts(text, "Full stacks ")) {
		c->is_elsewhere = !slice_starts(text, "Full");
	} else if (c->is_elsewhere) {
		return true;
	} else if (parse_share(c, text, &count)) {
		return open_stack(c, count);
	} else if (!cut_number(&text, &number)) {
		if (c->is_open)
			bad(c, line);
	} else if (slice_equals(text, " stack samples taken")) {
		c->nr_taken = number;
	} else if (c->is_open && !slice_starts(text, ":| ") &&
	           (!slice_starts(text, ": ") || !take_frame(c, slice_from(text, 2), " (at "))) {
		bad(c, line);
	}
	return true;
}

/* ---- pt-pmp ---- */

/* "     35 NAME,NAME": the count is cut off; false where the line is none such. */
static bool cut_pmp_count(struct slice *line, uint64_t *count)
{
	*line = slice_trim(*line);
	if (!cut_number(line, count) || !slice_starts(*line, " ") || line->size < 2)
		return false;
	*line = slice_from(*line, 1);
	return slice_find(*line, ",") < line->size && slice_find(*line, ";") == line->size &&
	       slice_find(*line, " ") == line->size;
}

static int detect_pmp(struct slice head, bool is_all)
{
	size_t nr_stacks = 0, nr_others = 0;
	struct slice line;
	uint64_t count;

	while (slice_next_line(&head, &line)) {
		if (!head.size && !is_all)
			break; /* cut */
		if (cut_pmp_count(&line, &count))
			nr_stacks++;
		else
			nr_others += slice_trim(line).size != 0;
	}
	return nr_stacks > 1 && nr_others <= nr_stacks / 4 + 1 ? 92 : 0;
}

static bool line_pmp(struct counted *c, struct slice line)
{
	struct slice text = line;
	uint64_t count;

	format_unit(c->report, "", "threads");
	if (!cut_pmp_count(&text, &count)) /* "Thu Nov 27 10:12:01 UTC 2025" */
		return true;
	if (!open_stack(c, weight_from_u64(count)))
		return false;
	while (text.size) {
		struct slice name = slice_trim(slice_next_field(&text, ','));

		if (name.size)
			callers_add(&c->callers, c->folder, name);
	}
	return close_stack(c);
}

/* ---- all ---- */

static int parse_counted(struct input *in, struct folder *folder,
                         const struct format_options *options, struct format_report *report,
                         struct err *err, bool (*take)(struct counted *, struct slice))
{
	struct counted c = {.folder = folder, .options = options, .report = report, .err = err};
	struct slice line;
	int rc;

	format_unit(report, "", "samples");
	while ((rc = input_line(in, &line, err)) > 0) {
		c.line = input_line_number(in);
		if (!take(&c, line)) {
			rc = -1;
			break;
		}
	}
	if (rc == 0 && !close_stack(&c))
		rc = -1;
	callers_release(&c.callers);
	return rc;
}

#define COUNTED(id, text)                                                                          \
	static int parse_##id(struct input *in, struct folder *folder,                             \
	                      const struct format_options *options,                                \
	                      struct folded_header *header UNUSED, struct format_report *report,   \
	                      struct err *err)                                                     \
	{                                                                                          \
		return parse_counted(in, folder, options, report, err, line_##id);                 \
	}                                                                                          \
	const struct format format_##id = {                                                        \
	        .name = #id, .about = text, .detect = detect_##id, .parse = parse_##id}

COUNTED(ljp, "lightweight-java-profiler");
COUNTED(wcp, "wallClockProfiler");
COUNTED(pmp, "pt-pmp: stacks of threads, added up");
