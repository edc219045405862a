#include "share/compat.h"
#include "collect/sysevents.h"

#include "collect/pfmnames.h"
#include "collect/procfile.h"
#include "share/mem.h"
#include "share/num.h"
#include "share/opts.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEVICES "/sys/bus/event_source/devices"

int sysevents_pmu_type(const char *pmu)
{
	char text[32];
	uint64_t type;

	if (procfile_line(text, sizeof(text), DEVICES "/%s/type", pmu) < 0 ||
	    num_parse_u64(text, strlen(text), &type) < 0)
		return -1;
	return (int)type;
}

/* ---- pmu/terms/ ---- */

/*
 * Spreads value over the bits that a format file names, as "config:0-7,32-35"
 * does. Returns 0, or -1 where the value does not fit or the text is unknown.
 */
static int spread_bits(struct perf_event_attr *attr, const char *format, uint64_t value)
{
	const char *colon = strchr(format, ':');
	uint64_t bits = 0;
	struct slice field;

	if (!colon)
		return -1;
	field = (struct slice){format, (size_t)(colon - format)};
	for (const char *at = colon + 1; *at;) {
		char *end;
		unsigned long low = strtoul(at, &end, 10), high = low;

		if (*end == '-')
			high = strtoul(end + 1, &end, 10);
		if (high > 63 || low > high || end == at)
			return -1;
		for (unsigned long bit = low; bit <= high; bit++, value >>= 1)
			bits |= (value & 1) << bit;
		if (*end && *end != ',')
			return -1;
		at = *end ? end + 1 : end;
	}
	if (value)
		return -1;
	if (slice_equals(field, "config"))
		attr->config |= bits;
	else if (slice_equals(field, "config1"))
		attr->config1 |= bits;
	else if (slice_equals(field, "config2"))
		attr->config2 |= bits;
	else
		return -1;
	return 0;
}

/* A number as terms write it: decimal, or hexadecimal after 0x. */
static int term_value(const char *text, uint64_t *value)
{
	if (strncmp(text, "0x", 2) == 0)
		return num_parse_hex(text, strlen(text), value);
	return num_parse_u64(text, strlen(text), value);
}

static int apply_terms(struct perf_event_attr *attr, const char *pmu, char *terms, int depth,
                       struct err *err);

/* NOLINTNEXTLINE(misc-no-recursion): depth is 1 at most */
static int apply_term(struct perf_event_attr *attr, const char *pmu, char *term, int depth,
                      struct err *err)
{
	char *equals = strchr(term, '=');
	uint64_t value = 1;
	char text[256];

	if (equals) {
		*equals = '\0';
		if (term_value(equals + 1, &value) < 0)
			return err_set(err, "the term '%s=%s' of PMU '%s' needs a number", term,
			               equals + 1, pmu);
	}
	if (strcmp(term, "period") == 0) {
		attr->sample_period = value;
		return 0;
	}
	if (strcmp(term, "config") == 0 || strcmp(term, "config1") == 0 ||
	    strcmp(term, "config2") == 0) {
		*(term[6] == '1' ? &attr->config1 :
		  term[6] == '2' ? &attr->config2 :
		                   &attr->config) = value;
		return 0;
	}
	if (!strchr(term, '/') &&
	    procfile_line(text, sizeof(text), DEVICES "/%s/format/%s", pmu, term) == 0) {
		if (spread_bits(attr, text, value) < 0)
			return err_set(err, "the value of term '%s' does not fit PMU '%s' (%s)",
			               term, pmu, text);
		return 0;
	}
	/* an event of the PMU stands for a list of terms; those name no further events */
	if (!equals && depth == 0 && !strchr(term, '/') &&
	    procfile_line(text, sizeof(text), DEVICES "/%s/events/%s", pmu, term) == 0)
		return apply_terms(attr, pmu, text, 1, err);
	return err_set(err, "PMU '%s' has no term '%s'; see %s/%s/format", pmu, term, DEVICES, pmu);
}

/* NOLINTNEXTLINE(misc-no-recursion): depth is 1 at most */
static int apply_terms(struct perf_event_attr *attr, const char *pmu, char *terms, int depth,
                       struct err *err)
{
	char *state = NULL;

