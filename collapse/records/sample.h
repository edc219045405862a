/*
 * sample.h - the fields of one sample record.
 *
 * Decides where each field stands, from the attributes of the event alone
 * (linux/perf_event.h 6.18, the comment at PERF_RECORD_SAMPLE). Gives call
 * chains and registers in our byte order. Judges no contents.
 */
#ifndef COLLAPSE_SAMPLE_H
#define COLLAPSE_SAMPLE_H

#include "collapse/records/reader.h"
#include "share/compat.h"

struct sample {
	uint64_t ip, time, addr, id, period, cgroup;
	int32_t pid, tid; /* -1 where not recorded */
	uint32_t cpu;     /* UINT32_MAX where not recorded */
	uint16_t cpumode; /* PERF_RECORD_MISC_KERNEL and so on */
	bool has_ip, has_chain, has_period;

	const uint64_t *chain; /* innermost first, with context markers */
	uint64_t nr_chain;

	/* pairs of (to, from), newest first, where branches are a call stack */
	const uint64_t *branches; /* 3 words each: from, to, flags; NULL where none */
	uint64_t nr_branches;

	const uint64_t *regs; /* user registers, by ascending bit of the mask; or NULL */
	uint64_t regs_abi, regs_mask;
	const uint8_t *stack;                /* NULL where none */
	uint64_t stack_size, stack_dyn_size; /* in the record; of that, filled */

	/* counters of the whole group: nr_group times (value, id, ...); NULL where none */
	const uint64_t *group;
	uint64_t nr_group;
	unsigned group_stride; /* words of each */

	const uint8_t *raw; /* of a tracepoint, or NULL */
	uint32_t raw_size;
};

/* Can its user frames be unwound? */
static inline bool sample_has_stack(const struct sample *sample)
{
	return sample->regs && sample->stack;
}

/* Space that a decoder uses again for words in our byte order or alignment. */
struct sample_scratch {
	uint64_t *words;
	size_t nr, capacity;
};

void sample_scratch_release(struct sample_scratch *scratch);

/* The task of a sample alone, as sample_decode() has it; false where the record is too short. */
bool sample_task(const struct reader *reader, const struct event *event,
                 const struct record *record, int32_t *pid, int32_t *tid);

/*
 * False where the record is too short for what its attributes promise. The
 * pointers live as long as the record and until the next call.
 */
bool sample_decode(const struct reader *reader, const struct event *event,
                   const struct record *record, struct sample_scratch *scratch,
                   struct sample *sample);

#endif
