#include "share/compat.h"
#include "collapse/textin.h"

#include "share/mem.h"
#include "share/num.h"

/*
 * Lines repeat, and so do lines below the same stack: two direct-mapped
 * caches of fixed size answer for most of them. The first maps (node, line)
 * to the node of the line's frames, the second a line to its only name. Keys
 * are 64-bit hashes over the bytes behind the address.
 */
#define STEP_SLOTS (1u << 16)
#define NAME_SLOTS (1u << 15)

struct step_slot {
	uint64_t key;
	uint32_t node;
};

struct name_slot {
	uint64_t key;
	uint32_t name;
};

struct line {
	const char *at; /* from the address on */
	uint32_t size;
	uint32_t srcline; /* size of the text below it, or 0 */
	const char *srcline_at;
	uint64_t hash;
};

/* What the header of the sample at hand said. */
enum state {
	STATE_NONE,   /* between samples */
	STATE_HEADER, /* behind a header, no frame yet */
	STATE_FRAMES,
	STATE_SKIP, /* in a sample that is left out */
};

struct textin_fold {
	struct format_options options;
	struct folder folder;
	struct format_report report;
	uint64_t bad_offset;
	enum state state;

	/* the sample at hand */
	uint32_t root;
	weight_fx weight;
	struct line *lines; /* innermost first */
	size_t nr_lines, lines_capacity;
	bool is_java;

	struct textin_event *events;
	size_t nr_events, events_capacity;
	char *first_event; /* what is folded where options name nothing */
	size_t last_event; /* looked up last */
	uint32_t no_stack; /* names */
	uint32_t exited;

	struct step_slot *steps;
	struct name_slot *names;
	char *machine[TEXTIN_MACHINE_MAX];
	const char *text; /* being parsed; for offsets */
	uint64_t offset;
};

struct textin_fold *textin_fold_new(const struct format_options *options)
{
	struct textin_fold *fold = mem_zalloc(sizeof(*fold));

	fold->options = *options;
	folder_init(&fold->folder);
	fold->steps = mem_zalloc(STEP_SLOTS * sizeof(*fold->steps));
	fold->names = mem_zalloc(NAME_SLOTS * sizeof(*fold->names));
	fold->no_stack = folder_name(&fold->folder, "[no stack]", 10);
	fold->exited = folder_name(&fold->folder, "[exited task]", 13);
	return fold;
}

void textin_fold_free(struct textin_fold *fold)
{
	if (!fold)
		return;
	folder_release(&fold->folder);
	for (size_t i = 0; i < fold->nr_events; i++)
		free(fold->events[i].name);
	for (size_t i = 0; i < TEXTIN_MACHINE_MAX; i++)
		free(fold->machine[i]);
	free(fold->events);
	free(fold->first_event);
	free(fold->lines);
	free(fold->steps);
	free(fold->names);
	free(fold);
}

static void count_bad(struct textin_fold *fold, struct slice line, const char *what)
{
	uint64_t offset = fold->offset + (uint64_t)(line.at - fold->text);

	if (!fold->report.nr_bad)
		fold->bad_offset = offset;
	format_bad(&fold->report, "offset %llu: %s: '%.*s'", (unsigned long long)offset, what,
	           (int)MIN_OF(line.size, (size_t)100), line.at);
}

/* ---- events ---- */

/* On machines with two kinds of core one event has two names. */
static struct slice base_name(struct slice event)
{
	const char *slash;

	if (!slice_starts(event, "cpu_core/") && !slice_starts(event, "cpu_atom/") &&
	    !slice_starts(event, "cpu_lowpower/"))
		return event;
	slash = memchr(event.at, '/', event.size) + 1;
	event.size -= (size_t)(slash - event.at);
	event.at = slash;
	slash = memchr(event.at, '/', event.size);
	if (slash)
		event.size = (size_t)(slash - event.at);
	return event;
}

static bool is_same_event(struct slice a, const char *name)
{
	struct slice b = {name, strlen(name)}, x, y;

	if (a.size == b.size && memcmp(a.at, b.at, a.size) == 0)
		return true;
	x = base_name(a);
	y = base_name(b);
	return x.at != a.at && y.at != b.at && x.size == y.size && memcmp(x.at, y.at, x.size) == 0;
}

