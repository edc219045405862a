#include "share/compat.h"
#include "collect/library.h"

#ifdef STATIC_PROGRAM

void *library_open(const char *name UNUSED)
{
	return NULL;
}

#else

#include <dlfcn.h>

void *library_open(const char *name)
{
	return dlopen(name, RTLD_NOW);
}

#endif
