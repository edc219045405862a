/*
 * simpleperf.c - protocol buffers that simpleperf's report-sample writes.
 *
 * Values: samples, events (the event counts of samples). --event picks an
 * event, the first otherwise. Names stand in File records, which may follow
 * the samples that need them: the file is walked twice.
 *
 * Source: Android, system/extras/simpleperf/cmd_report_sample.proto: "SIMPLEPERF",
 * u16 version, then u32 size and a Record each, a size of 0 ends the list.
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/idmap.h"
#include "collapse/formats/proto.h"
#include "share/mem.h"

#include <endian.h>

#define MAGIC       "SIMPLEPERF"
#define HEADER_SIZE 12
#define NO_SYMBOL   (-1)
#define MAX_EVENTS  64

enum { RECORD_SAMPLE = 1, RECORD_LOST = 2, RECORD_FILE = 3, RECORD_THREAD = 4, RECORD_META = 5 };

struct file {
	struct slice path;
	uint32_t *symbols; /* name ids */
	size_t nr, capacity;
};

struct reading {
	struct folder *folder;
	const struct format_options *options;
	struct format_report *report;
	struct file *files;
	size_t nr_files, files_capacity;
	struct idmap file_ids, thread_names, thread_pids;
	struct slice events[MAX_EVENTS];
	uint32_t nr_events;
};

static int detect(struct slice head, bool is_all UNUSED)
{
	return slice_starts(head, MAGIC) ? 100 : 0;
}

/* The next record: its kind and content; false at the end. */
static bool next_record(struct slice *rest, uint32_t *kind, struct slice *record,
                        struct format_report *report)
{
	struct proto_field field;
	struct proto proto;
	uint32_t size;

	if (rest->size < 4) {
		if (report)
			format_bad(report, "the file ends without its end mark");
		return false;
	}
	memcpy(&size, rest->at, 4);
	size = le32toh(size);
	if (!size)
		return false;
	if (size > rest->size - 4) {
		if (report)
			format_bad(report, "the file is cut inside of a record");
		return false;
	}
	*kind = 0;
	proto = proto_of((struct slice){rest->at + 4, size});
	if (proto_next(&proto, &field) && field.wire == 2) {
		*kind = field.number;
		*record = field.bytes;
	}
	rest->at += 4 + size;
	rest->size -= 4 + size;
	return true;
}

static void take_file(struct reading *reading, struct slice record)
{
	struct proto proto = proto_of(record);
	struct file file = {.path = {"", 0}};
	struct proto_field field;
	uint64_t id = 0;

	while (proto_next(&proto, &field)) {
		if (field.number == 1) {
			id = field.value;
		} else if (field.number == 2) {
			file.path = field.bytes;
		} else if (field.number == 3) {
			MEM_GROW(file.symbols, file.nr, file.capacity);
			file.symbols[file.nr++] =
			        folder_name(reading->folder, field.bytes.at, field.bytes.size);
		}
	}
	idmap_set(&reading->file_ids, id, (uint32_t)reading->nr_files);
	MEM_GROW(reading->files, reading->nr_files, reading->files_capacity);
	reading->files[reading->nr_files++] = file;
}

static void take_thread(struct reading *reading, struct slice record)
{
	struct proto proto = proto_of(record);
	struct slice name = {"", 0};
	struct proto_field field;
	uint64_t tid = 0, pid = 0;

	while (proto_next(&proto, &field)) {
		if (field.number == 1)
			tid = field.value;
		else if (field.number == 2)
			pid = field.value;
		else if (field.number == 3)
			name = field.bytes;
	}
	idmap_set(&reading->thread_names, tid, folder_name(reading->folder, name.at, name.size));
	idmap_set(&reading->thread_pids, tid, (uint32_t)(pid & INT32_MAX));
}

static void take_lost(struct reading *reading, struct slice record)
{
	struct proto proto = proto_of(record);
	struct proto_field field;

	while (proto_next(&proto, &field))
		if (field.number == 2)
			reading->report->nr_lost += field.value;
}

static void take_meta(struct reading *reading, struct slice record)
{
	struct proto proto = proto_of(record);
	struct proto_field field;

	while (proto_next(&proto, &field))
		if (field.number == 1 && reading->nr_events < MAX_EVENTS)
			reading->events[reading->nr_events++] = field.bytes;
}

/* ---- samples ---- */

static uint32_t frame_name(const struct reading *reading, struct slice bytes)
{
	struct proto proto = proto_of(bytes);
	struct proto_field field;
	uint64_t vaddr = 0, file_id = 0;
	int64_t symbol = NO_SYMBOL;
	const struct file *file;
	const char *slash;
	char text[300];
	uint32_t index;
	int size;

	while (proto_next(&proto, &field)) {
		if (field.number == 1)
			vaddr = field.value;
		else if (field.number == 2)
			file_id = field.value;
		else if (field.number == 3)
			symbol = (int32_t)field.value;
	}
	index = idmap_get(&reading->file_ids, file_id);
	if (index == UINT32_MAX)
		return folder_name(reading->folder, "[unknown]", 9);
	file = &reading->files[index];
	if (symbol >= 0 && (uint64_t)symbol < file->nr)
		return file->symbols[symbol];
	slash = file->path.size ? memrchr(file->path.at, '/', file->path.size) : NULL;
	slash = slash ? slash + 1 : file->path.at;
	size = snprintf(text, sizeof(text), "%.*s+0x%llx",
	                (int)MIN_OF(file->path.at + file->path.size - slash, 255), slash,
	                (unsigned long long)vaddr);
	return folder_name(reading->folder, text, (size_t)size);
}

