/* test_verdict.c - nothing is found where nothing changed, and a planted change is. */
#include "share/compat.h"

#include "diff/verdict.h"

#include <criterion/criterion.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_STACKS 20000

/* A real recording: a build of this project (samples/README tells how). */
static struct recording {
	char *stacks[MAX_STACKS];
	unsigned counts[MAX_STACKS];
	size_t nr;
	double total;
} real;

static gsl_rng *rng;

static void read_recording(void)
{
	char path[512];
	struct folded_reader reader;
	struct folded_stack stack;
	struct input *in;
	struct err err;

	snprintf(path, sizeof(path), "%s/samples/build.folded.gz", getenv("TOP") ?: ".");
	in = input_open(path, 0, &err);
	cr_assert(in, "%s", err.text);
	folded_reader_init(&reader, in);
	while (folded_next(&reader, &stack, &err) > 0 && real.nr < MAX_STACKS) {
		real.stacks[real.nr] = mem_strndup(stack.stack.at, stack.stack.size);
		real.counts[real.nr] = (unsigned)(stack.counts[0] / WEIGHT_ONE);
		real.total += real.counts[real.nr++];
	}
	folded_reader_release(&reader);
	input_close(in);
	cr_assert(real.total > 5000);
}

static void setup(void)
{
	rng = gsl_rng_alloc(gsl_rng_mt19937);
	gsl_rng_set(rng, 20);
}

static void teardown(void)
{
	gsl_rng_free(rng);
	for (size_t i = 0; i < real.nr; i++)
		free(real.stacks[i]);
}

TestSuite(verdict, .init = setup, .fini = teardown, .timeout = 120);

static void add_run(struct join *join, enum join_side side, struct buf *text)
{
	int fd = memfd_create("input", 0);
	char path[32], bad[512];
	struct input *in;
	struct err err;

	cr_assert(write(fd, text->at, text->size) == (ssize_t)text->size);
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	in = input_open(path, 0, &err);
	cr_assert(in, "%s", err.text);
	close(fd);
	cr_assert_eq(join_read(join, side, in, bad, sizeof(bad), &err), 0, "%s", err.text);
	input_close(in);
	buf_reset(text);
}

static const struct verdict_row *find_row(const struct verdict *verdict, const char *text)
{
	for (size_t i = 0; i < verdict->nr; i++)
		if (strcmp(verdict->rows[i].text, text) == 0)
			return &verdict->rows[i];
	return NULL;
}

/* How many of 200 random halvings of the real recording have anything to report. */
static int false_alarms(enum verdict_measure measure, int runs)
{
	int alarms = 0;

	for (int round = 0; round < 200; round++) {
		struct canon canon = {.rules = CANON_ALL};
		struct buf text = {0};
		struct join join;
		struct verdict verdict;
		int nr = 2 * runs;
		unsigned *rest = mem_alloc(real.nr * sizeof(*rest));

		memcpy(rest, real.counts, real.nr * sizeof(*rest));
		join_init(&join, &canon, (size_t)nr);
		for (int run = 0; run < nr; run++) {
			for (size_t i = 0; i < real.nr; i++) {
				unsigned part = gsl_ran_binomial(rng, 1.0 / (nr - run), rest[i]);

				rest[i] -= part;
				if (part)
					buf_printf(&text, "%s %u\n", real.stacks[i], part);
			}
			add_run(&join, run < runs ? JOIN_BEFORE : JOIN_AFTER, &text);
		}
		verdict_find(&verdict, &join,
		             (struct verdict_options){.measure = measure, .fdr = 0.05});
		cr_assert_gt(verdict.nr_tested, 50);
		alarms += verdict.nr > 0;
		verdict_release(&verdict);
		join_release(&join);
		canon_release(&canon);
		buf_release(&text);
		free(rest);
	}
	return alarms;
}

Test(verdict, null_holds_by_self)
{
	read_recording();
	cr_expect_leq(false_alarms(VERDICT_SELF, 1), 10);
}

Test(verdict, null_holds_by_total)
{
	read_recording();
	cr_expect_leq(false_alarms(VERDICT_TOTAL, 1), 10);
}

Test(verdict, null_holds_with_three_runs)
{
	read_recording();
	cr_expect_leq(false_alarms(VERDICT_SELF, 3), 10);
}

/* `hot` calls `inner`, and both recurse; the rest is 40 functions. */
#define NR_FLAT 40

