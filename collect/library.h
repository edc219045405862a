/*
 * library.h - libraries that serve where they are present, found at run time:
 * collect is linked with libc alone.
 */
#ifndef COLLECT_LIBRARY_H
#define COLLECT_LIBRARY_H

#include "share/compat.h"

/*
 * A handle for dlsym(3) and dlclose(3), or NULL where the library is absent.
 * A static program loads none: dlopen needs the very libc it was linked with.
 */
void *library_open(const char *name);

#endif
