#include "share/compat.h"
#include "share/folded.h"

#include <stdarg.h>

#define LOOK_AHEAD   ((size_t)1 << 20)
#define QUOTED_BYTES 120

/* ---- header ---- */

void folded_header_release(struct folded_header *header)
{
	for (size_t i = 0; i < header->nr; i++) {
		free(header->fields[i].key);
		free(header->fields[i].value);
	}
	free(header->fields);
	*header = (struct folded_header){0};
}

static struct folded_field *find_field(const struct folded_header *header, const char *key,
                                       size_t size)
{
	for (size_t i = 0; i < header->nr; i++) {
		struct folded_field *field = &header->fields[i];

		if (strlen(field->key) == size && memcmp(field->key, key, size) == 0)
			return field;
	}
	return NULL;
}

const char *folded_header_get(const struct folded_header *header, const char *key)
{
	const struct folded_field *field = find_field(header, key, strlen(key));

	return field ? field->value : NULL;
}

/* Takes the value. */
static void set_field(struct folded_header *header, const char *key, size_t size, char *value)
{
	struct folded_field *field = find_field(header, key, size);

	if (field) {
		free(field->value);
		field->value = value;
		return;
	}
	MEM_GROW(header->fields, header->nr, header->capacity);
	header->fields[header->nr++] = (struct folded_field){mem_strndup(key, size), value};
}

void folded_header_set(struct folded_header *header, const char *key, const char *format, ...)
{
	va_list args;
	char *value;

	va_start(args, format);
	value = mem_vprintf(format, args);
	va_end(args);
	set_field(header, key, strlen(key), value);
}

static void remove_field(struct folded_header *header, struct folded_field *field)
{
	free(field->key);
	free(field->value);
	header->nr--;
	memmove(field, field + 1, (size_t)(header->fields + header->nr - field) * sizeof(*field));
}

static void merge_field(struct folded_header *header, const struct folded_field *other)
{
	struct folded_field *field = find_field(header, other->key, strlen(other->key));
	size_t digits = strspn(other->value, "0123456789."), old_digits;
	weight_fx sum, more;

	if (!field) {
		folded_header_set(header, other->key, "%s", other->value);
		return;
	}
	old_digits = strspn(field->value, "0123456789.");
	if (weight_parse(field->value, old_digits, &sum) == WEIGHT_OK &&
	    weight_parse(other->value, digits, &more) == WEIGHT_OK &&
	    strcmp(field->value + old_digits, other->value + digits) == 0) {
		char text[WEIGHT_TEXT];

		if (other->value[digits] == ' ' && other->value[digits + 1] == '%') {
			if (sum != more)
				remove_field(header, field);
			return;
		}
		if (!weight_add(&sum, more))
			return;
		weight_format(text, sum);
		folded_header_set(header, other->key, "%s%s", text, other->value + digits);
	} else if (strcmp(field->value, other->value) != 0) {
		folded_header_set(header, other->key, "several");
	}
}

void folded_header_remove(struct folded_header *header, const char *key)
{
	struct folded_field *field = find_field(header, key, strlen(key));

	if (field)
		remove_field(header, field);
}

void folded_header_merge(struct folded_header *header, const struct folded_header *other)
{
	for (size_t i = 0; i < other->nr; i++)
		merge_field(header, &other->fields[i]);
}

void folded_header_write(const struct folded_header *header, struct output *out)
{
	struct buf line = {0};

	for (size_t i = 0; i < header->nr; i++) {
		const char *value = header->fields[i].value;
		size_t size = strlen(value);
		bool quote = size && value[size - 1] >= '0' && value[size - 1] <= '9';

		buf_reset(&line);
		buf_printf(&line, "# %s: %s", header->fields[i].key, quote ? "\"" : "");
		for (size_t j = 0; j < size; j++)
			buf_char(&line, (unsigned char)value[j] < 0x20 ? ' ' : value[j]);
		buf_string(&line, quote ? "\"\n" : "\n");
		output_add(out, line.at, line.size);
	}
	buf_release(&line);
}

/* "# key: value" into the header; other comments are passed over. */
static void read_header(struct folded_header *header, struct slice line)
{
	const char *colon;
	struct slice value;

	if (line.size < 2)
		return;
	line.at += 2;
	line.size -= 2;
	colon = memchr(line.at, ':', line.size);
	if (!colon || colon == line.at || colon - line.at > 64)
		return;
	value.at = colon + 1;
	value.size = line.size - (size_t)(value.at - line.at);
	while (value.size && *value.at == ' ') {
		value.at++;
		value.size--;
	}
	if (value.size >= 2 && *value.at == '"' && value.at[value.size - 1] == '"') {
		value.at++;
		value.size -= 2;
	}
	if (header->nr < 256 || find_field(header, line.at, (size_t)(colon - line.at)))
		set_field(header, line.at, (size_t)(colon - line.at),
		          mem_strndup(value.at, value.size));
}

