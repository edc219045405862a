#include "share/compat.h"
#include "collect/events.h"

#include "collect/pfmnames.h"
#include "collect/caps.h"
#include "collect/probes.h"
#include "collect/procfile.h"
#include "collect/sysevents.h"
#include "share/mem.h"
#include "share/num.h"
#include "share/opts.h"

#include <linux/hw_breakpoint.h>

#define HW(x) PERF_TYPE_HARDWARE, PERF_COUNT_HW_##x
#define SW(x) PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##x

const struct event_name event_names[] = {
        {"cycles", HW(CPU_CYCLES), "processor cycles while not halted"},
        {"cpu-cycles", HW(CPU_CYCLES), "the same as cycles"},
        {"instructions", HW(INSTRUCTIONS), "instructions completed"},
        {"cache-references", HW(CACHE_REFERENCES), "accesses to the last-level cache"},
        {"cache-misses", HW(CACHE_MISSES), "accesses the last-level cache could not serve"},
        {"branches", HW(BRANCH_INSTRUCTIONS), "branch instructions completed"},
        {"branch-instructions", HW(BRANCH_INSTRUCTIONS), "the same as branches"},
        {"branch-misses", HW(BRANCH_MISSES), "branches predicted wrongly"},
        {"bus-cycles", HW(BUS_CYCLES), "cycles of the memory bus"},
        {"stalled-cycles-frontend", HW(STALLED_CYCLES_FRONTEND),
         "cycles without instructions to issue"},
        {"stalled-cycles-backend", HW(STALLED_CYCLES_BACKEND), "cycles waiting for data or units"},
        {"ref-cycles", HW(REF_CPU_CYCLES), "cycles at the nominal frequency"},
        {"cpu-clock", SW(CPU_CLOCK), "time by a timer of each CPU"},
        {"task-clock", SW(TASK_CLOCK), "time the task was running"},
        {"page-faults", SW(PAGE_FAULTS), "pages that were not mapped when touched"},
        {"faults", SW(PAGE_FAULTS), "the same as page-faults"},
        {"minor-faults", SW(PAGE_FAULTS_MIN), "page faults served from memory"},
        {"major-faults", SW(PAGE_FAULTS_MAJ), "page faults that read from disk"},
        {"context-switches", SW(CONTEXT_SWITCHES), "switches from one task to another"},
        {"cs", SW(CONTEXT_SWITCHES), "the same as context-switches"},
        {"cpu-migrations", SW(CPU_MIGRATIONS), "tasks moved to another CPU"},
        {"migrations", SW(CPU_MIGRATIONS), "the same as cpu-migrations"},
        {"alignment-faults", SW(ALIGNMENT_FAULTS), "unaligned accesses the kernel repaired"},
        {"emulation-faults", SW(EMULATION_FAULTS), "instructions the kernel emulated"},
        {"cgroup-switches", SW(CGROUP_SWITCHES), "switches between control groups"},
        {"bpf-output", SW(BPF_OUTPUT), "records that BPF programs send"},
        {"dummy", SW(DUMMY), "counts nothing; carries maps and names"},
};
const size_t nr_event_names = ARRAY_SIZE(event_names);

static const char *const cache_units[] = {"L1-dcache", "L1-icache", "LLC", "dTLB",
                                          "iTLB",      "branch",    "node"};
static const char *const cache_ops[] = {"load", "store", "prefetch"};

uint64_t event_cache_name(size_t n, char *out)
{
	size_t unit = n / 6, op = n / 2 % 3, miss = n % 2;

	if (unit >= ARRAY_SIZE(cache_units))
		return 0;
	snprintf(out, 48, "%s-%s%s", cache_units[unit], cache_ops[op],
	         miss ? "-misses" : (op == 2 ? "es" : "s"));
	/* bit 63 keeps "L1-dcache-loads" (config 0) apart from the end */
	return unit | op << 8 | miss << 16 | 1ull << 63;
}

void event_list_release(struct event_list *events)
{
	for (size_t i = 0; i < events->nr; i++) {
		free(events->at[i].name);
		free(events->at[i].filter);
		free(events->at[i].tracepoint);
		free(events->at[i].probe);
		free(events->at[i].ids);
	}
	free(events->at);
	*events = (struct event_list){0};
}

struct event *events_add(struct event_list *events, uint32_t type, uint64_t config,
                         const char *name)
{
	struct event *event;

	MEM_GROW(events->at, events->nr, events->capacity);
	event = &events->at[events->nr];
	*event = (struct event){.name = mem_strdup(name), .leader = events->nr};
	event->attr.type = type;
	event->attr.size = sizeof(event->attr);
	event->attr.config = config;
	events->nr++;
	return event;
}

