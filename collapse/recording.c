#include "share/compat.h"
#include "collapse/recording.h"

#include "collapse/ahead.h"
#include "collapse/carry.h"
#include "collapse/check.h"
#include "collapse/choose.h"
#include "collapse/records/deferred.h"
#include "collapse/records/deltas.h"
#include "collapse/records/features.h"
#include "collapse/measure.h"
#include "collapse/records/reorder.h"
#include "collapse/samples.h"
#include "collapse/span.h"
#include "share/mem.h"
#include "share/num.h"

#include <malloc.h>
#include <time.h>
#include <unistd.h>

struct recording {
	const struct recording_options *options;
	struct recording_report *report;
	struct reader *reader;
	struct modules *modules;
	struct session session;
	struct stacks stacks;
	struct reorder reorder;
	struct sample_scratch scratch;
	struct deltas deltas;
	struct deferred deferred;
	struct timing timing; /* where options ask for it */
	struct ahead *ahead;  /* NULL: samples are counted as they come */
	struct strtab names;  /* of the symbolizer */
	struct symbolizer *symbolizer;
	struct samples_printer printer;
	bool has_stacks, has_failed;
	bool has_no_weights; /* the event that counts for now; err says so */
	struct err err;

	/* the default choice is open while the first event has no samples: */
	const struct event *first_choice; /* or NULL */

	uint64_t lost_records, lost_sums; /* of the kernel, of the tool */

	struct span span; /* of counted samples */

	struct folder *folder; /* where intervals go; the caller's */
	struct folded_header *header;
	struct recording_report counted; /* what earlier inputs and intervals have told */
	int64_t epoch_ns;                /* time of the recording + this = since 1970 */
	int64_t slot;                    /* of the interval: its start / every_ns */
	int64_t interval_start;          /* ns since 1970; 0 = none has begun */
	int64_t interval_since;          /* the same, of the clock when it began here */
};

static int fold_counted(struct recording *rec, struct err *err);

static const struct event *first_selected(const struct recording *rec)
{
	for (size_t i = 0; i < rec->reader->events.nr; i++)
		if (rec->reader->events.at[i]->is_selected)
			return rec->reader->events.at[i];
	return NULL;
}

/*
 * Of each frame its address is printed or counted; or its name is not to be
 * looked for before the end, when it is known which are the most wanted.
 */
static bool needs_addresses(const struct recording *rec)
{
	return rec->options->check || rec->options->samples || rec->options->stacks.addresses ||
	       rec->options->stacks.profile || rec->options->modules.debuginfod_seconds;
}

/*
 * Everything that must wait for the description of the recording, and again
 * at each interval. old: the session to carry on, or NULL.
 */
static void begin(struct recording *rec, const struct session *old)
{
	struct module_options modules = rec->options->modules;
	struct symbolize_options symbolize = rec->options->symbolize;
	struct stacks_options options = rec->options->stacks;
	struct choice choice = {0};
	char here[256] = "";

	gethostname(here, sizeof(here) - 1);
	modules.live = !rec->reader->hostname || strcmp(rec->reader->hostname, here) == 0;
	options.demangle = symbolize.demangle;
	options.frames.is_live = modules.live && !input_is_mapped(rec->reader->in);
	options.frames.machine = features_machine(rec->reader);
	rec->modules = modules_new(&modules);
	session_init(&rec->session, rec->reader, rec->modules);
	rec->session.jit_lines = symbolize.srcline;
	if (old)
		carry_session(&rec->session, old);
	options.event_root = rec->stacks.options.event_root;
	options.tally = rec->options->check != NULL;
	symbolize.names = &rec->names;
	if (!options.no_symbols)
		rec->symbolizer = symbolizer_new(rec->modules, &symbolize);
	stacks_init(&rec->stacks, &rec->session, needs_addresses(rec) ? NULL : rec->symbolizer,
	            &options);
	rec->stacks.frames.places.shows_offsets = options.no_symbols && !needs_addresses(rec);
	rec->has_stacks = true;
	rec->printer = (struct samples_printer){
	        .out = rec->options->samples, .symbolizer = rec->symbolizer, .names = &rec->names};
	if (!old && choose_events(rec->reader, rec->options, &choice, &rec->err) < 0)
		rec->has_failed = true;
	else if (rec->options->timing.what)
		timing_init(&rec->timing, &rec->options->timing, &rec->stacks,
		            &rec->options->filter, choice.enter, choice.leave);
	if (!old)
		rec->stacks.options.event_root = choice.is_mixed;
	if (!old && !rec->options->events && !rec->options->all_events &&
	    !rec->options->timing.what && !rec->options->check) {
		rec->first_choice = first_selected(rec);
		/* what is printed cannot be taken back */
		if (rec->options->samples)
			choose_by_scan(rec->reader);
	}
	if (rec->symbolizer && rec->options->nr_threads > 1)
		symbolizer_use_thread(rec->symbolizer);
}

