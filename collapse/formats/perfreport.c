/*
 * perfreport.c - what `perf report --stdio -g folded` prints: entries with
 * their share, below each its stacks as "VALUE FRAME;FRAME;...".
 *
 * The values are shares in percent, numbers of samples or periods (-g
 * folded,0,count and so on); which it is the text tells by its sums. Stacks
 * begin with the caller or with the callee: an entry's own symbol stands at
 * the other end. With --children stacks stand below each of their frames:
 * those that end in the entry are taken, which is each once.
 *
 * perf leaves out stacks below a limit (0.5 % by default). Where the entry
 * tells how much that was, it is counted at the entry below "[callers not
 * shown]"; where it does not, that is said.
 *
 * Source: perf-report(1), -g and -F; tools/perf/ui/stdio/hist.c of Linux 6.1:
 * the lines of dots tell the width of the columns; with -t X both columns and
 * frames are parted by X.
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/callers.h"
#include "share/mem.h"
#include "share/num.h"

#define MAX_COLUMNS 32

enum {
	COLUMN_SHARE,
	COLUMN_SELF,
	COLUMN_SAMPLES,
	COLUMN_PERIOD,
	COLUMN_COMM,
	COLUMN_DSO,
	COLUMN_SYMBOL,
	NR_COLUMNS
};

static const char *const titles[NR_COLUMNS][2] = {
        [COLUMN_SHARE] = {"Overhead", "Children"},
        [COLUMN_SELF] = {"Self"},
        [COLUMN_SAMPLES] = {"Samples"},
        [COLUMN_PERIOD] = {"Period"},
        [COLUMN_COMM] = {"Command", "Pid:Command"},
        [COLUMN_DSO] = {"Shared Object"},
        [COLUMN_SYMBOL] = {"Symbol"},
};

/* The table's head. */
struct table {
	size_t starts[MAX_COLUMNS], ends[MAX_COLUMNS]; /* of the columns; the last has no end */
	struct slice heads[MAX_COLUMNS];
	size_t nr;
	int index[NR_COLUMNS]; /* column of that title, or -1 */
	char separator;        /* of -t, or 0 */
};

struct stack {
	weight_fx value;
	struct slice frames;
	bool is_share;
};

/* One line of the table with the stacks below it. */
struct entry {
	struct slice fields[NR_COLUMNS], symbol;
	bool is_open;
	struct stack *stacks;
	size_t nr, capacity;
};

struct section {
	struct slice event;
	uint64_t nr_samples, nr_samples_max; /* as "1K" says */
	uint64_t nr_events;                  /* the sum of all periods */
};

struct reading {
	struct folder *folder;
	const struct format_options *options;
	struct format_report *report;
	struct err *err;
	struct table table;
	struct section section;
	struct entry entry;
	uint32_t *names; /* of the stack at hand */
	size_t names_capacity;
	struct buf text;
	bool is_percent, is_period, is_by_caller; /* what the first look at the text found */
	bool is_wanted;                           /* this section's event is asked for */
	uint32_t root;                            /* of its event, with --all-events */
	struct slice first_event;                 /* or the one that is asked for */
	uint64_t line, nr_lost, nr_short;         /* short: entries of which perf left out stacks */
	struct slice first_short;
};

static int detect(struct slice head, bool is_all UNUSED)
{
	return head_has(head, " of event") && head_has(head, "# Event count (approx.)") &&
	                       (head_has(head, "# Overhead") || head_has(head, "# Children") ||
	                        head_has(head, " Overhead ")) ?
	               92 :
	               0;
}

/* ---- the head of the table ---- */

static void set_titles(struct table *table)
{
	for (size_t kind = 0; kind < NR_COLUMNS; kind++) {
		table->index[kind] = -1;
		for (size_t i = 0; i < table->nr; i++)
			for (size_t name = 0; name < 2 && titles[kind][name]; name++)
				if (slice_equals(table->heads[i], titles[kind][name]))
					table->index[kind] = (int)i;
	}
}

