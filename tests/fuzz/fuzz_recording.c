/* fuzz_recording.c - recordings, from any bytes to folded stacks. */
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
	if (recording_fold(in, options, &folder, &header, &report, &err) == 0 &&
	    options->count == MEASURE_SAMPLES && folder.total != weight_from_u64(report.nr_samples))
		abort();
	folder_release(&folder);
	folded_header_release(&header);
	input_close(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("recording", 0);
	struct recording_options options = {
	        .all_events = true,
	        .stacks = {.roots = {ROOT_COMM, ROOT_CGROUP, ROOT_CPU},
	                   .nr_roots = 3,
	                   .no_symbols = true,
	                   .annotate = true},
	};
	char path[32];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	fold(path, &options);
	options.all_events = false;
	options.count = MEASURE_PERIOD;
	options.stacks.frames.only = ONLY_USER;
	fold(path, &options);
	close(fd);
	return 0;
}