/* ---- counting samples ---- */

/* Counts a sample that is also kept as it is. */
static int keep_sample(struct recording *rec, const struct event *event,
                       const struct sample *sample, const struct thread *thread, weight_fx weight)
{
	struct session *session = &rec->session;
	size_t stack = stacks_enter(&rec->stacks, event, sample, thread);
	uint32_t comm = session_comm(session, thread),
	         cgroup = session_cgroup_path(session, sample->cgroup);
	struct slice none = {0};

	if (!stack)
		return 0;
	if (!stacks_weigh(&rec->stacks, stack, weight))
		return -1;
	profile_add_sample(
	        rec->options->stacks.profile,
	        &(struct profile_sample){
	                .weight = weight,
	                .time = sample->time,
	                .stack = (uint32_t)stack,
	                .cpu = sample->cpu,
	                .thread = profile_thread_id(
	                        rec->options->stacks.profile, thread->pid, thread->tid,
	                        comm != UINT32_MAX ? strtab_slice(&session->texts, comm) : none,
	                        cgroup != UINT32_MAX ? strtab_slice(&session->texts, cgroup) :
	                                               none)});
	return 1;
}

static void count_sample(struct recording *rec, const struct event *event,
                         const struct sample *sample, const struct thread *thread)
{
	weight_fx weight;
	int counted;

	if (rec->printer.out) {
		samples_print(&rec->printer, &rec->stacks, event, sample, thread);
		rec->report->nr_samples++;
		return;
	}
	if (rec->options->timing.what) {
		counted = timing_sample(&rec->timing, event, sample, thread) ? 1 : -1;
	} else if (measure_weigh(rec->options->count, event, sample, &weight)) {
		counted = rec->options->stacks.profile ?
		                  keep_sample(rec, event, sample, thread, weight) :
		                  stacks_sample(&rec->stacks, event, sample, thread, weight);
	} else {
		err_set(&rec->err, "event '%s' was recorded without %s; use --count samples",
		        event->name,
		        rec->options->count == MEASURE_TIME ? "a frequency, so samples stand for "
		                                              "no certain time" :
		                                              "periods");
		/* it may be that another event is folded in the end */
		if (rec->first_choice && rec->first_choice != event)
			rec->has_no_weights = true;
		else
			rec->has_failed = true;
		return;
	}
	if (counted < 0) {
		err_set(&rec->err, "the sum of all counts reaches 2^64");
		rec->has_failed = true;
	}
	rec->report->nr_filtered += counted == 0;
	if (counted <= 0)
		return;
	rec->report->nr_samples++;
	span_add(&rec->span, sample->time, sample->cpu);
}

/*
 * One sample of a leader stands for all counters of its group: for each, as
 * much as it counted since the last time (`perf record -e '{a,b}:S'`).
 */
