/*
 * pstats.c - statistics of Python's cProfile and profile modules.
 *
 * They hold functions and, for each, its callers: no whole stacks. A function's
 * own time is folded below the caller in which it was spent, "caller;function";
 * what no caller accounts for stands by itself. So all sums of own time are
 * exact, and no stack deeper than the two frames that are known is made up.
 *
 * Values: time (nanoseconds), calls.
 *
 * Source: CPython 3.12, Lib/pstats.py and Lib/cProfile.py: a marshalled
 * dictionary (file, line, name) -> (primitive calls, calls, own time,
 * cumulative time, {caller: (primitive calls, calls, own, cumulative)}).
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/jsontok.h"
#include "collapse/formats/marshal.h"

static int detect(struct slice head, bool is_all UNUSED)
{
	/* a dictionary, its first key a tuple of three, which begins with a string */
	if (head.size < 16 || (head.at[0] & 0x7f) != '{')
		return 0;
	if ((head.at[1] & 0x7f) == ')')
		return head.at[2] == 3 && strchr("sutzZaA", head.at[3] & 0x7f) ? 90 : 0;
	if ((head.at[1] & 0x7f) == '(')
		return memcmp(head.at + 2, "\3\0\0", 4) == 0 &&
		                       strchr("sutzZaA", head.at[6] & 0x7f) ?
		               90 :
		               0;
	return 0;
}

/* [file, line, name] */
static uint32_t take_function(struct json *json, struct folder *folder,
                              const struct format_options *options)
{
	struct buf file_text = {0}, name_text = {0};
	struct slice file = {0}, name = {0};
	int64_t line = 0;
	uint32_t id;

	if (json_array(json)) {
		for (int i = 0; json_item(json); i++) {
			if (i == 0)
				file = json_text(json, &file_text);
			else if (i == 1)
				line = json_index(json);
			else if (i == 2)
				name = json_text(json, &name_text);
			else
				json_skip(json);
		}
	}
	/* built-in functions stand at line 0 of a file "~" */
	id = format_frame(folder, options, name, line > 0 ? file : (struct slice){0}, line);
	buf_release(&file_text);
	buf_release(&name_text);
	return id;
}

/* [primitive, calls, own, cumulative, callers]: calls, or whole nanoseconds of own time. */
static weight_fx take_numbers(struct json *json, bool is_calls, struct slice *callers)
{
	__int128 value, wanted = 0;

	if (!json_array(json))
		return 0;
	for (int i = 0; json_item(json); i++) {
		if (i == 4 && callers)
			*callers = json_take(json);
		else if (i == (is_calls ? 1 : 2) && json_fixed(json, &value))
			wanted = is_calls ? value : value * WEIGHT_ONE;
		else if (i != (is_calls ? 1 : 2))
			json_skip(json);
	}
	return wanted > 0 ? (weight_fx)wanted : 0;
}

static int take_entry(struct json *json, bool is_calls, struct folder *folder,
                      const struct format_options *options, struct format_report *report,
                      struct err *err)
{
	struct slice callers = {0};
	weight_fx left;
	struct json inner;
	uint32_t name;

	if (!json_array(json) || !json_item(json)) {
		format_bad(report, "an entry that is no pair of function and numbers");
		return 0;
	}
	name = take_function(json, folder, options);
	left = json_item(json) ? take_numbers(json, is_calls, &callers) : 0;
	while (json_item(json))
		json_skip(json);
	json_init(&inner, callers);
	if (callers.size && json_array(&inner)) {
		while (json_item(&inner)) {
			weight_fx part;
			uint32_t caller;

			if (!json_array(&inner) || !json_item(&inner))
				continue;
			caller = take_function(&inner, folder, options);
			/* profile.py of old counts calls only: a number in place of the tuple */
			part = json_item(&inner) ? take_numbers(&inner, is_calls, NULL) : 0;
			while (json_item(&inner))
				json_skip(&inner);
			part = MIN_OF(part, left);
			left -= part;
			caller = folder_child(folder, folder_child(folder, 0, caller), name);
			if (!folder_count(folder, caller, part))
				return format_too_large(err);
		}
	}
	return format_count(folder, folder_child(folder, 0, name), left, report, err) ? 0 : -1;
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header, struct format_report *report, struct err *err)
{
	static const char *const values[] = {"time", "calls"};
	struct buf text = {0};
	struct slice bytes;
	struct json json;
	size_t value;
	int result = -1;

	if (format_value(options, values, ARRAY_SIZE(values), 0, &value, err) ||
	    format_whole(in, &bytes, err))
		return -1;
	format_values_note(header, values, ARRAY_SIZE(values));
	format_unit(report, values[value], value ? "calls" : "nanoseconds");
	if (marshal_python(bytes, &text, err) == 0) {
		result = 0;
		json_init(&json, (struct slice){text.at, text.size});
		if (json_array(&json))
			while (!result && json_item(&json))
				result = take_entry(&json, value, folder, options, report, err);
	}
	buf_release(&text);
	return result;
}

const struct format format_pstats = {
        .name = "pstats",
        .about = "Python cProfile statistics (callers only); values: time, calls",
        .detect = detect,
        .parse = parse,
};
