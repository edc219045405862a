#include "share/compat.h"
#include "collect/drain.h"

#include "collect/caps.h"
#include "share/mem.h"
#include "share/msg.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

/* Passes in a row that find a ring three quarters full, before threads are started. */
#define PASSES_BEHIND 3
#define MAX_THREADS   16

/* Counters that several threads share. */
#define COUNT(counter, nr) __atomic_fetch_add(&(counter), (nr), __ATOMIC_RELAXED)

struct drain {
	struct recorder *recorder;
	unsigned int behind; /* passes in a row */
	bool gave_up;        /* threads cannot be had */
	pthread_t threads[MAX_THREADS];
	size_t nr_threads;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	size_t next_ring, nr_unread; /* of this pass: to be taken; not read yet */
	bool any, ending;
};

/* Copies a stretch of the ring, which may wrap. */
static void copy(const struct ring *ring, uint64_t from, uint64_t to, struct buf *out)
{
	while (from < to) {
		uint64_t at = from & ring->mask;
		uint64_t size = MIN_OF(to - from, ring_size(ring) - at);

		buf_add(out, ring->data + at, size);
		from += size;
	}
}

/* 8-byte fields that tell one event's value, as our read_format asks for them. */
static uint64_t words_of_value(const struct perf_event_attr *attr)
{
	return 1 + (uint64_t)__builtin_popcountll(attr->read_format &
	                                          (PERF_FORMAT_ID | PERF_FORMAT_LOST));
}

/*
 * Copies a sample without the unused end of its stack copy: the kernel
 * reserves what was asked for, and says behind it how much it could read.
 * False where the sample has to be copied as it is. Source:
 * perf_output_sample_ustack() of kernel/events/core.c; a size of 0 has no
 * second size behind it. The pages are not ours to write to.
 */
static bool copy_trimmed(const struct event *event, const struct ring *ring, uint64_t at,
                         const struct perf_event_header *header, bool with_stack, struct buf *out)
{
	const struct perf_event_attr *attr = &event->attr;
	uint64_t field = at + event->words_to_chain * 8, end = at + header->size, size, used, cut;
	struct perf_event_header shorter = *header;

	if (!(attr->sample_type & PERF_SAMPLE_STACK_USER))
		return false;
	/* a group: how many, then value, id and lost of each; else those of one */
	if (attr->sample_type & PERF_SAMPLE_READ)
		field += attr->read_format & PERF_FORMAT_GROUP ?
		                 8 + 8 * words_of_value(attr) *
		                                 MIN_OF(*ring_u64(ring, field), 65536u) :
		                 8 * words_of_value(attr);
	if (field < end && attr->sample_type & PERF_SAMPLE_CALLCHAIN)
		field += 8 + 8 * MIN_OF(*ring_u64(ring, field), 65536u);
	/* a size of 4 bytes, then so many that both together end with a word */
	if (field < end && attr->sample_type & PERF_SAMPLE_RAW)
		field += (4 + (uint64_t)(uint32_t)*ring_u64(ring, field) + 7) & ~7ull;
	if (field < end && attr->sample_type & PERF_SAMPLE_BRANCH_STACK)
		field += 8 + 24 * MIN_OF(*ring_u64(ring, field), 65536u);
	if (field >= end)
		return false;
	field += 8;
	if (*ring_u64(ring, field - 8))
		field += 8 * (uint64_t)__builtin_popcountll(attr->sample_regs_user);
	if (field + 16 > end)
		return false;
	size = *ring_u64(ring, field);
	if (!size || size % 8 || field + 16 + size > end)
		return false;
	used = (MIN_OF(*ring_u64(ring, field + 8 + size), size) + 7) & ~7ull;
	if (!with_stack)
		used = 0;
	if (used == size)
		return false;
	cut = size - used + (used ? 0 : 8);
	shorter.size = (uint16_t)(header->size - cut);
	buf_add(out, &shorter, sizeof(shorter));
	copy(ring, at + sizeof(shorter), field, out);
	buf_add(out, &used, sizeof(used));
	copy(ring, field + 8, field + 8 + used, out);
	copy(ring, field + 8 + used + cut, end, out);
	return true;
}

