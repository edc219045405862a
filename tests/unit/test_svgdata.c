/* test_svgdata.c - the data block of pictures: digits and reader. */
#include "share/compat.h"

#include "share/svgdata.h"

#include <criterion/criterion.h>

static int read_text(const char *text, struct buf *out, struct err *err)
{
	buf_reset(out);
	return svgdata_to_folded((struct slice){text, strlen(text)}, out, err);
}

Test(svgdata, rows)
{
	static const struct {
		const char *label, *text, *folded;
	} rows[] = {
	        {"tree",
	         "<svg><metadata id=\"flame-data\">flame-data 1\ncolumns=1\nscale=0\nnames 3\n"
	         "#fff a\n#fff b\n#fff &lt;c>&amp;\nframes 4\n000111223\n</metadata></svg>",
	         "a;b 1\na;<c>& 2\n"},
	        {"fractions, header, newer keys",
	         "<p id=\"flame-data\">flame-data 1\nscale=1\nnew=thing\nh.unit=samples\n"
	         "h.kernel=6.1\nnames 1\n#f a\nframes 2\n00f2\n</p>",
	         "# unit: samples\n# kernel: \"6.1\"\na 1.5\n"},
	        {"two columns",
	         "<p id=\"flame-data\">flame-data 1\ncolumns=2\nnames 1\n#f a\nframes 2\n"
	         "0000122\n</p>",
	         "# columns: before after\na 1 2\n"},
	        {"merged from the leaves",
	         "<p id=\"flame-data\">flame-data 1\nreverse=1\nnames 2\n#f leaf\n#f root\n"
	         "frames 3\n000113\n</p>",
	         "root;leaf 1\n"},
	};
	struct buf out = {0};
	struct err err;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cr_assert_eq(read_text(rows[i].text, &out, &err), 0, "%s: %s", rows[i].label,
		             err.text);
		cr_expect_str_eq(buf_text(&out), rows[i].folded, "%s: %s", rows[i].label,
		                 buf_text(&out));
	}
	buf_release(&out);
}

/* The digits of a number come back as the number: written as a picture's only count. */
Test(svgdata, numbers)
{
	static const uint64_t values[] = {1,         61,       62,         63,
	                                  85,        86,       1549,       1550,
	                                  1551,      12345678, UINT32_MAX, (uint64_t)1 << 53,
	                                  UINT64_MAX};
	struct buf out = {0}, text = {0};
	struct err err;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		char want[64];

		buf_reset(&text);
		buf_string(&text, "<p id=\"flame-data\">flame-data 1\nnames 1\n#f a\nframes 2\n00");
		svgdata_number(&text, values[i]);
		buf_string(&text, "2\n</p>");
		cr_assert_eq(read_text(buf_text(&text), &out, &err), 0, "%s", err.text);
		snprintf(want, sizeof(want), "a %llu\n", (unsigned long long)values[i]);
		cr_expect_str_eq(buf_text(&out), want);
	}
	buf_release(&out);
	buf_release(&text);
}

Test(svgdata, damage)
{
	static const struct {
		const char *label, *text, *says;
	} rows[] = {
	        {"a picture of another tool", "<svg><g/></svg>", "no data of ours"},
	        {"cut", "<p id=\"flame-data\">flame-data 1\n", "ends early"},
	        {"another version", "<p id=\"flame-data\">flame-data 2\n</p>", "damaged"},
	        {"too many names", "<p id=\"flame-data\">flame-data 1\nnames 99\n</p>", "damaged"},
	        {"no such name",
	         "<p id=\"flame-data\">flame-data 1\nnames 1\n#f a\nframes 2\n0711\n</p>",
	         "damaged"},
	        {"frames end early",
	         "<p id=\"flame-data\">flame-data 1\nnames 1\n#f a\nframes 9\n0011\n</p>",
	         "damaged"},
	        {"up beyond the root",
	         "<p id=\"flame-data\">flame-data 1\nnames 1\n#f a\nframes 3\n001901\n</p>",
	         "damaged"},
	};
	struct buf out = {0};
	struct err err;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cr_assert_eq(read_text(rows[i].text, &out, &err), -1, "%s", rows[i].label);
		cr_expect(strstr(err.text, rows[i].says), "%s: %s", rows[i].label, err.text);
	}
	buf_release(&out);
}
