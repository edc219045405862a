/*
 * histogram.h - how times are spread: buckets of powers of two microseconds,
 * and the times that a share of all stays below, for each name.
 *
 * For these, times are counted in 64 equal steps from one power of two to the
 * next, so that a percentile is at most 1.6 % above the true one; all else is
 * exact.
 */
#ifndef COLLAPSE_HISTOGRAM_H
#define COLLAPSE_HISTOGRAM_H

#include "share/compat.h"
#include "share/folded.h"
#include "share/output.h"
#include "share/strtab.h"
#include "share/weight.h"

#define HISTOGRAM_OCTAVES 64
#define HISTOGRAM_STEPS   64
#define HISTOGRAM_BUCKETS 56

struct histogram {
	uint64_t nr, max_ns;
	weight_fx sum_ns;                     /* a whole number: no fraction is kept here */
	uint64_t buckets[HISTOGRAM_BUCKETS];  /* [0]: below 1 us; [k]: from 2^(k-1) us on */
	uint64_t *octaves[HISTOGRAM_OCTAVES]; /* HISTOGRAM_STEPS counts each; NULL while empty */
};

struct histograms {
	struct strtab names;
	struct histogram *at; /* by id of the name */
	size_t nr, capacity;
};

/* Zeroed ones are ready to use. */
void histograms_release(struct histograms *histograms);

void histograms_add(struct histograms *histograms, struct slice name, uint64_t ns);

/* The least time, in ns, that at least this share of all (0 to 1) does not exceed; 0 of none. */
uint64_t histogram_percentile(const struct histogram *histogram, double share);

/* The one with the largest sum first. The header tells what was measured. */
void histograms_write(const struct histograms *histograms, const struct folded_header *header,
                      bool as_json, struct output *out);

#endif
