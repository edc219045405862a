/* test_histogram.c - buckets, percentiles and sums of times; tables by thread id. */
#include "share/compat.h"

#include "collapse/bytid.h"
#include "collapse/histogram.h"

#include <criterion/criterion.h>

static const struct slice name = {"app", 3};

Test(histogram, empty)
{
	struct histogram none = {0};

	cr_assert_eq(histogram_percentile(&none, 0.5), 0);
}

Test(histogram, buckets_are_powers_of_two_microseconds)
{
	static const struct {
		uint64_t ns;
		size_t bucket;
	} rows[] = {
	        {0, 0},    {999, 0},      {1000, 1},     {1999, 1},
	        {2000, 2}, {1023999, 10}, {1024000, 11}, {UINT64_MAX, 55},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct histograms all = {0};

		histograms_add(&all, name, rows[i].ns);
		cr_assert_eq(all.at[0].buckets[rows[i].bucket], 1, "row %zu", i);
		cr_assert_eq(histogram_percentile(&all.at[0], 0.5), rows[i].ns, "row %zu", i);
		histograms_release(&all);
	}
}

Test(histogram, percentiles_are_at_most_a_64th_above)
{
	struct histograms all = {0};
	static const double shares[] = {0.01, 0.5, 0.95, 0.99, 1};

	/* 1 us, 2 us, ... 10 ms: the share p of all is at p * 10 ms */
	for (uint64_t i = 1; i <= 10000; i++)
		histograms_add(&all, name, i * 1000);
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		uint64_t is = (uint64_t)(shares[i] * 1e7), got;

		got = histogram_percentile(&all.at[0], shares[i]);
		cr_assert(got >= is && got <= is + is / 64 + 1, "%f: %llu", shares[i],
		          (unsigned long long)got);
	}
	cr_assert_eq(all.at[0].nr, 10000);
	cr_assert_eq(all.at[0].max_ns, 10000000);
	cr_assert(all.at[0].sum_ns == 50005000000u);
	histograms_release(&all);
}

Test(histogram, names_are_cleaned_and_the_heaviest_comes_first)
{
	struct histograms all = {0};
	struct folded_header none = {0};
	struct output out = {.fd = -1};
	const char *text;

	histograms_add(&all, name, 1000);
	histograms_add(&all, (struct slice){"a\"\x1b;b", 5}, 5000);
	histograms_write(&all, &none, true, &out);
	text = buf_text(&out.buf);
	cr_assert(strstr(text, "\"a\\\" :b\""), "%s", text);
	cr_assert(strstr(text, "a\\\"") < strstr(text, "app"), "%s", text);
	buf_release(&out.buf);
	histograms_release(&all);
}

Test(bytid, pieces_stay_where_they_are)
{
	struct bytid table;
	int32_t *first;

	bytid_init(&table, sizeof(int32_t));
	first = bytid_get(&table, -7);
	cr_assert_eq(*first, 0);
	*first = 5;
	for (int32_t tid = 0; tid < 5000; tid++)
		*(int32_t *)bytid_get(&table, tid) = tid;
	cr_assert_eq(bytid_get(&table, -7), first);
	cr_assert_eq(*first, 5);
	for (int32_t tid = 0; tid < 5000; tid++)
		cr_assert_eq(*(int32_t *)bytid_get(&table, tid), tid);
	bytid_release(&table);
}