/* "# Overhead|Command|Symbol": true, and the table filled, where it is such a line. */
static bool take_separated_head(struct table *table, struct slice line)
{
	static const char *const first[] = {"# Overhead", "# Children", "# Samples", "# Period"};
	struct slice rest = slice_from(line, 2);
	char separator = 0;

	for (size_t i = 0; i < ARRAY_SIZE(first); i++)
		if (slice_starts(line, first[i]) && line.size > strlen(first[i]))
			separator = line.at[strlen(first[i])];
	if (!separator || strchr(" \t:", separator))
		return false;
	*table = (struct table){.separator = separator};
	while (rest.size && table->nr < MAX_COLUMNS) {
		const char *end = memchr(rest.at, separator, rest.size);
		size_t size = end ? (size_t)(end - rest.at) : rest.size;

		table->heads[table->nr++] = slice_trim((struct slice){rest.at, size});
		rest = slice_from(rest, size + 1);
	}
	set_titles(table);
	return true;
}

/* "# ........  .......": the columns, whose titles stand in the line above. */
static bool take_dots(struct table *table, struct slice line, struct slice above)
{
	size_t at = 2;

	for (size_t i = 1; i < line.size; i++)
		if (line.at[i] != '.' && line.at[i] != ' ')
			return false;
	if (line.size < 4 || line.at[2] == ' ')
		return false;
	*table = (struct table){0};
	while (at < line.size && table->nr < MAX_COLUMNS) {
		size_t end = at;

		while (end < line.size && line.at[end] == '.')
			end++;
		table->starts[table->nr] = at;
		table->ends[table->nr] = end;
		while (end < line.size && line.at[end] == ' ')
			end++;
		table->heads[table->nr++] = slice_trim(
		        (struct slice){slice_from(above, at).at,
		                       MIN_OF(end, above.size) - MIN_OF(at, above.size)});
		at = end;
	}
	set_titles(table);
	return true;
}

static struct slice field_of(const struct table *table, struct slice line, int column)
{
	size_t index = (size_t)column, start;

	if (column < 0)
		return (struct slice){"", 0};
	if (!table->separator) {
		/* numbers are as wide as they need: they reach to the left of their dots */
		start = index ? table->ends[index - 1] : 0;
		line = slice_from(line, start);
		if (index + 1 < table->nr)
			line.size = MIN_OF(line.size, table->ends[index] - start);
		return slice_trim(line);
	}
	for (; index; index--) {
		const char *end = line.size ? memchr(line.at, table->separator, line.size) : NULL;

		line = slice_from(line, end ? (size_t)(end - line.at) + 1 : line.size);
	}
	start = 0;
	while (start < line.size && line.at[start] != table->separator)
		start++;
	if ((size_t)column + 1 < table->nr)
		line.size = start;
	return slice_trim(line);
}

/* "1K of event 'cycles:u'": 1,000 to 1,999 */
static void take_samples(struct section *section, struct slice text)
{
	static const char units[] = "KMG";
	size_t digits = 0, quote = slice_find(text, "'");
	const char *unit;
	uint64_t factor = 1;

	*section = (struct section){0};
	while (digits < text.size && text.at[digits] >= '0' && text.at[digits] <= '9')
		digits++;
	if (num_parse_u64(text.at, digits, &section->nr_samples) ||
	    section->nr_samples > UINT32_MAX)
		section->nr_samples = 0;
	unit = digits < text.size && text.at[digits] ? strchr(units, text.at[digits]) : NULL;
	for (const char *c = units; unit && c <= unit; c++)
		factor *= 1000;
	section->nr_samples *= factor;
	section->nr_samples_max = section->nr_samples + factor - 1;
	section->event = slice_from(text, quote + 1);
	section->event.size = slice_find(section->event, "'");
}

/* ---- frames ---- */

/* "0x4330" and "0x55d884cdf330": offset and address of the same place, or 0 of what is unmapped */
static bool is_same_place(struct slice a, struct slice b)
{
	uint64_t x, y;

	return !num_parse_hex(a.at, a.size, &x) && !num_parse_hex(b.at, b.size, &y) &&
	       ((x ^ y) & 0xfff) == 0;
}

