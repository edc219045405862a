/*
 * folded.h - the folded-stack text: its grammar, its reader, its writer.
 *
 *   file    = { header | stack } ;
 *   header  = "# " key ": " value "\n" ;   value never ends in a digit; one
 *             that would is put in double quotes, so that tools which know no
 *             headers skip the line as malformed;
 *             readers take "# word: value" for a header all the same where
 *             it holds no ";", since other tools do not know this rule
 *   stack   = frame { ";" frame } " " count [ " " count ] "\n" ;
 *   frame   = one or more bytes of UTF-8 without ";" and control bytes; it
 *             may hold blanks and end in digits; the root comes first
 *   count   = decimal number, see weight.h
 *
 * Marks at the end of a frame: _[k] kernel, _[i] inlined, _[j] JIT-compiled,
 * _[w] waker. Whole frames in brackets, as [truncated], stand for what is
 * missing.
 *
 * One count column or two (before, after) is a property of a file, not of a
 * line: two when the header says "# columns: before after", or when no stack
 * of the first MiB lacks a second number. So `thread 7 12` among one-column
 * lines is the frame "thread 7".
 *
 * Header keys that the tools write and read: event, unit, sampled, lost,
 * throttled, truncated, unresolved, host, kernel, command, started, columns.
 */
#ifndef SHARE_FOLDED_H
#define SHARE_FOLDED_H

#include "share/buf.h"
#include "share/compat.h"
#include "share/err.h"
#include "share/input.h"
#include "share/output.h"
#include "share/weight.h"

/* ---- header ---- */

struct folded_field {
	char *key, *value;
};

struct folded_header {
	struct folded_field *fields; /* in order of appearance; keys are unique */
	size_t nr, capacity;
};

void folded_header_release(struct folded_header *header);

/* The value, or NULL where the key is absent. Borrowed from the header. */
const char *folded_header_get(const struct folded_header *header, const char *key);

/* Adds the field, or replaces its value. */
void folded_header_set(struct folded_header *header, const char *key, const char *format, ...)
        PRINTF_LIKE(3, 4);

/* Nothing where the key is absent. */
void folded_header_remove(struct folded_header *header, const char *key);

/*
 * Adds the fields of another profile whose stacks are merged into this one.
 * Values that begin with a number and go on alike ("3 records", "5.01 s on 2
 * cpus") add up; percentages that differ are dropped, for they would need
 * their totals; other values that differ become "several".
 */
void folded_header_merge(struct folded_header *header, const struct folded_header *other);

void folded_header_write(const struct folded_header *header, struct output *out);

/* ---- reader ---- */

struct folded_stack {
	struct slice stack;  /* the frames with their ";", as they stand */
	weight_fx counts[2]; /* counts[1] is 0 in a one-column file */
};

struct folded_reader {
	struct input *in;            /* borrowed */
	struct folded_header header; /* grows while lines are read */
	int nr_columns;              /* 1 or 2; 0 until the first line was read */
	uint64_t nr_stacks;          /* valid lines so far */
	uint64_t nr_bad;             /* lines that are neither stack nor header nor blank */
	uint64_t bad_line;           /* number of the first of those, from 1 */
	char *bad_text;              /* its first 120 bytes, made printable; or NULL */
	const char *bad_reason;
};

void folded_reader_init(struct folded_reader *reader, struct input *in);
void folded_reader_release(struct folded_reader *reader); /* leaves `in` alone */

/*
 * 1 = *stack is the next valid line (borrowed until the next call), 0 = end,
 * -1 = the input failed. Bad lines are counted and stepped over; a negative
 * count is a bad line too.
 */
int folded_next(struct folded_reader *reader, struct folded_stack *stack, struct err *err);

/*
 * Splits the next frame off *rest; false at the end. Empty frames (";;", a
 * leading or trailing ";") are passed over.
 */
static inline bool folded_frame(struct slice *rest, struct slice *frame)
{
	while (rest->size) {
		const char *semi = memchr(rest->at, ';', rest->size);
		size_t size = semi ? (size_t)(semi - rest->at) : rest->size;

		*frame = (struct slice){rest->at, size};
		rest->at += size + (semi != NULL);
		rest->size -= size + (semi != NULL);
		if (size)
			return true;
	}
	return false;
}

/*
 * What a file that is no folded text seems to be, for error messages: "a
 * perf.data recording", "perf script text", "an SVG picture", ... or NULL.
 */
const char *folded_looks_like(const char *head, size_t size);

/* ---- writer ---- */

/*
 * Appends a name as one legal frame: ";" becomes ":", control bytes become
 * a blank, bytes that are not UTF-8 become U+FFFD, an empty name becomes
 * "[empty]".
 */
void folded_clean(struct buf *out, const char *name, size_t size);

/* The size of the UTF-8 sequence at p (1 to 4), or 0 if it is not valid. */
size_t utf8_sequence(const char *p, size_t left);

#endif