static void plant_run(struct buf *text, double samples, double slowdown, double jitter)
{
	for (int i = 0; i < NR_FLAT; i++) {
		double share = (i + 1.0) / (NR_FLAT * (NR_FLAT + 1) / 2) * 0.7;
		double mean = samples * share * exp(gsl_ran_gaussian(rng, jitter) + 1e-12);

		buf_printf(text, "main;flat_%d %u\n", i, gsl_ran_poisson(rng, mean));
	}
	buf_printf(text, "main;hot;hot %u\n",
	           gsl_ran_poisson(rng, samples * 0.2 * slowdown *
	                                        exp(gsl_ran_gaussian(rng, jitter) + 1e-12)));
	buf_printf(
	        text, "main;hot;inner;hot;inner %u\n",
	        gsl_ran_poisson(rng, samples * 0.1 * exp(gsl_ran_gaussian(rng, jitter) + 1e-12)));
}

Test(verdict, planted_slowdown_is_found)
{
	/* hot's own weight grows by 5 %: 20 of 100 become 21 of 101 */
	const double truth = 100 * (21. / 101 - 20. / 100);
	static const struct {
		const char *label;
		size_t runs;
		double samples, jitter;
		enum verdict_test test;
	} rows[] = {
	        {"one run a side", 1, 400000, 0, VERDICT_FISHER},
	        {"five runs a side", 5, 80000, 0.003, VERDICT_WELCH},
	        {"nine runs a side", 9, 40000, 0.01, VERDICT_PERMUTATION},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int found = 0, first = 0, held = 0;

		for (int round = 0; round < 100; round++) {
			struct canon canon = {.rules = CANON_ALL};
			struct buf text = {0};
			struct join join;
			struct verdict verdict;
			const struct verdict_row *row;

			join_init(&join, &canon, 2 * rows[i].runs);
			for (size_t run = 0; run < 2 * rows[i].runs; run++) {
				bool after = run >= rows[i].runs;

				plant_run(&text, rows[i].samples, after ? 1.05 : 1, rows[i].jitter);
				add_run(&join, after ? JOIN_AFTER : JOIN_BEFORE, &text);
			}
			verdict_find(&verdict, &join, (struct verdict_options){.fdr = 0.05});
			cr_assert_eq(verdict.test, rows[i].test, "%s: test %d", rows[i].label,
			             verdict.test);
			cr_assert_eq(verdict.nr_tested, NR_FLAT + 2, "%s", rows[i].label);
			row = find_row(&verdict, "hot");
			if (row) {
				found++;
				first += row == verdict.rows;
				held += row->interval.low <= truth && truth <= row->interval.high;
				cr_assert_eq(row->class, VERDICT_REGRESSION);
				cr_assert_float_eq(row->total[0], 30, 1,
				                   "recursion is counted once: %g", row->total[0]);
				cr_assert_float_eq(row->self[0], 20, 1, "self: %g", row->self[0]);
			}
			verdict_release(&verdict);
			join_release(&join);
			canon_release(&canon);
			buf_release(&text);
		}
		cr_expect_geq(found, 95, "%s: found %d times of 100", rows[i].label, found);
		cr_expect_geq(first, 95, "%s: the first %d times", rows[i].label, first);
		/* 95 of 100 are due: fewer than 89 have a chance of 0.5 % */
		cr_expect_geq(held, 89, "%s: the truth within %d times", rows[i].label, held);
	}
}

struct case_run {
	enum join_side side;
	const char *text;
};

static struct verdict judge(const struct case_run *runs, size_t nr, struct verdict_options options)
{
	struct canon canon = {.rules = CANON_ALL};
	struct verdict verdict;
	struct join join;

	join_init(&join, &canon, nr);
	for (size_t i = 0; i < nr; i++) {
		struct buf text = {0};

		buf_string(&text, runs[i].text);
		add_run(&join, runs[i].side, &text);
		buf_release(&text);
	}
	verdict_find(&verdict, &join, options);
	join_release(&join);
	canon_release(&canon);
	return verdict;
}

Test(verdict, B41_sums_over_callees)
{
	const struct case_run runs[] = {{JOIN_BEFORE, "r;a;b 100\nr;a;c 100\nr;z 800\n"},
	                                {JOIN_AFTER, "r;a;b 0\nr;a;c 400\nr;z 600\n"}};
	struct verdict verdict =
	        judge(runs, 2, (struct verdict_options){.measure = VERDICT_TOTAL, .fdr = 0.05});
	const struct verdict_row *row = find_row(&verdict, "a");

	cr_assert(row);
	cr_expect_float_eq(row->before, 20, 1e-9);
	cr_expect_float_eq(row->after, 40, 1e-9);
	cr_expect_float_eq(row->ratio, 2, 1e-9);
	row = find_row(&verdict, "b");
	cr_assert(row);
	cr_expect_eq(row->class, VERDICT_GONE);
	verdict_release(&verdict);
}

