/*
 * probes.h - dynamic events: uprobe, uretprobe, usdt, kprobe, kretprobe.
 *
 * Source: Documentation/ABI of the uprobe and kprobe PMUs
 * (sysfs format files: retprobe is config:0, ref_ctr_offset config:32-63);
 * perf_event_open(2) for config1 (path or symbol) and config2 (offset).
 */
#ifndef COLLECT_PROBES_H
#define COLLECT_PROBES_H

#include "collect/events.h"

/* Whether text begins with the name of one of these events and a colon. */
bool probes_is(const char *text);

int probes_parse(struct event_list *events, const char *text, struct err *err);

#endif
