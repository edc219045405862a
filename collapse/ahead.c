#include "share/compat.h"
#include "collapse/ahead.h"

#include "share/mem.h"

#include <pthread.h>
#include <stdatomic.h>

#define MASK (AHEAD_SIZE - 1)

/* A sleeping thread is woken for so many samples, since waking costs as much as a walk. */
#define WORTH_WAKING (AHEAD_SIZE / 8)

/* Turns to look again before going to sleep: about the time of one walk. */
#define PATIENCE 2000

enum { THREADS_MAX = 64 };

struct slot {
	const uint8_t *record;
	struct event *event;
	struct frames_moment moment; /* its maps are shared; NULL: not to be unwound */
	atomic_bool is_done;

	struct unwound unwound; /* its frames are in `space` */
	struct unwind_frame *space;
	size_t capacity;
};

/* What a thread needs for itself. */
struct walker {
	struct ahead *ahead;
	pthread_t thread;
	struct unwinder *unwinder;
	struct sample_scratch scratch;
	struct unwind_frame *space;
};

struct ahead {
	struct ahead_options options;
	struct slot slots[AHEAD_SIZE]; /* of sample n: n & MASK */

	/* samples so far: delivered <= taken <= added */
	uint64_t delivered;
	atomic_uint_fast64_t taken, added;

	struct walker own;
	struct walker walkers[THREADS_MAX];
	size_t nr_walkers;
	bool is_started;

	pthread_mutex_t lock; /* for sleeping and waking */
	pthread_cond_t work, done;
	atomic_uint nr_asleep;
	atomic_bool is_awaited; /* the caller sleeps until a sample is done */
	bool is_over;
};

static void walker_init(struct walker *walker, struct ahead *ahead, struct unwinder *unwinder)
{
	*walker = (struct walker){.ahead = ahead, .unwinder = unwinder};
	walker->space = mem_alloc(UNWIND_DEPTH_MAX * sizeof(*walker->space));
}

static void walker_release(struct walker *walker)
{
	sample_scratch_release(&walker->scratch);
	free(walker->space);
}

struct ahead *ahead_new(const struct ahead_options *options)
{
	struct ahead *ahead = mem_zalloc(sizeof(*ahead));

	ahead->options = *options;
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_cond_init(&ahead->work, NULL);
	pthread_cond_init(&ahead->done, NULL);
	walker_init(&ahead->own, ahead, frames_unwinder(options->frames));
	return ahead;
}

void ahead_free(struct ahead *ahead)
{
	if (!ahead)
		return;
	pthread_mutex_lock(&ahead->lock);
	ahead->is_over = true;
	pthread_cond_broadcast(&ahead->work);
	pthread_mutex_unlock(&ahead->lock);
	for (size_t i = 0; i < ahead->nr_walkers; i++) {
		pthread_join(ahead->walkers[i].thread, NULL);
		unwinder_free(ahead->walkers[i].unwinder);
		walker_release(&ahead->walkers[i]);
	}
	walker_release(&ahead->own);
	for (; ahead->delivered < atomic_load(&ahead->added); ahead->delivered++)
		maps_unref(ahead->slots[ahead->delivered & MASK].moment.maps);
	for (size_t i = 0; i < AHEAD_SIZE; i++)
		free(ahead->slots[i].space);
	pthread_cond_destroy(&ahead->done);
	pthread_cond_destroy(&ahead->work);
	pthread_mutex_destroy(&ahead->lock);
	free(ahead);
}

/* ---- any thread ---- */

static void keep(struct slot *slot, const struct unwind_frame *frames)
{
	size_t nr = slot->unwound.nr;

	if (nr > slot->capacity) {
		slot->capacity = nr + 32;
		slot->space = mem_resize(slot->space, slot->capacity, sizeof(*slot->space));
	}
	if (nr)
		memcpy(slot->space, frames, nr * sizeof(*frames));
	slot->unwound.at = slot->space;
}

/* The oldest sample that nobody has taken, or NULL. */
static struct slot *take(struct ahead *ahead)
{
	uint64_t taken = atomic_load(&ahead->taken);

	do {
		if (taken == atomic_load(&ahead->added))
			return NULL;
	} while (!atomic_compare_exchange_weak(&ahead->taken, &taken, taken + 1));
	return &ahead->slots[taken & MASK];
}

static const struct reader *reader_of(const struct ahead *ahead)
{
	return ahead->options.frames->places.session->reader;
}

static void walk(struct walker *walker, struct slot *slot)
{
	struct ahead *ahead = walker->ahead;
	struct record record;
	struct sample sample;

	slot->unwound = (struct unwound){0};
	if (slot->moment.maps) {
		reader_record_at(reader_of(ahead), slot->record, &record);
		if (sample_decode(reader_of(ahead), slot->event, &record, &walker->scratch,
		                  &sample) &&
		    sample_has_stack(&sample)) {
			frames_unwind(ahead->options.frames->options.machine, walker->unwinder,
			              &sample, &slot->moment, walker->space, &slot->unwound);
			keep(slot, walker->space);
		}
	}
	atomic_store(&slot->is_done, true);
}