	for (char *term = strtok_r(terms, ",", &state); term; term = strtok_r(NULL, ",", &state))
		if (apply_term(attr, pmu, term, depth, err) < 0)
			return -1;
	return 0;
}

int sysevents_pmu(struct event_list *events, const char *text, struct err *err)
{
	const char *slash = strchr(text, '/'), *end = strrchr(text, '/');
	char *pmu, *terms;
	struct event *event;
	int type, result;

	if (end == slash || end[1])
		return err_set(err, "event '%s': a PMU event is written PMU/term=value,.../", text);
	pmu = mem_strndup(text, (size_t)(slash - text));
	type = sysevents_pmu_type(pmu);
	if (type < 0) {
		err_set(err, "this machine has no PMU '%s'; 'collect --list' prints its events",
		        pmu);
		free(pmu);
		return -1;
	}
	terms = mem_strndup(slash + 1, (size_t)(end - slash - 1));
	event = events_add(events, (uint32_t)type, 0, text);
	result = apply_terms(&event->attr, pmu, terms, 0, err);
	free(terms);
	free(pmu);
	return result;
}

/* ---- tracepoints ---- */

/*
 * Mounts tracefs for this process alone, attached nowhere. Returns the path
 * of the descriptor, or NULL. Source: fsopen(2), fsmount(2), Linux 5.2.
 */
static const char *private_tracefs(void)
{
	static char path[32];
	int context, fd;

	if (path[0])
		return path;
	context = (int)syscall(SYS_fsopen, "tracefs", 1 /* FSOPEN_CLOEXEC */);
	if (context < 0)
		return NULL;
	fd = -1;
	if (syscall(SYS_fsconfig, context, 6 /* FSCONFIG_CMD_CREATE */, NULL, NULL, 0) == 0)
		fd = (int)syscall(SYS_fsmount, context, 1 /* FSMOUNT_CLOEXEC */, 0);
	close(context);
	if (fd < 0)
		return NULL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return path;
}

const char *sysevents_tracefs(struct err *err)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	const char *hidden;
	char path[64];

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(path, sizeof(path), "%s/events", places[i]);
		if (access(path, R_OK | X_OK) == 0)
			return places[i];
		if (errno == EACCES) {
			err_set(err,
			        "tracefs at %s is not readable by user %d; run as root, or let it "
			        "be "
			        "read (mount -o remount,mode=755 %s)",
			        places[i], (int)geteuid(), places[i]);
			return NULL;
		}
	}
	hidden = private_tracefs();
	if (!hidden)
		err_set(err,
		        "tracepoints need tracefs, which is not mounted where this user can see "
		        "it; as root: mount -t tracefs nodev /sys/kernel/tracing");
	return hidden;
}

static int compare_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The entries of a folder that match, sorted; the caller frees each and the array. */
static char **list_matching(const char *folder, const char *pattern, size_t *nr)
{
	size_t capacity = 0;
	char **names = NULL;
	DIR *dir = opendir(folder);
	struct dirent *entry;

	*nr = 0;
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || fnmatch(pattern, entry->d_name, 0) != 0)
			continue;
		MEM_GROW(names, *nr, capacity);
		names[(*nr)++] = mem_strdup(entry->d_name);
	}
	if (dir)
		closedir(dir);
	if (*nr)
		qsort(names, *nr, sizeof(*names), compare_text);
	return names;
}

static void free_list(char **names, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free(names[i]);
	free(names);
}

/* Calls visit for each tracepoint that matches; returns their number. */
static size_t each_tracepoint(const char *tracefs, const char *system, const char *name,
                              void (*visit)(const char *system, const char *name, void *arg),
                              void *arg)
{
	char folder[4096];
	size_t nr_systems, nr_names, found = 0;
	char **systems, **names;

	snprintf(folder, sizeof(folder), "%s/events", tracefs);
	systems = list_matching(folder, system, &nr_systems);
	for (size_t s = 0; s < nr_systems; s++) {
		snprintf(folder, sizeof(folder), "%s/events/%s", tracefs, systems[s]);
		names = list_matching(folder, name, &nr_names);
		for (size_t n = 0; n < nr_names; n++) {
			snprintf(folder, sizeof(folder), "%s/events/%s/%s/id", tracefs, systems[s],
			         names[n]);
			if (access(folder, F_OK) != 0)
				continue;
			visit(systems[s], names[n], arg);
			found++;
		}
		free_list(names, nr_names);
	}
	free_list(systems, nr_systems);
	return found;
}

