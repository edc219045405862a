#include "share/compat.h"
#include "collapse/histogram.h"

#include "collapse/writers/to.h"
#include "share/mem.h"
#include "share/num.h"

#define BAR_WIDTH 40

void histograms_release(struct histograms *histograms)
{
	for (size_t i = 0; i < histograms->nr; i++)
		for (size_t o = 0; o < HISTOGRAM_OCTAVES; o++)
			free(histograms->at[i].octaves[o]);
	free(histograms->at);
	strtab_release(&histograms->names);
	*histograms = (struct histograms){0};
}

/* ns below 64 are steps of one in octave 0; above, octave o holds [2^(o+5), 2^(o+6)). */
static unsigned octave_of(uint64_t ns)
{
	return ns < HISTOGRAM_STEPS ? 0 : 64 - 6 - (unsigned)__builtin_clzll(ns);
}

static unsigned step_of(uint64_t ns, unsigned octave)
{
	return octave ? (unsigned)(ns >> (octave - 1)) & (HISTOGRAM_STEPS - 1) : (unsigned)ns;
}

/* The largest ns that falls into the step. */
static uint64_t end_of_step(unsigned octave, unsigned step)
{
	if (!octave)
		return step;
	return ((uint64_t)(HISTOGRAM_STEPS + step + 1) << (octave - 1)) - 1;
}

void histograms_add(struct histograms *histograms, struct slice name, uint64_t ns)
{
	uint32_t id = strtab_id(&histograms->names, name.at, name.size);
	unsigned octave = octave_of(ns);
	uint64_t us = ns / 1000;
	struct histogram *histogram;

	if (id == histograms->nr) {
		MEM_GROW(histograms->at, histograms->nr, histograms->capacity);
		histograms->at[histograms->nr++] = (struct histogram){0};
	}
	histogram = &histograms->at[id];
	if (!histogram->octaves[octave])
		histogram->octaves[octave] = mem_zalloc(HISTOGRAM_STEPS * sizeof(uint64_t));
	histogram->octaves[octave][step_of(ns, octave)]++;
	histogram->buckets[us ? 64 - __builtin_clzll(us) : 0]++;
	histogram->nr++;
	histogram->sum_ns += ns;
	histogram->max_ns = MAX_OF(histogram->max_ns, ns);
}

uint64_t histogram_percentile(const struct histogram *histogram, double share)
{
	uint64_t wanted = (uint64_t)((double)histogram->nr * share + 0.999999), seen = 0;

	wanted = MIN_OF(MAX_OF(wanted, 1u), histogram->nr);
	for (unsigned octave = 0; octave < HISTOGRAM_OCTAVES; octave++) {
		for (unsigned step = 0; histogram->octaves[octave] && step < HISTOGRAM_STEPS;
		     step++) {
			seen += histogram->octaves[octave][step];
			if (seen >= wanted && seen)
				return MIN_OF(end_of_step(octave, step), histogram->max_ns);
		}
	}
	return 0;
}

/* ---- writing: in microseconds ---- */

static uint64_t bucket_start(size_t at)
{
	return at ? (uint64_t)1 << (at - 1) : 0;
}

/* ns as microseconds with their fraction */
static void write_us(struct output *out, weight_fx ns)
{
	to_weight(out, ns * (WEIGHT_ONE / 1000));
}

