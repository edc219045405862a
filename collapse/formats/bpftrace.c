/*
 * bpftrace.c - maps that bpftrace prints at its end, where stacks are keys.
 *
 *   @NAME[KEY, KEY]: VALUE
 *
 * A stack is a key of several lines, "\n    FUNCTION+DECIMAL\n" for each frame,
 * innermost first, and nothing at all where it is empty; with mode perf
 * "\n\tADDRESS FUNCTION+DECIMAL (FILE)\n". Other keys (comm, tid) stand above the
 * stack as root frames. Of a map keyed by kstack and ustack the kernel's part
 * is the inner one, whichever is printed first. Maps without any stack as key
 * are left alone.
 *
 * Values: count() and sum() as they are; of stats(), hist() and lhist() how
 * many times something was put in.
 *
 * Source: bpftrace, docs/reference_guide.md, "Map functions", "kstack"; what
 * bpftrace 0.17 prints.
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/callers.h"

struct bpftrace {
	struct folder *folder;
	struct format_report *report;
	struct err *err;
	uint64_t line;
	struct callers stacks[2];     /* of the row; a third is joined to the second */
	size_t at;                    /* in stacks */
	struct callers before, after; /* other keys than stacks */
	bool is_open;                 /* between a row's "[" and its "]" */
	bool is_histogram;            /* below a row whose value is one */
	weight_fx weight;             /* of its buckets so far */
};

static int detect(struct slice head, bool is_all UNUSED)
{
	return (slice_starts(head, "@") || head_has(head, "\n@")) &&
	                       (head_has(head, "[\n") || head_has(head, ", \n")) &&
	                       head_has(head, "]: ") ?
	               80 :
	               0;
}

static void bad(struct bpftrace *b, const char *what, struct slice line)
{
	format_bad(b->report, "line %llu: %s: %.*s", (unsigned long long)b->line, what,
	           (int)MIN_OF(line.size, (size_t)100), line.at);
}

static void reset(struct bpftrace *b)
{
	callers_reset(&b->stacks[0]);
	callers_reset(&b->stacks[1]);
	callers_reset(&b->before);
	callers_reset(&b->after);
	b->at = 0;
	b->is_open = b->is_histogram = false;
	b->weight = 0;
}

/* Is the outermost frame one where the kernel is entered or where it begins? */
static bool is_of_kernel(const struct bpftrace *b, const struct callers *stack)
{
	static const char *const entries[] = {"entry_",       "asm_",   "ret_from_",
	                                      "do_syscall_",  "el0",    "el1",
	                                      "secondary_st", "start_", "x86_64_start_"};
	const char *name;

	if (!stack->nr)
		return false;
	name = strtab_text(&b->folder->names, stack->names[stack->nr - 1]);
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		if (strncmp(name, entries[i], strlen(entries[i])) == 0)
			return true;
	return false;
}

/* Counts the row. False where the sum is too large. */
static bool close_row(struct bpftrace *b, weight_fx weight)
{
	bool is_kernel_last = is_of_kernel(b, &b->stacks[1]) && !is_of_kernel(b, &b->stacks[0]);
	const struct callers *inner = &b->stacks[is_kernel_last],
	                     *outer = &b->stacks[!is_kernel_last];
	uint32_t node = 0;

	for (size_t i = 0; i < b->before.nr; i++)
		node = folder_child(b->folder, node, b->before.names[i]);
	node = callers_node(&b->after, b->folder, node);
	node = callers_node(inner, b->folder, callers_node(outer, b->folder, node));
	if (!inner->nr && !outer->nr)
		node = folder_child(b->folder, node, folder_name(b->folder, "[no stack]", 10));
	reset(b);
	return format_count(b->folder, node, weight, b->report, b->err);
}

/*
 * Keys, parted by commas; true where one of them is empty, as a stack may be:
 * those behind it stand behind a stack.
 */
static bool take_keys(struct bpftrace *b, struct callers *into, struct slice keys)
{
	bool is_any_empty = !keys.size;

	while (keys.size) {
		bool is_last = !memchr(keys.at, ',', keys.size);
		struct slice key = slice_trim(slice_next_field(&keys, ','));

		if (key.size)
			callers_add(into, b->folder, key);
		else
			into = &b->after;
		is_any_empty |= !key.size || (!is_last && !keys.size);
	}
	return is_any_empty;
}

