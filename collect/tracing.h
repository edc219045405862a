/*
 * tracing.h - the description of tracepoints that goes into the stream, where
 * samples carry their fields: without it readers of raw data are lost.
 *
 * Source: tools/perf/util/trace-event-info.c of Linux 6.1, version "0.6" of
 * what it writes; format files in tracefs, Documentation/trace/events.rst.
 */
#ifndef COLLECT_TRACING_H
#define COLLECT_TRACING_H

#include "collect/events.h"
#include "collect/recout.h"
#include "share/compat.h"

/* The formats of all events whose samples carry raw data; nothing where there are none. */
void tracing_write(struct recout *rec, const struct event_list *events);

#endif
