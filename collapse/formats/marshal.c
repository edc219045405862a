#include "share/compat.h"
#include "collapse/formats/marshal.h"

#include "share/mem.h"

#include <math.h>

#define NOT_KNOWN SIZE_MAX

/* An object that is still open: what closes it, and what comes next in it. */
struct level {
	char close;
	uint64_t left;    /* values still to come; UINT64_MAX: until the end mark */
	size_t nr;        /* values so far */
	bool is_pairs;    /* Python's dictionary: values alternate, [k,v],[k,v] */
	bool is_object;   /* Ruby's hash: k:v,k:v */
	size_t reference; /* index in references, or NOT_KNOWN */
	size_t start;     /* of its text */
};

struct range {
	size_t start, size;
};

struct marshal {
	const uint8_t *at, *end;
	bool is_bad;
	struct buf *out;
	size_t limit;
	struct level *levels;
	size_t nr_levels, levels_capacity;
	struct range *references;
	size_t nr_references, references_capacity;
	struct slice *symbols; /* Ruby; in the input */
	size_t nr_symbols, symbols_capacity;
};

static uint64_t little_endian(struct marshal *m, size_t size)
{
	uint64_t v = 0;

	if ((size_t)(m->end - m->at) < size) {
		m->is_bad = true;
		m->at = m->end;
		return 0;
	}
	for (size_t i = 0; i < size; i++)
		v |= (uint64_t)m->at[i] << 8 * i;
	m->at += size;
	return v;
}

static struct slice take_bytes(struct marshal *m, uint64_t size)
{
	struct slice bytes = {(const char *)m->at, size};

	if (size > (uint64_t)(m->end - m->at)) {
		m->is_bad = true;
		m->at = m->end;
		return (struct slice){"", 0};
	}
	m->at += size;
	return bytes;
}

static void put_string(struct marshal *m, struct slice text)
{
	buf_char(m->out, '"');
	for (size_t i = 0; i < text.size; i++) {
		unsigned char c = (unsigned char)text.at[i];

		if (c == '"' || c == '\\')
			buf_char(m->out, '\\');
		if (c < 0x20)
			buf_printf(m->out, "\\u%04x", c);
		else
			buf_char(m->out, (char)c);
	}
	buf_char(m->out, '"');
}

static void put_double(struct marshal *m, double value)
{
	if (isfinite(value))
		buf_printf(m->out, "%.17g", value);
	else
		buf_string(m->out, "null");
}

/* A whole number of any size, least significant digit of 2^bits first. */
static void put_big(struct marshal *m, const uint8_t *at, size_t nr, size_t step, unsigned bits,
                    bool is_negative)
{
	unsigned __int128 v = 0;

	for (size_t i = nr; i-- > 0;) {
		uint64_t digit = at[i * step] | (step == 2 ? (uint64_t)at[i * step + 1] << 8 : 0);

		if (v >> 64)
			break;
		v = v << bits | digit;
	}
	if (v >> 64)
		buf_string(m->out, "1e30"); /* too large for any count */
	else
		buf_printf(m->out, "%s%llu", is_negative ? "-" : "", (unsigned long long)v);
}

/* ---- structure, of both languages ---- */

/* What stands between the value before and the next. */
static void put_separator(struct marshal *m)
{
	struct level *level;

	if (!m->nr_levels)
		return;
	level = &m->levels[m->nr_levels - 1];
	if (level->is_pairs && level->nr % 2 == 0)
		buf_string(m->out, level->nr ? "],[" : "[");
	else if (level->is_object && level->nr % 2)
		buf_char(m->out, ':');
	else if (level->nr)
		buf_char(m->out, ',');
	level->nr++;
	if (level->left != UINT64_MAX)
		level->left--;
}

static void open_level(struct marshal *m, char open, char close, uint64_t left, size_t reference)
{
	/* put_separator() was called for the object itself */
	MEM_GROW(m->levels, m->nr_levels, m->levels_capacity);
	m->levels[m->nr_levels++] = (struct level){
	        .close = close, .left = left, .reference = reference, .start = m->out->size};
	if (open)
		buf_char(m->out, open);
}

static size_t new_reference(struct marshal *m)
{
	MEM_GROW(m->references, m->nr_references, m->references_capacity);
	m->references[m->nr_references] = (struct range){NOT_KNOWN, 0};
	return m->nr_references++;
}

static void end_reference(struct marshal *m, size_t reference, size_t start)
{
	if (reference != NOT_KNOWN)
		m->references[reference] = (struct range){start, m->out->size - start};
}

static void put_reference(struct marshal *m, uint64_t index)
{
	struct range range;

	if (index >= m->nr_references) {
		m->is_bad = true;
		return;
	}
	range = m->references[index];
	if (range.start == NOT_KNOWN) { /* an object inside of itself */
		buf_string(m->out, "null");
		return;
	}
	if (range.size > m->limit) {
		m->is_bad = true;
		return;
	}
	buf_reserve(m->out, range.size);
	memcpy(m->out->at + m->out->size, m->out->at + range.start, range.size);
	m->out->size += range.size;
}

