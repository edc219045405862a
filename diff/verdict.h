/*
 * verdict.h - which functions or paths changed, by how much, and how surely.
 *
 * Every row of a tally with at least VERDICT_MIN_SAMPLES samples on both
 * sides together is tested; what survives Benjamini and Hochberg's procedure
 * is listed, the largest change first.
 *
 * Which test: with one run on a side the counts of samples of the sides are
 * compared, as shares (Fisher's exact test) where totals are matched, else as
 * rates (two Poisson processes). How far runs differ among themselves is
 * unknown then, and such tests take it for no more than chance. With two runs
 * or more on each side: an exact permutation test of the mean shares where
 * there are enough arrangements for the smallest possible p-value to survive
 * the correction, and not more than VERDICT_MAX_ARRANGEMENTS; else Welch's
 * test on the logarithms of the shares, which are skewed and vary by factors,
 * with the variance taken for no smaller than that of counting. A row that
 * one side never saw has no logarithm: it is compared as counts, divided by
 * the dispersion that the other side's runs show.
 */
#ifndef DIFF_VERDICT_H
#define DIFF_VERDICT_H

#include "diff/scale.h"
#include "diff/stats.h"
#include "diff/tally.h"
#include "share/compat.h"

#define VERDICT_MIN_SAMPLES      10
#define VERDICT_MAX_ARRANGEMENTS 200000

enum verdict_measure {
	VERDICT_SELF,  /* a function's own weight */
	VERDICT_TOTAL, /* with all that it calls */
	VERDICT_PATH,  /* a chain of callers with all that it calls */
};

enum verdict_test {
	VERDICT_UNTESTED, /* weights of one run that are no counts of samples */
	VERDICT_FISHER,
	VERDICT_POISSON,
	VERDICT_PERMUTATION,
	VERDICT_WELCH,
};

enum verdict_class {
	VERDICT_REGRESSION,
	VERDICT_IMPROVEMENT,
	VERDICT_NEW,  /* not on the before side at all */
	VERDICT_GONE, /* not on the after side at all */
	VERDICT_NR_CLASSES,
};

struct verdict_row {
	size_t row; /* of the tally */
	char *text; /* owned */
	enum verdict_class class;
	double self[2], total[2];       /* by side: mean over its runs, in % */
	double before, after;           /* the one of those that was measured */
	double change;                  /* after - before, in points */
	struct stats_interval interval; /* of change, 95 % */
	double ratio;                   /* after / before; infinite for new rows */
	double p, q;
};

/* The smallest change that would have been found 4 times of 5, for a row of `share` %. */
struct verdict_detectable {
	double share, points;
};

struct verdict_options {
	enum verdict_measure measure;
	enum scale_mode mode;
	double fdr;    /* above 0, at most 1 */
	double period; /* weight of one sample; 0 = as the header says */
};

struct verdict {
	struct verdict_options options;
	enum verdict_test test;
	double period;       /* weight of one sample, or 0 where it is unknown */
	bool period_guessed; /* all weights are multiples of it and no header tells */
	size_t nr_runs[2];
	double nr_samples[2]; /* of the sides; 0 where period is 0 */
	size_t nr_rows;       /* that exist */
	size_t nr_tested;
	struct verdict_detectable detectable[2]; /* points are 0 where nothing was tested */
	struct verdict_row *rows;                /* what survived */
	size_t nr, capacity;
};

void verdict_find(struct verdict *verdict, const struct join *join, struct verdict_options options);
void verdict_release(struct verdict *verdict);

/* "self", "total", "path"; a sentence that names the test and says why. */
const char *verdict_measure_name(enum verdict_measure measure);
const char *verdict_test_name(enum verdict_test test);

#endif
