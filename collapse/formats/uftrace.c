/*
 * uftrace.c - what uftrace records: TID.dat of a uftrace.data, the function
 * calls of one thread, and the text of `uftrace dump`.
 *
 * Nanoseconds in each function alone. A TID.dat holds addresses; names, program
 * and process come from the files beside it (uftracedir.h), and where those are
 * not there frames are addresses. A call that has no end lasts until the last
 * event of its thread.
 *
 * Source: namhyung/uftrace, libmcount/internal.h and uftrace.h
 * (struct uftrace_record): u64 time, then from the lowest bit on type (2 bits:
 * entry, exit, lost, event), more (1), magic (3, always 5), depth (10),
 * address (48). Text: cmds/dump.c of 0.13, "TIME TID: [entry] NAME(ADDRESS)
 * depth: N" below "reading TID.dat".
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/callers.h"
#include "collapse/formats/idmap.h"
#include "collapse/formats/uftracedir.h"
#include "collapse/names/demangle.h"
#include "share/mem.h"
#include "share/num.h"

#include <endian.h>

#define RECORD_SIZE  16
#define RECORD_MAGIC 5
#define DEPTH_MAX    65536

enum { TYPE_ENTRY, TYPE_EXIT, TYPE_LOST, TYPE_EVENT };

/* ---- one thread, as it goes ---- */

struct open_call {
	uint32_t node;
	uint64_t depth;
};

struct thread {
	struct folder *folder;
	uint32_t root;
	struct open_call *calls;
	size_t nr, capacity;
	uint64_t last; /* time of the event before */
};

/* What went by since the event before belongs to the innermost open call. */
static bool advance(struct thread *thread, uint64_t time)
{
	uint64_t ns = time - thread->last;

	thread->last = time;
	return !thread->nr || folder_count(thread->folder, thread->calls[thread->nr - 1].node,
	                                   weight_from_u64(ns));
}

/* Depth tells what is over, so that a lost event does no harm to those that follow. */
static void leave(struct thread *thread, uint64_t depth)
{
	while (thread->nr && thread->calls[thread->nr - 1].depth >= depth)
		thread->nr--;
}

static void enter(struct thread *thread, uint64_t depth, uint32_t name)
{
	uint32_t node = thread->nr ? thread->calls[thread->nr - 1].node : thread->root;

	MEM_GROW(thread->calls, thread->nr, thread->capacity);
	thread->calls[thread->nr++] =
	        (struct open_call){folder_child(thread->folder, node, name), depth};
}

