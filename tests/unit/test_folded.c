/* test_folded.c - the folded grammar. */
#include "share/compat.h"

#include "share/folded.h"

#include <criterion/criterion.h>
#include <sys/mman.h>
#include <unistd.h>

static struct input *input_of(const char *text)
{
	int fd = memfd_create("input", 0);
	char path[32];
	struct err err;
	struct input *in;

	cr_assert(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	in = input_open(path, 0, &err);
	cr_assert(in, "%s", err.text);
	close(fd);
	return in;
}

Test(folded, rows)
{
	static const struct {
		const char *label, *text, *stack, *first, *second;
		int nr_columns;
		uint64_t nr_stacks, nr_bad;
	} rows[] = {
	        {"plain", "a;b 1\n", "a;b", "1", "0", 1, 1, 0},
	        {"no newline at the end", "a;b 1", "a;b", "1", "0", 1, 1, 0},
	        {"B18 CRLF", "a;b 1\r\n", "a;b", "1", "0", 1, 1, 0},
	        {"two columns", "a;b 1 2\nc 3 4\n", "a;b", "1", "2", 2, 2, 0},
	        {"name ends in digits", "thread 7 12\nx 1\n", "thread 7", "12", "0", 1, 2, 0},
	        {"declared columns", "# columns: before after\na 1 2\n", "a", "1", "2", 2, 1, 0},
	        {"B33 fraction", "a;b 1.5\n", "a;b", "1.5", "0", 1, 1, 0},
	        {"beyond double", "a 9007199254740993\n", "a", "9007199254740993", "0", 1, 1, 0},
	        {"B33 exponent is bad", "a 1e3\nb 1\n", "b", "1", "0", 1, 1, 1},
	        {"negative is bad", "a -1\nb 1\n", "b", "1", "0", 1, 1, 1},
	        {"too large is bad", "a 18446744073709551616\nb 1\n", "b", "1", "0", 1, 1, 1},
	        {"a foreign header", "# duration: 1855785\na 1\n", "a", "1", "0", 1, 1, 0},
	        {"a root that looks like one", "# x: y;a 2\n", "# x: y;a", "2", "0", 1, 1, 0},
	        {"header is no stack", "# event: cycles\na 1\n", "a", "1", "0", 1, 1, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct input *in = input_of(rows[i].text);
		struct folded_reader reader;
		struct folded_stack stack;
		char number[WEIGHT_TEXT];
		struct err err;

		folded_reader_init(&reader, in);
		cr_assert_eq(folded_next(&reader, &stack, &err), 1, "%s", rows[i].label);
		cr_assert(slice_equals(stack.stack, rows[i].stack), "%s", rows[i].label);
		weight_format(number, stack.counts[0]);
		cr_assert_str_eq(number, rows[i].first, "%s", rows[i].label);
		weight_format(number, stack.counts[1]);
		cr_assert_str_eq(number, rows[i].second, "%s", rows[i].label);
		while (folded_next(&reader, &stack, &err) == 1)
			;
		cr_assert_eq(reader.nr_columns, rows[i].nr_columns, "%s", rows[i].label);
		cr_assert_eq(reader.nr_stacks, rows[i].nr_stacks, "%s", rows[i].label);
		cr_assert_eq(reader.nr_bad, rows[i].nr_bad, "%s", rows[i].label);
		folded_reader_release(&reader);
		input_close(in);
	}
}

Test(folded, clean_names)
{
	static const struct {
		const char *label, *name, *clean;
	} rows[] = {
	        {"B5 semicolon", "[u8; 4]", "[u8: 4]"},
	        {"B30 control", "f\x1b[0m", "f [0m"},
	        {"B19 not UTF-8", "\xad\xff", "\xef\xbf\xbd\xef\xbf\xbd"},
	        {"UTF-8 stays", "\xe4\xb8\xad", "\xe4\xb8\xad"},
	        {"empty", "", "[empty]"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf out = {0};

		folded_clean(&out, rows[i].name, strlen(rows[i].name));
		cr_assert_str_eq(buf_text(&out), rows[i].clean, "%s", rows[i].label);
		buf_release(&out);
	}
}

Test(folded, headers_merge)
{
	struct folded_header a = {0}, b = {0};

	folded_header_set(&a, "lost", "3 records");
	folded_header_set(&b, "lost", "4 records");
	folded_header_set(&a, "sampled", "5.01 s on 2 cpus at 99 Hz");
	folded_header_set(&b, "sampled", "1.5 s on 2 cpus at 99 Hz");
	folded_header_set(&a, "unresolved", "1.2 %% of samples");
	folded_header_set(&b, "unresolved", "3.4 %% of samples");
	folded_header_set(&a, "unit", "samples");
	folded_header_set(&b, "unit", "samples");
	folded_header_set(&a, "host", "one");
	folded_header_set(&b, "host", "two");
	folded_header_set(&b, "throttled", "7 times");
	folded_header_merge(&a, &b);
	cr_expect_str_eq(folded_header_get(&a, "lost"), "7 records");
	cr_expect_str_eq(folded_header_get(&a, "sampled"), "6.51 s on 2 cpus at 99 Hz");
	cr_expect_null(folded_header_get(&a, "unresolved"));
	cr_expect_str_eq(folded_header_get(&a, "unit"), "samples");
	cr_expect_str_eq(folded_header_get(&a, "host"), "several");
	cr_expect_str_eq(folded_header_get(&a, "throttled"), "7 times");
	folded_header_release(&a);
	folded_header_release(&b);
}
