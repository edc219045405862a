/*
 * stats.h - the tests and intervals, as functions of numbers alone.
 *
 * Distributions come from the GNU Scientific Library. Every p-value is
 * two-sided; those of discrete distributions are twice the smaller tail, at
 * most 1, so they err on the side of silence.
 */
#ifndef DIFF_STATS_H
#define DIFF_STATS_H

#include "share/compat.h"

struct stats_interval {
	double low, high;
};

/* Call once before all else: GSL would end the program where it finds fault. */
void stats_init(void);

/*
 * x1 of n1 samples against x2 of n2: Fisher's exact test (R. A. Fisher,
 * Statistical Methods for Research Workers, 1934, section 21.02), with the
 * normal approximation above 10^9 samples in all. 0 <= x <= n.
 */
double stats_fisher(double x1, double n1, double x2, double n2);

/*
 * Counts x1 and x2 of two Poisson processes, the second watched `ratio` times
 * as long: given their sum the second is binomial (Przyborowski and Wilenski,
 * Biometrika 31, 1940).
 */
double stats_poisson(double x1, double x2, double ratio);

/*
 * Limits of a share x of n and of a Poisson mean, both from the score test
 * (Wilson, JASA 22, 1927; Rao's score for the Poisson). level: 0.95.
 */
struct stats_interval stats_wilson(double x, double n, double level);
struct stats_interval stats_poisson_limits(double x, double level);

/*
 * The interval of b - a from estimates and their own intervals ("square and
 * add": Newcombe, Statistics in Medicine 17, 1998, 873-890, method 10).
 */
struct stats_interval stats_difference(double a, struct stats_interval a_limits, double b,
                                       struct stats_interval b_limits);

/* Mean and variance of a mean (that is, s^2 / nr) of one side's runs. */
struct stats_mean {
	double mean, variance;
	size_t nr; /* at least 2 */
};

/* Values need not be sorted. nr >= 2. */
struct stats_mean stats_mean_of(const double *values, size_t nr);

/*
 * Welch's t-test of b - a with the degrees of freedom of Welch and
 * Satterthwaite (Biometrika 34, 1947): p-value, and the interval of b - a.
 * p is 1 where both variances are 0 and the means equal, 0 where they differ.
 */
double stats_welch(struct stats_mean a, struct stats_mean b);
struct stats_interval stats_welch_interval(struct stats_mean a, struct stats_mean b, double level);

/*
 * How many ways there are to deal the runs out to the sides: (a + b) over a,
 * or infinity where that is beyond 2^53.
 */
double stats_nr_arrangements(size_t nr_a, size_t nr_b);

/*
 * Exact permutation test of the difference of means (Pitman, 1937): the share
 * of arrangements whose difference is at least as large as the one seen.
 * values: nr_a of one side, then nr_b of the other; at most 64 in all.
 * Takes time in proportion to stats_nr_arrangements().
 */
double stats_permutation(const double *values, size_t nr_a, size_t nr_b);

/*
 * q-values of Benjamini and Hochberg (J. R. Statist. Soc. B 57, 1995): those
 * at or below f are the tests that their procedure keeps at a false discovery
 * rate of f.
 */
void stats_benjamini_hochberg(const double *p, double *q, size_t nr);

/* Quantiles: of the standard normal, and of Student's t. */
double stats_normal(double p);
double stats_student(double p, double df);

#endif
