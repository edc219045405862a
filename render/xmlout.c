#include "share/compat.h"
#include "render/xmlout.h"

#include "share/folded.h"

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '&' && c != '<' && c != '>' && c != '"' && c != '\'';
}

static bool is_nonchar(const char *p, size_t size)
{
	return size == 3 && memcmp(p, "\xef\xbf", 2) == 0 && ((unsigned char)p[2] & 0xfe) == 0xbe;
}

void xml_text(struct output *out, const char *text, size_t size)
{
	size_t at = 0;

	while (at < size) {
		size_t run = at, sequence;

		while (run < size && is_plain((unsigned char)text[run]))
			run++;
		output_add(out, text + at, run - at);
		at = run;
		if (at == size)
			break;
		switch (text[at]) {
		case '&':
			output_string(out, "&amp;");
			break;
		case '<':
			output_string(out, "&lt;");
			break;
		case '>':
			output_string(out, "&gt;");
			break;
		case '"':
			output_string(out, "&#34;");
			break;
		case '\'':
			output_string(out, "&#39;");
			break;
		default:
			sequence = utf8_sequence(text + at, size - at);
			if (sequence < 2 || is_nonchar(text + at, sequence)) {
				output_string(out, "\xef\xbf\xbd");
				at += MAX_OF(sequence, 1);
				continue;
			}
			output_add(out, text + at, sequence);
			at += sequence;
			continue;
		}
		at++;
	}
}

/* Marks that belong to the character before them: the common blocks. */
static bool joins(const unsigned char *p, size_t sequence)
{
	uint32_t c = 0;

	if (sequence == 2)
		c = (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
	else if (sequence == 3)
		c = (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
	else if (sequence == 4)
		c = (p[0] & 7u) << 18 | (p[1] & 0x3fu) << 12 | (p[2] & 0x3fu) << 6 | (p[3] & 0x3fu);
	return (c >= 0x300 && c <= 0x36f) || (c >= 0x200b && c <= 0x200f) ||
	       (c >= 0x20d0 && c <= 0x20ff) || (c >= 0xfe00 && c <= 0xfe0f) ||
	       (c >= 0x1f3fb && c <= 0x1f3ff);
}

size_t xml_fit(const char *text, size_t size, size_t columns, size_t *used)
{
	size_t at = 0, column = 0;

	while (at < size) {
		size_t sequence = utf8_sequence(text + at, size - at);
		size_t width = sequence == 1 ? 1 : 2;

		if (sequence > 1 && joins((const unsigned char *)text + at, sequence))
			width = 0;
		if (column + width > columns)
			break;
		column += width;
		at += MAX_OF(sequence, 1);
	}
	if (used)
		*used = column;
	return at;
}