static void count_group(struct recording *rec, const struct event *leader, struct sample *sample,
                        const struct thread *thread)
{
	int32_t tid = leader->attr.inherit ? sample->tid : 0;
	bool is_known = false;

	for (uint64_t i = 0; i < sample->nr_group && !rec->has_failed; i++) {
		const uint64_t *counter = sample->group + i * sample->group_stride;
		struct event *event = events_by_id(&rec->reader->events, counter[1]);

		if (!event)
			continue;
		is_known = true;
		sample->period = deltas_of(&rec->deltas, counter[1], tid, counter[0]);
		sample->has_period = true;
		if (!sample->period && event != leader)
			continue;
		if (event != leader)
			event->nr_samples++;
		if (event->is_selected)
			count_sample(rec, event, sample, thread);
		else
			rec->report->nr_other_event++;
	}
	/* none of the ids is of an event that is described */
	if (!is_known && leader->is_selected)
		count_sample(rec, leader, sample, thread);
}

static void count_decoded(struct recording *rec, const struct event *event, struct sample *sample)
{
	const struct thread *thread = session_thread(&rec->session, sample->pid, sample->tid);

	/* what one thread does tells of others: times are filtered where they are counted */
	if (!rec->options->timing.what &&
	    !measure_wants(&rec->options->filter, &rec->session, sample, thread))
		rec->report->nr_filtered++;
	else if (sample->nr_group > 1)
		count_group(rec, event, sample, thread);
	else if (event->is_selected)
		count_sample(rec, event, sample, thread);
	else
		rec->report->nr_other_event++;
}

/* Counts a sample that waited; ips is NULL where its user part never came. */
static void count_deferred(struct recording *rec, const struct deferred_entry *entry,
                           const uint64_t *ips, uint64_t nr)
{
	struct record record;
	struct sample sample;

	if (!entry->record)
		return;
	/* what was unwound ahead is of another sample */
	rec->stacks.frames.ready = NULL;
	reader_record_at(rec->reader, entry->record, &record);
	if (sample_decode(rec->reader, entry->event, &record, &rec->scratch, &sample)) {
		deferred_merge(&rec->deferred, &sample, ips, nr);
		count_decoded(rec, entry->event, &sample);
	}
	free(entry->record);
}

/* What was counted so far was of an event that is not wanted after all. */
static void uncount(struct recording *rec)
{
	struct recording_report *report = rec->report;

	stacks_settle(&rec->stacks);
	for (size_t i = 0; i < rec->stacks.nr_entries; i++)
		rec->stacks.entries[i].weight = 0;
	rec->stacks.total = 0;
	rec->stacks.nr_truncated = rec->stacks.nr_no_stack = 0;
	report->nr_other_event += report->nr_samples - rec->counted.nr_samples;
	report->nr_samples = rec->counted.nr_samples;
	report->nr_filtered = rec->counted.nr_filtered;
	span_clear(&rec->span);
	rec->has_no_weights = false;
}

static void take_sample(struct recording *rec, const struct record *record, struct event *event)
{
	struct sample sample;
	uint64_t cookie;

	if (!event) {
		rec->report->nr_unknown_event++;
		return;
	}
	if (rec->first_choice && !rec->options->samples && choose_by_sample(rec->reader, event))
		uncount(rec);
	event->nr_samples++;
	if (!event->is_selected && !(event->attr.sample_type & PERF_SAMPLE_READ)) {
		rec->report->nr_other_event++;
		return;
	}
	if (!sample_decode(rec->reader, event, record, &rec->scratch, &sample)) {
		rec->report->nr_bad++;
		return;
	}
	cookie = deferred_cookie(&sample);
	if (cookie) {
		struct deferred_entry given_up;

		deferred_hold(&rec->deferred, cookie, event, record, &given_up);
		count_deferred(rec, &given_up, NULL, 0);
	} else {
		count_decoded(rec, event, &sample);
	}
}

/* The user part of the chains of samples that wait for it. */
static void take_deferred(struct recording *rec, const struct record *record)
{
	struct perfrec_cursor c = reader_body(rec->reader, record);
	uint64_t cookie = perfrec_u64(&c), nr = perfrec_u64(&c);
	struct deferred_entry entry;
	uint64_t *ips;

	if (c.bad || !cookie || nr > (uint64_t)(c.end - c.at) / 8) {
		rec->report->nr_bad++;
		return;
	}
	ips = mem_alloc(nr * sizeof(*ips));
	for (uint64_t i = 0; i < nr; i++)
		ips[i] = perfrec_u64(&c);
	while (deferred_take(&rec->deferred, cookie, &entry))
		count_deferred(rec, &entry, ips, nr);
	free(ips);
}