void events_add_sideband(struct event_list *events)
{
	events_add(events, SW(DUMMY), "dummy")->sideband = true;
}

/* The fields of tracepoints: perf_allow_tracepoint() of linux/perf_event.h, 6.18. */
static bool may_read_fields(void)
{
	return caps_has(CAP_PERFMON) || caps_has(CAP_SYS_ADMIN) ||
	       procfile_number("/proc/sys/kernel/perf_event_paranoid", 2) < 0;
}

static void follow(struct event *event, enum event_role role, bool held_back)
{
	event->role = role;
	event->attr.sample_period = 1;
	/* the switch takes place in the kernel, whatever the thread did before */
	event->needs_kernel = true;
	if (!held_back)
		return;
	event->attr.sample_type |= PERF_SAMPLE_PERIOD;
	free(event->name);
	event->name = mem_strdup(role == ROLE_SWITCH ? "offcpu-time" : "offcpu-waker");
}

void events_add_switches(struct event_list *events, bool held_back)
{
	size_t first = events->nr;
	struct err err;

	if (may_read_fields() && sysevents_tracepoints(events, "sched:sched_switch", &err) == 0 &&
	    sysevents_tracepoints(events, "sched:sched_waking", &err) == 0) {
		follow(&events->at[first], ROLE_SWITCH, held_back);
		follow(&events->at[first + 1], ROLE_WAKING, held_back);
		return;
	}
	events->nr = first; /* a kernel that has one of the two only */
	follow(events_add(events, SW(CONTEXT_SWITCHES), "context-switches"), ROLE_SWITCH,
	       held_back);
}

struct event *events_tracker(struct event_list *events)
{
	for (size_t i = 0; i < events->nr; i++)
		if (events->at[i].sideband)
			return &events->at[i];
	return &events->at[0];
}

/* ---- modifiers ---- */

static bool is_modifiers(const char *text, size_t size)
{
	return size > 0 && strspn(text, "ukhGHpPSDWe") >= size;
}

/* Source: event modifiers of perf-list(1). */
static int apply_modifiers(struct event *event, const char *text, size_t size, struct err *err)
{
	struct perf_event_attr *attr = &event->attr;
	bool user = memchr(text, 'u', size), kernel = memchr(text, 'k', size),
	     hypervisor = memchr(text, 'h', size);
	unsigned int precise = 0;

	if (user || kernel || hypervisor) {
		attr->exclude_user = !user;
		attr->exclude_kernel = !kernel;
		attr->exclude_hv = !hypervisor;
	}
	for (size_t i = 0; i < size; i++) {
		switch (text[i]) {
		case 'G':
			attr->exclude_host = !memchr(text, 'H', size);
			break;
		case 'H':
			attr->exclude_guest = !memchr(text, 'G', size);
			break;
		case 'p':
			precise++;
			break;
		case 'P':
			event->most_precise = true;
			break;
		case 'S':
			attr->read_format |= PERF_FORMAT_GROUP | PERF_FORMAT_ID;
			attr->sample_type |= PERF_SAMPLE_READ;
			break;
		case 'D':
			attr->pinned = 1;
			break;
		case 'e':
			attr->exclusive = 1;
			break;
		case 'W':
			event->weak_group = true;
			break;
		}
	}
	if (precise > 3)
		return err_set(err, "'%.*s' asks for precise level %u; the highest is ppp",
		               (int)size, text, precise);
	attr->precise_ip = precise;
	return 0;
}

/* ---- single events ---- */

static int parse_raw(struct event_list *events, const char *text, size_t size)
{
	uint64_t config;

	if (size < 2 || text[0] != 'r' || num_parse_hex(text + 1, size - 1, &config) < 0)
		return 0;
	events_add(events, PERF_TYPE_RAW, config, text);
	return 1;
}

/* "mem:ADDR[/LEN][:rwx]" */
static int parse_breakpoint(struct event_list *events, const char *text, struct err *err)
{
	const char *at = text + 4, *colon = strchr(at, ':');
	const char *end = colon ? colon : at + strlen(at);
	const char *slash = memchr(at, '/', (size_t)(end - at));
	const char *access = colon ? colon + 1 : "rw";
	uint64_t address, length = 4;
	struct event *event;

	if (num_parse_hex(at, (size_t)((slash ? slash : end) - at), &address) < 0)
		return err_set(err,
		               "event '%s': the address of a breakpoint is hexadecimal, as in "
		               "mem:0x601040:rw",
		               text);
	if (slash && (num_parse_u64(slash + 1, (size_t)(end - slash - 1), &length) < 0 ||
	              (length != 1 && length != 2 && length != 4 && length != 8)))
		return err_set(err, "event '%s': a breakpoint covers 1, 2, 4 or 8 bytes", text);
	if (!*access || strspn(access, "rwx") != strlen(access))
		return err_set(err, "event '%s': the access of a breakpoint is made of r, w and x",
		               text);
	event = events_add(events, PERF_TYPE_BREAKPOINT, 0, text);
	event->attr.bp_addr = address;
	event->attr.bp_type = (strchr(access, 'r') ? HW_BREAKPOINT_R : 0) |
	                      (strchr(access, 'w') ? HW_BREAKPOINT_W : 0) |
	                      (strchr(access, 'x') ? HW_BREAKPOINT_X : 0);
	/* x86 takes nothing but the size of a long for execution */
	event->attr.bp_len = strchr(access, 'x') ? sizeof(long) : length;
	event->attr.sample_period = 1;
	return 0;
}

