#include "share/compat.h"
#include "collect/holdback.h"

#include "collect/drain.h"
#include "share/mem.h"

#define SHORT_ID ((uint64_t)1 << 63 | 1) /* none that the kernel gives out */
#define SHORT_FIELDS                                                                               \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)

/* sched:sched_waking, include/trace/events/sched.h: pid, in bytes of the raw data */
#define WAKING_PID 24

#define TELL_NS 1000000000u

/* A sample: in a ring, or copied from there. */
struct held {
	const struct event *event; /* NULL = none */
	struct ring *ring;         /* NULL = in bytes */
	uint64_t at;
	struct buf bytes;
};

struct holdback_thread {
	int32_t pid, tid;
	bool is_away, has_exited, is_fresh, is_summed;
	uint64_t since, woken;
	struct held out, waker;
	uint64_t nr_short, short_ns; /* since they were told */
};

static void drop(struct holdback *holdback, struct held *held)
{
	if (held->event && !held->ring)
		holdback->held_size -= held->bytes.size;
	held->event = NULL;
	buf_release(&held->bytes);
}

void holdback_init(struct holdback *holdback, struct recorder *recorder, uint64_t min_ns)
{
	*holdback = (struct holdback){.recorder = recorder, .min_ns = min_ns, .nr_slots = 256};
	holdback->slots = mem_zalloc(holdback->nr_slots * sizeof(struct holdback_thread *));
}

void holdback_release(struct holdback *holdback)
{
	for (size_t i = 0; i < holdback->nr_slots; i++) {
		if (!holdback->slots[i])
			continue;
		drop(holdback, &holdback->slots[i]->waker);
		drop(holdback, &holdback->slots[i]->out);
		free(holdback->slots[i]);
	}
	free(holdback->slots);
	free(holdback->fresh);
	free(holdback->summed);
	buf_release(&holdback->scratch);
	*holdback = (struct holdback){0};
}

void holdback_describe(struct recout *rec)
{
	struct event_list events = {0};
	struct event *event =
	        events_add(&events, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, "offcpu-short");

	event->attr.sample_type = SHORT_FIELDS;
	event->attr.sample_period = 1;
	event->attr.sample_id_all = 1;
	event->ids = mem_alloc(sizeof(*event->ids));
	event->ids[event->nr_ids++] = SHORT_ID;
	recout_events(rec, &events);
	event_list_release(&events);
}

/* ---- threads ---- */

static size_t slot_of(const struct holdback *holdback, int32_t tid)
{
	size_t at = (uint32_t)tid * 0x9e3779b1u & (holdback->nr_slots - 1);

	while (holdback->slots[at] && holdback->slots[at]->tid != tid)
		at = (at + 1) & (holdback->nr_slots - 1);
	return at;
}

static struct holdback_thread *thread_of(struct holdback *holdback, int32_t tid)
{
	size_t at = slot_of(holdback, tid);

	if (holdback->slots[at])
		return holdback->slots[at];
	if (++holdback->nr_threads > holdback->nr_slots / 2) {
		struct holdback_thread **old = holdback->slots;
		size_t nr_old = holdback->nr_slots;

		holdback->nr_slots *= 2;
		holdback->slots = mem_zalloc(holdback->nr_slots * sizeof(*old));
		for (size_t i = 0; i < nr_old; i++)
			if (old[i])
				holdback->slots[slot_of(holdback, old[i]->tid)] = old[i];
		free(old);
		at = slot_of(holdback, tid);
	}
	holdback->slots[at] = mem_zalloc(sizeof(struct holdback_thread));
	holdback->slots[at]->tid = tid;
	return holdback->slots[at];
}

/* ---- samples that are held ---- */

static void hold(struct holdback *holdback, struct holdback_thread *thread, struct held *held,
                 const struct event *event, struct ring *ring, uint64_t at)
{
	drop(holdback, held);
	held->event = event;
	held->ring = ring;
	held->at = at;
	if (thread->is_fresh)
		return;
	thread->is_fresh = true;
	MEM_GROW(holdback->fresh, holdback->nr_fresh, holdback->fresh_capacity);
	holdback->fresh[holdback->nr_fresh++] = thread;
}

static void copy_out_of_ring(struct holdback *holdback, struct held *held)
{
	bool is_full = holdback->held_size > HOLDBACK_MAX;

	if (!held->event || !held->ring)
		return;
	holdback->nr_stripped += is_full;
	drain_copy_sample(held->event, held->ring, held->at, !is_full, &held->bytes);
	held->ring = NULL;
	holdback->held_size += held->bytes.size;
}

static void patch(struct buf *sample, size_t words, uint64_t value)
{
	memcpy(sample->at + 8 + 8 * words, &value, sizeof(value));
}

static size_t words_of(const struct event *event, uint64_t fields)
{
	return (size_t)__builtin_popcountll(event->attr.sample_type & fields);
}

