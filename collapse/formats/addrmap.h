/*
 * addrmap.h - which file an address of a process lies in, for profiles that
 * end in a list of mappings and hold no names.
 *
 * Lines of maps are those of /proc/PID/maps ("START-END PERMS OFFSET DEV INODE
 * FILE", proc(5)) or of gperftools' thread lists ("START-END: FILE").
 */
#ifndef COLLAPSE_ADDRMAP_H
#define COLLAPSE_ADDRMAP_H

#include "share/buf.h"
#include "share/compat.h"

struct addrmap_entry {
	uint64_t start, end, offset;
	struct slice file; /* borrowed from the input */
};

struct addrmap {
	struct addrmap_entry *at;
	size_t nr, capacity;
	bool is_sorted;
};

/* A zeroed struct addrmap is ready to use. */
void addrmap_release(struct addrmap *map);

/* Takes the line where it is one of a map; false, and nothing done, where not. */
bool addrmap_take(struct addrmap *map, struct slice line);

/* Writes "libfoo.so+0x1234", or "0x7f001234" where no file is known there; returns the size. */
size_t addrmap_name(struct addrmap *map, uint64_t address, char *text, size_t size);

/* Splits the next word off *rest, at blanks; false at the end. */
bool slice_word(struct slice *rest, struct slice *word);

#endif