/*
 * What was lost is told twice where perf record 6.1 and later wrote the file: by
 * the kernel, in a record where the next one had room again, and at the end by
 * the tool, as a sum of each event (PERF_FORMAT_LOST) in a record without a
 * time. The larger of the two counts: what is lost last, no record tells.
 */
static void count_lost(struct recording *rec, uint64_t nr, bool is_sum)
{
	uint64_t before = MAX_OF(rec->lost_records, rec->lost_sums);

	*(is_sum ? &rec->lost_sums : &rec->lost_records) += nr;
	rec->report->nr_lost += MAX_OF(rec->lost_records, rec->lost_sums) - before;
}

static void take_lost(struct recording *rec, const struct record *record,
                      const struct event *of_record, uint64_t time)
{
	struct perfrec_cursor c = reader_body(rec->reader, record);
	struct event *event = NULL;
	uint64_t nr;

	if (record->type == PERF_RECORD_LOST)
		event = events_by_id(&rec->reader->events, perfrec_u64(&c));
	nr = perfrec_u64(&c);
	if (c.bad) {
		rec->report->nr_bad++;
		return;
	}
	/* not lost: the recorder was told to filter them out */
	if (record->type == PERF_RECORD_LOST_SAMPLES && record->misc & PERFREC_MISC_LOST_BPF)
		return;
	if (event)
		event->nr_lost += nr;
	if (record->type == PERF_RECORD_LOST)
		count_lost(rec, nr, false);
	else if (!time && of_record && of_record->attr.read_format & PERFREC_FORMAT_LOST)
		count_lost(rec, nr, true);
	else
		rec->report->nr_lost += nr;
}

/* ---- intervals ---- */

/* A stream of this machine can be late by that much. */
#define LATE_NS 3600000000000

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/*
 * By how much the clock of the day is ahead of that of a record which was just
 * read. The recorder's clock is at hand where it is the monotonic one of this
 * boot: then it does not matter how late the record is.
 */
static int64_t clock_ahead(const struct recording *rec, uint64_t time)
{
	int64_t now = clock_ns(CLOCK_REALTIME), steady = clock_ns(CLOCK_MONOTONIC);
	int64_t late = steady - (int64_t)time;

	return now - (rec->reader->clockid == CLOCK_MONOTONIC && late >= 0 && late < LATE_NS ?
	                      steady :
	                      (int64_t)time);
}

/* The same recording, with nothing counted and without what has ended. */
static void begin_anew(struct recording *rec)
{
	struct session old = rec->session;
	struct modules *modules = rec->modules;
	bool event_root = rec->stacks.options.event_root;

	stacks_release(&rec->stacks);
	symbolizer_free(rec->symbolizer);
	rec->symbolizer = NULL;
	strtab_release(&rec->names);
	timing_release(&rec->timing);
	rec->stacks.options.event_root = event_root;
	begin(rec, &old);
	session_release(&old);
	modules_free(modules);
	/* what one interval needed is mostly not what the next one does */
	malloc_trim(0);
}

static void end_interval(struct recording *rec)
{
	int kept = rec->has_no_weights ? -1 : fold_counted(rec, &rec->err);

	if (kept == 0)
		kept = rec->options->interval(rec->options->interval_ctx,
		                              rec->interval_start / 1000000000, &rec->err);
	if (kept < 0)
		rec->has_failed = true;
	begin_anew(rec);
	rec->first_choice = NULL;
	rec->counted = *rec->report;
	span_clear(&rec->span);
	/* what could not be written grows into the next interval */
	if (kept > 0)
		return;
	rec->report->written = rec->report->folded;
	rec->interval_start = 0;
}

/*
 * Intervals begin at multiples of their length by the clock of this machine.
 * The clock that the recorder stamps with does not follow corrections of that
 * one: where the two have come apart, they are compared anew.
 */
