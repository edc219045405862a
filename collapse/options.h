/*
 * options.h - the command line of collapse.
 *
 * Decides names, meanings and defaults of all options; the table in options.c
 * is what --help and the manual page are checked against. Borrows argv.
 */
#ifndef COLLAPSE_OPTIONS_H
#define COLLAPSE_OPTIONS_H

#include "collapse/archive.h"
#include "collapse/formats/format.h"
#include "collapse/recording.h"
#include "collapse/formats/recursion.h"
#include "collapse/writers/to.h"
#include "share/compat.h"

#include <regex.h>

struct options {
	struct recording_options recording;
	struct format_options format;
	const struct format *from;
	const struct to_format *to; /* NULL: folded stacks */
	const char *output;
	enum recursion recursion;
	const char *archive_dir; /* --archive, or NULL */
	struct archive_options archive;
	int64_t since, until; /* of archives that are read; seconds since 1970 */
	bool has_range;
	uint64_t max_input;         /* bytes, decompressed; 0 = any */
	bool is_histogram, is_json; /* --format */
	bool no_header, print_samples, check, has_by, has_debuginfod;
	const char **events, **comms, **debug_dirs, **inputs;
	size_t nr_events, nr_debug_dirs, nr_inputs;
	size_t events_capacity, comms_capacity, debug_dirs_capacity, inputs_capacity;
	regex_t symbol_filter;
	bool has_symbol_filter;
};

/*
 * OPTS_END when the run may begin, with at least one input; else the command
 * line is answered (OPTS_DONE) or wrong (OPTS_ERROR, said on stderr), and
 * *status is the exit status.
 */
int options_parse(struct options *options, int argc, char **argv, int *status, struct err *err);
void options_release(struct options *options);

#endif
