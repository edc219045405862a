#include "share/compat.h"
#include "render/source.h"

/* in the order in which they refer to each other while they load */
static const char tree_script[] = {
#include "render/flame-tree.js.inc"
};
static const char graph_script[] = {
#include "render/flame-graph.js.inc"
};
static const char page_script[] = {
#include "render/flame-page.js.inc"
};
static const char style[] = {
#include "render/flame.css.inc"
};

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' ||
	       c == '$';
}

/* A "/" behind one of these begins a regular expression; elsewhere it divides. */
static bool begins_regex(char before)
{
	return !before || strchr("(,=:[!&|?{};+-*%<>~^", before);
}

/* The end of the string or regular expression that begins at `at`. */
static size_t literal_end(const char *line, size_t size, size_t at)
{
	char close = line[at];
	bool in_class = false;

	for (at++; at < size; at++) {
		if (line[at] == '\\')
			at++;
		else if (close == '/' && line[at] == '[')
			in_class = true;
		else if (in_class && line[at] == ']')
			in_class = false;
		else if (!in_class && line[at] == close)
			return at + 1;
	}
	return size;
}

void source_squeeze(struct output *out, const char *line, size_t size)
{
	char before = 0; /* the last character written */

	for (size_t at = 0; at < size;) {
		char c = line[at], next = at + 1 < size ? line[at + 1] : 0;
		size_t end = at + 1;

		if (c == '"' || c == '\'' || (c == '/' && begins_regex(before)))
			end = literal_end(line, size, at);
		/*
		 * Two words stay apart, and so do the signs of "a + +b"; "]]>" would
		 * end the CDATA section that the script stands in.
		 */
		if (c == ' ' && !(is_word(before) && is_word(next)) && before != ']' &&
		    !(before == next && (next == '+' || next == '-'))) {
			at++;
			continue;
		}
		output_add(out, line + at, end - at);
		before = line[end - 1];
		at = end;
	}
}

static void put_lines(struct output *out, const char *at, const char *end, bool squeeze)
{
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;

		while (at < stop && *at == '\t')
			at++;
		if (stop > at && !(stop - at >= 2 && at[0] == '/' && at[1] == '/')) {
			if (squeeze)
				source_squeeze(out, at, (size_t)(stop - at));
			else
				output_add(out, at, (size_t)(stop - at));
			/* no statement ends behind these, or it says so itself */
			if (!memchr("{;,([", stop[-1], 5))
				output_add(out, "\n", 1);
		}
		at = stop + 1;
	}
}

void source_script(struct output *out)
{
	/* one function around all of them keeps their names out of the page */
	output_string(out, "(()=>{\"use strict\";");
	put_lines(out, tree_script, tree_script + sizeof(tree_script), true);
	put_lines(out, graph_script, graph_script + sizeof(graph_script), true);
	put_lines(out, page_script, page_script + sizeof(page_script), true);
	output_string(out, "})();");
}

void source_style(struct output *out)
{
	put_lines(out, style, style + sizeof(style), false);
}