static void watch_interval(struct recording *rec, uint64_t time)
{
	int64_t every = (int64_t)rec->options->every_ns, now, ahead;

	if (rec->interval_start && ((int64_t)time + rec->epoch_ns) / every != rec->slot) {
		now = clock_ns(CLOCK_REALTIME);
		ahead = clock_ahead(rec, time);
		end_interval(rec);
		if (now - rec->interval_since >= every / 10 * 9 &&
		    llabs(ahead - rec->epoch_ns) > 2000000000)
			rec->epoch_ns = ahead;
		rec->interval_since = now;
	}
	if (!rec->epoch_ns) {
		rec->interval_since = clock_ns(CLOCK_REALTIME);
		rec->epoch_ns = clock_ahead(rec, time);
	}
	if (!rec->interval_start)
		rec->interval_start = rec->slot ? ((int64_t)time + rec->epoch_ns) / every * every :
		                                  (int64_t)time + rec->epoch_ns;
	rec->slot = ((int64_t)time + rec->epoch_ns) / every;
}

static void take_in_turn(void *ctx, const struct record *record, struct event *event, uint64_t time,
                         const struct unwound *unwound)
{
	struct recording *rec = ctx;

	if (rec->has_failed)
		return;
	rec->session.now = time;
	switch (record->type) {
	case PERF_RECORD_SAMPLE:
		rec->stacks.frames.ready = unwound;
		take_sample(rec, record, event);
		rec->stacks.frames.ready = NULL;
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		take_lost(rec, record, event, time);
		break;
	case PERF_RECORD_THROTTLE:
		rec->report->nr_throttled++;
		if (event)
			event->nr_throttled++;
		break;
	case PERFREC_CALLCHAIN_DEFERRED:
		take_deferred(rec, record);
		break;
	case PERF_RECORD_AUX:
		rec->report->nr_aux++;
		break;
	default:
		session_record(&rec->session, record);
		if (rec->options->timing.what)
			timing_record(&rec->timing, record, event, time);
	}
}

/* What is filtered is not worth unwinding; printing reads the same files, for names. */
static void begin_ahead(struct recording *rec)
{
	const struct recording_options *options = rec->options;
	const struct ahead_options ahead = {.frames = &rec->stacks.frames,
	                                    .nr_threads = options->nr_threads,
	                                    .deliver = take_in_turn,
	                                    .ctx = rec};

	if (options->nr_threads > 1 && !options->every_ns && !rec->printer.out &&
	    measure_wants_all(&options->filter) && options->stacks.frames.only != ONLY_KERNEL)
		rec->ahead = ahead_new(&ahead);
}

/* The records that were delivered are about to go. */
static void settle(void *ctx)
{
	ahead_drain(((struct recording *)ctx)->ahead);
}

static void deliver(void *ctx, const struct record *record, struct event *event, uint64_t time)
{
	struct recording *rec = ctx;

	if (!rec->has_stacks) {
		begin(rec, NULL);
		begin_ahead(rec);
	}
	/* beyond that, in 146 years, is no time but damage */
	if (rec->options->every_ns && time && time < (uint64_t)1 << 62)
		watch_interval(rec, time);
	if (!ahead_queue(rec->ahead, record, event, time))
		take_in_turn(rec, record, event, time, NULL);
}

static void read_all(struct recording *rec)
{
	struct reader *reader = rec->reader;
	struct deferred_entry never_came;
	struct record record;

	while (!rec->has_failed && reader_next(reader, &record)) {
		struct event *event;
		uint64_t time;

		if (record.type == PERFREC_FINISHED_ROUND) {
			reorder_round(&rec->reorder);
			continue;
		}
		/* the tool's own records stand outside of time and change nothing here */
		if (record.type >= PERFREC_HEADER_ATTR)
			continue;
		event = events_of_record(&reader->events, record.at, record.size, record.type,
		                         reader->swap, &time);
		reorder_add(&rec->reorder, &record, event, time);
	}
	if (!rec->has_failed)
		reorder_finish(&rec->reorder);
	settle(rec);
	/* from here on files are read by this thread alone */
	ahead_free(rec->ahead);
	while (!rec->has_failed && deferred_take(&rec->deferred, 0, &never_came))
		count_deferred(rec, &never_came, NULL, 0);
}

