#include "share/compat.h"
#include "collapse/formats/textin.h"

#include "collapse/formats/callers.h"
#include "share/num.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

static struct slice between(const char *from, const char *to)
{
	return (struct slice){from, to > from ? (size_t)(to - from) : 0};
}

/* Cuts the last word off; false where nothing is left. */
static bool cut_last(struct slice *left, struct slice *word)
{
	*left = slice_trim(*left);
	word->at = left->at + left->size;
	while (word->at > left->at && !is_blank(word->at[-1]))
		word->at--;
	word->size = left->size - (size_t)(word->at - left->at);
	left->size -= word->size;
	return word->size != 0;
}

bool textin_is_address(struct slice line)
{
	const char *at = line.at, *end = line.at + line.size, *word;

	while (at < end && is_blank(*at))
		at++;
	if (end - at > 2 && at[0] == '0' && at[1] == 'x')
		at += 2;
	for (word = at; at < end && is_hex(*at);)
		at++;
	return at > word && (at == end || *at == ' ');
}

/* "123", "-1", "123/456": ids as perf prints them. */
static bool take_ids(struct slice word, struct textin_header *header)
{
	const char *at = word.at, *end = word.at + word.size, *slash = NULL;

	for (; at < end; at++) {
		if (*at == '/' && !slash && at > word.at && at + 1 < end)
			slash = at;
		else if (!is_digit(*at) && !(*at == '-' && (at == word.at || at[-1] == '/')))
			return false;
	}
	if (end[-1] == '-')
		return false;
	header->pid = slash ? between(word.at, slash) : (struct slice){NULL, 0};
	header->tid = slash ? between(slash + 1, end) : word;
	return true;
}

static bool is_cpu(struct slice word)
{
	if (word.size < 3 || word.at[0] != '[' || word.at[word.size - 1] != ']')
		return false;
	for (size_t i = 1; i + 1 < word.size; i++)
		if (!is_digit(word.at[i]))
			return false;
	return true;
}

/* "2026-11-29", "10:00:00.123456", of -F tod. */
static bool is_time_of_day(struct slice word)
{
	size_t nr_parts = 0;

	for (size_t i = 0; i < word.size; i++) {
		nr_parts += word.at[i] == '-' || word.at[i] == ':';
		if (!is_digit(word.at[i]) && !strchr("-:.T", word.at[i]))
			return false;
	}
	return nr_parts >= 2 && word.size >= 8 && is_digit(word.at[0]);
}

/* The letters of -F misc (perf-script(1)), and the time of day. */
static bool is_misc(struct slice word)
{
	if (is_time_of_day(word))
		return true;
	for (size_t i = 0; i < word.size; i++)
		if (!strchr("KUHGgMEDSFp", word.at[i]))
			return false;
	return word.size <= 4;
}

/* The first "seconds.fraction:" between blanks from `at` on; 0 digits of fraction: none is left. */
static size_t next_stamp(struct slice line, const char *at, struct slice *stamp)
{
	const char *end = line.at + line.size;

	for (const char *dot = at; (dot = memchr(dot, '.', (size_t)(end - dot))); dot++) {
		const char *from = dot, *to = dot + 1;

		while (to < end && is_digit(*to))
			to++;
		while (from > line.at && is_digit(from[-1]))
			from--;
		if (to == end || *to != ':' || to == dot + 1 || from == dot ||
		    (from > line.at && !is_blank(from[-1])) || (to + 1 < end && !is_blank(to[1])))
			continue;
		*stamp = between(from, to + 1);
		return (size_t)(to - dot - 1);
	}
	return 0;
}

/* Nothing but ids, cpu and marks: what stands between a comm and the stamp. */
static bool are_ids(struct slice words)
{
	struct textin_header unused;
	struct slice word;
	bool has_ids = false;

	while (cut_last(&words, &word)) {
		bool is_id = take_ids(word, &unused);

		if (!is_id && !is_cpu(word) && !is_misc(word))
			return false;
		has_ids = has_ids || is_id;
	}
	return has_ids;
}

/*
 * Six and nine digits of fraction are what perf prints; any number of them is
 * taken where nothing better is in the line. The first such is the stamp, but
 * for a comm that looks like one: ids stand between it and the stamp.
 */
