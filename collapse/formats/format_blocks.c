/*
 * format_blocks.c - tracers that print a stack as a block: one frame a line,
 * innermost first, closed by the number of times it was seen.
 *
 *   dtrace     frames "module`function+0xoff", aggregations of stack() and
 *              ustack(); dtrace(1), dt_consume.c of illumos; other keys of an
 *              aggregation stand above a stack or beside its count, "  NAME  12"
 *              also "COMM PID TIME: PROBE" and one ustack() each, without counts
 *   bcc        frames, then "-  comm (pid)" or "comm [pid]", then the count;
 *              profile(8), offcputime(8), stackcount(8)
 *   systemtap  " 0xaddr : function+0xoff/0xsize [module]", then the count;
 *              print_backtrace(), sprint_ubacktrace(); or frames of Lua,
 *              "@FILE:LINE", "C:0xaddr", "builtin#N", with or without a count;
 *              openresty-systemtap-toolkit, ngx-sample-lua-bt, ngx-lua-bt
 *
 * Kernel and user parts of one stack may be parted by blank lines or "--".
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/callers.h"

struct blocks {
	struct folder *folder;
	const struct format_options *options;
	struct format_report *report;
	struct err *err;
	struct callers callers;
	struct callers keys; /* dtrace: others than the stack, outermost first */
	uint64_t line;
	bool is_sample;  /* dtrace: a stack of its own, not an aggregation */
	bool is_lua;     /* systemtap: a stack needs no count */
	struct buf comm; /* dtrace: of that sample */
};

static bool is_number(struct slice s, weight_fx *weight)
{
	return weight_parse(s.at, s.size, weight) == WEIGHT_OK;
}

/* Counts the frames gathered so far. False where the sum is too large. */
static bool close_block(struct blocks *b, weight_fx weight)
{
	struct folder *folder = b->folder;
	uint32_t node = 0;

	for (size_t i = 0; i < b->keys.nr; i++)
		node = folder_child(folder, node, b->keys.names[i]);
	if (b->callers.nr)
		node = callers_node(&b->callers, folder, node);
	else
		node = folder_child(folder, node, folder_name(folder, "[no stack]", 10));
	callers_reset(&b->callers);
	callers_reset(&b->keys);
	return format_count(folder, node, weight, b->report, b->err);
}

/* ---- dtrace ---- */

static int detect_dtrace(struct slice head, bool is_all UNUSED)
{
	if (slice_starts(head, "dtrace: ") ||
	    (slice_starts(head, "CPU ") && head_has(head, "FUNCTION:NAME")))
		return 85;
	/* stacks one by one, each under "COMM PID TIME: PROBE:" */
	if (head.size && !strchr(" \t#", *head.at) && head_has(head, ":\n  ") &&
	    head_has(head, "`") && head_has(head, ": profile-"))
		return 95;
	return head_has(head, "`") && head_has(head, "\n\n") &&
	                       (head_has(head, "\n  ") || head_has(head, "\n\t")) ?
	               30 :
	               0;
}

/* "COMM PID TIMESTAMP: PROBE:" above a stack that was taken once. */
static void begin_sample(struct blocks *b, struct slice text)
{
	size_t colon = slice_find(text, ": "), at = colon;

	if (colon == text.size || !slice_ends(text, ":"))
		return;
	for (int word = 0; word < 2; word++) {
		size_t end = at;

		while (at && text.at[at - 1] != ' ')
			at--;
		if (!at || !slice_is_digits((struct slice){text.at + at, end - at}))
			return;
		at--;
	}
	b->is_sample = true;
	buf_reset(&b->comm);
	buf_add(&b->comm, text.at, at);
}

static bool end_sample(struct blocks *b)
{
	if (!b->is_sample)
		return true;
	b->is_sample = false;
	if (b->options->by_comm)
		callers_add(&b->callers, b->folder, (struct slice){b->comm.at, b->comm.size});
	return close_block(b, weight_from_u64(1));
}

/* Is it a line of keys: not as far inside as frames are, and without a module's mark? */
static bool is_of_keys(struct slice line, struct slice text)
{
	return *line.at == ' ' && text.at - line.at <= 4 && !memchr(text.at, '`', text.size) &&
	       !slice_starts(text, "0x");
}

/* "mysqld      1234", which at least two blanks part */
static void add_keys(struct blocks *b, struct slice keys)
{
	while ((keys = slice_trim(keys)).size) {
		struct slice key = {keys.at, slice_find(keys, "  ")};

		callers_add(&b->keys, b->folder, key);
		keys = slice_from(keys, key.size);
	}
}

static bool line_dtrace(struct blocks *b, struct slice line)
{
	bool is_indented = line.size && strchr(" \t", *line.at);
	struct slice text = slice_trim(line);
	weight_fx weight;

	if (!text.size)
		return !b->callers.nr || end_sample(b);
	if (!is_indented) {
		if (!end_sample(b))
			return false;
		begin_sample(b, text);
		return true;
	}
	/* headings stood at the margin; the probe that fired follows "CPU ID" numbers */
	if (!is_indented ||
	    (slice_is_digits((struct slice){text.at, slice_find(text, " ")}) &&
	     slice_find(text, ":") < text.size && slice_find(text, "`") == text.size))
		return true;
	if (is_number(text, &weight))
		return close_block(b, weight);
	if (is_of_keys(line, text)) {
		const char *blank = memrchr(text.at, ' ', text.size);
		struct slice last = blank ? slice_from(text, (size_t)(blank + 1 - text.at)) : text;
		bool is_count = b->callers.nr && blank && is_number(last, &weight);

		if (is_count)
			text.size -= last.size;
		add_keys(b, text);
		return !is_count || close_block(b, weight);
	}
	callers_add(&b->callers, b->folder, slice_cut_offset(text));
	return true;
}

