/* test_reorder.c - records in order of time, with rounds and without. */
#include "share/compat.h"

#include "collapse/records/reorder.h"
#include "share/mem.h"

#include <criterion/criterion.h>

/* Records of 16 bytes: the header and the number of the record. */
struct fixture {
	struct reader reader;
	struct reorder reorder;
	uint64_t bytes[4096][2];
	unsigned nr_made;
	uint64_t times[4096];
	uint64_t seen[4096];
	unsigned nr_seen;
};

static struct fixture *f;

static void seen(void *ctx, const struct record *record, struct event *event, uint64_t time)
{
	(void)ctx;
	(void)event;
	(void)time;
	memcpy(&f->seen[f->nr_seen++], record->at + 8, 8);
}

static void begin(void)
{
	f = mem_zalloc(sizeof(*f));
	reorder_init(&f->reorder, &f->reader, seen, NULL);
}

static void end(void)
{
	reorder_release(&f->reorder);
	free(f);
}

static void add(uint64_t time, bool is_stable)
{
	uint64_t *bytes = f->bytes[f->nr_made];
	struct record record;

	bytes[0] = PERF_RECORD_COMM | (uint64_t)16 << 48;
	bytes[1] = f->nr_made;
	f->times[f->nr_made++] = time;
	reader_record_at(&f->reader, (const uint8_t *)bytes, &record);
	record.is_stable = is_stable;
	reorder_add(&f->reorder, &record, NULL, time);
	/* what is not stable is gone after the call */
	if (!is_stable)
		memset(bytes, 0xee, 16);
}

/* All were seen; times never fall; equal times keep the order they came in. */
static void check_order(const char *label)
{
	cr_assert(f->nr_seen == f->nr_made, "%s: %u of %u", label, f->nr_seen, f->nr_made);
	for (unsigned i = 1; i < f->nr_seen; i++) {
		uint64_t before = f->times[f->seen[i - 1]], now = f->times[f->seen[i]];

		cr_assert(before < now || (before == now && f->seen[i - 1] < f->seen[i]),
		          "%s: record %llu (time %llu) before %llu (time %llu)", label,
		          (unsigned long long)f->seen[i - 1], (unsigned long long)before,
		          (unsigned long long)f->seen[i], (unsigned long long)now);
	}
}

TestSuite(reorder, .init = begin, .fini = end);

Test(reorder, rings_drained_one_after_the_other)
{
	for (unsigned round = 0; round < 20; round++) {
		/* three rings; what is in them may be as old as the round before */
		for (unsigned ring = 0; ring < 3; ring++)
			for (unsigned i = 0; i < 60; i++)
				add(1000 + round * 100 + i + 30 * (ring % 2), ring != 1);
		reorder_round(&f->reorder);
		cr_assert(f->nr_made - f->nr_seen <= 2 * 180, "rounds set records free");
	}
	reorder_finish(&f->reorder);
	check_order("rings");
	cr_assert(f->reorder.nr_late == 0);
	cr_assert(f->reorder.copied_size == 0, "copies are given back");
}

Test(reorder, equal_times_keep_their_order)
{
	for (unsigned i = 0; i < 1000; i++)
		add(5 + i % 2, i % 3 == 0);
	reorder_finish(&f->reorder);
	check_order("equal times");
}

Test(reorder, without_rounds_the_older_half_goes_early)
{
	f->reorder.max_records = 64;
	/* out of order within less than half of the limit */
	for (unsigned i = 0; i < 2000; i++)
		add(100 + (i ^ 7), false);
	cr_assert(f->reorder.nr <= 64);
	reorder_finish(&f->reorder);
	check_order("half by half");
}

Test(reorder, copies_are_limited_too)
{
	f->reorder.max_copied = 1024;
	for (unsigned i = 0; i < 2000; i++)
		add(100 + (i ^ 3), false);
	cr_assert(f->reorder.copied_size <= 1024 + 16);
	reorder_finish(&f->reorder);
	check_order("copies");
}

Test(reorder, no_time_means_at_once)
{
	add(50, true);
	add(0, true);
	add(UINT64_MAX, true);
	cr_assert(f->nr_seen == 2 && f->seen[0] == 1 && f->seen[1] == 2);
	reorder_finish(&f->reorder);
	cr_assert(f->nr_seen == 3 && f->seen[2] == 0);
}

Test(reorder, late_ones_are_counted)
{
	add(50, true);
	reorder_round(&f->reorder);
	reorder_round(&f->reorder);
	add(40, true);
	reorder_finish(&f->reorder);
	cr_assert(f->nr_seen == 2);
	cr_assert(f->reorder.nr_late == 1);
}