/* ---- the header ---- */

static void set_event(const struct recording *rec, const struct event *event,
                      struct folded_header *header)
{
	struct slice base = event_base_name(event);

	if (rec->stacks.options.event_root)
		folded_header_set(header, "event", "several, each below its name");
	else
		folded_header_set(header, "event", "%.*s", (int)base.size, base.at);
	switch (rec->options->count) {
	case MEASURE_SAMPLES:
		folded_header_set(header, "unit", "samples");
		break;
	case MEASURE_PERIOD:
		folded_header_set(header, "unit", "%s",
		                  rec->stacks.options.event_root ? "events" : event_unit(event));
		break;
	case MEASURE_TIME:
		folded_header_set(header, "unit", "microseconds");
		break;
	}
}

/* Of this recording or interval; merged with what the header says of others. */
static void set_header(const struct recording *rec, struct folded_header *header)
{
	const struct event *event = first_selected(rec);
	const struct reader *reader = rec->reader;
	const struct recording_report *report = rec->report, *counted = &rec->counted;
	struct folded_header own = {0};

	if (event) {
		set_event(rec, event, header);
		span_header(&rec->span, event, reader->nr_cpus, &own);
	}
	folded_header_set(&own, "lost", "%llu records",
	                  (unsigned long long)(report->nr_lost - counted->nr_lost));
	if (report->nr_throttled > counted->nr_throttled)
		folded_header_set(
		        &own, "throttled", "%llu times",
		        (unsigned long long)(report->nr_throttled - counted->nr_throttled));
	folded_header_merge(header, &own);
	folded_header_release(&own);
	if (rec->options->timing.what)
		timing_header(&rec->options->timing, &report->timing, header);
	if (reader->hostname)
		folded_header_set(&own, "host", "%s", reader->hostname);
	if (reader->osrelease)
		folded_header_set(&own, "kernel", "%s", reader->osrelease);
	if (reader->command)
		folded_header_set(&own, "command", "%s", reader->command);
	folded_header_merge(header, &own);
	folded_header_release(&own);
}

/* ---- the end ---- */

static void report_events(const struct recording *rec)
{
	struct recording_report *report = rec->report;
	size_t used = strlen(report->left_out);

	for (size_t i = 0; i < rec->reader->events.nr; i++) {
		const struct event *event = rec->reader->events.at[i];
		char nr[NUM_GROUPED];

		if (event->is_selected || !event->nr_samples || used >= sizeof(report->left_out))
			continue;
		used += (size_t)snprintf(report->left_out + used, sizeof(report->left_out) - used,
		                         "%s%s of '%s'", used ? ", " : "",
		                         num_format_grouped(nr, event->nr_samples), event->name);
	}
	if (rec->first_choice && !rec->first_choice->nr_samples &&
	    report->nr_samples > rec->counted.nr_samples)
		snprintf(report->instead, sizeof(report->instead),
		         "'%.100s' is folded: the first event of '%.100s' has no samples",
		         first_selected(rec)->name, input_name(rec->reader->in));
}

static void describe(struct recording *rec)
{
	const struct check_view view = {
	        .reader = rec->reader,
	        .modules = rec->modules,
	        .session = &rec->session,
	        .stacks = &rec->stacks,
	        .symbolizer = rec->symbolizer,
	        .report = rec->report,
	        .span = &rec->span,
	};

	check_write(&view, rec->options->check_json, rec->options->check);
}

static void count_session(struct recording *rec)
{
	stacks_settle(&rec->stacks);
	rec->report->nr_truncated += rec->stacks.nr_truncated;
	rec->report->nr_no_stack += rec->stacks.nr_no_stack;
	rec->report->nr_bad += rec->session.nr_bad;
	rec->report->nr_cut_maps += rec->session.nr_cut_maps;
}