/* "cycles" is what "cycles:u" is called without its modifiers. */
static bool is_called(struct slice event, const char *name)
{
	size_t size = strlen(name);

	if (event.size <= size + 1 || memcmp(event.at, name, size) != 0 || event.at[size] != ':')
		return false;
	for (size_t i = size + 1; i < event.size; i++)
		if (!strchr("ukhHGpPSDIWeb", event.at[i]))
			return false;
	return true;
}

static bool is_chosen(struct textin_fold *fold, struct slice name)
{
	const struct format_options *options = &fold->options;

	if (options->all_events || !name.size)
		return true;
	if (options->events) {
		for (size_t i = 0; options->events[i]; i++)
			if (is_same_event(name, options->events[i]) ||
			    is_called(name, options->events[i]) ||
			    slice_equals(base_name(name), options->events[i]))
				return true;
		return false;
	}
	if (!fold->first_event)
		fold->first_event = mem_strndup(name.at, name.size);
	/* there every name is an event of its own, twins too */
	return options->flamegraph_compat ? slice_equals(name, fold->first_event) :
	                                    is_same_event(name, fold->first_event);
}

static struct textin_event *find_event(struct textin_fold *fold, struct slice name)
{
	struct textin_event *event;
	bool has_root =
	        fold->options.all_events ||
	        (fold->options.events && fold->options.events[0] && fold->options.events[1]);

	if (fold->last_event < fold->nr_events &&
	    slice_equals(name, fold->events[fold->last_event].name))
		return &fold->events[fold->last_event];
	for (size_t i = 0; i < fold->nr_events; i++) {
		if (slice_equals(name, fold->events[i].name)) {
			fold->last_event = i;
			return &fold->events[i];
		}
	}
	/* more distinct names than a recording can hold: not a list of events */
	if (fold->nr_events == TEXTIN_EVENTS_MAX)
		return &fold->events[TEXTIN_EVENTS_MAX - 1];
	MEM_GROW(fold->events, fold->nr_events, fold->events_capacity);
	event = &fold->events[fold->nr_events++];
	*event = (struct textin_event){.name = mem_strndup(name.at, name.size),
	                               .is_chosen = is_chosen(fold, name)};
	if (has_root && event->is_chosen)
		event->root = folder_child(&fold->folder, 0,
		                           folder_name(&fold->folder, name.at, name.size));
	fold->last_event = fold->nr_events - 1;
	return event;
}

/* ---- a sample ---- */

static uint32_t compat_root(struct textin_fold *fold, uint32_t root,
                            const struct textin_header *header)
{
	const struct format_options *options = &fold->options;
	struct buf name = {0};

	if (!header->comm.size)
		return root;
	buf_add(&name, header->comm.at, header->comm.size);
	if (options->by_pid || options->by_tid)
		buf_printf(&name, "-%.*s", (int)header->pid.size, header->pid.at);
	if (options->by_tid)
		buf_printf(&name, "/%.*s", (int)header->tid.size, header->tid.at);
	for (size_t i = 0; i < name.size; i++)
		if (name.at[i] == ' ')
			name.at[i] = '_';
	root = folder_child(&fold->folder, root, folder_name(&fold->folder, name.at, name.size));
	buf_release(&name);
	return root;
}

static uint32_t id_root(struct textin_fold *fold, uint32_t root, const char *what, struct slice id)
{
	char text[40];
	int size;

	if (!id.size || id.at[0] == '-' || id.size > 20)
		return root;
	size = snprintf(text, sizeof(text), "%s %.*s", what, (int)id.size, id.at);
	return folder_child(&fold->folder, root, folder_name(&fold->folder, text, (size_t)size));
}

