#include "share/compat.h"
#include "collapse/formats/spans.h"

#include "share/mem.h"

void spans_release(struct spans *spans)
{
	free(spans->events);
	free(spans->roots);
	*spans = (struct spans){0};
}

uint32_t spans_thread(struct spans *spans, uint32_t root)
{
	MEM_GROW(spans->roots, spans->nr_threads, spans->threads_capacity);
	spans->roots[spans->nr_threads] = root;
	return (uint32_t)spans->nr_threads++;
}

static void add_event(struct spans *spans, struct span_event event)
{
	MEM_GROW(spans->events, spans->nr, spans->capacity);
	spans->events[spans->nr++] = event;
}

void spans_event(struct spans *spans, uint32_t thread, enum span_kind kind, uint32_t name,
                 __int128 at)
{
	add_event(spans, (struct span_event){at, 0, thread, name, (uint32_t)spans->nr, kind});
}

void spans_whole(struct spans *spans, uint32_t thread, uint32_t name, __int128 at, __int128 length)
{
	uint32_t order = (uint32_t)spans->nr;

	if (length <= 0)
		return;
	add_event(spans, (struct span_event){at, length, thread, name, order, SPAN_WHOLE});
	add_event(spans, (struct span_event){at + length, 0, thread, name, order, SPAN_END_WHOLE});
}

/* Ends of whole spans come before what begins at that time, all else as it arrived. */
static int by_time(const void *a, const void *b)
{
	const struct span_event *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if ((x->kind == SPAN_END_WHOLE) != (y->kind == SPAN_END_WHOLE))
		return x->kind == SPAN_END_WHOLE ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int longest_first(const void *a, const void *b)
{
	const struct span_event *x = a, *y = b;

	if (x->length != y->length)
		return x->length > y->length ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Whole spans that begin together and follow each other: the longer is the caller. */
static void nest_equal_begins(struct spans *spans)
{
	for (size_t i = 0; i < spans->nr;) {
		const struct span_event *first = &spans->events[i];
		size_t end = i + 1;

		if (first->kind == SPAN_WHOLE) {
			while (end < spans->nr && spans->events[end].kind == SPAN_WHOLE &&
			       spans->events[end].thread == first->thread &&
			       spans->events[end].at == first->at)
				end++;
			qsort(&spans->events[i], end - i, sizeof(*first), longest_first);
		}
		i = end;
	}
}

struct open_call {
	uint32_t node, name, order;
	bool is_whole, is_over; /* over: ended while calls above it went on */
};

struct replay {
	struct open_call *open;
	size_t nr, capacity;
};

/* Marks the call an end belongs to; false where there is none. */
static bool close_call(struct replay *replay, const struct span_event *event)
{
	bool is_whole = event->kind == SPAN_END_WHOLE;

	for (size_t i = replay->nr; i-- > 0;) {
		struct open_call *call = &replay->open[i];

		if (call->is_over || call->is_whole != is_whole)
			continue;
		if (is_whole ? call->order == event->order :
		               event->name == SPAN_ANY || call->name == event->name) {
			call->is_over = true;
			while (replay->nr && replay->open[replay->nr - 1].is_over)
				replay->nr--;
			return true;
		}
	}
	return false;
}

bool spans_fold(struct spans *spans, struct folder *folder)
{
	struct replay replay = {0};
	__int128 last = 0;
	bool fits = true;

	if (spans->nr)
		qsort(spans->events, spans->nr, sizeof(*spans->events), by_time);
	nest_equal_begins(spans);
	for (size_t i = 0; i < spans->nr && fits; i++) {
		const struct span_event *event = &spans->events[i];
		uint32_t top;

		if (!i || event->thread != spans->events[i - 1].thread)
			replay.nr = 0;
		top = replay.nr ? replay.open[replay.nr - 1].node : spans->roots[event->thread];
		if (replay.nr && event->at > last)
			fits = folder_count(folder, top, (weight_fx)(event->at - last));
		last = event->at;
		switch (event->kind) {
		case SPAN_BEGIN:
		case SPAN_WHOLE:
			MEM_GROW(replay.open, replay.nr, replay.capacity);
			replay.open[replay.nr++] = (struct open_call){
			        folder_child(folder, top, event->name), event->name, event->order,
			        event->kind == SPAN_WHOLE, false};
			break;
		case SPAN_END:
		case SPAN_END_WHOLE:
			spans->nr_unmatched += !close_call(&replay, event);
			break;
		case SPAN_TICK:
			break;
		}
	}
	free(replay.open);
	return fits;
}
