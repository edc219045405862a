/* fuzz_textin.c - the text of perf script; the first byte picks the options. */
#include "share/compat.h"

#include "collapse/formats/format.h"

#include <sys/mman.h>
#include <unistd.h>

extern const struct format format_perf_script;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse(struct input *in, uint8_t choice)
{
	const struct format_options options = {
	        .by_comm = choice & 1,
	        .by_tid = choice & 2,
	        .addresses = choice & 4,
	        .srcline = choice & 8,
	        .flamegraph_compat = choice & 16,
	        .compat_kernel = choice & 16,
	        .compat_jit = choice & 16,
	        .inlines = choice & 32,
	        .annotate = choice & 32,
	        .all_events = choice & 64,
	        .count = choice & 128 ? COUNT_PERIOD : COUNT_SAMPLES,
	        .nr_threads = 1,
	};
	struct folded_header header = {0};
	struct format_report report = {0};
	struct folder folder;
	struct err err;

	folder_init(&folder);
	if (format_perf_script.parse(in, &folder, &options, &header, &report, &err) == 0 &&
	    options.count == COUNT_SAMPLES && folder.total != weight_from_u64(report.nr_samples))
		abort();
	folder_release(&folder);
	folded_header_release(&header);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("input", 0);
	char path[32];
	struct err err;
	struct input *in;

	if (!size)
		return 0;
	if (fd < 0 || write(fd, data + 1, size - 1) != (ssize_t)size - 1)
		abort();
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	in = input_open(path, 1 << 24, &err);
	if (in) {
		parse(in, data[0]);
		input_close(in);
	}
	close(fd);
	return 0;
}