static bool find_stamp(struct slice line, struct slice *stamp)
{
	struct slice next = {NULL, 0};
	size_t digits;
	bool found = false, is_sure = false;

	*stamp = next;
	for (const char *at = line.at; (digits = next_stamp(line, at, &next));
	     at = next.at + next.size) {
		bool is_usual = digits == 6 || digits == 9;

		if (is_sure && !(is_usual && are_ids(between(stamp->at + stamp->size, next.at))))
			break;
		if (is_usual || !found)
			*stamp = next;
		found = true;
		is_sure = is_sure || is_usual;
	}
	return found;
}

/* "VM: 1234 VCPU:001 " stands before the comm. */
static struct slice without_guest(struct slice left)
{
	struct slice rest = left, word = slice_next_word(&rest);

	if (!slice_starts(word, "VM:"))
		return left;
	if (word.size == 3)
		slice_next_word(&rest);
	left = rest;
	word = slice_next_word(&rest);
	return slice_trim(slice_starts(word, "VCPU:") ? rest : left);
}

/* From right to left: marks, cpu, ids; what is left is the comm. */
static void read_left(struct slice left, struct textin_header *header)
{
	struct slice word, before = left;

	while (cut_last(&left, &word)) {
		if (take_ids(word, header)) {
			before = left;
			break;
		}
		if (!is_cpu(word) && !is_misc(word))
			break;
		/* "[003]" alone is a cpu, but a comm of one capital letter is no mark */
		if (is_cpu(word) || slice_trim(left).size)
			before = left;
	}
	header->comm = without_guest(slice_trim(before));
}

/* "    250000 cpu-clock:u: " or "cycles: " or "sched:sched_switch: prev_comm=..." */
static void read_right(struct slice right, struct textin_header *header)
{
	const char *at = right.at, *end = right.at + right.size, *from;

	while (at < end && is_blank(*at))
		at++;
	for (from = at; at < end && is_digit(*at);)
		at++;
	if (at > from && at < end && is_blank(*at)) {
		header->has_period = num_parse_u64(from, (size_t)(at - from), &header->period) == 0;
		while (at < end && is_blank(*at))
			at++;
	} else {
		at = from;
	}
	/* old perf has names of two words: "raw 0x1a8:" */
	from = at;
	for (int i = 0; i < 3 && at < end; i++) {
		while (at < end && !is_blank(*at))
			at++;
		if (at > from && at[-1] == ':') {
			header->event = between(from, at - 1);
			header->rest = between(at, end);
			return;
		}
		while (at < end && is_blank(*at))
			at++;
	}
	header->rest = between(from, end);
}

/*
 * Where no call chains were printed the frame stands on the header's own line:
 * its address ends a field of 16 columns, a blank before it.
 */
static bool is_column(struct slice line, struct slice word)
{
	const char *from = word.at;

	while (from > line.at && is_blank(from[-1]))
		from--;
	return word.at + word.size - from >= 17 && word.size <= 16;
}

/* The first such address that is not the first word, or NULL. */
static const char *frame_column(struct slice line)
{
	struct slice left = line, word = slice_next_word(&left);

	while (word.size && (word = slice_next_word(&left)).size)
		if (textin_is_address(word) && is_column(line, word))
			return word.at;
	return NULL;
}

/* Digits alone. */
static bool is_number(struct slice word)
{
	for (size_t i = 0; i < word.size; i++)
		if (!is_digit(word.at[i]))
			return false;
	return word.size > 0;
}

/* How wide the field is that ends with this word, one blank before it left out. */
static size_t field_width(struct slice line, struct slice word)
{
	const char *from = word.at;

	while (from > line.at && is_blank(from[-1]))
		from--;
	return (size_t)(word.at + word.size - from) - (from > line.at);
}

static bool is_id_field(struct slice line, struct slice word)
{
	size_t width = field_width(line, word);

	return width == 5 || width == 7;
}

/*
 * Cuts the period off, where the last word is one. perf pads it to 10 columns
 * and ids to 5 or 7, which tells a lone id behind a comm that ends in a number from
 * an id and a period; others do not pad, and of two numbers the second is the
 * period there.
 */
static void cut_period(struct slice *left, struct textin_header *header)
{
	struct slice rest = *left, word, other;
	bool is_period;

	if (!cut_last(&rest, &word) || !is_number(word))
		return;
	is_period = field_width(*left, word) >= 10;
	if (!is_period && cut_last(&(struct slice){rest.at, rest.size}, &other)) {
		is_period = is_cpu(other) || memchr(other.at, '/', other.size) ?
		                    is_cpu(other) || take_ids(other, header) :
		                    is_number(other) &&
		                            (word.size < 5 || field_width(rest, other) >= 5) &&
		                            !is_id_field(*left, word);
	}
	if (!is_period || num_parse_u64(word.at, word.size, &header->period) < 0)
		return;
	header->has_period = true;
	*left = rest;
}

