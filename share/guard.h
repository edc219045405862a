/*
 * guard.h - what is left in order when a signal ends a tool.
 *
 * Inputs and modules are read through mappings. A file that somebody shortens
 * meanwhile raises SIGBUS with BUS_ADRERR (sigaction(2)): said in one message,
 * exit status EXIT_FAILED. SIGHUP, SIGINT and SIGTERM end the tool as ever,
 * unless ignored. In each case the unfinished file of --output is removed.
 */
#ifndef SHARE_GUARD_H
#define SHARE_GUARD_H

#include "share/compat.h"

/* Once, by main, behind msg_init(). Handlers that are set later replace these. */
void guard_init(void);

/*
 * path: the file to remove when a signal comes, kept by reference until the
 * next call; NULL when nothing is unfinished. One at a time.
 */
void guard_unfinished(const char *path);

#endif
