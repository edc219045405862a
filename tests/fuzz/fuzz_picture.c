/* fuzz_picture.c - any bytes as folded stacks, drawn: the SVG must be well-formed. */
#include "share/compat.h"

#include "render/picture.h"

#include <libxml/parser.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int memory_file(char *path, size_t path_size)
{
	int fd = memfd_create("file", 0);

	if (fd < 0)
		abort();
	snprintf(path, path_size, "/dev/fd/%d", fd);
	return fd;
}

static void draw(struct frametree *tree, const struct folded_header *header, bool small)
{
	struct picture picture = {
	        .title = "<title> & ]]>",
	        .frame_height = 18,
	        .font_size = 12,
	        .font_width = 0.62,
	        .min_width = 0.1,
	        .header = header,
	};
	struct layout layout;
	struct output out = {0};
	char path[32];
	struct err err;
	int fd = memory_file(path, sizeof(path));
	off_t size;
	char *text;
	xmlDocPtr doc;

	out.fd = dup(fd);
	layout_init(&layout, tree, 1, small ? 200 : 0);
	picture_write(&picture, &layout, &out);
	layout_release(&layout);
	if (output_close(&out, &err) < 0)
		abort();
	size = lseek(fd, 0, SEEK_END);
	text = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
	doc = xmlReadMemory(text, (int)size, "x.svg", NULL, XML_PARSE_HUGE | XML_PARSE_NONET);
	if (!doc)
		abort();
	xmlFreeDoc(doc);
	munmap(text, (size_t)size);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const base[] = {"b"};
	struct frametree tree = {0};
	struct folded_reader reader;
	char path[32];
	struct err err;
	struct input *in;
	int fd;

	/* the first byte chooses how the tree is merged */
	if (size < 2 || size > 65536)
		return 0;
	fd = memory_file(path, sizeof(path));
	if (write(fd, data + 1, size - 1) != (ssize_t)size - 1)
		abort();
	tree.reverse = data[0] & 1;
	tree.chart = data[0] & 2;
	tree.base = base;
	tree.nr_base = data[0] >> 2 & 1;
	in = input_open(path, 1 << 20, &err);
	if (in) {
		folded_reader_init(&reader, in);
		if (frametree_read(&tree, &reader, &err) == 0) {
			frametree_build(&tree);
			draw(&tree, &reader.header, data[0] & 8);
		}
		folded_reader_release(&reader);
		input_close(in);
	}
	frametree_release(&tree);
	close(fd);
	return 0;
}