/* Writes a sample with another time and period. */
static void emit(struct holdback *holdback, struct held *held, uint64_t time, uint64_t period)
{
	const uint64_t before_time = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID;
	const uint64_t before_period = before_time | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
	                               PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU;
	struct buf *sample = &held->bytes;

	if (!held->event)
		return;
	if (held->ring) {
		sample = &holdback->scratch;
		buf_reset(sample);
		drain_copy_sample(held->event, held->ring, held->at, true, sample);
	}
	patch(sample, words_of(held->event, before_time), time);
	patch(sample, words_of(held->event, before_period), period);
	recout_bytes(holdback->recorder->rec, sample->at, sample->size);
	drop(holdback, held);
}

/* ---- what threads do ---- */

static void leave(struct holdback *holdback, struct holdback_thread *thread,
                  const struct event *event, struct ring *ring, uint64_t at, uint64_t time)
{
	/* a return that was lost: nobody knows when it was */
	drop(holdback, &thread->waker);
	drop(holdback, &thread->out);
	thread->is_away = !thread->has_exited;
	thread->since = time;
	thread->woken = 0;
	if (thread->is_away)
		hold(holdback, thread, &thread->out, event, ring, at);
}

static void be_woken(struct holdback *holdback, struct holdback_thread *thread,
                     const struct event *event, struct ring *ring, uint64_t at, uint64_t time)
{
	if (!thread->is_away || thread->woken)
		return;
	thread->woken = time;
	hold(holdback, thread, &thread->waker, event, ring, at);
}

static void come_back(struct holdback *holdback, struct holdback_thread *thread, uint64_t time)
{
	uint64_t ns = time > thread->since ? time - thread->since : 0;

	if (!thread->is_away)
		return;
	thread->is_away = false;
	if (ns >= holdback->min_ns) {
		emit(holdback, &thread->waker, time,
		     time > thread->woken ? time - thread->woken : 0);
		emit(holdback, &thread->out, time, ns);
		return;
	}
	drop(holdback, &thread->waker);
	drop(holdback, &thread->out);
	thread->nr_short++;
	thread->short_ns += ns;
	holdback->nr_short++;
	holdback->short_ns += ns;
	if (thread->is_summed)
		return;
	thread->is_summed = true;
	MEM_GROW(holdback->summed, holdback->nr_summed, holdback->summed_capacity);
	holdback->summed[holdback->nr_summed++] = thread;
}

static void tell_sum(struct holdback *holdback, struct holdback_thread *thread)
{
	struct {
		struct perf_event_header header;
		uint64_t id, ip;
		int32_t pid, tid;
		uint64_t time, nr, cpu, sum;
	} sample = {
	        .header = {.type = PERF_RECORD_SAMPLE,
	                   .misc = PERF_RECORD_MISC_KERNEL,
	                   .size = sizeof(sample)},
	        .id = SHORT_ID,
	        .pid = thread->pid,
	        .tid = thread->tid,
	        .time = holdback->last_time,
	        .nr = thread->nr_short,
	        .sum = thread->short_ns,
	};

	/* told when it ended */
	if (!thread->nr_short)
		return;
	recout_bytes(holdback->recorder->rec, &sample, sizeof(sample));
	thread->nr_short = thread->short_ns = 0;
}

static void tell_sums(struct holdback *holdback)
{
	for (size_t i = 0; i < holdback->nr_summed; i++) {
		tell_sum(holdback, holdback->summed[i]);
		holdback->summed[i]->is_summed = false;
	}
	holdback->nr_summed = 0;
	holdback->told_time = holdback->last_time;
}

static void begin_or_end_life(struct holdback *holdback, struct holdback_thread *thread,
                              bool has_exited)
{
	drop(holdback, &thread->waker);
	drop(holdback, &thread->out);
	tell_sum(holdback, thread);
	thread->is_away = false;
	thread->has_exited = has_exited;
}

/* ---- records ---- */

/*
 * All our events share a trailer of TID, TIME, CPU, IDENTIFIER, and begin
 * samples with IDENTIFIER, IP, TID, TIME.
 */
static uint64_t time_of(const struct ring *ring, uint64_t at,
                        const struct perf_event_header *header)
{
	return *ring_u64(ring,
	                 header->type == PERF_RECORD_SAMPLE ? at + 32 : at + header->size - 24);
}

static int32_t high_half(uint64_t word)
{
	return (int32_t)(word >> 32);
}

