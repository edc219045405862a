/*
 * ring.h - the buffer that the kernel writes records into and we read.
 *
 * Source: struct perf_event_mmap_page, "mmap layout" of perf_event_open(2).
 * Records begin on multiples of 8, so no 8-byte field is ever split by the
 * wrap of the buffer; longer ones may be.
 */
#ifndef COLLECT_RING_H
#define COLLECT_RING_H

#include "share/compat.h"
#include "share/err.h"

struct ring {
	int fd; /* the event that owns the buffer; borrowed */
	int cpu;
	struct perf_event_mmap_page *page;
	uint8_t *data;
	uint64_t mask;     /* data size - 1 */
	size_t mapped;     /* bytes, control page included */
	uint64_t at, head; /* what is read next, and the end of what the kernel wrote */
};

/*
 * Maps a ring of size data bytes (a power of two, at least a page). -1 leaves
 * errno as mmap did.
 */
int ring_map(struct ring *ring, int fd, int cpu, size_t size, bool overwrite);
void ring_unmap(struct ring *ring);

/* Looks how far the kernel is; true when there are records from at to head. */
bool ring_look(struct ring *ring);

/* Gives the space up to at back to the kernel. */
void ring_give_back(struct ring *ring);

/* The field at a position that is a multiple of 8. */
static inline uint64_t *ring_u64(const struct ring *ring, uint64_t position)
{
	return (uint64_t *)(ring->data + (position & ring->mask));
}

static inline uint64_t ring_size(const struct ring *ring)
{
	return ring->mask + 1;
}

#endif
