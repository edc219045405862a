#include "share/compat.h"
#include "collapse/records/reader.h"

#include "collapse/records/features.h"
#include "collapse/records/tracing.h"
#include "share/buf.h"
#include "share/mem.h"

#include <dirent.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <zstd.h>

#define EVENT_TYPE_SIZE (8 + 64)
#define EVENT_TYPES_MAX 4096

#define PLAIN_CHUNK ((size_t)512 * 1024)

/* Bytes behind the reader that stay mapped: records not yet delivered lie there. */
#define KEEP_BEHIND ((uint64_t)16 << 20)
#define TELL_EVERY  ((uint64_t)1 << 20)

/* What stands before the number in the names of files of a folder. */
#define PART_NAME "data."

/* One stretch of records; a recording in a folder has several. */
struct reader_state {
	struct input *in; /* borrowed in the first, owned in the others */
	/* a mapped or spooled input: everything; else base is NULL */
	const uint8_t *base;
	uint64_t at, end; /* of the records, in base; in a stream at only counts */
	uint64_t told;    /* where the input was last told of */

	uint64_t skip; /* bytes of the stream handed out by the last call */
	bool is_stopped, is_done;

	ZSTD_DStream *zstd;
	ZSTD_inBuffer coded; /* of the COMPRESSED record being read */
	uint8_t *plain;
	size_t plain_start, plain_end;
	uint64_t plain_offset; /* of the COMPRESSED record, for messages */
};

static void damaged(struct reader *reader, const char *format, ...) PRINTF_LIKE(2, 3);

/* Nothing behind this place can be read; the first reason is kept. */
static void damaged(struct reader *reader, const char *format, ...)
{
	va_list args;

	reader->state->is_stopped = true;
	if (reader->damage[0])
		return;
	va_start(args, format);
	vsnprintf(reader->damage, sizeof(reader->damage), format, args);
	va_end(args);
	if (reader->state->in != reader->in) {
		size_t size = strlen(reader->damage);

		snprintf(reader->damage + size, sizeof(reader->damage) - size, " (in its %s)",
		         strrchr(input_name(reader->state->in), '/') + 1);
	}
}

bool reader_knows(struct slice head)
{
	return slice_starts(head, PERFREC_MAGIC) || slice_starts(head, PERFREC_MAGIC_SWAPPED) ||
	       slice_starts(head, PERFREC_MAGIC_OLD);
}

/* Borrows up to want bytes of the records; fewer at the end. False on a read error. */
static bool peek(struct reader *reader, size_t want, const uint8_t **at, size_t *got)
{
	struct reader_state *s = reader->state;
	const char *text;
	struct err err;

	if (s->base) {
		*at = s->base + s->at;
		*got = (size_t)MIN_OF(want, s->end - s->at);
		return true;
	}
	if (input_peek(s->in, want, &text, got, &err) < 0) {
		damaged(reader, "%s", err.text);
		return false;
	}
	*at = (const uint8_t *)text;
	return true;
}

static void skip(struct reader *reader, size_t size)
{
	struct reader_state *s = reader->state;

	s->at += size;
	if (!s->base) {
		input_skip(s->in, size);
	} else if (s->at > s->told + TELL_EVERY) {
		s->told = s->at;
		input_reached(s->in, (const char *)s->base + s->at,
		              (const char *)s->base + s->at - MIN_OF(s->at, KEEP_BEHIND));
	}
}

/* Steps over bytes that follow a record without being part of it. */
static bool skip_payload(struct reader *reader, uint64_t size)
{
	while (size) {
		const uint8_t *at;
		size_t got;

		if (!peek(reader, (size_t)MIN_OF(size, 256 * 1024), &at, &got))
			return false;
		if (!got) {
			damaged(reader, "ends inside the data of a record, at offset %llu",
			        (unsigned long long)reader->state->at);
			return false;
		}
		skip(reader, got);
		size -= got;
	}
	return true;
}

/* ---- opening ---- */

struct section {
	uint64_t offset, size;
};

static struct section read_section(struct perfrec_cursor *c)
{
	struct section section;

	section.offset = perfrec_u64(c);
	section.size = perfrec_u64(c);
	return section;
}

