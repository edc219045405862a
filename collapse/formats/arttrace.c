/*
 * arttrace.c - method traces of Android's ART (Debug.startMethodTracing).
 *
 * Values: wall, cpu (microseconds); those that the trace's clock recorded.
 *
 * Source: Android, art/runtime/trace.cc: text sections *version, *threads,
 * *methods, *end, then "SLOW", u16 version, u16 offset of the records, u64
 * start; version 3 adds u16 size of a record. A record: u16 thread, u32
 * method with the action in its low two bits (0 entered, 1 left, 2 unwound),
 * u32 microseconds, with the dual clock first of CPU time, then of wall time.
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/idmap.h"
#include "collapse/formats/spans.h"
#include "share/num.h"

#define MAX_TABS 6

struct reading {
	struct folder *folder;
	const struct format_options *options;
	struct format_report *report;
	struct idmap methods, names, threads; /* names: of threads */
	struct spans spans;
	bool is_dual, is_cpu_only;
	int64_t pid;
};

static int detect(struct slice head, bool is_all UNUSED)
{
	return slice_starts(head, "*version\n") && head_has(head, "clock=") ? 98 : 0;
}

static size_t split(struct slice line, struct slice *parts)
{
	size_t nr = 0;

	while (nr < MAX_TABS) {
		const char *tab = memchr(line.at, '\t', line.size);
		size_t size = tab ? (size_t)(tab - line.at) : line.size;

		parts[nr++] = (struct slice){line.at, size};
		if (!tab)
			break;
		line.at += size + 1;
		line.size -= size + 1;
	}
	return nr;
}

static void take_thread(struct reading *reading, struct slice line)
{
	struct slice parts[MAX_TABS];
	uint64_t tid;

	if (split(line, parts) < 2 || num_parse_u64(parts[0].at, parts[0].size, &tid))
		return;
	idmap_set(&reading->names, tid & 0xffff,
	          folder_name(reading->folder, parts[1].at, parts[1].size));
}

/* ID, class, method, signature, file[, line] */
static void take_method(struct reading *reading, struct slice line)
{
	struct slice parts[MAX_TABS];
	struct buf name = {0};
	uint64_t id;

	if (split(line, parts) < 3 || num_parse_hex(parts[0].at, parts[0].size, &id))
		return;
	buf_add(&name, parts[1].at, parts[1].size);
	buf_char(&name, '.');
	buf_add(&name, parts[2].at, parts[2].size);
	for (size_t i = 0; i < name.size; i++)
		if (name.at[i] == '/')
			name.at[i] = '.';
	idmap_set(&reading->methods, id & ~(uint64_t)3,
	          folder_name(reading->folder, name.at, name.size));
	buf_release(&name);
}

/* Takes the text up to "*end"; *rest is what follows. False where that is missing. */
static bool take_text(struct reading *reading, struct slice *rest)
{
	enum { NONE, VERSION, THREADS, METHODS } section = NONE;

	while (rest->size) {
		const char *end = memchr(rest->at, '\n', rest->size);
		struct slice line = {rest->at, end ? (size_t)(end - rest->at) : rest->size};

		rest->at += line.size + (end != NULL);
		rest->size -= line.size + (end != NULL);
		if (slice_equals(line, "*end"))
			return true;
		if (line.size && line.at[0] == '*')
			section = slice_equals(line, "*version") ? VERSION :
			          slice_equals(line, "*threads") ? THREADS :
			          slice_equals(line, "*methods") ? METHODS :
			                                           NONE;
		else if (section == THREADS)
			take_thread(reading, line);
		else if (section == METHODS)
			take_method(reading, line);
		else if (slice_equals(line, "clock=dual"))
			reading->is_dual = true;
		else if (slice_starts(line, "clock=thread-cpu"))
			reading->is_cpu_only = true;
		else if (slice_starts(line, "pid="))
			for (size_t i = 4;
			     i < line.size && i < 14 && line.at[i] >= '0' && line.at[i] <= '9'; i++)
				reading->pid = (i > 4 ? reading->pid * 10 : 0) + line.at[i] - '0';
	}
	return false;
}

