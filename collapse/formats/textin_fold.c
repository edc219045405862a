#include "share/compat.h"
#include "collapse/formats/textin.h"

#include "collapse/formats/block16.h"
#include "share/mem.h"

/*
 * Lines repeat, and so do stacks: direct-mapped caches of fixed size answer
 * for most of them. Keys are 64-bit hashes, over the bytes behind the address
 * where lines are meant.
 */
#define PATH_SLOTS (1u << 17)
#define NAME_SLOTS (1u << 15)
#define ROOT_SLOTS (1u << 10)

/* From a line and all behind it to their node. */
struct path_slot {
	uint64_t key;
	uint32_t node;
};

/* From what stands before the time stamp to the root frames. */
struct root_slot {
	uint64_t key;
	uint32_t node;
};

/* From a line to the only name it gives. */
struct name_slot {
	uint64_t key;
	uint32_t name;
};

struct line {
	const char *at; /* from the address on */
	uint32_t size;
	uint32_t address; /* size of that, or 0 where the name depends on it */
	uint32_t srcline; /* size of the text below it, or 0 */
	bool is_function; /* "(inlined)" is printed, but it is not */
	const char *srcline_at;
	uint64_t hash, path; /* of the bytes; of them and all lines behind */
};

/*
 * The kernel's default of sysctl perf_event_max_stack: a stack of that many
 * frames lacks its outermost ones. The text does not say where it was changed.
 */
#define MAX_STACK 127

/* What perf prints in place of the module of an inlined function. */
#define INLINED      " (inlined)"
#define INLINED_SIZE (sizeof(INLINED) - 1)
#define FUNCTION_KEY 0xd6e8feb86659fd93u

/* In a frame line of perf: tab, 16 columns, blank; here the symbol begins. */
#define FRAME_AT 18

/* What the header of the sample at hand said. */
enum state {
	STATE_NONE,    /* between samples */
	STATE_MESSAGE, /* behind a record or a message: what is indented belongs to it */
	STATE_HEADER,  /* behind a header, no frame yet */
	STATE_INLINE,  /* its frame, or an address that it tells, was on its own line */
	STATE_FRAMES,
	STATE_SKIP, /* in a sample that is left out */
};

struct sample {
	uint32_t root;
	weight_fx weight;
	struct line *lines; /* innermost first */
	size_t nr_lines, lines_capacity;
	bool is_java, is_whole;
	bool is_tabbed; /* its frames begin with a tab */
};

struct textin_fold {
	struct format_options options;
	struct folder own, *folder;
	struct format_report report;
	size_t chunk, bad_chunk;     /* places among the texts */
	uint64_t nr_lines, bad_line; /* in them */
	uint64_t nr_deferred;
	enum state state;

	/*
	 * What a sample needs of the caches is asked for when its last line was
	 * read, and used when the next sample has been: by then it has come.
	 */
	struct sample now, before;
	uint32_t counted_node; /* of the one before that */
	weight_fx counted_weight;

	struct textin_events events;
	struct textin_ending ending;
	size_t ending_event;
	uint32_t no_stack; /* names */
	uint32_t exited, truncated;

	struct path_slot *paths;
	struct root_slot *roots;
	struct name_slot *names;
	char *machine[TEXTIN_MACHINE_MAX];
};

struct textin_fold *textin_fold_new(const struct format_options *options, struct folder *folder)
{
	struct textin_fold *fold = mem_zalloc(sizeof(*fold));

	fold->options = *options;
	fold->events.options = &fold->options;
	fold->folder = folder ? folder : &fold->own;
	if (!folder)
		folder_init(&fold->own);
	fold->paths = mem_cleared(PATH_SLOTS * sizeof(*fold->paths));
	fold->roots = mem_cleared(ROOT_SLOTS * sizeof(*fold->roots));
	fold->names = mem_cleared(NAME_SLOTS * sizeof(*fold->names));
	fold->no_stack = folder_name(fold->folder, "[no stack]", 10);
	fold->exited = folder_name(fold->folder, "[exited task]", 13);
	fold->truncated = folder_name(fold->folder, "[truncated]", 11);
	return fold;
}

