/*
 * jfr.c - recordings of Java Flight Recorder, by OpenJDK and async-profiler.
 *
 * Values, each from its kinds of event; the first that the file holds is
 * folded without --value:
 *
 *	cpu            samples of threads that ran
 *	cpu-time       nanoseconds of CPU that samples stand for (JDK 25)
 *	wall           samples of all threads (async-profiler); until its version 3
 *	               they are samples as those of cpu, but with a state
 *	native         samples of threads in native methods
 *	alloc          bytes allocated: new TLABs and objects outside of them
 *	alloc-sample   bytes that sampled allocations stand for
 *	malloc, live   bytes of native memory, of objects that stayed (async-profiler)
 *	lock, park, wait, sleep, io
 *	               nanoseconds spent to enter a monitor, parked, in Object.wait,
 *	               asleep, with files and sockets
 *	exceptions     how many were made
 *
 * Source: jfrchunk.h; events: JDK 17, metadata.xml of HotSpot, and
 * async-profiler 3, flightRecorder.cpp and jfrMetadata.cpp.
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/jfrchunk.h"
#include "share/mem.h"

static const struct kind {
	const char *value, *unit, *event;
	const char *weight; /* field, or NULL: 1 each */
	bool is_ticks;
} kinds[] = {
        {"cpu", "samples", "jdk.ExecutionSample", NULL, false},
        {"cpu", "samples", "datadog.ExecutionSample", "weight", false},
        {"cpu-time", "nanoseconds", "jdk.CPUTimeSample", "samplingPeriod", true},
        {"wall", "samples", "profiler.WallClockSample", "samples", false},
        {"wall", "samples", "datadog.MethodSample", "weight", false},
        {"native", "samples", "jdk.NativeMethodSample", NULL, false},
        {"alloc", "bytes", "jdk.ObjectAllocationInNewTLAB", "tlabSize", false},
        {"alloc", "bytes", "jdk.ObjectAllocationOutsideTLAB", "allocationSize", false},
        {"alloc-sample", "bytes", "jdk.ObjectAllocationSample", "weight", false},
        {"alloc-sample", "bytes", "datadog.ObjectSample", "size", false},
        {"malloc", "bytes", "profiler.Malloc", "size", false},
        {"live", "bytes", "profiler.LiveObject", "allocationSize", false},
        {"lock", "nanoseconds", "jdk.JavaMonitorEnter", "duration", true},
        {"park", "nanoseconds", "jdk.ThreadPark", "duration", true},
        {"wait", "nanoseconds", "jdk.JavaMonitorWait", "duration", true},
        {"sleep", "nanoseconds", "jdk.ThreadSleep", "duration", true},
        {"io", "nanoseconds", "jdk.FileRead", "duration", true},
        {"io", "nanoseconds", "jdk.FileWrite", "duration", true},
        {"io", "nanoseconds", "jdk.FileForce", "duration", true},
        {"io", "nanoseconds", "jdk.SocketRead", "duration", true},
        {"io", "nanoseconds", "jdk.SocketWrite", "duration", true},
        {"exceptions", "exceptions", "jdk.JavaExceptionThrow", NULL, false},
};

#define CPU  0 /* indices of kinds */
#define WALL 3

struct trace {
	size_t first, nr; /* names, innermost first */
	bool is_truncated;
};

struct reading {
	struct folder *folder;
	const struct format_options *options;
	struct format_report *report;
	struct jfr_chunk chunk;
	struct trace *traces;
	size_t nr_traces, traces_capacity;
	uint32_t *names;
	size_t nr_names, names_capacity;
	struct idmap trace_ids, method_names, roots; /* of the chunk at hand */
	struct buf text, other;
	bool has_sleepers; /* samples of cpu are such of wall, and some of them of sleepers */
};

static int detect(struct slice head, bool is_all UNUSED)
{
	return head.size >= 4 && memcmp(head.at, JFR_MAGIC, 4) == 0 ? 100 : 0;
}

/* Until JDK 10 "jdk." was "com.oracle.jdk.". */
static struct slice event_name(const struct jfr_class *class)
{
	static const char old[] = "com.oracle.";
	struct slice name = class->name;