static uint64_t little_endian(const char *at, size_t size)
{
	uint64_t v = 0;

	for (size_t i = size; i-- > 0;)
		v = v << 8 | (uint8_t)at[i];
	return v;
}

static uint32_t thread_of(struct reading *reading, uint64_t tid)
{
	uint32_t thread = idmap_get(&reading->threads, tid), name;
	struct slice comm = {0};

	if (thread != UINT32_MAX)
		return thread;
	name = idmap_get(&reading->names, tid);
	if (name != UINT32_MAX)
		comm = strtab_slice(&reading->folder->names, name);
	thread = spans_thread(&reading->spans,
	                      format_root(reading->folder, reading->options, comm.at, comm.size,
	                                  reading->pid, (int64_t)tid));
	idmap_set(&reading->threads, tid, thread);
	return thread;
}

static void take_record(struct reading *reading, const char *at, size_t time_at)
{
	uint64_t tid = little_endian(at, 2), method = little_endian(at + 2, 4);
	uint32_t name = idmap_get(&reading->methods, method & ~(uint64_t)3);
	bool is_begin = (method & 3) == 0;

	if (name == UINT32_MAX) {
		char text[32];
		int size = snprintf(text, sizeof(text), "method 0x%llx",
		                    (unsigned long long)(method & ~(uint64_t)3));

		name = folder_name(reading->folder, text, (size_t)size);
	}
	spans_event(&reading->spans, thread_of(reading, tid), is_begin ? SPAN_BEGIN : SPAN_END,
	            name, (__int128)weight_from_u64(little_endian(at + time_at, 4)));
	reading->report->nr_samples++;
}

static int take_records(struct reading *reading, struct slice rest, bool is_cpu, struct err *err)
{
	size_t size = reading->is_dual ? 14 : 10, offset;
	uint64_t version;

	if (rest.size < 16 || memcmp(rest.at, "SLOW", 4) != 0)
		return err_set(err, "no records behind the text of a method trace");
	version = little_endian(rest.at + 4, 2);
	offset = (size_t)little_endian(rest.at + 6, 2);
	if (version < 2 || version > 3)
		return err_set(err, "method traces of version 2 and 3 are read, this is %llu",
		               (unsigned long long)version);
	if (version == 3 && rest.size >= 18)
		size = MAX_OF(size, (size_t)little_endian(rest.at + 16, 2));
	if (offset > rest.size)
		offset = rest.size;
	rest.at += offset;
	rest.size -= offset;
	for (; rest.size >= size; rest.at += size, rest.size -= size)
		take_record(reading, rest.at, reading->is_dual && !is_cpu ? 10 : 6);
	if (rest.size)
		format_bad(reading->report, "the file is cut inside of a record");
	return spans_fold(&reading->spans, reading->folder) ? 0 : format_too_large(err);
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header, struct format_report *report, struct err *err)
{
	struct reading reading = {
	        .folder = folder, .options = options, .report = report, .pid = -1};
	static const char *const names[] = {"wall", "cpu"};
	const char *present[2];
	struct slice rest;
	size_t value = 0, nr = 0;
	int result = -1;

	if (format_whole(in, &rest, err))
		return -1;
	if (!take_text(&reading, &rest)) {
		err_set(err, "a method trace without its end mark: no records");
	} else {
		if (!reading.is_cpu_only)
			present[nr++] = names[0];
		if (reading.is_dual || reading.is_cpu_only)
			present[nr++] = names[1];
		format_values_note(header, present, nr);
		result = format_value(options, present, nr, 0, &value, err);
	}
	if (!result) {
		format_unit(report, present[value], "microseconds");
		result = take_records(&reading, rest, present[value] == names[1], err);
	}
	spans_release(&reading.spans);
	idmap_release(&reading.methods);
	idmap_release(&reading.names);
	idmap_release(&reading.threads);
	return result;
}

const struct format format_art_trace = {
        .name = "art-trace",
        .about = "method trace of Android's ART; values: wall, cpu",
        .detect = detect,
        .parse = parse,
};