/* Reading inside a section, which may claim more than the file holds. */
static struct perfrec_cursor section_cursor(const struct reader *reader, struct slice all,
                                            struct section section)
{
	uint64_t offset = MIN_OF(section.offset, all.size);
	const uint8_t *at = (const uint8_t *)all.at + offset;

	return (struct perfrec_cursor){at, at + MIN_OF(section.size, all.size - offset),
	                               reader->swap, section.size > all.size - offset};
}

static int read_attrs(struct reader *reader, struct slice all, struct section attrs,
                      uint64_t attr_size, struct err *err)
{
	struct perfrec_cursor c = section_cursor(reader, all, attrs);

	if (attr_size < PERF_ATTR_SIZE_VER0 + 16 || attr_size > 65536)
		return err_set(err, "'%s' has attributes of impossible size %llu",
		               input_name(reader->in), (unsigned long long)attr_size);
	while ((uint64_t)(c.end - c.at) >= attr_size) {
		const uint8_t *at = perfrec_bytes(&c, attr_size - 16);
		struct event *event =
		        events_add(&reader->events, at, (size_t)attr_size - 16, reader->swap);
		struct perfrec_cursor ids = section_cursor(reader, all, read_section(&c));

		while (ids.end - ids.at >= 8)
			events_add_id(&reader->events, perfrec_u64(&ids), event);
	}
	if (!reader->events.nr)
		return err_set(err, "'%s' is cut off before the description of its events",
		               input_name(reader->in));
	return 0;
}

static void read_type_names(struct reader *reader, struct perfrec_cursor c)
{
	for (int i = 0; i < EVENT_TYPES_MAX && c.end - c.at >= EVENT_TYPE_SIZE; i++) {
		const uint8_t *at = perfrec_bytes(&c, EVENT_TYPE_SIZE);

		features_event_type(reader, (struct perfrec_cursor){at, c.at, c.swap, false});
	}
}

static void read_features(struct reader *reader, struct slice all, struct section data,
                          const uint64_t bits[4])
{
	struct section table = {0, UINT64_MAX};
	struct perfrec_cursor c;

	if (__builtin_add_overflow(data.offset, data.size, &table.offset))
		return;
	c = section_cursor(reader, all, table);
	c.bad = false;
	for (uint32_t id = 0; id < 256 && !c.bad; id++) {
		struct section section;
		struct perfrec_cursor body;

		if (!(bits[id / 64] >> (id % 64) & 1))
			continue;
		section = read_section(&c);
		body = section_cursor(reader, all, section);
		if (c.bad || body.bad)
			damaged(reader, "is cut off behind its records: what it says of the "
			                "machine and of build-ids may be missing");
		if (c.bad)
			return;
		body.bad = false;
		features_read(reader, id, body);
	}
}

/* ---- a recording in a folder ---- */

static struct reader_state *add_stretch(struct reader *reader, struct input *in)
{
	struct reader_state *s = mem_zalloc(sizeof(*s));

	s->in = in;
	MEM_GROW(reader->stretches, reader->nr_stretches, reader->stretches_capacity);
	reader->stretches[reader->nr_stretches++] = s;
	return s;
}

/* False where there is no such file, as the last of them has no next. */
static bool open_stretch(struct reader *reader, const char *path)
{
	struct reader_state *s;
	struct input *in;
	struct slice all;
	struct stat st;
	struct err err;

	/* no link: a recording does not lead out of its folder */
	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	in = input_open(path, 0, &err);
	if (!in) {
		damaged(reader, "is not read to its end: %s", err.text);
		return false;
	}
	s = add_stretch(reader, in);
	/* an empty one is not mapped */
	if (input_is_mapped(in) && input_all(in, SIZE_MAX, &all, &err) == 0) {
		s->base = (const uint8_t *)all.at;
		s->end = all.size;
	}
	return true;
}

