#include "share/compat.h"
#include "collect/tracing.h"

#include "collect/procfile.h"
#include "collect/sysevents.h"
#include "share/mem.h"
#include "share/perfrec.h"

#include <unistd.h>

static void add_u32(struct buf *out, uint32_t value)
{
	buf_add(out, &value, sizeof(value));
}

static void add_u64(struct buf *out, uint64_t value)
{
	buf_add(out, &value, sizeof(value));
}

static void add_name(struct buf *out, const char *name)
{
	buf_add(out, name, strlen(name) + 1);
}

/* A file of tracefs, its size in front; of size 0 where it cannot be read. */
static void add_file(struct buf *out, const char *tracefs, const char *path)
{
	char *full = mem_printf("%s/events/%s", tracefs, path);
	struct buf text = {0};

	if (procfile_read(&text, full) < 0)
		text.size = 0;
	add_u64(out, text.size);
	buf_add(out, text.at, text.size);
	buf_release(&text);
	free(full);
}

static bool has_raw(const struct event *event)
{
	return event->attr.type == PERF_TYPE_TRACEPOINT && !event->probe && event->tracepoint &&
	       event->attr.sample_type & PERF_SAMPLE_RAW;
}

static size_t system_size(const struct event *event)
{
	return strcspn(event->tracepoint, ":");
}

static bool is_same_system(const struct event *a, const struct event *b)
{
	return system_size(a) == system_size(b) &&
	       memcmp(a->tracepoint, b->tracepoint, system_size(a)) == 0;
}

/* Whether an event before number `at` is of the same system. */
static bool is_told(const struct event_list *events, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (has_raw(&events->at[i]) && is_same_system(&events->at[i], &events->at[at]))
			return true;
	return false;
}

static void add_system(struct buf *out, const char *tracefs, const struct event_list *events,
                       const struct event *first)
{
	char *name = mem_strndup(first->tracepoint, system_size(first));
	uint32_t nr = 0;

	for (size_t i = 0; i < events->nr; i++)
		nr += has_raw(&events->at[i]) && is_same_system(&events->at[i], first);
	add_name(out, name);
	add_u32(out, nr);
	for (size_t i = 0; i < events->nr; i++) {
		const struct event *event = &events->at[i];
		char *path;

		if (!has_raw(event) || !is_same_system(event, first))
			continue;
		path = mem_printf("%s/%s/format", name, event->tracepoint + strlen(name) + 1);
		add_file(out, tracefs, path);
		free(path);
	}
	free(name);
}

void tracing_write(struct recout *rec, const struct event_list *events)
{
	struct perf_event_header header = {.type = PERFREC_TRACING_DATA, .size = 12};
	struct buf out = {0};
	struct err err;
	const char *tracefs;
	uint32_t nr_systems = 0, size;

	for (size_t i = 0; i < events->nr; i++)
		nr_systems += has_raw(&events->at[i]) && !is_told(events, i);
	tracefs = nr_systems ? sysevents_tracefs(&err) : NULL;
	if (!tracefs)
		return;
	buf_add(&out, "\x17\x08\x44tracing", 10);
	add_name(&out, "0.6");
	buf_char(&out, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	buf_char(&out, sizeof(long));
	add_u32(&out, (uint32_t)sysconf(_SC_PAGESIZE));
	add_name(&out, "header_page");
	add_file(&out, tracefs, "header_page");
	add_name(&out, "header_event");
	add_file(&out, tracefs, "header_event");
	add_u32(&out, 0); /* events of ftrace itself */
	add_u32(&out, nr_systems);
	for (size_t i = 0; i < events->nr; i++)
		if (has_raw(&events->at[i]) && !is_told(events, i))
			add_system(&out, tracefs, events, &events->at[i]);
	add_u32(&out, 0); /* kallsyms */
	add_u32(&out, 0); /* formats of printk */
	add_u64(&out, 0); /* names of tasks */
	while (out.size % 8)
		buf_char(&out, 0);
	size = (uint32_t)out.size;
	recout_bytes(rec, &header, sizeof(header));
	recout_bytes(rec, &size, sizeof(size));
	recout_bytes(rec, out.at, out.size);
	buf_release(&out);
}
