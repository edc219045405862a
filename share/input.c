#include "share/compat.h"
#include "share/input.h"

#include "share/buf.h"
#include "share/readahead.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define LAYERS_MAX 3 /* of coding inside of coding */

enum coding { CODING_PLAIN, CODING_GZIP, CODING_ZSTD, CODING_UTF16LE, CODING_UTF16BE };

#define CHUNK_SIZE ((size_t)256 * 1024)
#define GIVE_BACK  ((size_t)16 << 20)

struct input {
	char *name;
	int fd;
	struct input *source; /* owned: where coded bytes come from in place of fd, or NULL */
	enum coding coding;
	uint64_t limit;   /* of decoded bytes, or 0 */
	uint64_t decoded; /* bytes produced so far */
	uint64_t consumed;
	uint64_t lines;

	/* unread decoded bytes: window[start..end) */
	const char *window; /* never NULL: it is added to */
	size_t start, end;
	bool at_end; /* nothing follows the window */

	void *map; /* of a plain regular file, else NULL */
	size_t map_size;
	size_t given_back;           /* bytes of the map that were read and let go */
	size_t forgotten;            /* bytes of the map handed back */
	struct readahead *readahead; /* or NULL */

	struct buf decoded_buf; /* backs the window where nothing is mapped */
	char *raw;              /* CHUNK_SIZE bytes of coded input */
	size_t raw_start, raw_end;
	bool raw_at_end;
	uint16_t surrogate; /* first half of a UTF-16 pair, or 0 */
	bool in_frame;      /* inside a compressed frame: the end here is a cut */
	z_stream gzip;
	ZSTD_DStream *zstd;
};

static bool has_raw(const struct input *in)
{
	/* one byte alone may be half of a UTF-16 unit */
	size_t enough = in->coding == CODING_UTF16LE || in->coding == CODING_UTF16BE ? 2 : 1;

	return in->raw_end - in->raw_start >= enough;
}

/* NOLINTNEXTLINE(misc-no-recursion): as many levels as there are layers of compression, a few */
static ssize_t read_raw(struct input *in, char *to, size_t size, struct err *err)
{
	ssize_t done;

	if (in->source)
		return input_read(in->source, to, size, err);
	do
		done = read(in->fd, to, size);
	while (done < 0 && errno == EINTR);
	return done < 0 ? err_sys(err, "cannot read '%s'", in->name) : done;
}

/* NOLINTNEXTLINE(misc-no-recursion): see read_raw */
static int fill_raw(struct input *in, struct err *err)
{
	size_t kept = in->raw_end - in->raw_start;
	ssize_t done;

	if (has_raw(in) || in->raw_at_end)
		return 0;
	memmove(in->raw, in->raw + in->raw_start, kept);
	done = read_raw(in, in->raw + kept, CHUNK_SIZE - kept, err);
	if (done < 0)
		return -1;
	in->raw_start = 0;
	in->raw_end = kept + (size_t)done;
	in->raw_at_end = done == 0;
	return 0;
}

static int begin_coding(struct input *in, struct err *err)
{
	const unsigned char *p = (const unsigned char *)in->raw;

	/* a pipe may hand over the magic in pieces */
	while (in->raw_end < 4 && !in->raw_at_end) {
		ssize_t done = read_raw(in, in->raw + in->raw_end, CHUNK_SIZE - in->raw_end, err);

		if (done < 0)
			return -1;
		in->raw_end += (size_t)done;
		in->raw_at_end = done == 0;
	}
	if (in->raw_end >= 3 && p[0] == 0x1f && p[1] == 0x8b && p[2] == 8) {
		in->coding = CODING_GZIP;
		/* 16 + 15: gzip wrapper, largest window (zlib.h) */
		if (inflateInit2(&in->gzip, 16 + 15) != Z_OK)
			return err_set(err, "cannot start zlib");
	} else if (in->raw_end >= 4 && p[0] == 0x28 && p[1] == 0xb5 && p[2] == 0x2f &&
	           p[3] == 0xfd) {
		in->coding = CODING_ZSTD;
		in->zstd = ZSTD_createDStream();
		if (!in->zstd)
			return err_set(err, "cannot start zstd");
	} else if (in->raw_end >= 2 && p[0] == 0xff && p[1] == 0xfe) {
		in->coding = CODING_UTF16LE;
		in->raw_start = 2;
	} else if (in->raw_end >= 2 && p[0] == 0xfe && p[1] == 0xff) {
		in->coding = CODING_UTF16BE;
		in->raw_start = 2;
	} else if (in->raw_end >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
		in->raw_start = 3;
	}
	return 0;
}