/* "]: VALUE" at the end of a row; a histogram's buckets follow it. */
static bool take_value(struct bpftrace *b, struct slice value, struct slice line)
{
	weight_fx weight;

	b->is_open = false;
	if (slice_starts(value, "count ")) { /* "count 1, average 54, total 54" */
		value = slice_from(value, 6);
		value.size = slice_find(value, ",");
	}
	if (!value.size) {
		b->is_histogram = true;
		return true;
	}
	if (weight_parse(value.at, value.size, &weight) == WEIGHT_OK)
		return close_row(b, weight);
	bad(b, "its value is no count", line);
	reset(b);
	return true;
}

/* "[8K, 16K)    12 |@@@@   |" */
static bool take_bucket(struct bpftrace *b, struct slice text)
{
	size_t bracket = MIN_OF(slice_find(text, ")"), slice_find(text, "]"));
	struct slice rest = slice_from(text, bracket + 1), count = slice_next_word(&rest);
	weight_fx weight;

	if (!text.size || !strchr("[(", *text.at) ||
	    weight_parse(count.at, count.size, &weight) != WEIGHT_OK)
		return false;
	b->weight += weight;
	return true;
}

/* Where the keys end, behind which "]: VALUE" follows; s.size where they go on. */
static size_t find_close(struct slice s)
{
	size_t close = slice_find(s, "]: "), next;

	if (close == s.size)
		return slice_ends(s, "]:") ? s.size - 2 : s.size;
	while ((next = slice_find(slice_from(s, close + 1), "]: ")) < s.size - close - 1)
		close += 1 + next;
	return close;
}

/* "@NAME[KEYS": what follows may be frames, or "]: VALUE" on the same line. */
static bool open_row(struct bpftrace *b, struct slice text)
{
	struct slice keys = slice_from(text, slice_find(text, "[") + 1);
	size_t close = find_close(keys);

	if (!slice_starts(text, "@") || slice_find(text, "[") == text.size)
		return true; /* "Attaching 1 probe...", maps without keys */
	reset(b);
	if (close < keys.size) {
		struct slice value = slice_trim(slice_from(keys, close + 2));

		if (take_keys(b, &b->before, (struct slice){keys.at, close}))
			return take_value(b, value, text);
		reset(b);
		return true;
	}
	b->is_open = true;
	take_keys(b, &b->before, keys);
	return true;
}

/* "FUNCTION+DECIMAL", "ADDRESS FUNCTION+DECIMAL (FILE)" */
static void take_frame(struct bpftrace *b, struct slice line, struct slice text)
{
	if (*line.at == '\t') {
		slice_next_word(&text);
		text = slice_trim(text);
		text.size = MIN_OF(slice_find(text, " (/"), slice_find(text, " (["));
	}
	callers_add(&b->stacks[b->at], b->folder, slice_cut_offset(text));
}

static bool take_line(struct bpftrace *b, struct slice line)
{
	struct slice text = slice_trim(line);
	size_t close;

	if (b->is_histogram && !take_bucket(b, text) && !close_row(b, b->weight))
		return false;
	if (b->is_histogram)
		return true;
	if (b->is_open && slice_starts(line, "@")) {
		bad(b, "the row before it has no value", text);
		b->is_open = false;
	}
	if (!b->is_open)
		return open_row(b, text);
	if (!text.size)
		return true;
	if (strchr(" \t", *line.at) || !strchr(",]", *text.at)) { /* some lose the blanks */
		if (!slice_starts(line, "ERROR: "))
			take_frame(b, line, text);
		return true;
	}
	close = find_close(text);
	take_keys(b, &b->after, (struct slice){text.at, close});
	if (close < text.size)
		return take_value(b, slice_trim(slice_from(text, close + 2)), text);
	b->at = 1;
	return true;
}

static int parse(struct input *in, struct folder *folder,
                 const struct format_options *options UNUSED, struct folded_header *header UNUSED,
                 struct format_report *report, struct err *err)
{
	struct bpftrace b = {.folder = folder, .report = report, .err = err};
	struct slice line;
	int rc;

	format_unit(report, "", "samples");
	while ((rc = input_line(in, &line, err)) > 0) {
		b.line = input_line_number(in);
		if (!take_line(&b, line)) {
			rc = -1;
			break;
		}
	}
	if (rc == 0 && b.is_histogram && !close_row(&b, b.weight))
		rc = -1;
	if (rc == 0 && b.is_open)
		format_bad(report, "line %llu: the last stack has no count",
		           (unsigned long long)b.line);
	for (size_t i = 0; i < ARRAY_SIZE(b.stacks); i++)
		callers_release(&b.stacks[i]);
	callers_release(&b.before);
	callers_release(&b.after);
	return rc;
}

const struct format format_bpftrace = {
        .name = "bpftrace",
        .about = "bpftrace maps keyed by kstack or ustack",
        .detect = detect,
        .parse = parse,
};