/* Ids, cpu, marks or a period; an event may stand behind these. */
static bool is_before_event(struct slice words)
{
	struct textin_header unused;
	struct slice word;

	return !cut_last(&words, &word) || is_cpu(word) || take_ids(word, &unused);
}

/* "sched:sched_switch" */
static bool is_tracepoint(struct slice word)
{
	size_t nr_colons = 0;

	for (size_t i = 0; i < word.size; i++) {
		char c = word.at[i];

		if (c == ':')
			nr_colons++;
		else if (!is_digit(c) && !(c >= 'a' && c <= 'z') && c != '_')
			return false;
	}
	return nr_colons == 1 && word.at[0] != ':' && word.at[word.size - 1] != ':';
}

/*
 * Finds the event where the line has no time: "sched:x: fields", or a word
 * that ends in ":" behind ids, or the last one. As with stamps a comm may
 * look like that.
 */
static bool find_event(struct slice line, bool has_frame, struct slice *event)
{
	const char *end = line.at + line.size;
	bool found = false;

	for (const char *at = line.at; (at = memchr(at, ':', (size_t)(end - at))); at++) {
		const char *from = at;
		struct slice before;
		bool is_last;

		if (at + 1 < end && !is_blank(at[1]))
			continue;
		while (from > line.at && !is_blank(from[-1]))
			from--;
		before = between(line.at, from);
		if (from == at || (found && !are_ids(between(event->at + event->size, from))))
			continue;
		is_last = !slice_trim(between(at + 1, end)).size;
		if (is_before_event(before) ? slice_trim(before).size || (is_last && has_frame) :
		                              is_last || is_tracepoint(between(from, at))) {
			*event = between(from, at + 1);
			found = true;
		}
	}
	return found;
}

static bool untimed_header(struct slice line, struct textin_header *header)
{
	const char *end = line.at + line.size, *column = frame_column(line);
	struct slice event, left = between(line.at, column ? column : end);

	if (find_event(left, column, &event)) {
		header->event = between(event.at, event.at + event.size - 1);
		header->rest = between(event.at + event.size, end);
		left = between(line.at, event.at);
	} else if (column) {
		/* with the blanks that make it a column */
		left = slice_trim(left);
		header->rest = between(left.at + left.size, end);
	} else {
		return false;
	}
	cut_period(&left, header);
	header->tid = header->pid = (struct slice){NULL, 0};
	header->left = left;
	return true;
}

bool textin_header(struct slice line, struct textin_header *header)
{
	struct slice stamp;

	*header = (struct textin_header){.period = 1};
	if (!find_stamp(line, &stamp))
		return untimed_header(line, header);
	header->has_stamp = true;
	header->left = between(line.at, stamp.at);
	read_right(between(stamp.at + stamp.size, line.at + line.size), header);
	return true;
}

bool textin_is_header(struct slice line)
{
	struct textin_header header;

	if (line.at[0] == '\t' || !textin_header(line, &header))
		return false;
	if (header.has_stamp || is_tracepoint(header.event) ||
	    textin_inline_frame(header.rest).size)
		return true;
	textin_header_left(&header);
	return header.event.size && header.tid.size;
}

void textin_ending_keep(struct textin_ending *ending, const struct textin_header *header,
                        struct slice line)
{
	struct slice text;

	ending->size = 0;
	if (!header->has_stamp || !header->event.size)
		return;
	text = between(header->event.at - 1, line.at + line.size);
	if (*text.at != ' ' || text.size > sizeof(ending->text) || slice_trim(header->rest).size ||
	    memchr(text.at, '.', text.size))
		return;
	ending->size = text.size;
	memcpy(ending->text, text.at, text.size);
}

bool textin_ending_again(const struct textin_ending *ending, struct slice line, bool with_period,
                         struct textin_header *header)
{
	const char *at = line.at + line.size - ending->size, *from;