struct add_tracepoint {
	struct event_list *events;
	const char *tracefs;
};

static void add_tracepoint(const char *system, const char *name, void *arg)
{
	struct add_tracepoint *add = arg;
	char text[32];
	uint64_t id;
	struct event *event;
	char *full;

	if (procfile_line(text, sizeof(text), "%s/events/%s/%s/id", add->tracefs, system, name) <
	            0 ||
	    num_parse_u64(text, strlen(text), &id) < 0)
		return;
	full = mem_printf("%s:%s", system, name);
	event = events_add(add->events, PERF_TYPE_TRACEPOINT, id, full);
	event->attr.sample_period = 1;
	event->tracepoint = full;
}

int sysevents_tracepoints(struct event_list *events, const char *text, struct err *err)
{
	const char *colon = strchr(text, ':');
	struct add_tracepoint add = {events, sysevents_tracefs(err)};
	char *system, *near;
	size_t before = events->nr;

	if (!add.tracefs)
		return err_prefix(err, "event '%s'", text);
	system = mem_strndup(text, (size_t)(colon - text));
	each_tracepoint(add.tracefs, system, colon + 1, add_tracepoint, &add);
	free(system);
	if (events->nr > before)
		return 0;
	near = sysevents_nearest(text);
	if (near)
		err_set(err, "no tracepoint '%s'; did you mean '%s'?", text, near);
	else
		err_set(err,
		        "no tracepoint '%s'; 'collect --list %.*s:*' prints those of this machine",
		        text, (int)(colon - text), text);
	free(near);
	return -1;
}

/* ---- listing ---- */

struct name_list {
	char **at;
	size_t nr, capacity;
};

static void add_name(const char *name, const char *about UNUSED, void *arg)
{
	struct name_list *list = arg;
	const char *of_pmu = strstr(name, "::");

	MEM_GROW(list->at, list->nr, list->capacity);
	list->at[list->nr++] = mem_strdup(name);
	if (!of_pmu)
		return;
	/* such names are also known without their PMU */
	MEM_GROW(list->at, list->nr, list->capacity);
	list->at[list->nr++] = mem_strdup(of_pmu + 2);
}

char *sysevents_nearest(const char *text)
{
	struct name_list list = {0};
	const char *near;
	char *copy;

	sysevents_each(add_name, &list);
	near = opts_nearest(text, (const char *const *)list.at, list.nr);
	copy = near ? mem_strdup(near) : NULL;
	free_list(list.at, list.nr);
	return copy;
}

struct list_visit {
	void (*visit)(const char *name, const char *about, void *arg);
	void *arg;
};

static void list_tracepoint(const char *system, const char *name, void *arg)
{
	struct list_visit *list = arg;
	char *full = mem_printf("%s:%s", system, name);

	list->visit(full, "tracepoint", list->arg);
	free(full);
}

void sysevents_each(void (*visit)(const char *name, const char *about, void *arg), void *arg)
{
	struct list_visit list = {visit, arg};
	size_t nr_pmus, nr_names;
	char **pmus = list_matching(DEVICES, "*", &nr_pmus), **names;
	const char *tracefs;
	struct err err;

	for (size_t p = 0; p < nr_pmus; p++) {
		char folder[512], terms[256];

		snprintf(folder, sizeof(folder), DEVICES "/%s/events", pmus[p]);
		names = list_matching(folder, "*", &nr_names);
		for (size_t n = 0; n < nr_names; n++) {
			/* NAME.unit and NAME.scale describe NAME */
			if (strchr(names[n], '.') ||
			    procfile_line(terms, sizeof(terms), "%s/%s", folder, names[n]) < 0)
				continue;
			char *full = mem_printf("%s/%s/", pmus[p], names[n]);

			visit(full, terms, arg);
			free(full);
		}
		free_list(names, nr_names);
	}
	free_list(pmus, nr_pmus);
	pfmnames_each(visit, arg);
	tracefs = sysevents_tracefs(&err);
	if (tracefs)
		each_tracepoint(tracefs, "*", "*", list_tracepoint, &list);
}
