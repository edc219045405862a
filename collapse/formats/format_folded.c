/*
 * format_folded.c - folded stacks themselves: merging files, or picking one
 * column of two. Reads what async-profiler, py-spy, rbspy, bcc and the
 * stackcollapse scripts call collapsed or folded.
 *
 * Source: the grammar in share/folded.h.
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/callers.h"
#include "share/buf.h"
#include "share/mem.h"

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

	/* GHC's heap over time, whose sums mean nothing */
	if (slice_starts(head, "JOB \""))
		return 0;
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

/*
 * The stack before: lines that were sorted begin as the one before them, and
 * what they share need not be looked up again.
 */
struct path {
	struct buf text;
	struct path_frame {
		size_t end; /* in text, behind the frame */
		uint32_t node;
	} * frames;
	size_t nr, capacity;
};

static size_t shared_size(struct slice a, struct slice b)
{
	size_t size = MIN_OF(a.size, b.size), at = 0;

	for (; at + 8 <= size; at += 8) {
		uint64_t x, y;

		memcpy(&x, a.at + at, 8);
		memcpy(&y, b.at + at, 8);
		if (x != y)
			return at + (size_t)__builtin_ctzll(x ^ y) / 8;
	}
	while (at < size && a.at[at] == b.at[at])
		at++;
	return at;
}

/* Programs overflow their stacks long before. */
#define MAX_FRAMES 1000000

/* The stack's node in the folder, or UINT32_MAX where it is too deep; *path becomes the stack. */
static uint32_t node_of(struct path *path, struct folder *folder, struct slice stack)
{
	size_t shared = shared_size((struct slice){path->text.at, path->text.size}, stack);
	struct slice rest, frame;
	uint32_t node;

	while (path->nr) {
		size_t end = path->frames[path->nr - 1].end;

		if (end <= shared && (end == stack.size || stack.at[end] == ';'))
			break;
		path->nr--;
	}
	rest = slice_from(stack, path->nr ? path->frames[path->nr - 1].end : 0);
	node = path->nr ? path->frames[path->nr - 1].node : 0;
	while (folded_frame(&rest, &frame)) {
		if (path->nr == MAX_FRAMES) {
			node = UINT32_MAX;
			break;
		}
		node = folder_child_text(folder, node, frame);
		MEM_GROW(path->frames, path->nr, path->capacity);
		path->frames[path->nr++] = (struct path_frame){
		        .end = (size_t)(frame.at + frame.size - stack.at), .node = node};
	}
	buf_reset(&path->text);
	buf_add(&path->text, stack.at, stack.size);
	return node;
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header, struct format_report *report, struct err *err)
{
	static const char *const columns[] = {"before", "after"};
	struct folded_reader reader;
	struct folded_stack stack;
	struct path path = {0};
	size_t column;
	int rc;

	if (format_value(options, columns, ARRAY_SIZE(columns), 0, &column, err) < 0)
		return -1;
	folded_reader_init(&reader, in);
	while ((rc = folded_next(&reader, &stack, err)) > 0) {
		uint32_t node = node_of(&path, folder, stack.stack);

		if (node == UINT32_MAX) {
			format_bad(report, "line %llu: a stack of more than %d frames",
			           (unsigned long long)input_line_number(in), MAX_FRAMES);
			continue;
		}
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
	/* one is all that is written */
	folded_header_remove(&reader.header, "columns");
	folded_header_merge(header, &reader.header);
	folded_reader_release(&reader);
	buf_release(&path.text);
	free(path.frames);
	return rc;
}

const struct format format_folded = {
        .name = "folded",
        .about = "folded stacks: frames joined by ';', a count; values: before, after",
        .detect = detect,
        .parse = parse,
};