/* The thread that a sample of sched:sched_waking tells of; 0 where it cannot be told. */
static int32_t woken_by(const struct event *event, const struct ring *ring, uint64_t at,
                        const struct perf_event_header *header)
{
	uint64_t end = at + header->size, raw = at + event->words_to_chain * 8;

	if (event->attr.sample_type & PERF_SAMPLE_CALLCHAIN)
		raw += 8 + 8 * MIN_OF(*ring_u64(ring, raw), 65536u);
	/* its size has 4 bytes, and 4 more do not fill up a word */
	if (raw + WAKING_PID + 8 > end)
		return 0;
	return high_half(*ring_u64(ring, raw + WAKING_PID));
}

static void take(struct holdback *holdback, struct ring *ring, uint64_t at,
                 const struct perf_event_header *header)
{
	const struct event *event = drain_count(holdback->recorder, ring, at, header);
	uint64_t time = time_of(ring, at, header);
	bool is_wide = header->type == PERF_RECORD_SWITCH_CPU_WIDE;
	struct holdback_thread *thread;
	int32_t tid;

	holdback->last_time = MAX_OF(holdback->last_time, time);
	switch (header->type) {
	case PERF_RECORD_SAMPLE:
		if (!event)
			break;
		tid = event->role == ROLE_WAKING ? woken_by(event, ring, at, header) :
		                                   high_half(*ring_u64(ring, at + 24));
		if (event->role == ROLE_NONE) {
			/* who charges time to this sample has to know what was none on the CPU */
			if (tid > 0)
				tell_sum(holdback, thread_of(holdback, tid));
			break;
		}
		if (tid <= 0)
			return;
		thread = thread_of(holdback, tid);
		if (event->role == ROLE_WAKING) {
			be_woken(holdback, thread, event, ring, at, time);
			return;
		}
		thread->pid = (int32_t)*ring_u64(ring, at + 24);
		leave(holdback, thread, event, ring, at, time);
		return;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		tid = high_half(*ring_u64(ring, at + (is_wide ? 16 : 8)));
		if (tid > 0 && !(header->misc & PERF_RECORD_MISC_SWITCH_OUT))
			come_back(holdback, thread_of(holdback, tid), time);
		return;
	case PERF_RECORD_EXIT:
	case PERF_RECORD_FORK:
		tid = (int32_t)*ring_u64(ring, at + 16);
		begin_or_end_life(holdback, thread_of(holdback, tid),
		                  header->type == PERF_RECORD_EXIT);
		break;
	}
	drain_pass_on(holdback->recorder, ring, at, header, event);
}

/* Reads the header at the ring's position; false where there is none to be taken yet. */
static bool look(struct holdback *holdback, struct ring *ring, uint64_t until,
                 struct perf_event_header *header, uint64_t *time)
{
	if (!ring->page || ring->at >= ring->head)
		return false;
	memcpy(header, ring_u64(ring, ring->at), sizeof(*header));
	if (header->size < sizeof(*header) + 32 || ring->at + header->size > ring->head) {
		/* cannot happen with an intact kernel; do not spread it */
		holdback->recorder->nr_malformed++;
		ring->at = ring->head;
		return false;
	}
	*time = time_of(ring, ring->at, header);
	return *time <= until;
}

bool holdback_drain(struct holdback *holdback, uint64_t until)
{
	struct recorder *recorder = holdback->recorder;
	struct perf_event_header header, first;
	bool any = false;

	for (size_t i = 0; i < recorder->nr_rings; i++)
		any |= recorder->rings[i].page && ring_look(&recorder->rings[i]);
	for (;;) {
		struct ring *oldest = NULL;
		uint64_t time, least = UINT64_MAX, second = until;

		for (size_t i = 0; i < recorder->nr_rings; i++) {
			if (!look(holdback, &recorder->rings[i], until, &header, &time))
				continue;
			if (!oldest || time < least) {
				second = oldest ? MIN_OF(second, least) : second;
				oldest = &recorder->rings[i];
				least = time;
				first = header;
			} else {
				second = MIN_OF(second, time);
			}
		}
		if (!oldest)
			break;
		/* up to where another ring has its turn */
		do {
			take(holdback, oldest, oldest->at, &first);
			oldest->at += first.size;
		} while (look(holdback, oldest, second, &first, &time));
	}
	for (size_t i = 0; i < holdback->nr_fresh; i++) {
		copy_out_of_ring(holdback, &holdback->fresh[i]->out);
		copy_out_of_ring(holdback, &holdback->fresh[i]->waker);
		holdback->fresh[i]->is_fresh = false;
	}
	holdback->nr_fresh = 0;
	for (size_t i = 0; i < recorder->nr_rings; i++)
		if (recorder->rings[i].page)
			ring_give_back(&recorder->rings[i]);
	if (holdback->last_time - holdback->told_time >= TELL_NS)
		tell_sums(holdback);
	return any;
}

void holdback_finish(struct holdback *holdback)
{
	for (size_t i = 0; i < holdback->nr_slots; i++)
		if (holdback->slots[i])
			come_back(holdback, holdback->slots[i], holdback->last_time);
	tell_sums(holdback);
}
