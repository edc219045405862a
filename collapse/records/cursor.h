/*
 * cursor.h - little-endian values out of a piece of memory, never past its end.
 *
 * A cursor that was asked for too much is `bad` from then on and gives zeros,
 * so that callers check once, after a group of reads.
 *
 * Formats: DWARF 5 section 7.6 (LEB128); little-endian because x86-64 and
 * aarch64 files are.
 */
#ifndef COLLAPSE_CURSOR_H
#define COLLAPSE_CURSOR_H

#include "share/compat.h"

struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

/* data: NULL where size is 0, as an empty section has it */
static inline struct cursor cursor_of(const uint8_t *data, size_t size)
{
	static const uint8_t nothing[1];

	if (!data)
		data = nothing; /* it is added to, and copied from */
	return (struct cursor){data, data + size, false};
}

static inline size_t cursor_left(const struct cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}

static inline bool cursor_skip(struct cursor *cursor, uint64_t size)
{
	if (UNLIKELY(size > cursor_left(cursor))) {
		cursor->bad = true;
		cursor->at = cursor->end;
		return false;
	}
	cursor->at += size;
	return true;
}

/* size: 1 to 8 bytes */
static inline uint64_t cursor_uint(struct cursor *cursor, unsigned size)
{
	const uint8_t *from = cursor->at;
	uint64_t value = 0;

	if (cursor_skip(cursor, size))
		memcpy(&value, from, size);
	return value;
}

static inline int64_t cursor_int(struct cursor *cursor, unsigned size)
{
	unsigned shift = 64 - 8 * size;

	return (int64_t)(cursor_uint(cursor, size) << shift) >> shift;
}

/* Bits above 64 are dropped. */
static inline uint64_t cursor_uleb(struct cursor *cursor)
{
	uint64_t value = 0;

	/* most are small */
	if (LIKELY(cursor->at < cursor->end && !(*cursor->at & 0x80)))
		return *cursor->at++;
	for (unsigned shift = 0;; shift += 7) {
		uint8_t byte = (uint8_t)cursor_uint(cursor, 1);

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
}

static inline int64_t cursor_sleb(struct cursor *cursor)
{
	uint64_t value = 0;

	for (unsigned shift = 0;;) {
		uint8_t byte = (uint8_t)cursor_uint(cursor, 1);

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (!(byte & 0x80)) {
			if ((byte & 0x40) && shift < 64)
				value |= ~(uint64_t)0 << shift;
			return (int64_t)value;
		}
	}
}

#endif