static bool is_symbol(const struct entry *entry, struct slice frame)
{
	return (frame.size == entry->symbol.size &&
	        memcmp(frame.at, entry->symbol.at, frame.size) == 0) ||
	       is_same_place(frame, entry->symbol);
}

static bool next_frame(const struct table *table, struct slice *rest, struct slice *frame)
{
	const char *end;

	if (!rest->size)
		return false;
	end = memchr(rest->at, table->separator ? table->separator : ';', rest->size);
	*frame = (struct slice){rest->at, end ? (size_t)(end - rest->at) : rest->size};
	*rest = slice_from(*rest, frame->size + 1);
	return true;
}

/* Whether the stack begins, and whether it ends, in the entry's symbol. */
static size_t look_at(const struct reading *reading, struct slice frames, bool *begins, bool *ends)
{
	struct slice frame = {"", 0};
	size_t nr = 0;

	while (next_frame(&reading->table, &frames, &frame))
		if (!nr++)
			*begins = is_symbol(&reading->entry, frame);
	*ends = is_symbol(&reading->entry, frame);
	return nr;
}

static uint32_t name_of(struct reading *reading, struct slice frame)
{
	static const char inlined[] = " (inlined)";
	struct slice dso = reading->entry.fields[COLUMN_DSO];
	uint64_t address;

	buf_reset(&reading->text);
	if (slice_ends(frame, inlined)) {
		buf_add(&reading->text, frame.at, frame.size - (sizeof(inlined) - 1));
		buf_string(&reading->text, reading->options->annotate ? "_[i]" : "");
	} else if (num_parse_hex(frame.at, frame.size, &address) || reading->options->addresses) {
		buf_add(&reading->text, frame.at, frame.size);
	} else if (dso.size && is_symbol(&reading->entry, frame)) {
		/* the entry's own address: its file is known */
		buf_string(&reading->text, *dso.at == '[' ? "" : "[");
		buf_add(&reading->text, dso.at, dso.size);
		buf_string(&reading->text, *dso.at == '[' ? "" : "]");
	} else {
		buf_string(&reading->text, "[unknown]");
	}
	return folder_name(reading->folder, reading->text.at, reading->text.size);
}

static uint32_t root_of(struct reading *reading)
{
	struct slice comm = reading->entry.fields[COLUMN_COMM];
	uint32_t node = reading->root;

	if (reading->options->by_comm && comm.size)
		node = folder_child(reading->folder, node,
		                    folder_name(reading->folder, comm.at, comm.size));
	return node;
}

static bool fold_stack(struct reading *reading, const struct stack *stack)
{
	struct slice rest = stack->frames, frame;
	uint32_t node = root_of(reading);
	size_t nr = 0;

	while (next_frame(&reading->table, &rest, &frame)) {
		if (!reading->options->inlines && slice_ends(frame, " (inlined)"))
			continue;
		MEM_GROW(reading->names, nr, reading->names_capacity);
		reading->names[nr++] = name_of(reading, frame);
	}
	for (size_t i = 0; i < nr; i++)
		node = folder_child(reading->folder, node,
		                    reading->names[reading->is_by_caller ? i : nr - 1 - i]);
	return format_count(reading->folder, node, stack->value, reading->report, reading->err);
}

/* ---- entries ---- */

static bool parse_share(struct slice text, weight_fx *share)
{
	return slice_ends(text, "%") && weight_parse(text.at, text.size - 1, share) == WEIGHT_OK;
}

/* What the entry says that its own stacks weigh; false where it does not say that exactly. */
static bool own_weight(const struct entry *entry, const struct reading *reading, weight_fx *weight)
{
	bool has_self = reading->table.index[COLUMN_SELF] >= 0;
	struct slice text = entry->fields[has_self ? COLUMN_SELF : COLUMN_SHARE];

	if (reading->is_percent)
		return parse_share(text, weight);
	text = entry->fields[reading->is_period ? COLUMN_PERIOD : COLUMN_SAMPLES];
	return text.size && !has_self && weight_parse(text.at, text.size, weight) == WEIGHT_OK;
}