static void close_level(struct marshal *m)
{
	struct level *level = &m->levels[m->nr_levels - 1];

	if (level->is_pairs && level->nr)
		buf_char(m->out, ']');
	if (level->close)
		buf_char(m->out, level->close);
	end_reference(m, level->reference, level->start);
	m->nr_levels--;
}

static void close_full_levels(struct marshal *m)
{
	while (m->nr_levels && !m->levels[m->nr_levels - 1].left)
		close_level(m);
}

/* Reads values until the outermost is whole. */
static int transcode(struct marshal *m, void (*value)(struct marshal *m), const char *language,
                     struct err *err)
{
	do {
		value(m);
		close_full_levels(m);
		if (m->out->size > m->limit)
			m->is_bad = true;
	} while (m->nr_levels && !m->is_bad);
	free(m->levels);
	free(m->references);
	free(m->symbols);
	return m->is_bad ? err_set(err, "the %s data is cut or damaged", language) : 0;
}

/* ---- Python ---- */

#define FLAG_REF 0x80

static void python_float_text(struct marshal *m)
{
	struct slice text = take_bytes(m, little_endian(m, 1));
	char number[64];

	snprintf(number, sizeof(number), "%.*s", (int)MIN_OF(text.size, sizeof(number) - 1),
	         text.at);
	put_double(m, strtod(number, NULL));
}

static void python_long(struct marshal *m)
{
	int32_t nr = (int32_t)little_endian(m, 4);
	uint64_t size = (uint64_t)(nr < 0 ? -(int64_t)nr : nr) * 2;
	struct slice digits = take_bytes(m, size);

	put_big(m, (const uint8_t *)digits.at, digits.size / 2, 2, 15, nr < 0);
}

static void python_double(struct marshal *m)
{
	uint64_t bits = little_endian(m, 8);
	double value;

	memcpy(&value, &bits, 8);
	put_double(m, value);
}

static void python_value(struct marshal *m)
{
	uint8_t type = (uint8_t)little_endian(m, 1);
	size_t reference, start;

	if (m->is_bad)
		return;
	if (type == '0') { /* ends a dictionary, in the place of a key */
		struct level *level = m->nr_levels ? &m->levels[m->nr_levels - 1] : NULL;

		if (!level || !level->is_pairs || level->nr % 2)
			m->is_bad = true;
		else
			close_level(m);
		return;
	}
	put_separator(m);
	start = m->out->size;
	/* 't': Python 2 counts its interned strings, and nothing else */
	reference = type & FLAG_REF || type == 't' ? new_reference(m) : NOT_KNOWN;
	switch (type & ~FLAG_REF) {
	case 'N':
	case '.':
	case 'S':
		buf_string(m->out, "null");
		break;
	case 'T':
		buf_string(m->out, "true");
		break;
	case 'F':
		buf_string(m->out, "false");
		break;
	case 'i':
		buf_printf(m->out, "%d", (int32_t)little_endian(m, 4));
		break;
	case 'I':
		buf_printf(m->out, "%lld", (long long)little_endian(m, 8));
		break;
	case 'l':
		python_long(m);
		break;
	case 'f':
		python_float_text(m);
		break;
	case 'g':
		python_double(m);
		break;
	case 's':
	case 't':
	case 'u':
	case 'a':
	case 'A':
		put_string(m, take_bytes(m, little_endian(m, 4)));
		break;
	case 'z':
	case 'Z':
		put_string(m, take_bytes(m, little_endian(m, 1)));
		break;
	case 'r':
	case 'R':
		put_reference(m, little_endian(m, 4));
		break;
	case ')':
		open_level(m, '[', ']', little_endian(m, 1), reference);
		return;
	case '(':
	case '[':
	case '<':
	case '>':
		open_level(m, '[', ']', little_endian(m, 4), reference);
		return;
	case '{':
		open_level(m, '[', ']', UINT64_MAX, reference);
		m->levels[m->nr_levels - 1].is_pairs = true;
		return;
	default:
		m->is_bad = true;
	}
	end_reference(m, reference, start);
}

int marshal_python(struct slice bytes, struct buf *json, struct err *err)
{
	struct marshal m = {.at = (const uint8_t *)bytes.at,
	                    .end = (const uint8_t *)bytes.at + bytes.size,
	                    .out = json,
	                    .limit = (1 << 20) + bytes.size * 16};

	return transcode(&m, python_value, "marshalled Python", err);
}

/* ---- Ruby ---- */

