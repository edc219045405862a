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

/* Selects this event, and what counts as one with it, in place of all others. */
void choose_instead(struct reader *reader, const struct event *event);

#endif