static uint32_t sample_root(struct textin_fold *fold, uint32_t root,
                            const struct textin_header *header)
{
	const struct format_options *options = &fold->options;

	/* perf prints ":-1 -1" for what was sampled in a task that had gone already */
	if (options->by_comm && slice_equals(header->comm, ":-1") &&
	    slice_equals(header->tid, "-1"))
		root = folder_child(&fold->folder, root, fold->exited);
	else if (options->by_comm && header->comm.size)
		root = folder_child(&fold->folder, root,
		                    folder_name(&fold->folder, header->comm.at, header->comm.size));
	/* without -F pid the one number is the thread's; it is the best there is */
	if (options->by_pid)
		root = id_root(fold, root, "pid", header->pid.size ? header->pid : header->tid);
	if (options->by_tid)
		root = id_root(fold, root, "tid", header->tid);
	return root;
}

static uint32_t step(struct textin_fold *fold, uint32_t node, const struct line *line)
{
	const uint64_t key = hash_u64(line->hash, node) | 1;
	struct step_slot *slot = &fold->steps[key >> 32 & (STEP_SLOTS - 1)];
	struct name_slot *named;
	uint32_t names[TEXTIN_NAMES_MAX], name_of_one;
	size_t nr;

	if (LIKELY(slot->key == key))
		return slot->node;
	named = &fold->names[line->hash & (NAME_SLOTS - 1)];
	if (named->key == line->hash) {
		name_of_one = named->name;
		node = folder_child(&fold->folder, node, name_of_one);
	} else {
		nr = textin_names(
		        &fold->folder, &fold->options, (struct slice){line->at, line->size},
		        (struct slice){line->srcline_at, line->srcline},
		        fold->is_java ? (struct slice){"java", 4} : (struct slice){"", 0}, names);
		for (size_t i = 0; i < nr; i++)
			node = folder_child(&fold->folder, node, names[i]);
		if (nr == 1)
			*named = (struct name_slot){line->hash, names[0]};
	}
	*slot = (struct step_slot){key, node};
	return node;
}

static bool end_sample(struct textin_fold *fold, struct err *err)
{
	uint32_t node = fold->root;

	if (fold->state == STATE_HEADER || fold->state == STATE_FRAMES) {
		for (size_t i = fold->nr_lines; i-- > 0;)
			node = step(fold, node, &fold->lines[i]);
		if (!fold->nr_lines && !(fold->options.flamegraph_compat && node))
			node = folder_child(&fold->folder, node, fold->no_stack);
		if (!folder_count(&fold->folder, node, fold->weight)) {
			format_too_large(err);
			return false;
		}
		fold->report.nr_samples++;
	}
	fold->nr_lines = 0;
	fold->state = STATE_NONE;
	return true;
}

/* is_plain: the address fills 16 columns, and a module stands at the end. */
static void push_frame(struct textin_fold *fold, struct slice frame, bool is_plain)
{
	struct line *line;
	const char *hashed = frame.at;
	size_t size = frame.size;

	MEM_GROW(fold->lines, fold->nr_lines, fold->lines_capacity);
	line = &fold->lines[fold->nr_lines++];
	*line = (struct line){.at = frame.at, .size = (uint32_t)MIN_OF(frame.size, UINT32_MAX)};
	/* the address tells nothing about the name, unless it is the name or added to it */
	if (is_plain && !fold->options.addresses) {
		hashed += 17;
		size -= 17;
	} else if (!fold->options.addresses && memchr(frame.at, ')', frame.size)) {
		while (size && (*hashed == ' ' || *hashed == '\t')) {
			hashed++;
			size--;
		}
		while (size && *hashed != ' ') {
			hashed++;
			size--;
		}
	}
	line->hash = hash_bytes(hashed, size);
	/* the rules of Java apply below some comms only */
	if (fold->options.flamegraph_compat)
		line->hash += fold->is_java;
}

static bool has_text(struct slice s)
{
	for (size_t i = 0; i < s.size; i++)
		if (s.at[i] != ' ' && s.at[i] != '\t')
			return true;
	return false;
}

static bool begin_sample(struct textin_fold *fold, const struct textin_header *header,
                         struct slice line)
{
	struct slice frame = textin_inline_frame(header->rest);
	struct textin_header compat = *header;
	struct textin_event *event;

