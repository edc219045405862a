/* test_input.c - plain, gzip and zstd input; checked output. */
#include "share/compat.h"

#include "share/buf.h"
#include "share/input.h"
#include "share/output.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

static char path[] = "/tmp/flame-test-input.XXXXXX";

static void write_file(const void *bytes, size_t size)
{
	int fd;

	memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
	fd = mkstemp(path);
	cr_assert(fd >= 0);
	cr_assert(write(fd, bytes, size) == (ssize_t)size);
	close(fd);
}

static struct buf gzip(const void *bytes, size_t size)
{
	z_stream z = {0};
	struct buf out = {0};

	buf_reserve(&out, size + 1024);
	deflateInit2(&z, 6, Z_DEFLATED, 16 + 15, 8, Z_DEFAULT_STRATEGY);
	z.next_in = (unsigned char *)(uintptr_t)bytes;
	z.avail_in = (unsigned)size;
	z.next_out = (unsigned char *)out.at;
	z.avail_out = (unsigned)out.capacity;
	cr_assert_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
	out.size = z.total_out;
	deflateEnd(&z);
	return out;
}

static struct buf zstd(const void *bytes, size_t size)
{
	struct buf out = {0};

	buf_reserve(&out, ZSTD_compressBound(size));
	out.size = ZSTD_compress(out.at, out.capacity, bytes, size, 3);
	cr_assert(!ZSTD_isError(out.size));
	return out;
}

/* 1 MB of lines, more than one chunk of any layer. */
static struct buf many_lines(void)
{
	struct buf text = {0};

	for (int i = 0; i < 60000; i++)
		buf_printf(&text, "line number %d\n", i);
	return text;
}

static void expect_lines(struct input *in, int nr)
{
	struct slice line;
	struct err err;

	for (int i = 0; i < nr; i++) {
		char want[32];

		snprintf(want, sizeof(want), "line number %d", i % 60000);
		cr_assert_eq(input_line(in, &line, &err), 1, "line %d", i);
		cr_assert(slice_equals(line, want), "line %d", i);
	}
	cr_assert_eq(input_line(in, &line, &err), 0);
}

Test(input, every_coding_gives_the_same_lines)
{
	struct buf text = many_lines();
	struct buf twice = {0};
	struct buf coded[4] = {{0}, gzip(text.at, text.size), zstd(text.at, text.size), {0}};

	buf_add(&coded[0], text.at, text.size);
	coded[3] = zstd(coded[1].at, coded[1].size); /* a gzipped file, archived */
	/* members that follow each other are one input (RFC 1952, 2.2) */
	buf_add(&twice, coded[1].at, coded[1].size);
	buf_add(&twice, coded[1].at, coded[1].size);
	for (int i = 0; i < 4; i++) {
		struct err err;
		struct input *in;

		write_file(coded[i].at, coded[i].size);
		in = input_open(path, 0, &err);
		cr_assert(in, "%s", err.text);
		expect_lines(in, 60000);
		cr_expect_eq(input_offset(in), text.size);
		input_close(in);
		unlink(path);
		buf_release(&coded[i]);
	}
	write_file(twice.at, twice.size);
	{
		struct err err;
		struct input *in = input_open(path, 0, &err);

		cr_assert(in, "%s", err.text);
		expect_lines(in, 120000);
		input_close(in);
		unlink(path);
	}
	buf_release(&twice);
	buf_release(&text);
}

Test(input, a_cut_in_compressed_data_is_an_error)
{
	struct buf text = many_lines();
	struct buf coded[] = {gzip(text.at, text.size), zstd(text.at, text.size)};

	for (size_t i = 0; i < ARRAY_SIZE(coded); i++) {
		struct slice line;
		struct err err = {0};
		struct input *in;
		int rc, nr = 0;

		write_file(coded[i].at, coded[i].size / 2);
		in = input_open(path, 0, &err);
		cr_assert(in);
		while ((rc = input_line(in, &line, &err)) > 0)
			nr++;
		cr_expect_eq(rc, -1);
		cr_expect(strstr(err.text, "ends inside its compressed data"), "%s", err.text);
		cr_expect(nr > 1000, "the whole part is read: %d lines", nr);
		input_close(in);
		unlink(path);
		buf_release(&coded[i]);
	}
	buf_release(&text);
}

Test(input, limit_stops_a_bomb)
{
	struct buf zeros = {0}, coded;
	struct slice all;
	struct err err = {0};
	struct input *in;

	buf_reserve(&zeros, 64 << 20);
	zeros.size = 64 << 20;
	memset(zeros.at, 0, zeros.size);
	coded = zstd(zeros.at, zeros.size);
	cr_assert(coded.size < 65536);
	write_file(coded.at, coded.size);
	in = input_open(path, 1 << 20, &err);
	cr_assert(in);
	cr_expect_eq(input_all(in, SIZE_MAX, &all, &err), -1);
	cr_expect(strstr(err.text, "limit"), "%s", err.text);
	input_close(in);
	unlink(path);
	buf_release(&zeros);
	buf_release(&coded);
}

Test(input, refuses_what_is_no_file)
{
	struct err err;

	cr_expect(!input_open("/nonexistent/x", 0, &err));
	cr_expect_eq(err.code, ENOENT);
	cr_expect(!input_open("/tmp", 0, &err));
	cr_expect(strstr(err.text, "directory"), "%s", err.text);
}

