/*
 * jitdump.h - jit-PID.dump: which code a JIT had where, at each time, and how
 * to leave it.
 *
 * Decides what was at an address at a time: the latest code that had been
 * put there by then. A dump that grows while it is read is read on.
 *
 * Not for two threads at once: see modules_lock().
 *
 * Format: tools/perf/Documentation/jitdump-specification.txt (kernel 6.18),
 * version 1, in either byte order: code load, code move, lines (debug
 * information), unwinding; others are stepped over. Unwinding information is an
 * .eh_frame made as if it followed the code, aligned to 8 (jit_write_elf() in
 * tools/perf/util/genelf.c), and an .eh_frame_hdr, which is of no use here.
 */
#ifndef COLLAPSE_JITDUMP_H
#define COLLAPSE_JITDUMP_H

#include "collapse/unwind/cfi_program.h"
#include "share/arena.h"
#include "share/buf.h"
#include "share/compat.h"
#include "share/err.h"

struct jitdump_code {
	uint64_t start, end, time;   /* time on the dump's clock, in ns */
	uint64_t max_end;            /* of this and all that start before it */
	uint64_t index;              /* the writer's number for it */
	const char *name;            /* NUL-terminated, any bytes */
	uint64_t first_start;        /* where it was loaded: lines are by those addresses */
	struct slice lines;          /* its debug information; size 0 = none */
	struct slice unwinding;      /* its .eh_frame; size 0 = none */
	const struct cfi_rows *rows; /* of that, once asked for */
	bool rows_tried;
};

struct jitdump {
	char *path;
	struct jitdump_code *at;
	size_t nr, capacity;
	bool is_sorted;  /* by start, then time */
	bool swap;       /* written in the other byte order */
	bool no_time;    /* its clock is the processor's counter: the latest code counts */
	bool is_bad;     /* a record made no sense: nothing behind it is read */
	uint64_t offset; /* read up to here */
	uint64_t newest; /* time of the last record */
	uint16_t machine;
	struct slice unwinding, lines; /* for the code that comes next */
	struct arena names;            /* and those two */
	struct cfi_rule_set rules;
	struct arena rows;
};

/*
 * A regular file that belongs to us, to root or, where uid is not NULL, to
 * that user. NULL with err filled.
 */
struct jitdump *jitdump_open(const char *path, const uid_t *uid, struct err *err);
void jitdump_free(struct jitdump *jitdump);

/* From memory; bytes are not kept. For tests. NULL where it is no dump. */
struct jitdump *jitdump_parse(const void *bytes, size_t size);

/* What was at the address at the time, or NULL. Valid until the next call. */
const struct jitdump_code *jitdump_find(struct jitdump *jitdump, uint64_t address, uint64_t time);

/* The line of an address of this code; 0 where it is not told. *file lasts as long as the dump. */
uint32_t jitdump_line(const struct jitdump *jitdump, const struct jitdump_code *code,
                      uint64_t address, const char **file);

/* The rule in force at the address at the time, or NULL. Valid until jitdump_free(). */
const struct cfi_rule *jitdump_rule(struct jitdump *jitdump, uint64_t address, uint64_t time);

#endif
