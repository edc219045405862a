#include "share/compat.h"
#include "collapse/formats/textin.h"

#include "share/mem.h"

void textin_events_release(struct textin_events *events)
{
	for (size_t i = 0; i < events->nr; i++)
		free(events->at[i].name);
	free(events->at);
	free(events->first);
}

/* On machines with two kinds of core one event has two names. */
static struct slice base_name(struct slice event)
{
	const char *slash;

	if (!slice_starts(event, "cpu_core/") && !slice_starts(event, "cpu_atom/") &&
	    !slice_starts(event, "cpu_lowpower/"))
		return event;
	slash = memchr(event.at, '/', event.size) + 1;
	event.size -= (size_t)(slash - event.at);
	event.at = slash;
	slash = memchr(event.at, '/', event.size);
	if (slash)
		event.size = (size_t)(slash - event.at);
	return event;
}

static bool is_same_event(struct slice a, const char *name)
{
	struct slice b = {name, strlen(name)}, x, y;

	if (a.size == b.size && memcmp(a.at, b.at, a.size) == 0)
		return true;
	x = base_name(a);
	y = base_name(b);
	return x.at != a.at && y.at != b.at && x.size == y.size && memcmp(x.at, y.at, x.size) == 0;
}

/* "cycles" is what "cycles:u" is called without its modifiers. */
static bool is_called(struct slice event, const char *name)
{
	size_t size = strlen(name);

	if (event.size <= size + 1 || memcmp(event.at, name, size) != 0 || event.at[size] != ':')
		return false;
	for (size_t i = size + 1; i < event.size; i++)
		if (!strchr("ukhHGpPSDIWeb", event.at[i]))
			return false;
	return true;
}

static bool is_chosen(struct textin_events *events, struct slice name)
{
	const struct format_options *options = events->options;

	if (options->all_events || !name.size)
		return true;
	if (options->events) {
		for (size_t i = 0; options->events[i]; i++)
			if (options->flamegraph_compat ?
			            slice_equals(name, options->events[i]) :
			            is_same_event(name, options->events[i]) ||
			                    is_called(name, options->events[i]) ||
			                    slice_equals(base_name(name), options->events[i]))
				return true;
		return false;
	}
	if (!events->first)
		events->first = mem_strndup(name.at, name.size);
	/* there every name is an event of its own, twins too */
	return options->flamegraph_compat ? slice_equals(name, events->first) :
	                                    is_same_event(name, events->first);
}

static bool is_named(const struct textin_event *event, struct slice name)
{
	return event->name_size == name.size && memcmp(event->name, name.at, name.size) == 0;
}

struct textin_event *textin_events_find(struct textin_events *events, struct folder *folder,
                                        struct slice name)
{
	const struct format_options *options = events->options;
	struct textin_event *event;
	bool has_root = options->all_events ||
	                (options->events && options->events[0] && options->events[1]);

	if (events->last < events->nr && is_named(&events->at[events->last], name))
		return &events->at[events->last];
	for (size_t i = 0; i < events->nr; i++) {
		if (is_named(&events->at[i], name)) {
			events->last = i;
			return &events->at[i];
		}
	}
	/* more distinct names than a recording can hold: not a list of events */
	if (events->nr == TEXTIN_EVENTS_MAX)
		return &events->at[TEXTIN_EVENTS_MAX - 1];
	MEM_GROW(events->at, events->nr, events->capacity);
	event = &events->at[events->nr++];
	*event = (struct textin_event){.name = mem_strndup(name.at, name.size),
	                               .name_size = name.size,
	                               .is_chosen = is_chosen(events, name)};
	if (has_root && event->is_chosen)
		event->root = folder_child(folder, 0, folder_name(folder, name.at, name.size));
	events->last = events->nr - 1;
	return event;
}