/* Folds what was counted; the stacks are used up. */
static int fold_counted(struct recording *rec, struct err *err)
{
	struct recording_sums *sums = &rec->report->folded;
	struct stacks_folded folded;
	int result;

	count_session(rec);
	features_tell_build_ids(rec->reader, rec->modules);
	result = stacks_fold(&rec->stacks, rec->symbolizer, &rec->names, rec->options->keep,
	                     rec->options->keep_ctx, rec->folder, &folded, err);
	if (rec->options->stacks.profile)
		profile_settle(rec->options->stacks.profile, rec->modules);
	sums->total += folded.total;
	sums->unresolved += folded.unresolved;
	sums->nr_samples += rec->report->nr_samples - rec->counted.nr_samples;
	sums->nr_truncated += rec->report->nr_truncated - rec->counted.nr_truncated;
	set_header(rec, rec->header);
	return result;
}

static int finish(struct recording *rec, struct err *err)
{
	int result;

	if (rec->options->timing.what)
		timing_finish(&rec->timing, &rec->report->timing);
	rec->report->nr_late += rec->reorder.nr_late;
	rec->report->has_counts |= rec->reader->nr_by_type[PERFREC_STAT] > 0;
	rec->report->rest_start = rec->interval_start / 1000000000;
	if (rec->options->check) {
		count_session(rec);
		features_tell_build_ids(rec->reader, rec->modules);
		describe(rec);
		return 0;
	}
	result = fold_counted(rec, err);
	/* of what measures time, the rest tells nothing */
	if (!rec->options->timing.what)
		report_events(rec);
	return result;
}

int recording_fold(struct input *in, const struct recording_options *options, struct folder *folder,
                   struct folded_header *header, struct recording_report *report, struct err *err)
{
	struct recording rec = {.options = options,
	                        .report = report,
	                        .counted = *report,
	                        .folder = folder,
	                        .header = header};
	int result = -1;

	rec.reader = reader_open(in, err);
	if (!rec.reader)
		return -1;
	if (options->nr_threads > 1)
		input_read_ahead(in);
	reorder_init(&rec.reorder, rec.reader, deliver, &rec);
	rec.reorder.settle = settle;
	read_all(&rec);
	if (!rec.has_stacks)
		begin(&rec, NULL);
	if (rec.has_failed || rec.has_no_weights)
		*err = rec.err;
	else
		result = finish(&rec, err);
	if (rec.reader->damage[0]) {
		report->is_incomplete = true;
		snprintf(report->message, sizeof(report->message), "'%.80s' %.160s", input_name(in),
		         rec.reader->damage);
	}
	reorder_release(&rec.reorder);
	sample_scratch_release(&rec.scratch);
	deltas_release(&rec.deltas);
	deferred_release(&rec.deferred);
	samples_release(&rec.printer);
	symbolizer_free(rec.symbolizer);
	strtab_release(&rec.names);
	timing_release(&rec.timing);
	stacks_release(&rec.stacks);
	session_release(&rec.session);
	modules_free(rec.modules);
	reader_close(rec.reader);
	span_release(&rec.span);
	return result;
}

void recording_shares(const struct recording_report *report, const struct folder *folder,
                      struct folded_header *header)
{
	const struct recording_sums *all = &report->folded, *written = &report->written;
	weight_fx total = all->total - written->total;
	uint64_t nr_truncated = all->nr_truncated - written->nr_truncated;
	const char *unit = folded_header_get(header, "unit");
	double unresolved;

	if (!total)
		return;
	if (total != folder->total) {
		folded_header_remove(header, "truncated");
		folded_header_remove(header, "unresolved");
		return;
	}
	if (nr_truncated)
		folded_header_set(header, "truncated", "%.3g %% of samples",
		                  (double)nr_truncated * 100 /
		                          (double)(all->nr_samples - written->nr_samples));
	unresolved = weight_to_double(all->unresolved - written->unresolved) * 100 /
	             weight_to_double(total);
	/* a share that is not zero must not look like it */
	folded_header_set(header, "unresolved",
	                  unresolved > 0 && unresolved < 0.05 ? "%.1g %% of %s" : "%.1f %% of %s",
	                  unresolved, unit ? unit : "samples");
}