	/* there an event counts only where nothing follows it, as its period does */
	if (fold->options.flamegraph_compat && !frame.size && has_text(header->rest)) {
		compat.event.size = 0;
		compat.period = 1;
	}
	event = find_event(fold, compat.event);
	event->nr_samples++;
	if (!event->is_chosen) {
		fold->report.nr_left_out++;
		fold->state = STATE_SKIP;
		return true;
	}
	fold->weight = WEIGHT_ONE;
	if (fold->options.count != COUNT_SAMPLES)
		fold->weight = weight_from_u64(compat.period);
	if (fold->options.count == COUNT_TIME)
		fold->weight /= 1000;
	if (fold->options.flamegraph_compat) {
		if (!textin_header_compat(line, &compat)) {
			if (!compat.pid.size)
				compat.pid = (struct slice){"?", 1};
		}
		fold->root = compat_root(fold, event->root, &compat);
		fold->is_java = slice_starts(compat.comm, "java");
		if (!compat.period)
			fold->weight = WEIGHT_ONE;
	} else {
		fold->root = sample_root(fold, event->root, header);
	}
	fold->state = STATE_HEADER;
	if (frame.size) {
		push_frame(fold, frame, false);
		fold->state = STATE_FRAMES;
	}
	return true;
}

/* ---- lines that are neither header nor frame ---- */

/* "# hostname : x" */
static void read_comment(struct textin_fold *fold, struct slice line)
{
	static const char *const keys[TEXTIN_MACHINE_MAX] = {
	        "# hostname : ", "# os release : ", "# cmdline : "};

	for (size_t i = 0; i < TEXTIN_MACHINE_MAX; i++) {
		size_t size = strlen(keys[i]);

		if (slice_starts(line, keys[i]) && !fold->machine[i])
			fold->machine[i] = mem_strndup(line.at + size, line.size - size);
	}
}

static uint64_t number_after(struct slice line, const char *word)
{
	const char *at = memmem(line.at, line.size, word, strlen(word));
	const char *end = line.at + line.size, *from;
	uint64_t value;

	if (!at)
		return 0;
	for (from = at += strlen(word); at < end && *at >= '0' && *at <= '9';)
		at++;
	return num_parse_u64(from, (size_t)(at - from), &value) == 0 ? value : 0;
}

/* Records and messages of perf; true where the line is one. */
static bool read_message(struct textin_fold *fold, struct slice line)
{
	static const char *const messages[] = {
	        "instruction trace error",
	        "Was the 'perf record' command",
	        "[ perf record:",
	        "Warning:",
	        "WARNING:",
	        "Check IO/CPU overload",
	        "Processed ",
	        "Invalid ",
	        "Can't ",
	        "Cannot ",
	        "Failed to ",
	        "failed to ",
	        "addr2line:",
	        "BFD:",
	        "cmd__addr2line",
	        "maps__",
	        "Samples for '",
	        "unexpected end of event stream",
	        "Lost ",
	        "--",
	};

	if (memmem(line.at, line.size, "PERF_RECORD_", 12)) {
		fold->report.nr_lost += number_after(line, "PERF_RECORD_LOST lost ") +
		                        number_after(line, "PERF_RECORD_LOST_SAMPLES lost ");
		return true;
	}
	while (line.size && (*line.at == ' ' || *line.at == '\t')) {
		line.at++;
		line.size--;
	}
	for (size_t i = 0; i < ARRAY_SIZE(messages); i++) {
		if (!slice_starts(line, messages[i]))
			continue;
		fold->report.nr_lost += number_after(line, "and lost ");
		return true;
	}
	return false;
}

static void read_srcline(struct textin_fold *fold, struct slice line)
{
	struct line *last = &fold->lines[fold->nr_lines - 1];

	if (!fold->options.srcline || last->srcline)
		return;
	last->srcline_at = line.at;
	last->srcline = (uint32_t)MIN_OF(line.size, (size_t)4096);
	last->hash = hash_u64(last->hash, hash_bytes(line.at, last->srcline));
}

/* A frame without an address that perf never prints but others write. */
static bool is_placeholder_frame(struct slice line)
{
	return line.size > 3 && line.at[0] == '\t' && line.at[1] != ' ' && line.at[1] != '\t' &&
	       line.at[line.size - 1] == ')' && memmem(line.at, line.size, " (", 2);
}

