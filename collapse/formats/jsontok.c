#include "share/compat.h"
#include "collapse/formats/jsontok.h"

void json_init(struct json *json, struct slice text)
{
	if (!text.at)
		text.at = "";
	*json = (struct json){text.at, text.at + text.size, text.at, NULL, 0};
	if (slice_starts(text, "\xef\xbb\xbf"))
		json->at += 3;
}

static void set_bad(struct json *json, const char *why)
{
	if (!json->bad) {
		json->bad = why;
		json->bad_offset = (size_t)(json->at - json->start);
	}
	json->at = json->end;
}

static inline bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* To the next byte that is no blank, and over commas and colons between values. */
static inline char next_byte(struct json *json)
{
	while (json->at < json->end &&
	       (is_blank(*json->at) || *json->at == ',' || *json->at == ':'))
		json->at++;
	return json->at < json->end ? *json->at : 0;
}

char json_peek(struct json *json)
{
	char c = next_byte(json);

	return c == '}' || c == ']' ? 0 : c;
}

/* From the opening quote to behind the closing one; *has_escapes where not NULL. */
static struct slice raw_string(struct json *json, bool *has_escapes)
{
	const char *start = json->at + 1, *p = start;

	for (;;) {
		const char *quote = memchr(p, '"', (size_t)(json->end - p)), *back;

		if (!quote) {
			set_bad(json, "a string without end");
			return (struct slice){"", 0};
		}
		/* an odd number of backslashes before it makes the quote part of the text */
		for (back = quote; back > start && back[-1] == '\\'; back--)
			;
		if ((quote - back) % 2 == 0) {
			struct slice text = {start, (size_t)(quote - start)};

			if (has_escapes)
				*has_escapes = text.size && memchr(text.at, '\\', text.size);
			json->at = quote + 1;
			return text;
		}
		p = quote + 1;
	}
}

static struct slice raw_word(struct json *json)
{
	const char *start = json->at;

	while (json->at < json->end && !is_blank(*json->at) && *json->at != ',' &&
	       *json->at != '}' && *json->at != ']' && *json->at != ':' && *json->at != '"' &&
	       *json->at != '{' && *json->at != '[')
		json->at++;
	return (struct slice){start, (size_t)(json->at - start)};
}

/* What ends or changes a run of plain bytes outside of strings. */
static const uint8_t is_structure[256] = {['"'] = 1, ['{'] = 1, ['['] = 1, ['}'] = 1, [']'] = 1};

static void skip_nested(struct json *json)
{
	size_t depth = 0;

	while (json->at < json->end) {
		while (json->at < json->end && !is_structure[(uint8_t)*json->at])
			json->at++;
		if (json->at == json->end)
			break;
		switch (*json->at) {
		case '"':
			raw_string(json, NULL);
			continue;
		case '{':
		case '[':
			depth++;
			break;
		default:
			depth--;
		}
		json->at++;
		if (!depth)
			return;
	}
	set_bad(json, "the text ends inside of a value");
}

void json_skip(struct json *json)
{
	switch (next_byte(json)) {
	case '{':
	case '[':
		skip_nested(json);
		break;
	case '"':
		raw_string(json, NULL);
		break;
	case '}':
	case ']':
		break; /* a key without a value: the end belongs to the caller */
	case 0:
		set_bad(json, "the text ends where a value is due");
		break;
	default:
		raw_word(json);
	}
}

static bool step_into(struct json *json, char bracket)
{
	if (next_byte(json) == bracket) {
		json->at++;
		return true;
	}
	json_skip(json);
	return false;
}

bool json_object(struct json *json)
{
	return step_into(json, '{');
}

bool json_array(struct json *json)
{
	return step_into(json, '[');
}

bool json_key(struct json *json, struct slice *key)
{
	switch (next_byte(json)) {
	case '"':
		*key = raw_string(json, NULL);
		return !json->bad;
	case '}':
		json->at++;
		return false;
	case 0:
		set_bad(json, "the text ends inside of an object");
		return false;
	default:
		set_bad(json, "something other than a key in an object");
		return false;
	}
}

bool json_item(struct json *json)
{
	switch (next_byte(json)) {
	case ']':
		json->at++;
		return false;
	case 0:
		set_bad(json, "the text ends inside of an array");
		return false;
	case '}':
		set_bad(json, "'}' in an array");
		return false;
	default:
		return true;
	}
}

struct slice json_take(struct json *json)
{
	const char *start;

	next_byte(json);
	start = json->at;
	json_skip(json);
	return (struct slice){start, (size_t)(json->at - start)};
}

/* ---- strings ---- */

static bool hex4(const char *p, const char *end, uint32_t *value)
{
	*value = 0;
	if (end - p < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		char c = p[i];
		int digit = c >= '0' && c <= '9' ? c - '0' :
		            c >= 'a' && c <= 'f' ? c - 'a' + 10 :
		            c >= 'A' && c <= 'F' ? c - 'A' + 10 :
		                                   -1;

		if (digit < 0)
			return false;
		*value = *value << 4 | (uint32_t)digit;
	}
	return true;
}

