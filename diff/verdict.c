#include "share/compat.h"
#include "diff/verdict.h"

#include "share/mem.h"

#include <math.h>

#define LEVEL 0.95 /* of intervals */
#define POWER 0.8  /* of what is called detectable */

/* No header and all weights multiples of one number as large as this: a period. */
#define MIN_GUESSED_PERIOD 1000
#define MIN_GUESSED_STACKS 20

/* What the rows are computed with. */
struct trial {
	struct verdict *verdict;
	const struct join *join;
	const struct tally *tally;
	double *unit;     /* by run: weight / unit is what is compared */
	double reference; /* of what is compared, that counts as 100 % */
	double grain;     /* weight that stands for one sample, known or supposed */
	double *sides[2]; /* scratch: one row's values by side */
	size_t nr[2];
};

const char *verdict_measure_name(enum verdict_measure measure)
{
	static const char *const names[] = {"self", "total", "path"};

	return names[measure];
}

const char *verdict_test_name(enum verdict_test test)
{
	static const char *const names[] = {
	        [VERDICT_UNTESTED] = "none: weights of one run that are no sample counts",
	        [VERDICT_FISHER] = "Fisher's exact test of sample counts, one run a side, so that "
	                           "overdispersion between runs is unknown",
	        [VERDICT_POISSON] = "Poisson test of sample counts, one run a side, so that "
	                            "overdispersion between runs is unknown",
	        [VERDICT_PERMUTATION] = "exact permutation test of mean shares, as the runs are "
	                                "enough for it",
	        [VERDICT_WELCH] = "Welch's test of log shares, as the runs are too few or too "
	                          "many for a permutation test",
	};

	return names[test];
}

/* ---- what the weights are ---- */

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/*
 * Tools without headers write periods: the weights of a clock sampled at a
 * fixed rate are multiples of one large number. 1 where they are not.
 */
static double guess_period(const struct join *join)
{
	uint64_t common = 0;

	if (join->nr_stacks < MIN_GUESSED_STACKS)
		return 1;
	for (size_t i = 0; i < join->nr_stacks; i++)
		for (size_t run = 0; run < join->nr_runs; run++) {
			weight_fx weight = join_weights(join, i)[run];

			if (weight % WEIGHT_ONE)
				return 1;
			common = gcd(common, (uint64_t)(weight / WEIGHT_ONE));
		}
	return common >= MIN_GUESSED_PERIOD ? (double)common : 1;
}

/* The weight of one sample, or 0 where it cannot be known. */
static double decide_period(struct verdict *verdict, const struct join *join)
{
	bool any_unit = false;

	if (verdict->options.period > 0)
		return verdict->options.period;
	for (size_t i = 0; i < join->nr_runs; i++) {
		const char *unit = folded_header_get(&join->runs[i].header, "unit");

		any_unit |= unit != NULL;
		if (unit && strcmp(unit, "samples") != 0)
			return 0;
		/* fractions are no counts of anything */
		if (!join->runs[i].whole)
			return 0;
	}
	if (any_unit)
		return 1;
	verdict->period = guess_period(join);
	verdict->period_guessed = verdict->period > 1;
	return verdict->period;
}

static double smallest_weight(const struct join *join)
{
	weight_fx least = 0;

	for (size_t i = 0; i < join->nr_stacks; i++)
		for (size_t run = 0; run < join->nr_runs; run++) {
			weight_fx weight = join_weights(join, i)[run];

			if (weight && (!least || weight < least))
				least = weight;
		}
	return least ? weight_to_double(least) : 1;
}

static double run_total(const struct join *join, size_t run)
{
	return weight_to_double(join->runs[run].total);
}

/* What one run's weights are divided by, so that runs can be compared. */
static double run_unit(const struct trial *trial, size_t run)
{
	const struct join *join = trial->join;
	double unit = 1;

	if (trial->verdict->options.mode == SCALE_TOTAL)
		unit = run_total(join, run);
	else if (trial->verdict->options.mode == SCALE_TIME)
		unit = weight_to_double(scale_watched(&join->runs[run].header));
	return unit > 0 ? unit : 1;
}

