/*
 * diagnose.h - what this machine permits this user, as a table for people:
 * `collect --check`. Requests are really made, and their descriptors closed.
 */
#ifndef COLLECT_DIAGNOSE_H
#define COLLECT_DIAGNOSE_H

#include "share/compat.h"
#include "share/output.h"

void diagnose_print(struct output *out);

#endif
