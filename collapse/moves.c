#include "share/compat.h"
#include "collapse/moves.h"

/* linux/perf_event.h 6.1: misc of PERF_RECORD_SWITCH and SWITCH_CPU_WIDE */
#define MISC_SWITCH_OUT         (1 << 13)
#define MISC_SWITCH_OUT_PREEMPT (1 << 14)

/*
 * The fields of sched:sched_switch and of the wakeups (include/trace/events/
 * sched.h, unchanged from 2.6.3x to 6.18 in these places; also in the `format`
 * file of each event).
 */
enum {
	SWITCH_PREV_STATE = 32, /* 8 bytes */
	SWITCH_NEXT_PID = 56,   /* 4 bytes */
	SWITCH_SIZE = 60,
	WAKING_PID = 24, /* 4 bytes */
	WAKING_SIZE = 28,
};

/* include/linux/sched.h 6.1: what prev_state reports */
enum {
	TASK_INTERRUPTIBLE = 0x1,
	TASK_UNINTERRUPTIBLE = 0x2,
	TASK_STOPPED = 0x4,
	TASK_TRACED = 0x8,
	TASK_DEAD = 0x10 | 0x20, /* EXIT_DEAD, EXIT_ZOMBIE */
	TASK_PARKED = 0x40,
	TASK_IDLE = 0x80,
};

bool moves_is_switch(const struct event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	return (attr->type == PERF_TYPE_SOFTWARE &&
	        attr->config == PERF_COUNT_SW_CONTEXT_SWITCHES) ||
	       strcmp(event->name, "sched:sched_switch") == 0;
}

bool moves_is_waking(const struct event *event)
{
	return strcmp(event->name, "sched:sched_waking") == 0 ||
	       strcmp(event->name, "offcpu-waker") == 0 ||
	       strcmp(event->name, "sched:sched_wakeup") == 0 ||
	       strcmp(event->name, "sched:sched_wakeup_new") == 0;
}

bool moves_is_wait(const struct event *event)
{
	return strcmp(event->name, "offcpu-time") == 0;
}

bool moves_is_short(const struct event *event)
{
	return strcmp(event->name, "offcpu-short") == 0;
}

static enum move_why why_of_state(uint64_t state)
{
	if (state & TASK_DEAD)
		return WHY_DEAD;
	if (state & (TASK_STOPPED | TASK_TRACED))
		return WHY_STOPPED;
	if (state & TASK_UNINTERRUPTIBLE)
		return WHY_DISK;
	/* kernel threads that wait for work are idle: nothing interrupts them, yet they rest */
	return state & (TASK_INTERRUPTIBLE | TASK_PARKED | TASK_IDLE) ? WHY_SLEEPING : WHY_RUNNABLE;
}

/* Raw data stands in the byte order of the machine that recorded it. */
static bool has_raw(const struct reader *reader, const struct sample *sample, uint32_t size)
{
	return sample->raw && sample->raw_size >= size && !reader->swap;
}

static int32_t raw_id(const struct sample *sample, size_t offset)
{
	int32_t id;

	memcpy(&id, sample->raw + offset, sizeof(id));
	return id;
}

static enum move_why why_of_switch(const struct reader *reader, const struct sample *sample)
{
	uint64_t state;

	if (!has_raw(reader, sample, SWITCH_SIZE))
		return WHY_UNKNOWN;
	memcpy(&state, sample->raw + SWITCH_PREV_STATE, sizeof(state));
	return why_of_state(state);
}

enum move_why moves_why_of_wait(const struct reader *reader, const struct sample *sample)
{
	return why_of_switch(reader, sample);
}

size_t moves_of_sample(const struct reader *reader, const struct event *event,
                       const struct sample *sample, struct move *moves)
{
	if (moves_is_waking(event)) {
		if (!has_raw(reader, sample, WAKING_SIZE))
			return 0;
		moves[0] = (struct move){.kind = MOVE_WOKEN,
		                         .pid = -1,
		                         .tid = raw_id(sample, WAKING_PID),
		                         .cpu = sample->cpu,
		                         .time = sample->time};
		/* told at the return: its period is the time since */
		if (event->name[0] == 'o')
			moves[0].time -= MIN_OF(sample->period, sample->time);
		return 1;
	}
	moves[0] = (struct move){.kind = MOVE_OUT,
	                         .pid = sample->pid,
	                         .tid = sample->tid,
	                         .cpu = sample->cpu,
	                         .time = sample->time};
	if (event->attr.type != PERF_TYPE_TRACEPOINT || !has_raw(reader, sample, SWITCH_SIZE))
		return 1;
	moves[0].why = why_of_switch(reader, sample);
	moves[1] = (struct move){.kind = MOVE_IN,
	                         .pid = -1,
	                         .tid = raw_id(sample, SWITCH_NEXT_PID),
	                         .cpu = sample->cpu,
	                         .time = sample->time};
	return 2;
}

/* Where the CPU stands in the trailer of a record (struct sample_id), from its end. */
static uint32_t cpu_of_trailer(const struct record *record, const struct event *event, bool swap)
{
	const uint64_t type = event ? event->attr.sample_type : 0;
	size_t back = 8 + (type & PERF_SAMPLE_IDENTIFIER ? 8 : 0);
	uint32_t cpu;

	if (!(type & PERF_SAMPLE_CPU) || !event->attr.sample_id_all ||
	    record->size < PERFREC_HEADER_SIZE + back)
		return UINT32_MAX;
	memcpy(&cpu, record->at + record->size - back, sizeof(cpu));
	return swap ? __builtin_bswap32(cpu) : cpu;
}

size_t moves_of_record(const struct reader *reader, const struct record *record,
                       const struct event *event, uint64_t time, struct move *move)
{
	struct perfrec_cursor c = reader_body(reader, record);

	*move = (struct move){.time = time, .cpu = UINT32_MAX};
	switch (record->type) {
	case PERF_RECORD_SWITCH_CPU_WIDE:
		/* first comes who runs next or ran before; the trailer tells who it is about */
		perfrec_u64(&c);
		/* fall through */
	case PERF_RECORD_SWITCH:
		move->pid = (int32_t)perfrec_u32(&c);
		move->tid = (int32_t)perfrec_u32(&c);
		move->cpu = cpu_of_trailer(record, event, reader->swap);
		move->kind = record->misc & MISC_SWITCH_OUT ? MOVE_OUT : MOVE_IN;
		if (move->kind == MOVE_OUT)
			move->why = record->misc & MISC_SWITCH_OUT_PREEMPT ? WHY_RUNNABLE :
			                                                     WHY_SLEEPING;
		return !c.bad;
	case PERF_RECORD_EXIT:
	case PERF_RECORD_FORK:
		/* pid, ppid, tid, ptid */
		move->pid = (int32_t)perfrec_u32(&c);
		perfrec_u32(&c);
		move->tid = (int32_t)perfrec_u32(&c);
		move->kind = record->type == PERF_RECORD_EXIT ? MOVE_EXIT : MOVE_FORK;
		return !c.bad;
	}
	return 0;
}