static void prepare(struct trial *trial)
{
	struct verdict *verdict = trial->verdict;
	const struct join *join = trial->join;
	double means[2] = {0, 0};

	verdict->period = decide_period(verdict, join);
	trial->grain = verdict->period > 0 ? verdict->period : smallest_weight(join);
	trial->unit = mem_alloc(join->nr_runs * sizeof(*trial->unit));
	for (size_t run = 0; run < join->nr_runs; run++) {
		enum join_side side = join->runs[run].side;

		trial->unit[run] = run_unit(trial, run);
		means[side] += run_total(join, run) / trial->unit[run];
		verdict->nr_runs[side]++;
		if (verdict->period > 0)
			verdict->nr_samples[side] += run_total(join, run) / verdict->period;
	}
	for (int side = JOIN_BEFORE; side <= JOIN_AFTER; side++) {
		means[side] /= (double)verdict->nr_runs[side];
		trial->sides[side] = mem_alloc(join->nr_runs * sizeof(double));
	}
	trial->reference = means[JOIN_AFTER] > 0 ? means[JOIN_AFTER] : means[JOIN_BEFORE];
	if (trial->reference <= 0)
		trial->reference = 1;
}

/* ---- one row ---- */

static const double *weights_of(const struct trial *trial, size_t row, bool self)
{
	return (self ? trial->tally->self : trial->tally->total) + row * trial->tally->nr_runs;
}

static const double *measured(const struct trial *trial, size_t row)
{
	return weights_of(trial, row, trial->verdict->options.measure == VERDICT_SELF);
}

/* Mean over the runs of a side, in % of the reference. */
static double percent(const struct trial *trial, const double *weights, enum join_side side)
{
	double sum = 0;

	for (size_t run = 0; run < trial->join->nr_runs; run++)
		if (trial->join->runs[run].side == side)
			sum += weights[run] / trial->unit[run];
	return 100 * sum / (double)trial->verdict->nr_runs[side] / trial->reference;
}

/* Sum over the runs of a side, in samples. */
static double samples(const struct trial *trial, const double *weights, enum join_side side)
{
	double sum = 0;

	for (size_t run = 0; run < trial->join->nr_runs; run++)
		if (trial->join->runs[run].side == side)
			sum += weights[run];
	return sum / trial->grain;
}

static double side_samples(const struct trial *trial, enum join_side side)
{
	double sum = 0;

	for (size_t run = 0; run < trial->join->nr_runs; run++)
		if (trial->join->runs[run].side == side)
			sum += run_total(trial->join, run);
	return sum / trial->grain;
}

/* The sum of the units of a side: how much longer the after side was watched. */
static double unit_ratio(const struct trial *trial)
{
	double units[2] = {0, 0};

	for (size_t run = 0; run < trial->join->nr_runs; run++)
		units[trial->join->runs[run].side] += trial->unit[run];
	return units[JOIN_AFTER] / units[JOIN_BEFORE];
}

/*
 * Compares the counts of the sides, thinned by a divisor where runs vary more
 * than counting does.
 */
static void compare_counts(const struct trial *trial, const double *weights, double divisor,
                           struct verdict_row *out)
{
	double x[2], n[2], scale[2];
	struct stats_interval limits[2];
	bool shares = trial->verdict->options.mode == SCALE_TOTAL;

