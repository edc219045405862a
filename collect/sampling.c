#include "share/compat.h"
#include "collect/sampling.h"

#include "collect/procfile.h"
#include "share/num.h"

#include <time.h>

/*
 * What the unwinders of the project need: all but the segment registers,
 * which the kernel refuses for user space. Source: asm/perf_regs.h.
 */
#if defined(__x86_64__)
#define USER_REGS 0xff0fffull
#elif defined(__aarch64__)
#define USER_REGS ((1ull << 33) - 1)
#else
#define USER_REGS 0ull
#endif

/* Stack copied with events that come at a rate of their own, with CHAIN_AUTO. */
#define COUNTED_STACK (8 * 1024)
#define COUNTED_RING  (8u << 20)

int sampling_parse_chain(struct sampling *sampling, const char *text, struct err *err)
{
	const char *comma = strchr(text, ',');
	struct slice mode = {text, comma ? (size_t)(comma - text) : strlen(text)};
	uint64_t bytes = 0;

	if (comma && num_parse_size(comma + 1, &bytes) < 0)
		return err_set(err, "--call-graph '%s': '%s' is no size, such as 8192 or 16K", text,
		               comma + 1);
	sampling->stack_size = 0;
	if (slice_equals(mode, "dwarf")) {
		sampling->chain = CHAIN_DWARF;
		if (!comma)
			bytes = SAMPLING_DEFAULT_STACK;
		else if (bytes == 64 * 1024)
			bytes = SAMPLING_MAX_STACK;
		if (bytes == 0 || bytes > SAMPLING_MAX_STACK || bytes % 8)
			return err_set(err,
			               "--call-graph '%s': a stack copy takes a multiple of 8 "
			               "bytes, at most %d",
			               text, SAMPLING_MAX_STACK);
		sampling->stack_size = (uint32_t)bytes;
	} else if (slice_equals(mode, "auto")) {
		sampling->chain = CHAIN_AUTO;
		if (comma)
			sampling->bandwidth = bytes;
	} else if (comma) {
		return err_set(err, "--call-graph '%s': only dwarf and auto take a size", text);
	} else if (slice_equals(mode, "fp")) {
		sampling->chain = CHAIN_FP;
	} else if (slice_equals(mode, "lbr")) {
		sampling->chain = CHAIN_LBR;
	} else if (slice_equals(mode, "none")) {
		sampling->chain = CHAIN_NONE;
	} else {
		return err_set(err,
		               "unknown --call-graph '%s'; known are auto, fp, dwarf[,SIZE], lbr, "
		               "none",
		               text);
	}
	return 0;
}

