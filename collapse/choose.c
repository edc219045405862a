#include "share/compat.h"
#include "collapse/choose.h"

#include "collapse/offcpu.h"

static bool event_matches(const struct event *event, const char *name)
{
	struct slice base = event_base_name(event);
	const char *colon;

	if (strcmp(event->name, name) == 0 || slice_equals(base, name))
		return true;
	/* "cycles" for "cycles:ppp", but not "sched" for "sched:sched_switch" */
	colon = memchr(base.at, ':', base.size);
	return event->attr.type != PERF_TYPE_TRACEPOINT && colon &&
	       slice_equals((struct slice){base.at, (size_t)(colon - base.at)}, name);
}

static int no_such_event(const struct reader *reader, const char *name, struct err *err)
{
	struct buf list = {0};

	for (size_t i = 0; i < reader->events.nr; i++)
		buf_printf(&list, "%s%s", i ? ", " : "", reader->events.at[i]->name);
	err_set(err, "no event '%s' in '%s', which has: %.800s", name, input_name(reader->in),
	        buf_text(&list));
	buf_release(&list);
	return -1;
}

/*
 * The event that is sampled when a thread leaves its CPU: sched:sched_switch
 * where there is one, since it says why. With wall the first event
 * that is sampled on the CPU too.
 */
static int choose_switches(struct reader *reader, bool wall, struct event **chosen, struct err *err)
{
	struct events *events = &reader->events;
	struct event *on_cpu = NULL;

	for (size_t i = 0; i < events->nr; i++) {
		struct event *event = events->at[i];

		if (offcpu_is_switch(event)) {
			if (!*chosen || event->attr.type == PERF_TYPE_TRACEPOINT)
				*chosen = event;
		} else if (!on_cpu && !event_is_dummy(event)) {
			on_cpu = event;
		}
	}
	if (!*chosen)
		return err_set(err,
		               "'%s' has no context switches with stacks; record them with "
		               "collect --off-cpu, or perf record -g -e context-switches -c 1 "
		               "--switch-events",
		               input_name(reader->in));
	(*chosen)->is_selected = true;
	if (wall && !on_cpu)
		return err_set(err,
		               "'%s' has no samples of what ran on the CPU; record an event such "
		               "as cpu-clock beside the context switches",
		               input_name(reader->in));
	if (wall)
		on_cpu->is_selected = true;
	return 0;
}

void choose_instead(struct reader *reader, const struct event *event)
{
	struct events *events = &reader->events;

	for (size_t i = 0; i < events->nr; i++)
		events->at[i]->is_selected =
		        events->at[i] == event || event_is_twin(events->at[i], event);
}

int choose_events(struct reader *reader, const struct recording_options *options, bool *is_mixed,
                  struct err *err)
{
	struct events *events = &reader->events;
	struct event *first = NULL;

	*is_mixed = false;
	if (options->off_cpu) {
		if (choose_switches(reader, options->wall, &first, err) < 0)
			return -1;
	} else if (options->events) {
		for (const char *const *name = options->events; *name; name++) {
			bool is_found = false;

			for (size_t i = 0; i < events->nr; i++) {
				if (!event_matches(events->at[i], *name))
					continue;
				is_found = events->at[i]->is_selected = true;
			}
			if (!is_found)
				return no_such_event(reader, *name, err);
		}
	} else if (options->all_events || options->check) {
		for (size_t i = 0; i < events->nr; i++)
			events->at[i]->is_selected = true;
	} else {
		for (size_t i = 0; i < events->nr && !first; i++)
			if (!event_is_dummy(events->at[i]))
				first = events->at[i];
		if (!first && events->nr)
			first = events->at[0];
		if (first)
			choose_instead(reader, first);
	}
	/* time on and off the CPU is the one sum that unlike events make */
	if (options->off_cpu)
		return 0;
	/* unlike events are never added up: each below a frame of its own */
	first = NULL;
	for (size_t i = 0; i < events->nr; i++) {
		if (!events->at[i]->is_selected)
			continue;
		if (!first)
			first = events->at[i];
		*is_mixed |= events->at[i] != first && !event_is_twin(first, events->at[i]);
	}
	*is_mixed |= options->all_events;
	return 0;
}