void textin_fold_free(struct textin_fold *fold)
{
	if (!fold)
		return;
	if (fold->folder == &fold->own)
		folder_release(&fold->own);
	for (size_t i = 0; i < TEXTIN_MACHINE_MAX; i++)
		free(fold->machine[i]);
	textin_events_release(&fold->events);
	free(fold->now.lines);
	free(fold->before.lines);
	free(fold->paths);
	free(fold->roots);
	free(fold->names);
	free(fold);
}

static void count_bad(struct textin_fold *fold, struct slice line, const char *what)
{
	if (!fold->report.nr_bad) {
		fold->bad_chunk = fold->chunk;
		fold->bad_line = fold->nr_lines;
	}
	format_bad(&fold->report, "%s: '%.*s'", what, (int)MIN_OF(line.size, (size_t)100), line.at);
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
	root = folder_child(fold->folder, root, folder_name(fold->folder, name.at, name.size));
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
	return folder_child(fold->folder, root, folder_name(fold->folder, text, (size_t)size));
}

static uint32_t sample_root(struct textin_fold *fold, uint32_t root,
                            const struct textin_header *header)
{
	const struct format_options *options = &fold->options;

	/* perf prints ":-1 -1" for what was sampled in a task that had gone already */
	if (options->by_comm && slice_equals(header->comm, ":-1") &&
	    slice_equals(header->tid, "-1"))
		root = folder_child(fold->folder, root, fold->exited);
	else if (options->by_comm && header->comm.size)
		root = folder_child(fold->folder, root,
		                    folder_name(fold->folder, header->comm.at, header->comm.size));
	/* without -F pid the one number is the thread's; it is the best there is */
	if (options->by_pid)
		root = id_root(fold, root, "pid", header->pid.size ? header->pid : header->tid);
	if (options->by_tid)
		root = id_root(fold, root, "tid", header->tid);
	return root;
}

/* What stands before the time stamp repeats as it is: comm, ids and cpu. */
static uint32_t cached_root(struct textin_fold *fold, uint32_t root, struct textin_header *header)
{
	uint64_t key = hash_u64(root, hash_bytes(header->left.at, header->left.size)) | 1;
	struct root_slot *slot = &fold->roots[key >> 32 & (ROOT_SLOTS - 1)];

	if (slot->key != key) {
		textin_header_left(header);
		*slot = (struct root_slot){key, sample_root(fold, root, header)};
	}
	return slot->node;
}

/*
 * A hash of what names depend on: not the address, not the offset in the
 * symbol. That is found from the module's "(" back.
 */
static uint64_t hash_without_offset(const char *at, size_t size)
{
	const char *open = memrchr(at, '(', size), *plus = open;

	if (!open || open < at + 4 || open[-1] != ' ')
		return hash_bytes(at, size);
	for (plus -= 2; plus > at && plus > open - 12 && *plus != 'x';)
		plus--;
	if (plus < at + 2 || plus[-1] != '0' || plus[-2] != '+')
		return hash_bytes(at, size);
	return hash_u64(hash_bytes(at, (size_t)(plus - 2 - at)),
	                hash_bytes(open, size - (size_t)(open - at)));
}

static bool ends_inlined(const char *at, size_t size)
{
	return size > INLINED_SIZE && memcmp(at + size - INLINED_SIZE, INLINED, INLINED_SIZE) == 0;
}

/* With -F srcline the mark is on the line below. */
static bool is_inlined(const struct line *line)
{
	return ends_inlined(line->at, line->size) || ends_inlined(line->srcline_at, line->srcline);
}

static size_t cut_inlined(const char *at, size_t size)
{
	return size - (ends_inlined(at, size) ? INLINED_SIZE : 0);
}

/* The node of one line's frames below `node`. */
static uint32_t add_line(struct textin_fold *fold, uint32_t node, const struct sample *sample,
                         const struct line *line)
{
	uint64_t key = hash_without_offset(line->at + line->address, line->size - line->address) +
	               sample->is_java + (line->is_function ? FUNCTION_KEY : 0);
	struct name_slot *named = &fold->names[key & (NAME_SLOTS - 1)];
	struct slice frame = {line->at, line->size}, srcline = {line->srcline_at, line->srcline};
	uint32_t names[TEXTIN_NAMES_MAX];
	size_t nr;

	if (named->key == key && !line->srcline)
		return folder_child(fold->folder, node, named->name);
	if (line->is_function) {
		frame.size = cut_inlined(frame.at, frame.size);
		srcline.size = cut_inlined(srcline.at, srcline.size);
	}
	nr = textin_names(fold->folder, &fold->options, frame, srcline,
	                  sample->is_java ? (struct slice){"java", 4} : (struct slice){"", 0},
	                  names);
	for (size_t i = 0; i < nr; i++)
		node = folder_child(fold->folder, node, names[i]);
	if (nr == 1 && !line->srcline)
		*named = (struct name_slot){key, names[0]};
	return node;
}

