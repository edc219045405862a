/*
 * to_pprof.c - writes pprof's protocol buffer, gzipped.
 *
 * One value, named after the event, in the header's unit; times with fractions
 * become nanoseconds. A frame is a location with a function; marks stay
 * part of the name, so that reading it back gives the same stacks.
 *
 * Source: google/pprof, proto/profile.proto.
 */
#include "share/compat.h"
#include "collapse/writers/to.h"

#include "share/mem.h"

#include <zlib.h>

static void put_varint(struct buf *out, uint64_t value)
{
	while (value > 127) {
		buf_char(out, (char)(value | 128));
		value >>= 7;
	}
	buf_char(out, (char)value);
}

static void put_number(struct buf *out, unsigned field, uint64_t value)
{
	put_varint(out, field << 3);
	put_varint(out, value);
}

static void put_bytes(struct buf *out, unsigned field, const void *bytes, size_t size)
{
	put_varint(out, field << 3 | 2);
	put_varint(out, size);
	buf_add(out, bytes, size);
}

/* Gzip (RFC 1952) of a stream, fed piece by piece. */
struct gzip {
	z_stream z;
	struct output *out;
};

static void gzip_feed(struct gzip *gzip, struct buf *bytes, int flush)
{
	char chunk[16384];

	gzip->z.next_in = (Bytef *)bytes->at;
	gzip->z.avail_in = (uInt)bytes->size;
	do {
		gzip->z.next_out = (Bytef *)chunk;
		gzip->z.avail_out = sizeof(chunk);
		deflate(&gzip->z, flush);
		output_add(gzip->out, chunk, sizeof(chunk) - gzip->z.avail_out);
	} while (!gzip->z.avail_out);
	buf_reset(bytes);
}

static void maybe_feed(struct gzip *gzip, struct buf *bytes)
{
	if (bytes->size > 1 << 20)
		gzip_feed(gzip, bytes, Z_NO_FLUSH);
}

enum { STRING_EMPTY, STRING_EVENT, STRING_UNIT, NR_OWN_STRINGS };

/* Functions, locations and strings share the numbers of names, from 1 on. */
static void put_tables(const struct folder *folder, const bool *is_used, struct gzip *gzip,
                       struct buf *bytes)
{
	struct buf part = {0}, line = {0};

	for (uint32_t name = 0; name < folder->names.nr; name++) {
		if (!is_used[name])
			continue;
		buf_reset(&line);
		put_number(&line, 1, (uint64_t)name + 1); /* function */
		buf_reset(&part);
		put_number(&part, 1, (uint64_t)name + 1);
		put_bytes(&part, 4, line.at, line.size);
		put_bytes(bytes, 4, part.at, part.size); /* location */
		buf_reset(&part);
		put_number(&part, 1, (uint64_t)name + 1);
		put_number(&part, 2, (uint64_t)name + NR_OWN_STRINGS);
		put_bytes(bytes, 5, part.at, part.size); /* function */
		maybe_feed(gzip, bytes);
	}
	buf_release(&part);
	buf_release(&line);
}

static void put_strings(const struct folder *folder, const bool *is_used,
                        const struct folded_header *header, const char *unit, struct gzip *gzip,
                        struct buf *bytes)
{
	const char *event = to_event(header);

	if (!*event)
		event = unit;
	put_bytes(bytes, 6, "", 0);
	put_bytes(bytes, 6, event, strlen(event));
	put_bytes(bytes, 6, strcmp(unit, "samples") ? unit : "count",
	          strcmp(unit, "samples") ? strlen(unit) : 5);
	for (uint32_t name = 0; name < folder->names.nr; name++) {
		struct slice text = strtab_slice(&folder->names, name);

		put_bytes(bytes, 6, text.at, is_used[name] ? text.size : 0);
		maybe_feed(gzip, bytes);
	}
}

static void put_samples(const struct folder *folder, uint64_t scale, bool *is_used,
                        struct gzip *gzip, struct buf *bytes)
{
	struct buf sample = {0}, ids = {0};

	for (uint32_t node = 1; node < folder->nr; node++) {
		weight_fx weight = folder->nodes[node].self;

		if (!weight)
			continue;
		buf_reset(&ids);
		for (uint32_t at = node; at; at = folder->nodes[at].parent) {
			is_used[folder->nodes[at].name] = true;
			put_varint(&ids, (uint64_t)folder->nodes[at].name + 1);
		}
		buf_reset(&sample);
		put_bytes(&sample, 1, ids.at, ids.size);
		buf_reset(&ids);
		put_varint(&ids, (uint64_t)(weight * scale / WEIGHT_ONE));
		put_bytes(&sample, 2, ids.at, ids.size);
		put_bytes(bytes, 2, sample.at, sample.size);
		maybe_feed(gzip, bytes);
	}
	buf_release(&sample);
	buf_release(&ids);
}

static int write_pprof(const struct folder *folder, const struct folded_header *header,
                       struct output *out, struct err *err)
{
	const char *unit = to_unit(header);
	struct gzip gzip = {.out = out};
	struct buf bytes = {0}, part = {0};
	uint64_t scale = 1;
	bool *is_used;

	if (!to_all_whole(folder)) {
		scale = to_unit_ns(unit);
		if (!scale)
			return err_set(err,
			               "pprof holds whole numbers, and these %s have fractions",
			               unit);
		unit = "nanoseconds";
	}
	if (folder->total / WEIGHT_ONE > (weight_fx)(INT64_MAX / scale))
		return err_set(err, "pprof holds numbers below 2^63, and these %s are more", unit);
	if (deflateInit2(&gzip.z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		return err_set(err, "zlib cannot begin to compress");
	is_used = mem_zalloc(folder->names.nr + 1);
	put_number(&part, 1, STRING_EVENT);
	put_number(&part, 2, STRING_UNIT);
	put_bytes(&bytes, 1, part.at, part.size);
	put_samples(folder, scale, is_used, &gzip, &bytes);
	put_tables(folder, is_used, &gzip, &bytes);
	put_strings(folder, is_used, header, unit, &gzip, &bytes);
	gzip_feed(&gzip, &bytes, Z_FINISH);
	deflateEnd(&gzip.z);
	buf_release(&bytes);
	buf_release(&part);
	free(is_used);
	return 0;
}

const struct to_format to_pprof = {
        .name = "pprof",
        .about = "pprof protocol buffer, gzipped: go tool pprof, Pyroscope, Parca",
        .is_binary = true,
        .write = write_pprof,
};