	if (!ending->size || line.size <= ending->size ||
	    memcmp(at, ending->text, ending->size) != 0)
		return false;
	for (from = at; from > line.at && is_digit(from[-1]);)
		from--;
	*header = (struct textin_header){.period = 1};
	if (from < at && with_period &&
	    num_parse_u64(from, (size_t)(at - from), &header->period) < 0)
		return false;
	while (from > line.at && from[-1] == ' ')
		from--;
	if (from - line.at < 9 || *--from != ':')
		return false;
	for (at = from; from > line.at && is_digit(from[-1]);)
		from--;
	if ((at - from != 6 && at - from != 9) || from == line.at || *--from != '.')
		return false;
	for (at = from; from > line.at && is_digit(from[-1]);)
		from--;
	if (from == at || from == line.at || from[-1] != ' ')
		return false;
	header->left = (struct slice){line.at, (size_t)(from - line.at)};
	return !memchr(line.at, '.', header->left.size);
}

void textin_header_left(struct textin_header *header)
{
	read_left(header->left, header);
}

void textin_plain_header(struct slice line, struct textin_header *header)
{
	*header = (struct textin_header){.period = 1};
	cut_period(&line, header);
	header->tid = header->pid = (struct slice){NULL, 0};
	header->left = line;
	read_left(line, header);
}

/* The shortest comm that makes its pattern match: "comm blanks digits [/digits] blank". */
bool textin_header_compat(struct slice line, struct textin_header *header)
{
	const char *end = line.at + line.size;

	if (!line.size || is_blank(*line.at))
		return false;
	for (const char *comm_end = line.at + 2; comm_end < end; comm_end++) {
		const char *at = comm_end, *pid, *slash, *tid;

		if (!is_blank(*at))
			continue;
		while (at < end && is_blank(*at))
			at++;
		for (pid = at; at < end && is_digit(*at);)
			at++;
		if (at == pid)
			continue;
		for (slash = at; at < end && *at == '/';)
			at++;
		for (tid = at; at < end && is_digit(*at);)
			at++;
		if (at < end && !is_blank(*at))
			continue;
		/* perl reads lines with their end: what matched last may be that */
		if (at == end)
			return false;
		header->comm = between(line.at, comm_end);
		header->pid =
		        at > tid && tid > slash ? between(pid, slash) : (struct slice){"?", 1};
		header->tid = at > tid && tid > slash ? between(tid, at) : between(pid, slash);
		return true;
	}
	return false;
}

/* The words of -F flags before the address of a branch (perf-script(1)). */
static bool is_flag_word(struct slice word)
{
	static const char *const words[] = {
	        "call",   "return", "jcc",     "jmp",    "int",     "iret", "syscall",
	        "sysret", "async",  "hw",      "tx",     "abrt",    "tr",   "strt",
	        "end",    "start",  "vmentry", "vmexit", "tx_abrt",
	};

	if (word.at[0] == '(')
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (slice_equals(word, words[i]))
			return true;
	return false;
}

/* Where the last module of the line opens: " (/" or " (["; NULL without one. */
static const char *last_module(struct slice line)
{
	const char *at = line.at + line.size;

	while ((at = memrchr(line.at, '(', (size_t)(at - line.at))))
		if (at > line.at && at[-1] == ' ' && at + 1 < line.at + line.size &&
		    (at[1] == '/' || at[1] == '['))
			return at;
	return NULL;
}

/*
 * The address that begins the frame, or NULL. The addresses of data, weights
 * and the like stand before it in columns too, those of data with a symbol and
 * a module of their own: it is the last one before the last module.
 */
static const char *frame_start(struct slice rest, const char *module)
{
	const char *best = NULL;
	struct slice line = slice_trim(rest), left = line, word;
	bool is_leading = line.size && line.at[line.size - 1] == ')';

	while ((word = slice_next_word(&left)).size && !(module && word.at > module)) {
		bool is_address = textin_is_address(word);

		if (is_address && (is_leading || is_column(rest, word))) {
			best = word.at;
			if (!module && is_leading)
				break;
		}
		is_leading = is_leading && (is_address || is_flag_word(word));
	}
	return best;
}

struct slice textin_inline_frame(struct slice rest)
{
	const char *module, *from, *end, *arrow;

	if (!rest.size)
		return rest;
	module = last_module(rest);
	from = frame_start(rest, module);
	end = rest.at + rest.size;
	if (!from)
		return (struct slice){NULL, 0};
	/* a branch: the place it left from is where time was spent */
	arrow = memmem(from, (size_t)(end - from), " => ", 4);
	if (arrow)
		return slice_trim(between(from, arrow));
	/* registers, branches and sizes of pages may follow */
	for (const char *at = module; at && (at = memchr(at, ')', (size_t)(end - at))); at++)
		if (at + 1 == end || is_blank(at[1]))
			return between(from, at + 1);
	return slice_trim(between(from, end));
}