	for (int side = JOIN_BEFORE; side <= JOIN_AFTER; side++) {
		x[side] = round(samples(trial, weights, side) / divisor);
		n[side] = fmax(x[side], round(side_samples(trial, side) / divisor));
		/* from samples to %: what percent() makes of the same weights */
		if (shares) {
			limits[side] = stats_wilson(x[side], n[side], LEVEL);
			scale[side] = 100;
		} else {
			limits[side] = stats_poisson_limits(x[side], LEVEL);
			scale[side] = x[side] > 0 ? percent(trial, weights, side) / x[side] :
			                            divisor * trial->grain * 100 /
			                                    trial->reference / trial->unit[0] /
			                                    (double)trial->verdict->nr_runs[side];
		}
		limits[side].low *= scale[side];
		limits[side].high *= scale[side];
	}
	out->p = shares ? stats_fisher(x[0], n[0], x[1], n[1]) :
	                  stats_poisson(x[0], x[1], unit_ratio(trial));
	out->interval = stats_difference(out->before, limits[0], out->after, limits[1]);
}

/* Fills trial->sides with the row's values, as shares of the reference or their logarithms. */
static void spread(struct trial *trial, const double *weights, bool logarithm)
{
	trial->nr[0] = trial->nr[1] = 0;
	for (size_t run = 0; run < trial->join->nr_runs; run++) {
		enum join_side side = trial->join->runs[run].side;
		/* half a sample stands for none, so that its logarithm exists */
		double value = logarithm ? log(fmax(weights[run], trial->grain / 2) /
		                               trial->unit[run] / trial->reference) :
		                           weights[run] / trial->unit[run] / trial->reference;

		trial->sides[side][trial->nr[side]++] = value;
	}
}

/* The variance that counting alone gives the mean of a side's values. */
static double counting_variance(const struct trial *trial, const double *weights,
                                enum join_side side, bool logarithm)
{
	double nr = (double)trial->verdict->nr_runs[side], sum = 0;

	for (size_t run = 0; run < trial->join->nr_runs; run++) {
		double count = fmax(weights[run] / trial->grain, 0.5), all, share, variance;

		if (trial->join->runs[run].side != side)
			continue;
		all = fmax(run_total(trial->join, run) / trial->grain, 1);
		share = trial->verdict->options.mode == SCALE_TOTAL ? fmin(count / all, 1) : 0;
		variance = (1 - share) / count;
		if (!logarithm)
			variance *=
			        pow(count * trial->grain / trial->unit[run] / trial->reference, 2);
		sum += variance;
	}
	return sum / nr / nr;
}

static void summarise(struct trial *trial, const double *weights, bool logarithm,
                      struct stats_mean means[2])
{
	spread(trial, weights, logarithm);
	for (int side = JOIN_BEFORE; side <= JOIN_AFTER; side++) {
		means[side] = stats_mean_of(trial->sides[side], trial->nr[side]);
		means[side].variance = fmax(means[side].variance,
		                            counting_variance(trial, weights, side, logarithm));
	}
}

/* How many times more the runs of a side vary than counts would: at least 1. */
static double dispersion(struct trial *trial, const double *weights, enum join_side side)
{
	struct stats_mean mean;
	double counting = counting_variance(trial, weights, side, false);

	spread(trial, weights, false);
	mean = stats_mean_of(trial->sides[side], trial->nr[side]);
	return counting > 0 ? fmax(1, mean.variance / counting) : 1;
}

static void compare_runs(struct trial *trial, const double *weights, struct verdict_row *out)
{
	struct stats_mean means[2];
	double *together;

	if (out->before <= 0 || out->after <= 0) {
		compare_counts(
		        trial, weights,
		        dispersion(trial, weights, out->before <= 0 ? JOIN_AFTER : JOIN_BEFORE),
		        out);
		return;
	}
	summarise(trial, weights, false, means);
	out->interval = stats_welch_interval(means[0], means[1], LEVEL);
	out->interval.low *= 100;
	out->interval.high *= 100;
	if (trial->verdict->test == VERDICT_WELCH) {
		summarise(trial, weights, true, means);
		out->p = stats_welch(means[0], means[1]);
		return;
	}
	spread(trial, weights, false);
	together = mem_alloc((trial->nr[0] + trial->nr[1]) * sizeof(*together));
	memcpy(together, trial->sides[0], trial->nr[0] * sizeof(*together));
	memcpy(together + trial->nr[0], trial->sides[1], trial->nr[1] * sizeof(*together));
	out->p = stats_permutation(together, trial->nr[0], trial->nr[1]);
	free(together);
}

