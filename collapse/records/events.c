#include "share/compat.h"
#include "collapse/records/events.h"

#include "share/mem.h"
#include "share/strtab.h"

/* perf_event_open(2): config of PERF_TYPE_HARDWARE and PERF_TYPE_SOFTWARE, in order. */
static const char *const hardware_names[] = {
        "cycles",
        "instructions",
        "cache-references",
        "cache-misses",
        "branches",
        "branch-misses",
        "bus-cycles",
        "stalled-cycles-frontend",
        "stalled-cycles-backend",
        "ref-cycles",
};
static const char *const software_names[] = {
        "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
        "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
        "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches",
};
static const char *const cache_names[] = {"L1-dcache", "L1-icache", "LLC", "dTLB",
                                          "iTLB",      "branch",    "node"};
static const char *const cache_ops[] = {"load", "store", "prefetch"};

void events_release(struct events *events)
{
	for (size_t i = 0; i < events->nr; i++) {
		free(events->at[i]->name);
		free(events->at[i]);
	}
	free(events->at);
	free(events->slots);
	*events = (struct events){0};
}

/* The upper half of config names the PMU on hybrid machines (PERF_PMU_TYPE_SHIFT). */
static uint32_t generic_config(const struct perf_event_attr *attr)
{
	return (uint32_t)attr->config;
}

static char *name_of_attr(const struct perf_event_attr *attr)
{
	uint32_t config = generic_config(attr);
	const char *base = NULL;
	char made[64], modifier[8] = "";
	size_t nr = 0;

	switch (attr->type) {
	case PERF_TYPE_HARDWARE:
		base = config < ARRAY_SIZE(hardware_names) ? hardware_names[config] : NULL;
		break;
	case PERF_TYPE_SOFTWARE:
		base = config < ARRAY_SIZE(software_names) ? software_names[config] : NULL;
		break;
	case PERF_TYPE_HW_CACHE: {
		uint32_t cache = config & 0xff, op = config >> 8 & 0xff, miss = config >> 16 & 0xff;

		if (cache < ARRAY_SIZE(cache_names) && op < ARRAY_SIZE(cache_ops) && miss < 2) {
			snprintf(made, sizeof(made), "%s-%s%s", cache_names[cache], cache_ops[op],
			         miss    ? "-misses" :
			         op == 2 ? "es" :
			                   "s");
			base = made;
		}
		break;
	}
	case PERF_TYPE_TRACEPOINT:
		snprintf(made, sizeof(made), "tracepoint %llu", (unsigned long long)attr->config);
		base = made;
		break;
	case PERF_TYPE_BREAKPOINT:
		snprintf(made, sizeof(made), "mem:0x%llx", (unsigned long long)attr->bp_addr);
		base = made;
		break;
	}
	if (!base) {
		snprintf(made, sizeof(made), "pmu %u config 0x%llx", attr->type,
		         (unsigned long long)attr->config);
		base = made;
	}
	if (attr->exclude_user || attr->exclude_kernel) {
		modifier[nr++] = ':';
		if (!attr->exclude_user)
			modifier[nr++] = 'u';
		if (!attr->exclude_kernel)
			modifier[nr++] = 'k';
		if (nr == 1)
			nr = 0;
		modifier[nr] = '\0';
	}
	return mem_printf("%s%s", base, modifier);
}

static int32_t nr_fields(uint32_t sample_type, uint32_t fields)
{
	return __builtin_popcountll(sample_type & fields);
}

/*
 * Where the id stands (linux/perf_event.h, PERF_RECORD_SAMPLE and struct
 * sample_id). With IDENTIFIER it has a place of its own; otherwise all events
 * of a recording must share the fields in front of it, so any will do.
 */
static int32_t id_offset(uint32_t sample_type, bool is_sample)
{
	if (sample_type & PERF_SAMPLE_IDENTIFIER)
		return is_sample ? PERFREC_HEADER_SIZE : -8;
	if (!(sample_type & PERF_SAMPLE_ID))
		return 0;
	if (is_sample)
		return PERFREC_HEADER_SIZE +
		       8 * nr_fields(sample_type, PERF_SAMPLE_IP | PERF_SAMPLE_TID |
		                                          PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR);
	return -8 - 8 * nr_fields(sample_type, PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU);
}

