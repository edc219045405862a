/*
 * mojo.c - austin's binary format.
 *
 * Values: time (microseconds), memory (bytes that were allocated; what was
 * freed is left out). Threads are root frames by their id.
 *
 * Stacks of suspended asyncio tasks, whose time is that of what came before,
 * are left out.
 *
 * Source: P403n1x87/austin, "MOJO File Format" (wiki) and src/mojo.h, versions
 * 1 to 4: "MOJ", version, events. Integers carry their sign in bit 6 of the
 * first byte and go on while bit 7 is set, least significant bits first.
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/idmap.h"
#include "share/mem.h"

enum {
	MOJO_METADATA = 1,
	MOJO_STACK,
	MOJO_FRAME,
	MOJO_FRAME_INVALID,
	MOJO_FRAME_REF,
	MOJO_FRAME_KERNEL,
	MOJO_GC,
	MOJO_IDLE,
	MOJO_TIME,
	MOJO_MEMORY,
	MOJO_STRING,
	MOJO_STRING_REF,
	MOJO_STACK_REPEAT, /* the frames of the thread's sample before */
	MOJO_TASK_STACK,
	MOJO_TASK_WAITER,
};

struct mojo {
	struct folder *folder;
	const struct format_options *options;
	struct format_report *report;
	const uint8_t *at, *end, *start;
	bool is_bad;
	int64_t version;
	struct idmap strings, frames; /* key -> name id; both per process */
	struct idmap last;            /* thread -> node of its last frame */
	uint64_t pid, thread;
	uint32_t node; /* of the stack that is being read */
	bool has_stack, is_task;
};

static int detect(struct slice head, bool is_all UNUSED)
{
	return head.size > 4 && memcmp(head.at, "MOJ", 3) == 0 && head.at[3] >= 1 &&
	                       head.at[3] <= 4 ?
	               98 :
	               0;
}

static int64_t number(struct mojo *mojo)
{
	uint64_t value = 0;
	bool is_negative = false;

	for (unsigned shift = 0; shift < 70; shift += shift ? 7 : 6) {
		uint8_t byte;

		if (mojo->at == mojo->end)
			break;
		byte = *mojo->at++;
		if (!shift)
			is_negative = byte & 0x40;
		if (shift < 64)
			value |= (uint64_t)(byte & (shift ? 0x7f : 0x3f)) << shift;
		if (byte < 0x80)
			return is_negative ? -(int64_t)(value & INT64_MAX) :
			                     (int64_t)(value & INT64_MAX);
	}
	mojo->is_bad = true;
	return 0;
}

static struct slice text(struct mojo *mojo)
{
	const char *at = (const char *)mojo->at;
	const uint8_t *nul = memchr(mojo->at, 0, (size_t)(mojo->end - mojo->at));

	if (!nul) {
		mojo->is_bad = true;
		return (struct slice){"", 0};
	}
	mojo->at = nul + 1;
	return (struct slice){at, (size_t)((const char *)nul - at)};
}

/* Keys count within their process. */
static uint64_t key_of(const struct mojo *mojo, int64_t key)
{
	return hash_u64(mojo->pid, (uint64_t)key);
}

static void push(struct mojo *mojo, const char *name, size_t size)
{
	mojo->node = folder_child(mojo->folder, mojo->node, folder_name(mojo->folder, name, size));
}

static void take_stack(struct mojo *mojo)
{
	struct slice thread;
	char name[80];
	int size;

	mojo->pid = (uint64_t)number(mojo);
	mojo->thread = mojo->version >= 3 ? (uint64_t)number(mojo) : 0; /* interpreter */
	thread = text(mojo);
	mojo->thread =
	        hash_u64(key_of(mojo, (int64_t)mojo->thread), hash_bytes(thread.at, thread.size));
	size = snprintf(name, sizeof(name), "thread %.*s", (int)MIN_OF(thread.size, 60), thread.at);
	mojo->node = format_root(mojo->folder, mojo->options, name, (size_t)size,
	                         (int64_t)mojo->pid, -1);
	mojo->has_stack = true;
	mojo->is_task = false;
}

/* What has frames is remembered by its thread. */
static void enter(struct mojo *mojo, uint32_t name)
{
	mojo->node = folder_child(mojo->folder, mojo->node, name);
	if (mojo->has_stack && !mojo->is_task)
		idmap_set(&mojo->last, mojo->thread, mojo->node);
}

static void repeat_stack(struct mojo *mojo)
{
	uint32_t node = idmap_get(&mojo->last, mojo->thread);

	if (node != UINT32_MAX)
		mojo->node = node;
	else if (!mojo->is_bad)
		format_bad(mojo->report, "offset %zu: it repeats a stack that never was",
		           (size_t)(mojo->at - mojo->start));
}