	if (slice_starts(name, old)) {
		name.at += sizeof(old) - 1;
		name.size -= sizeof(old) - 1;
	}
	return name;
}

/* ---- names ---- */

/* A field that holds a string: of its own, or of a Symbol in a pool. */
static struct slice text_of(struct reading *reading, const struct jfr_class *class,
                            const char *name, struct jfr_cursor value, struct buf *buf)
{
	const struct jfr_class *symbol;
	const struct jfr_field *field;
	struct jfr_cursor place;
	uint64_t id;

	if (jfr_follow(&reading->chunk, class, name, value, &symbol, &place, &id)) {
		if (symbol->kind == JFR_STRING)
			return jfr_text(&reading->chunk, &place, buf);
		return jfr_find(&reading->chunk, symbol, "string", &place, &field) ?
		               jfr_text(&reading->chunk, &place, buf) :
		               (struct slice){0};
	}
	if (!jfr_find(&reading->chunk, class, name, &value, &field) || field->is_pool)
		return (struct slice){0};
	return jfr_text(&reading->chunk, &value, buf);
}

/* "pkg.Class.method"; native frames have no class, or an empty one. */
static void method_name(struct reading *reading, const struct jfr_class *method,
                        struct jfr_cursor value, struct buf *out)
{
	const struct jfr_class *class;
	struct jfr_cursor place;
	struct slice text;
	uint64_t id;

	if (jfr_follow(&reading->chunk, method, "type", value, &class, &place, &id)) {
		size_t start = out->size;

		text = text_of(reading, class, "name", place, &reading->other);
		buf_add(out, text.at, text.size);
		for (size_t i = start; i < out->size; i++)
			if (out->at[i] == '/')
				out->at[i] = '.';
		if (text.size)
			buf_char(out, '.');
	}
	text = text_of(reading, method, "name", value, &reading->other);
	buf_add(out, text.at, text.size);
}

static const char *mark_of(struct slice type)
{
	return slice_equals(type, "Kernel")       ? "_[k]" :
	       slice_equals(type, "Inlined")      ? "_[i]" :
	       slice_equals(type, "JIT compiled") ? "_[j]" :
	                                            "";
}

static uint32_t frame_name(struct reading *reading, const struct jfr_class *frame,
                           struct jfr_cursor value)
{
	int64_t line = reading->options->srcline ?
	                       jfr_number(&reading->chunk, frame, "lineNumber", value, 0) :
	                       0;
	const struct jfr_class *method, *type;
	struct jfr_cursor place;
	uint64_t method_id, type_id = 0, key;
	struct slice text = {0};
	uint32_t id;

	if (!jfr_follow(&reading->chunk, frame, "method", value, &method, &place, &method_id))
		return folder_name(reading->folder, "[unknown]", 9);
	if (reading->options->annotate) {
		struct jfr_cursor type_place;

		if (jfr_follow(&reading->chunk, frame, "type", value, &type, &type_place, &type_id))
			text = text_of(reading, type, "description", type_place, &reading->text);
	}
	key = hash_u64(method_id, type_id << 32 | (uint32_t)line);
	id = idmap_get(&reading->method_names, key);
	if (id == UINT32_MAX) {
		const char *mark = mark_of(text);
		struct buf name = {0};

		method_name(reading, method, place, &name);
		if (line > 0)
			buf_printf(&name, ":%lld", (long long)line);
		buf_string(&name, mark);
		id = folder_name(reading->folder, name.at, name.size);
		idmap_set(&reading->method_names, key, id);
		buf_release(&name);
	}
	return id;
}

static uint32_t load_trace(struct reading *reading, const struct jfr_class *class,
                           struct jfr_cursor place)
{
	struct jfr_chunk *chunk = &reading->chunk;
	struct trace trace = {.first = reading->nr_names};
	const struct jfr_class *frame;
	const struct jfr_field *field;
	struct jfr_cursor frames = place;

