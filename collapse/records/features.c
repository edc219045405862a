#include "share/compat.h"
#include "collapse/records/features.h"

#include "collapse/records/tracing.h"
#include "share/buf.h"
#include "share/mem.h"

#include <elf.h>

#define BUILD_IDS_MAX 1000000
#define NAMED_MAX     ((size_t)1024)

/* The last 4 bytes of the 24 for a build-id hold its size when this bit is set. */
#define MISC_BUILD_ID_SIZE (1 << 15)

static void set_text(char **field, struct slice text)
{
	if (!text.size)
		return;
	free(*field);
	*field = mem_strndup(text.at, text.size);
}

static void read_command(struct reader *reader, struct perfrec_cursor c)
{
	uint32_t nr = perfrec_u32(&c);
	struct buf line = {0};

	for (uint32_t i = 0; i < nr && !c.bad && line.size < 4096; i++) {
		struct slice word = perfrec_string(&c);

		if (i)
			buf_char(&line, ' ');
		buf_add(&line, word.at, word.size);
	}
	if (!c.bad)
		set_text(&reader->command, (struct slice){line.at, line.size});
	buf_release(&line);
}

/* u32 nr, u32 attr size; each: attr, u32 nr of ids, name, ids. */
static void read_event_names(struct reader *reader, struct perfrec_cursor c)
{
	uint32_t nr = perfrec_u32(&c), attr_size = perfrec_u32(&c);

	for (uint32_t i = 0; i < nr && !c.bad; i++) {
		struct event *event = NULL;
		uint32_t nr_ids;
		struct slice name;

		perfrec_bytes(&c, attr_size);
		nr_ids = perfrec_u32(&c);
		name = perfrec_string(&c);
		if (c.bad)
			return;
		if (i < reader->events.nr)
			event = reader->events.at[i];
		for (uint32_t id = 0; id < nr_ids && !c.bad; id++) {
			struct event *of_id = events_by_id(&reader->events, perfrec_u64(&c));

			if (of_id)
				event = of_id;
		}
		if (event && !c.bad)
			event_set_name(event, name);
	}
}

void features_build_id(struct reader *reader, uint16_t misc, struct perfrec_cursor c)
{
	struct reader_build_id *entry;
	const uint8_t *bytes;
	struct build_id id = {.size = BUILD_ID_MAX};
	struct slice path;

	perfrec_u32(&c); /* pid: host or guest kernel */
	bytes = perfrec_bytes(&c, 24);
	if (!bytes || reader->nr_build_ids >= BUILD_IDS_MAX)
		return;
	if (misc & MISC_BUILD_ID_SIZE)
		id.size = MIN_OF(bytes[20], BUILD_ID_MAX);
	else
		/* shorter ones (MD5, UUID) are filled up with zeros */
		while (id.size > 16 && !bytes[id.size - 1] && !bytes[16])
			id.size--;
	memcpy(id.bytes, bytes, id.size);
	path = perfrec_text(&c);
	if (!path.size || !id.size)
		return;
	MEM_GROW(reader->build_ids, reader->nr_build_ids, reader->build_ids_capacity);
	entry = &reader->build_ids[reader->nr_build_ids++];
	entry->path = mem_strndup(path.at, path.size);
	entry->id = id;
}

/* Entries with a record header each, without a type (it is 0). */
static void read_build_ids(struct reader *reader, struct perfrec_cursor c)
{
	while (c.end - c.at >= PERFREC_HEADER_SIZE) {
		struct perfrec_cursor entry = c;
		uint16_t misc, size;

		perfrec_u32(&c);
		misc = perfrec_u16(&c);
		size = perfrec_u16(&c);
		if (size < PERFREC_HEADER_SIZE || size > entry.end - entry.at)
			return;
		entry.end = entry.at + size;
		c.at = entry.end;
		entry.at += PERFREC_HEADER_SIZE;
		features_build_id(reader, misc, entry);
	}
}

/*
 * Names that are told by type and config, for what perf has no name of its
 * own for. Only among so many events, as every name is looked for in all.
 */
static void name_events(struct reader *reader, uint64_t type, uint64_t config, struct slice name)
{
	struct events *events = &reader->events;

	for (size_t i = 0; i < MIN_OF(events->nr, NAMED_MAX); i++) {
		struct event *event = events->at[i];

		if (event->attr.type == type && event->attr.config == config && !event->is_named &&
		    (type == PERF_TYPE_TRACEPOINT || type >= PERF_TYPE_RAW))
			event_set_name(event, name);
	}
}

void features_event_type(struct reader *reader, struct perfrec_cursor c)
{
	uint64_t config = perfrec_u64(&c);

	name_events(reader, PERF_TYPE_TRACEPOINT, config, perfrec_text(&c));
}

static void name_tracepoint(void *ctx, struct slice name, uint64_t number)
{
	name_events(ctx, PERF_TYPE_TRACEPOINT, number, name);
}

