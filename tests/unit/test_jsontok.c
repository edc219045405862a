/* test_jsontok.c - JSON walked without a tree. */
#include "share/compat.h"

#include "collapse/formats/jsontok.h"
#include "share/mem.h"

#include <criterion/criterion.h>

static struct json over(const char *text)
{
	struct json json;

	json_init(&json, (struct slice){text, strlen(text)});
	return json;
}

Test(jsontok, numbers)
{
	static const struct {
		const char *text, *weight; /* NULL: no number */
	} rows[] = {
	        {"0", "0"},
	        {"12", "12"},
	        {"1.5", "1.5"},
	        {"1.5e3", "1500"},
	        {"2E-3", "0.002"},
	        {"0.0000000004", "0"},
	        {"0.0000000005", "0.000000001"},
	        {"18446744073709551615", "18446744073709551615"},
	        {"18446744073709551616", NULL},
	        {"1e400", NULL},
	        {"1e-400", "0"},
	        {"99999999999999999999999999999999999999999999999999", NULL},
	        {"0.3333333333333333333333333333333333333333333333333333", "0.333333333"},
	        {"123456789.987654321987654321", "123456789.987654322"},
	        {"\"42\"", "42"},
	        {"\"x\"", NULL},
	        {"null", NULL},
	        {"[1]", NULL},
	        {"1x", NULL},
	        {"1.2.3", NULL},
	        {"-", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json json = over(rows[i].text);
		char text[WEIGHT_TEXT];
		__int128 value;
		bool is_number = json_fixed(&json, &value);

		cr_expect_eq(is_number, rows[i].weight != NULL, "%s", rows[i].text);
		if (!is_number || !rows[i].weight)
			continue;
		weight_format(text, (weight_fx)value);
		cr_expect_str_eq(text, rows[i].weight, "%s gives %s", rows[i].text, text);
	}
}

Test(jsontok, indices)
{
	static const struct {
		const char *text;
		int64_t index;
	} rows[] = {
	        {"7,", 7},
	        {"7", 7},
	        {"-1", -1},
	        {"1.5", -1},
	        {"3.0", 3},
	        {"1e2]", 100},
	        {"null", -1},
	        {"9223372036854775807", INT64_MAX},
	        {"9223372036854775808", -1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json json = over(rows[i].text);

		cr_expect_eq(json_index(&json), rows[i].index, "%s", rows[i].text);
	}
}

Test(jsontok, strings)
{
	static const struct {
		const char *text, *value;
	} rows[] = {
	        {"\"plain\"", "plain"},
	        {"\"a\\\"b\\\\\"", "a\"b\\"},
	        {"\"\\n\\t\\/\"", "\n\t/"},
	        {"\"\\u00e9\\ud83d\\ude00\"", "\xc3\xa9\xf0\x9f\x98\x80"},
	        {"\"\\ud83d\"", "\xef\xbf\xbd"},
	        {"\"\\uZZ\"", "\xef\xbf\xbdZZ"},
	        {"12.5", "12.5"},
	        {"true", "true"},
	        {"null", ""},
	        {"{\"a\":1}", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json json = over(rows[i].text);
		struct buf buf = {0};
		struct slice value = json_text(&json, &buf);

		cr_expect(slice_equals(value, rows[i].value), "%s gives %.*s", rows[i].text,
		          (int)value.size, value.at ? value.at : "");
		buf_release(&buf);
	}
}

Test(jsontok, steps_through_what_it_does_not_want)
{
	struct json json =
	        over(" {\"skip\": {\"a\": [1, {\"]}\": \"}\\\"]\"}]}, \"list\": [5 , 6,], "
	             "\"last\": 7}");
	struct slice key;
	int64_t sum = 0, last = 0;

	cr_assert(json_object(&json));
	while (json_key(&json, &key)) {
		if (slice_equals(key, "list")) {
			cr_assert(json_array(&json));
			while (json_item(&json))
				sum += json_index(&json);
		} else if (slice_equals(key, "last")) {
			last = json_index(&json);
		} else {
			json_skip(&json);
		}
	}
	cr_expect_eq(sum, 11);
	cr_expect_eq(last, 7);
	cr_expect_null(json.bad);
}

Test(jsontok, what_is_cut_ends_every_loop)
{
	static const char text[] = "{\"a\": [1, {\"b\": \"text\"}], \"c\": 12.5}";

	/* whatever the length, the walk ends and says so */
	for (size_t size = 0; size < sizeof(text) - 1; size++) {
		struct slice key;
		struct json json;

		json_init(&json, (struct slice){text, size});
		if (json_object(&json))
			while (json_key(&json, &key))
				json_skip(&json);
		cr_expect_not_null(json.bad, "cut at %zu", size);
		cr_expect_leq(json.bad_offset, size);
	}
}

Test(jsontok, depth_costs_nothing)
{
	size_t depth = 1000000;
	char *text = mem_alloc(2 * depth);
	struct json json;

	memset(text, '[', depth);
	memset(text + depth, ']', depth);
	json_init(&json, (struct slice){text, 2 * depth});
	json_skip(&json);
	cr_expect_null(json.bad);
	cr_expect_eq(json.at, json.end);
	free(text);
}