/* Between which weights the entry's rounded share, and the rounded number of samples, puts it. */
static void own_bounds(const struct entry *entry, const struct reading *reading, weight_fx *least,
                       weight_fx *most)
{
	bool has_self = reading->table.index[COLUMN_SELF] >= 0;
	const struct section *section = &reading->section;
	weight_fx share, slack = WEIGHT_ONE / 200, hundred = 100 * (weight_fx)WEIGHT_ONE;

	*least = 0;
	*most = (weight_fx)-1;
	if (!parse_share(entry->fields[has_self ? COLUMN_SELF : COLUMN_SHARE], &share) ||
	    share > hundred)
		return;
	if (share > slack)
		*least = (share - slack) *
		         (reading->is_percent ? 100 :
		          reading->is_period  ? section->nr_events :
		                                section->nr_samples) /
		         100;
	*most = (share + slack) *
	        (reading->is_percent ? 100 :
	         reading->is_period  ? section->nr_events :
	                               section->nr_samples_max) /
	        100;
}

static bool fold_entry(struct reading *reading)
{
	struct entry *entry = &reading->entry;
	bool has_children = reading->table.index[COLUMN_SELF] >= 0, ok = true;
	weight_fx sum = 0, own, least, most;

	if (!entry->is_open)
		return true;
	if (!reading->is_wanted) {
		reading->report->nr_left_out++;
		reading->report->left_out = "entries of other events";
		entry->is_open = false;
		return true;
	}
	own_bounds(entry, reading, &least, &most);
	for (size_t i = 0; i < entry->nr && ok; i++) {
		bool begins, ends;

		/*
		 * Those that end elsewhere stand below their own entry too, and so do
		 * addresses without a symbol, once more as entries that weigh nothing.
		 */
		look_at(reading, entry->stacks[i].frames, &begins, &ends);
		if (has_children && (!ends || sum + entry->stacks[i].value > most))
			continue;
		sum += entry->stacks[i].value;
		ok = fold_stack(reading, &entry->stacks[i]);
	}
	if (ok && own_weight(entry, reading, &own)) {
		if (own > sum) {
			struct folder *folder = reading->folder;
			uint32_t node =
			        folder_child(folder, root_of(reading),
			                     folder_name(folder, "[callers not shown]", 19));

			node = folder_child(folder, node, name_of(reading, entry->symbol));
			ok = format_count(folder, node, own - sum, reading->report, reading->err);
		}
	} else if (ok && sum < least) {
		if (!reading->nr_short++)
			reading->first_short = entry->symbol;
	}
	entry->is_open = false;
	entry->nr = 0;
	return ok;
}

static void begin_entry(struct reading *reading, struct slice line)
{
	struct entry *entry = &reading->entry;

	for (size_t i = 0; i < NR_COLUMNS; i++)
		entry->fields[i] = field_of(&reading->table, line, reading->table.index[i]);
	entry->symbol = entry->fields[COLUMN_SYMBOL];
	/* "[k] NAME": where it ran */
	if (entry->symbol.size > 4 && entry->symbol.at[0] == '[' && entry->symbol.at[2] == ']')
		entry->symbol = slice_from(entry->symbol, 4);
	entry->nr = 0;
	entry->is_open = entry->symbol.size > 0;
	if (!entry->is_open)
		format_bad(reading->report, "line %llu: an entry without a symbol: %.*s",
		           (unsigned long long)reading->line, (int)MIN_OF(line.size, (size_t)100),
		           line.at);
}

/* "118 FRAME;FRAME" or "8.87% FRAME;FRAME"; false where the line is none. */
static bool parse_stack(const struct table *table, struct slice line, struct stack *stack)
{
	size_t size = slice_find(line, " ");
	struct slice value = {line.at, size};

	*stack = (struct stack){.frames = slice_from(line, size + 1)};
	if (!stack->frames.size || strchr(" \t", *line.at) ||
	    (table->separator && *stack->frames.at == table->separator))
		return false;
	stack->is_share = parse_share(value, &stack->value);
	return stack->is_share || (slice_is_digits(value) &&
	                           weight_parse(value.at, value.size, &stack->value) == WEIGHT_OK);
}

