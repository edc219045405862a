/*
 * format.h - the table of everything that collapse reads besides perf.data.
 *
 * A format is one file under collapse/ with a struct format in it and a line
 * in format.c. Detection sees the first bytes; parsing consumes the input and
 * puts stacks into the folder.
 */
#ifndef COLLAPSE_FORMAT_H
#define COLLAPSE_FORMAT_H

#include "collapse/folder.h"
#include "share/compat.h"
#include "share/err.h"
#include "share/folded.h"
#include "share/input.h"

/* What the command line says that parsers of formats care about. */
struct format_options {
	bool by_pid, by_tid, by_comm; /* root frames, where the format knows them */
	bool annotate;                /* _[k] and the like */
	bool addresses;               /* raw addresses beside unknown frames */
	bool inlines;                 /* keep inlined frames */
	bool srcline;
	bool shorten;              /* --demangle short, of names that come demangled */
	const char *value;         /* --value NAME, or NULL for the first */
	const char *const *events; /* --event, NULL-terminated, or NULL */
	bool all_events;
	enum { COUNT_SAMPLES, COUNT_PERIOD, COUNT_TIME } count;
	bool flamegraph_compat;         /* --compat flamegraph: names as stackcollapse-perf.pl's */
	bool compat_kernel, compat_jit; /* there marks are asked for one by one */
	unsigned nr_threads;
};

/* What a parser saw; kept across all inputs of a run. */
struct format_report {
	uint64_t nr_samples;  /* records that became weight */
	uint64_t nr_lost;     /* samples that the recorder says it lost */
	uint64_t nr_bad;      /* malformed records, stepped over */
	uint64_t nr_left_out; /* whole records left out by choice */
	const char *left_out; /* what they are, for people; NULL: samples of other events */
	char first_bad[200];  /* "line 12: ..." or "offset 345: ..." */
	char incomplete[200]; /* what else the output lacks, for people; or "" */
	char unit[24];        /* "samples", "microseconds", "bytes", ... */
	char event[64];       /* name of what was folded, or "" */
};

/* Counts a malformed record; keeps the text of the first. */
void format_bad(struct format_report *report, const char *format, ...) PRINTF_LIKE(2, 3);

/*
 * The node below which stacks of a thread belong: the root frames that the
 * options ask for and the format knows. comm: any bytes, NULL = not known;
 * pid, tid: negative = not known.
 */
uint32_t format_root(struct folder *folder, const struct format_options *options, const char *comm,
                     size_t comm_size, int64_t pid, int64_t tid);

/*
 * Which of nr values --value names; first_choice without that option. -1, and
 * an error that lists them, where it names none.
 */
int format_value(const struct format_options *options, const char *const *names, size_t nr,
                 size_t first_choice, size_t *picked, struct err *err);

/*
 * Counts one sample; that of no stack at all (node 0) below "[no stack]".
 * false, and err filled, where the total would reach 2^64.
 */
bool format_count(struct folder *folder, uint32_t node, weight_fx weight,
                  struct format_report *report, struct err *err);

/* What is folded, for the header: the value's name and its unit. */
void format_unit(struct format_report *report, const char *event, const char *unit);

/*
 * Puts event and unit into the header of the output. -1 where an input before
 * had another unit: such counts cannot be added up.
 */
int format_header(const struct format_report *report, struct folded_header *header,
                  struct err *err);

/* Notes in the header which values the file holds, where they are several. */
void format_values_note(struct folded_header *header, const char *const *names, size_t nr);

/* All of the input in memory; pipes go through an unlinked file. */
int format_whole(struct input *in, struct slice *text, struct err *err);

/*
 * The frame "name", with --srcline "name file:line" as far as they are known
 * (file.size 0, line below 0 = unknown).
 */
uint32_t format_frame(struct folder *folder, const struct format_options *options,
                      struct slice name, struct slice file, int64_t line);

/* For detection: does the head hold this text; does it begin as JSON does. */
bool head_has(struct slice head, const char *text);
bool head_is_object(struct slice head); /* { */
bool head_is_array(struct slice head);  /* [ */

/* Fails with what every count too large fails with. Returns -1. */
int format_too_large(struct err *err);

struct format {
	const char *name;  /* for --from */
	const char *about; /* for --formats, one line */

	/*
	 * How sure is it that this head (up to FORMAT_HEAD bytes, all of the
	 * input when is_all) begins such a file: 0 no, 100 certain (a magic
	 * number); text guesses stay between 10 and 90.
	 */
	int (*detect)(struct slice head, bool is_all);

	/* 0, or -1 with err filled where nothing more can be read. */
	int (*parse)(struct input *in, struct folder *folder, const struct format_options *options,
	             struct folded_header *header, struct format_report *report, struct err *err);
};

#define FORMAT_HEAD ((size_t)64 * 1024)

/* NULL-terminated, in the order of formats.h. */
extern const struct format format_folded; /* of what others carry within */
extern const struct format *const formats[];

const struct format *format_by_name(const char *name);

/* What a head of no known format may be, with the remedy where there is one; or NULL. */
const char *format_looks_like(struct slice head);

/* The surest format for this head, or NULL. */
const struct format *format_detect(struct slice head, bool is_all);

#endif
