/*
 * caps.h - what the kernel permits, and why it does not.
 *
 * Decides: the one sentence that a refusal becomes, with the value that
 * forbids and the remedy.
 *
 * Sources: perf_event_open(2) ERRORS; kernel/events/core.c and
 * Documentation/admin-guide/perf-security.rst of Linux 6.18; capabilities(7).
 */
#ifndef COLLECT_CAPS_H
#define COLLECT_CAPS_H

#include "collect/events.h"
#include "collect/sampling.h"
#include "collect/target.h"
#include "share/compat.h"
#include "share/err.h"

#include <linux/capability.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38 /* since Linux 5.8 */
#endif

/* perf_event_open failed with errno `failure`, which becomes err->code. Returns -1. */
int caps_explain(const struct event *event, const struct target *target,
                 const struct sampling *sampling, int failure, struct err *err);

/* mmap of a ring failed. Returns -1. */
int caps_explain_ring(size_t nr_rings, size_t size, int failure, struct err *err);

/* Whether this process holds a capability, by its number of capability.h. */
bool caps_has(int capability);

/* A seccomp filter watches this process's system calls. */
bool caps_filtered(void);

/* This process lives in a user namespace other than the first. */
bool caps_in_namespace(void);

#define CAPS_BIT(capability) (1ull << (capability))

/*
 * Gives up all capabilities of the calling thread, and of threads that it
 * starts later, but those whose CAPS_BIT is in keep. Source: capset(2).
 */
void caps_keep(uint64_t keep);

/* The descriptor limit, raised to what the hard limit allows. */
void caps_raise_descriptors(void);

#endif