/* ---- the text ---- */

enum line_kind {
	LINE_NOTHING,
	LINE_HEAD,
	LINE_SECTION, /* another event begins */
	LINE_ENTRY,
	LINE_STACK,
	LINE_DRAWN,
};

static enum line_kind kind_of(const struct reading *reading, struct slice line, struct stack *stack)
{
	struct slice text = slice_trim(line);

	if (!text.size)
		return LINE_NOTHING;
	if (slice_starts(line, "# Samples: "))
		return LINE_SECTION;
	if (*line.at == '#')
		return LINE_HEAD;
	if (!reading->table.nr)
		return LINE_NOTHING;
	if (parse_stack(&reading->table, line, stack))
		return LINE_STACK;
	/* a graph, or in -g flat the share alone in its line */
	if (*text.at == '|' || slice_starts(text, "--") || slice_find(text, "%") + 1 == text.size)
		return LINE_DRAWN;
	return LINE_ENTRY;
}

static void take_head(struct reading *reading, struct slice line, struct slice above)
{
	static const char count[] = "# Event count (approx.): ", lost[] = "# Total Lost Samples: ";
	uint64_t number = 0;

	if (slice_starts(line, count)) {
		line = slice_trim(slice_from(line, sizeof(count) - 1));
		num_parse_u64(line.at, line.size, &reading->section.nr_events);
	} else if (slice_starts(line, lost)) {
		line = slice_trim(slice_from(line, sizeof(lost) - 1));
		if (!num_parse_u64(line.at, line.size, &number))
			reading->nr_lost = number;
	} else if (!take_separated_head(&reading->table, line)) {
		take_dots(&reading->table, line, above);
	}
}

/* Takes the line into section, table, entry or the entry's stacks. */
static void take_line(struct reading *reading, enum line_kind kind, struct slice line,
                      struct slice above, const struct stack *stack)
{
	struct entry *entry = &reading->entry;

	switch (kind) {
	case LINE_HEAD:
		take_head(reading, line, above);
		break;
	case LINE_SECTION:
		take_samples(&reading->section, slice_from(line, 11));
		reading->table.nr = 0;
		entry->is_open = false;
		break;
	case LINE_ENTRY:
		begin_entry(reading, line);
		break;
	case LINE_STACK:
		if (!entry->is_open) {
			format_bad(reading->report, "line %llu: a stack without an entry above",
			           (unsigned long long)reading->line);
			break;
		}
		MEM_GROW(entry->stacks, entry->nr, entry->capacity);
		entry->stacks[entry->nr++] = *stack;
		break;
	default:
		break;
	}
}

static bool next_line(struct slice *rest, struct slice *line)
{
	if (!rest->size)
		return false;
	*line = (struct slice){rest->at, slice_find(*rest, "\n")};
	*rest = slice_from(*rest, line->size + 1);
	if (line->size && line->at[line->size - 1] == '\r')
		line->size--;
	return true;
}

static int drawn(struct err *err)
{
	return err_set(err, "this is a call graph of perf report, drawn for people and rounded; "
	                    "`perf report --stdio -g folded,0,count` prints one that can be read, "
	                    "and perf script or the recording itself tells most");
}

/* What one stack tells of all: which end of it is the caller's, what its value is. */
static void learn_from(struct reading *reading, const struct stack *stack, uint64_t *nr_begin,
                       uint64_t *nr_end)
{
	bool begins, ends;

	if (look_at(reading, stack->frames, &begins, &ends) > 1) {
		*nr_begin += begins && !ends;
		*nr_end += ends && !begins;
	}
	reading->is_percent = stack->is_share;
	reading->is_period |= stack->value > weight_from_u64(reading->section.nr_samples_max);
	reading->entry.nr = 0;
}

