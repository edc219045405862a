/*
 * samples.h - samples one by one, as text in the layout of
 * `perf script -F comm,pid,tid,cpu,time,period,event,ip,sym,dso --ns`, for
 * looking at a recording and for comparing with perf itself.
 */
#ifndef COLLAPSE_SAMPLES_H
#define COLLAPSE_SAMPLES_H

#include "collapse/stacks.h"
#include "share/compat.h"

struct samples_printer {
	struct output *out;            /* borrowed */
	struct symbolizer *symbolizer; /* borrowed; NULL: no symbols */
	const struct strtab *names;    /* of the symbolizer */
	struct buf *texts;             /* frame lines behind the address, by place */
	size_t nr_texts;
};

void samples_release(struct samples_printer *printer);

/* Resolves the sample's stack and prints it, an empty line behind it. */
void samples_print(struct samples_printer *printer, struct stacks *stacks,
                   const struct event *event, const struct sample *sample,
                   const struct thread *thread);

#endif
