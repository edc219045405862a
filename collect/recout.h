/*
 * recout.h - the record stream: pipe mode of perf.data.
 *
 * Decides: bytes and order of what we write ourselves; what the kernel wrote
 * passes through. Records of our own carry the trailer that all our events
 * share (TID, TIME, CPU, IDENTIFIER) with time 0, so that they sort first.
 *
 * Source: tools/perf/Documentation/perf.data-file-format.txt and
 * tools/perf/util/header.c of Linux 6.1; record layouts linux/perf_event.h.
 */
#ifndef COLLECT_RECOUT_H
#define COLLECT_RECOUT_H

#include "collect/events.h"
#include "share/compat.h"
#include "share/err.h"
#include "share/output.h"

#include <pthread.h>

/*
 * Writing happens in a thread of its own, behind a queue: a reader that is
 * slow for a while must not keep us from emptying the kernel's rings.
 */
struct recout {
	struct output out;   /* opened and closed here; written by the thread alone */
	struct buf block;    /* records that are not in the queue yet */
	struct buf record;   /* scratch: the record being built */
	uint64_t trailer_ns; /* time of our records; 0 = before everything */
	uint64_t trailer_id; /* id of the event that our records belong to */
	uint64_t nr_bytes;   /* handed on so far */

	/* the flight recorder: blocks wait here, and all but the newest lose their samples */
	uint64_t hold_ns; /* how long; 0 = blocks go on at once */
	struct recout_block *held, *held_last;
	struct buf kept; /* what remains of older ones: names, maps, losses */

	struct zstream *zstream; /* NULL = records are written as they are */

	pthread_t writer;
	bool has_writer;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	struct recout_block *first, *last;
	size_t queued; /* bytes */
	/* what blocks were in: memory that is given back and had anew costs page faults */
#define RECOUT_SPARES 32
	struct buf spares[RECOUT_SPARES];
	size_t nr_spares;
	bool ending;
	int failure; /* errno of the write that failed; from then on blocks are dropped */
};

#define RECOUT_BLOCK     (256 * 1024)
#define RECOUT_MAX_QUEUE (64u << 20)

/* Opens and writes the header; refuses a terminal. path NULL or "-": stdout. */
int recout_open(struct recout *rec, const char *path, struct err *err);

/* Moves the block into the queue; waits while that is full. */
void recout_push(struct recout *rec);

/* From now on writes COMPRESSED records. Call it after the header. */
int recout_compress(struct recout *rec, int level, struct err *err);

/* From now on keeps the last ns of records instead of writing them. */
void recout_hold(struct recout *rec, uint64_t ns);

/* Writes what is held; with hold_ns still set, holding goes on. */
void recout_let_go(struct recout *rec);

/* Hands whole records to the writer; the buffer is empty then. Any thread may. */
void recout_take(struct recout *rec, struct buf *records);

/* The same once there are enough of them. What is held is cut by passes alone. */
static inline void recout_take_full(struct recout *rec, struct buf *records)
{
	if (UNLIKELY(records->size >= RECOUT_BLOCK && !rec->hold_ns))
		recout_take(rec, records);
}

static inline void recout_bytes(struct recout *rec, const void *bytes, size_t size)
{
	buf_add(&rec->block, bytes, size);
	recout_take_full(rec, &rec->block);
}

/* HEADER_ATTR and the name of each event; all ids must be known. */
void recout_events(struct recout *rec, const struct event_list *events);

/* Host, kernel, architecture, CPUs, the command line, the clock. clockid may be -1. */
void recout_features(struct recout *rec, int argc, char **argv, int clockid);

/* From when to when samples were taken, in ns of the recording's clock. */
void recout_sample_time(struct recout *rec, uint64_t first_ns, uint64_t last_ns);

void recout_comm(struct recout *rec, uint32_t pid, uint32_t tid, const char *comm);
void recout_fork(struct recout *rec, uint32_t pid, uint32_t ppid, uint32_t tid, uint32_t ptid);

void recout_cgroup(struct recout *rec, uint64_t id, const char *path);

/* One of the namespaces of a task, in the order of enum perf_event_ns of linux/perf_event.h. */
struct recout_namespace {
	uint64_t device, inode;
};
void recout_namespaces(struct recout *rec, uint32_t pid, uint32_t tid,
                       const struct recout_namespace *at, size_t nr);

struct recout_map {
	uint32_t pid, tid;
	uint64_t start, size, offset;
	uint32_t major, minor, prot;
	uint64_t inode;
	const uint8_t *build_id; /* NULL, or build_id_size bytes (at most 20) */
	size_t build_id_size;
	bool kernel, shared;
	const char *path;
};
void recout_map(struct recout *rec, const struct recout_map *map);

/* nr records of an event that never reached the stream. */
void recout_lost(struct recout *rec, uint64_t id, uint64_t nr);

/* All rings were read once since the last of these. */
void recout_round(struct recout *rec);

/* Hands everything to the writer. -1 once a write failed, errno says why. */
int recout_flush(struct recout *rec);

/* Waits until everything is written. -1 with errno in err->code if it is not. */
int recout_close(struct recout *rec, struct err *err);

/* Gives up: nothing more is written, an unfinished file goes away. */
void recout_discard(struct recout *rec);

#endif
