#include "share/compat.h"
#include "diff/report.h"

#include "share/num.h"

#include <math.h>

#define RED   "\33[31m"
#define GREEN "\33[32m"
#define BOLD  "\33[1m"
#define PLAIN "\33[0m"

bool report_parse_format(const char *word, enum report_format *format)
{
	static const char *const words[] = {"text", "markdown", "json", "csv"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(word, words[i]) == 0) {
			*format = (enum report_format)i;
			return true;
		}
	return false;
}

const char *report_class_name(enum verdict_class class)
{
	static const char *const names[] = {"regressions", "improvements", "new", "gone"};

	return names[class];
}

static const char *heading(enum verdict_class class)
{
	static const char *const headings[] = {"Regressions", "Improvements", "New", "Gone"};

	return headings[class];
}

static const char *thing(const struct verdict *verdict, bool several)
{
	if (verdict->options.measure == VERDICT_PATH)
		return several ? "paths" : "path";
	return several ? "functions" : "function";
}

static size_t count_class(const struct verdict *verdict, enum verdict_class class)
{
	size_t nr = 0;

	for (size_t i = 0; i < verdict->nr; i++)
		nr += verdict->rows[i].class == class;
	return nr;
}

/* ---- the sentences above the tables ---- */

static void add_side(struct buf *out, const struct report *report, enum join_side side)
{
	static const char *const names[] = {"before", "after"};
	const struct verdict *verdict = report->verdict;
	char total[WEIGHT_TEXT], grouped[NUM_GROUPED];

	weight_format(total, report->scale->totals[side]);
	buf_printf(out, "%s: %zu run%s, total %s", names[side], verdict->nr_runs[side],
	           verdict->nr_runs[side] == 1 ? "" : "s", total);
	if (verdict->period > 0)
		buf_printf(
		        out, ", %s samples",
		        num_format_grouped(grouped, (uint64_t)llround(verdict->nr_samples[side])));
}

static void add_summary(struct buf *out, const struct report *report, const char *newline)
{
	static const char *const modes[] = {"total", "time", "none"};
	static const char *const measures[] = {"each function's own weight",
	                                       "each function with all that it calls",
	                                       "each path with all that it calls"};
	const struct verdict *verdict = report->verdict;

	add_side(out, report, JOIN_BEFORE);
	buf_string(out, newline);
	add_side(out, report, JOIN_AFTER);
	buf_string(out, newline);
	buf_printf(out, "normalized by %s: before counts times %.9g%s",
	           modes[verdict->options.mode], scale_factor(report->scale), newline);
	if (verdict->period_guessed)
		buf_printf(out, "all weights are multiples of %.0f, taken for one sample each%s",
		           verdict->period, newline);
	buf_printf(out, "measured: %s%stest: %s%s", measures[verdict->options.measure], newline,
	           verdict_test_name(verdict->test), newline);
	buf_printf(out,
	           "tested: %zu of %zu %s (those with %d samples or more), false discovery rate "
	           "%g%s",
	           verdict->nr_tested, verdict->nr_rows, thing(verdict, true), VERDICT_MIN_SAMPLES,
	           verdict->options.fdr, newline);
	if (verdict->nr_tested)
		buf_printf(out,
		           "detectable 4 times of 5: %.2f points at %g %%, %.2f points at %g %%%s",
		           verdict->detectable[0].points, verdict->detectable[0].share,
		           verdict->detectable[1].points, verdict->detectable[1].share, newline);
	if (report->nr_bad)
		buf_printf(out, "incomplete: %llu bad lines were skipped%s",
		           (unsigned long long)report->nr_bad, newline);
}

static void add_nothing(struct buf *out, const struct verdict *verdict)
{
	if (verdict->test == VERDICT_UNTESTED)
		buf_string(out, "Nothing can be said about change: give --period=WEIGHT of one "
		                "sample, or two runs a side.\n");
	else if (!verdict->nr)
		buf_printf(out, "No %s changed by more than chance explains.\n",
		           thing(verdict, false));
}

/* ---- text and markdown ---- */

static const char *ratio_text(char *out, size_t size, const struct verdict_row *row)
{
	if (isfinite(row->ratio))
		snprintf(out, size, "%.2fx", row->ratio);
	else
		snprintf(out, size, "new");
	return out;
}

static void add_text_row(struct buf *out, const struct verdict_row *row, bool colour)
{
	char ratio[32], interval[64];

	snprintf(interval, sizeof(interval), "[%+.2f, %+.2f]", row->interval.low,
	         row->interval.high);
	buf_printf(out, "  %8.2f %8.2f %s%+8.2f%s %8s %18s %9.2g  %s\n", row->before, row->after,
	           !colour         ? "" :
	           row->change > 0 ? RED :
	                             GREEN,
	           row->change, colour ? PLAIN : "", ratio_text(ratio, sizeof(ratio), row),
	           interval, row->q, row->text);
}

