#include "share/compat.h"
#include "collect/follow.h"

#include "collect/target.h"
#include "share/mem.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Names come in bursts when a machine starts many programs. */
#define BELL_SIZE (16 * 1024)

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static int open_bell(struct ring *bell, int cpu)
{
	struct perf_event_attr attr = {
	        .type = PERF_TYPE_SOFTWARE,
	        .size = sizeof(attr),
	        .config = PERF_COUNT_SW_DUMMY,
	        .comm = 1,
	        .watermark = 1,
	        .wakeup_watermark = 1,
	        .exclude_kernel = 1,
	        .exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -1;
	if (ring_map(bell, fd, cpu, BELL_SIZE, false) == 0)
		return 0;
	close(fd);
	return -1;
}

void follow_open(struct follow *follow, const char *name, const int *cpus, size_t nr_cpus)
{
	*follow = (struct follow){0};
	snprintf(follow->name, sizeof(follow->name), "%s", name);
	follow->bells = mem_zalloc(nr_cpus * sizeof(*follow->bells));
	while (follow->nr_bells < nr_cpus &&
	       open_bell(&follow->bells[follow->nr_bells], cpus[follow->nr_bells]) == 0)
		follow->nr_bells++;
	if (follow->nr_bells < nr_cpus)
		follow_release(follow);
}

void follow_release(struct follow *follow)
{
	for (size_t i = 0; i < follow->nr_bells; i++) {
		ring_unmap(&follow->bells[i]);
		close(follow->bells[i].fd);
	}
	free(follow->bells);
	follow->bells = NULL;
	follow->nr_bells = 0;
}

size_t follow_pollfds(const struct follow *follow, struct pollfd *fds)
{
	for (size_t i = 0; i < follow->nr_bells; i++)
		fds[i] = (struct pollfd){.fd = follow->bells[i].fd, .events = POLLIN};
	return follow->nr_bells;
}

/* Header, then pid and tid, then the name, padded to 8 bytes. */
static void read_bell(const struct follow *follow, struct ring *bell,
                      void (*found)(int pid, void *arg), void *arg)
{
	while (bell->at < bell->head) {
		struct perf_event_header header;
		uint64_t ids, words[2] = {0};
		size_t left;

		memcpy(&header, ring_u64(bell, bell->at), sizeof(header));
		left = header.size - MIN_OF(header.size, 16u);
		ids = *ring_u64(bell, bell->at + 8);
		for (size_t i = 0; i < 2 && left >= 8 * (i + 1); i++)
			words[i] = *ring_u64(bell, bell->at + 16 + 8 * i);
		if (header.type == PERF_RECORD_COMM && (uint32_t)ids == ids >> 32 &&
		    strncmp((const char *)words, follow->name, sizeof(words)) == 0)
			found((int)(uint32_t)ids, arg);
		bell->at += MAX_OF(header.size, sizeof(header));
	}
	ring_give_back(bell);
}

void follow_look(struct follow *follow, void (*found)(int pid, void *arg), void *arg)
{
	for (size_t i = 0; i < follow->nr_bells; i++)
		if (ring_look(&follow->bells[i]))
			read_bell(follow, &follow->bells[i], found, arg);
	if (follow->nr_bells || now_ns() < follow->next_scan_ns)
		return;
	follow->next_scan_ns = now_ns() + FOLLOW_SCAN_NS;
	target_each_named(follow->name, found, arg);
}
