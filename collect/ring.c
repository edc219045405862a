#include "share/compat.h"
#include "collect/ring.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

int ring_map(struct ring *ring, int fd, int cpu, size_t size, bool overwrite)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	/* a buffer mapped without PROT_WRITE is overwritten when full */
	int protection = overwrite ? PROT_READ : PROT_READ | PROT_WRITE;
	void *base = mmap(NULL, page + size, protection, MAP_SHARED, fd, 0);

	if (base == MAP_FAILED)
		return -1;
	*ring = (struct ring){
	        .fd = fd,
	        .cpu = cpu,
	        .page = base,
	        .data = (uint8_t *)base + page,
	        .mask = size - 1,
	        .mapped = page + size,
	};
	return 0;
}

void ring_unmap(struct ring *ring)
{
	if (ring->page)
		munmap(ring->page, ring->mapped);
	ring->page = NULL;
}

bool ring_look(struct ring *ring)
{
	/* pairs with the kernel's barrier between data and data_head */
	ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	return ring->head != ring->at;
}

void ring_give_back(struct ring *ring)
{
	__atomic_store_n(&ring->page->data_tail, ring->at, __ATOMIC_RELEASE);
}
