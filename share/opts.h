/*
 * opts.h - one table per tool gives parsing, --help and shell completion.
 *
 * The table is the only place that names an option; tests compare the manual
 * page with it. --help, --version and --completion=bash are known to every
 * tool and need no row.
 */
#ifndef SHARE_OPTS_H
#define SHARE_OPTS_H

#include "share/compat.h"
#include "share/err.h"

struct opt {
	int id;           /* what opts_next() returns; at least 1 */
	char letter;      /* short form, or 0 */
	const char *name; /* long form without dashes, or NULL */
	const char *arg;  /* name of the argument, or NULL; "[X]" = optional, only as --name=X */
	const char *help; /* one line; NULL hides an alias from --help */
};

struct opts {
	const char *usage; /* "[OPTION]... [FILE]...", lines, each printed after the program name */
	const char *about; /* a sentence or more, printed under the usage */
	const struct opt *table;
	size_t nr;
	bool stop_at_operand; /* the first operand begins a command line of its own */

	int argc;
	char **argv;
	/* below: state of opts_next() */
	int at;
	const char *bundle; /* rest of "-abc" */
	bool only_operands; /* "--" was seen */
};

enum {
	OPTS_END = 0,
	OPTS_OPERAND = -1, /* *arg is the operand; with stop_at_operand argv + at - 1 on */
	OPTS_DONE = -2,    /* --help or the like was answered on stdout: exit 0 */
	OPTS_ERROR = -3,   /* err is filled: exit EXIT_MISUSE */
};

/* The next option's id, or one of the above; *arg is its argument or NULL. */
int opts_next(struct opts *opts, const char **arg, struct err *err);

/*
 * The nearest of nr names to a misspelt one by edit distance, or NULL where
 * none is near. Shared with other places that suggest names.
 */
const char *opts_nearest(const char *word, const char *const *names, size_t nr);

#endif