/* ---- reader ---- */

void folded_reader_init(struct folded_reader *reader, struct input *in)
{
	*reader = (struct folded_reader){.in = in};
}

void folded_reader_release(struct folded_reader *reader)
{
	folded_header_release(&reader->header);
	free(reader->bad_text);
	reader->bad_text = NULL;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * "# key: value", whatever the value ends in, where nothing in the line parts
 * frames: other tools write such lines too. Else "#" and no digit at the end.
 */
static bool is_header(struct slice line)
{
	size_t key = 2;

	if (!line.size || line.at[0] != '#' || (line.size > 1 && line.at[1] != ' '))
		return false;
	while (key < line.size && (line.at[key] == '-' || line.at[key] == '_' ||
	                           (line.at[key] >= 'a' && line.at[key] <= 'z')))
		key++;
	if (key > 2 && key + 1 < line.size && line.at[key] == ':' && line.at[key + 1] == ' ' &&
	    !memchr(line.at, ';', line.size))
		return true;
	return !is_digit(line.at[line.size - 1]);
}

static struct slice trim_end(struct slice line)
{
	while (line.size && is_blank(line.at[line.size - 1]))
		line.size--;
	return line;
}

/*
 * Cuts the last blank-separated word off the line. False where there is no
 * blank before it; a line that is nothing but the word stays as it is.
 */
static bool cut_word(struct slice *line, struct slice *word)
{
	struct slice s = trim_end(*line);
	size_t start = s.size;

	while (start && !is_blank(s.at[start - 1]))
		start--;
	if (!start)
		return false;
	*word = (struct slice){s.at + start, s.size - start};
	*line = trim_end((struct slice){s.at, start});
	return true;
}

/* How many counts a line ends in, at most 2; 0 where it is no stack at all. */
static int count_counts(struct slice line)
{
	struct slice word;
	weight_fx ignored;

	for (int nr = 0; nr < 2; nr++)
		if (!cut_word(&line, &word) || !line.size ||
		    weight_parse(word.at, word.size, &ignored) == WEIGHT_NOT_A_NUMBER)
			return nr;
	return 2;
}

/* Text holds few control bytes, random or compressed data one in nine. */
static bool is_binary(struct slice head)
{
	size_t size = MIN_OF(head.size, 65536), nr_control = 0;

	for (size_t i = 0; i < size; i++)
		nr_control += (unsigned char)head.at[i] < ' ' && head.at[i] != '\t' &&
		              head.at[i] != '\n' && head.at[i] != '\r';
	return nr_control > size / 20;
}

static bool is_recording(struct slice head)
{
	return slice_starts(head, "PERFILE2") || slice_starts(head, "2ELIFREP");
}

static int decide_columns(struct folded_reader *reader, struct err *err)
{
	const char *at, *end;
	size_t size;
	uint64_t nr_lines = 0;
	int nr_counts;

	if (input_peek(reader->in, LOOK_AHEAD, &at, &size, err) < 0)
		return -1;
	/* lines that look like stacks turn up by chance in bytes of this kind */
	if (is_recording((struct slice){at, size}))
		return err_set(
		        err,
		        "'%s' is a perf.data recording, not folded stacks; fold it with collapse",
		        input_name(reader->in));
	if (is_binary((struct slice){at, size}))
		return err_set(err, "'%s' is not text, so it cannot be folded stacks",
		               input_name(reader->in));
	reader->nr_columns = 1;
	end = at + size;
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		struct slice line = {at, (size_t)((newline ? newline : end) - at)};

		/* the look-ahead may have cut the last line in two */
		if (!newline && size == LOOK_AHEAD)
			break;
		at = newline ? newline + 1 : end;
		if (line.size && line.at[line.size - 1] == '\r')
			line.size--;
		line = trim_end(line);
		if (is_header(line)) {
			static const char two[] = "# columns: before after";

			if (slice_equals(line, two)) {
				reader->nr_columns = 2;
				return 0;
			}
			continue;
		}
		if (!line.size)
			continue;
		nr_counts = count_counts(line);
		if (nr_counts == 1)
			return 0;
		nr_lines += nr_counts == 2;
	}
	if (nr_lines)
		reader->nr_columns = 2;
	return 0;
}