Test(verdict, B42_an_empty_side_has_no_infinities)
{
	static const char *const texts[] = {"", "a 0\n", "a 50\nb 50\n"};

	for (size_t i = 0; i < 3; i++)
		for (size_t j = 0; j < 3; j++)
			for (int mode = SCALE_TOTAL; mode <= SCALE_NONE; mode++) {
				const struct case_run runs[] = {{JOIN_BEFORE, texts[i]},
				                                {JOIN_AFTER, texts[j]}};
				struct verdict verdict =
				        judge(runs, 2,
				              (struct verdict_options){
				                      .mode = (enum scale_mode)mode, .fdr = 1});

				for (size_t k = 0; k < verdict.nr; k++) {
					const struct verdict_row *row = &verdict.rows[k];

					cr_expect(isfinite(row->before) && isfinite(row->after) &&
					                  isfinite(row->interval.low) &&
					                  isfinite(row->interval.high) &&
					                  isfinite(row->q),
					          "%zu %zu %d", i, j, mode);
				}
				verdict_release(&verdict);
			}
}

Test(verdict, periods_are_no_counts)
{
	const struct case_run runs[] = {{JOIN_BEFORE, "# unit: ns\na 1000000\nb 1000000\n"},
	                                {JOIN_AFTER, "# unit: ns\na 1000000\nb 1200000\n"}};
	struct verdict verdict = judge(runs, 2, (struct verdict_options){.fdr = 0.05});

	cr_expect_eq(verdict.test, VERDICT_UNTESTED);
	cr_expect_eq(verdict.nr, 0);
	verdict_release(&verdict);
	/* ten samples against twelve, not a million */
	verdict = judge(runs, 2, (struct verdict_options){.fdr = 0.05, .period = 100000});
	cr_expect_eq(verdict.test, VERDICT_FISHER);
	cr_expect_eq(verdict.nr_tested, 2);
	cr_expect_eq(verdict.nr, 0);
	verdict_release(&verdict);
}

Test(verdict, a_common_period_is_noticed)
{
	struct buf text[2] = {{0}, {0}};
	struct verdict verdict;

	for (int i = 0; i < 30; i++)
		for (int side = 0; side < 2; side++)
			buf_printf(&text[side], "f%d %u\n", i,
			           1001001u * (unsigned)(1 + (i * 7 + side) % 5));
	verdict = judge((struct case_run[]){{JOIN_BEFORE, buf_text(&text[0])},
	                                    {JOIN_AFTER, buf_text(&text[1])}},
	                2, (struct verdict_options){.fdr = 0.05});
	cr_expect(verdict.period_guessed);
	cr_expect_float_eq(verdict.period, 1001001, 0);
	cr_expect_eq(verdict.nr, 0);
	verdict_release(&verdict);
	buf_release(&text[0]);
	buf_release(&text[1]);
}

/* A path stands for the callers that weigh the same, and is not told twice. */
Test(verdict, paths)
{
	const struct case_run runs[] = {{JOIN_BEFORE, "m;a;x 100\nm;b;x 900\n"},
	                                {JOIN_AFTER, "m;a;x 300\nm;b;x 700\n"}};
	struct verdict verdict =
	        judge(runs, 2, (struct verdict_options){.measure = VERDICT_PATH, .fdr = 0.05});

	cr_expect_eq(verdict.nr_rows, 3, "m, m;a;x and m;b;x: %zu", verdict.nr_rows);
	cr_assert_eq(verdict.nr, 2);
	cr_expect_str_eq(verdict.rows[0].text, "m;a;x");
	cr_expect_str_eq(verdict.rows[1].text, "m;b;x");
	verdict_release(&verdict);
}

Test(verdict, new_function_with_three_runs)
{
	const struct case_run runs[] = {
	        {JOIN_BEFORE, "a 1000\n"},      {JOIN_BEFORE, "a 1010\n"},
	        {JOIN_BEFORE, "a 990\n"},       {JOIN_AFTER, "a 1000\nb 50\n"},
	        {JOIN_AFTER, "a 1000\nb 55\n"}, {JOIN_AFTER, "a 1000\nb 45\n"}};
	struct verdict verdict = judge(runs, 6, (struct verdict_options){.fdr = 0.05});
	const struct verdict_row *row = find_row(&verdict, "b");

	cr_assert(row);
	cr_expect_eq(row->class, VERDICT_NEW);
	cr_expect(isinf(row->ratio));
	verdict_release(&verdict);
}
