/*
 * offcpu.h - the time that threads spend off the CPU, at the stack where
 * they left it.
 *
 * Two sources tell when a thread leaves and returns: samples of the event
 * context-switches (or sched:sched_switch, which also says why and who comes
 * next), taken with the stack as the thread leaves; and the records SWITCH
 * and SWITCH_CPU_WIDE (attr.context_switch), which tell both ends without a
 * stack. A wait is counted when it ends, or at the end of the recording.
 *
 * Where samples of what runs are wanted too (wall time), each is charged with
 * the time that its thread has spent on the CPU since its last sample, so that
 * a thread's sum is its lifetime whatever the sampling rate.
 *
 * The idle task (tid 0) never waits. What a thread that has exited does last
 * is no wait.
 */
#ifndef COLLAPSE_OFFCPU_H
#define COLLAPSE_OFFCPU_H

#include "collapse/stacks.h"
#include "share/compat.h"

enum offcpu_why {
	OFFCPU_UNKNOWN,
	OFFCPU_SLEEPING, /* waits for something that a signal can interrupt */
	OFFCPU_DISK,     /* waits for something that nothing interrupts */
	OFFCPU_RUNNABLE, /* was preempted: waits for a CPU */
	OFFCPU_STOPPED,  /* by a signal or a debugger */
	OFFCPU_DEAD,     /* will not come back */
};

struct offcpu_thread {
	int32_t tid; /* 0 = free slot */
	bool is_waiting, has_exited;
	enum offcpu_why why;
	size_t entry;   /* where it waits; of stacks, 0 = left out */
	uint64_t since; /* ns */

	bool is_running; /* known to be, since running_since */
	uint64_t running_since;
	uint64_t owed_ns;     /* on the CPU, not yet charged to a sample */
	size_t running_entry; /* of its last sample on the CPU */
};

struct offcpu {
	struct stacks *stacks; /* borrowed */
	bool split_state;      /* the reason as the innermost frame */

	struct offcpu_thread *slots; /* open addressing, nr_slots a power of two */
	size_t nr_slots, nr_threads;
	uint64_t last_time;    /* newest of all records seen */
	uint64_t nr_waits;     /* counted */
	uint64_t nr_open;      /* of these, still waiting at the end of the recording */
	uint64_t nr_no_stack;  /* of these, without a stack: no sample came with the switch */
	uint64_t unsampled_ns; /* on the CPU, in threads that were never sampled there */
	bool is_full;          /* the sum would have reached 2^64 */
};

void offcpu_init(struct offcpu *offcpu, struct stacks *stacks, bool split_state);
void offcpu_release(struct offcpu *offcpu);

/* Can samples of this event begin a wait? */
bool offcpu_is_switch(const struct event *event);

/* The sample that was taken as its thread left the CPU. */
void offcpu_sample(struct offcpu *offcpu, const struct event *event, const struct sample *sample,
                   const struct thread *thread);

/* A sample of a thread that runs. */
void offcpu_running(struct offcpu *offcpu, const struct event *event, const struct sample *sample,
                    const struct thread *thread);

/* SWITCH, SWITCH_CPU_WIDE, EXIT and FORK; others are passed over. */
void offcpu_record(struct offcpu *offcpu, const struct reader *reader, const struct record *record,
                   uint64_t time);

/* Counts the waits that have not ended, and time still owed. */
void offcpu_finish(struct offcpu *offcpu);

#endif
