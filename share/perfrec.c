#include "share/compat.h"
#include "share/perfrec.h"

static const char *const type_names[PERFREC_NR_TYPES] = {
        [PERF_RECORD_MMAP] = "MMAP",
        [PERF_RECORD_LOST] = "LOST",
        [PERF_RECORD_COMM] = "COMM",
        [PERF_RECORD_EXIT] = "EXIT",
        [PERF_RECORD_THROTTLE] = "THROTTLE",
        [PERF_RECORD_UNTHROTTLE] = "UNTHROTTLE",
        [PERF_RECORD_FORK] = "FORK",
        [PERF_RECORD_READ] = "READ",
        [PERF_RECORD_SAMPLE] = "SAMPLE",
        [PERF_RECORD_MMAP2] = "MMAP2",
        [PERF_RECORD_AUX] = "AUX",
        [PERF_RECORD_ITRACE_START] = "ITRACE_START",
        [PERF_RECORD_LOST_SAMPLES] = "LOST_SAMPLES",
        [PERF_RECORD_SWITCH] = "SWITCH",
        [PERF_RECORD_SWITCH_CPU_WIDE] = "SWITCH_CPU_WIDE",
        [PERF_RECORD_NAMESPACES] = "NAMESPACES",
        [PERF_RECORD_KSYMBOL] = "KSYMBOL",
        [PERF_RECORD_BPF_EVENT] = "BPF_EVENT",
        [PERF_RECORD_CGROUP] = "CGROUP",
        [PERF_RECORD_TEXT_POKE] = "TEXT_POKE",
        [PERFREC_AUX_OUTPUT_HW_ID] = "AUX_OUTPUT_HW_ID",
        [PERFREC_CALLCHAIN_DEFERRED] = "CALLCHAIN_DEFERRED",
        [PERFREC_HEADER_ATTR] = "HEADER_ATTR",
        [PERFREC_EVENT_TYPE] = "EVENT_TYPE",
        [PERFREC_TRACING_DATA] = "TRACING_DATA",
        [PERFREC_BUILD_ID] = "BUILD_ID",
        [PERFREC_FINISHED_ROUND] = "FINISHED_ROUND",
        [PERFREC_ID_INDEX] = "ID_INDEX",
        [PERFREC_AUXTRACE_INFO] = "AUXTRACE_INFO",
        [PERFREC_AUXTRACE] = "AUXTRACE",
        [PERFREC_AUXTRACE_ERROR] = "AUXTRACE_ERROR",
        [PERFREC_THREAD_MAP] = "THREAD_MAP",
        [PERFREC_CPU_MAP] = "CPU_MAP",
        [PERFREC_STAT_CONFIG] = "STAT_CONFIG",
        [PERFREC_STAT] = "STAT",
        [PERFREC_STAT_ROUND] = "STAT_ROUND",
        [PERFREC_EVENT_UPDATE] = "EVENT_UPDATE",
        [PERFREC_TIME_CONV] = "TIME_CONV",
        [PERFREC_HEADER_FEATURE] = "HEADER_FEATURE",
        [PERFREC_COMPRESSED] = "COMPRESSED",
        [PERFREC_FINISHED_INIT] = "FINISHED_INIT",
        [PERFREC_COMPRESSED2] = "COMPRESSED2",
        [PERFREC_BPF_METADATA] = "BPF_METADATA",
        [PERFREC_SCHEDSTAT_CPU] = "SCHEDSTAT_CPU",
        [PERFREC_SCHEDSTAT_DOMAIN] = "SCHEDSTAT_DOMAIN",
};

const char *perfrec_type_name(uint32_t type)
{
	return type < PERFREC_NR_TYPES ? type_names[type] : NULL;
}

struct slice perfrec_text(const struct perfrec_cursor *c)
{
	return (struct slice){(const char *)c->at,
	                      strnlen((const char *)c->at, (size_t)(c->end - c->at))};
}

struct slice perfrec_string(struct perfrec_cursor *c)
{
	uint32_t size = perfrec_u32(c);
	const uint8_t *at = perfrec_bytes(c, size);

	if (!at)
		return (struct slice){"", 0};
	return (struct slice){(const char *)at, strnlen((const char *)at, size)};
}

static uint64_t mirror_bits_of_bytes(uint64_t v)
{
	v = (v >> 1 & 0x5555555555555555u) | (v & 0x5555555555555555u) << 1;
	v = (v >> 2 & 0x3333333333333333u) | (v & 0x3333333333333333u) << 2;
	return (v >> 4 & 0x0f0f0f0f0f0f0f0fu) | (v & 0x0f0f0f0f0f0f0f0fu) << 4;
}

bool perfrec_attr(struct perf_event_attr *attr, const uint8_t *at, size_t size, bool swap)
{
	const size_t bits_at = offsetof(struct perf_event_attr, read_format) + 8;
	uint64_t bits;

	memset(attr, 0, sizeof(*attr));
	if (size < PERF_ATTR_SIZE_VER0)
		return false;
	memcpy(attr, at, MIN_OF(size, sizeof(*attr)));
	if (swap) {
		attr->type = __builtin_bswap32(attr->type);
		attr->config = __builtin_bswap64(attr->config);
		attr->sample_period = __builtin_bswap64(attr->sample_period);
		attr->sample_type = __builtin_bswap64(attr->sample_type);
		attr->read_format = __builtin_bswap64(attr->read_format);
		memcpy(&bits, (uint8_t *)attr + bits_at, sizeof(bits));
		bits = mirror_bits_of_bytes(bits);
		memcpy((uint8_t *)attr + bits_at, &bits, sizeof(bits));
		attr->wakeup_events = __builtin_bswap32(attr->wakeup_events);
		attr->bp_type = __builtin_bswap32(attr->bp_type);
		attr->config1 = __builtin_bswap64(attr->config1);
		attr->config2 = __builtin_bswap64(attr->config2);
		attr->branch_sample_type = __builtin_bswap64(attr->branch_sample_type);
		attr->sample_regs_user = __builtin_bswap64(attr->sample_regs_user);
		attr->sample_stack_user = __builtin_bswap32(attr->sample_stack_user);
		attr->clockid = (int32_t)__builtin_bswap32((uint32_t)attr->clockid);
		attr->sample_regs_intr = __builtin_bswap64(attr->sample_regs_intr);
		attr->aux_watermark = __builtin_bswap32(attr->aux_watermark);
		attr->sample_max_stack = __builtin_bswap16(attr->sample_max_stack);
		attr->aux_sample_size = __builtin_bswap32(attr->aux_sample_size);
	}
	attr->size = (uint32_t)size;
	return true;
}

size_t perfrec_trailer_size(const struct perf_event_attr *attr)
{
	const uint64_t fields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
	                        PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;

	if (!attr->sample_id_all)
		return 0;
	return 8 * (size_t)__builtin_popcountll(attr->sample_type & fields);
}
