/*
 * textin.h - perf script text to stacks.
 *
 * What perf script prints depends on -F and on the release: nothing here
 * relies on columns. A line is told by its state and shape: behind a header
 * lines that begin with an address are frames; a sample ends at an empty
 * line, at the next header or at the end. A header is read from its time
 * stamp outwards: event to the right, cpu, ids and comm to the left.
 *
 * Source of the layouts: tools/perf/builtin-script.c (print_sample_start,
 * process_event) and util/evsel_fprintf.c (sample__fprintf_callchain) of
 * Linux 3.0 to 6.8.
 */
#ifndef COLLAPSE_TEXTIN_H
#define COLLAPSE_TEXTIN_H

#include "collapse/folder.h"
#include "collapse/formats/format.h"
#include "share/compat.h"

/* ---- header lines (textin_header.c) ---- */

struct textin_header {
	struct slice left;     /* what stands before the stamp, not read yet */
	struct slice comm;     /* trimmed; size 0: the line has none */
	struct slice pid, tid; /* digits or -1; size 0: not there */
	struct slice event;    /* without its last ":"; size 0: not there */
	struct slice rest;     /* behind the event: a frame, trace fields or nothing */
	uint64_t period;
	bool has_period, has_stamp;
};

/*
 * Fills *header where the line has a time stamp, or else an event or a frame
 * behind ids; false for all other lines. Comm and ids are left to
 * textin_header_left().
 */
bool textin_header(struct slice line, struct textin_header *header);

/*
 * Surely a header although it begins like a frame, with a hexadecimal comm or
 * ids: a stamp, an event or a frame is behind them.
 */
bool textin_is_header(struct slice line);

/*
 * How a header ended, from the blank before its event on. Most headers end as
 * the one before, and all that differs is what stands before the stamp, the
 * stamp and the period: those are read backwards then.
 */
struct textin_ending {
	char text[48];
	size_t size; /* 0: nothing that could come again */
};

void textin_ending_keep(struct textin_ending *ending, const struct textin_header *header,
                        struct slice line);

/* true, and `left` and, if asked for, `period` filled, where the line ends so again. */
bool textin_ending_again(const struct textin_ending *ending, struct slice line, bool with_period,
                         struct textin_header *header);

/* Reads comm and ids from `left`. */
void textin_header_left(struct textin_header *header);

/* Comm and ids of a line that has neither stamp nor event ("spin  1897"). */
void textin_plain_header(struct slice line, struct textin_header *header);

/* What stackcollapse-perf.pl takes for comm, pid and tid; false: it takes nothing. */
bool textin_header_compat(struct slice line, struct textin_header *header);

/* Begins with a word of hexadecimal digits, perhaps behind blanks, and a blank or nothing. */
bool textin_is_address(struct slice line);

/* The frame that stands on a header's own line, or size 0. */
struct slice textin_inline_frame(struct slice rest);

/* ---- records and messages (textin_message.c) ---- */

/* The line is one of perf's own; *nr_lost grows by what it says was lost. */
bool textin_message(struct slice line, uint64_t *nr_lost);

/* ---- names (textin_name.c) ---- */

#define TEXTIN_NAMES_MAX 64

/*
 * The frames that one line gives, outermost first, as names in the folder;
 * none where options leave it out. frame: from the address on. srcline: the
 * text of the line below, or size 0. comm: for the Java rules of
 * stackcollapse-perf.pl.
 */
size_t textin_names(struct folder *folder, const struct format_options *options, struct slice frame,
                    struct slice srcline, struct slice comm, uint32_t names[TEXTIN_NAMES_MAX]);

/* ---- events (textin_event.c) ---- */

#define TEXTIN_EVENTS_MAX 256

struct textin_event {
	char *name;
	size_t name_size;
	uint64_t nr_samples;
	uint32_t root; /* node of its own where events stand below their names */
	bool is_chosen;
};

struct textin_events {
	const struct format_options *options; /* borrowed: which are to be folded */
	struct textin_event *at;
	size_t nr, capacity;
	char *first; /* what is folded where options name nothing */
	size_t last; /* looked up last */
};

void textin_events_release(struct textin_events *events);

/* The event of this name, judged and noted when it is met first. */
struct textin_event *textin_events_find(struct textin_events *events, struct folder *folder,
                                        struct slice name);

/* ---- samples (textin_fold.c) ---- */

struct textin_fold;

/* folder: where stacks go; NULL for one of its own. */
struct textin_fold *textin_fold_new(const struct format_options *options, struct folder *folder);
void textin_fold_free(struct textin_fold *fold);

/*
 * Parses whole samples. `chunk` is the place of text among all texts of the
 * input. *nr_lines: how many lines it had. false, and err filled, where the
 * total would reach 2^64.
 */
bool textin_fold_text(struct textin_fold *fold, struct slice text, size_t chunk, uint64_t *nr_lines,
                      struct err *err);

/* The event that was met first, or NULL; and to make another fold follow it. */
const char *textin_fold_first_event(const struct textin_fold *fold);
void textin_fold_follow(struct textin_fold *fold, const char *event);

/* What was collected. */
struct folder *textin_fold_folder(struct textin_fold *fold);
const struct format_report *textin_fold_report(const struct textin_fold *fold);

/* Chunk, and line in it from 1, of what the report quotes as bad first. */
void textin_fold_bad(const struct textin_fold *fold, size_t *chunk, uint64_t *line);

/* Records with the user's part of a stack, parted from its sample, that were passed over. */
uint64_t textin_fold_deferred(const struct textin_fold *fold);

const struct textin_event *textin_fold_events(const struct textin_fold *fold, size_t *nr);

/* Key and value of the "# hostname : x" lines perf prints with --header, or NULL. */
const char *textin_fold_machine(const struct textin_fold *fold, size_t i);
enum { TEXTIN_HOST, TEXTIN_KERNEL, TEXTIN_COMMAND, TEXTIN_MACHINE_MAX };

#endif