static void add_code_point(struct buf *buf, uint32_t c)
{
	if (c < 0x80) {
		buf_char(buf, (char)c);
	} else if (c < 0x800) {
		buf_char(buf, (char)(0xc0 | c >> 6));
		buf_char(buf, (char)(0x80 | (c & 0x3f)));
	} else if (c < 0x10000) {
		buf_char(buf, (char)(0xe0 | c >> 12));
		buf_char(buf, (char)(0x80 | (c >> 6 & 0x3f)));
		buf_char(buf, (char)(0x80 | (c & 0x3f)));
	} else {
		buf_char(buf, (char)(0xf0 | c >> 18));
		buf_char(buf, (char)(0x80 | (c >> 12 & 0x3f)));
		buf_char(buf, (char)(0x80 | (c >> 6 & 0x3f)));
		buf_char(buf, (char)(0x80 | (c & 0x3f)));
	}
}

/* p stands behind "\u"; returns where reading goes on. */
static const char *unescape_unicode(const char *p, const char *end, struct buf *buf)
{
	uint32_t c, low;

	if (!hex4(p, end, &c)) {
		add_code_point(buf, 0xfffd);
		return p;
	}
	p += 4;
	if (c >= 0xd800 && c < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u' &&
	    hex4(p + 2, end, &low) && low >= 0xdc00 && low < 0xe000) {
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		p += 6;
	}
	add_code_point(buf, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
	return p;
}

static struct slice unescape(struct slice raw, struct buf *buf)
{
	const char *p = raw.at, *end = raw.at + raw.size;

	buf_reset(buf);
	while (p < end) {
		if (*p != '\\' || p + 1 == end) {
			buf_char(buf, *p++);
			continue;
		}
		p += 2;
		switch (p[-1]) {
		case 'n':
			buf_char(buf, '\n');
			break;
		case 't':
			buf_char(buf, '\t');
			break;
		case 'r':
			buf_char(buf, '\r');
			break;
		case 'b':
			buf_char(buf, '\b');
			break;
		case 'f':
			buf_char(buf, '\f');
			break;
		case 'u':
			p = unescape_unicode(p, end, buf);
			break;
		default:
			buf_char(buf, p[-1]);
		}
	}
	return (struct slice){buf->at, buf->size};
}

struct slice json_text(struct json *json, struct buf *buf)
{
	struct slice text;
	bool has_escapes = false;

	switch (json_peek(json)) {
	case '"':
		text = raw_string(json, &has_escapes);
		return has_escapes ? unescape(text, buf) : text;
	case '{':
	case '[':
	case 0:
		json_skip(json);
		return (struct slice){0};
	default:
		text = raw_word(json);
		return slice_equals(text, "null") ? (struct slice){0} : text;
	}
}

/* ---- numbers ---- */

static bool fixed_of(struct slice text, __int128 *value)
{
	const __int128 limit = (__int128)weight_from_u64(UINT64_MAX);
	const char *p = text.at, *end = p + text.size;
	bool is_negative = p < end && *p == '-', has_digits = false;
	int places = 0, exponent = 0; /* digits behind the point so far */
	__int128 v = 0;

	p += is_negative;
	for (bool behind = false; p < end; p++) {
		if (*p == '.' && !behind) {
			behind = true;
			continue;
		}
		if (*p < '0' || *p > '9')
			break;
		has_digits = true;
		/* 38 digits fit; those that can no longer matter are dropped */
		if (v > limit * 1000) {
			places -= !behind;
			continue;
		}
		v = v * 10 + (*p - '0');
		places += behind;
	}
	if (!has_digits)
		return false;
	if (p < end && (*p == 'e' || *p == 'E')) {
		bool below = ++p < end && *p == '-';

		for (p += p < end && (*p == '-' || *p == '+'); p < end && *p >= '0' && *p <= '9';
		     p++)
			exponent = MIN_OF(exponent * 10 + (*p - '0'), 10000);
		exponent = below ? -exponent : exponent;
	}
	if (p < end)
		return false;
	exponent += 9 - places;
	for (; exponent > 0 && v; exponent--) {
		if (v > limit)
			return false;
		v *= 10;
	}
	for (; exponent < -1 && v; exponent++)
		v /= 10;
	if (exponent == -1)
		v = (v + 5) / 10;
	if (v > limit)
		return false;
	*value = is_negative ? -v : v;
	return true;
}

bool json_fixed(struct json *json, __int128 *value)
{
	char c = json_peek(json);

	*value = 0;
	if (c == '"')
		return fixed_of(raw_string(json, NULL), value);
	if (c == '{' || c == '[' || !c) {
		json_skip(json);
		return false;
	}
	return fixed_of(raw_word(json), value);
}

int64_t json_index(struct json *json)
{
	const char *p;
	int64_t v = 0;
	__int128 value;

	next_byte(json);
	/* nearly all are short runs of digits */
	for (p = json->at; p < json->end && *p >= '0' && *p <= '9' && p - json->at < 18; p++)
		v = v * 10 + (*p - '0');
	if (p > json->at && p < json->end &&
	    (*p == ',' || *p == ']' || *p == '}' || is_blank(*p))) {
		json->at = p;
		return v;
	}
	if (!json_fixed(json, &value) || value < 0 || value % WEIGHT_ONE ||
	    value / WEIGHT_ONE > INT64_MAX)
		return -1;
	return (int64_t)(value / WEIGHT_ONE);
}