static struct path_slot *slot_of(struct textin_fold *fold, uint64_t path)
{
	return &fold->paths[path >> 32 & (PATH_SLOTS - 1)];
}

/*
 * The node of all lines below the root. Each line has a hash over itself and
 * all lines behind it, so the table is asked for the whole stack first, then
 * for what is left of it without its innermost frame, and so on.
 */
static uint32_t stack_node(struct textin_fold *fold, const struct sample *sample)
{
	const struct line *lines = sample->lines;
	uint32_t node = sample->root;
	size_t at;

	for (at = 0; at < sample->nr_lines; at++) {
		struct path_slot *slot = slot_of(fold, lines[at].path);

		if (slot->key == lines[at].path) {
			node = slot->node;
			break;
		}
	}
	while (at-- > 0) {
		node = add_line(fold, node, sample, &lines[at]);
		*slot_of(fold, lines[at].path) = (struct path_slot){lines[at].path, node};
	}
	return node;
}

static bool count(struct textin_fold *fold, struct err *err)
{
	if (!folder_count(fold->folder, fold->counted_node, fold->counted_weight)) {
		format_too_large(err);
		return false;
	}
	fold->counted_weight = 0;
	return true;
}

/* Finds the node of the sample before the one that was read last. */
static bool count_before(struct textin_fold *fold, struct err *err)
{
	struct sample *sample = &fold->before;

	if (!count(fold, err))
		return false;
	if (!sample->is_whole)
		return true;
	fold->counted_node = stack_node(fold, sample);
	fold->counted_weight = sample->weight;
	__builtin_prefetch(&fold->folder->nodes[fold->counted_node], 1);
	sample->is_whole = false;
	sample->nr_lines = 0;
	fold->report.nr_samples++;
	return true;
}

static struct slice address_of(const struct line *line)
{
	struct slice word = {line->at, 0};
	size_t left = line->size;

	while (left && (*word.at == ' ' || *word.at == '\t')) {
		word.at++;
		left--;
	}
	while (word.size < left && word.at[word.size] != ' ')
		word.size++;
	return word;
}

/*
 * perf asks addr2line for the functions inlined at an address. Where that
 * names the function itself otherwise than its symbol, such as by another
 * alias, perf takes it for one and prints no other line at that address.
 */
static void find_functions(struct sample *sample)
{
	struct line *lines = sample->lines;

	for (size_t i = 0; i < sample->nr_lines; i++) {
		struct slice mine, outer;

		if (LIKELY(!is_inlined(&lines[i])))
			continue;
		mine = address_of(&lines[i]);
		outer = i + 1 < sample->nr_lines ? address_of(&lines[i + 1]) :
		                                   (struct slice){"", 0};
		if (mine.size == outer.size && memcmp(mine.at, outer.at, mine.size) == 0)
			continue;
		lines[i].is_function = true;
		lines[i].hash += FUNCTION_KEY;
	}
}

static void prepare(struct textin_fold *fold, struct sample *sample)
{
	struct line *lines = sample->lines;
	uint64_t path = hash_u64(sample->root, 0x94d049bb133111ebu);

	if (!fold->options.flamegraph_compat)
		find_functions(sample);
	for (size_t i = sample->nr_lines; i-- > 0;)
		lines[i].path = path = hash_u64(path, lines[i].hash) | 1;
	if (sample->nr_lines)
		__builtin_prefetch(slot_of(fold, path));
	if (sample->nr_lines > 1)
		__builtin_prefetch(slot_of(fold, lines[1].path));
}

static bool is_truncated(const struct sample *sample)
{
	size_t nr = 0;

	for (size_t i = 0; i < sample->nr_lines; i++)
		nr += !is_inlined(&sample->lines[i]);
	return nr == MAX_STACK;
}

