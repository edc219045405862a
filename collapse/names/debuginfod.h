/*
 * debuginfod.h - debug files and programs from a debuginfod server.
 *
 * Asks only where the options say so. The library is loaded when the first
 * file is wanted, so that nothing depends on it. Which servers are asked and
 * where files are kept is its own business (debuginfod_find_debuginfo(3)); how
 * long all questions of a run may take is decided here.
 */
#ifndef COLLAPSE_DEBUGINFOD_H
#define COLLAPSE_DEBUGINFOD_H

#include "collapse/names/module.h"
#include "share/compat.h"

/* The path of the file of this build-id, to be freed by the caller, or NULL. name: for people. */
char *debuginfod_path(const struct module_options *options, const struct build_id *id,
                      const char *name, bool is_debug);

/* How many files were asked for, came, and were not asked for because time was over. */
struct debuginfod_counts {
	unsigned nr_asked, nr_found, nr_late;
};
struct debuginfod_counts debuginfod_counts(void);

/* Ends the connection, if there is one. */
void debuginfod_close(void);

#endif
