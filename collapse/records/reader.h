/*
 * reader.h - the bytes of a recording to whole records.
 *
 * Decides: file mode or pipe mode, the byte order, where records begin and
 * end, compressed stretches, and everything that describes the recording
 * itself (attributes, feature sections, names of events). Hands out the
 * records that tell of processes and samples; does not look into those, and
 * does not order them.
 *
 * A recording that ends inside a record, or goes wrong somewhere, gives all
 * whole records before that place; damage then says what and where.
 *
 * A recording may be a folder of files (perf record --threads): the one that is
 * opened describes the others, which lie beside it and hold nothing but
 * records. They are read side by side, each as far as the others, so that
 * records are no further out of order than those of rings.
 *
 * Memory: a mapped input costs no copies; one that comes through a pipe in
 * file mode is put into a temporary file first, because its parts refer to
 * each other by offset.
 */
#ifndef COLLAPSE_READER_H
#define COLLAPSE_READER_H

#include "collapse/records/embedded.h"
#include "collapse/records/events.h"
#include "collapse/names/module.h"
#include "share/compat.h"
#include "share/err.h"
#include "share/input.h"
#include "share/perfrec.h"

struct record {
	const uint8_t *at; /* header first; as stored, whatever the byte order */
	uint32_t size, type;
	uint16_t misc;
	bool is_stable;  /* at stays valid until reader_close(), else until reader_next() */
	uint64_t offset; /* in the recording, for messages */
};

/* A file of the recording whose build-id the recorder wrote down. */
struct reader_build_id {
	char *path;
	struct build_id id;
};

struct reader {
	struct input *in; /* borrowed */
	bool swap, is_pipe, is_simpleperf;
	struct events events;

	/* what the feature sections say; NULL or 0 where they do not */
	char *hostname, *osrelease, *version, *arch, *command, *cpudesc;
	uint32_t nr_cpus;
	uint64_t time_first, time_last; /* FEAT_SAMPLE_TIME */
	int32_t clockid;                /* -1 unknown */
	bool has_clockid;
	uint64_t clock_wall_ns, clock_mono_ns; /* the same moment on both clocks, or 0 */
	struct reader_build_id *build_ids;
	size_t nr_build_ids, build_ids_capacity;
	struct embedded embedded; /* symbols */

	/* what went by; the last entry counts types unknown here */
	uint64_t nr_by_type[PERFREC_NR_TYPES + 1];
	uint64_t nr_records, aux_size;
	uint64_t nr_foreign;      /* records of vendors, stepped over */
	uint64_t compressed_size; /* bytes before and after */
	uint64_t plain_size;
	char damage[200]; /* "" while nothing is wrong */

	struct reader_state *state, **stretches; /* the one being read; all */
	size_t nr_stretches, stretches_capacity;
};

/* True where these first bytes (8 or more) begin a recording. */
bool reader_knows(struct slice head);

/* NULL with err filled where nothing can be read. */
struct reader *reader_open(struct input *in, struct err *err);
void reader_close(struct reader *reader);

/* 1 = *record is the next, 0 = the end or damage. */
int reader_next(struct reader *reader, struct record *record);

/* The record whose whole bytes, header first, stand at `at`. */
void reader_record_at(const struct reader *reader, const uint8_t *at, struct record *record);

/* Reading of the body of a record, behind its header. */
static inline struct perfrec_cursor reader_body(const struct reader *reader,
                                                const struct record *record)
{
	return (struct perfrec_cursor){record->at + PERFREC_HEADER_SIZE, record->at + record->size,
	                               reader->swap, false};
}

/* The build-id written down for a path, or NULL. */
const struct build_id *reader_build_id_of(const struct reader *reader, const char *path);

#endif