void drain_copy_sample(const struct event *event, const struct ring *ring, uint64_t at,
                       bool with_stack, struct buf *out)
{
	struct perf_event_header header;
	size_t before = out->size;

	memcpy(&header, ring_u64(ring, at), sizeof(header));
	if (!copy_trimmed(event, ring, at, &header, with_stack, out))
		copy(ring, at, at + header.size, out);
	/* the IDENTIFIER comes first */
	if (event->renumbered)
		memcpy(out->at + before + sizeof(header), event->ids, sizeof(*event->ids));
}

struct event *drain_count(struct recorder *recorder, const struct ring *ring, uint64_t at,
                          const struct perf_event_header *header)
{
	struct event *event = NULL;

	switch (header->type) {
	case PERF_RECORD_SAMPLE:
		COUNT(recorder->nr_samples, 1);
		event = recorder_event(recorder, *ring_u64(ring, at + 8));
		if (event)
			COUNT(event->nr_samples, 1);
		return event;
	case PERF_RECORD_LOST:
		COUNT(recorder->nr_lost, *ring_u64(ring, at + 16));
		break;
	case PERF_RECORD_LOST_SAMPLES:
		COUNT(recorder->nr_lost, *ring_u64(ring, at + 8));
		break;
	case PERF_RECORD_THROTTLE:
		COUNT(recorder->nr_throttled, 1);
		event = recorder_event(recorder, *ring_u64(ring, at + 16));
		if (event)
			COUNT(event->nr_throttled, 1);
		break;
	}
	return NULL;
}

/* Keeps in mind which processes are recorded. Layout: pid, ppid, tid, ptid. */
static void note_process(struct recorder *recorder, const struct ring *ring, uint64_t at,
                         const struct perf_event_header *header)
{
	uint64_t pids = *ring_u64(ring, at + 8), tids = *ring_u64(ring, at + 16);

	if ((uint32_t)pids != (uint32_t)tids)
		return;
	if (header->type == PERF_RECORD_FORK && recorder->sampling->inherit)
		target_note_fork(recorder->target, (int)(pids >> 32), (int)(uint32_t)pids);
	else if (header->type == PERF_RECORD_EXIT)
		target_note_exit(recorder->target, (int)(uint32_t)pids);
}

static void copy_record(struct recorder *recorder, const struct ring *ring, uint64_t at,
                        const struct perf_event_header *header, const struct event *event,
                        struct buf *out)
{
	if (event) {
		drain_copy_sample(event, ring, at, true, out);
		return;
	}
	copy(ring, at, at + header->size, out);
	if (!recorder->renumbers)
		return;
	/* the IDENTIFIER comes last */
	event = recorder_event(recorder, *ring_u64(ring, at + header->size - 8));
	if (event)
		memcpy(out->at + out->size - 8, event->ids, sizeof(*event->ids));
	if (recorder->follows)
		note_process(recorder, ring, at, header);
}

void drain_pass_on(struct recorder *recorder, const struct ring *ring, uint64_t at,
                   const struct perf_event_header *header, const struct event *event)
{
	copy_record(recorder, ring, at, header, event, &recorder->rec->block);
	recout_take_full(recorder->rec, &recorder->rec->block);
}

/* Reads a ring into a buffer, which goes to the writer each time it is full. */
static void read_ring(struct recorder *recorder, struct ring *ring, struct buf *out)
{
	uint64_t run = ring->at, at = ring->at;

	while (at < ring->head) {
		struct perf_event_header header;
		const struct event *event;
		uint64_t next;

		memcpy(&header, ring_u64(ring, at), sizeof(header));
		next = at + header.size;
		if (header.size < 2 * sizeof(header) || next > ring->head) {
			/* cannot happen with an intact kernel; do not spread it */
			COUNT(recorder->nr_malformed, 1);
			copy(ring, run, at, out);
			run = at = ring->head;
			break;
		}
		event = drain_count(recorder, ring, at, &header);
		if (recorder->renumbers ||
		    (event && event->attr.sample_type & PERF_SAMPLE_STACK_USER)) {
			copy(ring, run, at, out);
			copy_record(recorder, ring, at, &header, event, out);
			run = next;
		} else if (next - run >= RECOUT_BLOCK) {
			copy(ring, run, next, out);
			run = next;
		}
		recout_take_full(recorder->rec, out);
		at = next;
	}
	copy(ring, run, at, out);
	ring->at = at;
	ring_give_back(ring);
}

