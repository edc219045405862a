#include "share/compat.h"
#include "collapse/choose.h"

#include "collapse/moves.h"
#include "share/mem.h"

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

static int no_switches(const struct reader *reader, struct err *err)
{
	return err_set(err,
	               "'%s' has no context switches with stacks; record them with "
	               "collect --off-cpu, or perf record -g -e context-switches -c 1 "
	               "--switch-events",
	               input_name(reader->in));
}

/* Whether this one tells of wakeups better than that one: in the thread that wakes. */
static bool wakes_better(const struct event *event, const struct event *than)
{
	return !than || strcmp(event->name, "sched:sched_wakeup") != 0;
}

/*
 * The event that is sampled when a thread leaves its CPU: sched:sched_switch
 * where there is one, since it says why; or the one that tells of waits when
 * they are over. Those that tell of wakeups. For wall time the first event
 * that is sampled on the CPU too.
 */
static int choose_switches(struct reader *reader, const struct timing_options *options,
                           struct err *err)
{
	struct events *events = &reader->events;
	struct event *chosen = NULL, *on_cpu = NULL, *waking = NULL;
	bool has_waits = false;

	for (size_t i = 0; i < events->nr; i++) {
		struct event *event = events->at[i];

		if (moves_is_wait(event) || moves_is_short(event)) {
			event->is_selected = has_waits = true;
		} else if (moves_is_switch(event)) {
			if (!chosen || event->attr.type == PERF_TYPE_TRACEPOINT)
				chosen = event;
		} else if (strcmp(event->name, "sched:sched_wakeup_new") == 0) {
			event->is_selected = true;
		} else if (moves_is_waking(event)) {
			if (wakes_better(event, waking))
				waking = event;
		} else if (!on_cpu && !event_is_dummy(event)) {
			on_cpu = event;
		}
	}
	if (!chosen && !has_waits)
		return no_switches(reader, err);
	if (!chosen && options->what == TIMING_TIMEHIST)
		return err_set(err,
		               "'%s' tells of waits when they are over, not of each switch; record "
		               "with collect --off-cpu --min-block 0",
		               input_name(reader->in));
	if (chosen && (!has_waits || options->what == TIMING_TIMEHIST))
		chosen->is_selected = true;
	if (waking)
		waking->is_selected = true;
	else if (options->what == TIMING_RUN_QUEUE || options->by_waker)
		return err_set(err,
		               "'%s' does not tell who woke whom; record the event "
		               "sched:sched_waking too, as collect --off-cpu does where tracefs "
		               "can be read",
		               input_name(reader->in));
	if (options->what == TIMING_WALL && !on_cpu)
		return err_set(err,
		               "'%s' has no samples of what ran on the CPU; record an event such "
		               "as cpu-clock beside the context switches",
		               input_name(reader->in));
	if (options->what == TIMING_WALL)
		on_cpu->is_selected = true;
	return 0;
}

static struct event *find_event(const struct reader *reader, const char *name)
{
	for (size_t i = 0; i < reader->events.nr; i++)
		if (event_matches(reader->events.at[i], name))
			return reader->events.at[i];
	return NULL;
}

/* "enter,exit"; a name may hold commas, as paths of probes do. */
static int choose_pair(struct reader *reader, const char *pair, struct choice *choice,
                       struct err *err)
{
	struct event *enter = NULL, *leave = NULL;
	const char *rest = NULL;

	for (const char *comma = strchr(pair, ','); comma && !leave;
	     comma = strchr(comma + 1, ',')) {
		char *name = mem_strndup(pair, (size_t)(comma - pair));
		struct event *found = find_event(reader, name);

		free(name);
		if (!found)
			continue;
		enter = found;
		rest = comma + 1;
		leave = find_event(reader, rest);
	}
	if (!enter)
		return no_such_event(reader, pair, err);
	if (!leave)
		return no_such_event(reader, rest, err);
	enter->is_selected = leave->is_selected = true;
	choice->enter = enter;
	choice->leave = leave;
	return 0;
}

/* Selects this event, and what counts as one with it, in place of all others. */
static void choose_instead(struct reader *reader, const struct event *event)
{
	struct events *events = &reader->events;

	for (size_t i = 0; i < events->nr; i++)
		events->at[i]->is_selected =
		        events->at[i] == event || event_is_twin(events->at[i], event);
}

static const struct event *first_selected(const struct reader *reader)
{
	for (size_t i = 0; i < reader->events.nr; i++)
		if (reader->events.at[i]->is_selected)
			return reader->events.at[i];
	return NULL;
}

bool choose_by_sample(struct reader *reader, const struct event *event)
{
	const struct event *now = first_selected(reader);

	if (event_is_dummy(event) || event->is_selected)
		return false;
	if (now->nr_samples && now->index < event->index)
		return false;
	choose_instead(reader, event);
	return true;
}

/* The event of the recording that its samples choose, by index; nr where they choose none. */
static size_t scan(const struct reader *chosen, struct reader *reader)
{
	size_t found = chosen->events.nr;
	struct record record;
	struct event *event;
	uint64_t time;

	while (reader_next(reader, &record)) {
		if (record.type != PERF_RECORD_SAMPLE)
			continue;
		event = events_of_record(&reader->events, record.at, record.size, record.type,
		                         reader->swap, &time);
		if (!event || event->index >= chosen->events.nr || event_is_dummy(event))
			continue;
		found = MIN_OF(found, (size_t)event->index);
		if (chosen->events.at[event->index]->is_selected)
			return event->index;
	}
	return found;
}

void choose_by_scan(struct reader *reader)
{
	struct reader *again = NULL;
	struct input *in = NULL;
	size_t index = reader->events.nr;
	struct err err;

	if (input_is_mapped(reader->in) && strcmp(input_name(reader->in), "stdin") != 0)
		in = input_open(input_name(reader->in), 0, &err);
	if (in)
		again = reader_open(in, &err);
	if (again)
		index = scan(reader, again);
	if (index < reader->events.nr && !reader->events.at[index]->is_selected)
		choose_instead(reader, reader->events.at[index]);
	if (again)
		reader_close(again);
	if (in)
		input_close(in);
}

int choose_events(struct reader *reader, const struct recording_options *options,
                  struct choice *choice, struct err *err)
{
	struct events *events = &reader->events;
	struct event *first = NULL;

	*choice = (struct choice){0};
	/* times on and off the CPU are the one sum that unlike events make */
	if (options->timing.what == TIMING_LATENCY)
		return choose_pair(reader, options->timing.pair, choice, err);
	if (options->timing.what)
		return choose_switches(reader, &options->timing, err);
	if (options->events) {
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
	/* unlike events are never added up: each below a frame of its own */
	first = NULL;
	for (size_t i = 0; i < events->nr; i++) {
		if (!events->at[i]->is_selected)
			continue;
		if (!first)
			first = events->at[i];
		choice->is_mixed |= events->at[i] != first && !event_is_twin(first, events->at[i]);
	}
	choice->is_mixed |= options->all_events;
	return 0;
}
