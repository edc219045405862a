#include "share/compat.h"
#include "collect/pfmnames.h"

#include "collect/library.h"
#include "share/mem.h"

#include <dlfcn.h>

#define LIBRARY "libpfm.so.4"

/* of <perfmon/pfmlib.h> */
#define PFM_SUCCESS           0
#define PFM_ERR_NOTFOUND      (-4)
#define PFM_OS_PERF_EVENT_EXT 2
#define PFM_PLM_ALL           (0x01 | 0x08) /* kernel and user */
#define PFM_ATTR_UMASK        1
#define PFM_MAX_PMU           2000 /* the library refuses numbers beyond its own */

struct encoding {
	struct perf_event_attr *attr;
	char **full_name;
	size_t size;
	int idx, cpu, flags, padding;
};

struct pmu_info {
	const char *name, *about;
	size_t size;
	int pmu, type, nr_events, first_event, max_encoding, nr_counters, nr_fixed;
	unsigned int is_present : 1, others : 31;
};

struct event_info {
	const char *name, *about, *equivalent;
	size_t size;
	uint64_t code;
	int pmu, dtype, idx, nr_attributes, reserved;
	unsigned int flags;
};

struct attribute_info {
	const char *name, *about, *equivalent;
	size_t size;
	uint64_t code;
	int type, idx, ctrl;
	unsigned int flags;
	uint64_t default_value;
};

struct pfm {
	int (*initialize)(void);
	const char *(*text_of)(int code);
	int (*encode)(const char *text, int privileges, int os, void *encoding);
	int (*pmu_info)(int pmu, struct pmu_info *info);
	int (*event_info)(int idx, int os, struct event_info *info);
	int (*next_event)(int idx);
	int (*attribute_info)(int idx, int attribute, int os, struct attribute_info *info);
};

/* The library, loaded once for the whole run; NULL where it is not there. */
static const struct pfm *load(void)
{
	static struct pfm pfm;
	static bool tried, loaded;
	void *library = tried ? NULL : library_open(LIBRARY);

	tried = true;
	if (!library)
		return loaded ? &pfm : NULL;
	pfm.initialize = dlsym(library, "pfm_initialize");
	pfm.text_of = dlsym(library, "pfm_strerror");
	pfm.encode = dlsym(library, "pfm_get_os_event_encoding");
	pfm.pmu_info = dlsym(library, "pfm_get_pmu_info");
	pfm.event_info = dlsym(library, "pfm_get_event_info");
	pfm.next_event = dlsym(library, "pfm_get_event_next");
	pfm.attribute_info = dlsym(library, "pfm_get_event_attr_info");
	loaded = pfm.initialize && pfm.text_of && pfm.encode && pfm.pmu_info && pfm.event_info &&
	         pfm.next_event && pfm.attribute_info && pfm.initialize() == PFM_SUCCESS;
	return loaded ? &pfm : NULL;
}

int pfmnames_parse(struct event_list *events, const char *text, struct err *err)
{
	const struct pfm *pfm = load();
	struct perf_event_attr attr = {.size = sizeof(attr)}, *to;
	struct encoding encoding = {.attr = &attr, .size = sizeof(encoding), .cpu = -1};
	int code;

	err_set(err, "%s", "");
	if (!pfm)
		return strstr(text, "::") ?
		               err_set(err,
		                       "event '%s' is a name of libpfm4, whose " LIBRARY
		                       " is not on this machine: install it, or write the event "
		                       "as cpu/event=0x..,umask=0x../ or rNNN",
		                       text) :
		               -1;
	code = pfm->encode(text, PFM_PLM_ALL, PFM_OS_PERF_EVENT_EXT, &encoding);
	if (code != PFM_SUCCESS && (code != PFM_ERR_NOTFOUND || strstr(text, "::")))
		return err_set(err, "event '%s': libpfm4 says: %s", text, pfm->text_of(code));
	if (code != PFM_SUCCESS)
		return -1;
	to = &events_add(events, attr.type, attr.config, text)->attr;
	to->config1 = attr.config1;
	to->config2 = attr.config2;
	to->exclude_user = attr.exclude_user;
	to->exclude_kernel = attr.exclude_kernel;
	to->exclude_guest = attr.exclude_guest;
	to->exclude_host = attr.exclude_host;
	to->precise_ip = attr.precise_ip;
	to->pinned = attr.pinned;
	if (!attr.freq)
		to->sample_period = attr.sample_period;
	return 0;
}

static void visit_event(const struct pfm *pfm, const char *pmu, const struct event_info *event,
                        void (*visit)(const char *name, const char *about, void *arg), void *arg)
{
	char *name = mem_printf("%s::%s", pmu, event->name);

	visit(name, event->about, arg);
	free(name);
	for (int i = 0; i < event->nr_attributes; i++) {
		struct attribute_info info = {.size = sizeof(info)};

		if (pfm->attribute_info(event->idx, i, PFM_OS_PERF_EVENT_EXT, &info) !=
		            PFM_SUCCESS ||
		    info.type != PFM_ATTR_UMASK)
			continue;
		name = mem_printf("%s::%s:%s", pmu, event->name, info.name);
		visit(name, info.about, arg);
		free(name);
	}
}

void pfmnames_each(void (*visit)(const char *name, const char *about, void *arg), void *arg)
{
	const struct pfm *pfm = load();

	for (int pmu = 0; pfm && pmu < PFM_MAX_PMU; pmu++) {
		struct pmu_info info = {.size = sizeof(info)};

		/* the "PMUs" of the kernel's own names repeat what is listed anyway */
		if (pfm->pmu_info(pmu, &info) != PFM_SUCCESS || !info.is_present ||
		    strncmp(info.name, "perf", 4) == 0)
			continue;
		for (int idx = info.first_event; idx >= 0; idx = pfm->next_event(idx)) {
			struct event_info event = {.size = sizeof(event)};

			if (pfm->event_info(idx, PFM_OS_PERF_EVENT_EXT, &event) == PFM_SUCCESS)
				visit_event(pfm, info.name, &event, visit, arg);
		}
	}
}
