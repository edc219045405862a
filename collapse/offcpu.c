#include "share/compat.h"
#include "collapse/offcpu.h"

#include "share/mem.h"

/* linux/perf_event.h 6.1: misc of PERF_RECORD_SWITCH and SWITCH_CPU_WIDE */
#define MISC_SWITCH_OUT         (1 << 13)
#define MISC_SWITCH_OUT_PREEMPT (1 << 14)

/*
 * The fields of sched:sched_switch (include/trace/events/sched.h, unchanged
 * from 2.6.3x to 6.18 in these places; also in the event's `format` file).
 */
enum {
	SCHED_PREV_STATE = 32, /* 8 bytes */
	SCHED_NEXT_PID = 56,   /* 4 bytes */
	SCHED_SIZE = 60,
};

/* include/linux/sched.h 6.1: what prev_state reports */
enum {
	TASK_INTERRUPTIBLE = 0x1,
	TASK_UNINTERRUPTIBLE = 0x2,
	TASK_STOPPED = 0x4,
	TASK_TRACED = 0x8,
	TASK_DEAD = 0x10 | 0x20, /* EXIT_DEAD, EXIT_ZOMBIE */
};

void offcpu_init(struct offcpu *offcpu, struct stacks *stacks, bool split_state)
{
	*offcpu = (struct offcpu){.stacks = stacks, .split_state = split_state, .nr_slots = 256};
	offcpu->slots = mem_zalloc(offcpu->nr_slots * sizeof(*offcpu->slots));
}

void offcpu_release(struct offcpu *offcpu)
{
	free(offcpu->slots);
	*offcpu = (struct offcpu){0};
}

static struct offcpu_thread *slot_of(struct offcpu_thread *slots, size_t nr_slots, int32_t tid)
{
	size_t at = hash_u64((uint32_t)tid, 0) & (nr_slots - 1);

	while (slots[at].tid && slots[at].tid != tid)
		at = (at + 1) & (nr_slots - 1);
	return &slots[at];
}

static struct offcpu_thread *thread_of(struct offcpu *offcpu, int32_t tid)
{
	struct offcpu_thread *thread = slot_of(offcpu->slots, offcpu->nr_slots, tid);

	if (thread->tid)
		return thread;
	if (++offcpu->nr_threads > offcpu->nr_slots / 2) {
		size_t nr_slots = offcpu->nr_slots * 2;
		struct offcpu_thread *slots = mem_zalloc(nr_slots * sizeof(*slots));

		for (size_t i = 0; i < offcpu->nr_slots; i++)
			if (offcpu->slots[i].tid)
				*slot_of(slots, nr_slots, offcpu->slots[i].tid) = offcpu->slots[i];
		free(offcpu->slots);
		offcpu->slots = slots;
		offcpu->nr_slots = nr_slots;
		thread = slot_of(slots, nr_slots, tid);
	}
	thread->tid = tid;
	return thread;
}

/* nanoseconds to microseconds, exactly */
static void charge(struct offcpu *offcpu, size_t entry, uint64_t ns)
{
	if (!stacks_weigh(offcpu->stacks, entry, (weight_fx)ns * (WEIGHT_ONE / 1000)))
		offcpu->is_full = true;
}

static void end_wait(struct offcpu *offcpu, struct offcpu_thread *thread, uint64_t time)
{
	static const char *const states[] = {
	        [OFFCPU_UNKNOWN] = "[waiting]", [OFFCPU_SLEEPING] = "[sleeping]",
	        [OFFCPU_DISK] = "[disk]",       [OFFCPU_RUNNABLE] = "[runnable]",
	        [OFFCPU_STOPPED] = "[stopped]",
	};
	size_t entry = thread->entry;

	thread->is_waiting = false;
	if (thread->why == OFFCPU_DEAD || time <= thread->since)
		return;
	offcpu->nr_waits++;
	if (!entry) {
		offcpu->nr_no_stack++;
		return;
	}
	if (offcpu->split_state)
		entry = stacks_extend(offcpu->stacks, entry, states[thread->why]);
	charge(offcpu, entry, time - thread->since);
}

static void start_running(struct offcpu_thread *thread, uint64_t time)
{
	thread->is_running = true;
	thread->running_since = time;
}

static void stop_running(struct offcpu_thread *thread, uint64_t time)
{
	if (thread->is_running && time > thread->running_since)
		thread->owed_ns += time - thread->running_since;
	thread->is_running = false;
}

/* A wait whose end was lost is forgotten: nobody knows how long it was. */
static void begin_wait(struct offcpu_thread *thread, uint64_t time, size_t entry)
{
	stop_running(thread, time);
	thread->is_waiting = !thread->has_exited;
	thread->why = OFFCPU_UNKNOWN;
	thread->entry = entry;
	thread->since = time;
}

static void come_back(struct offcpu *offcpu, struct offcpu_thread *thread, uint64_t time)
{
	if (thread->is_waiting)
		end_wait(offcpu, thread, time);
	start_running(thread, time);
}