/* Whether the folder names files that go on from the nr-th, which is not read. */
static bool has_further_files(const char *folder, unsigned nr)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	bool has = false;

	while (dir && !has && (entry = readdir(dir))) {
		const char *digits = entry->d_name + strlen(PART_NAME);
		char *end;

		has = strncmp(entry->d_name, PART_NAME, strlen(PART_NAME)) == 0 && *digits >= '0' &&
		      *digits <= '9' && strtoul(digits, &end, 10) >= nr && !*end;
	}
	if (dir)
		closedir(dir);
	return has;
}

/*
 * `perf record --threads` gives each of its threads a file beside this one,
 * data.0 and so on, that is nothing but records; --kcore makes a folder too,
 * but without such files.
 */
static void open_stretches(struct reader *reader)
{
	const char *path = input_name(reader->in), *slash = strrchr(path, '/');
	char *folder = slash ? mem_printf("%.*s", (int)(slash - path), path) : mem_strdup(".");
	unsigned nr = 0;
	struct stat st;
	char *beside;

	for (bool is_there = true; is_there; nr += is_there) {
		beside = mem_printf("%s/" PART_NAME "%u", folder, nr);
		is_there = open_stretch(reader, beside);
		free(beside);
	}
	beside = mem_printf("%s/kcore_dir", folder);
	if (reader->nr_stretches == 1 && stat(beside, &st) < 0)
		damaged(reader, "is one file of a folder: those with the samples, data.0 and so "
		                "on, are not beside it");
	else if (has_further_files(folder, nr))
		damaged(reader,
		        "is not read to its end: its data.%u is missing, or no regular file", nr);
	free(beside);
	free(folder);
}

/* Of the stretches that have records left the one that is least far along. */
static struct reader_state *next_stretch(const struct reader *reader)
{
	struct reader_state *least = NULL;
	double share = 0;

	/* what was there before the samples comes first */
	if (!reader->stretches[0]->is_done)
		return reader->stretches[0];
	for (size_t i = 1; i < reader->nr_stretches; i++) {
		struct reader_state *s = reader->stretches[i];
		double own = (double)s->at / (double)MAX_OF(s->end, (uint64_t)1);

		if (s->is_done || (least && own >= share))
			continue;
		least = s;
		share = own;
	}
	return least;
}

static int open_file(struct reader *reader, uint64_t header_size, struct err *err)
{
	struct reader_state *s = reader->state;
	struct perfrec_cursor c;
	struct section attrs, data, types;
	uint64_t attr_size, bits[4];
	struct slice all;

	if (!input_is_mapped(reader->in) && input_spool(reader->in, err) < 0)
		return -1;
	if (input_all(reader->in, SIZE_MAX, &all, err) < 0)
		return -1;
	if (all.size < MIN_OF(header_size, PERFREC_FILE_HEADER_SIZE))
		return err_set(err, "'%s' is cut off inside its file header",
		               input_name(reader->in));
	c = (struct perfrec_cursor){(const uint8_t *)all.at + 16,
	                            (const uint8_t *)all.at +
	                                    MIN_OF(header_size, PERFREC_FILE_HEADER_SIZE),
	                            reader->swap, false};
	attr_size = perfrec_u64(&c);
	attrs = read_section(&c);
	data = read_section(&c);
	types = read_section(&c);
	for (int i = 0; i < 4; i++)
		bits[i] = perfrec_u64(&c);
	if (read_attrs(reader, all, attrs, attr_size, err) < 0)
		return -1;
	read_type_names(reader, section_cursor(reader, all, types));
	if (data.offset < header_size || data.offset > all.size)
		return err_set(err, "'%s' is cut off before its first record",
		               input_name(reader->in));
	s->base = (const uint8_t *)all.at;
	s->at = s->told = data.offset;
	if (data.size == 0 && all.size > data.offset) {
		/* perf record writes the size last */
		damaged(reader, "was not closed by its recorder: its last records may be missing");
		s->end = all.size;
	} else if (data.size > all.size - data.offset) {
		s->end = all.size;
		damaged(reader, "is cut off: %llu of %llu bytes of records are there",
		        (unsigned long long)(all.size - data.offset),
		        (unsigned long long)data.size);
	} else {
		s->end = data.offset + data.size;
		read_features(reader, all, data, bits);
	}
	if (bits[0] >> PERFREC_FEAT_DIR_FORMAT & 1)
		open_stretches(reader);
	/* what is there can be read all the same */
	s->is_stopped = false;
	return 0;
}