	trace.is_truncated = jfr_number(chunk, class, "truncated", place, 0);
	if (jfr_find(chunk, class, "frames", &frames, &field) && field->is_array &&
	    !field->is_pool && (frame = jfr_class_by_id(chunk, field->type))) {
		uint64_t nr = jfr_int(chunk, &frames, JFR_INT);

		for (; nr && !frames.is_bad && frames.at < frames.end; nr--) {
			uint32_t name = frame_name(reading, frame, frames);

			MEM_GROW(reading->names, reading->nr_names, reading->names_capacity);
			reading->names[reading->nr_names++] = name;
			jfr_skip(chunk, frame, &frames);
		}
	}
	trace.nr = reading->nr_names - trace.first;
	MEM_GROW(reading->traces, reading->nr_traces, reading->traces_capacity);
	reading->traces[reading->nr_traces] = trace;
	return (uint32_t)reading->nr_traces++;
}

/* ---- events ---- */

static uint32_t root_of(struct reading *reading, const struct jfr_class *class,
                        struct jfr_cursor event)
{
	const struct jfr_class *thread;
	struct jfr_cursor place;
	struct slice name;
	uint32_t root;
	uint64_t id;

	if (!jfr_follow(&reading->chunk, class, "sampledThread", event, &thread, &place, &id) &&
	    !jfr_follow(&reading->chunk, class, "eventThread", event, &thread, &place, &id))
		return 0;
	root = idmap_get(&reading->roots, id);
	if (root != UINT32_MAX)
		return root;
	name = text_of(reading, thread, "javaName", place, &reading->text);
	if (!name.size)
		name = text_of(reading, thread, "osName", place, &reading->text);
	root = format_root(reading->folder, reading->options, name.size ? name.at : NULL, name.size,
	                   -1, jfr_number(&reading->chunk, thread, "osThreadId", place, -1));
	idmap_set(&reading->roots, id, root);
	return root;
}

static int fold_event(struct reading *reading, const struct kind *kind,
                      const struct jfr_class *class, struct jfr_cursor event, struct err *err)
{
	struct jfr_chunk *chunk = &reading->chunk;
	uint32_t node = root_of(reading, class, event), index;
	const struct jfr_class *trace_class;
	struct jfr_cursor place;
	weight_fx weight = WEIGHT_ONE;
	uint64_t id;

	if (kind->weight) {
		int64_t value = jfr_number(chunk, class, kind->weight, event, -1);

		if (value < 0) {
			format_bad(reading->report, "%s without a valid %s", kind->event,
			           kind->weight);
			return 0;
		}
		weight = weight_from_u64((uint64_t)value);
		if (kind->is_ticks && chunk->ticks_per_second) /* whole ns */
			weight = weight / chunk->ticks_per_second * WEIGHT_ONE;
	}
	if (jfr_follow(chunk, class, "stackTrace", event, &trace_class, &place, &id)) {
		index = idmap_get(&reading->trace_ids, id);
		if (index == UINT32_MAX) {
			index = load_trace(reading, trace_class, place);
			idmap_set(&reading->trace_ids, id, index);
		}
		if (reading->traces[index].is_truncated)
			node = folder_child(reading->folder, node,
			                    folder_name(reading->folder, "[truncated]", 11));
		for (size_t i = reading->traces[index].nr; i-- > 0;)
			node = folder_child(reading->folder, node,
			                    reading->names[reading->traces[index].first + i]);
	} else {
		node = folder_child(reading->folder, node,
		                    folder_name(reading->folder, "[no stack]", 10));
	}
	return format_count(reading->folder, node, weight, reading->report, err) ? 0 : -1;
}

static bool sleeps(struct reading *reading, const struct jfr_class *class, struct jfr_cursor event)
{
	const struct jfr_class *state;
	struct jfr_cursor place;
	uint64_t id;

	return jfr_follow(&reading->chunk, class, "state", event, &state, &place, &id) &&
	       slice_equals(text_of(reading, state, "name", place, &reading->text),
	                    "STATE_SLEEPING");
}

