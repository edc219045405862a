/* test_drawing.c - escaping, cutting, colours, figures, the squeezed script. */
#include "share/compat.h"

#include "render/figures.h"
#include "render/nameattr.h"
#include "render/palette.h"
#include "render/palettemap.h"
#include "render/source.h"
#include "render/xmlout.h"

#include <criterion/criterion.h>

Test(drawing, xml_text)
{
	static const struct {
		const char *from, *to;
	} rows[] = {
	        {"plain", "plain"},
	        {"<a & \"b\" 'c'>", "&lt;a &amp; &#34;b&#34; &#39;c&#39;&gt;"},
	        {"]]>", "]]&gt;"},
	        {"a\x1b[0m\x7f", "a\xef\xbf\xbd[0m\xef\xbf\xbd"},
	        {"\xff\xc3(", "\xef\xbf\xbd\xef\xbf\xbd("},
	        {"\xef\xbf\xbe\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
	        {"\xe4\xb8\xad\xf0\x9f\x94\xa5", "\xe4\xb8\xad\xf0\x9f\x94\xa5"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct output out = {.fd = -1};

		xml_string(&out, rows[i].from);
		cr_assert_str_eq(buf_text(&out.buf), rows[i].to, "row %zu", i);
		buf_release(&out.buf);
	}
}

Test(drawing, fit_cuts_between_code_points)
{
	static const struct {
		const char *text;
		size_t columns, fit, used;
	} rows[] = {
	        {"abc", 2, 2, 2},
	        {"abc", 9, 3, 3},
	        {"\xe4\xb8\xad\xe6\x96\x87", 3, 3, 2},
	        {"\xe4\xb8\xad\xe6\x96\x87", 4, 6, 4},
	        {"e\xcc\x81x", 1, 3, 1}, /* the accent stays with its letter */
	        {"\xff\xff", 2, 1, 2},
	        {"", 5, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t used,
		        fit = xml_fit(rows[i].text, strlen(rows[i].text), rows[i].columns, &used);

		cr_assert_eq(fit, rows[i].fit, "row %zu: fit %zu", i, fit);
		cr_assert_eq(used, rows[i].used, "row %zu: used %zu", i, used);
	}
}

Test(drawing, figures_of_time)
{
	static const struct {
		const char *unit;
		uint64_t thousandths;
		const char *text;
	} rows[] = {
	        {"microseconds", 0, "0 us"},
	        {"microseconds", 1, "0.001 us"},
	        {"microseconds", 999999, "999.999 us"},
	        {"microseconds", 1000000, "1.000 ms"},
	        {"microseconds", 30146559, "30.147 ms"},
	        {"microseconds", 1925012186, "1.925 s"},
	        {"microseconds", 86400000000000, "86,400.000 s"},
	        {"nanoseconds", 1500000, "1.500 us"},
	        {"nanoseconds", 1500000000, "1.500 ms"},
	        {"samples", 1500, "1.5"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char out[FIGURE_TEXT];

		figure_count(out, (weight_fx)rows[i].thousandths * (WEIGHT_ONE / 1000),
		             rows[i].unit);
		cr_assert_str_eq(out, rows[i].text, "row %zu: %s", i, out);
	}
}

Test(drawing, waits_are_blue_and_their_kernel_part_apart)
{
	struct slice user = {"read", 4}, kernel = {"read_[k]", 8}, why = {"[sleeping]", 10};
	uint32_t a = palette_colour(PALETTE_WAIT, NULL, user);
	uint32_t b = palette_colour(PALETTE_WAIT, NULL, kernel);
	uint32_t c = palette_colour(PALETTE_HOT, NULL, why);

	/* more blue than red, and blue in a picture of anything */
	cr_assert((a & 0xff) > (a >> 16 & 0xff), "%06x", a);
	cr_assert((b & 0xff) > (b >> 16 & 0xff), "%06x", b);
	cr_assert((c & 0xff) > (c >> 16 & 0xff), "%06x", c);
	/* the kernel's are violet: their red is above their green */
	cr_assert((a >> 16 & 0xff) < (a >> 8 & 0xff), "%06x", a);
	cr_assert((b >> 16 & 0xff) >= (b >> 8 & 0xff), "%06x", b);
}

Test(drawing, figures)
{
	char out[FIGURE_TEXT];

	cr_assert_str_eq(figure_count(out, weight_from_u64(UINT64_MAX), "samples"),
	                 "18,446,744,073,709,551,615");
	cr_assert_str_eq(figure_count(out, weight_from_u64(1234) + WEIGHT_ONE / 2, NULL),
	                 "1,234.5");
	cr_assert_str_eq(figure_percent(out, 1, 3), "33.33%");
	cr_assert_str_eq(figure_percent(out, 2, 3), "66.67%");
	cr_assert_str_eq(
	        figure_percent(out, weight_from_u64(UINT64_MAX), weight_from_u64(UINT64_MAX)),
	        "100.00%");
	cr_assert_str_eq(figure_percent(out, 5, 0), "0.00%");
	cr_assert_str_eq(figure_change(out, weight_from_u64(5), weight_from_u64(2), NULL), "-3");
	cr_assert_str_eq(figure_change(out, 7, 7, NULL), "0");
	cr_assert_str_eq(figure_relative(out, weight_from_u64(2), weight_from_u64(4)), "+100.00%");
	cr_assert_str_eq(figure_relative(out, 0, 4), "new");
	cr_assert_str_eq(figure_relative(out, 4, 0), "gone");
	cr_assert_str_eq(figure_relative(out, 0, 0), "+0.00%");
}

static uint32_t colour(enum palette_kind kind, const char *name)
{
	return palette_colour(kind, NULL, (struct slice){name, strlen(name)});
}

static bool is_green(uint32_t c)
{
	return (c >> 8 & 0xff) > (c >> 16) && (c >> 8 & 0xff) > (c & 0xff);
}

/* sRGB relative luminance and contrast ratio, WCAG 2.1; text is #161616 */
static double contrast(uint32_t c)
{
	double sum = 0;
	static const double share[] = {0.0722, 0.7152, 0.2126};

	for (int i = 0; i < 3; i++) {
		double v = (c >> (8 * i) & 0xff) / 255.0;

		/* a square is below the true curve, so this errs on the strict side */
		sum += share[i] * v * v * v * (v < 0.9 ? 1 / (v + 0.1) : 1);
	}
	return (sum + 0.05) / (0.008 + 0.05);
}

Test(drawing, colours_suit_names_and_dark_text)
{
	static const char *const names[] = {"main",           "a::b",
	                                    "org/x/Y.z_[j]",  "do_sys_open_[k]",
	                                    "f_[i]",          "py::run:/usr/lib/python3/x.py",
	                                    "x.js:3",         "[unknown]",
	                                    "std::vec::push", "lib`f",
	                                    "waker_[w]",      ""};

	for (int kind = 0; kind < PALETTE_NR; kind++)
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			uint32_t c = colour(kind, names[i]);

			cr_assert(contrast(c) >= 4.5, "%s '%s': #%06x, contrast %.1f",
			          palette_names[kind], names[i], c, contrast(c));
			cr_assert_eq(c, colour(kind, names[i]));
		}
	cr_assert(is_green(colour(PALETTE_JAVA, "org/x/Y.z")));
	cr_assert(is_green(colour(PALETTE_BY_TYPE, "f_[j]")));
	cr_assert_not(is_green(colour(PALETTE_BY_TYPE, "f_[k]")));
	cr_assert_eq(colour(PALETTE_HOT, "f_[k]"), colour(PALETTE_HOT, "f"));
	for (int change = -255; change <= 255; change++)
		cr_assert(contrast(palette_change(change)) >= 4.5, "change %d", change);
}

Test(drawing, palette_map)
{
	static const char text[] = "main->rgb(1,2,3)\r\n\n# note\nop->->#abc\nx->#010203";
	struct palette_map map = {0};
	struct err err;
	static const struct {
		const char *text, *reason;
	} bad[] = {{"a->rgb(1,2)", "line 1"},
	           {"a->#12", "line 1"},
	           {"ok->#123\nno", "line 2"},
	           {"a->rgb(256,0,0)", "line 1"}};

	cr_assert_eq(palette_map_read(&map, (struct slice){text, sizeof(text) - 1}, "f", &err), 0);
	cr_assert_eq(palette_colour(PALETTE_HOT, &map, (struct slice){"main_[k]", 8}), 0x010203);
	cr_assert_eq(palette_colour(PALETTE_HOT, &map, (struct slice){"op->", 4}), 0xaabbcc);
	palette_map_release(&map);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct slice s = {bad[i].text, strlen(bad[i].text)};

		cr_assert_eq(palette_map_read(&map, s, "f", &err), -1, "%s", bad[i].text);
		cr_assert(strstr(err.text, bad[i].reason), "%s: %s", bad[i].text, err.text);
		palette_map_release(&map);
	}
}

Test(drawing, links_that_are_taken)
{
	static const struct {
		const char *link;
		bool taken;
	} rows[] = {{"https://x/y:z", true},
	            {"a/b.html?x=1", true},
	            {"#f", true},
	            {"javascript:alert(1)", false},
	            {"JaVaScRiPt:x", false},
	            {"data:text/html,x", false},
	            {" javascript:x", false},
	            {"mailto:a@b", true}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct nameattr a = {0};
		char text[128];
		struct err err;

		snprintf(text, sizeof(text), "f\thref=\"%s\"", rows[i].link);
		nameattr_read(&a, (struct slice){text, strlen(text)}, "file", &err);
		cr_assert_eq(a.entries[0].href != NULL, rows[i].taken, "%s", rows[i].link);
		nameattr_release(&a);
	}
}

Test(drawing, squeezed_script)
{
	static const struct {
		const char *from, *to;
	} rows[] = {
	        {"const a = b + c;", "const a=b+c;"},
	        {"a + +b - -c", "a+ +b- -c"},
	        {"s = \"a  b\" + 'c \\' d';", "s=\"a  b\"+'c \\' d';"},
	        {"x.replace(/a b [/ ]+/g, y) / 2", "x.replace(/a b [/ ]+/g,y)/2"},
	        {"if (a[b[0]] > c) return /x y/;", "if(a[b[0]] >c)return/x y/;"},
	        {"return a in b", "return a in b"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct output out = {.fd = -1};

		source_squeeze(&out, rows[i].from, strlen(rows[i].from));
		cr_assert_str_eq(buf_text(&out.buf), rows[i].to, "row %zu: %s", i,
		                 buf_text(&out.buf));
		buf_release(&out.buf);
	}
}
