/*
 * num.h - numbers from text and to text, whatever the locale.
 *
 * Parsing takes all of the text or nothing and reports overflow, unlike the
 * libc functions of that purpose.
 */
#ifndef SHARE_NUM_H
#define SHARE_NUM_H

#include "share/compat.h"

/* Decimal digits only. Returns 0, or -1 for anything else or overflow. */
int num_parse_u64(const char *text, size_t size, uint64_t *value);

/* Hexadecimal digits, an optional "0x" before them. Same returns. */
int num_parse_hex(const char *text, size_t size, uint64_t *value);

/* A decimal fraction such as "1.5" or "12", for options. Same returns. */
int num_parse_real(const char *text, double *value);

/* "90", "90s", "5m", "2h", "7d", "200ms", "100us" -> nanoseconds. */
int num_parse_duration(const char *text, uint64_t *ns);

/* "512", "64K", "2M", "1G" (powers of 1,024) -> bytes. */
int num_parse_size(const char *text, uint64_t *bytes);

/* Writes the digits of value, no NUL; returns their number (at most 20). */
size_t num_format_u64(char *out, uint64_t value);

/* "1,234,567"; returns out, which holds at least NUM_GROUPED bytes. */
#define NUM_GROUPED 32
char *num_format_grouped(char *out, uint64_t value);

/* What a noun ends in behind this number: "s", or nothing behind 1. */
static inline const char *num_plural(uint64_t nr)
{
	return nr == 1 ? "" : "s";
}

#endif
