/* test_stats.c - tests and intervals against published values. */
#include "share/compat.h"

#include "diff/stats.h"

#include <criterion/criterion.h>
#include <math.h>

#define NEAR(got, want, slack, label)                                                              \
	cr_expect(fabs((got) - (want)) <= (slack), "%s: %.9g, not %.9g", label, (double)(got),     \
	          (double)(want))

TestSuite(stats, .init = stats_init);

/* Fisher, The Design of Experiments, 1935: the lady tasting tea, 3 of 4 right. */
Test(stats, fisher)
{
	NEAR(stats_fisher(1, 4, 3, 4), 2 * 17. / 70, 1e-12, "tea");
	NEAR(stats_fisher(0, 4, 4, 4), 2 * 1. / 70, 1e-12, "tea, all right");
	NEAR(stats_fisher(5, 100, 5, 100), 1, 1e-12, "equal");
	NEAR(stats_fisher(0, 0, 5, 100), 1, 0, "an empty side");
	NEAR(stats_fisher(0, 10, 0, 10), 1, 0, "never seen");
	NEAR(stats_fisher(10, 10, 10, 10), 1, 0, "always seen");
	/* the exact and the approximate branch meet */
	NEAR(stats_fisher(100000000, 499999999, 100040000, 499999999) /
	             stats_fisher(100000001, 500000001, 100040001, 500000001),
	     1, 2e-3, "across the limit");
}

/* Given 3 and 17 events in equal times: binomial(20, 1/2), twice P(X <= 3). */
Test(stats, poisson)
{
	NEAR(stats_poisson(3, 17, 1), 2 * 1351. / 1048576, 1e-12, "equal times");
	NEAR(stats_poisson(10, 20, 2), 1, 0.2, "twice as long");
	NEAR(stats_poisson(0, 0, 1), 1, 0, "nothing");
}

/*
 * Newcombe, Statistics in Medicine 17, 1998, table II: 56/70 and 48/80 give a
 * difference of 0.2 with limits 0.0524 and 0.3339; 9/10 and 3/10 give 0.1705
 * and 0.8090; 0/10 and 0/20 give -0.2775 and 0.1611 (as first minus second).
 */
Test(stats, newcombe)
{
	static const struct {
		double x1, n1, x2, n2, low, high;
	} rows[] = {
	        {56, 70, 48, 80, 0.0524, 0.3339}, {9, 10, 3, 10, 0.1705, 0.8090},
	        {6, 7, 2, 7, 0.0582, 0.8062},     {5, 56, 0, 29, -0.0381, 0.1926},
	        {10, 10, 0, 20, 0.6791, 1.0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct stats_interval got = stats_difference(
		        rows[i].x2 / rows[i].n2, stats_wilson(rows[i].x2, rows[i].n2, 0.95),
		        rows[i].x1 / rows[i].n1, stats_wilson(rows[i].x1, rows[i].n1, 0.95));

		NEAR(got.low, rows[i].low, 6e-5, "low");
		NEAR(got.high, rows[i].high, 6e-5, "high");
	}
}

/* The sleep data of Student, Biometrika 6, 1908: t = -1.8608, df = 17.776, p = 0.07939. */
Test(stats, welch)
{
	static const double a[] = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
	static const double b[] = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};
	struct stats_mean x = stats_mean_of(a, 10), y = stats_mean_of(b, 10);
	struct stats_interval interval = stats_welch_interval(x, y, 0.95);

	NEAR(stats_welch(x, y), 0.07939, 5e-6, "p");
	NEAR(interval.low, -0.2054832, 1e-6, "low");
	NEAR(interval.high, 3.3654832, 1e-6, "high");
	NEAR(stats_welch((struct stats_mean){1, 0, 2}, (struct stats_mean){1, 0, 2}), 1, 0, "same");
	NEAR(stats_welch((struct stats_mean){1, 0, 2}, (struct stats_mean){2, 0, 2}), 0, 0,
	     "apart");
}

Test(stats, permutation)
{
	static const double apart[] = {1, 2, 3, 4, 5, 6};
	static const double ties[] = {0.1, 0.2, 0.3, 0.1, 0.2, 0.3};
	static const double uneven[] = {10, 1, 2, 3};

	NEAR(stats_nr_arrangements(3, 3), 20, 0, "3 + 3");
	NEAR(stats_nr_arrangements(10, 10), 184756, 0, "10 + 10");
	cr_expect(isinf(stats_nr_arrangements(64, 64)));
	NEAR(stats_permutation(apart, 3, 3), 2. / 20, 1e-12, "the most extreme");
	NEAR(stats_permutation(ties, 3, 3), 1, 1e-12, "no difference at all");
	NEAR(stats_permutation(uneven, 1, 3), 1. / 4, 1e-12, "one against three");
}

/* The fifteen p-values of section 3.2 of the paper: 4 are kept at 0.05. */
Test(stats, benjamini_hochberg)
{
	static const double p[] = {0.0278, 0.0004, 0.0019, 0.0095, 0.0201, 0.0001, 0.0298, 0.0344,
	                           0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.000};
	double q[ARRAY_SIZE(p)];
	size_t kept = 0;

	stats_benjamini_hochberg(p, q, ARRAY_SIZE(p));
	for (size_t i = 0; i < ARRAY_SIZE(p); i++)
		kept += q[i] <= 0.05;
	cr_expect_eq(kept, 4);
	NEAR(q[3], 0.0095 * 15 / 4, 1e-12, "the fourth");
	NEAR(q[0], 0.0298 * 15 / 7, 1e-12, "lowered by the one behind it");
	NEAR(q[14], 1, 0, "the last");
}

/* Wilson, 1927, in Newcombe, Statistics in Medicine 17, 1998, 857-872: 15 of 148. */
Test(stats, limits)
{
	struct stats_interval got = stats_wilson(15, 148, 0.95);

	NEAR(got.low, 0.0624, 5e-5, "low");
	NEAR(got.high, 0.1605, 5e-5, "high");
	got = stats_wilson(0, 20, 0.95);
	NEAR(got.low, 0, 1e-12, "none: low");
	NEAR(got.high, 0.1611, 5e-5, "none: high");
	got = stats_poisson_limits(0, 0.95);
	NEAR(got.low, 0, 1e-12, "no events: low");
	NEAR(got.high, 1.959964 * 1.959964, 1e-5, "no events: high");
}
