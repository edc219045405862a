/*
 * bytes64.h - text looked at 64 bytes at a time.
 *
 * What is asked of a block is answered in one word, a bit for each byte, the
 * first byte lowest, so that texts of any length up to 64 take the same path:
 * a branch on the length of a name is mostly guessed wrong. SSE2 where the
 * compiler has it, plain C elsewhere. All 64 bytes must be readable.
 */
#ifndef SHARE_BYTES64_H
#define SHARE_BYTES64_H

#include "share/compat.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define BYTES64 64

#ifdef __SSE2__
static inline uint64_t bytes64_mask(__m128i a, __m128i b, __m128i c, __m128i d)
{
	uint32_t low = (uint32_t)_mm_movemask_epi8(a) | (uint32_t)_mm_movemask_epi8(b) << 16;
	uint32_t high = (uint32_t)_mm_movemask_epi8(c) | (uint32_t)_mm_movemask_epi8(d) << 16;

	return low | (uint64_t)high << 32;
}
#endif

/* Where two blocks hold the same byte. */
static inline uint64_t bytes64_same(const char *a, const char *b)
{
#ifdef __SSE2__
	const __m128i *x = (const __m128i *)(const void *)a, *y = (const __m128i *)(const void *)b;

	return bytes64_mask(_mm_cmpeq_epi8(_mm_loadu_si128(x), _mm_loadu_si128(y)),
	                    _mm_cmpeq_epi8(_mm_loadu_si128(x + 1), _mm_loadu_si128(y + 1)),
	                    _mm_cmpeq_epi8(_mm_loadu_si128(x + 2), _mm_loadu_si128(y + 2)),
	                    _mm_cmpeq_epi8(_mm_loadu_si128(x + 3), _mm_loadu_si128(y + 3)));
#else
	uint64_t mask = 0;

	for (unsigned i = 0; i < BYTES64; i++)
		mask |= (uint64_t)(a[i] == b[i]) << i;
	return mask;
#endif
}

/* Where a block holds the byte. */
static inline uint64_t bytes64_find(const char *at, char byte)
{
#ifdef __SSE2__
	const __m128i *x = (const __m128i *)(const void *)at;
	__m128i all = _mm_set1_epi8(byte);

	return bytes64_mask(_mm_cmpeq_epi8(_mm_loadu_si128(x), all),
	                    _mm_cmpeq_epi8(_mm_loadu_si128(x + 1), all),
	                    _mm_cmpeq_epi8(_mm_loadu_si128(x + 2), all),
	                    _mm_cmpeq_epi8(_mm_loadu_si128(x + 3), all));
#else
	uint64_t mask = 0;

	for (unsigned i = 0; i < BYTES64; i++)
		mask |= (uint64_t)(at[i] == byte) << i;
	return mask;
#endif
}

#endif
