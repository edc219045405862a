/* fuzz_folded.c - the folded reader, over any bytes. */
#include "share/compat.h"

#include "share/folded.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("input", 0);
	struct folded_reader reader;
	struct folded_stack stack;
	char path[32];
	struct err err;
	struct input *in;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	in = input_open(path, 1 << 24, &err);
	if (in) {
		folded_reader_init(&reader, in);
		while (folded_next(&reader, &stack, &err) > 0) {
			struct slice rest = stack.stack, frame;

			while (folded_frame(&rest, &frame))
				if (memchr(frame.at, ';', frame.size))
					abort();
		}
		folded_reader_release(&reader);
		input_close(in);
	}
	close(fd);
	return 0;
}