/* "NAME,TYPE,CONFIG" lines. */
static void read_event_types(struct reader *reader, struct slice text)
{
	const char *at = text.at, *end = text.at + text.size;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *line_end = newline ? newline : end;
		const char *comma = memchr(at, ',', (size_t)(line_end - at));
		unsigned long long type, config;
		char numbers[64];

		if (comma) {
			snprintf(numbers, sizeof(numbers), "%.*s",
			         (int)MIN_OF((size_t)(line_end - comma), sizeof(numbers)), comma);
			if (sscanf(numbers, ",%llu,%llu", &type, &config) == 2)
				name_events(reader, type, config,
				            (struct slice){at, (size_t)(comma - at)});
		}
		at = line_end + 1;
	}
}

/* simpleperf's META_INFO: keys and values, each with its NUL. */
static void read_meta(struct reader *reader, struct perfrec_cursor c)
{
	while (c.at < c.end) {
		struct slice key = perfrec_text(&c), value;

		if (!perfrec_bytes(&c, key.size + 1))
			return;
		value = perfrec_text(&c);
		perfrec_bytes(&c, MIN_OF(value.size + 1, (size_t)(c.end - c.at)));
		if (slice_equals(key, "event_type_info"))
			read_event_types(reader, value);
		else if (slice_equals(key, "simpleperf_version"))
			set_text(&reader->version, value);
	}
}

void features_read(struct reader *reader, uint32_t id, struct perfrec_cursor c)
{
	uint32_t nr[2];

	switch (id) {
	case PERFREC_FEAT_TRACING_DATA:
		tracing_read(c, name_tracepoint, reader);
		break;
	case PERFREC_FEAT_HOSTNAME:
		set_text(&reader->hostname, perfrec_string(&c));
		break;
	case PERFREC_FEAT_OSRELEASE:
		set_text(&reader->osrelease, perfrec_string(&c));
		break;
	case PERFREC_FEAT_VERSION:
		set_text(&reader->version, perfrec_string(&c));
		break;
	case PERFREC_FEAT_ARCH:
		set_text(&reader->arch, perfrec_string(&c));
		break;
	case PERFREC_FEAT_CPUDESC:
		set_text(&reader->cpudesc, perfrec_string(&c));
		break;
	case PERFREC_FEAT_NRCPUS:
		/* writers differ in which of the two comes first */
		nr[0] = perfrec_u32(&c);
		nr[1] = perfrec_u32(&c);
		reader->nr_cpus = MIN_OF(nr[0], nr[1]);
		break;
	case PERFREC_FEAT_CMDLINE:
		read_command(reader, c);
		break;
	case PERFREC_FEAT_EVENT_DESC:
		read_event_names(reader, c);
		break;
	case PERFREC_FEAT_BUILD_ID:
		read_build_ids(reader, c);
		break;
	case PERFREC_FEAT_SAMPLE_TIME:
		reader->time_first = perfrec_u64(&c);
		reader->time_last = perfrec_u64(&c);
		break;
	case PERFREC_FEAT_CLOCKID:
		reader->has_clockid = true;
		break;
	case PERFREC_FEAT_CLOCK_DATA:
		/* u32 version, u32 clockid, u64 wall, u64 that clock: the same moment */
		perfrec_u32(&c);
		reader->clockid = (int32_t)perfrec_u32(&c);
		reader->clock_wall_ns = perfrec_u64(&c);
		reader->clock_mono_ns = perfrec_u64(&c);
		break;
	case PERFREC_FEAT_SIMPLEPERF_FILE:
	case PERFREC_FEAT_SIMPLEPERF_FILE2:
		reader->is_simpleperf = true;
		embedded_read(&reader->embedded, c, id == PERFREC_FEAT_SIMPLEPERF_FILE2);
		break;
	case PERFREC_FEAT_SIMPLEPERF_META:
		reader->is_simpleperf = true;
		read_meta(reader, c);
		break;
	}
}

void features_release(struct reader *reader)
{
	embedded_release(&reader->embedded);
	free(reader->hostname);
	free(reader->osrelease);
	free(reader->version);
	free(reader->arch);
	free(reader->command);
	free(reader->cpudesc);
	for (size_t i = 0; i < reader->nr_build_ids; i++)
		free(reader->build_ids[i].path);
	free(reader->build_ids);
}

void features_tell_build_ids(const struct reader *reader, struct modules *modules)
{
	for (size_t i = 0; reader->nr_build_ids && i < modules_nr(modules); i++) {
		struct module *module = modules_at(modules, i);
		const struct build_id *id = reader_build_id_of(reader, module->key.path);

		if (id && module->key.kind != MODULE_JIT)
			module_set_build_id(module, id);
	}
}

uint16_t features_machine(const struct reader *reader)
{
	const char *arch = reader->arch;
	static const struct {
		const char *arch;
		uint16_t machine;
	} table[] = {
	        {"x86_64", EM_X86_64}, {"aarch64", EM_AARCH64}, {"arm64", EM_AARCH64},
	        {"i386", EM_386},      {"i686", EM_386},        {"armv7l", EM_ARM},
	        {"arm", EM_ARM},       {"riscv64", EM_RISCV},   {"ppc64le", EM_PPC64},
	        {"ppc64", EM_PPC64},   {"s390x", EM_S390},
	};

	for (size_t i = 0; arch && i < ARRAY_SIZE(table); i++)
		if (strcmp(arch, table[i].arch) == 0)
			return table[i].machine;
#if defined(__aarch64__)
	return arch ? EM_NONE : EM_AARCH64;
#else
	return arch ? EM_NONE : EM_X86_64;
#endif
}
