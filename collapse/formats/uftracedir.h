/*
 * uftracedir.h - what the other files of a uftrace.data directory say of a
 * TID.dat in it: process, program and the names of addresses.
 *
 * Source: uftrace 0.9 to 0.17, utils/session.c and utils/symbol.c:
 *	task.txt     "SESS timestamp=S.NS pid=N sid=HEX exename="PATH"",
 *	             "TASK timestamp=S.NS tid=N pid=N", "FORK timestamp=S.NS pid=N ppid=N"
 *	sid-HEX.map  lines as in /proc/PID/maps
 *	MODULE.sym   "ADDRESS [SIZE] TYPE NAME", addresses from where MODULE is mapped,
 *	             "# ..." before them
 */
#ifndef COLLAPSE_UFTRACEDIR_H
#define COLLAPSE_UFTRACEDIR_H

#include "share/compat.h"

struct uftracedir;

/*
 * The paths of the TID.dat files in a folder that are not empty, sorted; how many.
 * 0, and nothing to free, where the folder is no uftrace.data. Else free each and
 * the array.
 */
size_t uftracedir_threads(const char *folder, char ***paths);

/* Of the directory that path lies in. NULL where no task.txt is there. */
struct uftracedir *uftracedir_open(const char *path);
void uftracedir_close(struct uftracedir *dir);

/* The session that a thread belongs to when its recording begins; an index, or -1. */
int uftracedir_session(const struct uftracedir *dir, uint64_t tid, uint64_t time_ns);

/* Name of the program, and the process, or size 0 and -1. */
struct slice uftracedir_program(const struct uftracedir *dir, int session);
int64_t uftracedir_pid(const struct uftracedir *dir, uint64_t tid);

/* The function around an address, as the linker knows it. */
bool uftracedir_name(struct uftracedir *dir, int session, uint64_t address, struct slice *name);

#endif
