/*
 * v8profile.h - V8's CPU profiles: a tree of functions and samples in it.
 *
 * The same object comes alone (.cpuprofile), whole inside of a trace event,
 * and in chunks; v8.c and chrometrace.c share this.
 *
 * Source: Chrome DevTools protocol, types Profiler.Profile, ProfileNode and
 * Runtime.CallFrame; chunks: V8's profile-generator.cc (StreamPendingTraceEvents).
 */
#ifndef COLLAPSE_V8PROFILE_H
#define COLLAPSE_V8PROFILE_H

#include "collapse/formats/format.h"
#include "collapse/formats/idmap.h"
#include "collapse/formats/jsontok.h"
#include "collapse/formats/stacktable.h"

struct v8_node {
	uint64_t id, parent, hits; /* parent: an id; 0 = none or told by `children` of the parent */
};

struct v8_profile {
	struct folder *folder;
	const struct format_options *options;
	struct v8_node *nodes;
	size_t nr_nodes, nodes_capacity;
	struct stacktable table; /* a row for each node */
	struct idmap rows;       /* id -> row */
	struct idmap parents;    /* child id -> row of its parent */
	uint32_t *samples;       /* node ids; UINT32_MAX for what is none */
	size_t nr_samples, samples_capacity;
	bool by_time;    /* times are wanted: deltas are kept */
	int64_t *deltas; /* microseconds since the sample before */
	size_t nr_deltas, deltas_capacity;
	__int128 start, end; /* 10^-9 microseconds; 0 = not known */
	struct buf text;
};

/* by_time: count the time that samples stand for, not samples. */
void v8_profile_init(struct v8_profile *profile, struct folder *folder,
                     const struct format_options *options, bool by_time);
void v8_profile_release(struct v8_profile *profile);

/* Takes a value: the array "nodes", "samples", "timeDeltas". */
void v8_profile_nodes(struct v8_profile *profile, struct json *json);
void v8_profile_samples(struct v8_profile *profile, struct json *json);
void v8_profile_deltas(struct v8_profile *profile, struct json *json);

/* Takes an object with those keys, startTime and endTime; skips other keys. */
void v8_profile_object(struct v8_profile *profile, struct json *json);

/* Takes a callFrame object, or an object with those keys among others: a name id. */
uint32_t v8_call_frame(struct json *json, struct folder *folder,
                       const struct format_options *options, struct buf *text);

/* The frame of a function. line counts from 0, -1 = unknown. */
uint32_t v8_frame_name(struct folder *folder, const struct format_options *options,
                       struct slice function, struct slice url, int64_t line);

/*
 * Counts the samples, or the time they stand for: that until the next sample,
 * for the last until endTime. Profiles without samples have hit counts.
 */
int v8_profile_fold(struct v8_profile *profile, uint32_t root, struct format_report *report,
                    struct err *err);

#endif
