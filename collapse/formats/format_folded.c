/*
 * format_folded.c - folded stacks themselves: merging files, or picking one
 * column of two. Reads what async-profiler, py-spy, rbspy, bcc and the
 * stackcollapse scripts call collapsed or folded.
 *
 * Source: the grammar in share/folded.h.
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

/* A count below zero or past 2^64 makes a stack malformed, but a stack still. */
static bool is_stack(struct slice line)
{
	size_t at = line.size;
	enum weight_parse parsed;
	weight_fx ignored;

	while (at && line.at[at - 1] != ' ' && line.at[at - 1] != '\t')
		at--;
	parsed = weight_parse(line.at + at, line.size - at, &ignored);
	return at > 1 &&
	       (parsed == WEIGHT_OK || (parsed != WEIGHT_NOT_A_NUMBER && memchr(line.at, ';', at)));
}

/* "# unit: samples": a line of the header that these tools write */
static bool is_header(struct slice line)
{
	return slice_starts(line, "# event: ") || slice_starts(line, "# unit: ");
}

/* Nearly anything could be a frame, so all other formats may go first. */
static int detect(struct slice head, bool is_all)
{
	size_t nr_stacks = 0, nr_others = 0;
	bool has_frames = false, has_header = false;

	while (head.size) {
		const char *newline = memchr(head.at, '\n', head.size);
		struct slice line = {head.at, newline ? (size_t)(newline - head.at) : head.size};

		if (!newline && !is_all)
			break;
		head.size -= line.size + (newline != NULL);
		head.at += line.size + (newline != NULL);
		while (line.size && strchr(" \t\r", line.at[line.size - 1]))
			line.size--;
		has_header |= is_header(line);
		if (!line.size || line.at[0] == '#')
			continue;
		if (is_stack(line)) {
			nr_stacks++;
			has_frames |= memchr(line.at, ';', line.size) != NULL;
		} else {
			nr_others++;
		}
	}
	if (is_all && has_header && !nr_stacks && !nr_others)
		return 15;
	if (!nr_stacks || nr_others > 2 * nr_stacks)
		return 0;
	if (nr_others > nr_stacks)
		return nr_stacks > 1 ? 45 : 10;
	return has_frames ? (nr_others ? 30 : 60) : 12;
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header, struct format_report *report, struct err *err)
{
	static const char *const columns[] = {"before", "after"};
	struct folded_reader reader;
	struct folded_stack stack;
	size_t column;
	int rc;

	if (format_value(options, columns, ARRAY_SIZE(columns), 0, &column, err) < 0)
		return -1;
	folded_reader_init(&reader, in);
	while ((rc = folded_next(&reader, &stack, err)) > 0) {
		struct slice rest = stack.stack, frame;
		uint32_t node = 0;

		while (folded_frame(&rest, &frame))
			node = folder_child(folder, node,
			                    folder_name(folder, frame.at, frame.size));
		if (!format_count(folder, node, stack.counts[column], report, err)) {
			rc = -1;
			break;
		}
	}
	if (reader.nr_bad) {
		if (!report->nr_bad)
			snprintf(report->first_bad, sizeof(report->first_bad),
			         "line %llu: %s: %.120s", (unsigned long long)reader.bad_line,
			         reader.bad_reason, reader.bad_text);
		report->nr_bad += reader.nr_bad;
	}
	folded_header_merge(header, &reader.header);
	folded_reader_release(&reader);
	return rc;
}

const struct format format_folded = {
        .name = "folded",
        .about = "folded stacks: frames joined by ';', a count; values: before, after",
        .detect = detect,
        .parse = parse,
};