static int32_t time_offset(uint32_t sample_type, bool is_sample)
{
	if (!(sample_type & PERF_SAMPLE_TIME))
		return 0;
	if (is_sample)
		return PERFREC_HEADER_SIZE +
		       8 * nr_fields(sample_type,
		                     PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID);
	return -8 - 8 * nr_fields(sample_type, PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
	                                               PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
}

static struct event_offsets offsets_of(const struct perf_event_attr *attr, bool is_sample)
{
	return (struct event_offsets){id_offset(attr->sample_type, is_sample),
	                              time_offset(attr->sample_type, is_sample)};
}

struct event *events_add(struct events *events, const uint8_t *attr, size_t size, bool swap)
{
	struct perf_event_attr decoded;
	struct event *event;

	if (!perfrec_attr(&decoded, attr, size, swap))
		return NULL;
	event = mem_zalloc(sizeof(*event));
	event->attr = decoded;
	event->of_sample = offsets_of(&decoded, true);
	event->of_other = offsets_of(&decoded, false);
	event->index = (uint32_t)events->nr;
	event->name = name_of_attr(&event->attr);
	MEM_GROW(events->at, events->nr, events->capacity);
	events->at[events->nr++] = event;
	return event;
}

static struct events_slot *find_slot(const struct events *events, uint64_t id)
{
	size_t at = hash_u64(id, 0) & (events->nr_slots - 1);

	while (events->slots[at].event && events->slots[at].id != id)
		at = (at + 1) & (events->nr_slots - 1);
	return &events->slots[at];
}

void events_add_id(struct events *events, uint64_t id, struct event *event)
{
	struct events_slot *slot;

	if (events->nr_ids >= events->nr_slots / 2) {
		struct events old = *events;

		events->nr_slots = old.nr_slots ? old.nr_slots * 2 : 64;
		events->slots = mem_zalloc(events->nr_slots * sizeof(*events->slots));
		for (size_t i = 0; i < old.nr_slots; i++)
			if (old.slots[i].event)
				*find_slot(events, old.slots[i].id) = old.slots[i];
		free(old.slots);
	}
	slot = find_slot(events, id);
	events->nr_ids += slot->event == NULL;
	*slot = (struct events_slot){id, event};
	events->last.event = NULL;
}

struct event *events_by_id(struct events *events, uint64_t id)
{
	if (events->last.event && events->last.id == id)
		return events->last.event;
	if (!events->nr_slots)
		return NULL;
	events->last = *find_slot(events, id);
	return events->last.event;
}

void event_set_name(struct event *event, struct slice name)
{
	if (!name.size)
		return;
	free(event->name);
	event->name = mem_strndup(name.at, name.size);
	event->is_named = true;
}

struct slice event_base_name(const struct event *event)
{
	struct slice name = {event->name, strlen(event->name)};
	const char *end;

	if (!slice_starts(name, "cpu_core/") && !slice_starts(name, "cpu_atom/") &&
	    !slice_starts(name, "cpu_lowpower/"))
		return name;
	name.at = strchr(name.at, '/') + 1;
	end = strchr(name.at, '/');
	name.size = end ? (size_t)(end - name.at) : strlen(name.at);
	return name;
}

bool event_is_twin(const struct event *a, const struct event *b)
{
	struct slice x = event_base_name(a), y = event_base_name(b);

	if (a->attr.type == PERF_TYPE_HARDWARE && b->attr.type == PERF_TYPE_HARDWARE &&
	    (a->attr.config >> 32 || b->attr.config >> 32) && a->attr.config != b->attr.config)
		return generic_config(&a->attr) == generic_config(&b->attr);
	return x.at != a->name && y.at != b->name && x.size == y.size &&
	       memcmp(x.at, y.at, x.size) == 0;
}

bool event_is_dummy(const struct event *event)
{
	return event->attr.type == PERF_TYPE_SOFTWARE && event->attr.config == PERF_COUNT_SW_DUMMY;
}

const char *event_unit(const struct event *event)
{
	if (event->attr.type == PERF_TYPE_SOFTWARE &&
	    (event->attr.config == PERF_COUNT_SW_CPU_CLOCK ||
	     event->attr.config == PERF_COUNT_SW_TASK_CLOCK))
		return "nanoseconds";
	if (event->attr.type == PERF_TYPE_HARDWARE &&
	    generic_config(&event->attr) < ARRAY_SIZE(hardware_names))
		return hardware_names[generic_config(&event->attr)];
	if (event->attr.type == PERF_TYPE_SOFTWARE &&
	    event->attr.config < ARRAY_SIZE(software_names))
		return software_names[event->attr.config];
	return "events";
}

/* Reads the 8 bytes at an offset that may be negative: from the end. */
static bool word_at(const uint8_t *at, uint32_t size, int64_t offset, bool swap, uint64_t *value)
{
	if (offset < 0)
		offset += size;
	if (offset < PERFREC_HEADER_SIZE || offset + 8 > (int64_t)size)
		return false;
	memcpy(value, at + offset, 8);
	if (swap)
		*value = __builtin_bswap64(*value);
	return true;
}

struct event *events_of_record(struct events *events, const uint8_t *at, uint32_t size,
                               uint32_t type, bool swap, uint64_t *time)
{
	bool is_sample = type == PERF_RECORD_SAMPLE;
	struct event *event;
	int64_t offset;
	uint64_t id;

	*time = 0;
	if (!events->nr)
		return NULL;
	event = events->at[0];
	if (!is_sample && (!event->attr.sample_id_all ||
	                   size < PERFREC_HEADER_SIZE + perfrec_trailer_size(&event->attr)))
		return event;
	offset = is_sample ? event->of_sample.id : event->of_other.id;
	if (offset && events->nr_ids && word_at(at, size, offset, swap, &id)) {
		struct event *found = events_by_id(events, id);

		/* what a tool made up carries id 0, and belongs to the first event */
		if (found)
			event = found;
		else if (is_sample && events->nr > 1 && id)
			return NULL;
	}
	offset = is_sample ? event->of_sample.time : event->of_other.time;
	if (offset)
		word_at(at, size, offset, swap, time);
	return event;
}