/* An event of kinds[i]: folded where it is one of value, noted in seen where that is given. */
static int take_event(struct reading *reading, size_t i, const char *value, bool *seen,
                      const struct jfr_class *class, struct jfr_cursor event, struct err *err)
{
	bool is_of_wall = i == CPU && (seen || reading->has_sleepers);
	bool is_sleeper = is_of_wall && sleeps(reading, class, event);

	if (seen) {
		seen[i] = true;
		reading->has_sleepers |= is_sleeper;
		return 0;
	}
	if (is_of_wall && strcmp(value, kinds[WALL].value) == 0)
		return fold_event(reading, &kinds[i], class, event, err);
	if (strcmp(kinds[i].value, value) != 0)
		return 0;
	if (is_sleeper) {
		reading->report->nr_left_out++;
		reading->report->left_out = "samples of threads that slept";
		return 0;
	}
	return fold_event(reading, &kinds[i], class, event, err);
}

static void take_lost(struct reading *reading, const struct jfr_class *class,
                      struct jfr_cursor event)
{
	int64_t nr = jfr_number(&reading->chunk, class, "lostSamples", event, 0);

	reading->report->nr_lost += (uint64_t)MAX_OF(nr, 0);
}

static void forget_chunk(struct reading *reading)
{
	jfr_chunk_close(&reading->chunk);
	idmap_release(&reading->trace_ids);
	idmap_release(&reading->method_names);
	idmap_release(&reading->roots);
	reading->nr_traces = reading->nr_names = 0;
}

/*
 * Walks all events of all chunks. value: the one to fold; NULL to mark in
 * `seen` (by index of kinds) which there are.
 */
static int walk(struct reading *reading, struct slice bytes, const char *value, bool *seen,
                struct err *err)
{
	int result = 0;
	size_t size;

	while (bytes.size && !result) {
		struct jfr_cursor events = {0}, event;
		struct err chunk_err;
		uint64_t type;

		if (jfr_chunk_open(&reading->chunk, bytes, &size, &chunk_err)) {
			if (seen)
				format_bad(reading->report, "%s", chunk_err.text);
			forget_chunk(reading);
			if (!size)
				break;
			bytes.at += size;
			bytes.size -= size;
			continue;
		}
		while (!result && jfr_next_event(&reading->chunk, &events, &type, &event)) {
			const struct jfr_class *class = jfr_class_by_id(&reading->chunk, type);

			if (!class)
				continue;
			for (size_t i = 0; i < ARRAY_SIZE(kinds) && !result; i++)
				if (slice_equals(event_name(class), kinds[i].event))
					result = take_event(reading, i, value, seen, class, event,
					                    err);
			if (value && strcmp(value, "cpu-time") == 0 &&
			    slice_equals(class->name, "jdk.CPUTimeSamplesLost"))
				take_lost(reading, class, event);
		}
		if (events.is_bad && seen)
			format_bad(reading->report, "an event that is longer than its chunk");
		forget_chunk(reading);
		bytes.at += size;
		bytes.size -= size;
	}
	return result;
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header, struct format_report *report, struct err *err)
{
	struct reading reading = {.folder = folder, .options = options, .report = report};
	bool seen[ARRAY_SIZE(kinds)] = {0};
	const char *present[ARRAY_SIZE(kinds)], *unit[ARRAY_SIZE(kinds)];
	struct slice bytes;
	size_t nr = 0, first_choice = 0, value;
	int result;

	if (format_whole(in, &bytes, err))
		return -1;
	result = walk(&reading, bytes, NULL, seen, err);
	seen[WALL] |= reading.has_sleepers;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!seen[i] || (nr && strcmp(present[nr - 1], kinds[i].value) == 0))
			continue;
		if (i == WALL && reading.has_sleepers)
			first_choice = nr;
		present[nr] = kinds[i].value;
		unit[nr++] = kinds[i].unit;
	}
	format_values_note(header, present, nr);
	if (!result && !nr && report->nr_bad)
		result = err_set(err, "%s", report->first_bad);
	if (!result)
		result = format_value(options, present, nr, first_choice, &value, err);
	if (!result && nr) {
		format_unit(report, present[value], unit[value]);
		result = walk(&reading, bytes, present[value], NULL, err);
	}
	free(reading.traces);
	free(reading.names);
	buf_release(&reading.text);
	buf_release(&reading.other);
	return result;
}

const struct format format_jfr = {
        .name = "jfr",
        .about = "Java Flight Recorder; values: cpu, wall, native, alloc, lock, park and others",
        .detect = detect,
        .parse = parse,
};
