/*
 * events.h - the events that a recording was made with, and which of them a
 * record belongs to.
 *
 * Decides names of events that come without one, and which unlike events are
 * one intent (the halves of a hybrid pair). Does not choose what is folded.
 *
 * Pointers to events stay valid until events_release().
 */
#ifndef COLLAPSE_EVENTS_H
#define COLLAPSE_EVENTS_H

#include "share/compat.h"
#include "share/perfrec.h"

/* Where a record tells which event it is of, and when: below 0 from its end; 0 = nowhere. */
struct event_offsets {
	int32_t id, time;
};

struct event {
	uint32_t index; /* in order of appearance */
	struct perf_event_attr attr;
	struct event_offsets of_sample, of_other; /* in its records */
	char *name; /* as the recorder called it, else made from attr; never NULL */
	bool is_named;
	bool is_selected;                           /* to be folded; set by whoever chooses */
	uint64_t nr_samples, nr_lost, nr_throttled; /* counted by the session */
};

struct events_slot {
	uint64_t id;
	struct event *event; /* NULL = empty */
};

struct events {
	struct event **at;
	size_t nr, capacity;
	struct events_slot *slots; /* open addressing, nr_slots a power of two */
	size_t nr_slots, nr_ids;
	struct events_slot last; /* answer to the last question */
};

void events_release(struct events *events);

/* size bytes of an attribute as stored. NULL where they are too few. */
struct event *events_add(struct events *events, const uint8_t *attr, size_t size, bool swap);

/* A later mention of an id replaces an earlier one. */
void events_add_id(struct events *events, uint64_t id, struct event *event);

/* NULL where the id is unknown. */
struct event *events_by_id(struct events *events, uint64_t id);

void event_set_name(struct event *event, struct slice name);

/* Both count the same thing on different kinds of core (cpu_core, cpu_atom). */
bool event_is_twin(const struct event *a, const struct event *b);

/* The name without the PMU of a hybrid machine: "cycles" of "cpu_core/cycles/". */
struct slice event_base_name(const struct event *event);

/* The event is no measurement: a carrier of side records (dummy). */
bool event_is_dummy(const struct event *event);

/* What one unit of its period is: "cycles", "nanoseconds", "page-faults", ... */
const char *event_unit(const struct event *event);

/*
 * The event and the time of a record of this recording, without decoding the
 * rest. at: the whole record, header first. NULL where it cannot be told
 * (unknown id, record too short); *time is 0 where none is recorded.
 */
struct event *events_of_record(struct events *events, const uint8_t *at, uint32_t size,
                               uint32_t type, bool swap, uint64_t *time);

#endif