/* What has a decoder; bytes of a mark alone, which is cut off as it is found, need none. */
static bool is_coded(const char *at, size_t size)
{
	static const char *const marks[] = {"\xff\xfe", "\xfe\xff", "\x1f\x8b\x08",
	                                    "\x28\xb5\x2f\xfd"};

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (size >= strlen(marks[i]) && memcmp(at, marks[i], strlen(marks[i])) == 0)
			return true;
	return false;
}

/*
 * What was coded before it was compressed, UTF-16 or a file that is kept
 * gzipped: its decoder reads what the decompressor makes.
 */
/* NOLINTNEXTLINE(misc-no-recursion): see read_raw */
static struct input *open_inside(struct input *in, unsigned layers)
{
	struct input *outer;
	struct err ignored; /* whoever reads on meets it again */
	const char *at;
	size_t size;

	if (!layers || (in->coding != CODING_GZIP && in->coding != CODING_ZSTD) ||
	    input_peek(in, 4, &at, &size, &ignored) < 0 || !is_coded(at, size))
		return in;
	outer = mem_zalloc(sizeof(*outer));
	outer->name = mem_strdup(in->name);
	outer->window = "";
	outer->limit = in->limit;
	outer->fd = -1;
	outer->source = in;
	outer->raw = mem_alloc(CHUNK_SIZE);
	/* the first bytes are there already, and a mark needs no decoder */
	begin_coding(outer, &ignored);
	return open_inside(outer, layers - 1);
}

struct input *input_open(const char *path, uint64_t limit, struct err *err)
{
	bool is_stdin = !path || strcmp(path, "-") == 0;
	struct input *in = mem_zalloc(sizeof(*in));
	struct stat st;

	in->name = mem_strdup(is_stdin ? "stdin" : path);
	in->window = "";
	in->limit = limit;
	in->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (in->fd < 0 || fstat(in->fd, &st) < 0) {
		err_sys(err, "cannot open '%s'", in->name);
		goto fail;
	}
	if (S_ISDIR(st.st_mode)) {
		err_set(err, "'%s' is a directory, not a file", in->name);
		goto fail;
	}
	in->raw = mem_alloc(CHUNK_SIZE);
	if (begin_coding(in, err) < 0)
		goto fail;
	if (in->coding == CODING_PLAIN && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    lseek(in->fd, 0, SEEK_CUR) == (off_t)in->raw_end) {
		in->map_size = (size_t)st.st_size;
		in->map = mmap(NULL, in->map_size, PROT_READ, MAP_PRIVATE, in->fd, 0);
		if (in->map == MAP_FAILED) {
			in->map = NULL;
		} else {
			madvise(in->map, in->map_size, MADV_SEQUENTIAL);
			in->window = in->map;
			in->start = in->raw_start; /* behind a byte order mark */
			in->end = in->map_size;
			in->at_end = true;
			if (limit && in->map_size > limit) {
				err_set(err, "'%s' is larger than the limit of %llu bytes",
				        in->name, (unsigned long long)limit);
				goto fail;
			}
		}
	}
	return open_inside(in, LAYERS_MAX);
fail:
	input_close(in);
	return NULL;
}

struct input *input_of_bytes(const char *name, struct buf *bytes)
{
	struct input *in = mem_zalloc(sizeof(*in));

	in->name = mem_strdup(name);
	in->fd = -1;
	in->decoded_buf = *bytes;
	*bytes = (struct buf){0};
	in->window = in->decoded_buf.at ? in->decoded_buf.at : "";
	in->end = in->decoded_buf.size;
	in->at_end = true;
	return in;
}

