/* test_join.c - matching the stacks of two sides, and scaling them exactly. */
#include "share/compat.h"

#include "diff/columns.h"
#include "diff/join.h"
#include "diff/scale.h"

#include <criterion/criterion.h>
#include <sys/mman.h>
#include <unistd.h>

static int read_text(struct join *join, enum join_side side, const char *text, struct err *err)
{
	int fd = memfd_create("input", 0);
	char path[32], bad[512];
	struct input *in;
	int rc;

	cr_assert(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	in = input_open(path, 0, err);
	cr_assert(in, "%s", err->text);
	close(fd);
	rc = join_read(join, side, in, bad, sizeof(bad), err);
	input_close(in);
	return rc;
}

/* The two columns of before and after as text, without a header. */
static char *columns(const char *before, const char *after, enum scale_mode mode)
{
	struct canon canon = {.rules = CANON_ALL};
	struct join join;
	struct scale scale;
	struct output out = {.fd = -1};
	struct err err;
	char *text;

	join_init(&join, &canon, 2);
	cr_assert_eq(read_text(&join, JOIN_BEFORE, before, &err), 0, "%s", err.text);
	cr_assert_eq(read_text(&join, JOIN_AFTER, after, &err), 0, "%s", err.text);
	cr_assert_eq(scale_init(&scale, &join, mode, &err), 0, "%s", err.text);
	columns_write(&join, &scale, false, &out);
	text = mem_strdup(buf_text(&out.buf));
	buf_release(&out.buf);
	join_release(&join);
	canon_release(&canon);
	return text;
}

Test(join, rows)
{
	static const struct {
		const char *label, *before, *after, *want;
		enum scale_mode mode;
	} rows[] = {
	        {"plain", "a;b 1\na;c 2\n", "a;b 3\n", "a;b 1 3\na;c 2 0\n", SCALE_NONE},
	        {"repeated lines add up", "a 1\nb 1\na 2\n", "a 1\na 1\n", "a 3 2\nb 1 0\n",
	         SCALE_NONE},
	        {"order of first appearance", "z 1\na 1\n", "m 1\na 1\n", "z 1 0\na 1 1\nm 0 1\n",
	         SCALE_NONE},
	        {"a prefix is a row of its own", "a;b;c 1\na;b 2\na;bc 3\n", "a;b 1\na 1\n",
	         "a;b;c 1 0\na;b 2 1\na;bc 3 0\na 0 1\n", SCALE_NONE},
	        {"empty frames", ";a;;b; 1\n;; 2\n", "a;b 1\n", "a;b 1 1\n[empty] 2 0\n",
	         SCALE_NONE},
	        {"B40 stacks that vanished", "a;x 10\n", "", "a;x 10 0\n", SCALE_TOTAL},
	        {"B40 stacks that appeared", "", "a;x 10\n", "a;x 0 10\n", SCALE_TOTAL},
	        {"both empty", "", "", "", SCALE_TOTAL},
	        {"totals of zero", "a 0\n", "a 0\n", "a 0 0\n", SCALE_TOTAL},
	        {"B42 thirds", "a 1\nb 1\nc 1\n", "a 2\n",
	         "a 0.666666666 2\nb 0.666666667 0\nc 0.666666667 0\n", SCALE_TOTAL},
	        {"B42 whole results stay whole", "a 1\nb 3\n", "a 8\n", "a 2 8\nb 6 0\n",
	         SCALE_TOTAL},
	        {"fractions", "a 0.5\nb 1.5\n", "a 1\n", "a 0.25 1\nb 0.75 0\n", SCALE_TOTAL},
	        {"B45 shown as the after side has it", "f.isra.0 1\n", "f.constprop.3 2\n",
	         "f.constprop.3 1 2\n", SCALE_NONE},
	        {"B45 shown as the before side has it", "f.isra.0 1\n", "", "f.isra.0 1 0\n",
	         SCALE_NONE},
	        {"B45 several names on a side", "w-1;f 1\n", "w-7;f 2\nw-8;f 3\n", "w-*;f 1 5\n",
	         SCALE_NONE},
	        {"threads in the root frame only", "a;w-1 1\n", "a;w-2 1\n",
	         "a;w-1 1 0\na;w-2 0 1\n", SCALE_NONE},
	        {"time: seconds and cpus", "# sampled: 10 s on 2 cpus at 99 Hz\na 100\n",
	         "# sampled: 5 s on 1 cpu at 99 Hz\na 50\n", "a 25 50\n", SCALE_TIME},
	        {"B42 time: one load at two rates",
	         "# unit: samples\n# sampled: 10 s on 2 cpus at 1000 Hz\na 1000\n",
	         "# unit: samples\n# sampled: 10 s on 2 cpus at 100 hz\na 100\n", "a 100 100\n",
	         SCALE_TIME},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *got = columns(rows[i].before, rows[i].after, rows[i].mode);

		cr_expect_str_eq(got, rows[i].want, "%s: %s", rows[i].label, got);
		free(got);
	}
}

Test(join, refusals)
{
	static const struct {
		const char *label, *text, *says;
	} rows[] = {
	        {"no valid line", "hello world\nfoo\n", "no line that is a stack and a count"},
	        {"two columns", "a 1 2\nb 3 4\n", "two columns"},
	        {"declared columns", "# columns: before after\na 1 2\n", "two columns"},
	        {"a recording", "PERFILE2abcdefgh", "a perf.data recording"},
	        {"perf script", "x 1 [000] 1.0: 1 cycles: \n\t  ffff f (d)\n\n",
	         "perf script text"},
	        {"total too large", "a 18446744073709551615\nb 1\n", "add up to 2^64"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct canon canon = {0};
		struct join join;
		struct err err;

		join_init(&join, &canon, 1);
		cr_assert_eq(read_text(&join, JOIN_BEFORE, rows[i].text, &err), -1, "%s",
		             rows[i].label);
		cr_expect(strstr(err.text, rows[i].says), "%s: %s", rows[i].label, err.text);
		join_release(&join);
		canon_release(&canon);
	}
}

Test(scale, muldiv)
{
	const weight_fx big = (weight_fx)1 << 94;

	cr_expect(scale_muldiv(7, 9, 10) == 6);
	cr_expect(scale_muldiv(big, big, big) == big);
	cr_expect(scale_muldiv(big + 1, big - 1, big) == big - 1);
	cr_expect(scale_muldiv(~(weight_fx)0, ~(weight_fx)0, ~(weight_fx)0) == ~(weight_fx)0);
	cr_expect(scale_muldiv(big * 3, 1000, 1500) == big * 2);
	cr_expect(scale_muldiv(((weight_fx)0xdeadbeef << 64) + 12345, ((weight_fx)77 << 64) + 1,
	                       ((weight_fx)77 << 64) + 1) == ((weight_fx)0xdeadbeef << 64) + 12345);
	cr_expect(scale_muldiv(big, big, 3) == ~(weight_fx)0, "does not fit");
}

static uint64_t state = 1;

static uint64_t any(uint64_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % below;
}

/* Whatever the totals, the scaled rows add up to the other total to the last digit. */
Test(scale, B42_sums_are_exact)
{
	for (int round = 0; round < 200; round++) {
		struct canon canon = {0};
		struct join join;
		struct scale scale;
		struct buf text[2] = {{0}, {0}};
		weight_fx sum = 0, slack = 0;
		uint64_t size = round % 3 ? 1000 : UINT64_MAX >> 12;
		struct err err;

		join_init(&join, &canon, 2);
		for (int side = 0; side < 2; side++) {
			for (uint64_t i = 0, nr = 1 + any(300); i < nr; i++)
				buf_printf(&text[side], "f%llu %llu.%09llu\n",
				           (unsigned long long)any(400),
				           (unsigned long long)any(size),
				           (unsigned long long)any(1000000000));
			cr_assert_eq(
			        read_text(&join, (enum join_side)side, buf_text(&text[side]), &err),
			        0, "%s", err.text);
			buf_release(&text[side]);
		}
		cr_assert_eq(scale_init(&scale, &join, SCALE_TOTAL, &err), 0);
		for (size_t i = 0; i < join.nr_stacks; i++) {
			weight_fx weight = columns_sum(&join, i, JOIN_BEFORE);
			weight_fx exact = scale_muldiv(weight, scale.numerator, scale.denominator);
			weight_fx got = scale_next(&scale, weight);

			sum += got;
			slack |= got - exact > 1;
		}
		cr_expect(sum == join.runs[JOIN_AFTER].total, "round %d", round);
		cr_expect(!slack, "round %d: a row is off by a unit or more", round);
		join_release(&join);
		canon_release(&canon);
	}
}