static int open_any(struct reader *reader, struct err *err)
{
	struct perfrec_cursor c;
	const uint8_t *head;
	const char *text;
	uint64_t header_size;
	struct slice all;
	size_t got;

	if (input_peek(reader->in, PERFREC_PIPE_HEADER_SIZE, &text, &got, err) < 0)
		return -1;
	if (got < PERFREC_PIPE_HEADER_SIZE)
		return err_set(err, "'%s' is cut off inside its header", input_name(reader->in));
	head = (const uint8_t *)text;
	reader->swap = memcmp(head, PERFREC_MAGIC_SWAPPED, 8) == 0;
	c = (struct perfrec_cursor){head + 8, head + 16, reader->swap, false};
	header_size = perfrec_u64(&c);
	if (memcmp(head, PERFREC_MAGIC_OLD, 8) == 0 && header_size > UINT32_MAX) {
		reader->swap = true;
		header_size = __builtin_bswap64(header_size);
	}
	if ((header_size >= PERFREC_FILE_HEADER_SIZE && header_size <= 65536) ||
	    header_size == PERFREC_FILE_HEADER_OLD)
		return open_file(reader, header_size, err);
	if (header_size < PERFREC_PIPE_HEADER_SIZE || header_size >= PERFREC_FILE_HEADER_SIZE)
		return err_set(err, "'%s' has a header of impossible size %llu",
		               input_name(reader->in), (unsigned long long)header_size);
	reader->is_pipe = true;
	if (input_is_mapped(reader->in)) {
		if (input_all(reader->in, SIZE_MAX, &all, err) < 0)
			return -1;
		reader->state->base = (const uint8_t *)all.at;
		reader->state->end = all.size;
		if (header_size > all.size)
			return err_set(err, "'%s' is cut off inside its header",
			               input_name(reader->in));
		reader->state->at = header_size;
	} else if (!skip_payload(reader, header_size)) {
		return err_set(err, "'%s' %s", input_name(reader->in), reader->damage);
	}
	return 0;
}

struct reader *reader_open(struct input *in, struct err *err)
{
	struct reader *reader = mem_zalloc(sizeof(*reader));

	reader->in = in;
	reader->clockid = -1;
	reader->state = add_stretch(reader, in);
	if (open_any(reader, err) < 0) {
		reader_close(reader);
		return NULL;
	}
	return reader;
}

void reader_close(struct reader *reader)
{
	if (!reader)
		return;
	events_release(&reader->events);
	features_release(reader);
	for (size_t i = 0; i < reader->nr_stretches; i++) {
		struct reader_state *s = reader->stretches[i];

		if (i)
			input_close(s->in);
		ZSTD_freeDStream(s->zstd);
		free(s->plain);
		free(s);
	}
	free(reader->stretches);
	free(reader);
}

const struct build_id *reader_build_id_of(const struct reader *reader, const char *path)
{
	for (size_t i = 0; i < reader->nr_build_ids; i++)
		if (strcmp(reader->build_ids[i].path, path) == 0)
			return &reader->build_ids[i].id;
	return NULL;
}

/* ---- records ---- */

void reader_record_at(const struct reader *reader, const uint8_t *at, struct record *record)
{
	struct perfrec_cursor c = {at, at + PERFREC_HEADER_SIZE, reader->swap, false};

	*record = (struct record){.at = at, .is_stable = true};
	record->type = perfrec_u32(&c);
	record->misc = perfrec_u16(&c);
	record->size = perfrec_u16(&c);
	if (record->type >= PERFREC_SIMPLEPERF) {
		record->size |= (uint32_t)record->misc << 16;
		record->misc = 0;
	}
}

