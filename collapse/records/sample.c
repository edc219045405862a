#include "share/compat.h"
#include "collapse/records/sample.h"

#include "share/mem.h"

/* Bits of branch_sample_type newer than some of the headers we build with. */
#define BRANCH_HW_INDEX (1u << 17)
#define BRANCH_COUNTERS (1u << 19)

void sample_scratch_release(struct sample_scratch *scratch)
{
	free(scratch->words);
	*scratch = (struct sample_scratch){0};
}

/*
 * nr words from the record: borrowed where they can be, else copied. The
 * scratch never moves during one sample: it has room for a whole record.
 */
static const uint64_t *words(struct perfrec_cursor *c, uint64_t nr, struct sample_scratch *scratch)
{
	const uint8_t *at;
	uint64_t *copy;

	if (nr > (uint64_t)(c->end - c->at) / 8) {
		c->bad = true;
		return NULL;
	}
	at = perfrec_bytes(c, nr * 8);
	if (!c->swap && ((uintptr_t)at & 7) == 0)
		return (const uint64_t *)(const void *)at;
	copy = scratch->words + scratch->nr;
	scratch->nr += nr;
	if (nr)
		memcpy(copy, at, nr * 8);
	for (uint64_t i = 0; c->swap && i < nr; i++)
		copy[i] = __builtin_bswap64(copy[i]);
	return copy;
}

static void skip_words(struct perfrec_cursor *c, uint64_t nr)
{
	if (nr > (uint64_t)(c->end - c->at) / 8)
		c->bad = true;
	else
		c->at += nr * 8;
}

static void read_counters(struct perfrec_cursor *c, uint64_t format, struct sample_scratch *scratch,
                          struct sample *s)
{
	unsigned each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERFREC_FORMAT_LOST);
	unsigned times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
	                 !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	uint64_t nr = 1;

	if (!(format & PERF_FORMAT_GROUP)) {
		skip_words(c, times + each);
		return;
	}
	nr = perfrec_u64(c);
	if (nr > 65536) {
		c->bad = true;
		return;
	}
	skip_words(c, times);
	s->group = words(c, nr * each, scratch);
	s->group_stride = each;
	s->nr_group = format & PERF_FORMAT_ID ? nr : 0;
}

bool sample_task(const struct reader *reader, const struct event *event,
                 const struct record *record, int32_t *pid, int32_t *tid)
{
	const uint64_t type = event->attr.sample_type;
	struct perfrec_cursor c = reader_body(reader, record);

	*pid = *tid = -1;
	skip_words(&c, !!(type & PERF_SAMPLE_IDENTIFIER) + !!(type & PERF_SAMPLE_IP));
	if (type & PERF_SAMPLE_TID) {
		*pid = (int32_t)perfrec_u32(&c);
		*tid = (int32_t)perfrec_u32(&c);
	}
	return !c.bad;
}

bool sample_decode(const struct reader *reader, const struct event *event,
                   const struct record *record, struct sample_scratch *scratch, struct sample *s)
{
	const struct perf_event_attr *attr = &event->attr;
	const uint64_t type = attr->sample_type;
	struct perfrec_cursor c = reader_body(reader, record);
	uint64_t nr;

	*s = (struct sample){
	        .pid = -1,
	        .tid = -1,
	        .cpu = UINT32_MAX,
	        .cpumode = record->misc & PERF_RECORD_MISC_CPUMODE_MASK,
	};
	if (scratch->capacity < record->size / 8) {
		scratch->capacity = MAX_OF(record->size / 8, 8192);
		scratch->words = mem_resize(scratch->words, scratch->capacity, 8);
	}
	scratch->nr = 0;

	if (type & PERF_SAMPLE_IDENTIFIER)
		s->id = perfrec_u64(&c);
	if (type & PERF_SAMPLE_IP) {
		s->ip = perfrec_u64(&c);
		s->has_ip = true;
	}
	if (type & PERF_SAMPLE_TID) {
		s->pid = (int32_t)perfrec_u32(&c);
		s->tid = (int32_t)perfrec_u32(&c);
	}
	if (type & PERF_SAMPLE_TIME)
		s->time = perfrec_u64(&c);
	if (type & PERF_SAMPLE_ADDR)
		s->addr = perfrec_u64(&c);
	if (type & PERF_SAMPLE_ID)
		s->id = perfrec_u64(&c);
	if (type & PERF_SAMPLE_STREAM_ID)
		perfrec_u64(&c);
	if (type & PERF_SAMPLE_CPU) {
		s->cpu = perfrec_u32(&c);
		perfrec_u32(&c);
	}
	if (type & PERF_SAMPLE_PERIOD) {
		s->period = perfrec_u64(&c);
		s->has_period = true;
	} else if (!attr->freq) {
		s->period = attr->sample_period;
		s->has_period = true;
	}
	if (type & PERF_SAMPLE_READ)
		read_counters(&c, attr->read_format, scratch, s);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		s->nr_chain = perfrec_u64(&c);
		s->chain = words(&c, s->nr_chain, scratch);
		s->has_chain = true;
	}
	if (type & PERF_SAMPLE_RAW) {
		s->raw_size = perfrec_u32(&c);
		s->raw = perfrec_bytes(&c, s->raw_size);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK) {
		const uint64_t *entries;

		nr = perfrec_u64(&c);
		if (attr->branch_sample_type & BRANCH_HW_INDEX)
			perfrec_u64(&c);
		if (nr > 65536)
			return false;
		entries = words(&c, nr * 3, scratch);
		if (attr->branch_sample_type & BRANCH_COUNTERS)
			skip_words(&c, nr);
		if (attr->branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK) {
			s->branches = entries;
			s->nr_branches = nr;
		}
	}
	if (type & PERF_SAMPLE_REGS_USER) {
		s->regs_abi = perfrec_u64(&c);
		s->regs_mask = attr->sample_regs_user;
		if (s->regs_abi != PERF_SAMPLE_REGS_ABI_NONE)
			s->regs = words(&c, (uint64_t)__builtin_popcountll(s->regs_mask), scratch);
	}
	if (type & PERF_SAMPLE_STACK_USER) {
		s->stack_size = perfrec_u64(&c);
		if (s->stack_size) {
			s->stack = perfrec_bytes(&c, s->stack_size);
			nr = perfrec_u64(&c);
			s->stack_dyn_size = MIN_OF(nr, s->stack_size);
		}
	}
	if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		perfrec_u64(&c);
	if (type & PERF_SAMPLE_DATA_SRC)
		perfrec_u64(&c);
	if (type & PERF_SAMPLE_TRANSACTION)
		perfrec_u64(&c);
	if (type & PERF_SAMPLE_REGS_INTR && perfrec_u64(&c) != PERF_SAMPLE_REGS_ABI_NONE)
		skip_words(&c, (uint64_t)__builtin_popcountll(attr->sample_regs_intr));
	if (type & PERF_SAMPLE_PHYS_ADDR)
		perfrec_u64(&c);
	if (type & PERF_SAMPLE_CGROUP)
		s->cgroup = perfrec_u64(&c);
	/* page sizes and AUX data follow; nothing behind them is wanted */
	return !c.bad;
}
