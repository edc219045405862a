/*
 * moves.h - what samples and records tell of threads and CPUs: who left, who
 * came, who was woken.
 *
 * Sources in a recording: samples of the event context-switches, taken as a
 * thread leaves; of sched:sched_switch, which also say why and who comes
 * next; of sched:sched_waking, sched_wakeup and sched_wakeup_new, taken in the
 * thread that wakes another; samples that tell of a wait when it is over:
 * offcpu-time (of collect --min-block and of perf record --off-cpu), in front
 * of it offcpu-waker, taken when it was woken, and offcpu-short, of how many
 * were not kept and their sum; the records SWITCH and
 * SWITCH_CPU_WIDE (attr.context_switch); EXIT and FORK.
 *
 * Decides what each of them means, and nothing of what follows from it.
 */
#ifndef COLLAPSE_MOVES_H
#define COLLAPSE_MOVES_H

#include "collapse/records/sample.h"
#include "share/compat.h"

enum move_kind {
	MOVE_OUT,   /* leaves the CPU */
	MOVE_IN,    /* comes onto it */
	MOVE_WOKEN, /* may run again, and waits for a CPU */
	MOVE_EXIT,
	MOVE_FORK, /* begins; a new one with an id that may have been another's */
};

enum move_why {
	WHY_UNKNOWN,
	WHY_SLEEPING, /* waits for something that a signal can interrupt */
	WHY_DISK,     /* waits for something that nothing interrupts */
	WHY_RUNNABLE, /* was preempted: waits for a CPU */
	WHY_STOPPED,  /* by a signal or a debugger */
	WHY_DEAD,     /* will not come back */
};

struct move {
	enum move_kind kind;
	enum move_why why; /* of MOVE_OUT */
	int32_t pid, tid;  /* pid is -1 where it is not told; tid 0 is the idle task */
	uint32_t cpu;      /* UINT32_MAX where it is not told */
	uint64_t time;     /* ns */
};

#define MOVES_MAX 2

/* Can samples of this event tell of a switch away from a CPU? */
bool moves_is_switch(const struct event *event);

/* Do they tell of wakeups? Where waits are told when they are over, so are these. */
bool moves_is_waking(const struct event *event);

/* Do they tell of waits that are over? period: how long, in ns; then why. */
bool moves_is_wait(const struct event *event);
enum move_why moves_why_of_wait(const struct reader *reader, const struct sample *sample);

/* Do they tell of waits that were not kept? addr: how many; period: their sum, in ns. */
bool moves_is_short(const struct event *event);

/* At most MOVES_MAX, in the order in which they happened. Returns how many. */
size_t moves_of_sample(const struct reader *reader, const struct event *event,
                       const struct sample *sample, struct move *moves);

/* event: the one that the record belongs to, or NULL. The same return, at most 1. */
size_t moves_of_record(const struct reader *reader, const struct record *record,
                       const struct event *event, uint64_t time, struct move *move);

#endif