static bool is_in_sample(const struct textin_fold *fold)
{
	return fold->state != STATE_NONE && fold->state != STATE_MESSAGE;
}

static bool end_sample(struct textin_fold *fold, struct err *err)
{
	struct sample *sample = &fold->now, swap;
	const bool is_compat = fold->options.flamegraph_compat;

	if (is_in_sample(fold) && fold->state != STATE_SKIP) {
		if (UNLIKELY(sample->nr_lines >= MAX_STACK) && !is_compat && is_truncated(sample))
			sample->root = folder_child(fold->folder, sample->root, fold->truncated);
		if (!sample->nr_lines && !(is_compat && sample->root))
			sample->root = folder_child(fold->folder, sample->root, fold->no_stack);
		sample->is_whole = true;
		prepare(fold, sample);
		if (!count_before(fold, err))
			return false;
		swap = fold->before;
		fold->before = fold->now;
		fold->now = swap;
	}
	fold->now.nr_lines = 0;
	fold->now.is_tabbed = false;
	fold->state = STATE_NONE;
	return true;
}

static struct line *next_line(struct sample *sample, struct slice frame, size_t address)
{
	struct line *line;

	MEM_GROW(sample->lines, sample->nr_lines, sample->lines_capacity);
	line = &sample->lines[sample->nr_lines++];
	*line = (struct line){
	        .at = frame.at, .size = (uint32_t)frame.size, .address = (uint32_t)address};
	return line;
}

static void push_frame(struct textin_fold *fold, struct slice frame)
{
	struct sample *sample = &fold->now;
	struct line *line;
	size_t address = 0;

	/* the address tells nothing about the name, unless it is the name or added to it */
	if (!fold->options.addresses && memchr(frame.at, ')', frame.size)) {
		while (address < frame.size &&
		       (frame.at[address] == ' ' || frame.at[address] == '\t'))
			address++;
		while (address < frame.size && frame.at[address] != ' ')
			address++;
	}
	line = next_line(sample, frame, address);
	line->hash =
	        hash_without_offset(frame.at + address, frame.size - address) + sample->is_java;
}

/*
 * The line that nearly all are: a tab, 16 columns of address, a blank, a
 * symbol, a module in brackets. Finds its end and hashes it in one go, 16
 * bytes at a time; returns what is behind its line feed, or NULL, and nothing
 * done, where it is another sort of line or too near the end.
 */
static const char *push_plain(struct textin_fold *fold, const char *at, const char *end)
{
	struct sample *sample = &fold->now;
	const char *from = at + FRAME_AT;
	struct block block;
	struct line *line;
	uint64_t hash = 0x2545f4914f6cdd1du;
	unsigned feed;

	if (end - at < FRAME_AT + BLOCK_SIZE || at[0] != '\t' || at[17] != ' ' || at[16] == ' ' ||
	    block_find(block_load(at + 1), '\n') < BLOCK_SIZE)
		return NULL;
	for (at = from; end - at >= BLOCK_SIZE; at += BLOCK_SIZE) {
		block = block_load(at);
		feed = block_find(block, '\n');
		if (feed < BLOCK_SIZE)
			break;
		hash = hash_u64(block.low ^ hash, block.high + hash);
	}
	if (end - at < BLOCK_SIZE || at + feed <= from || at[(ptrdiff_t)feed - 1] != ')')
		return NULL;
	block = block_head(block, feed);
	line = next_line(sample, (struct slice){from - 17, (size_t)(at + feed - from) + 17}, 17);
	/* callers repeat with their offsets, the innermost frame is anywhere */
	if (sample->nr_lines == 1)
		line->hash = hash_without_offset(from, (size_t)(at + feed - from));
	else
		line->hash = hash_u64(block.low ^ hash, block.high + hash + feed);
	line->hash += sample->is_java;
	sample->is_tabbed = true;
	return at + feed + 1;
}

static bool has_text(struct slice s)
{
	for (size_t i = 0; i < s.size; i++)
		if (s.at[i] != ' ' && s.at[i] != '\t')
			return true;
	return false;
}