/* ---- TID.dat ---- */

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
	struct record record = {0};
	size_t nr = 0, nr_skipped = 0;

	while (nr < 64 && head.size >= RECORD_SIZE) {
		uint64_t last = record.time;
		bool had_more = record.has_more;
		size_t step = RECORD_SIZE;

		if (!read_record(head.at, &record) || record.time < last || !record.time) {
			/* arguments of the one before */
			if (!had_more || ++nr_skipped > 16)
				return 0;
			record.time = last;
			record.has_more = true;
			step = 8;
		} else {
			nr++;
			nr_skipped = 0;
		}
		head = slice_from(head, step);
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

struct names {
	struct uftracedir *dir; /* or NULL */
	int session;
	struct folder *folder;
	struct idmap known; /* address -> name in the folder */
	struct buf text;
};

static uint32_t name_at(struct names *names, uint64_t address)
{
	uint32_t id = idmap_get(&names->known, address);
	struct slice name;

	if (id != UINT32_MAX)
		return id;
	buf_reset(&names->text);
	if (names->dir && uftracedir_name(names->dir, names->session, address, &name))
		demangle(name, DEMANGLE_FULL, &names->text);
	else
		buf_printf(&names->text, "0x%llx", (unsigned long long)address);
	id = folder_name(names->folder, names->text.at, names->text.size);
	idmap_set(&names->known, address, id);
	return id;
}

static int replay(struct slice bytes, struct thread *thread, struct names *names,
                  struct format_report *report, struct err *err)
{
	for (size_t offset = 0; bytes.size - offset >= RECORD_SIZE;) {
		struct record record;

		/* arguments, whose length is not told here, are passed over in words */
		if (!read_record(bytes.at + offset, &record) || record.time < thread->last) {
			offset += 8;
			continue;
		}
		offset += RECORD_SIZE;
		if (!advance(thread, record.time))
			return format_too_large(err);
		if (record.type == TYPE_LOST)
			report->nr_lost += record.address;
		if (record.type == TYPE_LOST || record.type == TYPE_EVENT)
			continue;
		leave(thread, record.depth);
		if (record.type == TYPE_ENTRY)
			enter(thread, record.depth, name_at(names, record.address));
		report->nr_samples++;
	}
	return 0;
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header UNUSED, struct format_report *report, struct err *err)
{
	struct thread thread = {.folder = folder};
	struct names names = {.folder = folder, .session = -1};
	int64_t tid = tid_of(input_name(in)), pid = -1;
	struct slice bytes, program = {0};
	struct record first;
	int result;

	if (format_whole(in, &bytes, err))
		return -1;
	format_unit(report, "time", "nanoseconds");
	if (tid >= 0)
		names.dir = uftracedir_open(input_name(in));
	if (names.dir && bytes.size >= RECORD_SIZE) {
		read_record(bytes.at, &first);
		names.session = uftracedir_session(names.dir, (uint64_t)tid, first.time);
		program = uftracedir_program(names.dir, names.session);
		pid = uftracedir_pid(names.dir, (uint64_t)tid);
	}
	thread.root = format_root(folder, options, program.at, program.size, pid, tid);
	result = replay(bytes, &thread, &names, report, err);
	uftracedir_close(names.dir);
	idmap_release(&names.known);
	buf_release(&names.text);
	free(thread.calls);
	return result;
}

const struct format format_uftrace = {
        .name = "uftrace",
        .about = "uftrace recordings: a uftrace.data directory, or TID.dat in it",
        .detect = detect,
        .parse = parse,
};

/* ---- uftrace dump ---- */

static int detect_dump(struct slice head, bool is_all UNUSED)
{
	return slice_starts(head, "uftrace file header: magic") ||
	                       (head_has(head, "reading ") && head_has(head, ": [entry] ") &&
	                        head_has(head, " depth: ")) ?
	               95 :
	               0;
}

struct dump {
	struct format_report *report;
	struct thread thread;
	const struct format_options *options;
	bool is_skipped; /* not a thread's part: perf and kernel events */
	struct buf name;
	uint64_t line;
};

static int bad(struct dump *dump, struct slice line)
{
	format_bad(dump->report, "line %llu: it is no event of a uftrace dump: %.*s",
	           (unsigned long long)dump->line, (int)MIN_OF(line.size, (size_t)100), line.at);
	return 0;
}

/* "reading 11024.dat" */
static void begin_part(struct dump *dump, struct slice file)
{
	struct slice digits = {file.at, slice_find(file, ".dat")};
	struct thread *thread = &dump->thread;
	uint64_t tid;

	thread->nr = 0;
	thread->last = 0;
	dump->is_skipped = num_parse_u64(digits.at, digits.size, &tid) != 0 || tid > INT32_MAX;
	if (!dump->is_skipped)
		thread->root =
		        format_root(thread->folder, dump->options, NULL, 0, -1, (int64_t)tid);
}

/* Digits up to the first that is none. */
static bool take_number(struct slice *text, uint64_t *value)
{
	size_t size = 0;

	*text = slice_trim(*text);
	while (size < text->size && text->at[size] >= '0' && text->at[size] <= '9')
		size++;
	if (num_parse_u64(text->at, size, value))
		return false;
	*text = slice_from(*text, size);
	return true;
}

/* "16411.791209666  11024: [entry] main(556b7fffb2e9) depth: 0" */
static int take_event(struct dump *dump, struct slice line, struct err *err)
{
	size_t at = slice_find(line, ": [");
	struct slice rest = line, kind, name, depth_text;
	struct thread *thread = &dump->thread;
	uint64_t seconds, ns, tid, depth;
	const char *bracket, *colon;

	if (at == line.size || !take_number(&rest, &seconds) || !slice_starts(rest, "."))
		return bad(dump, line);
	rest = slice_from(rest, 1);
	if (!take_number(&rest, &ns) || ns >= 1000000000 || seconds > UINT32_MAX ||
	    !take_number(&rest, &tid) || !slice_starts(rest, ": ["))
		return bad(dump, line);
	ns += seconds * 1000000000;
	kind = slice_from(rest, 3);
	kind.size = MIN_OF(kind.size, (size_t)5);
	rest = slice_from(rest, 10);
	if (slice_equals(kind, "lost "))
		dump->report->nr_lost++;
	if (!slice_equals(kind, "entry") && !slice_equals(kind, "exit "))
		return 0;
	bracket = rest.size ? memrchr(rest.at, '(', rest.size) : NULL;
	colon = rest.size ? memrchr(rest.at, ':', rest.size) : NULL;
	if (!bracket || !colon || colon < bracket)
		return bad(dump, line);
	depth_text = slice_from(rest, (size_t)(colon + 1 - rest.at));
	name = (struct slice){rest.at, (size_t)(bracket - rest.at)};
	if (!take_number(&depth_text, &depth) || depth > DEPTH_MAX || ns < thread->last)
		return bad(dump, line);
	if (!advance(thread, ns))
		return format_too_large(err);
	leave(thread, depth);
	dump->report->nr_samples++;
	if (*kind.at == 'e' && kind.at[1] == 'n') {
		demangle(name, DEMANGLE_FULL, &dump->name);
		enter(thread, depth, folder_name(thread->folder, dump->name.at, dump->name.size));
	}
	return 0;
}

static int parse_dump(struct input *in, struct folder *folder, const struct format_options *options,
                      struct folded_header *header UNUSED, struct format_report *report,
                      struct err *err)
{
	struct dump dump = {.report = report, .thread.folder = folder, .options = options};
	struct slice line;
	int rc;

	format_unit(report, "time", "nanoseconds");
	while ((rc = input_line(in, &line, err)) > 0) {
		dump.line = input_line_number(in);
		if (slice_starts(line, "reading "))
			begin_part(&dump, slice_from(line, 8));
		/* the header, and arguments and fields of events, which are indented */
		else if (line.size && *line.at >= '0' && *line.at <= '9' && !dump.is_skipped &&
		         (rc = take_event(&dump, line, err)) < 0)
			break;
	}
	free(dump.thread.calls);
	buf_release(&dump.name);
	return rc;
}

const struct format format_uftrace_dump = {
        .name = "uftrace-dump",
        .about = "text of uftrace dump",
        .detect = detect_dump,
        .parse = parse_dump,
};