/* A first look at all of the text. */
static int survey(struct reading *reading, struct slice all)
{
	uint64_t nr_begin = 0, nr_end = 0;
	bool has_children = false;
	struct slice line, above = {"", 0};
	struct stack stack;

	while (next_line(&all, &line)) {
		enum line_kind kind = kind_of(reading, line, &stack);

		if (kind == LINE_DRAWN)
			return drawn(reading->err);
		if (kind == LINE_ENTRY && reading->table.index[COLUMN_SYMBOL] < 0)
			return err_set(reading->err, "this report of perf has no symbols; print it "
			                             "with -s comm,dso,sym");
		take_line(reading, kind, line, above, &stack);
		if (kind == LINE_STACK && reading->entry.nr) {
			has_children |= reading->table.index[COLUMN_SELF] >= 0;
			learn_from(reading, &stack, &nr_begin, &nr_end);
		}
		above = line;
	}
	reading->is_by_caller = has_children ? nr_end > 0 : nr_end > nr_begin;
	if (has_children && !nr_end && nr_begin)
		return err_set(reading->err, "callees stand below their callers' entries here "
		                             "and cannot be told apart; print the report with "
		                             "--no-children, or -g folded,0,caller,count");
	return 0;
}

static void begin_section(struct reading *reading)
{
	const char *const *names = reading->options->events;
	struct slice event = reading->section.event;
	bool is_first = !reading->first_event.at;

	if (is_first)
		reading->first_event = event;
	reading->root = 0;
	reading->is_wanted = reading->options->all_events || (!names && is_first);
	for (; names && *names && !reading->is_wanted; names++)
		reading->is_wanted = slice_equals(event, *names);
	if (reading->options->all_events)
		reading->root = folder_child(reading->folder, 0,
		                             folder_name(reading->folder, event.at, event.size));
	else if (reading->is_wanted)
		reading->first_event = event;
}

static int fold(struct reading *reading, struct slice all)
{
	struct slice line, above = {"", 0};
	struct stack stack;
	bool ok = true;

	reading->table.nr = 0;
	reading->line = reading->entry.nr = 0;
	reading->entry.is_open = false;
	while (ok && next_line(&all, &line)) {
		enum line_kind kind = kind_of(reading, line, &stack);

		reading->line++;
		if (kind == LINE_SECTION || kind == LINE_ENTRY)
			ok = fold_entry(reading);
		take_line(reading, kind, line, above, &stack);
		if (kind == LINE_SECTION)
			begin_section(reading);
		above = line;
	}
	return ok && fold_entry(reading) ? 0 : -1;
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header UNUSED, struct format_report *report, struct err *err)
{
	struct format_report ignored = {0};
	struct reading reading = {
	        .folder = folder, .options = options, .report = &ignored, .err = err};
	struct slice all, event;
	int result;

	if (format_whole(in, &all, err) < 0)
		return -1;
	result = survey(&reading, all);
	reading.report = report;
	if (!result)
		result = fold(&reading, all);
	report->nr_lost += reading.nr_lost;
	if (!result && reading.nr_short)
		snprintf(report->incomplete, sizeof(report->incomplete),
		         "perf left out stacks of %llu %s, as of '%.*s'; "
		         "-g folded,0,count prints all",
		         (unsigned long long)reading.nr_short,
		         reading.nr_short == 1 ? "entry" : "entries",
		         (int)MIN_OF(reading.first_short.size, (size_t)80), reading.first_short.at);
	event = reading.first_event;
	if (!result && event.at) {
		format_unit(report, "",
		            reading.is_percent                       ? "percent" :
		            !reading.is_period                       ? "samples" :
		            slice_find(event, "-clock") < event.size ? "nanoseconds" :
		                                                       "events");
		if (!options->all_events)
			snprintf(report->event, sizeof(report->event), "%.*s",
			         (int)MIN_OF(event.size, (size_t)60), event.at);
	}
	free(reading.entry.stacks);
	free(reading.names);
	buf_release(&reading.text);
	return result;
}

const struct format format_perf_report = {
        .name = "perf-report",
        .about = "perf report --stdio -g folded: shares, counts or periods",
        .detect = detect,
        .parse = parse,
};