static void take_frame(struct mojo *mojo)
{
	int64_t key = number(mojo), file = number(mojo), scope = number(mojo), line = number(mojo);
	uint32_t scope_id = idmap_get(&mojo->strings, key_of(mojo, scope));
	uint32_t file_id = idmap_get(&mojo->strings, key_of(mojo, file));
	struct buf name = {0};

	if (mojo->version >= 2) { /* end line, column, end column */
		number(mojo);
		number(mojo);
		number(mojo);
	}
	if (scope_id == UINT32_MAX)
		buf_string(&name, scope == 1 ? "[unknown]" : "[missing]");
	else
		buf_string(&name, strtab_text(&mojo->folder->names, scope_id));
	if (mojo->options->srcline && file_id != UINT32_MAX)
		buf_printf(&name, " %s:%lld", strtab_text(&mojo->folder->names, file_id),
		           (long long)line);
	idmap_set(&mojo->frames, key_of(mojo, key), folder_name(mojo->folder, name.at, name.size));
	buf_release(&name);
}

static int take_metric(struct mojo *mojo, bool is_wanted, struct err *err)
{
	int64_t value = number(mojo);

	if (mojo->is_task) {
		mojo->report->nr_left_out++;
		mojo->report->left_out = "stacks of suspended tasks";
		return 0;
	}
	if (mojo->is_bad || !is_wanted)
		return 0;
	if (!mojo->has_stack) {
		format_bad(mojo->report, "offset %zu: a measurement without a stack",
		           (size_t)(mojo->at - mojo->start));
		return 0;
	}
	if (value < 0) { /* memory that was given back */
		mojo->report->nr_left_out++;
		mojo->report->left_out = "measurements of freed memory";
		return 0;
	}
	return format_count(mojo->folder, mojo->node, weight_from_u64((uint64_t)value),
	                    mojo->report, err) ?
	               0 :
	               -1;
}

static int take_event(struct mojo *mojo, bool is_memory, struct folded_header *header,
                      struct err *err)
{
	struct slice name;
	uint32_t id;
	int64_t key;

	switch (*mojo->at++) {
	case MOJO_METADATA:
		name = text(mojo);
		if (slice_equals(name, "mode"))
			folded_header_set(header, "mode", "%s", text(mojo).at);
		else
			text(mojo);
		break;
	case MOJO_STACK:
		take_stack(mojo);
		break;
	case MOJO_FRAME:
		take_frame(mojo);
		break;
	case MOJO_FRAME_REF:
		id = idmap_get(&mojo->frames, key_of(mojo, number(mojo)));
		if (id == UINT32_MAX)
			id = folder_name(mojo->folder, "[unknown]", 9);
		enter(mojo, id);
		break;
	case MOJO_FRAME_INVALID:
		push(mojo, "[invalid]", 9);
		break;
	case MOJO_FRAME_KERNEL: {
		struct buf marked = {0};

		name = text(mojo);
		buf_add(&marked, name.at, name.size);
		buf_string(&marked, mojo->options->annotate ? "_[k]" : "");
		push(mojo, marked.at, marked.size);
		buf_release(&marked);
		break;
	}
	case MOJO_GC:
		push(mojo, "[gc]", 4);
		break;
	case MOJO_IDLE:
		push(mojo, "[idle]", 6);
		break;
	case MOJO_TIME:
		return take_metric(mojo, !is_memory, err);
	case MOJO_MEMORY:
		return take_metric(mojo, is_memory, err);
	case MOJO_STRING:
		key = number(mojo);
		name = text(mojo);
		idmap_set(&mojo->strings, key_of(mojo, key),
		          folder_name(mojo->folder, name.at, name.size));
		break;
	case MOJO_STRING_REF:
		number(mojo);
		break;
	case MOJO_STACK_REPEAT:
		repeat_stack(mojo);
		break;
	case MOJO_TASK_STACK:
		mojo->is_task = true;
		number(mojo);
		number(mojo);
		break;
	case MOJO_TASK_WAITER:
		number(mojo);
		number(mojo);
		break;
	default:
		mojo->is_bad = true;
	}
	return 0;
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header, struct format_report *report, struct err *err)
{
	static const char *const values[] = {"time", "memory"};
	struct mojo mojo = {.folder = folder, .options = options, .report = report};
	struct slice bytes;
	size_t value;
	int result = 0;

	if (format_value(options, values, ARRAY_SIZE(values), 0, &value, err) ||
	    format_whole(in, &bytes, err))
		return -1;
	if (bytes.size < 4)
		return err_set(err, "the file is cut in its header");
	format_unit(report, values[value], value ? "bytes" : "microseconds");
	mojo.start = (const uint8_t *)bytes.at;
	mojo.at = mojo.start + 3;
	mojo.end = mojo.start + bytes.size;
	mojo.version = number(&mojo);
	while (!result && !mojo.is_bad && mojo.at < mojo.end) {
		size_t offset = (size_t)(mojo.at - mojo.start);

		result = take_event(&mojo, value, header, err);
		if (mojo.is_bad)
			format_bad(report, "offset %zu: the file is cut, or no event begins here",
			           offset);
	}
	idmap_release(&mojo.strings);
	idmap_release(&mojo.frames);
	idmap_release(&mojo.last);
	return result;
}

const struct format format_mojo = {
        .name = "mojo",
        .about = "austin's binary format; values: time, memory",
        .detect = detect,
        .parse = parse,
};
