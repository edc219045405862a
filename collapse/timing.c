#include "share/compat.h"
#include "collapse/timing.h"

void timing_init(struct timing *timing, const struct timing_options *options, struct stacks *stacks,
                 const struct measure_filter *filter, const struct event *enter,
                 const struct event *leave)
{
	const struct offcpu_options waits = {
	        .wall = options->what == TIMING_WALL,
	        .run_queue = options->what == TIMING_RUN_QUEUE,
	        .by_state = options->by_state,
	        .by_waker = options->by_waker,
	        .min_ns = options->min_ns,
	        .filter = filter,
	        .histograms = options->histograms,
	};
	const struct latency_options calls = {
	        .enter = enter,
	        .leave = leave,
	        .min_ns = options->min_ns,
	        .filter = filter,
	        .histograms = options->histograms,
	};

	*timing = (struct timing){.options = *options, .stacks = stacks};
	for (size_t i = 0; i < stacks->session->reader->events.nr; i++) {
		const struct event *event = stacks->session->reader->events.at[i];

		timing->has_both_ends |= event->is_selected && moves_is_switch(event) &&
		                         event->attr.type == PERF_TYPE_TRACEPOINT;
	}
	if (options->what == TIMING_LATENCY)
		latency_init(&timing->latency, stacks, &calls);
	else if (options->what == TIMING_TIMEHIST)
		timehist_init(&timing->timehist, stacks->session, filter, options->out);
	else if (options->what != TIMING_NONE)
		offcpu_init(&timing->offcpu, stacks, &waits);
}

void timing_release(struct timing *timing)
{
	latency_release(&timing->latency);
	timehist_release(&timing->timehist);
	offcpu_release(&timing->offcpu);
}

bool timing_sample(struct timing *timing, const struct event *event, const struct sample *sample,
                   const struct thread *thread)
{
	struct move moves[MOVES_MAX];
	size_t nr;

	if (timing->options.what == TIMING_LATENCY) {
		latency_sample(&timing->latency, event, sample, thread);
		return !timing->latency.is_full;
	}
	if (timing->options.what != TIMING_TIMEHIST) {
		offcpu_sample(&timing->offcpu, event, sample, thread);
		return !timing->offcpu.is_full;
	}
	nr = moves_of_sample(timing->stacks->session->reader, event, sample, moves);
	for (size_t i = 0; i < nr; i++)
		timehist_move(&timing->timehist, &moves[i], false);
	return true;
}

void timing_record(struct timing *timing, const struct record *record, const struct event *event,
                   uint64_t time)
{
	struct move move;

	if (timing->options.what == TIMING_LATENCY)
		latency_record(&timing->latency, record);
	else if (timing->options.what != TIMING_TIMEHIST)
		offcpu_record(&timing->offcpu, record, event, time);
	else if (moves_of_record(timing->stacks->session->reader, record, event, time, &move) &&
	         !(move.kind <= MOVE_IN && timing->has_both_ends))
		timehist_move(&timing->timehist, &move, true);
}

void timing_finish(struct timing *timing, struct timing_report *report)
{
	const struct offcpu *offcpu = &timing->offcpu;
	const struct latency *latency = &timing->latency;

	if (timing->options.what == TIMING_LATENCY)
		latency_finish(&timing->latency);
	else if (timing->options.what != TIMING_TIMEHIST)
		offcpu_finish(&timing->offcpu);
	/* of the modules that had no part in it, all is zero */
	report->nr += offcpu->nr_waits + latency->nr + timing->timehist.nr_lines;
	report->nr_open += offcpu->nr_open + latency->nr_open;
	report->nr_no_stack += offcpu->nr_no_stack;
	report->nr_unreturned += offcpu->nr_unreturned;
	report->nr_no_begin += latency->nr_no_begin;
	report->nr_no_end += latency->nr_no_end;
	report->nr_short += offcpu->nr_short + latency->nr_short;
	report->short_ns += offcpu->short_ns + latency->short_ns;
	report->unsampled_ns += offcpu->unsampled_ns;
}

void timing_header(const struct timing_options *options, const struct timing_report *report,
                   struct folded_header *header)
{
	static const char *const names[] = {
	        [TIMING_OFF_CPU] = "time off the CPU",
	        [TIMING_WALL] = "wall time",
	        [TIMING_RUN_QUEUE] = "time from wakeup to running",
	        [TIMING_TIMEHIST] = "switches",
	};

	if (options->what == TIMING_LATENCY) {
		const char *comma = strchr(options->pair, ',');

		folded_header_set(header, "event", "time from %.*s to %s",
		                  (int)(comma - options->pair), options->pair, comma + 1);
		folded_header_set(
		        header, "calls",
		        "%llu counted; left out: %llu without a begin, %llu without an "
		        "end, %llu not over at the end",
		        (unsigned long long)report->nr, (unsigned long long)report->nr_no_begin,
		        (unsigned long long)report->nr_no_end, (unsigned long long)report->nr_open);
	} else {
		folded_header_set(header, "event", "%s", names[options->what]);
		folded_header_set(header, "waits",
		                  "%llu counted, %llu of them not over at the end, %llu without a "
		                  "stack, %llu with a return that was not recorded",
		                  (unsigned long long)report->nr,
		                  (unsigned long long)report->nr_open,
		                  (unsigned long long)report->nr_no_stack,
		                  (unsigned long long)report->nr_unreturned);
	}
	if (report->unsampled_ns && options->what == TIMING_WALL)
		folded_header_set(header, "unsampled",
		                  "%llu us on the CPU in threads never sampled there",
		                  (unsigned long long)(report->unsampled_ns / 1000));
	if (report->nr_short)
		folded_header_set(header, "short", "%llu times, %llu us in all, %s",
		                  (unsigned long long)report->nr_short,
		                  (unsigned long long)(report->short_ns / 1000),
		                  options->what == TIMING_LATENCY ? "left out" : "not told apart");
}