/* Counts for the event; false where its samples are left out. */
static bool begin_event(struct textin_fold *fold, struct textin_event *event, uint64_t period)
{
	event->nr_samples++;
	if (!event->is_chosen) {
		fold->report.nr_left_out++;
		fold->state = STATE_SKIP;
		return false;
	}
	fold->now.weight = WEIGHT_ONE;
	if (fold->options.count != COUNT_SAMPLES)
		fold->now.weight = weight_from_u64(period);
	if (fold->options.count == COUNT_TIME)
		fold->now.weight /= 1000;
	fold->state = STATE_HEADER;
	return true;
}

static void begin_again(struct textin_fold *fold, struct textin_header *header)
{
	struct textin_event *event = &fold->events.at[fold->ending_event];

	if (begin_event(fold, event, header->period))
		fold->now.root = cached_root(fold, event->root, header);
}

static void begin_sample(struct textin_fold *fold, struct textin_header *header, struct slice line)
{
	struct slice frame = textin_inline_frame(header->rest);
	const bool is_compat = fold->options.flamegraph_compat;
	struct textin_event *event;

	/* there an event counts only where nothing follows it, as its period does */
	if (is_compat && !frame.size && has_text(header->rest)) {
		header->event.size = 0;
		header->period = 1;
	}
	if (!header->event.size)
		header->event = (struct slice){"", 0};
	event = textin_events_find(&fold->events, fold->folder, header->event);
	if (!is_compat)
		textin_ending_keep(&fold->ending, header, line);
	fold->ending_event = (size_t)(event - fold->events.at);
	if (!begin_event(fold, event, header->period))
		return;
	if (is_compat) {
		textin_header_left(header);
		if (!textin_header_compat(line, header) && !header->pid.size)
			header->pid = (struct slice){"?", 1};
		fold->now.root = compat_root(fold, event->root, header);
		fold->now.is_java = slice_starts(header->comm, "java");
		if (!header->period)
			fold->now.weight = WEIGHT_ONE;
	} else {
		fold->now.root = cached_root(fold, event->root, header);
	}
	if (frame.size) {
		push_frame(fold, frame);
		fold->state = STATE_INLINE;
	}
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

static void read_srcline(struct textin_fold *fold, struct slice line)
{
	struct line *last = &fold->now.lines[fold->now.nr_lines - 1];

	if (last->srcline || !(fold->options.srcline || ends_inlined(line.at, line.size)))
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

/* A line that begins with an address is a frame, or a header without comm. */
static bool is_frame(const struct textin_fold *fold, struct slice line)
{
	const bool is_indented = line.at[0] == ' ' || line.at[0] == '\t';

	return textin_is_address(line) && !(fold->now.is_tabbed && line.at[0] != '\t') &&
	       (is_indented || line.at[line.size - 1] == ')' || is_in_sample(fold)) &&
	       !textin_is_header(line);
}

static bool read_line(struct textin_fold *fold, struct slice line, struct err *err)
{
	const bool is_indented = line.at[0] == ' ' || line.at[0] == '\t';
	const bool in_sample = is_in_sample(fold);
	bool is_header, is_message = false;
	struct textin_header header;

	if (textin_ending_again(&fold->ending, line, fold->options.count != COUNT_SAMPLES,
	                        &header)) {
		if (!end_sample(fold, err))
			return false;
		begin_again(fold, &header);
		return true;
	}
	/* a comm may begin like a comment, "# key : value" */
	if (line.at[0] == '#' &&
	    !(textin_header(line, &header) && (header.has_stamp || line.at[1] != ' '))) {
		read_comment(fold, line);
		return true;
	}
	if (is_frame(fold, line)) {
		if (fold->state == STATE_SKIP)
			return true;
		if (!in_sample) {
			/* no header at all: -F ip,sym,dso */
			header = (struct textin_header){.period = 1, .left = {"", 0}};
			begin_sample(fold, &header, line);
		}
		/* with a call chain below it the address was no frame */
		if (fold->state == STATE_INLINE)
			fold->now.nr_lines = 0;
		push_frame(fold, line);
		fold->now.is_tabbed = line.at[0] == '\t';
		fold->state = STATE_FRAMES;
		return true;
	}
	is_header = textin_header(line, &header);
	/* behind a call chain: registers, addresses, branches */
	if (!header.has_stamp && (line.at[0] == '\t' || (fold->now.is_tabbed && is_indented)))
		is_header = line.at[0] == ' ' && header.event.size && textin_is_header(line);
	if (!(is_header && header.has_stamp) || slice_starts(header.event, "PERF_RECORD_") ||
	    slice_starts(header.rest, "PERF_RECORD_"))
		is_message = textin_message(line, &fold->report.nr_lost);
	/* a record among the lines of a sample ends it */
	if (is_message) {
		if (fold->now.nr_lines && !end_sample(fold, err))
			return false;
		if (fold->state == STATE_NONE)
			fold->state = STATE_MESSAGE;
		return true;
	}
	if (is_header && slice_starts(header.event, "DEFERRED CALLCHAIN")) {
		fold->nr_deferred++;
		if (!end_sample(fold, err))
			return false;
		fold->state = STATE_SKIP;
		return true;
	}
	if (is_header) {
		if (!end_sample(fold, err))
			return false;
		begin_sample(fold, &header, line);
		return true;
	}
	if (fold->state == STATE_SKIP || (fold->state == STATE_MESSAGE && is_indented))
		return true;
	if (in_sample && is_placeholder_frame(line)) {
		push_frame(fold, line);
		fold->state = STATE_FRAMES;
		return true;
	}
	if (in_sample && is_indented) {
		/* source lines, branches, registers: they belong to the frame above */
		if (fold->now.nr_lines)
			read_srcline(fold, line);
		return true;
	}
	/* comm and ids alone are a header too; of other lines nothing is known */
	textin_plain_header(line, &header);
	if (header.tid.size) {
		if (!end_sample(fold, err))
			return false;
		begin_sample(fold, &header, line);
		return true;
	}
	count_bad(fold, line, "neither a sample nor a frame");
	return true;
}

static bool empty_line(struct textin_fold *fold, struct err *err)
{
	/* behind a header it may stand before the frames as well as after none */
	if (fold->state == STATE_HEADER)
		return true;
	return end_sample(fold, err);
}

bool textin_fold_text(struct textin_fold *fold, struct slice text, size_t chunk, uint64_t *nr_lines,
                      struct err *err)
{
	const char *at = text.at, *end = text.at + text.size;

	fold->chunk = chunk;
	fold->nr_lines = 0;
	while (at < end) {
		const char *newline;
		struct slice line;

		fold->nr_lines++;
		if (fold->state == STATE_FRAMES || fold->state == STATE_HEADER) {
			const char *next =
			        fold->options.addresses ? NULL : push_plain(fold, at, end);

			if (LIKELY(next)) {
				fold->state = STATE_FRAMES;
				at = next;
				continue;
			}
		}
		newline = memchr(at, '\n', (size_t)(end - at));
		line = (struct slice){at, (size_t)((newline ? newline : end) - at)};
		at = newline ? newline + 1 : end;
		if (fold->state == STATE_SKIP && line.size && line.at[0] == '\t')
			continue;
		if (line.size && line.at[line.size - 1] == '\r')
			line.size--;
		if (line.size ? !read_line(fold, line, err) : !empty_line(fold, err))
			return false;
	}
	*nr_lines = fold->nr_lines;
	/* nothing of the text is needed any more behind this */
	return end_sample(fold, err) && count_before(fold, err) && count(fold, err);
}

const char *textin_fold_first_event(const struct textin_fold *fold)
{
	return fold->events.first;
}

void textin_fold_follow(struct textin_fold *fold, const char *event)
{
	if (event && !fold->events.first)
		fold->events.first = mem_strdup(event);
}

struct folder *textin_fold_folder(struct textin_fold *fold)
{
	return fold->folder;
}

const struct format_report *textin_fold_report(const struct textin_fold *fold)
{
	return &fold->report;
}

void textin_fold_bad(const struct textin_fold *fold, size_t *chunk, uint64_t *line)
{
	*chunk = fold->bad_chunk;
	*line = fold->bad_line;
}

uint64_t textin_fold_deferred(const struct textin_fold *fold)
{
	return fold->nr_deferred;
}

const struct textin_event *textin_fold_events(const struct textin_fold *fold, size_t *nr)
{
	*nr = fold->events.nr;
	return fold->events.at;
}

const char *textin_fold_machine(const struct textin_fold *fold, size_t i)
{
	return fold->machine[i];
}
