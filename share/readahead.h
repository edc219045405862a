/*
 * readahead.h - a thread that has the pages of a mapped file in place before
 * they are read, and takes them away after.
 *
 * A page that is touched for the first time costs an exception, one that is
 * given back an unmapping: half of what it takes to go once through a file in
 * the page cache. Decides how far ahead of its reader the thread runs.
 *
 * Needs MADV_POPULATE_READ (madvise(2), Linux 5.14); without it the reader
 * meets the pages itself, as ever.
 */
#ifndef SHARE_READAHEAD_H
#define SHARE_READAHEAD_H

#include "share/compat.h"

/* A smaller file is read sooner than a thread begins. */
#define READAHEAD_MIN_SIZE ((size_t)32 << 20)

struct readahead;

/* The whole mapping; borrowed until readahead_stop(). NULL where no thread can be had. */
struct readahead *readahead_start(void *map, size_t size);

/* Returns when the thread has ended. NULL is fine. */
void readahead_stop(struct readahead *readahead);

/*
 * The reader has come to this offset and does not look before `forgotten` any
 * more. Costs nothing most of the times.
 */
void readahead_reached(struct readahead *readahead, size_t at, size_t forgotten);

#endif
