/*
 * v8log.c - the logs that node --prof and d8 --prof write (isolate-*-v8.log).
 *
 * Ticks of the profiler, by stack. Code is created, moved and deleted while
 * they come, so each address is named by what lay there at that moment. Code
 * of V8's own is called "Builtin:NAME" and the like, native code by its library,
 * "[libc.so.6]"; ticks of a collection end in "(garbage collector)".
 *
 * Source: V8 6.0 to 11.3, src/logging/log.cc (code-creation, tick) and the
 * tools that read it, tools/tickprocessor.mjs: fields parted by commas,
 *	code-creation,TYPE,KIND,TIME,ADDRESS,SIZE,NAME[,FUNCTION,STATE]
 *	code-move,FROM,TO   code-delete,ADDRESS
 *	shared-library,NAME,START,END[,SLIDE]
 *	tick,PC,TIME,IS_CALLBACK,CALLBACK_OR_TOP_OF_STACK,VM_STATE[,ADDRESS...]
 * with names in quotes (up to 6.2) or commas written as \x2C. Old logs lack the
 * TIME of code.
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/callers.h"
#include "collapse/formats/codemap.h"
#include "collapse/formats/v8profile.h"
#include "share/num.h"

#define VM_STATE_GC 1

struct v8log {
	struct folder *folder;
	const struct format_options *options;
	struct format_report *report;
	struct err *err;
	uint64_t line;
	struct codemap code;
	struct callers callers;
	struct buf text;
};

static int detect(struct slice head, bool is_all UNUSED)
{
	if (slice_starts(head, "v8-version,"))
		return 100;
	return head_has(head, "\ncode-creation,") && (slice_starts(head, "shared-library,") ||
	                                              slice_starts(head, "code-creation,")) ?
	               90 :
	               0;
}

static int bad(struct v8log *log, const char *what, struct slice line)
{
	format_bad(log->report, "line %llu: %s: %.*s", (unsigned long long)log->line, what,
	           (int)MIN_OF(line.size, (size_t)100), line.at);
	return 0;
}

static bool next_address(struct slice *rest, uint64_t *address)
{
	struct slice field = slice_next_field(rest, ',');

	return num_parse_hex(field.at, field.size, address) == 0;
}

/* ---- names ---- */

/* Code units that \x and \u name; halves of a pair that come one by one are joined. */
static void add_unit(struct buf *text, uint32_t unit, uint32_t *high)
{
	if (unit >= 0xd800 && unit < 0xdc00) {
		*high = unit;
		return;
	}
	if (unit >= 0xdc00 && unit < 0xe000 && *high)
		unit = 0x10000 + ((*high - 0xd800) << 10) + (unit - 0xdc00);
	*high = 0;
	if (unit < 0x80) {
		buf_char(text, (char)unit);
	} else if (unit < 0x800) {
		buf_char(text, (char)(0xc0 | unit >> 6));
		buf_char(text, (char)(0x80 | (unit & 0x3f)));
	} else {
		if (unit < 0x10000) {
			buf_char(text, (char)(0xe0 | unit >> 12));
		} else {
			buf_char(text, (char)(0xf0 | unit >> 18));
			buf_char(text, (char)(0x80 | (unit >> 12 & 0x3f)));
		}
		buf_char(text, (char)(0x80 | (unit >> 6 & 0x3f)));
		buf_char(text, (char)(0x80 | (unit & 0x3f)));
	}
}

/* A name as V8 escapes it, or in quotes as it did before; the rest stays behind it. */
static struct slice next_name(struct v8log *log, struct slice *rest)
{
	bool is_quoted = slice_starts(*rest, "\"");
	size_t at = is_quoted;
	uint32_t high = 0;