static void count_bad(struct folded_reader *reader, struct slice line, const char *reason)
{
	const char *at = line.at, *end = at + MIN_OF(line.size, QUOTED_BYTES), *semi;
	struct buf text = {0};

	if (reader->nr_bad++)
		return;
	reader->bad_line = input_line_number(reader->in);
	reader->bad_reason = reason;
	for (; (semi = memchr(at, ';', (size_t)(end - at))); at = semi + 1) {
		if (semi > at)
			folded_clean(&text, at, (size_t)(semi - at));
		buf_char(&text, ';');
	}
	if (end > at)
		folded_clean(&text, at, (size_t)(end - at));
	reader->bad_text = mem_strdup(buf_text(&text));
	buf_release(&text);
}

/* NULL where the line is a stack, else what is wrong with it. */
static const char *read_stack(struct slice line, int nr_columns, struct folded_stack *stack)
{
	stack->counts[0] = stack->counts[1] = 0;
	for (int i = nr_columns - 1; i >= 0; i--) {
		struct slice word;

		if (!cut_word(&line, &word))
			return i ? "it has one number where the file has two" :
			           "it does not end in a blank and a number";
		switch (weight_parse(word.at, word.size, &stack->counts[i])) {
		case WEIGHT_OK:
			break;
		case WEIGHT_NEGATIVE:
			return "its count is negative";
		case WEIGHT_TOO_LARGE:
			return "its count is 2^64 or more";
		case WEIGHT_NOT_A_NUMBER:
			return "it does not end in a number";
		}
	}
	if (!line.size)
		return "it has a number but no stack";
	stack->stack = line;
	return NULL;
}

int folded_next(struct folded_reader *reader, struct folded_stack *stack, struct err *err)
{
	struct slice line;
	int rc;

	if (!reader->nr_columns && decide_columns(reader, err) < 0)
		return -1;
	while ((rc = input_line(reader->in, &line, err)) > 0) {
		const char *reason;

		line = trim_end(line);
		if (!line.size)
			continue;
		if (is_header(line)) {
			read_header(&reader->header, line);
			continue;
		}
		reason = read_stack(line, reader->nr_columns, stack);
		if (!reason) {
			reader->nr_stacks++;
			return 1;
		}
		count_bad(reader, line, reason);
	}
	return rc;
}

const char *folded_looks_like(const char *head, size_t size)
{
	struct slice s = {head, size};

	if (is_recording(s))
		return "a perf.data recording";
	if (slice_starts(s, "\x7f"
	                    "ELF"))
		return "an ELF program";
	if (memmem(head, size, "<svg", 4))
		return "an SVG picture";
	if (slice_starts(s, "{") || slice_starts(s, "["))
		return "JSON";
	/* a sample's header ends in "event:" and its frames are indented addresses */
	if (memmem(head, size, ":\n\t", 3) || memmem(head, size, ": \n\t", 4))
		return "perf script text";
	return NULL;
}

/* ---- writer ---- */

/* Unicode 15, table 3-7: well-formed UTF-8 byte sequences. */
size_t utf8_sequence(const char *text, size_t left)
{
	const unsigned char *p = (const unsigned char *)text;
	unsigned char low = 0x80, high = 0xbf;
	size_t size;

	if (!left)
		return 0;
	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc2 && p[0] <= 0xdf) {
		size = 2;
	} else if (p[0] >= 0xe0 && p[0] <= 0xef) {
		size = 3;
		low = p[0] == 0xe0 ? 0xa0 : 0x80;
		high = p[0] == 0xed ? 0x9f : 0xbf;
	} else if (p[0] >= 0xf0 && p[0] <= 0xf4) {
		size = 4;
		low = p[0] == 0xf0 ? 0x90 : 0x80;
		high = p[0] == 0xf4 ? 0x8f : 0xbf;
	} else {
		return 0;
	}
	if (left < size || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < size; i++)
		if (p[i] < 0x80 || p[i] > 0xbf)
			return 0;
	return size;
}

void folded_clean(struct buf *out, const char *name, size_t size)
{
	size_t at = 0;

	if (!size)
		buf_string(out, "[empty]");
	while (at < size) {
		unsigned char c = (unsigned char)name[at];
		size_t sequence;

		if (c < 0x80) {
			buf_char(out, c == ';' ? ':' : c < 0x20 || c == 0x7f ? ' ' : (char)c);
			at++;
			continue;
		}
		sequence = utf8_sequence(name + at, size - at);
		if (sequence)
			buf_add(out, name + at, sequence);
		else
			buf_string(out, "\xef\xbf\xbd");
		at += sequence ? sequence : 1;
	}
}
