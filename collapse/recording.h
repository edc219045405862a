/*
 * recording.h - one perf.data recording, from its bytes to folded stacks.
 *
 * Ties reader, reorder, session and stacks together. Decides which events are
 * folded, which samples are wanted, what one sample weighs, and what the
 * folded header says of it all.
 */
#ifndef COLLAPSE_RECORDING_H
#define COLLAPSE_RECORDING_H

#include "collapse/formats/format.h"
#include "collapse/measure.h"
#include "collapse/stacks.h"
#include "collapse/timing.h"
#include "collapse/names/symbolize.h"
#include "share/compat.h"

struct recording_options {
	const char *const *events; /* --event, NULL-terminated; NULL = the first */
	bool all_events;
	unsigned nr_threads; /* to use at most; 0 counts as one */
	enum measure_count count;
	struct timing_options timing; /* in place of counting samples; count is MEASURE_TIME */
	struct measure_filter filter;
	struct stacks_options stacks;
	struct symbolize_options symbolize; /* names is set by recording_fold() */
	struct module_options modules;
	bool (*keep)(void *ctx, const char *name); /* see stacks_fold(); NULL = all */
	void *keep_ctx;

	/*
	 * Not 0: whenever this much time of the recording has gone by, what was
	 * counted is folded, `interval` is called, and memory is given back for
	 * all that has ended. 0 = go on, -1 with err = the run fails. The rest
	 * is in folder and header when recording_fold() returns. start: when the
	 * interval began, in seconds since 1970 by the clock of this machine,
	 * exact where the recording comes through a pipe as it is made.
	 */
	uint64_t every_ns;
	int (*interval)(void *ctx, int64_t start, struct err *err);
	void *interval_ctx;

	/* in place of folding, where not NULL: */
	struct output *samples; /* print each sample there */
	struct output *check;   /* describe the recording there; all events count */
	bool check_json;
};

/* What was folded: the numbers that shares in the header are of. */
struct recording_sums {
	weight_fx total, unresolved; /* unresolved: in stacks with a frame without a name */
	uint64_t nr_samples, nr_truncated;
};

/* What went by; the numbers of all recordings of a run add up. */
struct recording_report {
	uint64_t nr_samples;     /* counted */
	uint64_t nr_other_event; /* left out: of events not folded */
	uint64_t nr_filtered;    /* left out: by a filter */
	uint64_t nr_lost;        /* said to be lost by the recorder */
	uint64_t nr_bad;         /* records that could not be understood */
	uint64_t nr_unknown_event;
	uint64_t nr_throttled, nr_truncated, nr_no_stack, nr_late, nr_aux, nr_cut_maps;
	bool has_counts;               /* of perf stat, which takes no samples */
	struct recording_sums folded;  /* all of it */
	struct recording_sums written; /* of that, what intervals have taken away */
	struct timing_report timing;
	bool is_incomplete; /* the recording is cut or damaged; message says where */
	char message[256];
	char left_out[256]; /* "1,234 of page-faults, 5 of ..." or "" */
	char instead[256]; /* "'cpu-clock' ... 'cycles'" where the first event has no samples, or ""
	                    */
	int64_t rest_start; /* with every_ns: when the last interval began, or 0 */
};

/*
 * Folds one recording into the folder; adds to header and report. -1 with err
 * where nothing can be made of it.
 */
int recording_fold(struct input *in, const struct recording_options *options, struct folder *folder,
                   struct folded_header *header, struct recording_report *report, struct err *err);

/*
 * Puts into the header which shares of what the folder holds are unresolved
 * and truncated, once all inputs are in; takes them out where only a part came
 * from recordings.
 */
void recording_shares(const struct recording_report *report, const struct folder *folder,
                      struct folded_header *header);

#endif
