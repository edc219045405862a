#include "share/compat.h"
#include "collapse/formats/textin.h"

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

static struct slice trim(struct slice s)
{
	while (s.size && is_blank(s.at[s.size - 1]))
		s.size--;
	while (s.size && is_blank(*s.at)) {
		s.at++;
		s.size--;
	}
	return s;
}

static struct slice between(const char *from, const char *to)
{
	return (struct slice){from, to > from ? (size_t)(to - from) : 0};
}

/* Cuts the last word off; false where nothing is left. */
static bool cut_last(struct slice *left, struct slice *word)
{
	*left = trim(*left);
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
	return at > word && (at == end || is_blank(*at));
}

/*
 * "seconds.fraction:" between blanks. Six and nine digits are what perf
 * prints; any number of them is taken where nothing better is in the line.
 */
static bool find_stamp(struct slice line, struct slice *stamp)
{
	const char *end = line.at + line.size;
	bool found = false;

	for (const char *dot = line.at; (dot = memchr(dot, '.', (size_t)(end - dot))); dot++) {
		const char *from = dot, *to = dot + 1;

		while (to < end && is_digit(*to))
			to++;
		while (from > line.at && is_digit(from[-1]))
			from--;
		if (to == end || *to != ':' || to == dot + 1 || from == dot ||
		    (from > line.at && !is_blank(from[-1])) || (to + 1 < end && !is_blank(to[1])))
			continue;
		if (!found)
			*stamp = between(from, to + 1);
		found = true;
		if (to - dot == 7 || to - dot == 10) {
			*stamp = between(from, to + 1);
			return true;
		}
	}
	return found;
}

bool textin_has_stamp(struct slice line)
{
	struct slice stamp;

	return find_stamp(line, &stamp);
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

/* The letters of -F misc (perf-script(1)), and guests' numbers. */
static bool is_misc(struct slice word)
{
	if (slice_starts(word, "VM:") || slice_starts(word, "VCPU:"))
		return true;
	for (size_t i = 0; i < word.size; i++)
		if (!strchr("KUHGgMEDSFp", word.at[i]))
			return false;
	return word.size <= 4;
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
		if (is_cpu(word) || trim(left).size)
			before = left;
	}
	header->comm = trim(before);
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

bool textin_header(struct slice line, struct textin_header *header)
{
	struct slice stamp, word, rest;

	*header = (struct textin_header){.period = 1};
	if (find_stamp(line, &stamp)) {
		header->has_stamp = true;
		header->left = between(line.at, stamp.at);
		read_right(between(stamp.at + stamp.size, line.at + line.size), header);
		return true;
	}
	/* no time: "java 19983 cycles:", "app 4242 [000] 100 cycles:u:" */
	rest = line;
	if (!cut_last(&rest, &word) || word.size < 2 || word.at[word.size - 1] != ':' ||
	    !trim(rest).size)
		return false;
	header->event = (struct slice){word.at, word.size - 1};
	line = rest;
	if (cut_last(&rest, &word) && num_parse_u64(word.at, word.size, &header->period) == 0) {
		struct slice before = rest, other;

		/* of two numbers the second is the period; a lone one is the id */
		if (cut_last(&before, &other) && (is_cpu(other) || take_ids(other, header))) {
			header->has_period = true;
			line = rest;
			header->tid = header->pid = (struct slice){NULL, 0};
		} else {
			header->period = 1;
		}
	}
	header->left = line;
	return true;
}

void textin_header_left(struct textin_header *header)
{
	read_left(header->left, header);
}

void textin_plain_header(struct slice line, struct textin_header *header)
{
	*header = (struct textin_header){.period = 1, .left = line};
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

struct slice textin_inline_frame(struct slice rest)
{
	const struct slice none = {NULL, 0};
	const char *end, *arrow;

	if (!rest.size)
		return none;
	end = rest.at + rest.size;
	for (const char *at = rest.at; at < end;) {
		const char *from;

		while (at < end && is_blank(*at))
			at++;
		for (from = at; at < end && !is_blank(*at);)
			at++;
		if (from == at)
			break;
		if (textin_is_address(between(from, at)) && at < end) {
			rest = between(from, end);
			/* a branch: the place it left from is where time was spent */
			arrow = memmem(rest.at, rest.size, " => ", 4);
			return trim(between(rest.at, arrow ? arrow : end));
		}
		if (!is_flag_word(between(from, at)))
			break;
	}
	return none;
}