	buf_reset(&log->text);
	for (; at < rest->size; at++) {
		char c = rest->at[at];
		size_t digits = 0;
		uint64_t unit;

		if (is_quoted && c == '"') {
			if (at + 1 < rest->size && rest->at[at + 1] == '"') {
				at++;
			} else {
				at++;
				break;
			}
		} else if (!is_quoted && c == ',') {
			break;
		} else if (c == '\\' && at + 1 < rest->size) {
			c = rest->at[++at];
			digits = c == 'x' ? 2 : c == 'u' ? 4 : 0;
			c = c == 'n' ? ' ' : c;
		}
		if (digits && rest->size - at > digits &&
		    num_parse_hex(rest->at + at + 1, digits, &unit) == 0) {
			add_unit(&log->text, (uint32_t)unit, &high);
			at += digits;
		} else {
			buf_char(&log->text, c);
		}
	}
	*rest = slice_from(*rest, at);
	if (rest->size)
		*rest = slice_from(*rest, 1);
	return (struct slice){log->text.at, log->text.size};
}

/* Numbers behind the last colons of "file:12:5": the line, or -1; the place loses them. */
static int64_t cut_line(struct slice *place)
{
	uint64_t line = 0;
	int64_t found = -1;

	for (int i = 0; i < 2; i++) {
		const char *colon = place->size ? memrchr(place->at, ':', place->size) : NULL;
		size_t size = colon ? (size_t)(colon - place->at) : 0;

		if (!colon || num_parse_u64(colon + 1, place->size - size - 1, &line))
			break;
		found = line <= INT32_MAX ? (int64_t)line : -1;
		place->size = size;
	}
	return found;
}

/* "fib /app/fib.js:1:13", " /app/fib.js:1:1" where the function has no name */
static uint32_t script_name(struct v8log *log, struct slice name)
{
	size_t blank = slice_find(name, " ");
	struct slice function = {name.at, blank}, place = slice_from(name, blank + 1);
	int64_t line;

	/* "get size file.js:1:2": names of accessors hold a blank */
	if (slice_equals(function, "get") || slice_equals(function, "set")) {
		size_t next = slice_find(place, " ");

		if (next < place.size) {
			function.size += 1 + next;
			place = slice_from(place, next + 1);
		}
	}
	line = cut_line(&place);
	return v8_frame_name(log->folder, log->options, function, place, line - (line > 0));
}

static bool is_script(struct slice type)
{
	static const char *const types[] = {"JS", "LazyCompile", "Function", "Script", "Eval"};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (slice_equals(type, types[i]))
			return true;
	return false;
}

static int take_code(struct v8log *log, struct slice rest, struct slice line)
{
	struct slice type = slice_next_field(&rest, ','), field, name, size_text;
	uint64_t address, size;
	uint32_t id;

	slice_next_field(&rest, ',');
	field = slice_next_field(&rest, ',');
	if (!slice_starts(field, "0x"))
		field = slice_next_field(&rest, ',');
	size_text = slice_next_field(&rest, ',');
	if (num_parse_hex(field.at, field.size, &address) ||
	    num_parse_u64(size_text.at, size_text.size, &size))
		return bad(log, "code without address and size", line);
	name = next_name(log, &rest);
	if (is_script(type)) {
		id = script_name(log, name);
	} else {
		struct buf full = {0};

		buf_add(&full, type.at, type.size);
		buf_char(&full, ':');
		buf_add(&full, name.at, name.size);
		id = folder_name(log->folder, full.at, full.size);
		buf_release(&full);
	}
	if (size && !codemap_add(&log->code, address, size, id))
		return bad(log, "code at an address that cannot be", line);
	return 0;
}

static int take_library(struct v8log *log, struct slice rest, struct slice line)
{
	struct slice path = next_name(log, &rest), name = path;
	const char *slash = path.size ? memrchr(path.at, '/', path.size) : NULL;
	uint64_t start, end;
	struct buf full = {0};

	if (slash)
		name = slice_from(path, (size_t)(slash + 1 - path.at));
	buf_printf(&full, slice_starts(name, "[") ? "%.*s" : "[%.*s]",
	           (int)MIN_OF(name.size, (size_t)INT32_MAX), name.at);
	if (!next_address(&rest, &start) || !next_address(&rest, &end) || end < start)
		bad(log, "a library without its addresses", line);
	else if (end > start)
		codemap_add(&log->code, start, end - start,
		            folder_name(log->folder, full.at, full.size));
	buf_release(&full);
	return 0;
}