Test(input, byte_order_marks)
{
	static const struct {
		const char *label, *bytes;
		size_t size;
	} rows[] = {
	        {"UTF-8",
	         "\xef\xbb\xbf"
	         "a\xc3\xa9\xf0\x9f\x94\xa5 1",
	         12},
	        {"UTF-16, low byte first",
	         "\xff\xfe"
	         "a\0\xe9\0\x3d\xd8\x25\xdd \0"
	         "1\0",
	         14},
	        {"UTF-16, high byte first",
	         "\xfe\xff"
	         "\0a\0\xe9\xd8\x3d\xdd\x25\0 \0"
	         "1",
	         14},
	        {"UTF-16, an odd byte at the end",
	         "\xff\xfe"
	         "a\0\xe9\0\x3d\xd8\x25\xdd \0"
	         "1\0x",
	         15},
	};

	/* as it is, and inside of either compression */
	for (size_t i = 0; i < 3 * ARRAY_SIZE(rows); i++) {
		size_t row = i / 3;
		struct buf bytes = {0};
		struct slice line;
		struct err err;
		struct input *in;

		if (i % 3 == 0)
			buf_add(&bytes, rows[row].bytes, rows[row].size);
		else
			bytes = i % 3 == 1 ? gzip(rows[row].bytes, rows[row].size) :
			                     zstd(rows[row].bytes, rows[row].size);
		write_file(bytes.at, bytes.size);
		in = input_open(path, 0, &err);
		cr_assert(in, "%s", err.text);
		cr_assert_eq(input_line(in, &line, &err), 1, "%s", rows[row].label);
		cr_expect(slice_equals(line, "a\xc3\xa9\xf0\x9f\x94\xa5 1"), "%s: %.*s",
		          rows[row].label, (int)line.size, line.at);
		cr_expect_eq(input_line(in, &line, &err), 0, "%s", rows[row].label);
		input_close(in);
		unlink(path);
		buf_release(&bytes);
	}
}

Test(input, a_pipe_in_pieces)
{
	static const char text[] = "a 1\nb 2";

	/* a writer that hands over a byte at a time, and inputs shorter than any magic */
	for (size_t size = 1; size < sizeof(text); size++) {
		int ends[2];
		char name[32], got[16] = "";
		struct err err;
		struct input *in;
		ssize_t done, used = 0;

		cr_assert_eq(pipe(ends), 0);
		if (fork() == 0) {
			for (size_t i = 0; i < size; i++)
				if (write(ends[1], text + i, 1) != 1)
					_exit(1);
			_exit(0);
		}
		close(ends[1]);
		snprintf(name, sizeof(name), "/dev/fd/%d", ends[0]);
		in = input_open(name, 0, &err);
		cr_assert(in, "%s", err.text);
		while ((done = input_read(in, got + used, sizeof(got) - (size_t)used, &err)) > 0)
			used += done;
		cr_expect(done == 0 && used == (ssize_t)size && memcmp(got, text, size) == 0,
		          "size %zu: got '%s'", size, got);
		input_close(in);
		close(ends[0]);
	}
}

Test(input, lines_at_the_edges)
{
	static const struct {
		const char *text;
		const char *lines[4];
	} rows[] = {
	        {"", {NULL}},
	        {"\n", {"", NULL}},
	        {"a", {"a", NULL}},
	        {"a\r\nb\r\n", {"a", "b", NULL}},
	        {"a\n\nb", {"a", "", "b", NULL}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct slice line;
		struct err err;
		struct input *in;

		write_file(rows[i].text, strlen(rows[i].text));
		in = input_open(path, 0, &err);
		cr_assert(in, "%s", err.text);
		for (int j = 0; rows[i].lines[j]; j++) {
			cr_assert_eq(input_line(in, &line, &err), 1, "row %zu", i);
			cr_assert(slice_equals(line, rows[i].lines[j]), "row %zu", i);
		}
		cr_expect_eq(input_line(in, &line, &err), 0, "row %zu", i);
		input_close(in);
		unlink(path);
	}
}

Test(output, appears_whole_or_not_at_all)
{
	char name[64];
	struct output out;
	struct err err;
	struct stat st;

	write_file("old", 3);
	snprintf(name, sizeof(name), "%s", path);
	cr_assert_eq(output_open(&out, name, &err), 0);
	output_string(&out, "new text");
	output_flush(&out);
	cr_expect(stat(name, &st) == 0 && st.st_size == 3, "the old file stands until the end");
	cr_assert_eq(output_close(&out, &err), 0);
	cr_expect(stat(name, &st) == 0 && st.st_size == 8);
	cr_assert_eq(output_open(&out, name, &err), 0);
	output_string(&out, "x");
	output_discard(&out);
	cr_expect(stat(name, &st) == 0 && st.st_size == 8);
	unlink(name);
}

Test(output, a_full_device_is_told)
{
	struct output out;
	struct err err;

	cr_assert_eq(output_open(&out, "/dev/full", &err), 0);
	output_string(&out, "x");
	cr_expect_eq(output_close(&out, &err), -1);
	cr_expect_eq(err.code, ENOSPC);
}
