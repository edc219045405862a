/*
 * span.h - what part of the time and of the machine was sampled.
 */
#ifndef COLLAPSE_SPAN_H
#define COLLAPSE_SPAN_H

#include "collapse/records/events.h"
#include "share/compat.h"
#include "share/folded.h"

/* Zeroed: nothing was. */
struct span {
	/* ns, of the recording's clock; 0 = samples have no times */
	uint64_t first_time, last_time;
	size_t nr_cpus;  /* 0 = samples do not tell */
	uint64_t *cpus;  /* a bit for each that is counted */
	size_t nr_words; /* of cpus */
};

/* A sample. time: 0 = it has none; cpu: UINT32_MAX = it does not tell. */
void span_add(struct span *span, uint64_t time, uint32_t cpu);

void span_clear(struct span *span);

void span_release(struct span *span);

/*
 * Sets "sampled", as "5.01 s on 2 cpus at 99 Hz", where there are times.
 * nr_cpus: of the machine, for where samples do not tell; 0 = not known.
 */
void span_header(const struct span *span, const struct event *event, size_t nr_cpus,
                 struct folded_header *header);

#endif
