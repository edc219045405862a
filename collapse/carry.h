/*
 * carry.h - takes what lives from one session into the next, so that a
 * recording that never ends does not fill the memory with what has ended.
 *
 * Carried: threads that have not exited, their processes, maps and names, the
 * kernel's maps, control groups. Left behind: all else, and with the old
 * table of modules their symbols and unwinding rules.
 */
#ifndef COLLAPSE_CARRY_H
#define COLLAPSE_CARRY_H

#include "collapse/records/session.h"

/* to: fresh from session_init(), with its own table of modules. */
void carry_session(struct session *to, const struct session *from);

#endif
