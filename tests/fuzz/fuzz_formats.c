/*
 * fuzz_formats.c - the readers of other profilers' formats, over any bytes.
 *
 * The input begins with a line that names the format; where it names none, the
 * whole input is given to the format that detection picks.
 */
#include "share/compat.h"

#include "collapse/formats/format.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fold(const struct format *format, struct input *in, size_t size)
{
	/* both ways through the options that change names */
	struct format_options options = {.by_comm = true,
	                                 .by_tid = size % 2,
	                                 .annotate = true,
	                                 .inlines = size % 3,
	                                 .srcline = size % 2,
	                                 .nr_threads = 1};
	struct format_report report = {0};
	struct folded_header header = {0};
	struct folder folder;
	struct err err;
	weight_fx sum = 0;

	folder_init(&folder);
	format->parse(in, &folder, &options, &header, &report, &err);
	for (uint32_t i = 0; i < folder.nr; i++)
		sum += folder.nodes[i].self;
	if (sum != folder.total)
		abort();
	folder_release(&folder);
	folded_header_release(&header);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *newline = size ? memchr(data, '\n', size) : NULL;
	const struct format *format = NULL;
	int fd = memfd_create("input", 0);
	struct input *in;
	char path[32];
	struct err err;

	if (newline && newline - data < 32) {
		char name[32];

		memcpy(name, data, (size_t)(newline - data));
		name[newline - data] = 0;
		format = format_by_name(name);
		if (format) {
			size -= (size_t)(newline + 1 - data);
			data = newline + 1;
		}
	}
	if (!format)
		format =
		        format_detect((struct slice){(const char *)data, MIN_OF(size, FORMAT_HEAD)},
		                      size < FORMAT_HEAD);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	in = format && size ? input_open(path, 1 << 24, &err) : NULL;
	if (in) {
		fold(format, in, size);
		input_close(in);
	}
	close(fd);
	return 0;
}