static int unknown_event(const char *text, struct err *err)
{
	const char **names = mem_alloc((nr_event_names + 64) * sizeof(*names));
	char caches[64][48];
	size_t nr = 0;
	const char *near;
	char *other = NULL;

	for (size_t i = 0; i < nr_event_names; i++)
		names[nr++] = event_names[i].name;
	for (size_t i = 0; i < 64 && event_cache_name(i, caches[i]); i++)
		names[nr++] = caches[i];
	near = opts_nearest(text, names, nr);
	if (!near)
		near = other = sysevents_nearest(text);
	if (near)
		err_set(err, "unknown event '%s'; did you mean '%s'?", text, near);
	else
		err_set(err, "unknown event '%s'; 'collect --list' prints those of this machine",
		        text);
	free(other);
	free(names);
	return -1;
}

/* One event without modifiers; text is NUL-terminated. */
static int parse_event(struct event_list *events, const char *text, struct err *err)
{
	char name[48];
	uint64_t config;
	struct err pfm;

	for (size_t i = 0; i < nr_event_names; i++) {
		if (strcmp(event_names[i].name, text) != 0)
			continue;
		events_add(events, event_names[i].type, event_names[i].config, text);
		return 0;
	}
	for (size_t i = 0; (config = event_cache_name(i, name)); i++) {
		if (strcmp(name, text) != 0)
			continue;
		events_add(events, PERF_TYPE_HW_CACHE, config & 0xffffff, text);
		return 0;
	}
	if (strncmp(text, "mem:", 4) == 0)
		return parse_breakpoint(events, text, err);
	if (probes_is(text))
		return probes_parse(events, text, err);
	if (strchr(text, '/'))
		return sysevents_pmu(events, text, err);
	if (parse_raw(events, text, strlen(text)))
		return 0;
	if (strchr(text, ':') && !strstr(text, "::") &&
	    sysevents_tracepoints(events, text, err) == 0)
		return 0;
	if (pfmnames_parse(events, text, &pfm) == 0)
		return 0;
	if (pfm.text[0])
		return err_set(err, "%s", pfm.text);
	/* with a colon it is a tracepoint that is not there, which is said already */
	return strchr(text, ':') ? -1 : unknown_event(text, err);
}

/* Whether an event of this name needs no asking of the kernel. */
static bool is_known_name(struct slice name)
{
	char cache[48];

	if (name.size >= 2 && name.at[0] == 'r' &&
	    strspn(name.at + 1, "0123456789abcdefABCDEF") >= name.size - 1)
		return true;
	for (size_t i = 0; i < nr_event_names; i++)
		if (slice_equals(name, event_names[i].name))
			return true;
	for (size_t i = 0; event_cache_name(i, cache); i++)
		if (slice_equals(name, cache))
			return true;
	return false;
}

