#include "share/compat.h"
#include "collect/listing.h"

#include "collect/events.h"
#include "collect/sysevents.h"

#include <fnmatch.h>
#include <sys/syscall.h>
#include <unistd.h>

struct listing {
	struct output *out;
	const char *glob;
	size_t nr;
};

static void print(const char *name, const char *about, void *arg)
{
	struct listing *listing = arg;

	if (listing->glob && fnmatch(listing->glob, name, 0) != 0)
		return;
	output_printf(listing->out, "%-40s %s\n", name, about);
	listing->nr++;
}

/* Whether the kernel has an event at all, for this very process. */
static bool is_offered(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = {
	        .type = type,
	        .size = sizeof(attr),
	        .config = config,
	        .disabled = 1,
	        .exclude_kernel = 1,
	        .exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int listing_print(struct output *out, const char *glob, struct err *err)
{
	struct listing listing = {.out = out, .glob = glob};
	char name[48], about[128];
	uint64_t config;

	for (size_t i = 0; i < nr_event_names; i++) {
		const struct event_name *event = &event_names[i];

		snprintf(about, sizeof(about), "%s%s", event->about,
		         is_offered(event->type, event->config) ? "" : " (not on this machine)");
		print(event->name, about, &listing);
	}
	for (size_t i = 0; (config = event_cache_name(i, name)); i++)
		if (is_offered(PERF_TYPE_HW_CACHE, config & 0xffffff))
			print(name, "cache event", &listing);
	sysevents_each(print, &listing);
	if (sysevents_pmu_type("uprobe") >= 0) {
		print("uprobe:FILE:SYMBOL", "a function of a program or library is reached",
		      &listing);
		print("uretprobe:FILE:SYMBOL", "it returns", &listing);
		print("usdt:FILE:PROVIDER:NAME", "a statically defined probe is hit", &listing);
	}
	if (sysevents_pmu_type("kprobe") >= 0) {
		print("kprobe:SYMBOL", "a function of the kernel is reached", &listing);
		print("kretprobe:SYMBOL", "it returns", &listing);
	}
	print("mem:ADDR[/LEN]:rwx", "an address is read, written or executed", &listing);
	if (!listing.nr)
		return err_set(err, "no event of this machine matches '%s'", glob);
	return 0;
}