/* The next whole record of the decompressed bytes; false where more are needed. */
static bool next_plain(struct reader *reader, struct record *record)
{
	struct reader_state *s = reader->state;

	for (;;) {
		size_t have = s->plain_end - s->plain_start;
		ZSTD_outBuffer out;
		size_t rc;

		if (have >= PERFREC_HEADER_SIZE) {
			reader_record_at(reader, s->plain + s->plain_start, record);
			record->is_stable = false;
			record->offset = s->plain_offset;
			if (record->size < PERFREC_HEADER_SIZE || record->size > PLAIN_CHUNK / 2) {
				damaged(reader,
				        "holds a record of size %u in the compressed data at "
				        "offset %llu",
				        record->size, (unsigned long long)s->plain_offset);
				return false;
			}
			if (have >= record->size) {
				s->plain_start += record->size;
				return true;
			}
		}
		if (s->coded.pos == s->coded.size && !s->coded.src)
			return false;
		memmove(s->plain, s->plain + s->plain_start, have);
		s->plain_start = 0;
		s->plain_end = have;
		out = (ZSTD_outBuffer){s->plain, PLAIN_CHUNK, have};
		rc = ZSTD_decompressStream(s->zstd, &out, &s->coded);
		if (ZSTD_isError(rc)) {
			damaged(reader, "holds damaged zstd data at offset %llu: %s",
			        (unsigned long long)s->plain_offset, ZSTD_getErrorName(rc));
			return false;
		}
		reader->plain_size += out.pos - have;
		/* the decoder may still hold output while its buffer was full */
		if (s->coded.pos == s->coded.size && out.pos < PLAIN_CHUNK)
			s->coded = (ZSTD_inBuffer){NULL, 0, 0};
		s->plain_end = out.pos;
	}
}

static bool begin_compressed(struct reader *reader, const struct record *record)
{
	struct reader_state *s = reader->state;
	struct perfrec_cursor c = reader_body(reader, record);
	uint64_t size = (uint64_t)(c.end - c.at);

	if (record->type == PERFREC_COMPRESSED2)
		size = perfrec_u64(&c);
	s->coded = (ZSTD_inBuffer){perfrec_bytes(&c, size), (size_t)size, 0};
	if (!s->coded.src) {
		damaged(reader,
		        "holds a compressed record at offset %llu that claims more than "
		        "its size",
		        (unsigned long long)record->offset);
		return false;
	}
	s->plain_offset = record->offset;
	reader->compressed_size += size;
	if (!s->zstd) {
		s->zstd = ZSTD_createDStream();
		s->plain = mem_alloc(PLAIN_CHUNK);
	}
	return true;
}

/* The next record as it is stored; 0 at the end. */
static int next_stored(struct reader *reader, struct record *record)
{
	struct reader_state *s = reader->state;
	const uint8_t *at;
	size_t got;

	if (s->skip) {
		skip(reader, s->skip);
		s->skip = 0;
	}
	if (!peek(reader, PERFREC_HEADER_SIZE, &at, &got) || got == 0)
		return 0;
	if (got < PERFREC_HEADER_SIZE) {
		damaged(reader, "ends inside a record at offset %llu", (unsigned long long)s->at);
		return 0;
	}
	reader_record_at(reader, at, record);
	if (record->size < PERFREC_HEADER_SIZE) {
		damaged(reader, "holds a record of size %u at offset %llu", record->size,
		        (unsigned long long)s->at);
		return 0;
	}
	if (!peek(reader, record->size, &at, &got))
		return 0;
	if (got < record->size) {
		damaged(reader, "ends inside a record at offset %llu", (unsigned long long)s->at);
		return 0;
	}
	record->at = at;
	record->offset = s->at;
	record->is_stable = s->base != NULL;
	s->skip = record->size;
	return 1;
}

static void read_attr_record(struct reader *reader, struct perfrec_cursor c)
{
	struct perfrec_cursor size_field = {c.at + 4, c.end, c.swap, false};
	uint32_t size = c.end - c.at >= 8 ? perfrec_u32(&size_field) : 0;
	const uint8_t *at;
	struct event *event;

	if (size == 0)
		size = PERF_ATTR_SIZE_VER0;
	at = perfrec_bytes(&c, size);
	event = at ? events_add(&reader->events, at, size, reader->swap) : NULL;
	if (!event) {
		damaged(reader, "holds an attribute of impossible size %u", size);
		return;
	}
	while (c.end - c.at >= 8)
		events_add_id(&reader->events, perfrec_u64(&c), event);
}