int sampling_parse_clock(struct sampling *sampling, const char *text, struct err *err)
{
	static const struct {
		const char *name;
		int clockid;
	} clocks[] = {
	        {"mono", CLOCK_MONOTONIC}, {"raw", CLOCK_MONOTONIC_RAW}, {"real", CLOCK_REALTIME},
	        {"boot", CLOCK_BOOTTIME},  {"tai", CLOCK_TAI},           {"perf", -1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		if (strcmp(clocks[i].name, text) == 0) {
			sampling->clockid = clocks[i].clockid;
			return 0;
		}
	}
	return err_set(err, "unknown clock '%s'; known are mono, raw, real, boot, tai, perf", text);
}

/* Samples a second on one CPU at most. */
static uint64_t samples_per_second(const struct sampling *sampling)
{
	/* nobody knows how often N events come; the default frequency is a guess */
	return sampling->freq_hz ? sampling->freq_hz : SAMPLING_DEFAULT_FREQ;
}

/* The largest stack copy of which `per_second` fit into bandwidth; 0 where none does. */
static uint32_t largest_stack(uint64_t bandwidth, uint64_t per_second)
{
	static const uint32_t sizes[] = {SAMPLING_MAX_STACK, 32 * 1024, 16 * 1024, 8 * 1024};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		if (sizes[i] <= bandwidth / per_second)
			return sizes[i];
	return 0;
}

void sampling_describe_copy(struct perf_event_attr *attr, uint32_t size)
{
	attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr->sample_regs_user = USER_REGS;
	attr->sample_stack_user = size;
}

static void apply_chain(const struct sampling *sampling, struct perf_event_attr *attr)
{
	if (sampling->chain == CHAIN_NONE)
		return;
	attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
	attr->sample_type &= ~(uint64_t)(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
	attr->sample_regs_user = 0;
	attr->sample_stack_user = 0;
	if (sampling->stack_size && USER_REGS != 0 && !attr->exclude_user) {
		bool counted = sampling->chain == CHAIN_AUTO && !attr->freq;

		/* nobody knows how often such events come: each shall cost little */
		sampling_describe_copy(attr, counted ? MIN_OF(sampling->stack_size, COUNTED_STACK) :
		                                       sampling->stack_size);
	}
	/* the user half comes from the copy alone */
	if (sampling->chain == CHAIN_DWARF)
		attr->exclude_callchain_user = 1;
	if (sampling->chain == CHAIN_LBR) {
		attr->sample_type |= PERF_SAMPLE_BRANCH_STACK;
		attr->branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK |
		                           PERF_SAMPLE_BRANCH_NO_CYCLES |
		                           PERF_SAMPLE_BRANCH_NO_FLAGS;
	}
}

void sampling_fit(struct sampling *sampling, struct event_list *events, size_t ring_size)
{
	uint32_t fits = largest_stack(ring_size * 2, samples_per_second(sampling));

	if (sampling->chain != CHAIN_AUTO || fits >= sampling->stack_size)
		return;
	sampling->stack_size = fits;
	for (size_t i = 0; i < events->nr; i++)
		if (!events->at[i].sideband)
			apply_chain(sampling, &events->at[i].attr);
}

static void apply_event(const struct sampling *sampling, struct event *event)
{
	struct perf_event_attr *attr = &event->attr;

	attr->size = sizeof(*attr);
	attr->sample_type |= PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
	                     PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	attr->read_format |= PERF_FORMAT_ID | PERF_FORMAT_LOST;
	attr->sample_id_all = 1;
	attr->disabled = 1;
	attr->inherit = sampling->inherit;
	if (sampling->clockid >= 0) {
		attr->use_clockid = 1;
		attr->clockid = sampling->clockid;
	}
	if (event->sideband) {
		attr->sample_period = 1;
		return;
	}
	attr->sample_type |= PERF_SAMPLE_CGROUP;
	attr->exclude_kernel |= sampling->only_user;
	attr->exclude_user |= sampling->only_kernel;
	attr->exclude_hv |= sampling->only_user || sampling->only_kernel;
	/* a period that the event brings along, or one for every hit of a tracepoint */
	if (!attr->sample_period) {
		attr->freq = sampling->period == 0;
		attr->sample_period = sampling->period ? sampling->period : sampling->freq_hz;
	} else if (sampling->period) {
		attr->sample_period = sampling->period;
	}
	/*
	 * A fixed period need not be told; worse, the kernel takes the wish to
	 * know it as one for a sample at each single hit of a software event
	 * (perf_swevent_event() of kernel/events/core.c).
	 */
	if (attr->freq)
		attr->sample_type |= PERF_SAMPLE_PERIOD;
	if (sampling->addresses)
		attr->sample_type |= PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC;
	if (sampling->weights)
		attr->sample_type |= PERF_SAMPLE_WEIGHT;
	/* what the tools read of them: who comes next, who is woken, which call it is */
	if (event->tracepoint && (strncmp(event->tracepoint, "sched:", 6) == 0 ||
	                          strncmp(event->tracepoint, "raw_syscalls:", 13) == 0))
		attr->sample_type |= PERF_SAMPLE_RAW;
	if (attr->type == PERF_TYPE_BREAKPOINT)
		attr->sample_type |= PERF_SAMPLE_ADDR;
	apply_chain(sampling, attr);
	if (sampling->branches && sampling->chain != CHAIN_LBR) {
		attr->sample_type |= PERF_SAMPLE_BRANCH_STACK;
		attr->branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
	}
}

void sampling_apply(struct sampling *sampling, struct event_list *events, size_t nr_cpus)
{
	if (sampling->freq_max)
		sampling->freq_hz = (uint64_t)procfile_number(
		        "/proc/sys/kernel/perf_event_max_sample_rate", 100000);
	if (sampling->chain == CHAIN_AUTO)
		sampling->stack_size =
		        largest_stack(sampling->bandwidth, samples_per_second(sampling) * nr_cpus);
	for (size_t i = 0; i < events->nr; i++) {
		struct event *event = &events->at[i];

		apply_event(sampling, event);
		if (event->leader == i)
			continue;
		/* followers start and stop with their leader, whose samples tell their values */
		event->attr.disabled = 0;
		if (event->attr.sample_type & PERF_SAMPLE_READ)
			event->attr.freq = event->attr.sample_period = 0;
	}
}

size_t sampling_ring_size(const struct sampling *sampling, const struct event_list *events)
{
	/* a chain of 127 entries of 8 bytes, and the rest of a sample */
	uint64_t sample = 1200 + sampling->stack_size;
	uint64_t half_second = samples_per_second(sampling) * sample / 2;
	size_t size = 512 * 1024;

	for (size_t i = 0; i < events->nr; i++)
		if (!events->at[i].attr.freq && events->at[i].attr.sample_period < 1000 &&
		    !events->at[i].sideband)
			half_second = MAX_OF(half_second, COUNTED_RING);
	while (size < half_second && size < (16u << 20))
		size *= 2;
	return size;
}