static bool read_line(struct textin_fold *fold, struct slice line, struct err *err)
{
	const bool is_indented = line.at[0] == ' ' || line.at[0] == '\t';
	const bool in_sample = fold->state != STATE_NONE;
	struct textin_header header;

	if (line.at[0] == '#') {
		read_comment(fold, line);
		return true;
	}
	if (textin_is_address(line) && (line.at[0] == '\t' || !textin_has_stamp(line)) &&
	    (is_indented || line.at[line.size - 1] == ')' || in_sample)) {
		if (fold->state == STATE_SKIP)
			return true;
		if (fold->state == STATE_NONE) {
			/* no header at all: -F ip,sym,dso */
			header = (struct textin_header){.period = 1};
			begin_sample(fold, &header, line);
		}
		push_frame(fold, line, false);
		fold->state = STATE_FRAMES;
		return true;
	}
	if (read_message(fold, line))
		return fold->state == STATE_NONE || fold->nr_lines == 0 || end_sample(fold, err);
	if (textin_header(line, &header))
		return end_sample(fold, err) && begin_sample(fold, &header, line);
	if (fold->state == STATE_SKIP)
		return true;
	if (in_sample && is_placeholder_frame(line)) {
		push_frame(fold, line, false);
		fold->state = STATE_FRAMES;
		return true;
	}
	if (in_sample && is_indented) {
		/* source lines, branches, registers: they belong to the frame above */
		if (fold->nr_lines)
			read_srcline(fold, line);
		return true;
	}
	/* comm and ids alone are a header too; of other lines nothing is known */
	textin_plain_header(line, &header);
	if (header.tid.size)
		return end_sample(fold, err) && begin_sample(fold, &header, line);
	count_bad(fold, line, "neither a sample nor a frame");
	return true;
}

static bool empty_line(struct textin_fold *fold, struct err *err)
{
	/* behind a header it may stand before the frames as well as after none */
	if (fold->state == STATE_HEADER || fold->state == STATE_NONE)
		return true;
	return end_sample(fold, err);
}

bool textin_fold_text(struct textin_fold *fold, struct slice text, uint64_t offset, struct err *err)
{
	const char *at = text.at, *end = text.at + text.size;

	fold->text = text.at;
	fold->offset = offset;
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		struct slice line = {at, (size_t)((newline ? newline : end) - at)};

		at = newline ? newline + 1 : end;
		/* what nearly all lines are: a tab, 16 columns of address, a blank */
		if (LIKELY(line.size > 18 && line.at[0] == '\t' && line.at[17] == ' ' &&
		           line.at[16] != ' ')) {
			if (LIKELY(fold->state == STATE_FRAMES || fold->state == STATE_HEADER) &&
			    line.at[line.size - 1] == ')') {
				push_frame(fold, (struct slice){line.at + 1, line.size - 1}, true);
				fold->state = STATE_FRAMES;
				continue;
			}
			if (fold->state == STATE_SKIP)
				continue;
		}
		if (line.size && line.at[line.size - 1] == '\r')
			line.size--;
		if (line.size ? !read_line(fold, line, err) : !empty_line(fold, err))
			return false;
	}
	return end_sample(fold, err);
}

const char *textin_fold_first_event(const struct textin_fold *fold)
{
	return fold->first_event;
}

void textin_fold_follow(struct textin_fold *fold, const char *event)
{
	if (event && !fold->first_event)
		fold->first_event = mem_strdup(event);
}

struct folder *textin_fold_folder(struct textin_fold *fold)
{
	return &fold->folder;
}

const struct format_report *textin_fold_report(const struct textin_fold *fold)
{
	return &fold->report;
}

uint64_t textin_fold_bad_offset(const struct textin_fold *fold)
{
	return fold->bad_offset;
}

const struct textin_event *textin_fold_events(const struct textin_fold *fold, size_t *nr)
{
	*nr = fold->nr_events;
	return fold->events;
}

const char *textin_fold_machine(const struct textin_fold *fold, size_t i)
{
	return fold->machine[i];
}
