/*
 * uftrace.c - the function calls of one thread, NNN.dat of a uftrace.data.
 *
 * Nanoseconds in each function. One such file holds addresses; names come
 * from the directory's *.map and *.sym files, which `uftrace dump` or `uftrace
 * script` join: here frames are addresses.
 *
 * Source: namhyung/uftrace, libmcount/internal.h and uftrace.h
 * (struct uftrace_record): u64 time, then from the lowest bit on type (2 bits:
 * entry, exit, lost, event), more (1), magic (3, always 5), depth (10),
 * address (48).
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/spans.h"

#include <endian.h>

#define RECORD_SIZE  16
#define RECORD_MAGIC 5

enum { TYPE_ENTRY, TYPE_EXIT, TYPE_LOST, TYPE_EVENT };

struct record {
	uint64_t time, address;
	unsigned type, depth;
	bool has_more; /* arguments follow, of a length told elsewhere */
};

static bool read_record(const char *at, struct record *record)
{
	uint64_t word;

	memcpy(&record->time, at, 8);
	memcpy(&word, at + 8, 8);
	record->time = le64toh(record->time);
	word = le64toh(word);
	record->type = word & 3;
	record->has_more = word >> 2 & 1;
	record->depth = word >> 6 & 0x3ff;
	record->address = word >> 16;
	return (word >> 3 & 7) == RECORD_MAGIC;
}

static int detect(struct slice head, bool is_all)
{
	struct record record;
	uint64_t last = 0;
	size_t nr = 0;

	for (; nr < 64 && head.size >= RECORD_SIZE; nr++) {
		if (!read_record(head.at, &record) || record.time < last || !record.time)
			return 0;
		last = record.time;
		if (record.has_more)
			break;
		head.at += RECORD_SIZE;
		head.size -= RECORD_SIZE;
	}
	return nr >= 8 || (nr >= 2 && is_all && !head.size) ? 60 : 0;
}

/* "…/63010.dat" -> 63010, else -1 */
static int64_t tid_of(const char *name)
{
	const char *slash = strrchr(name, '/');
	int64_t tid = 0;

	name = slash ? slash + 1 : name;
	if (*name < '0' || *name > '9')
		return -1;
	for (; *name >= '0' && *name <= '9' && tid < INT32_MAX; name++)
		tid = tid * 10 + (*name - '0');
	return strcmp(name, ".dat") == 0 ? tid : -1;
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header UNUSED, struct format_report *report, struct err *err)
{
	struct spans spans = {0};
	struct slice bytes;
	uint32_t thread;
	uint64_t last = 0;
	size_t offset = 0;
	int result = 0;

	if (format_whole(in, &bytes, err))
		return -1;
	format_unit(report, "time", "nanoseconds");
	thread = spans_thread(&spans,
	                      format_root(folder, options, NULL, 0, -1, tid_of(input_name(in))));
	while (bytes.size - offset >= RECORD_SIZE) {
		struct record record;
		char text[32];
		int size;

		/* arguments, whose length is not told here, are passed over in words */
		if (!read_record(bytes.at + offset, &record) || record.time < last) {
			offset += 8;
			continue;
		}
		offset += RECORD_SIZE;
		last = record.time;
		if (record.type == TYPE_LOST) {
			report->nr_lost += record.address;
			continue;
		}
		if (record.type == TYPE_EVENT)
			continue;
		size = snprintf(text, sizeof(text), "0x%llx", (unsigned long long)record.address);
		spans_event(&spans, thread, record.type == TYPE_ENTRY ? SPAN_BEGIN : SPAN_END,
		            folder_name(folder, text, (size_t)size),
		            (__int128)weight_from_u64(record.time));
		report->nr_samples++;
	}
	if (!spans_fold(&spans, folder))
		result = format_too_large(err);
	spans_release(&spans);
	return result;
}

const struct format format_uftrace = {
        .name = "uftrace",
        .about = "uftrace recording of one thread (TID.dat): addresses only",
        .detect = detect,
        .parse = parse,
};
