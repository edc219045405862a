#include "share/compat.h"
#include "collect/probes.h"

#include "collect/elfsyms.h"
#include "collect/sysevents.h"
#include "share/mem.h"
#include "share/num.h"
#include "share/opts.h"

#include <unistd.h>

static const struct {
	const char *prefix, *pmu;
	bool returns;
} kinds[] = {
        {"uprobe:", "uprobe", false}, {"uretprobe:", "uprobe", true}, {"usdt:", "uprobe", false},
        {"kprobe:", "kprobe", false}, {"kretprobe:", "kprobe", true},
};

static int kind_of(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strncmp(text, kinds[i].prefix, strlen(kinds[i].prefix)) == 0)
			return (int)i;
	return -1;
}

bool probes_is(const char *text)
{
	return kind_of(text) >= 0;
}

static struct event *add_probe(struct event_list *events, const char *text, int type, bool returns,
                               const char *where, uint64_t offset)
{
	struct event *event = events_add(events, (uint32_t)type, returns ? 1 : 0, text);

	event->probe = mem_strdup(where);
	event->attr.config1 = (uint64_t)(uintptr_t)event->probe;
	event->attr.config2 = offset;
	event->attr.sample_period = 1;
	return event;
}

/*
 * A file as named, or found as the shell and the dynamic linker would: a
 * plain name in PATH, then among the libraries. The caller frees; NULL where
 * there is none.
 */
static char *find_file(const char *name)
{
	static const char *const libraries[] = {
	        "/lib64", "/usr/lib64", "/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
	        "/lib",   "/usr/lib",   "/usr/local/lib",
	};
	const char *path = getenv("PATH");
	char *full;

	if (strchr(name, '/'))
		return realpath(name, NULL);
	while (path && *path) {
		size_t size = strcspn(path, ":");

		full = mem_printf("%.*s/%s", (int)size, path, name);
		if (access(full, X_OK) == 0)
			goto found;
		free(full);
		path += size + (path[size] == ':');
	}
	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++) {
		full = mem_printf("%s/%s", libraries[i], name);
		if (access(full, R_OK) == 0)
			goto found;
		free(full);
	}
	return NULL;
found:
	/* the kernel wants the file itself, not a link that moves on */
	{
		char *real = realpath(full, NULL);

		free(full);
		return real;
	}
}

/* ---- functions ---- */

struct names {
	const char **at;
	size_t nr, capacity;
};

static bool add_name(const char *name, uint64_t vaddr UNUSED, void *arg)
{
	struct names *names = arg;

	MEM_GROW(names->at, names->nr, names->capacity);
	names->at[names->nr++] = name;
	return false;
}

static int no_function(const struct elfsyms *elf, const char *symbol, const char *path,
                       struct err *err)
{
	struct names names = {0};
	const char *near;

	elfsyms_each(elf, add_name, &names);
	near = names.nr ? opts_nearest(symbol, names.at, names.nr) : NULL;
	if (near)
		err_set(err, "'%s' has no function '%s'; did you mean '%s'?", path, symbol, near);
	else if (names.nr)
		err_set(err, "'%s' has no function '%s' among its %zu symbols", path, symbol,
		        names.nr);
	else
		err_set(err,
		        "'%s' has no symbols (it is stripped); give the place as a file offset, "
		        "0x...",
		        path);
	free(names.at);
	return -1;
}

/* "SYMBOL", "SYMBOL+OFFSET" or "0xOFFSET" to an offset in the file. */
static int place_of(const struct elfsyms *elf, const char *place, const char *path,
                    uint64_t *offset, struct err *err)
{
	const char *plus = strrchr(place, '+');
	uint64_t more = 0;
	char *symbol;
	int result;

	if (strncmp(place, "0x", 2) == 0 && num_parse_hex(place, strlen(place), offset) == 0)
		return 0;
	if (plus && num_parse_u64(plus + 1, strlen(plus + 1), &more) < 0 &&
	    num_parse_hex(plus + 1, strlen(plus + 1), &more) < 0)
		plus = NULL;
	symbol = mem_strndup(place, plus ? (size_t)(plus - place) : strlen(place));
	result = elfsyms_function(elf, symbol, offset);
	if (result < 0)
		no_function(elf, symbol, path, err);
	*offset += more;
	free(symbol);
	return result;
}

/* ---- USDT ---- */

