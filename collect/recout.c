#include "share/compat.h"
#include "collect/recout.h"

#include "collect/caps.h"
#include "collect/zstream.h"
#include "share/mem.h"
#include "share/perfrec.h"
#include "share/version.h"

#include <errno.h>
#include <signal.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* More than the limit of ordinary users is granted with CAP_SYS_RESOURCE. */
static const int pipe_sizes[] = {8 << 20, 1 << 20};

struct recout_block {
	struct recout_block *next;
	struct buf bytes;
	uint64_t time_ns; /* when it was held */
	bool compress;
};

/* ---- the writer ---- */

/* Returns 0 or errno. */
static int write_all(int fd, const struct buf *bytes)
{
	size_t done = 0;

	while (done < bytes->size) {
		ssize_t size = write(fd, bytes->at + done, bytes->size - done);

		if (size >= 0)
			done += (size_t)size;
		else if (errno != EINTR)
			return errno;
	}
	return 0;
}

/* Bytes per COMPRESSED record: what they become fits a record, as it has 16 bits of size. */
#define COMPRESSED_PIECE (32 * 1024)
/* Readers reserve that much for what a record becomes (comp_mmap_len of perf's env.h). */
#define COMPRESSED_ROOM (1u << 20)

/* Replaces the bytes by COMPRESSED records. Returns 0 or errno. */
static int compress_block(struct zstream *stream, struct buf *bytes)
{
	struct buf out = {0};

	for (size_t at = 0; at < bytes->size; at += COMPRESSED_PIECE) {
		struct perf_event_header header = {.type = PERFREC_COMPRESSED};
		size_t start = out.size;

		buf_add(&out, &header, sizeof(header));
		if (zstream_add(stream, &out, bytes->at + at,
		                MIN_OF((size_t)COMPRESSED_PIECE, bytes->size - at)) < 0) {
			buf_release(&out);
			return EIO;
		}
		header.size = (uint16_t)(out.size - start);
		memcpy(out.at + start, &header, sizeof(header));
	}
	buf_release(bytes);
	*bytes = out;
	return 0;
}

static void *write_blocks(void *arg)
{
	struct recout *rec = arg;
	struct recout_block *block;
	size_t queued;
	int failure;

	/* the descriptor is open: writing to it takes no rights */
	caps_keep(0);
	pthread_mutex_lock(&rec->lock);
	for (;;) {
		while (!rec->first && !rec->ending)
			pthread_cond_wait(&rec->changed, &rec->lock);
		block = rec->first;
		if (!block)
			break;
		rec->first = block->next;
		failure = rec->failure;
		queued = block->bytes.size;
		pthread_mutex_unlock(&rec->lock);
		if (!failure && block->compress)
			failure = compress_block(rec->zstream, &block->bytes);
		if (!failure)
			failure = write_all(rec->out.fd, &block->bytes);
		pthread_mutex_lock(&rec->lock);
		rec->failure = failure;
		rec->queued -= queued;
		if (rec->nr_spares < RECOUT_SPARES) {
			buf_reset(&block->bytes);
			rec->spares[rec->nr_spares++] = block->bytes;
		} else {
			buf_release(&block->bytes);
		}
		free(block);
		pthread_cond_broadcast(&rec->changed);
	}
	pthread_mutex_unlock(&rec->lock);
	return NULL;
}

/* next: NULL, or an empty buffer that may be had from what is written by now. */
static void enqueue(struct recout *rec, struct recout_block *block, struct buf *next)
{
	block->next = NULL;
	block->compress = rec->zstream != NULL;
	pthread_mutex_lock(&rec->lock);
	while (rec->queued > RECOUT_MAX_QUEUE)
		pthread_cond_wait(&rec->changed, &rec->lock);
	if (rec->first)
		rec->last->next = block;
	else
		rec->first = block;
	rec->last = block;
	rec->queued += block->bytes.size;
	if (next && rec->nr_spares)
		*next = rec->spares[--rec->nr_spares];
	pthread_cond_broadcast(&rec->changed);
	pthread_mutex_unlock(&rec->lock);
}

static struct recout_block *detach_block(struct buf *bytes)
{
	struct recout_block *block = mem_zalloc(sizeof(*block));

	block->bytes = *bytes;
	*bytes = (struct buf){0};
	return block;
}

/* Keeps all records of a block but its samples. */
static void keep_sideband(struct recout *rec, const struct buf *bytes)
{
	size_t at = 0;
	struct perf_event_header header;

	while (bytes->size - at >= sizeof(header)) {
		memcpy(&header, bytes->at + at, sizeof(header));
		if (header.type != PERF_RECORD_SAMPLE)
			buf_add(&rec->kept, bytes->at + at, header.size);
		at += header.size;
	}
}