static enum verdict_class classify(const struct verdict_row *row)
{
	if (row->total[JOIN_BEFORE] <= 0)
		return VERDICT_NEW;
	if (row->total[JOIN_AFTER] <= 0)
		return VERDICT_GONE;
	return row->change > 0 ? VERDICT_REGRESSION : VERDICT_IMPROVEMENT;
}

static void judge(struct trial *trial, size_t row, struct verdict_row *out)
{
	const double *weights = measured(trial, row);

	*out = (struct verdict_row){.row = row, .p = 1, .q = 1};
	for (int side = JOIN_BEFORE; side <= JOIN_AFTER; side++) {
		out->self[side] = percent(trial, weights_of(trial, row, true), side);
		out->total[side] = percent(trial, weights_of(trial, row, false), side);
	}
	out->before = percent(trial, weights, JOIN_BEFORE);
	out->after = percent(trial, weights, JOIN_AFTER);
	out->change = out->after - out->before;
	out->ratio = out->before > 0 ? out->after / out->before : INFINITY;
	out->class = classify(out);
	if (trial->verdict->test == VERDICT_PERMUTATION || trial->verdict->test == VERDICT_WELCH)
		compare_runs(trial, weights, out);
	else
		compare_counts(trial, weights, 1, out);
}

/* ---- all rows ---- */

static bool is_tested(const struct trial *trial, size_t row)
{
	const double *weights = measured(trial, row);

	return !trial->tally->left_out[row] &&
	       samples(trial, weights, JOIN_BEFORE) + samples(trial, weights, JOIN_AFTER) >=
	               VERDICT_MIN_SAMPLES;
}

static enum verdict_test choose_test(const struct verdict *verdict)
{
	double nr = stats_nr_arrangements(verdict->nr_runs[0], verdict->nr_runs[1]);

	if (verdict->nr_runs[0] < 2 || verdict->nr_runs[1] < 2) {
		if (verdict->period <= 0)
			return VERDICT_UNTESTED;
		return verdict->options.mode == SCALE_TOTAL ? VERDICT_FISHER : VERDICT_POISSON;
	}
	/* a two-sided test has at least two arrangements that are as extreme as any */
	if (nr <= VERDICT_MAX_ARRANGEMENTS &&
	    2 / nr <= verdict->options.fdr / fmax(1, (double)verdict->nr_tested))
		return VERDICT_PERMUTATION;
	return VERDICT_WELCH;
}

/*
 * With the strictest threshold that the procedure could have used. Between
 * runs the spread is the median one of the rows that were tested.
 */