void offcpu_running(struct offcpu *offcpu, const struct event *event, const struct sample *sample,
                    const struct thread *thread)
{
	struct offcpu_thread *running;
	size_t entry;

	offcpu->last_time = MAX_OF(offcpu->last_time, sample->time);
	if (sample->tid <= 0)
		return;
	running = thread_of(offcpu, sample->tid);
	entry = stacks_enter(offcpu->stacks, event, sample, thread);
	/* sampled on its way out: that time goes on until the switch is seen */
	if (!running->is_waiting)
		stop_running(running, sample->time);
	if (entry) {
		charge(offcpu, entry, running->owed_ns);
		running->owed_ns = 0;
		running->running_entry = entry;
	}
	if (!running->is_waiting)
		start_running(running, sample->time);
}

static void settle(struct offcpu *offcpu, struct offcpu_thread *thread, uint64_t time)
{
	stop_running(thread, time);
	if (thread->running_entry)
		charge(offcpu, thread->running_entry, thread->owed_ns);
	else
		offcpu->unsampled_ns += thread->owed_ns;
	thread->owed_ns = 0;
	thread->running_entry = 0;
}

bool offcpu_is_switch(const struct event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	return (attr->type == PERF_TYPE_SOFTWARE &&
	        attr->config == PERF_COUNT_SW_CONTEXT_SWITCHES) ||
	       strcmp(event->name, "sched:sched_switch") == 0;
}

static enum offcpu_why why_of_state(uint64_t state)
{
	if (state & TASK_DEAD)
		return OFFCPU_DEAD;
	if (state & (TASK_STOPPED | TASK_TRACED))
		return OFFCPU_STOPPED;
	if (state & TASK_UNINTERRUPTIBLE)
		return OFFCPU_DISK;
	return state & TASK_INTERRUPTIBLE ? OFFCPU_SLEEPING : OFFCPU_RUNNABLE;
}

void offcpu_sample(struct offcpu *offcpu, const struct event *event, const struct sample *sample,
                   const struct thread *thread)
{
	struct offcpu_thread *leaving = NULL;

	offcpu->last_time = MAX_OF(offcpu->last_time, sample->time);
	if (sample->tid > 0) {
		leaving = thread_of(offcpu, sample->tid);
		begin_wait(leaving, sample->time,
		           stacks_enter(offcpu->stacks, event, sample, thread));
	}
	/* raw data stands in the byte order of the machine that recorded it */
	if (event->attr.type == PERF_TYPE_TRACEPOINT && sample->raw_size >= SCHED_SIZE &&
	    !offcpu->stacks->session->reader->swap) {
		uint64_t state;
		int32_t next;

		memcpy(&state, sample->raw + SCHED_PREV_STATE, sizeof(state));
		memcpy(&next, sample->raw + SCHED_NEXT_PID, sizeof(next));
		if (leaving)
			leaving->why = why_of_state(state);
		if (next > 0)
			come_back(offcpu, thread_of(offcpu, next), sample->time);
	}
}

static void take_switch(struct offcpu *offcpu, uint16_t misc, int32_t tid, uint64_t time)
{
	struct offcpu_thread *thread;

	if (tid <= 0)
		return;
	thread = thread_of(offcpu, tid);
	if (!(misc & MISC_SWITCH_OUT)) {
		come_back(offcpu, thread, time);
		return;
	}
	/* the sample with the stack came first, with the time of its own */
	if (!thread->is_waiting)
		begin_wait(thread, time, 0);
	if (thread->why == OFFCPU_UNKNOWN)
		thread->why = misc & MISC_SWITCH_OUT_PREEMPT ? OFFCPU_RUNNABLE : OFFCPU_SLEEPING;
}

void offcpu_record(struct offcpu *offcpu, const struct reader *reader, const struct record *record,
                   uint64_t time)
{
	struct perfrec_cursor c = reader_body(reader, record);
	struct offcpu_thread *thread;
	uint32_t tid;

	offcpu->last_time = MAX_OF(offcpu->last_time, time);
	switch (record->type) {
	case PERF_RECORD_SWITCH_CPU_WIDE:
		/* first comes who runs next or ran before; the trailer tells who it is about */
		perfrec_u64(&c);
		/* fall through */
	case PERF_RECORD_SWITCH:
		perfrec_u32(&c);
		tid = perfrec_u32(&c);
		if (!c.bad)
			take_switch(offcpu, record->misc, (int32_t)tid, time);
		break;
	case PERF_RECORD_EXIT:
	case PERF_RECORD_FORK:
		/* pid, ppid, tid, ptid */
		perfrec_u64(&c);
		tid = perfrec_u32(&c);
		if (c.bad || (int32_t)tid <= 0)
			break;
		thread = thread_of(offcpu, (int32_t)tid);
		settle(offcpu, thread, time);
		thread->has_exited = record->type == PERF_RECORD_EXIT;
		thread->is_waiting = false;
		thread->entry = 0;
		break;
	default:
		break;
	}
}

void offcpu_finish(struct offcpu *offcpu)
{
	for (size_t i = 0; i < offcpu->nr_slots; i++) {
		struct offcpu_thread *thread = &offcpu->slots[i];

		if (!thread->tid)
			continue;
		if (thread->is_waiting) {
			offcpu->nr_open++;
			end_wait(offcpu, thread, offcpu->last_time);
		}
		settle(offcpu, thread, offcpu->last_time);
	}
}
