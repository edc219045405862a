/*
 * block16.h - text looked at 16 bytes at a time.
 *
 * Finding a byte and hashing what stands before it are one pass over a block
 * in registers; SSE2 where the compiler has it, memchr elsewhere.
 */
#ifndef COLLAPSE_FORMATS_BLOCK16_H
#define COLLAPSE_FORMATS_BLOCK16_H

#include "share/compat.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define BLOCK_SIZE 16

struct block {
	uint64_t low, high; /* bytes 0 to 7 and 8 to 15, in the order of this machine */
};

static inline struct block block_load(const char *at)
{
	struct block block;

	memcpy(&block, at, sizeof(block));
	return block;
}

/* Where the byte stands first; BLOCK_SIZE where it does not. */
static inline unsigned block_find(struct block block, char byte)
{
#ifdef __SSE2__
	__m128i bytes = _mm_set_epi64x((long long)block.high, (long long)block.low);
	int mask = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte)));

	return mask ? (unsigned)__builtin_ctz((unsigned)mask) : BLOCK_SIZE;
#else
	const char *at = memchr(&block, byte, sizeof(block));

	return at ? (unsigned)(at - (const char *)&block) : BLOCK_SIZE;
#endif
}

/* The first nr bytes, zeros behind them. */
static inline struct block block_head(struct block block, unsigned nr)
{
	static const uint8_t ones[2 * BLOCK_SIZE] = {255, 255, 255, 255, 255, 255, 255, 255,
	                                             255, 255, 255, 255, 255, 255, 255, 255};
	struct block mask = block_load((const char *)ones + BLOCK_SIZE - nr);

	return (struct block){block.low & mask.low, block.high & mask.high};
}

#endif