static void hold(struct recout *rec, struct recout_block *block)
{
	struct timespec time;

	pthread_mutex_lock(&rec->lock);
	/* with the lock: blocks stand in the order of their times */
	clock_gettime(CLOCK_MONOTONIC, &time);
	block->time_ns = (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
	if (rec->held)
		rec->held_last->next = block;
	else
		rec->held = block;
	rec->held_last = block;
	while (block->time_ns - rec->held->time_ns > rec->hold_ns) {
		struct recout_block *old = rec->held;

		keep_sideband(rec, &old->bytes);
		rec->held = old->next;
		buf_release(&old->bytes);
		free(old);
	}
	pthread_mutex_unlock(&rec->lock);
}

void recout_take(struct recout *rec, struct buf *records)
{
	if (!records->size)
		return;
	__atomic_fetch_add(&rec->nr_bytes, records->size, __ATOMIC_RELAXED);
	if (rec->hold_ns)
		hold(rec, detach_block(records));
	else
		enqueue(rec, detach_block(records), records);
}

void recout_push(struct recout *rec)
{
	recout_take(rec, &rec->block);
}

void recout_hold(struct recout *rec, uint64_t ns)
{
	recout_push(rec);
	rec->hold_ns = ns;
}

void recout_let_go(struct recout *rec)
{
	recout_push(rec);
	if (rec->kept.size)
		enqueue(rec, detach_block(&rec->kept), NULL);
	while (rec->held) {
		struct recout_block *block = rec->held;

		rec->held = block->next;
		enqueue(rec, block, NULL);
	}
}

/* Signals are for the thread that records. */
static int start_writer(struct recout *rec, struct err *err)
{
	sigset_t all, before;

	pthread_mutex_init(&rec->lock, NULL);
	pthread_cond_init(&rec->changed, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	errno = pthread_create(&rec->writer, NULL, write_blocks, rec);
	rec->has_writer = errno == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rec->has_writer ? 0 : err_sys(err, "cannot start a thread");
}

static void end_writer(struct recout *rec)
{
	if (!rec->has_writer)
		return;
	pthread_mutex_lock(&rec->lock);
	rec->ending = true;
	pthread_cond_broadcast(&rec->changed);
	pthread_mutex_unlock(&rec->lock);
	pthread_join(rec->writer, NULL);
	rec->has_writer = false;
	rec->out.failure = rec->failure;
	buf_release(&rec->record);
	buf_release(&rec->block);
	while (rec->nr_spares)
		buf_release(&rec->spares[--rec->nr_spares]);
	zstream_free(rec->zstream);
	rec->zstream = NULL;
}

int recout_open(struct recout *rec, const char *path, struct err *err)
{
	static const uint64_t header_size = PERFREC_PIPE_HEADER_SIZE;
	bool to_stdout = !path || strcmp(path, "-") == 0;

	*rec = (struct recout){0};
	if (to_stdout && isatty(STDOUT_FILENO))
		return err_set(err,
		               "records are not for a terminal: write 'collect ... | collapse | "
		               "render >flame.svg', or name a file with -o");
	if (output_open(&rec->out, path, err) < 0)
		return -1;
	/* fewer, larger pieces; what is no pipe, or cannot grow, serves as well */
	for (size_t i = 0; i < ARRAY_SIZE(pipe_sizes); i++)
		if (fcntl(rec->out.fd, F_SETPIPE_SZ, pipe_sizes[i]) >= 0)
			break;
	if (start_writer(rec, err) < 0)
		return -1;
	recout_bytes(rec, PERFREC_MAGIC, 8);
	recout_bytes(rec, &header_size, 8);
	return 0;
}

/* ---- building records ---- */

static void begin(struct recout *rec, uint32_t type, uint16_t misc)
{
	struct perf_event_header header = {.type = type, .misc = misc};

	buf_reset(&rec->record);
	buf_add(&rec->record, &header, sizeof(header));
}

static void add_u32(struct recout *rec, uint32_t value)
{
	buf_add(&rec->record, &value, sizeof(value));
}

static void add_u64(struct recout *rec, uint64_t value)
{
	buf_add(&rec->record, &value, sizeof(value));
}

static void pad(struct recout *rec)
{
	static const char zeros[8];

	buf_add(&rec->record, zeros, -rec->record.size & 7);
}

/* NUL-terminated, the record stays a multiple of 8. */
static void add_text(struct recout *rec, const char *text)
{
	buf_add(&rec->record, text, strlen(text) + 1);
	pad(rec);
}

/* A string of a feature: its padded size comes first. */
static void add_counted(struct recout *rec, const char *text)
{
	size_t size = (strlen(text) + 1 + 63) & ~(size_t)63;

	add_u32(rec, (uint32_t)size);
	buf_string(&rec->record, text);
	buf_reserve(&rec->record, 64);
	memset(rec->record.at + rec->record.size, 0, size - strlen(text));
	rec->record.size += size - strlen(text);
}

static void end(struct recout *rec)
{
	struct perf_event_header *header = (void *)rec->record.at;

	header->size = (uint16_t)rec->record.size;
	recout_bytes(rec, rec->record.at, rec->record.size);
}

static void end_with_trailer(struct recout *rec, uint32_t pid, uint32_t tid)
{
	add_u32(rec, pid);
	add_u32(rec, tid);
	add_u64(rec, rec->trailer_ns);
	add_u64(rec, 0); /* cpu */
	add_u64(rec, rec->trailer_id);
	end(rec);
}

/* ---- header ---- */

/* A record's size is 16 bits: that many ids fit into one HEADER_ATTR. */
#define MAX_IDS ((65528 - sizeof(struct perf_event_header) - sizeof(struct perf_event_attr)) / 8)

/* Beyond the ids of real tracepoints, which have 16 bits. */
#define FIRST_PROBE_ID 0x10000

void recout_events(struct recout *rec, const struct event_list *events)
{
	for (size_t i = 0; i < events->nr; i++) {
		const struct event *event = &events->at[i];
		size_t nr = MIN_OF(event->nr_ids, MAX_IDS);

		struct perf_event_attr attr = event->attr;

		/*
		 * perf script prints no frames of types that it does not know when it
		 * reads a pipe (process_attr() of builtin-script.c, 6.1): probes are
		 * told as tracepoints, as those are that perf probe makes of them.
		 */
		if (event->probe) {
			attr.type = PERF_TYPE_TRACEPOINT;
			attr.config = FIRST_PROBE_ID + i;
			attr.config1 = attr.config2 = 0;
		}
		begin(rec, PERFREC_HEADER_ATTR, 0);
		buf_add(&rec->record, &attr, sizeof(attr));
		buf_add(&rec->record, event->ids, nr * 8);
		end(rec);
	}
	for (size_t i = 0; i < events->nr; i++) {
		const struct event *event = &events->at[i];

		if (!event->nr_ids)
			continue;
		begin(rec, PERFREC_EVENT_UPDATE, 0);
		add_u64(rec, PERFREC_UPDATE_NAME);
		add_u64(rec, event->ids[0]);
		add_text(rec, event->name);
		end(rec);
	}
}

static void begin_feature(struct recout *rec, uint64_t feature)
{
	begin(rec, PERFREC_HEADER_FEATURE, 0);
	add_u64(rec, feature);
}

static void text_feature(struct recout *rec, uint64_t feature, const char *text)
{
	begin_feature(rec, feature);
	add_counted(rec, text);
	end(rec);
}

static void clock_features(struct recout *rec, int clockid)
{
	struct timespec wall, clock, resolution;

	if (clockid < 0 || clock_gettime(CLOCK_REALTIME, &wall) < 0 ||
	    clock_gettime(clockid, &clock) < 0 || clock_getres(clockid, &resolution) < 0)
		return;
	begin_feature(rec, PERFREC_FEAT_CLOCKID);
	add_u64(rec, (uint64_t)resolution.tv_nsec);
	end(rec);
	/* the same instant by the wall and by the recording's clock */
	begin_feature(rec, PERFREC_FEAT_CLOCK_DATA);
	add_u32(rec, 1); /* version */
	add_u32(rec, (uint32_t)clockid);
	add_u64(rec, (uint64_t)wall.tv_sec * 1000000000 + (uint64_t)wall.tv_nsec);
	add_u64(rec, (uint64_t)clock.tv_sec * 1000000000 + (uint64_t)clock.tv_nsec);
	end(rec);
}

void recout_features(struct recout *rec, int argc, char **argv, int clockid)
{
	struct utsname system;

	if (uname(&system) == 0) {
		text_feature(rec, PERFREC_FEAT_HOSTNAME, system.nodename);
		text_feature(rec, PERFREC_FEAT_OSRELEASE, system.release);
		text_feature(rec, PERFREC_FEAT_ARCH, system.machine);
	}
	text_feature(rec, PERFREC_FEAT_VERSION, "flame-collect " FLAME_VERSION);
	begin_feature(rec, PERFREC_FEAT_NRCPUS);
	add_u32(rec, (uint32_t)sysconf(_SC_NPROCESSORS_CONF));
	add_u32(rec, (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
	end(rec);
	begin_feature(rec, PERFREC_FEAT_CMDLINE);
	add_u32(rec, (uint32_t)MIN_OF(argc, 256));
	/* arguments may be longer than a record: the head of each will do */
	for (int i = 0; i < argc && i < 256; i++) {
		char word[128];

		snprintf(word, sizeof(word), "%s", argv[i]);
		add_counted(rec, word);
	}
	end(rec);
	clock_features(rec, clockid);
}

int recout_compress(struct recout *rec, int level, struct err *err)
{
	struct zstream *stream = zstream_new(level, err);

	if (!stream)
		return -1;
	begin_feature(rec, PERFREC_FEAT_COMPRESSED);
	add_u32(rec, 1); /* version */
	add_u32(rec, 1); /* zstd */
	add_u32(rec, (uint32_t)level);
	add_u32(rec, 1); /* ratio, unknown yet */
	add_u32(rec, COMPRESSED_ROOM);
	end(rec);
	recout_push(rec);
	rec->zstream = stream;
	return 0;
}

void recout_sample_time(struct recout *rec, uint64_t first_ns, uint64_t last_ns)
{
	begin_feature(rec, PERFREC_FEAT_SAMPLE_TIME);
	add_u64(rec, first_ns);
	add_u64(rec, last_ns);
	end(rec);
}

/* ---- records ---- */

void recout_comm(struct recout *rec, uint32_t pid, uint32_t tid, const char *comm)
{
	begin(rec, PERF_RECORD_COMM, 0);
	add_u32(rec, pid);
	add_u32(rec, tid);
	add_text(rec, comm);
	end_with_trailer(rec, pid, tid);
}

void recout_fork(struct recout *rec, uint32_t pid, uint32_t ppid, uint32_t tid, uint32_t ptid)
{
	begin(rec, PERF_RECORD_FORK, 0);
	add_u32(rec, pid);
	add_u32(rec, ppid);
	add_u32(rec, tid);
	add_u32(rec, ptid);
	add_u64(rec, rec->trailer_ns);
	end_with_trailer(rec, pid, tid);
}

void recout_cgroup(struct recout *rec, uint64_t id, const char *path)
{
	begin(rec, PERF_RECORD_CGROUP, 0);
	add_u64(rec, id);
	add_text(rec, path);
	end_with_trailer(rec, 0, 0);
}

void recout_namespaces(struct recout *rec, uint32_t pid, uint32_t tid,
                       const struct recout_namespace *at, size_t nr)
{
	begin(rec, PERF_RECORD_NAMESPACES, 0);
	add_u32(rec, pid);
	add_u32(rec, tid);
	add_u64(rec, nr);
	buf_add(&rec->record, at, nr * sizeof(*at));
	end_with_trailer(rec, pid, tid);
}

void recout_map(struct recout *rec, const struct recout_map *map)
{
	/* PROT_EXEC is 4 */
	uint16_t misc = (map->kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER) |
	                (map->prot & 4 ? 0 : PERF_RECORD_MISC_MMAP_DATA) |
	                (map->build_id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0);

	begin(rec, PERF_RECORD_MMAP2, misc);
	add_u32(rec, map->pid);
	add_u32(rec, map->tid);
	add_u64(rec, map->start);
	add_u64(rec, map->size);
	add_u64(rec, map->offset);
	if (map->build_id) {
		uint8_t field[24] = {(uint8_t)map->build_id_size};

		memcpy(field + 4, map->build_id, map->build_id_size);
		buf_add(&rec->record, field, sizeof(field));
	} else {
		add_u32(rec, map->major);
		add_u32(rec, map->minor);
		add_u64(rec, map->inode);
		add_u64(rec, 0); /* inode generation */
	}
	add_u32(rec, map->prot);
	add_u32(rec, map->shared ? 1 : 2); /* MAP_SHARED, MAP_PRIVATE */
	add_text(rec, map->path);
	end_with_trailer(rec, map->pid, map->tid);
}

void recout_lost(struct recout *rec, uint64_t id, uint64_t nr)
{
	begin(rec, PERF_RECORD_LOST, 0);
	add_u64(rec, id);
	add_u64(rec, nr);
	end_with_trailer(rec, 0, 0);
}

void recout_round(struct recout *rec)
{
	begin(rec, PERFREC_FINISHED_ROUND, 0);
	end(rec);
}

/* ---- ending ---- */

int recout_flush(struct recout *rec)
{
	recout_push(rec);
	pthread_mutex_lock(&rec->lock);
	errno = rec->failure;
	pthread_mutex_unlock(&rec->lock);
	return errno ? -1 : 0;
}

int recout_close(struct recout *rec, struct err *err)
{
	int failure, result;

	recout_let_go(rec);
	end_writer(rec);
	failure = rec->failure;
	result = output_close(&rec->out, err);
	if (failure)
		err->code = failure;
	return result;
}

void recout_discard(struct recout *rec)
{
	end_writer(rec);
	output_discard(&rec->out);
}
