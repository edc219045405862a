#include "share/compat.h"
#include "collapse/names/unpack.h"

#include <lzma.h>
#include <sys/mman.h>
#include <zlib.h>
#include <zstd.h>

/* deflate makes at most 1,032 bytes of one (zlib.net/zlib_tech.html) */
enum { ZLIB_MAX_RATIO = 1040, LZMA_MEMORY = 128 << 20 };

enum unpack_kind unpack_kind_of(struct slice packed)
{
	if (packed.size >= 6 && memcmp(packed.at,
	                               "\xfd"
	                               "7zXZ",
	                               6) == 0)
		return UNPACK_XZ;
	if (packed.size >= 4 && memcmp(packed.at, "\x28\xb5\x2f\xfd", 4) == 0)
		return UNPACK_ZSTD;
	if (packed.size >= 2 && memcmp(packed.at, "\x1f\x8b", 2) == 0)
		return UNPACK_GZIP;
	return UNPACK_UNKNOWN;
}

/* Each fills `to` and returns the bytes that came out, or -1. */

static int64_t unpack_zlib(struct slice packed, uint8_t *to, uint64_t size, int window)
{
	z_stream z = {.next_in = (Bytef *)(uintptr_t)packed.at};
	uint64_t in_left = packed.size, out_left = size;
	int status = Z_OK;

	if (inflateInit2(&z, window) != Z_OK)
		return -1;
	z.next_out = to;
	while (status == Z_OK) {
		uInt in = (uInt)MIN_OF(in_left, (uint64_t)1 << 30);
		uInt out = (uInt)MIN_OF(out_left, (uint64_t)1 << 30);

		z.avail_in = in;
		z.avail_out = out;
		status = inflate(&z, Z_NO_FLUSH);
		in_left -= in - z.avail_in;
		out_left -= out - z.avail_out;
		if (z.avail_in == in && z.avail_out == out && status == Z_OK)
			break;
	}
	inflateEnd(&z);
	return status == Z_STREAM_END ? (int64_t)(size - out_left) : -1;
}

static int64_t unpack_zstd(struct slice packed, uint8_t *to, uint64_t size)
{
	size_t result = ZSTD_decompress(to, size, packed.at, packed.size);

	return ZSTD_isError(result) ? -1 : (int64_t)result;
}

static int64_t unpack_xz(struct slice packed, uint8_t *to, uint64_t size)
{
	uint64_t memory = LZMA_MEMORY;
	size_t in = 0, out = 0;

	if (lzma_stream_buffer_decode(&memory, 0, NULL, (const uint8_t *)packed.at, &in,
	                              packed.size, to, &out, size) != LZMA_OK)
		return -1;
	return (int64_t)out;
}

static int64_t unpack_into(enum unpack_kind kind, struct slice packed, uint8_t *to, uint64_t size)
{
	switch (kind) {
	case UNPACK_ZLIB:
		return unpack_zlib(packed, to, size, MAX_WBITS);
	case UNPACK_GZIP:
		return unpack_zlib(packed, to, size, MAX_WBITS + 16);
	case UNPACK_ZSTD:
		return unpack_zstd(packed, to, size);
	case UNPACK_XZ:
		return unpack_xz(packed, to, size);
	case UNPACK_UNKNOWN:
		break;
	}
	return -1;
}

static uint8_t *reserve(uint64_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
	                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

struct slice unpack_known(enum unpack_kind kind, struct slice packed, uint64_t size, uint64_t limit)
{
	uint8_t *at;

	if (kind == UNPACK_UNKNOWN || !size || size > limit ||
	    (kind == UNPACK_ZLIB && size / ZLIB_MAX_RATIO > packed.size))
		return (struct slice){NULL, 0};
	at = reserve(size);
	if (!at)
		return (struct slice){NULL, 0};
	if (unpack_into(kind, packed, at, size) != (int64_t)size) {
		munmap(at, size);
		return (struct slice){NULL, 0};
	}
	return (struct slice){(const char *)at, size};
}

struct slice unpack_all(enum unpack_kind kind, struct slice packed, uint64_t limit)
{
	uint8_t *at = limit ? reserve(limit) : NULL;
	uint64_t page = 4096, keep;
	int64_t size;

	if (!at)
		return (struct slice){NULL, 0};
	size = unpack_into(kind, packed, at, limit);
	keep = size > 0 ? ((uint64_t)size + page - 1) / page * page : 0;
	if (keep < limit)
		munmap(at + keep, limit - keep);
	return keep ? (struct slice){(const char *)at, (size_t)size} : (struct slice){NULL, 0};
}

void unpack_release(struct slice unpacked)
{
	if (unpacked.at)
		munmap((void *)(uintptr_t)unpacked.at, unpacked.size);
}
