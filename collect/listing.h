/* listing.h - the events of this machine for people: `collect --list [GLOB]`. */
#ifndef COLLECT_LISTING_H
#define COLLECT_LISTING_H

#include "share/compat.h"
#include "share/err.h"
#include "share/output.h"

/* glob may be NULL for all. -1 where nothing matches. */
int listing_print(struct output *out, const char *glob, struct err *err);

#endif
