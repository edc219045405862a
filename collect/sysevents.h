/*
 * sysevents.h - events that this machine describes in sysfs and tracefs.
 *
 * Sources: Documentation/ABI/testing/sysfs-bus-event_source-devices-format
 * and -events; Documentation/trace/events.rst (tracefs events/SYS/NAME/id).
 */
#ifndef COLLECT_SYSEVENTS_H
#define COLLECT_SYSEVENTS_H

#include "collect/events.h"

/* "pmu/term,term=value/" */
int sysevents_pmu(struct event_list *events, const char *text, struct err *err);

/* "subsystem:name", both may hold * and ? */
int sysevents_tracepoints(struct event_list *events, const char *text, struct err *err);

/* The type number of a PMU in sysfs, or -1. */
int sysevents_pmu_type(const char *pmu);

/* Where tracefs is mounted and readable; NULL where it is not, with err filled. */
const char *sysevents_tracefs(struct err *err);

/* The nearest name of an event of a PMU or a tracepoint; the caller frees; may be NULL. */
char *sysevents_nearest(const char *text);

/* Calls visit(name, about, arg) for each event of sysfs and tracefs. */
void sysevents_each(void (*visit)(const char *name, const char *about, void *arg), void *arg);

#endif