/* NOLINTNEXTLINE(misc-no-recursion): see read_raw */
void input_close(struct input *in)
{
	if (!in)
		return;
	readahead_stop(in->readahead);
	if (in->map)
		munmap(in->map, in->map_size);
	if (in->fd > STDIN_FILENO)
		close(in->fd);
	if (in->coding == CODING_GZIP)
		inflateEnd(&in->gzip);
	ZSTD_freeDStream(in->zstd);
	input_close(in->source);
	buf_release(&in->decoded_buf);
	free(in->raw);
	free(in->name);
	free(in);
}

const char *input_name(const struct input *in)
{
	return in->name;
}

/* Decodes some of raw into room bytes at `to`; returns bytes made or -1. */
static ssize_t decode_gzip(struct input *in, char *to, size_t room, struct err *err)
{
	int rc;

	if (!in->in_frame) {
		inflateReset(&in->gzip);
		in->in_frame = true;
	}
	in->gzip.next_in = (unsigned char *)in->raw + in->raw_start;
	in->gzip.avail_in = (unsigned)(in->raw_end - in->raw_start);
	in->gzip.next_out = (unsigned char *)to;
	in->gzip.avail_out = (unsigned)room;
	rc = inflate(&in->gzip, Z_NO_FLUSH);
	in->raw_start = in->raw_end - in->gzip.avail_in;
	if (rc == Z_STREAM_END)
		in->in_frame = false;
	else if (rc != Z_OK && rc != Z_BUF_ERROR)
		return err_set(err, "'%s' holds damaged gzip data: %s", in->name,
		               in->gzip.msg ? in->gzip.msg : "unknown reason");
	return (ssize_t)(room - in->gzip.avail_out);
}

static ssize_t decode_zstd(struct input *in, char *to, size_t room, struct err *err)
{
	ZSTD_inBuffer from = {in->raw, in->raw_end, in->raw_start};
	ZSTD_outBuffer into = {to, room, 0};
	size_t rc = ZSTD_decompressStream(in->zstd, &into, &from);

	if (ZSTD_isError(rc))
		return err_set(err, "'%s' holds damaged zstd data: %s", in->name,
		               ZSTD_getErrorName(rc));
	in->raw_start = from.pos;
	in->in_frame = rc != 0;
	return (ssize_t)into.pos;
}

/*
 * UTF-16 (RFC 2781) to UTF-8, one unit at a time; a surrogate without its
 * other half becomes U+FFFD, an odd byte at the very end is dropped.
 */
static ssize_t decode_utf16(struct input *in, char *to, size_t room)
{
	const unsigned char *raw = (const unsigned char *)in->raw;
	int high = in->coding == CODING_UTF16LE;
	size_t made = 0;

	while (in->raw_end - in->raw_start >= 2 && room - made >= 4) {
		const unsigned char *p = raw + in->raw_start;
		uint32_t c = (uint32_t)p[high] << 8 | p[!high];

		in->raw_start += 2;
		if (c >= 0xd800 && c < 0xdc00) {
			in->surrogate = (uint16_t)c;
			continue;
		}
		if (c >= 0xdc00 && c < 0xe000)
			c = in->surrogate ?
			            0x10000 + ((in->surrogate - 0xd800u) << 10) + (c - 0xdc00) :
			            0xfffd;
		in->surrogate = 0;
		if (c < 0x80) {
			to[made++] = (char)c;
			continue;
		}
		if (c >= 0x10000) {
			to[made++] = (char)(0xf0 | c >> 18);
			to[made++] = (char)(0x80 | (c >> 12 & 0x3f));
		} else if (c >= 0x800) {
			to[made++] = (char)(0xe0 | c >> 12);
		}
		if (c >= 0x800)
			to[made++] = (char)(0x80 | (c >> 6 & 0x3f));
		else
			to[made++] = (char)(0xc0 | c >> 6);
		to[made++] = (char)(0x80 | (c & 0x3f));
	}
	return (ssize_t)made;
}

static ssize_t decode(struct input *in, char *to, size_t room, struct err *err)
{
	ssize_t made;

	switch (in->coding) {
	case CODING_GZIP:
		made = decode_gzip(in, to, room, err);
		break;
	case CODING_ZSTD:
		made = decode_zstd(in, to, room, err);
		break;
	case CODING_UTF16LE:
	case CODING_UTF16BE:
		made = decode_utf16(in, to, room);
		break;
	default:
		made = (ssize_t)MIN_OF(room, in->raw_end - in->raw_start);
		memcpy(to, in->raw + in->raw_start, (size_t)made);
		in->raw_start += (size_t)made;
	}
	return made;
}