/* Colons that belong to the name of an event which begins so. */
static size_t colons_of_name(const char *text, size_t size)
{
	static const struct {
		const char *prefix;
		size_t nr;
	} kinds[] = {
	        {"mem:", 2},  {"uprobe:", 2}, {"uretprobe:", 2},
	        {"usdt:", 3}, {"kprobe:", 1}, {"kretprobe:", 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (slice_starts((struct slice){text, size}, kinds[i].prefix))
			return kinds[i].nr;
	return 1; /* subsystem:name */
}

/*
 * The size of the name of an item; its modifiers begin at *modifiers (size
 * where there are none): after the second "/" of a PMU event, after the colon
 * of a known name, else after a last colon beyond those of the name.
 */
static size_t name_size(const char *text, size_t size, size_t *modifiers)
{
	const char *slash = memchr(text, '/', size), *first = memchr(text, ':', size), *last;
	size_t colons = 0;

	*modifiers = size;
	if (slash && (!first || slash < first)) {
		size_t end = (size_t)((const char *)memrchr(text, '/', size) - text) + 1;

		*modifiers = end < size && text[end] == ':' ? end + 1 : end;
		return end;
	}
	if (!first)
		return size;
	if (is_known_name((struct slice){text, (size_t)(first - text)})) {
		*modifiers = (size_t)(first - text) + 1;
		return (size_t)(first - text);
	}
	last = memrchr(text, ':', size);
	for (size_t i = 0; i < size; i++)
		colons += text[i] == ':';
	if (colons <= colons_of_name(text, size) ||
	    !is_modifiers(last + 1, size - (size_t)(last - text) - 1))
		return size;
	*modifiers = (size_t)(last - text) + 1;
	return (size_t)(last - text);
}

static int parse_item(struct event_list *events, const char *text, size_t size,
                      const char *group_modifiers, size_t group_size, struct err *err)
{
	size_t modifiers, length = name_size(text, size, &modifiers), first = events->nr;
	char *name = mem_strndup(text, length);
	int result = -1;

	if (length == 0)
		err_set(err, "an event name is missing before '%.*s'", (int)size, text);
	else if (modifiers < size && !is_modifiers(text + modifiers, size - modifiers))
		err_set(err,
		        "unknown modifiers '%.*s' of event '%s'; known are u k h G H p P S D W e",
		        (int)(size - modifiers), text + modifiers, name);
	else
		result = parse_event(events, name, err);
	for (size_t i = first; result == 0 && i < events->nr; i++) {
		struct event *event = &events->at[i];

		if (group_size)
			result = apply_modifiers(event, group_modifiers, group_size, err);
		if (result == 0 && modifiers < size) {
			char *full = mem_printf("%s:%.*s", event->name, (int)(size - modifiers),
			                        text + modifiers);

			result = apply_modifiers(event, text + modifiers, size - modifiers, err);
			free(event->name);
			event->name = full;
		}
	}
	free(name);
	return result;
}

static int parse_group(struct event_list *events, const char **at, struct err *err);

/* The size of the item at text: up to a comma outside of slashes and braces. */
static size_t item_size(const char *text)
{
	bool pmu = false;
	size_t i;

	/* slashes in the path of a probe or before a length open nothing */
	if (probes_is(text) || strncmp(text, "mem:", 4) == 0)
		return strcspn(text, ",}");
	for (i = 0; text[i]; i++) {
		if (text[i] == '/')
			pmu = !pmu;
		if (!pmu && (text[i] == ',' || text[i] == '}'))
			break;
	}
	return i;
}

/* NOLINTNEXTLINE(misc-no-recursion): no group stands within a group */
static int parse_list(struct event_list *events, const char **at, const char *modifiers,
                      size_t modifiers_size, bool in_group, struct err *err)
{
	for (;;) {
		size_t size;

		if (**at == '{' && !in_group) {
			if (parse_group(events, at, err) < 0)
				return -1;
		} else {
			size = item_size(*at);
			if (parse_item(events, *at, size, modifiers, modifiers_size, err) < 0)
				return -1;
			*at += size;
		}
		if (**at != ',')
			return 0;
		(*at)++;
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): see parse_list */
static int parse_group(struct event_list *events, const char **at, struct err *err)
{
	const char *close = strchr(*at, '}');
	size_t first = events->nr, size = 0;

	if (!close)
		return err_set(err, "the group '%s' lacks its closing brace", *at);
	if (close[1] == ':')
		size = strcspn(close + 2, ",");
	if (size && !is_modifiers(close + 2, size))
		return err_set(err, "unknown modifiers '%.*s' of a group", (int)size, close + 2);
	(*at)++;
	if (parse_list(events, at, close + 2, size, true, err) < 0)
		return -1;
	if (*at != close)
		return err_set(err, "stray '%s' in a group of events", *at);
	*at = close + 1 + (size ? size + 1 : 0);
	for (size_t i = first; i < events->nr; i++)
		events->at[i].leader = first;
	return 0;
}

int events_parse(struct event_list *events, const char *text, struct err *err)
{
	const char *at = text;

	if (parse_list(events, &at, NULL, 0, false, err) < 0)
		return -1;
	if (*at)
		return err_set(err, "stray '%s' after the events of '%s'", at, text);
	return 0;
}

int events_filter(struct event_list *events, const char *filter, struct err *err)
{
	size_t nr = 0;

	for (size_t i = events->nr; i-- > 0 && !events->at[i].filter;) {
		if (events->at[i].attr.type != PERF_TYPE_TRACEPOINT)
			continue;
		events->at[i].filter = mem_strdup(filter);
		nr++;
	}
	if (!nr)
		return err_set(err, "--filter '%s' follows no tracepoint; write it after its -e",
		               filter);
	return 0;
}