static double detectable_points(const struct trial *trial, double share, double spread_of_logs)
{
	const struct verdict *verdict = trial->verdict;
	double alpha = verdict->options.fdr / (double)verdict->nr_tested, variance = 0, z;
	double p = share / 100;

	for (int side = JOIN_BEFORE; side <= JOIN_AFTER; side++) {
		double n = fmax(1, side_samples(trial, side));
		double counting = (1 - p) / (p * n);

		variance += fmax(counting, spread_of_logs / (double)verdict->nr_runs[side]);
	}
	if (verdict->test == VERDICT_WELCH || verdict->test == VERDICT_PERMUTATION) {
		double df = (double)(verdict->nr_runs[0] + verdict->nr_runs[1] - 2);

		z = stats_student(1 - alpha / 2, df) + stats_student(POWER, df);
		return share * expm1(z * sqrt(variance));
	}
	z = stats_normal(1 - alpha / 2) + stats_normal(POWER);
	return share * z * sqrt(variance);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median, over rows that both sides know, of the variance of one run's logarithm. */
static double median_spread(struct trial *trial, const struct verdict_row *rows, size_t nr)
{
	double *spreads = mem_alloc((nr + 1) * sizeof(*spreads)), median;
	size_t count = 0;

	for (size_t i = 0; i < nr; i++) {
		struct stats_mean means[2];

		if (rows[i].before <= 0 || rows[i].after <= 0)
			continue;
		summarise(trial, measured(trial, rows[i].row), true, means);
		spreads[count++] = (means[0].variance * (double)means[0].nr +
		                    means[1].variance * (double)means[1].nr) /
		                   2;
	}
	qsort(spreads, count, sizeof(*spreads), compare_doubles);
	median = count ? spreads[count / 2] : 0;
	free(spreads);
	return median;
}

static int compare_rows(const void *a, const void *b)
{
	const struct verdict_row *x = a, *y = b;
	double xs = fabs(x->change), ys = fabs(y->change);

	if (xs != ys)
		return xs > ys ? -1 : 1;
	return strcmp(x->text, y->text);
}

static void keep_survivors(struct trial *trial, struct verdict_row *rows, size_t nr)
{
	struct verdict *verdict = trial->verdict;
	double *p = mem_alloc((nr + 1) * sizeof(*p)), *q = mem_alloc((nr + 1) * sizeof(*q));

	for (size_t i = 0; i < nr; i++)
		p[i] = rows[i].p;
	stats_benjamini_hochberg(p, q, nr);
	for (size_t i = 0; i < nr; i++) {
		struct buf text = {0};

		if (q[i] > verdict->options.fdr || rows[i].change == 0)
			continue;
		rows[i].q = q[i];
		tally_text(trial->tally, rows[i].row, &text);
		rows[i].text = mem_strdup(buf_text(&text));
		buf_release(&text);
		MEM_GROW(verdict->rows, verdict->nr, verdict->capacity);
		verdict->rows[verdict->nr++] = rows[i];
	}
	free(p);
	free(q);
	if (verdict->nr)
		qsort(verdict->rows, verdict->nr, sizeof(*verdict->rows), compare_rows);
}

static void judge_all(struct trial *trial)
{
	static const double shares[] = {1, 10};
	struct verdict *verdict = trial->verdict;
	const struct tally *tally = trial->tally;
	struct verdict_row *rows;
	double spread_of_logs = 0;
	size_t nr = 0;

	for (size_t i = 0; i < tally->nr; i++) {
		verdict->nr_rows += !tally->left_out[i];
		verdict->nr_tested += is_tested(trial, i);
	}
	verdict->test = choose_test(verdict);
	if (verdict->test == VERDICT_UNTESTED || !verdict->nr_tested) {
		verdict->nr_tested = 0;
		return;
	}
	rows = mem_alloc(verdict->nr_tested * sizeof(*rows));
	for (size_t i = 0; i < tally->nr; i++)
		if (is_tested(trial, i))
			judge(trial, i, &rows[nr++]);
	if (verdict->test == VERDICT_WELCH || verdict->test == VERDICT_PERMUTATION)
		spread_of_logs = median_spread(trial, rows, nr);
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++)
		verdict->detectable[i] = (struct verdict_detectable){
		        shares[i], detectable_points(trial, shares[i], spread_of_logs)};
	keep_survivors(trial, rows, nr);
	free(rows);
}

void verdict_find(struct verdict *verdict, const struct join *join, struct verdict_options options)
{
	struct tally tally;
	struct trial trial = {.verdict = verdict, .join = join, .tally = &tally};

	*verdict = (struct verdict){.options = options};
	stats_init();
	if (options.measure == VERDICT_PATH)
		tally_paths(&tally, join);
	else
		tally_functions(&tally, join);
	prepare(&trial);
	judge_all(&trial);
	free(trial.unit);
	free(trial.sides[0]);
	free(trial.sides[1]);
	tally_release(&tally);
}

void verdict_release(struct verdict *verdict)
{
	for (size_t i = 0; i < verdict->nr; i++)
		free(verdict->rows[i].text);
	free(verdict->rows);
	*verdict = (struct verdict){0};
}
