/* fuzz_join.c - two folded inputs, cut at the first NUL, joined, scaled, judged, reported. */
#include "share/compat.h"

#include "diff/columns.h"
#include "diff/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const struct join *join, enum scale_mode mode)
{
	struct output out = {.fd = -1};
	struct verdict verdict;
	struct scale scale;
	weight_fx sum = 0;
	struct err err;

	if (scale_init(&scale, join, mode, &err) < 0)
		return;
	for (size_t i = 0; i < join->nr_stacks; i++)
		sum += scale_next(&scale, columns_sum(join, i, JOIN_BEFORE));
	if (mode == SCALE_TOTAL && scale.totals[0] && scale.totals[1] && sum != scale.totals[1])
		abort();
	scale_init(&scale, join, mode, &err);
	columns_write(join, &scale, true, &out);
	verdict_find(&verdict, join,
	             (struct verdict_options){
	                     .measure = (enum verdict_measure)mode, .mode = mode, .fdr = 1});
	for (int format = REPORT_TEXT; format <= REPORT_CSV; format++)
		report_write(&(struct report){.format = (enum report_format)format,
		                              .verdict = &verdict,
		                              .scale = &scale},
		             &out);
	verdict_release(&verdict);
	buf_release(&out.buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = memchr(data, 0, size);
	struct canon canon = {.rules = CANON_ALL};
	struct join join;
	bool good = true;

	if (!nul || size > 100000)
		return 0;
	join_init(&join, &canon, 2);
	for (int side = 0; side < 2 && good; side++) {
		const uint8_t *at = side ? nul + 1 : data, *end = side ? data + size : nul;
		struct buf bytes = {0};
		struct input *in;
		char bad[512];
		struct err err;

		buf_add(&bytes, at, (size_t)(end - at));
		in = input_of_bytes("bytes", &bytes);
		good = join_read(&join, (enum join_side)side, in, bad, sizeof(bad), &err) == 0;
		input_close(in);
	}
	for (int mode = SCALE_TOTAL; good && mode <= SCALE_NONE; mode++)
		use(&join, (enum scale_mode)mode);
	join_release(&join);
	canon_release(&canon);
	return 0;
}