static void add_code(struct buf *out, const char *text)
{
	/* inside a table cell even code must not hold a bare "|" */
	buf_string(out, strchr(text, '`') ? "`` " : "`");
	for (; *text; text++) {
		if (*text == '|')
			buf_char(out, '\\');
		buf_char(out, *text);
	}
}

static void add_markdown_row(struct buf *out, const struct verdict_row *row)
{
	char ratio[32];

	buf_string(out, "| ");
	add_code(out, row->text);
	buf_printf(out, "%s | %.2f | %.2f | %+.2f | %s | %+.2f to %+.2f | %.2g |\n",
	           strchr(row->text, '`') ? " ``" : "`", row->before, row->after, row->change,
	           ratio_text(ratio, sizeof(ratio), row), row->interval.low, row->interval.high,
	           row->q);
}

static void add_section(struct buf *out, const struct report *report, enum verdict_class class)
{
	const struct verdict *verdict = report->verdict;
	bool markdown = report->format == REPORT_MARKDOWN;
	size_t nr = count_class(verdict, class), shown = 0;
	size_t limit = report->top ? MIN_OF(report->top, nr) : nr;

	if (!nr)
		return;
	if (markdown)
		buf_printf(out,
		           "\n#### %s (%zu)\n\n"
		           "| %s | before %% | after %% | change | ratio | 95 %% interval | q |\n"
		           "|---|--:|--:|--:|--:|--:|--:|\n",
		           heading(class), nr, thing(verdict, false));
	else
		buf_printf(out, "\n%s%s (%zu)%s\n  %8s %8s %8s %8s %18s %9s  %s\n",
		           report->colour ? BOLD : "", heading(class), nr,
		           report->colour ? PLAIN : "", "before %", "after %", "change", "ratio",
		           "95 % interval", "q-value", thing(verdict, false));
	for (size_t i = 0; i < verdict->nr && shown < limit; i++) {
		if (verdict->rows[i].class != class)
			continue;
		if (markdown)
			add_markdown_row(out, &verdict->rows[i]);
		else
			add_text_row(out, &verdict->rows[i], report->colour);
		shown++;
	}
	if (shown < nr)
		buf_printf(out,
		           markdown ? "\n%zu more; --top=0 lists all.\n" :
		                      "  %zu more; --top=0 lists all\n",
		           nr - shown);
}

static void write_readable(const struct report *report, struct output *out)
{
	bool markdown = report->format == REPORT_MARKDOWN;
	struct buf text = {0};

	if (markdown)
		buf_string(&text, "### Profile before and after\n\n- ");
	add_summary(&text, report, markdown ? "\n- " : "\n");
	if (markdown)
		text.size -= 2; /* the bullet that the last line began */
	for (int class = 0; class < VERDICT_NR_CLASSES; class ++)
		add_section(&text, report, (enum verdict_class) class);
	if (!report->verdict->nr) {
		buf_string(&text, "\n");
		add_nothing(&text, report->verdict);
	}
	output_add(out, text.at, text.size);
	buf_release(&text);
}

/* ---- CSV, as RFC 4180 has it but for its CRLF ---- */

static void add_csv_text(struct buf *out, const char *text)
{
	buf_char(out, '"');
	for (; *text; text++) {
		if (*text == '"')
			buf_char(out, '"');
		buf_char(out, *text);
	}
	buf_char(out, '"');
}

static void write_csv(const struct report *report, struct output *out)
{
	const struct verdict *verdict = report->verdict;
	struct buf text = {0};

	buf_printf(&text,
	           "class,%s,before,after,change,ratio,low,high,p,q,self_before,self_after,"
	           "total_before,total_after\n",
	           thing(verdict, false));
	for (int class = 0; class < VERDICT_NR_CLASSES; class ++)
		for (size_t i = 0; i < verdict->nr; i++) {
			const struct verdict_row *row = &verdict->rows[i];

			if (row->class != (enum verdict_class) class)
				continue;
			buf_printf(&text, "%s,", report_class_name(row->class));
			add_csv_text(&text, row->text);
			buf_printf(&text, ",%.6g,%.6g,%.6g,", row->before, row->after, row->change);
			if (isfinite(row->ratio))
				buf_printf(&text, "%.6g", row->ratio);
			buf_printf(&text, ",%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g\n",
			           row->interval.low, row->interval.high, row->p, row->q,
			           row->self[0], row->self[1], row->total[0], row->total[1]);
		}
	output_add(out, text.at, text.size);
	buf_release(&text);
}

void report_write(const struct report *report, struct output *out)
{
	switch (report->format) {
	case REPORT_TEXT:
	case REPORT_MARKDOWN:
		write_readable(report, out);
		break;
	case REPORT_JSON:
		report_write_json(report, out);
		break;
	case REPORT_CSV:
		write_csv(report, out);
		break;
	}
}
