/*
 * report.h - a verdict for people and for programs.
 *
 * Formats: text (aligned, coloured where asked), markdown (to be pasted into
 * a pull request), json and csv. The fields of the latter two are documented
 * in diff.1; names are only added to them while REPORT_VERSION stays.
 */
#ifndef DIFF_REPORT_H
#define DIFF_REPORT_H

#include "diff/scale.h"
#include "diff/verdict.h"
#include "share/compat.h"
#include "share/output.h"

#define REPORT_VERSION 1

enum report_format { REPORT_TEXT, REPORT_MARKDOWN, REPORT_JSON, REPORT_CSV };

struct report {
	enum report_format format;
	const struct verdict *verdict;
	const struct scale *scale;
	uint64_t nr_bad; /* lines that had to be skipped */
	size_t top;      /* rows of a section of text and markdown; 0 = all */
	bool colour;     /* text only */
};

void report_write(const struct report *report, struct output *out);

/* Defined in report_json.c. */
void report_write_json(const struct report *report, struct output *out);

/* "text" and so on; false where the word is none of them. */
bool report_parse_format(const char *word, enum report_format *format);

/* "regressions", "improvements", "new", "gone". */
const char *report_class_name(enum verdict_class class);

#endif