static void *walk_all(void *arg)
{
	struct walker *walker = arg;
	struct ahead *ahead = walker->ahead;

	for (;;) {
		struct slot *slot = take(ahead);

		if (slot) {
			walk(walker, slot);
			if (atomic_load(&ahead->is_awaited)) {
				pthread_mutex_lock(&ahead->lock);
				pthread_cond_signal(&ahead->done);
				pthread_mutex_unlock(&ahead->lock);
			}
			continue;
		}
		pthread_mutex_lock(&ahead->lock);
		atomic_fetch_add(&ahead->nr_asleep, 1);
		while (!ahead->is_over && atomic_load(&ahead->taken) == atomic_load(&ahead->added))
			pthread_cond_wait(&ahead->work, &ahead->lock);
		atomic_fetch_sub(&ahead->nr_asleep, 1);
		if (ahead->is_over) {
			pthread_mutex_unlock(&ahead->lock);
			return NULL;
		}
		pthread_mutex_unlock(&ahead->lock);
	}
}

/* ---- the caller's thread ---- */

static void start(struct ahead *ahead)
{
	ahead->is_started = true;
	while (ahead->nr_walkers < THREADS_MAX &&
	       ahead->nr_walkers + 1 < ahead->options.nr_threads) {
		struct walker *walker = &ahead->walkers[ahead->nr_walkers];

		walker_init(walker, ahead, unwinder_new(ahead->options.frames->rules));
		if (pthread_create(&walker->thread, NULL, walk_all, walker) != 0) {
			/* fewer threads do it as well */
			unwinder_free(walker->unwinder);
			walker_release(walker);
			return;
		}
		ahead->nr_walkers++;
	}
}

/* Does what there is to do until the sample is done. */
static void await(struct ahead *ahead, struct slot *slot)
{
	unsigned patience = PATIENCE;

	while (!atomic_load(&slot->is_done)) {
		struct slot *other = take(ahead);

		if (other) {
			walk(&ahead->own, other);
			continue;
		}
		if (patience-- > 0)
			continue;
		pthread_mutex_lock(&ahead->lock);
		atomic_store(&ahead->is_awaited, true);
		while (!atomic_load(&slot->is_done))
			pthread_cond_wait(&ahead->done, &ahead->lock);
		atomic_store(&ahead->is_awaited, false);
		pthread_mutex_unlock(&ahead->lock);
	}
}

static void deliver_one(struct ahead *ahead)
{
	struct slot *slot = &ahead->slots[ahead->delivered & MASK];
	struct record record;

	await(ahead, slot);
	reader_record_at(reader_of(ahead), slot->record, &record);
	ahead->options.deliver(ahead->options.ctx, &record, slot->event, slot->moment.time,
	                       slot->unwound.at ? &slot->unwound : NULL);
	maps_unref(slot->moment.maps);
	ahead->delivered++;
}

void ahead_drain(struct ahead *ahead)
{
	while (ahead && ahead->delivered < atomic_load(&ahead->added))
		deliver_one(ahead);
}

static void add(struct ahead *ahead, const struct slot *what)
{
	uint64_t added = atomic_load(&ahead->added);
	struct slot *slot = &ahead->slots[added & MASK];

	if (added - ahead->delivered == AHEAD_SIZE) {
		if (!ahead->is_started)
			start(ahead);
		deliver_one(ahead);
	}
	slot->record = what->record;
	slot->event = what->event;
	slot->moment = what->moment;
	if (slot->moment.maps)
		maps_share(slot->moment.maps);
	atomic_store(&slot->is_done, false);
	atomic_store(&ahead->added, added + 1);
	if (atomic_load(&ahead->nr_asleep) &&
	    added + 1 - atomic_load(&ahead->taken) >= WORTH_WAKING) {
		pthread_mutex_lock(&ahead->lock);
		pthread_cond_signal(&ahead->work);
		pthread_mutex_unlock(&ahead->lock);
	}
}

static bool may_be_unwound(const struct event *event)
{
	const uint64_t wanted = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;

	return event && (event->attr.sample_type & wanted) == wanted;
}

/* The sample's process as it is now, where counting the sample will change no task. */
static struct frames_moment moment_of(const struct ahead *ahead, const struct record *record,
                                      const struct event *event, uint64_t time)
{
	const struct session *session = ahead->options.frames->places.session;
	struct frames_moment moment = {.time = time};
	const struct thread *thread;
	int32_t pid, tid;

	if (!sample_task(reader_of(ahead), event, record, &pid, &tid))
		return moment;
	thread = session_find(session, tid);
	/* of another process than last: see session_thread() */
	if (thread && (thread->pid == pid || tid == 0)) {
		moment.maps = thread->process->maps;
		moment.jitdump = session_jitdump(thread->process);
	}
	return moment;
}

/* Does it leave alone all that walks depend on? */
static bool is_harmless(const struct ahead *ahead, const struct record *record)
{
	switch (record->type) {
	case PERF_RECORD_SAMPLE:
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
	case PERF_RECORD_AUX:
		return true;
	}
	return session_is_data_map(ahead->options.frames->places.session, record);
}

bool ahead_queue(struct ahead *ahead, const struct record *record, struct event *event,
                 uint64_t time)
{
	struct slot slot = {.record = record->at, .event = event, .moment = {.time = time}};
	bool is_walk = record->type == PERF_RECORD_SAMPLE && may_be_unwound(event), is_empty;

	if (!ahead)
		return false;
	is_empty = ahead->delivered == atomic_load(&ahead->added);
	if (is_walk)
		slot.moment = moment_of(ahead, record, event, time);
	if (time &&
	    (is_walk ? slot.moment.maps != NULL : !is_empty && is_harmless(ahead, record))) {
		add(ahead, &slot);
		return true;
	}
	ahead_drain(ahead);
	return false;
}
