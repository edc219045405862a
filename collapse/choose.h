/*
 * choose.h - which events of a recording are folded.
 */
#ifndef COLLAPSE_CHOOSE_H
#define COLLAPSE_CHOOSE_H

#include "collapse/recording.h"

struct choice {
	bool is_mixed; /* unlike events are folded, or all: each below a frame of its name */
	const struct event *enter, *leave; /* the pair of TIMING_LATENCY */
};

/*
 * Marks the events that the options ask for (is_selected). -1 where the
 * recording has no such events.
 */
int choose_events(struct reader *reader, const struct recording_options *options,
                  struct choice *choice, struct err *err);

/*
 * The default choice while samples come: of the events that have samples the
 * first in the list. One that stands later counts until one that stands
 * earlier comes: true where this sample's event counts from now on, and what
 * counted before does not. To be asked before event->nr_samples grows.
 */
bool choose_by_sample(struct reader *reader, const struct event *event);

/* The same for a recording in a file, which is looked through in front of the first sample. */
void choose_by_scan(struct reader *reader);

#endif
