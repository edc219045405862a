/*
 * input.h - bytes from a file or stdin, decompressed on the way.
 *
 * gzip (RFC 1952) and zstd (RFC 8878) are recognised by their magic numbers
 * and decoded as they stream, UTF-16 by its byte order mark, all of them inside
 * of what was compressed too, up to four deep; a UTF-8 mark is dropped; anything
 * else passes through. A plain regular file is mapped, so that lines and blocks
 * are borrowed without a copy.
 *
 * Limits: a decompressed size above input_limit (default: none) and a line
 * above INPUT_MAX_LINE are errors, not surprises.
 */
#ifndef SHARE_INPUT_H
#define SHARE_INPUT_H

#include "share/buf.h"
#include "share/compat.h"
#include "share/err.h"

#define INPUT_MAX_LINE ((size_t)256 << 20)

struct input;

/*
 * path: "-" or NULL for stdin. NULL on failure. Directories are refused.
 * limit: bytes after decompression, 0 for no limit.
 */
struct input *input_open(const char *path, uint64_t limit, struct err *err);
void input_close(struct input *in);

/*
 * Bytes that are in memory already, decoded as they are; *bytes is taken over
 * and left empty. Never NULL.
 */
struct input *input_of_bytes(const char *name, struct buf *bytes);

/* The name for messages: the path, or "stdin". */
const char *input_name(const struct input *in);

/*
 * Borrows the next `want` bytes, or what is left where that is less, without
 * consuming them; *got says how many. Valid until the next call. -1 on error.
 */
int input_peek(struct input *in, size_t want, const char **at, size_t *got, struct err *err);

/* Consumes bytes that a peek returned. */
void input_skip(struct input *in, size_t size);

/* Reads up to size bytes; 0 at the end, -1 on error. */
ssize_t input_read(struct input *in, void *to, size_t size, struct err *err);

/*
 * The next line, without its "\n" and without one "\r" before it; the last
 * line may lack the "\n". 1 = a line, 0 = end, -1 = error. Valid until the
 * next call.
 */
int input_line(struct input *in, struct slice *line, struct err *err);

/*
 * All that is left, as one block that lives until input_close(). Costs memory
 * for pipes and compressed files; free for mapped ones. limit_size bounds it.
 */
int input_all(struct input *in, size_t limit_size, struct slice *all, struct err *err);

/* Bytes consumed so far (after decompression) and lines returned so far. */
uint64_t input_offset(const struct input *in);
uint64_t input_line_number(const struct input *in);

/* The whole input is in memory already (a plain regular file). */
bool input_is_mapped(const struct input *in);

/*
 * Puts all that is left of a stream into an unlinked file under TMPDIR (or
 * /tmp) and maps that, for formats whose parts refer to each other by offset.
 * Nothing happens to an input that is mapped already.
 */
int input_spool(struct input *in, struct err *err);

/* A large mapped input is put into memory by a thread of its own, ahead of the reader. */
void input_read_ahead(struct input *in);

/*
 * For mapped inputs: the memory before `until`, which lies in the mapping, may
 * be handed back. Reading there again costs time, nothing else.
 */
void input_forget(struct input *in, const char *until);

/*
 * The same now and then, or by the thread that reads ahead, which is told that
 * the reader has come to `at`.
 */
void input_reached(struct input *in, const char *at, const char *until);

#endif
