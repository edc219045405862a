/* fuzz_times.c - recordings, from any bytes to times: waits, run queues, latencies, lines. */
#include "share/compat.h"

#include "collapse/recording.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fold(const char *path, const struct recording_options *options)
{
	struct recording_report report = {0};
	struct folded_header header = {0};
	struct folder folder;
	struct err err;
	struct input *in = input_open(path, 1 << 24, &err);

	if (!in)
		return;
	folder_init(&folder);
	/* what went into the stacks is what came out of them, to the last nanosecond */
	if (recording_fold(in, options, &folder, &header, &report, &err) == 0 &&
	    folder.total != report.folded.total)
		abort();
	folder_release(&folder);
	folded_header_release(&header);
	input_close(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum timing_what all[] = {TIMING_OFF_CPU, TIMING_WALL, TIMING_RUN_QUEUE,
	                                       TIMING_LATENCY, TIMING_TIMEHIST};
	int fd = memfd_create("recording", 0);
	char path[32];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct histograms histograms = {0};
		struct output out = {.fd = -1};
		struct recording_options options = {
		        .count = MEASURE_TIME,
		        .timing = {.what = all[i],
		                   .by_state = true,
		                   .by_waker = all[i] == TIMING_OFF_CPU,
		                   .min_ns = all[i] == TIMING_WALL ? 2000 : 0,
		                   .pair = "raw_syscalls:sys_enter,raw_syscalls:sys_exit",
		                   .histograms = &histograms,
		                   .out = &out},
		        .stacks = {.roots = {ROOT_COMM}, .nr_roots = 1, .no_symbols = true},
		};
		struct folded_header none = {0};

		fold(path, &options);
		histograms_write(&histograms, &none, i & 1, &out);
		histograms_release(&histograms);
		buf_release(&out.buf);
	}
	close(fd);
	return 0;
}
