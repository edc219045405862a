/*
 * recorder.h - opens events for a target, and moves records from the
 * kernel's rings to the stream.
 *
 * Decides: which descriptors exist, how to step back where the kernel
 * refuses part of a request, the order in which rings are read, what is
 * counted. One ring per CPU; every event of that CPU writes into it.
 *
 * Life: recorder_open, recorder_enable, recorder_drain again and again,
 * recorder_finish, recorder_release.
 */
#ifndef COLLECT_RECORDER_H
#define COLLECT_RECORDER_H

#include "collect/events.h"
#include "collect/recout.h"
#include "collect/ring.h"
#include "collect/sampling.h"
#include "collect/target.h"
#include "share/compat.h"
#include "share/err.h"

struct recorder {
	/* set by the caller, borrowed */
	struct event_list *events;
	struct target *target;
	struct sampling *sampling;
	struct recout *rec;
	size_t ring_size; /* data bytes of each ring; 0 = as sampling needs */
	bool overwrite;   /* rings keep the newest records, nothing is read until the end */
	bool switches;    /* also record when threads leave a CPU and come back */
	bool namespaces;  /* also record the namespaces of each task */
	bool follows;     /* processes are added while it runs */
	bool renumbers;   /* some ids are not in the header: follows, or a CPU came back */
	bool hold;        /* samples are not taken until recorder_resume */
	struct holdback *holdback; /* writes of switches what holdback.h says; or NULL */

	/* what had to be given up, for messages */
	bool without_kernel;   /* the kernel half was refused: user space only */
	bool without_pmu;      /* cpu-clock took the place of cycles */
	bool without_children; /* this kernel reads no groups of inherited events */
	size_t asked_ring_size;
	size_t nr_vanished; /* tasks that ended before they were opened */

	struct recorder_slot *slots; /* one per descriptor */
	size_t nr_slots, slots_capacity;
	struct ring *rings;
	size_t nr_rings;
	struct drain *drain;     /* threads that read them, once one does not keep up; or NULL */
	struct recorder_id *ids; /* hash: event id -> index */
	size_t ids_mask, nr_ids;
	uint64_t lost_before; /* by descriptors that are closed */
	bool paused;          /* events that take samples are disabled */
	uint64_t nr_samples, nr_lost, nr_throttled, nr_malformed;
	uint64_t enabled_ns, disabled_ns; /* by the recording's clock; 0 = unknown */
	bool rounds; /* FINISHED_ROUND may be written: what existed before is told */
};

/* Opens and maps everything, disabled. The error text names cause and remedy. */
int recorder_open(struct recorder *recorder, struct err *err);

/*
 * Lets events count: now, or at the command's exec. With hold only the
 * sideband, which recorder_pause and recorder_resume leave alone.
 */
int recorder_enable(struct recorder *recorder, struct err *err);
void recorder_pause(struct recorder *recorder);
void recorder_resume(struct recorder *recorder);

/*
 * With follows: opens and enables events for a process that is not recorded
 * yet, and lets go of those that ended. 1 where it is recorded from now on,
 * 0 where it is gone or already was, -1 where the kernel refuses.
 */
int recorder_add(struct recorder *recorder, int pid, struct err *err);

/*
 * Of a recording of the whole machine: the kernel takes the events of a CPU
 * that goes offline away for good (perf_event_exit_cpu of kernel/events/core.c),
 * also when it comes back. recorder_cpu_gone lets go of them; recorder_cpu_back
 * opens them anew, -1 where the kernel refuses. CPUs that are not recorded are
 * left alone.
 */
void recorder_cpu_gone(struct recorder *recorder, int cpu);
int recorder_cpu_back(struct recorder *recorder, int cpu, struct err *err);

/* The time by the recording's clock, in ns; 0 where that is perf's own. */
uint64_t recorder_now(const struct recorder *recorder);

/* The event of an id; NULL where it is none of ours. */
struct event *recorder_event(const struct recorder *recorder, uint64_t id);

/* Reads every ring once. Returns whether there was anything. */
bool recorder_drain(struct recorder *recorder);

/*
 * Fills pollfd entries for the rings (room for nr_rings); returns their
 * number, 0 once every target ended. Call recorder_polled() with the result.
 */
struct pollfd;
size_t recorder_pollfds(struct recorder *recorder, struct pollfd *fds);
void recorder_polled(struct recorder *recorder, const struct pollfd *fds, size_t nr);

/* Stops, reads what is left, asks for what was lost, ends the stream. */
void recorder_finish(struct recorder *recorder);

void recorder_release(struct recorder *recorder);

#endif