static void read_event_update(struct reader *reader, struct perfrec_cursor c)
{
	uint64_t kind = perfrec_u64(&c), id = perfrec_u64(&c);
	struct event *event = events_by_id(&reader->events, id);

	if (!event && reader->events.nr == 1)
		event = reader->events.at[0];
	if (event && kind == PERFREC_UPDATE_NAME && !c.bad)
		event_set_name(event, perfrec_text(&c));
}

/* Ids that came later than the attributes, as in recordings that were merged. */
static void read_event_ids(struct reader *reader, struct perfrec_cursor c)
{
	uint64_t nr = perfrec_u64(&c);

	for (uint64_t i = 0; i < nr && !c.bad; i++) {
		uint64_t index = perfrec_u64(&c), id = perfrec_u64(&c);

		if (!c.bad && index < reader->events.nr)
			events_add_id(&reader->events, id, reader->events.at[index]);
	}
}

/* In a stream, behind its record; padded to 8. */
static void read_tracing_data(struct reader *reader, uint64_t size)
{
	const uint8_t *at;
	size_t got;

	skip(reader, reader->state->skip);
	reader->state->skip = 0;
	if (size <= TRACING_SIZE_MAX && peek(reader, size, &at, &got))
		features_read(reader, PERFREC_FEAT_TRACING_DATA,
		              (struct perfrec_cursor){at, at + got, reader->swap, false});
	skip_payload(reader, (size + 7) & ~(uint64_t)7);
}

/* Records about the recording itself; false for those that are handed out. */
static bool take_own(struct reader *reader, const struct record *record)
{
	struct perfrec_cursor c = reader_body(reader, record);
	uint64_t size;

	switch (record->type) {
	case PERFREC_HEADER_ATTR:
		read_attr_record(reader, c);
		break;
	case PERFREC_EVENT_TYPE:
		features_event_type(reader, c);
		break;
	case PERFREC_EVENT_UPDATE:
		read_event_update(reader, c);
		break;
	case PERFREC_HEADER_FEATURE:
		size = perfrec_u64(&c);
		if (!c.bad && size < 256)
			features_read(reader, (uint32_t)size, c);
		break;
	case PERFREC_BUILD_ID:
		features_build_id(reader, record->misc, c);
		break;
	case PERFREC_TRACING_DATA:
		read_tracing_data(reader, perfrec_u32(&c));
		break;
	case PERFREC_AUXTRACE:
		size = perfrec_u64(&c);
		reader->aux_size += size;
		skip(reader, reader->state->skip);
		reader->state->skip = 0;
		skip_payload(reader, size);
		break;
	default:
		return false;
	}
	return true;
}

static int next_of_stretch(struct reader *reader, struct record *record)
{
	struct reader_state *s = reader->state;

	for (;;) {
		bool is_plain = s->plain && !s->is_stopped && next_plain(reader, record);

		if (s->is_stopped)
			return 0;
		if (!is_plain && !next_stored(reader, record)) {
			if (s->plain_end > s->plain_start)
				damaged(reader, "ends inside a compressed record");
			return 0;
		}
		reader->nr_records++;
		reader->nr_by_type[MIN_OF(record->type, PERFREC_NR_TYPES)]++;
		if (record->type >= PERFREC_SIMPLEPERF) {
			reader->nr_foreign++;
			if (record->type == PERFREC_SIMPLEPERF_EVENT_ID)
				read_event_ids(reader, reader_body(reader, record));
			continue;
		}
		if (record->type == PERFREC_COMPRESSED || record->type == PERFREC_COMPRESSED2) {
			if (is_plain) {
				damaged(reader, "holds compressed data within compressed data");
				return 0;
			}
			if (!begin_compressed(reader, record))
				return 0;
			continue;
		}
		if (is_plain || !take_own(reader, record))
			return 1;
	}
}

int reader_next(struct reader *reader, struct record *record)
{
	struct reader_state *s;

	while ((s = next_stretch(reader))) {
		reader->state = s;
		if (next_of_stretch(reader, record))
			return 1;
		s->is_done = true;
	}
	return 0;
}
