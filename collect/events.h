/*
 * events.h - what people write after -e, as perf_event_attr.
 *
 * Decides: the names of events, their modifiers and groups, and which attr
 * fields the way of sampling asks for. Does not decide what the kernel
 * permits (caps.h) nor open anything (recorder.h).
 *
 * Grammar, as of perf-list(1):
 *   list     = item { "," item } ;
 *   item     = event [ ":" modifiers ] | "{" list "}" [ ":" modifiers ] ;
 *   event    = name | "r" HEX | pmu "/" term { "," term } "/" | "mem:" ADDR [ ":" rwx ]
 *            | SUBSYSTEM ":" EVENT          tracepoints, "*" and "?" match
 *            | [ PMU "::" ] EVENT { ":" UMASK }   names of libpfm4
 *            | "uprobe:" FILE ":" SYMBOL [ "+" OFFSET ] | "uretprobe:" FILE ":" SYMBOL
 *            | "usdt:" FILE ":" PROVIDER ":" NAME
 *            | "kprobe:" SYMBOL [ "+" OFFSET ] | "kretprobe:" SYMBOL ;
 *   modifiers = { "u" | "k" | "h" | "G" | "H" | "p" | "P" | "S" | "D" | "W" } ;
 */
#ifndef COLLECT_EVENTS_H
#define COLLECT_EVENTS_H

#include "share/compat.h"
#include "share/err.h"

#include <linux/perf_event.h>

/* What the samples of an event say to whoever follows threads (holdback.h). */
enum event_role {
	ROLE_NONE,
	ROLE_SWITCH, /* the thread leaves its CPU */
	ROLE_WAKING, /* it wakes another */
};

struct event {
	struct perf_event_attr attr;
	enum event_role role;
	char *name;        /* what reports call it, modifiers and all */
	char *filter;      /* kernel filter of a tracepoint, or NULL */
	char *tracepoint;  /* "system:name" in tracefs, or NULL */
	char *probe;       /* path or symbol that attr.config1 points to, or NULL */
	size_t leader;     /* index of the group's leader; its own outside of groups */
	bool is_default;   /* nobody asked for this one: another may take its place */
	bool needs_kernel; /* counts nothing with exclude_kernel */
	bool weak_group;   /* the group may be broken up */
	bool sideband;   /* takes no samples: carries names and maps, on every CPU, all the time */
	bool renumbered; /* all its samples are told under its first id */
	bool most_precise; /* modifier P: the highest precise level that opens */

	size_t words_to_chain; /* of a sample */
	uint64_t *ids;         /* one per opened descriptor */
	size_t nr_ids, ids_capacity;
	uint64_t nr_samples, nr_lost, nr_throttled;
};

struct event_list {
	struct event *at;
	size_t nr, capacity;
};

void event_list_release(struct event_list *events);

/* Appends the events of one -e argument. */
int events_parse(struct event_list *events, const char *text, struct err *err);

/* Appends one event by attr; the name is copied. */
struct event *events_add(struct event_list *events, uint32_t type, uint64_t config,
                         const char *name);

/*
 * Adds a sample at each switch away from a thread, for time off the CPU: of
 * the tracepoints sched:sched_switch and sched:sched_waking, which say why and
 * by whom it was woken, where their fields may be read; else of the software
 * event. held_back: they are written as holdback.h says, under other names.
 */
void events_add_switches(struct event_list *events, bool held_back);

/* Adds the event that carries names and maps while others are off, or elsewhere. */
void events_add_sideband(struct event_list *events);

/* The event that carries names and maps: that one, or else the first. */
struct event *events_tracker(struct event_list *events);

/* Adds a --filter to every tracepoint since the last one that has a filter. */
int events_filter(struct event_list *events, const char *filter, struct err *err);

/* Names known without asking the kernel, for --list and for suggestions. */
struct event_name {
	const char *name;
	uint32_t type;
	uint64_t config;
	const char *about;
};
extern const struct event_name event_names[];
extern const size_t nr_event_names;

/*
 * "L1-dcache-load-misses" and its kin, number n from 0: writes the name into
 * out (48 bytes) and returns its config; 0 where n is beyond the last.
 * Source: PERF_TYPE_HW_CACHE in perf_event_open(2).
 */
uint64_t event_cache_name(size_t n, char *out);

#endif
