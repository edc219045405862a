/*
 * choose.h - which events of a recording are folded.
 */
#ifndef COLLAPSE_CHOOSE_H
#define COLLAPSE_CHOOSE_H

#include "collapse/recording.h"

/*
 * Marks the events that the options ask for (is_selected). *is_mixed: unlike
 * events are among them, or all were asked for; each then stands below a frame
 * of its name. -1 where the recording has no such events.
 */
int choose_events(struct reader *reader, const struct recording_options *options, bool *is_mixed,
                  struct err *err);

/* Selects this event, and what counts as one with it, in place of all others. */
void choose_instead(struct reader *reader, const struct event *event);

#endif