struct usdt {
	struct event_list *events;
	const char *text, *path, *provider, *name;
	int type;
	size_t nr_found, nr_other;
	const char *other; /* a probe of the file, for the error message */
	const char *other_provider;
};

static bool add_usdt(const struct elfsyms_usdt *probe, void *arg)
{
	struct usdt *usdt = arg;
	struct event *event;

	if (strcmp(probe->name, usdt->name) != 0 ||
	    (*usdt->provider && strcmp(probe->provider, usdt->provider) != 0)) {
		usdt->nr_other++;
		usdt->other = probe->name;
		usdt->other_provider = probe->provider;
		return false;
	}
	event = add_probe(usdt->events, usdt->text, usdt->type, false, usdt->path, probe->offset);
	/* the program skips the probe's arguments while this counter is zero */
	event->attr.config |= probe->semaphore << 32;
	usdt->nr_found++;
	return false;
}

static int parse_usdt(struct event_list *events, const struct elfsyms *elf, const char *text,
                      const char *path, const char *what, int type, struct err *err)
{
	const char *colon = strchr(what, ':');
	char *provider = colon ? mem_strndup(what, (size_t)(colon - what)) : mem_strdup("");
	struct usdt usdt = {
	        .events = events,
	        .text = text,
	        .path = path,
	        .provider = provider,
	        .name = colon ? colon + 1 : what,
	        .type = type,
	};

	elfsyms_each_usdt(elf, add_usdt, &usdt);
	free(provider);
	if (usdt.nr_found)
		return 0;
	if (usdt.nr_other)
		return err_set(err, "'%s' has no USDT probe '%s'; it has %zu others, such as %s:%s",
		               path, what, usdt.nr_other, usdt.other_provider, usdt.other);
	return err_set(err, "'%s' has no USDT probes", path);
}

/* ---- all ---- */

static int parse_user(struct event_list *events, const char *text, int kind, int type,
                      struct err *err)
{
	const char *name = text + strlen(kinds[kind].prefix), *colon = strchr(name, ':');
	struct elfsyms elf;
	uint64_t offset = 0;
	char *file, *path;
	int result;

	if (!colon || colon == name || !colon[1])
		return err_set(err, "event '%s' is not of the form %sFILE:%s", text,
		               kinds[kind].prefix,
		               strcmp(kinds[kind].prefix, "usdt:") == 0 ? "PROVIDER:NAME" :
		                                                          "SYMBOL[+OFFSET]");
	file = mem_strndup(name, (size_t)(colon - name));
	path = find_file(file);
	if (!path) {
		err_sys(err, "event '%s': cannot find '%s'", text, file);
		free(file);
		return -1;
	}
	free(file);
	result = elfsyms_open(&elf, path, err);
	if (result == 0 && strcmp(kinds[kind].prefix, "usdt:") == 0) {
		result = parse_usdt(events, &elf, text, path, colon + 1, type, err);
	} else if (result == 0) {
		result = place_of(&elf, colon + 1, path, &offset, err);
		if (result == 0)
			add_probe(events, text, type, kinds[kind].returns, path, offset);
	}
	elfsyms_close(&elf);
	free(path);
	return result < 0 ? err_prefix(err, "event '%s'", text) : 0;
}

int probes_parse(struct event_list *events, const char *text, struct err *err)
{
	int kind = kind_of(text), type = sysevents_pmu_type(kinds[kind].pmu);
	const char *symbol = text + strlen(kinds[kind].prefix), *plus;
	uint64_t offset = 0;
	char *function;

	if (type < 0)
		return err_set(err, "event '%s': this kernel has no %ss (built without CONFIG_%s)",
		               text, kinds[kind].pmu,
		               kinds[kind].pmu[0] == 'k' ? "KPROBE_EVENTS" : "UPROBE_EVENTS");
	if (kinds[kind].pmu[0] == 'u')
		return parse_user(events, text, kind, type, err);
	plus = strchr(symbol, '+');
	if (plus && num_parse_hex(plus + 1, strlen(plus + 1), &offset) < 0)
		return err_set(err, "event '%s': '%s' is no offset", text, plus + 1);
	function = mem_strndup(symbol, plus ? (size_t)(plus - symbol) : strlen(symbol));
	add_probe(events, text, type, kinds[kind].returns, function, offset);
	free(function);
	return 0;
}
