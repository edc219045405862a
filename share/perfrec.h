/*
 * perfrec.h - the bytes of a perf.data stream: numbers that its writers and
 * readers share, attributes in both byte orders, bounded reading.
 *
 * Source: linux/perf_event.h of 6.18 for what the kernel writes; the record
 * types from 64 on and the feature numbers belong to the perf tool
 * (tools/lib/perf/include/perf/event.h and tools/perf/util/header.h of 6.18,
 * tools/perf/Documentation/perf.data-file-format.txt); those from 32768 on to
 * Android's simpleperf (record.h).
 */
#ifndef SHARE_PERFREC_H
#define SHARE_PERFREC_H

#include "share/compat.h"

#include <linux/perf_event.h>

#define PERFREC_MAGIC         "PERFILE2" /* as its writer's byte order stores it */
#define PERFREC_MAGIC_SWAPPED "2ELIFREP"
#define PERFREC_MAGIC_OLD     "PERFFILE" /* before Linux 3.3; says nothing of the byte order */

#define PERFREC_PIPE_HEADER_SIZE 16
#define PERFREC_FILE_HEADER_SIZE 104
#define PERFREC_FILE_HEADER_OLD  72 /* before Linux 2.6.33: without the bits of features */
#define PERFREC_HEADER_SIZE      8 /* of each record: u32 type, u16 misc, u16 size */

/* Kernel record types newer than the oldest headers we build with. */
enum {
	PERFREC_AUX_OUTPUT_HW_ID = 21,
	PERFREC_CALLCHAIN_DEFERRED = 22, /* 6.19: u64 cookie, u64 nr, u64 ips[nr] */
};

#define PERFREC_FORMAT_LOST   (1u << 4)  /* 6.0, in read_format */
#define PERFREC_MISC_LOST_BPF (1u << 15) /* of LOST_SAMPLES by perf 6.6: a filter dropped them */

#define PERFREC_CONTEXT_USER_DEFERRED ((uint64_t)-640) /* the next entry is a cookie */

/* Record types that the perf tool adds. */
enum {
	PERFREC_HEADER_ATTR = 64,
	PERFREC_EVENT_TYPE = 65,
	PERFREC_TRACING_DATA = 66, /* u32 size; that many bytes, padded to 8, follow the record */
	PERFREC_BUILD_ID = 67,
	PERFREC_FINISHED_ROUND = 68,
	PERFREC_ID_INDEX = 69,
	PERFREC_AUXTRACE_INFO = 70,
	PERFREC_AUXTRACE = 71, /* u64 size; that many bytes follow the record */
	PERFREC_AUXTRACE_ERROR = 72,
	PERFREC_THREAD_MAP = 73,
	PERFREC_CPU_MAP = 74,
	PERFREC_STAT_CONFIG = 75,
	PERFREC_STAT = 76,
	PERFREC_STAT_ROUND = 77,
	PERFREC_EVENT_UPDATE = 78,
	PERFREC_TIME_CONV = 79,
	PERFREC_HEADER_FEATURE = 80,
	PERFREC_COMPRESSED = 81, /* a piece of one zstd stream */
	PERFREC_FINISHED_INIT = 82,
	PERFREC_COMPRESSED2 = 83, /* u64 size of the piece, the piece, padding to 8 */
	PERFREC_BPF_METADATA = 84,
	PERFREC_SCHEDSTAT_CPU = 85,
	PERFREC_SCHEDSTAT_DOMAIN = 86,
	PERFREC_NR_TYPES, /* one above the highest known here */

	PERFREC_SIMPLEPERF = 32768,          /* and above: size has its high 16 bits in misc */
	PERFREC_SIMPLEPERF_EVENT_ID = 32774, /* u64 nr, nr times: u64 index of an attr, u64 id */
};

/* EVENT_UPDATE kinds. */
enum {
	PERFREC_UPDATE_UNIT,
	PERFREC_UPDATE_SCALE,
	PERFREC_UPDATE_NAME,
	PERFREC_UPDATE_CPUS,
};