static const struct {
	const char *name;
	double share;
} percentiles[] = {{"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}};

/* The buckets in use: from *first to *end, and the largest count. */
static uint64_t used_buckets(const struct histogram *histogram, size_t *first, size_t *end)
{
	uint64_t largest = 0;

	*first = HISTOGRAM_BUCKETS;
	*end = 0;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (!histogram->buckets[i])
			continue;
		*first = MIN_OF(*first, i);
		*end = i + 1;
		largest = MAX_OF(largest, histogram->buckets[i]);
	}
	return largest;
}

static void write_text(const struct histogram *histogram, struct slice name, struct output *out)
{
	static const char bar[] = "****************************************";
	char nr[NUM_GROUPED];
	size_t first, end;
	uint64_t largest = used_buckets(histogram, &first, &end);

	output_add(out, "\n", 1);
	output_add(out, name.at, name.size);
	output_printf(out, ": %s time%s, ", num_format_grouped(nr, histogram->nr),
	              histogram->nr == 1 ? "" : "s");
	write_us(out, histogram->sum_ns);
	output_string(out, " us in all; ");
	for (size_t i = 0; i < ARRAY_SIZE(percentiles); i++) {
		output_printf(out, "%s ", percentiles[i].name);
		write_us(out, histogram_percentile(histogram, percentiles[i].share));
		output_string(out, ", ");
	}
	output_string(out, "max ");
	write_us(out, histogram->max_ns);
	output_printf(out, " us\n%24s : %-10s distribution\n", "us", "count");
	for (size_t i = first; i < end; i++)
		output_printf(out, "%10llu -> %-10llu : %-10llu |%-*.*s|\n",
		              (unsigned long long)bucket_start(i),
		              (unsigned long long)(bucket_start(i + 1) - 1),
		              (unsigned long long)histogram->buckets[i], BAR_WIDTH,
		              (int)((double)histogram->buckets[i] * BAR_WIDTH / (double)largest),
		              bar);
}

static void write_json(const struct histogram *histogram, struct slice name, struct output *out)
{
	size_t first, end;

	used_buckets(histogram, &first, &end);
	output_string(out, "{\"name\": ");
	to_json_string(out, name);
	output_printf(out, ", \"count\": %llu, \"sum\": ", (unsigned long long)histogram->nr);
	write_us(out, histogram->sum_ns);
	for (size_t i = 0; i < ARRAY_SIZE(percentiles); i++) {
		output_printf(out, ", \"%s\": ", percentiles[i].name);
		write_us(out, histogram_percentile(histogram, percentiles[i].share));
	}
	output_string(out, ", \"max\": ");
	write_us(out, histogram->max_ns);
	output_string(out, ", \"buckets\": [");
	for (size_t i = first; i < end; i++)
		output_printf(out, "%s{\"from\": %llu, \"to\": %llu, \"count\": %llu}",
		              i > first ? ", " : "", (unsigned long long)bucket_start(i),
		              (unsigned long long)bucket_start(i + 1),
		              (unsigned long long)histogram->buckets[i]);
	output_string(out, "]}");
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct histogram *at = ctx;
	const uint32_t *x = a, *y = b;

	if (at[*x].sum_ns != at[*y].sum_ns)
		return at[*x].sum_ns > at[*y].sum_ns ? -1 : 1;
	return (*x > *y) - (*x < *y);
}

void histograms_write(const struct histograms *histograms, const struct folded_header *header,
                      bool as_json, struct output *out)
{
	const char *event = folded_header_get(header, "event");
	uint32_t *order = mem_alloc((histograms->nr + 1) * sizeof(*order));
	struct buf name = {0};

	for (size_t i = 0; i < histograms->nr; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, histograms->nr, sizeof(*order), compare, histograms->at);
	if (as_json) {
		output_string(out, "{\"event\": ");
		to_json_string(out, (struct slice){event ? event : "", event ? strlen(event) : 0});
		output_string(out, ", \"unit\": \"microseconds\", \"histograms\": [");
	} else {
		folded_header_write(header, out);
	}
	for (size_t i = 0; i < histograms->nr; i++) {
		const struct histogram *histogram = &histograms->at[order[i]];
		struct slice raw = strtab_slice(&histograms->names, order[i]);

		buf_reset(&name);
		folded_clean(&name, raw.at, raw.size);
		if (as_json) {
			output_string(out, i ? ",\n" : "\n");
			write_json(histogram, (struct slice){name.at, name.size}, out);
		} else {
			write_text(histogram, (struct slice){name.at, name.size}, out);
		}
	}
	if (as_json)
		output_string(out, "\n]}\n");
	buf_release(&name);
	free(order);
}
