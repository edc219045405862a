/*
 * guard.h - what is left in order when a signal ends a tool.
 *
 * Inputs and modules are read through mappings. A file that somebody shortens
 * meanwhile raises SIGBUS with BUS_ADRERR (sigaction(2)): the end of the run,
 * said in one message, exit status EXIT_FAILED, unless the mapping was added
 * here. SIGHUP, SIGINT and SIGTERM end the tool as ever,
 * unless ignored. In each case the unfinished file of --output is removed.
 */
#ifndef SHARE_GUARD_H
#define SHARE_GUARD_H

#include "share/compat.h"

/*
 * A mapping whose file may shrink without ending the tool: what is not there
 * any more reads as zeros from then on, and is counted. For bytes that are
 * checked wherever they are read.
 */
struct guard_mapping;

/* From any thread; NULL where too many are in use: that one is not guarded. */
struct guard_mapping *guard_mapping_add(const void *at, size_t size);

/*
 * Counts it as one that lost its end, unless that is done already; for who
 * notices by other means. NULL is fine.
 */
void guard_mapping_cut(struct guard_mapping *mapping);

/* Before it is unmapped. NULL is fine. */
void guard_mapping_remove(struct guard_mapping *mapping);

/* How many mappings lost their end so far; to be compared before and after. */
unsigned guard_nr_cut(void);

/* Once, by main, behind msg_init(). Handlers that are set later replace these. */
void guard_init(void);

/*
 * path: the file to remove when a signal comes, kept by reference until the
 * next call; NULL when nothing is unfinished. One at a time.
 */
void guard_unfinished(const char *path);

#endif