enum perfrec_feature {
	PERFREC_FEAT_TRACING_DATA = 1,
	PERFREC_FEAT_BUILD_ID = 2,
	PERFREC_FEAT_HOSTNAME = 3,
	PERFREC_FEAT_OSRELEASE = 4,
	PERFREC_FEAT_VERSION = 5,
	PERFREC_FEAT_ARCH = 6,
	PERFREC_FEAT_NRCPUS = 7,
	PERFREC_FEAT_CPUDESC = 8,
	PERFREC_FEAT_CPUID = 9,
	PERFREC_FEAT_TOTAL_MEM = 10,
	PERFREC_FEAT_CMDLINE = 11,
	PERFREC_FEAT_EVENT_DESC = 12,
	PERFREC_FEAT_CPU_TOPOLOGY = 13,
	PERFREC_FEAT_NUMA_TOPOLOGY = 14,
	PERFREC_FEAT_BRANCH_STACK = 15,
	PERFREC_FEAT_PMU_MAPPINGS = 16,
	PERFREC_FEAT_GROUP_DESC = 17,
	PERFREC_FEAT_AUXTRACE = 18,
	PERFREC_FEAT_STAT = 19,
	PERFREC_FEAT_CACHE = 20,
	PERFREC_FEAT_SAMPLE_TIME = 21,
	PERFREC_FEAT_MEM_TOPOLOGY = 22,
	PERFREC_FEAT_CLOCKID = 23,
	PERFREC_FEAT_DIR_FORMAT = 24,
	PERFREC_FEAT_BPF_PROG_INFO = 25,
	PERFREC_FEAT_BPF_BTF = 26,
	PERFREC_FEAT_COMPRESSED = 27,
	PERFREC_FEAT_CPU_PMU_CAPS = 28,
	PERFREC_FEAT_CLOCK_DATA = 29,
	PERFREC_FEAT_HYBRID_TOPOLOGY = 30,
	PERFREC_FEAT_PMU_CAPS = 31,

	PERFREC_FEAT_SIMPLEPERF_FILE = 128,
	PERFREC_FEAT_SIMPLEPERF_META = 129,
	PERFREC_FEAT_SIMPLEPERF_FILE2 = 132,
};

/* "SAMPLE", "MMAP2", ...; NULL for a type unknown here. */
const char *perfrec_type_name(uint32_t type);

/*
 * Reading that never passes the end: a read beyond it gives 0 and sets bad,
 * which stays set, so that a decoder checks once.
 */
struct perfrec_cursor {
	const uint8_t *at, *end;
	bool swap; /* the writer's byte order is not ours */
	bool bad;
};

static inline uint64_t perfrec_u64(struct perfrec_cursor *c)
{
	uint64_t v;

	if (UNLIKELY(c->end - c->at < 8)) {
		c->bad = true;
		c->at = c->end;
		return 0;
	}
	memcpy(&v, c->at, 8);
	c->at += 8;
	return c->swap ? __builtin_bswap64(v) : v;
}

static inline uint32_t perfrec_u32(struct perfrec_cursor *c)
{
	uint32_t v;

	if (UNLIKELY(c->end - c->at < 4)) {
		c->bad = true;
		c->at = c->end;
		return 0;
	}
	memcpy(&v, c->at, 4);
	c->at += 4;
	return c->swap ? __builtin_bswap32(v) : v;
}

static inline uint16_t perfrec_u16(struct perfrec_cursor *c)
{
	uint16_t v;

	if (UNLIKELY(c->end - c->at < 2)) {
		c->bad = true;
		c->at = c->end;
		return 0;
	}
	memcpy(&v, c->at, 2);
	c->at += 2;
	return c->swap ? __builtin_bswap16(v) : v;
}

/* The next size bytes, borrowed; NULL (and bad) where fewer are left. */
static inline const uint8_t *perfrec_bytes(struct perfrec_cursor *c, uint64_t size)
{
	const uint8_t *at = c->at;

	if (UNLIKELY((uint64_t)(c->end - c->at) < size)) {
		c->bad = true;
		c->at = c->end;
		return NULL;
	}
	c->at += size;
	return at;
}

/* Text up to a NUL or the end; stays in front of the padding that follows. */
struct slice perfrec_text(const struct perfrec_cursor *c);

/* A string of a feature section: u32 size, then that many bytes with NULs at the end. */
struct slice perfrec_string(struct perfrec_cursor *c);

/*
 * An attribute of any version: size bytes as its writer stored them. What is
 * newer than our headers is dropped, what is older is zero; attr->size keeps
 * the size as stored. The bit field behind read_format is laid out from the
 * other end by the other byte order, so its bytes are mirrored bit by bit.
 * False where size is below that of version 0 (64).
 */
bool perfrec_attr(struct perf_event_attr *attr, const uint8_t *at, size_t size, bool swap);

/* Bytes of the sample_id that ends each record but samples (0 without sample_id_all). */
size_t perfrec_trailer_size(const struct perf_event_attr *attr);

#endif
