/*
 * jfrchunk.h - the chunks that a JFR recording is made of: header, metadata,
 * constant pools, events.
 *
 * A chunk describes itself: its metadata names every type and its fields, so
 * that values are read by field name and what is unknown is stepped over.
 * Pools are indexed by place; their values are read when they are asked for.
 *
 * Source: OpenJDK 17, src/jdk.jfr/share/classes/jdk/jfr/internal/consumer
 * (ChunkHeader, MetadataReader, ChunkParser, StringParser) and consumer
 * documentation of JEP 328; integers are LEB128 of at most nine bytes, the
 * ninth whole, unless the header says that they are not compressed.
 */
#ifndef COLLAPSE_JFRCHUNK_H
#define COLLAPSE_JFRCHUNK_H

#include "collapse/formats/idmap.h"
#include "share/arena.h"
#include "share/buf.h"
#include "share/compat.h"
#include "share/err.h"

#define JFR_MAGIC       "FLR"
#define JFR_HEADER_SIZE 68

struct jfr_field {
	struct slice name;
	uint64_t type; /* class id */
	bool is_pool, is_array;
};

enum jfr_kind {
	JFR_STRUCT,
	JFR_BYTE,  /* boolean too */
	JFR_SHORT, /* char too */
	JFR_INT,
	JFR_LONG,
	JFR_FLOAT,
	JFR_DOUBLE,
	JFR_STRING,
};

struct jfr_class {
	uint64_t id;
	struct slice name;
	enum jfr_kind kind;
	size_t first_field, nr_fields;
	struct idmap pool; /* constant id -> index in places */
};

struct jfr_cursor {
	const uint8_t *at, *end;
	bool is_bad;
};

struct jfr_chunk {
	const uint8_t *start, *end;
	bool is_compressed;
	uint64_t ticks_per_second;
	struct jfr_class *classes;
	size_t nr_classes, classes_capacity;
	struct idmap class_ids;
	struct jfr_field *fields;
	size_t nr_fields, fields_capacity;
	size_t *places; /* of constants, from start */
	size_t nr_places, places_capacity;
	struct arena texts;  /* names of classes and fields */
	uint64_t steps_left; /* bound on the work that a chunk of this size may ask for */
};

/*
 * Reads header, metadata and pools of the chunk at the begin of bytes and sets
 * *size to its length, 0 where the rest of the file is of no use. -1 where it
 * cannot be read.
 */
int jfr_chunk_open(struct jfr_chunk *chunk, struct slice bytes, size_t *size, struct err *err);
void jfr_chunk_close(struct jfr_chunk *chunk);

/* Steps from event to event; *type is its class id, *event its fields. */
bool jfr_next_event(const struct jfr_chunk *chunk, struct jfr_cursor *events, uint64_t *type,
                    struct jfr_cursor *event);

const struct jfr_class *jfr_class_by_id(const struct jfr_chunk *chunk, uint64_t id);

/*
 * Moves the cursor from the begin of a value of this class to its field of
 * that name, which is described by *field. False where there is none.
 */
bool jfr_find(struct jfr_chunk *chunk, const struct jfr_class *class, const char *name,
              struct jfr_cursor *cursor, const struct jfr_field **field);

/* Steps over a whole value of that class. */
void jfr_skip(struct jfr_chunk *chunk, const struct jfr_class *class, struct jfr_cursor *cursor);

/* The place of a constant; false where the pool does not hold it. */
bool jfr_constant(const struct jfr_chunk *chunk, const struct jfr_class *class, uint64_t id,
                  struct jfr_cursor *cursor);

uint64_t jfr_int(const struct jfr_chunk *chunk, struct jfr_cursor *cursor, enum jfr_kind kind);

/* Text of a string at the cursor, through the pools where it refers to them. */
struct slice jfr_text(struct jfr_chunk *chunk, struct jfr_cursor *cursor, struct buf *buf);

/* A number field of a value; fallback where there is none. */
int64_t jfr_number(struct jfr_chunk *chunk, const struct jfr_class *class, const char *name,
                   struct jfr_cursor value, int64_t fallback);

/* Follows a field that refers to a pool: class and place of what it refers to, and its id. */
bool jfr_follow(struct jfr_chunk *chunk, const struct jfr_class *class, const char *name,
                struct jfr_cursor value, const struct jfr_class **to, struct jfr_cursor *place,
                uint64_t *id);

#endif