/* ---- several threads ---- */

/* Takes rings of this pass and reads them, until there are no more. Called with the lock. */
static void read_share(struct drain *drain, struct buf *out)
{
	struct recorder *recorder = drain->recorder;

	while (drain->next_ring < recorder->nr_rings) {
		struct ring *ring = &recorder->rings[drain->next_ring++];
		bool any;

		pthread_mutex_unlock(&drain->lock);
		any = ring->page && ring_look(ring);
		if (any)
			read_ring(recorder, ring, out);
		recout_take(recorder->rec, out);
		pthread_mutex_lock(&drain->lock);
		drain->any |= any;
		if (--drain->nr_unread == 0)
			pthread_cond_broadcast(&drain->changed);
	}
}

static void *read_on(void *arg)
{
	struct drain *drain = arg;
	struct buf out = {0};

	/* the rings are mapped: reading them takes no rights */
	caps_keep(0);
	pthread_mutex_lock(&drain->lock);
	while (!drain->ending) {
		read_share(drain, &out);
		pthread_cond_wait(&drain->changed, &drain->lock);
	}
	pthread_mutex_unlock(&drain->lock);
	buf_release(&out);
	return NULL;
}

/* One thread for each CPU but this one's. Signals are for the thread that records. */
static void start_threads(struct drain *drain)
{
	size_t wanted = MIN_OF(drain->recorder->nr_rings, (size_t)sysconf(_SC_NPROCESSORS_ONLN));
	sigset_t all, before;

	wanted = MIN_OF(wanted, (size_t)MAX_THREADS + 1);
	drain->next_ring = drain->recorder->nr_rings;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (drain->nr_threads + 1 < wanted &&
	       pthread_create(&drain->threads[drain->nr_threads], NULL, read_on, drain) == 0)
		drain->nr_threads++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (drain->nr_threads)
		msg_note("one thread does not keep up: %zu read the buffers from now on",
		         drain->nr_threads + 1);
	else
		drain->gave_up = true;
}

static bool drain_together(struct drain *drain)
{
	struct buf out = {0};

	pthread_mutex_lock(&drain->lock);
	drain->any = false;
	drain->next_ring = 0;
	drain->nr_unread = drain->recorder->nr_rings;
	pthread_cond_broadcast(&drain->changed);
	read_share(drain, &out);
	while (drain->nr_unread)
		pthread_cond_wait(&drain->changed, &drain->lock);
	pthread_mutex_unlock(&drain->lock);
	buf_release(&out);
	return drain->any;
}

bool drain_rings(struct recorder *recorder)
{
	bool any = false, is_behind = false;

	if (recorder->drain && recorder->drain->nr_threads)
		return drain_together(recorder->drain);
	for (size_t i = 0; i < recorder->nr_rings; i++) {
		struct ring *ring = &recorder->rings[i];

		if (!ring->page || !ring_look(ring))
			continue;
		is_behind |= ring->head - ring->at > ring_size(ring) / 4 * 3;
		read_ring(recorder, ring, &recorder->rec->block);
		any = true;
	}
	/* the list of processes is one thread's */
	if (recorder->follows || recorder->nr_rings < 2)
		return any;
	if (!recorder->drain) {
		recorder->drain = mem_zalloc(sizeof(*recorder->drain));
		recorder->drain->recorder = recorder;
		pthread_mutex_init(&recorder->drain->lock, NULL);
		pthread_cond_init(&recorder->drain->changed, NULL);
	}
	recorder->drain->behind = is_behind ? recorder->drain->behind + 1 : 0;
	if (recorder->drain->behind >= PASSES_BEHIND && !recorder->drain->gave_up)
		start_threads(recorder->drain);
	return any;
}

void drain_release(struct recorder *recorder)
{
	struct drain *drain = recorder->drain;

	if (!drain)
		return;
	pthread_mutex_lock(&drain->lock);
	drain->ending = true;
	pthread_cond_broadcast(&drain->changed);
	pthread_mutex_unlock(&drain->lock);
	for (size_t i = 0; i < drain->nr_threads; i++)
		pthread_join(drain->threads[i], NULL);
	free(drain);
	recorder->drain = NULL;
}