struct sample {
	struct slice *chain; /* innermost first */
	size_t nr, capacity;
	uint64_t tid, count, event;
};

static void take_sample(struct slice record, struct sample *sample)
{
	struct proto proto = proto_of(record);
	struct proto_field field;

	sample->nr = 0;
	sample->tid = sample->count = sample->event = 0;
	while (proto_next(&proto, &field)) {
		if (field.number == 2) {
			sample->tid = field.value;
		} else if (field.number == 3 && field.wire == 2) {
			MEM_GROW(sample->chain, sample->nr, sample->capacity);
			sample->chain[sample->nr++] = field.bytes;
		} else if (field.number == 4) {
			sample->count = field.value;
		} else if (field.number == 5) {
			sample->event = field.value;
		}
	}
}

static bool is_wanted(const struct reading *reading, uint64_t event)
{
	const char *const *wanted = reading->options->events;

	if (reading->options->all_events)
		return true;
	if (!wanted || !*wanted)
		return event == 0;
	for (; *wanted; wanted++)
		if (event < reading->nr_events && slice_equals(reading->events[event], *wanted))
			return true;
	return false;
}

static int fold_sample(struct reading *reading, const struct sample *sample, bool by_count,
                       struct err *err)
{
	uint32_t index = idmap_get(&reading->thread_names, sample->tid);
	uint32_t pid = idmap_get(&reading->thread_pids, sample->tid);
	struct slice comm = {0};
	uint32_t node;

	if (index != UINT32_MAX)
		comm = strtab_slice(&reading->folder->names, index);
	node = format_root(reading->folder, reading->options, comm.at, comm.size,
	                   pid == UINT32_MAX ? -1 : (int64_t)pid, (int32_t)sample->tid);
	if (reading->options->all_events && sample->event < reading->nr_events) {
		struct slice event = reading->events[sample->event];

		node = folder_child(reading->folder, node,
		                    folder_name(reading->folder, event.at, event.size));
	}
	for (size_t i = sample->nr; i-- > 0;)
		node = folder_child(reading->folder, node, frame_name(reading, sample->chain[i]));
	if (!sample->nr)
		node = folder_child(reading->folder, node,
		                    folder_name(reading->folder, "[no stack]", 10));
	return format_count(reading->folder, node,
	                    by_count ? weight_from_u64(sample->count) : WEIGHT_ONE, reading->report,
	                    err) ?
	               0 :
	               -1;
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header, struct format_report *report, struct err *err)
{
	static const char *const values[] = {"samples", "events"};
	struct reading reading = {.folder = folder, .options = options, .report = report};
	struct slice bytes, rest, record = {0};
	struct sample sample = {0};
	uint32_t kind;
	size_t value;
	int result = 0;

	if (format_value(options, values, ARRAY_SIZE(values), options->count != COUNT_SAMPLES,
	                 &value, err) ||
	    format_whole(in, &bytes, err))
		return -1;
	if (bytes.size < HEADER_SIZE)
		return err_set(err, "the file is cut in its header");
	format_values_note(header, values, ARRAY_SIZE(values));
	bytes.at += HEADER_SIZE;
	bytes.size -= HEADER_SIZE;
	for (rest = bytes; next_record(&rest, &kind, &record, report);) {
		if (kind == RECORD_FILE)
			take_file(&reading, record);
		else if (kind == RECORD_THREAD)
			take_thread(&reading, record);
		else if (kind == RECORD_LOST)
			take_lost(&reading, record);
		else if (kind == RECORD_META)
			take_meta(&reading, record);
	}
	for (rest = bytes; !result && next_record(&rest, &kind, &record, NULL);) {
		if (kind != RECORD_SAMPLE)
			continue;
		take_sample(record, &sample);
		if (is_wanted(&reading, sample.event))
			result = fold_sample(&reading, &sample, value, err);
		else
			report->nr_left_out++;
	}
	format_unit(report, "", value ? "events" : "samples");
	if (reading.nr_events && !options->events)
		snprintf(report->event, sizeof(report->event), "%.*s",
		         (int)MIN_OF(reading.events[0].size, 60), reading.events[0].at);
	for (size_t i = 0; i < reading.nr_files; i++)
		free(reading.files[i].symbols);
	free(reading.files);
	free(sample.chain);
	idmap_release(&reading.file_ids);
	idmap_release(&reading.thread_names);
	idmap_release(&reading.thread_pids);
	return result;
}

const struct format format_simpleperf = {
        .name = "simpleperf",
        .about = "simpleperf report-sample protocol buffer; values: samples, events",
        .detect = detect,
        .parse = parse,
};