/* ---- bcc ---- */

static int detect_bcc(struct slice head, bool is_all UNUSED)
{
	if (slice_starts(head, "Sampling at ") || slice_starts(head, "Tracing "))
		return head_has(head, "Hit Ctrl-C to end") || head_has(head, "Ctrl-C") ? 90 : 40;
	/* the heading may have gone elsewhere: the line of the process is like no other */
	return head_has(head, "\n    -                ") && head_has(head, "\n        ") ? 70 : 0;
}

/* "-  cp (9036)" or "tar [15187]": the name, with the id where asked for. */
static struct slice process_name(const struct blocks *b, struct slice text)
{
	static const char *const opens[] = {" (", " ["};

	if (slice_starts(text, "- "))
		text = slice_trim(slice_from(text, 1));
	for (size_t i = 0; i < ARRAY_SIZE(opens) && !b->options->by_pid; i++) {
		size_t at = slice_find(text, opens[i]);
		struct slice id = slice_from(text, at + 2);

		if (id.size > 1 && slice_is_digits((struct slice){id.at, id.size - 1}))
			return (struct slice){text.at, at};
	}
	return text;
}

static bool line_bcc(struct blocks *b, struct slice line)
{
	bool is_indented = line.size && strchr(" \t", *line.at);
	struct slice text = slice_trim(line);
	weight_fx weight;

	if (!is_indented) {
		if (slice_find(text, "(us)") < text.size)
			format_unit(b->report, "off-CPU time", "microseconds");
		return true;
	}
	/* between the kernel's part and the user's */
	if (!text.size || slice_equals(text, "--") || slice_equals(text, "-"))
		return true;
	if (is_number(text, &weight))
		return close_block(b, weight);
	text = process_name(b, text);
	if (text.size > 3 && slice_starts(text, "b'") && slice_ends(text, "'"))
		text = (struct slice){text.at + 2,
		                      text.size - 3}; /* bytes, as Python prints them */
	callers_add(&b->callers, b->folder, text);
	return true;
}

/* ---- systemtap ---- */

static bool is_lua_frame(struct slice line)
{
	const char *colon = line.size ? memrchr(line.at, ':', line.size) : NULL;

	if (slice_starts(line, "@"))
		return colon && slice_is_digits(slice_from(line, (size_t)(colon + 1 - line.at)));
	return slice_starts(line, "C:0x") || slice_starts(line, "builtin#");
}

static int detect_systemtap(struct slice head, bool is_all UNUSED)
{
	struct slice line = head;

	line.size = slice_find(head, "\n");
	if (is_lua_frame(slice_trim(line)))
		return 70;
	return slice_starts(slice_trim(head), "0x") && head_has(head, " : ") &&
	                       head_has(head, "/0x") ?
	               80 :
	               0;
}

/* One backtrace that was asked for once is printed without a count. */
static bool end_lua(struct blocks *b)
{
	bool is_whole = b->is_lua && b->callers.nr;

	b->is_lua = false;
	return !is_whole || close_block(b, weight_from_u64(1));
}

static bool line_systemtap(struct blocks *b, struct slice line)
{
	struct slice text = slice_trim(line);
	size_t colon = slice_find(text, " : ");
	weight_fx weight;

	if (!text.size)
		return end_lua(b);
	if (is_number(text, &weight))
		return close_block(b, weight);
	if (is_lua_frame(text)) {
		b->is_lua = true;
		callers_add(&b->callers, b->folder, text);
		return true;
	}
	if (colon < text.size)
		text = slice_from(text, colon + 3);
	text.size = slice_find(text, " [");
	callers_add(&b->callers, b->folder, slice_cut_offset(slice_trim(text)));
	return true;
}

/* ---- all ---- */

static int parse_blocks(struct input *in, struct folder *folder,
                        const struct format_options *options, struct format_report *report,
                        struct err *err, bool (*take)(struct blocks *, struct slice))
{
	struct blocks b = {.folder = folder, .options = options, .report = report, .err = err};
	struct slice line;
	int rc;

	format_unit(report, "", "samples");
	while ((rc = input_line(in, &line, err)) > 0) {
		b.line = input_line_number(in);
		if (!take(&b, line)) {
			rc = -1;
			break;
		}
	}
	if (rc == 0 && (!end_sample(&b) || !end_lua(&b)))
		rc = -1;
	if (rc == 0 && b.callers.nr)
		format_bad(report, "line %llu: the last stack has no count",
		           (unsigned long long)b.line);
	callers_release(&b.callers);
	callers_release(&b.keys);
	buf_release(&b.comm);
	return rc;
}

#define BLOCKS(id, text)                                                                           \
	static int parse_##id(struct input *in, struct folder *folder,                             \
	                      const struct format_options *options,                                \
	                      struct folded_header *header UNUSED, struct format_report *report,   \
	                      struct err *err)                                                     \
	{                                                                                          \
		return parse_blocks(in, folder, options, report, err, line_##id);                  \
	}                                                                                          \
	const struct format format_##id = {                                                        \
	        .name = #id, .about = text, .detect = detect_##id, .parse = parse_##id}

BLOCKS(dtrace, "dtrace aggregations of stack() and ustack()");
BLOCKS(bcc, "bcc profile, offcputime, stackcount: stacks as blocks");
BLOCKS(systemtap, "SystemTap backtraces with counts, and those of Lua");
