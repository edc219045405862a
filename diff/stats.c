#include "share/compat.h"
#include "diff/stats.h"

#include "share/mem.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <math.h>

#define EXACT_LIMIT 1e9

void stats_init(void)
{
	gsl_set_error_handler_off();
}

static double twice_smaller(double lower, double upper)
{
	return fmin(1, 2 * fmin(lower, upper));
}

double stats_fisher(double x1, double n1, double x2, double n2)
{
	double k = x1 + x2, n = n1 + n2;

	if (k <= 0 || k >= n || n1 <= 0 || n2 <= 0)
		return 1;
	if (n <= EXACT_LIMIT) {
		unsigned marked = (unsigned)k, others = (unsigned)n - marked;
		unsigned drawn = (unsigned)n2, seen = (unsigned)x2;
		double lower = gsl_cdf_hypergeometric_P(seen, marked, others, drawn);
		double upper = seen ? gsl_cdf_hypergeometric_Q(seen - 1, marked, others, drawn) : 1;

		return twice_smaller(lower, upper);
	}
	return 2 * gsl_cdf_ugaussian_Q(fabs(x2 / n2 - x1 / n1) /
	                               sqrt(k / n * (1 - k / n) * (1 / n1 + 1 / n2)));
}

double stats_poisson(double x1, double x2, double ratio)
{
	double k = x1 + x2, p = ratio / (1 + ratio);

	if (k <= 0)
		return 1;
	if (k <= EXACT_LIMIT) {
		unsigned seen = (unsigned)x2, all = (unsigned)k;
		double lower = gsl_cdf_binomial_P(seen, p, all);
		double upper = seen ? gsl_cdf_binomial_Q(seen - 1, p, all) : 1;

		return twice_smaller(lower, upper);
	}
	return 2 * gsl_cdf_ugaussian_Q(fabs(x2 - k * p) / sqrt(k * p * (1 - p)));
}

double stats_normal(double p)
{
	return gsl_cdf_ugaussian_Pinv(p);
}

double stats_student(double p, double df)
{
	return gsl_cdf_tdist_Pinv(p, df);
}

struct stats_interval stats_wilson(double x, double n, double level)
{
	double z = stats_normal((1 + level) / 2), p, middle, half;

	if (n <= 0)
		return (struct stats_interval){0, 1};
	p = x / n;
	middle = (p + z * z / (2 * n)) / (1 + z * z / n);
	half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n);
	return (struct stats_interval){fmax(0, middle - half), fmin(1, middle + half)};
}

struct stats_interval stats_poisson_limits(double x, double level)
{
	double z = stats_normal((1 + level) / 2);
	double middle = x + z * z / 2, half = z * sqrt(x + z * z / 4);

	return (struct stats_interval){fmax(0, middle - half), middle + half};
}

struct stats_interval stats_difference(double a, struct stats_interval a_limits, double b,
                                       struct stats_interval b_limits)
{
	return (struct stats_interval){
	        b - a - hypot(b - b_limits.low, a_limits.high - a),
	        b - a + hypot(b_limits.high - b, a - a_limits.low),
	};
}

struct stats_mean stats_mean_of(const double *values, size_t nr)
{
	double sum = 0, squares = 0, mean;

	for (size_t i = 0; i < nr; i++)
		sum += values[i];
	mean = sum / (double)nr;
	for (size_t i = 0; i < nr; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	return (struct stats_mean){mean, squares / (double)(nr - 1) / (double)nr, nr};
}

static double welch_df(struct stats_mean a, struct stats_mean b)
{
	double sum = a.variance + b.variance;

	return sum * sum /
	       (a.variance * a.variance / (double)(a.nr - 1) +
	        b.variance * b.variance / (double)(b.nr - 1));
}

double stats_welch(struct stats_mean a, struct stats_mean b)
{
	double variance = a.variance + b.variance, difference = fabs(b.mean - a.mean);

	if (variance <= 0)
		return difference > 0 ? 0 : 1;
	return 2 * gsl_cdf_tdist_Q(difference / sqrt(variance), welch_df(a, b));
}

struct stats_interval stats_welch_interval(struct stats_mean a, struct stats_mean b, double level)
{
	double variance = a.variance + b.variance, difference = b.mean - a.mean, half = 0;

	if (variance > 0)
		half = stats_student((1 + level) / 2, welch_df(a, b)) * sqrt(variance);
	return (struct stats_interval){difference - half, difference + half};
}

double stats_nr_arrangements(size_t nr_a, size_t nr_b)
{
	double nr = 1;

	for (size_t i = 1; i <= nr_a && nr < 0x1p53; i++)
		nr = nr * (double)(nr_b + i) / (double)i;
	return nr < 0x1p53 ? round(nr) : INFINITY;
}

double stats_permutation(const double *values, size_t nr_a, size_t nr_b)
{
	size_t nr = nr_a + nr_b;
	uint64_t chosen = (UINT64_C(1) << nr_a) - 1, extreme = 0, all = 0;
	double sum = 0, seen = 0, slack;

	for (size_t i = 0; i < nr; i++)
		sum += values[i];
	for (size_t i = 0; i < nr_a; i++)
		seen += values[i];
	/* with the total fixed, the sum of one side tells the difference of means */
	seen = fabs(seen - sum * (double)nr_a / (double)nr);
	/* sums in another order differ in their last bits, and ties must count */
	slack = fabs(sum) * 1e-12;
	for (;;) {
		double part = 0;
		uint64_t lowest, ripple;

		for (uint64_t rest = chosen; rest; rest &= rest - 1)
			part += values[__builtin_ctzll(rest)];
		extreme += fabs(part - sum * (double)nr_a / (double)nr) >= seen - slack;
		all++;
		/* the next larger number with as many bits set (HAKMEM, item 175) */
		lowest = chosen & -chosen;
		ripple = chosen + lowest;
		if (!lowest || ripple < chosen)
			break;
		chosen = ripple | ((chosen ^ ripple) >> 2) / lowest;
		if (nr < 64 && chosen >> nr)
			break;
	}
	return (double)extreme / (double)all;
}

static int compare_p(const void *a, const void *b, void *values)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	const double *p = values;

	if (p[x] != p[y])
		return p[x] < p[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

void stats_benjamini_hochberg(const double *p, double *q, size_t nr)
{
	size_t *order = mem_alloc((nr + 1) * sizeof(*order));
	double least = 1;

	for (size_t i = 0; i < nr; i++)
		order[i] = i;
	qsort_r(order, nr, sizeof(*order), compare_p, (void *)p);
	for (size_t i = nr; i > 0; i--) {
		least = fmin(least, p[order[i - 1]] * (double)nr / (double)i);
		q[order[i - 1]] = least;
	}
	free(order);
}