/* ---- ticks ---- */

static void add_frame(struct v8log *log, uint64_t address)
{
	uint32_t name = codemap_find(&log->code, address);

	if (name == CODEMAP_NONE)
		callers_add(&log->callers, log->folder, (struct slice){"[unknown]", 9});
	else
		callers_add(&log->callers, log->folder, strtab_slice(&log->folder->names, name));
}

static int take_tick(struct v8log *log, struct slice rest, struct slice line)
{
	uint64_t pc, callback, state, address;
	struct slice field;
	bool is_callback, is_pc;

	is_pc = next_address(&rest, &pc);
	slice_next_field(&rest, ',');
	field = slice_next_field(&rest, ',');
	is_callback = slice_equals(field, "1");
	if (!next_address(&rest, &callback) || !is_pc)
		return bad(log, "a tick without its address", line);
	field = slice_next_field(&rest, ',');
	if (num_parse_u64(field.at, field.size, &state))
		return bad(log, "a tick without the state of V8", line);
	callers_reset(&log->callers);
	if (state == VM_STATE_GC)
		callers_add(&log->callers, log->folder, (struct slice){"(garbage collector)", 19});
	/* inside of a callback the pc may be anywhere in native code */
	add_frame(log, is_callback ? callback : pc);
	for (address = pc; rest.size;) {
		uint64_t delta;

		field = slice_next_field(&rest, ',');
		if (slice_equals(field, "overflow"))
			continue;
		if (field.size && (*field.at == '+' || *field.at == '-')) {
			if (num_parse_hex(field.at + 1, field.size - 1, &delta))
				return bad(log, "a frame that is no address", line);
			address += *field.at == '+' ? delta : -delta;
			add_frame(log, address);
		} else if (num_parse_hex(field.at, field.size, &delta) == 0) {
			add_frame(log, delta);
		} else {
			return bad(log, "a frame that is no address", line);
		}
	}
	return format_count(log->folder, callers_node(&log->callers, log->folder, 0),
	                    weight_from_u64(1), log->report, log->err) ?
	               0 :
	               -1;
}

static int take_line(struct v8log *log, struct slice line)
{
	struct slice rest = line, kind = slice_next_field(&rest, ',');
	uint64_t from, to;

	if (slice_equals(kind, "tick"))
		return take_tick(log, rest, line);
	if (slice_equals(kind, "code-creation"))
		return take_code(log, rest, line);
	if (slice_equals(kind, "shared-library"))
		return take_library(log, rest, line);
	if (slice_equals(kind, "code-move")) {
		if (!next_address(&rest, &from) || !next_address(&rest, &to))
			return bad(log, "a move without its addresses", line);
		codemap_move(&log->code, from, to);
	} else if (slice_equals(kind, "code-delete")) {
		if (!next_address(&rest, &from))
			return bad(log, "a deletion without its address", line);
		codemap_remove(&log->code, from);
	}
	return 0;
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header UNUSED, struct format_report *report, struct err *err)
{
	struct v8log log = {.folder = folder, .options = options, .report = report, .err = err};
	struct slice line;
	int rc;

	format_unit(report, "tick", "samples");
	while ((rc = input_line(in, &line, err)) > 0) {
		log.line = input_line_number(in);
		if ((rc = take_line(&log, line)) < 0)
			break;
	}
	codemap_release(&log.code);
	callers_release(&log.callers);
	buf_release(&log.text);
	return rc;
}

const struct format format_v8_log = {
        .name = "v8-log",
        .about = "logs of node --prof and d8 --prof",
        .detect = detect,
        .parse = parse,
};