static int check_limit(const struct input *in, struct err *err)
{
	if (in->limit && in->decoded > in->limit)
		return err_set(err, "'%s' is larger than the limit of %llu bytes", in->name,
		               (unsigned long long)in->limit);
	return 0;
}

/* Appends at least one decoded byte to the window, or sets at_end. */
/* NOLINTNEXTLINE(misc-no-recursion): see read_raw */
static int fill(struct input *in, struct err *err)
{
	static const char utf8_mark[] = "\xef\xbb\xbf";
	bool is_compressed = in->coding == CODING_GZIP || in->coding == CODING_ZSTD;
	struct buf *buf = &in->decoded_buf;

	if (in->start) {
		memmove(buf->at, buf->at + in->start, in->end - in->start);
		in->end -= in->start;
		in->start = 0;
	}
	buf->size = in->end;
	buf_reserve(buf, CHUNK_SIZE);
	in->window = buf->at;
	for (;;) {
		ssize_t made;

		/* once the coded input ended only the decoder's own rest can follow */
		if (fill_raw(in, err) < 0)
			return -1;
		if (!has_raw(in) && !(in->coding == CODING_ZSTD && in->in_frame)) {
			/* a failure must come again for a caller that asks again */
			if (in->in_frame)
				return err_set(err, "'%s' ends inside its compressed data",
				               in->name);
			in->at_end = true;
			return 0;
		}
		made = decode(in, buf->at + in->end, buf->capacity - in->end, err);
		if (made < 0)
			return -1;
		if (made == 0 && in->raw_at_end && !has_raw(in))
			return err_set(err, "'%s' ends inside its compressed data", in->name);
		if (made == 0)
			continue;
		in->end += (size_t)made;
		in->decoded += (size_t)made;
		/* a UTF-8 mark inside what was compressed: begin_coding() saw only the outside */
		if (is_compressed && in->decoded < sizeof(utf8_mark))
			continue;
		if (is_compressed && in->decoded - (size_t)made < sizeof(utf8_mark) &&
		    memcmp(buf->at, utf8_mark, sizeof(utf8_mark) - 1) == 0)
			in->start = sizeof(utf8_mark) - 1;
		return check_limit(in, err);
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): see read_raw */
int input_peek(struct input *in, size_t want, const char **at, size_t *got, struct err *err)
{
	while (in->end - in->start < want && !in->at_end)
		if (fill(in, err) < 0)
			return -1;
	*at = in->window + in->start;
	*got = MIN_OF(want, in->end - in->start);
	return 0;
}

void input_skip(struct input *in, size_t size)
{
	size = MIN_OF(size, in->end - in->start);
	in->start += size;
	in->consumed += size;
}

/* NOLINTNEXTLINE(misc-no-recursion): see read_raw */
ssize_t input_read(struct input *in, void *to, size_t size, struct err *err)
{
	const char *at;
	size_t got;

	/* what needs no decoding need not be copied */
	if (size && in->start == in->end && !in->at_end && in->coding == CODING_PLAIN &&
	    !has_raw(in)) {
		ssize_t done = read_raw(in, to, size, err);

		if (done < 0)
			return -1;
		in->at_end = done == 0;
		in->decoded += (size_t)done;
		in->consumed += (size_t)done;
		return check_limit(in, err) < 0 ? -1 : done;
	}
	if (in->start == in->end && !in->at_end && fill(in, err) < 0)
		return -1;
	if (input_peek(in, MIN_OF(size, in->end - in->start), &at, &got, err) < 0)
		return -1;
	if (got)
		memcpy(to, at, got);
	input_skip(in, got);
	return (ssize_t)got;
}

/*
 * Lets go of mapped pages that were read: they would count as this program's
 * memory. Whoever looks there again gets them from the page cache.
 */
static void give_back(struct input *in)
{
	size_t size = (in->start - in->given_back) / GIVE_BACK * GIVE_BACK;

	madvise((char *)in->map + in->given_back, size, MADV_DONTNEED);
	in->given_back += size;
}

int input_line(struct input *in, struct slice *line, struct err *err)
{
	size_t searched = 0;

	for (;;) {
		const char *at = in->window + in->start;
		size_t have = in->end - in->start;
		const char *newline =
		        have > searched ? memchr(at + searched, '\n', have - searched) : NULL;

		if (newline || (in->at_end && have)) {
			size_t size = newline ? (size_t)(newline - at) : have;

			input_skip(in, size + (newline != NULL));
			if (size && at[size - 1] == '\r')
				size--;
			*line = (struct slice){at, size};
			in->lines++;
			if (in->map && UNLIKELY(in->start - in->given_back >= 2 * GIVE_BACK))
				give_back(in);
			return 1;
		}
		if (in->at_end)
			return 0;
		searched = have;
		if (have > INPUT_MAX_LINE)
			return err_set(err, "'%s' line %llu is longer than %zu bytes", in->name,
			               (unsigned long long)in->lines + 1, INPUT_MAX_LINE);
		if (fill(in, err) < 0)
			return -1;
	}
}

int input_all(struct input *in, size_t limit_size, struct slice *all, struct err *err)
{
	while (!in->at_end) {
		if (in->end - in->start > limit_size)
			break;
		if (fill(in, err) < 0)
			return -1;
	}
	if (in->end - in->start > limit_size)
		return err_set(err, "'%s' is larger than the %zu bytes that are read at once",
		               in->name, limit_size);
	*all = (struct slice){in->window + in->start, in->end - in->start};
	in->consumed += all->size;
	in->start = in->end;
	return 0;
}

uint64_t input_offset(const struct input *in)
{
	return in->consumed;
}

uint64_t input_line_number(const struct input *in)
{
	return in->lines;
}

bool input_is_mapped(const struct input *in)
{
	return in->map != NULL;
}

static int spool_to(struct input *in, int fd, struct err *err)
{
	for (;;) {
		size_t size = in->end - in->start;

		while (size) {
			ssize_t done = write(fd, in->window + in->start, size);

			if (done < 0 && errno == EINTR)
				continue;
			if (done < 0)
				return err_sys(err,
				               "cannot copy '%s' to a temporary file "
				               "(TMPDIR says where)",
				               in->name);
			in->start += (size_t)done;
			size -= (size_t)done;
		}
		if (in->at_end)
			return 0;
		if (fill(in, err) < 0)
			return -1;
	}
}

int input_spool(struct input *in, struct err *err)
{
	const char *dir = getenv("TMPDIR");
	off_t size;
	void *map;
	int fd;

	if (in->map)
		return 0;
	fd = open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(err, "cannot make a temporary file in '%s'",
		               dir && *dir ? dir : "/tmp");
	if (spool_to(in, fd, err) < 0) {
		close(fd);
		return -1;
	}
	size = lseek(fd, 0, SEEK_END);
	map = size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	close(fd);
	if (map == MAP_FAILED)
		return err_sys(err, "cannot map the temporary copy of '%s'", in->name);
	in->map = map;
	in->map_size = (size_t)size;
	in->window = map;
	in->start = 0;
	in->end = in->map_size;
	return 0;
}

static size_t whole_pages(size_t size)
{
	return size & ~((size_t)sysconf(_SC_PAGESIZE) - 1);
}

void input_read_ahead(struct input *in)
{
	if (in->map && in->map_size >= READAHEAD_MIN_SIZE)
		in->readahead = readahead_start(in->map, in->map_size);
}

void input_forget(struct input *in, const char *until)
{
	const char *map = in->map;
	size_t size;

	if (!map || until < map)
		return;
	size = whole_pages(MIN_OF((size_t)(until - map), in->map_size));
	if (size > in->forgotten) {
		madvise((char *)in->map + in->forgotten, size - in->forgotten, MADV_DONTNEED);
		in->forgotten = size;
	}
}

void input_reached(struct input *in, const char *at, const char *until)
{
	const char *map = in->map;

	if (!map || until < map)
		return;
	if (in->readahead)
		readahead_reached(in->readahead, (size_t)(at - map),
		                  whole_pages((size_t)(until - map)));
	else if ((size_t)(until - map) >= in->forgotten + GIVE_BACK)
		input_forget(in, until);
}
