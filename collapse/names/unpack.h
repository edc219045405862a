/*
 * unpack.h - a compressed block to its bytes, bounded.
 *
 * What is unpacked is its own mapping, filled from the front: a block that
 * claims to be huge costs memory only as far as bytes really come out of it.
 *
 * Formats: zlib (RFC 1950), gzip (RFC 1952), zstd (RFC 8878), xz
 * (tukaani.org/xz/xz-file-format.txt 1.1.0).
 */
#ifndef COLLAPSE_UNPACK_H
#define COLLAPSE_UNPACK_H

#include "share/compat.h"

enum unpack_kind { UNPACK_UNKNOWN, UNPACK_ZLIB, UNPACK_GZIP, UNPACK_ZSTD, UNPACK_XZ };

/* By its first bytes; zlib has none that could be told. */
enum unpack_kind unpack_kind_of(struct slice packed);

/*
 * For a stated size: gives exactly that many bytes, or {NULL, 0}. A size above
 * limit, or more than the method can ever reach, is refused.
 */
struct slice unpack_known(enum unpack_kind kind, struct slice packed, uint64_t size,
                          uint64_t limit);

/* All that comes out, at most limit bytes; {NULL, 0} where it is damaged or larger. */
struct slice unpack_all(enum unpack_kind kind, struct slice packed, uint64_t limit);

/* Gives back what one of the above gave; {NULL, 0} is fine. */
void unpack_release(struct slice unpacked);

#endif