static int64_t ruby_fixnum(struct marshal *m)
{
	int8_t c = (int8_t)little_endian(m, 1);
	uint64_t v;

	if (c == 0)
		return 0;
	if (c > 4)
		return c - 5;
	if (c < -4)
		return c + 5;
	v = little_endian(m, (size_t)(c < 0 ? -c : c));
	return c > 0 ? (int64_t)v : (int64_t)v - ((int64_t)1 << 8 * -c);
}

static uint64_t ruby_size(struct marshal *m)
{
	int64_t size = ruby_fixnum(m);

	if (size < 0)
		m->is_bad = true;
	return size < 0 ? 0 : (uint64_t)size;
}

/* Symbols are remembered by their place in the input: dropped ones count too. */
static void ruby_symbol(struct marshal *m, bool is_dropped)
{
	struct slice text = take_bytes(m, ruby_size(m));

	MEM_GROW(m->symbols, m->nr_symbols, m->symbols_capacity);
	m->symbols[m->nr_symbols++] = text;
	if (!is_dropped)
		put_string(m, text);
}

/* Behind a string: its encoding, as pairs of symbol and value. */
static void ruby_drop_ivars(struct marshal *m)
{
	for (uint64_t nr = ruby_size(m) * 2; nr && !m->is_bad; nr--) {
		switch ((char)little_endian(m, 1)) {
		case ':':
			ruby_symbol(m, true);
			break;
		case ';':
			ruby_size(m);
			break;
		case 'T':
		case 'F':
		case '0':
			break;
		case '"':
			new_reference(m);
			take_bytes(m, ruby_size(m));
			break;
		default:
			m->is_bad = true;
		}
	}
}

static void ruby_value(struct marshal *m)
{
	uint8_t type = (uint8_t)little_endian(m, 1);
	bool has_ivars = false, is_key;
	size_t reference = NOT_KNOWN, start;
	uint64_t nr;

	if (m->is_bad)
		return;
	if (type == 'I') {
		has_ivars = true;
		type = (uint8_t)little_endian(m, 1);
	}
	put_separator(m);
	start = m->out->size;
	is_key = m->nr_levels && m->levels[m->nr_levels - 1].is_object &&
	         m->levels[m->nr_levels - 1].nr % 2;
	if (is_key && strchr("\"@:;", type) == NULL) { /* JSON has strings only */
		if (type != 'i' && type != 'l') {
			m->is_bad = true;
			return;
		}
		buf_char(m->out, '"');
	}
	if (strchr("\"[{}fl", type) && type)
		reference = new_reference(m);
	switch (type) {
	case '0':
		buf_string(m->out, "null");
		break;
	case 'T':
		buf_string(m->out, "true");
		break;
	case 'F':
		buf_string(m->out, "false");
		break;
	case 'i':
		buf_printf(m->out, "%lld", (long long)ruby_fixnum(m));
		break;
	case 'l': {
		bool is_negative = little_endian(m, 1) == '-';
		struct slice digits = take_bytes(m, ruby_size(m) * 2);

		put_big(m, (const uint8_t *)digits.at, digits.size, 1, 8, is_negative);
		break;
	}
	case 'f': {
		struct slice text = take_bytes(m, ruby_size(m));
		char number[64];

		snprintf(number, sizeof(number), "%.*s", (int)MIN_OF(text.size, sizeof(number) - 1),
		         text.at);
		put_double(m, strtod(number, NULL));
		break;
	}
	case '"':
		put_string(m, take_bytes(m, ruby_size(m)));
		break;
	case ':':
		ruby_symbol(m, false);
		break;
	case ';':
		nr = ruby_size(m);
		m->is_bad |= nr >= m->nr_symbols;
		if (!m->is_bad)
			put_string(m, m->symbols[nr]);
		break;
	case '@':
		put_reference(m, ruby_size(m));
		break;
	case '[':
		open_level(m, '[', ']', ruby_size(m), reference);
		return;
	case '{':
	case '}':
		nr = ruby_size(m);
		if (nr > UINT32_MAX) {
			m->is_bad = true;
			return;
		}
		open_level(m, '{', '}', nr * 2, reference);
		m->levels[m->nr_levels - 1].is_object = true;
		return;
	default:
		m->is_bad = true;
	}
	end_reference(m, reference, start + (is_key && type == 'l'));
	if (is_key && (type == 'i' || type == 'l'))
		buf_char(m->out, '"');
	if (has_ivars)
		ruby_drop_ivars(m);
}

int marshal_ruby(struct slice bytes, struct buf *json, struct err *err)
{
	struct marshal m = {.at = (const uint8_t *)bytes.at,
	                    .end = (const uint8_t *)bytes.at + bytes.size,
	                    .out = json,
	                    .limit = (1 << 20) + bytes.size * 16};

	if (!slice_starts(bytes, MARSHAL_RUBY_MAGIC))
		return err_set(err, "no marshalled Ruby data of version 4.8");
	m.at += 2;
	return transcode(&m, ruby_value, "marshalled Ruby", err);
}
