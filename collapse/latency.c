#include "share/compat.h"
#include "collapse/latency.h"

#include "collapse/moves.h"
#include "collapse/names/sysnames.h"
#include "share/mem.h"

struct latency_call {
	uint64_t since, inner_ns;
	size_t entry;   /* of stacks, 0 = left out */
	int64_t number; /* of a system call, -1 where it is not told */
};

struct latency_thread {
	struct latency_call *calls; /* the outermost first */
	size_t nr, capacity;
	struct latency_thread *next; /* in the list of all */
	bool is_known;
};

void latency_init(struct latency *latency, struct stacks *stacks,
                  const struct latency_options *options)
{
	*latency = (struct latency){.stacks = stacks, .options = *options};
	bytid_init(&latency->threads, sizeof(struct latency_thread));
}

void latency_release(struct latency *latency)
{
	for (size_t i = 0; i < latency->threads.nr_slots; i++) {
		struct latency_thread *thread = latency->threads.slots[i].piece;

		if (thread)
			free(thread->calls);
	}
	if (latency->threads.slots)
		bytid_release(&latency->threads);
	*latency = (struct latency){0};
}

static bool is_of_system_calls(const struct event *event)
{
	return strncmp(event->name, "syscalls:", 9) == 0 ||
	       strncmp(event->name, "raw_syscalls:", 13) == 0;
}

static void begin(struct latency *latency, struct latency_thread *thread, const struct event *event,
                  const struct sample *sample, const struct thread *task)
{
	bool is_nested = !is_of_system_calls(event);
	struct latency_call call = {
	        .since = sample->time,
	        .number = sysnames_number(latency->stacks->session->reader, event, sample)};

	if (measure_wants(latency->options.filter, latency->stacks->session, sample, task))
		call.entry = stacks_enter(latency->stacks, event, sample, task);
	latency->nr_begun++;
	if (thread->nr && !is_nested) {
		latency->nr_no_end += thread->nr;
		thread->nr = 0;
	} else if (thread->nr == LATENCY_DEPTH) {
		latency->nr_no_end++;
		memmove(thread->calls, thread->calls + 1, --thread->nr * sizeof(*thread->calls));
	}
	MEM_GROW(thread->calls, thread->nr, thread->capacity);
	thread->calls[thread->nr++] = call;
}

static void end(struct latency *latency, struct latency_thread *thread, const struct event *event,
                const struct sample *sample, const struct thread *task)
{
	struct session *session = latency->stacks->session;
	int64_t number = sysnames_number(session->reader, event, sample);
	struct latency_call call;
	uint64_t ns;

	if (!thread->nr) {
		latency->nr_no_begin++;
		return;
	}
	call = thread->calls[--thread->nr];
	if (number >= 0 && call.number >= 0 && number != call.number) {
		latency->nr_no_begin++;
		latency->nr_no_end++;
		return;
	}
	/* clocks of two CPUs may disagree about a call that moved */
	ns = sample->time > call.since ? sample->time - call.since : 0;
	if (thread->nr)
		thread->calls[thread->nr - 1].inner_ns += ns;
	if (!call.entry) {
		latency->nr_filtered++;
		return;
	}
	if (ns < latency->options.min_ns) {
		latency->nr_short++;
		latency->short_ns += ns;
		return;
	}
	latency->nr++;
	if (latency->options.histograms)
		histograms_add(latency->options.histograms,
		               strtab_slice(&session->texts, session_comm(session, task)), ns);
	if (!stacks_weigh(latency->stacks, call.entry,
	                  (weight_fx)(ns - MIN_OF(ns, call.inner_ns)) * (WEIGHT_ONE / 1000)))
		latency->is_full = true;
}

void latency_sample(struct latency *latency, const struct event *event, const struct sample *sample,
                    const struct thread *task)
{
	struct latency_thread *thread;

	if (sample->tid <= 0)
		return;
	thread = bytid_get(&latency->threads, sample->tid);
	/* one event may be both: the time from each to the next */
	if (event == latency->options.leave && (thread->nr || event != latency->options.enter))
		end(latency, thread, event, sample, task);
	if (event == latency->options.enter)
		begin(latency, thread, event, sample, task);
}

void latency_record(struct latency *latency, const struct record *record)
{
	struct latency_thread *thread;
	struct move move;

	if (!moves_of_record(latency->stacks->session->reader, record, NULL, 0, &move) ||
	    (move.kind != MOVE_EXIT && move.kind != MOVE_FORK))
		return;
	thread = bytid_get(&latency->threads, move.tid);
	latency->nr_open += thread->nr;
	thread->nr = 0;
}

void latency_finish(struct latency *latency)
{
	for (size_t i = 0; i < latency->threads.nr_slots; i++) {
		struct latency_thread *thread = latency->threads.slots[i].piece;

		if (thread)
			latency->nr_open += thread->nr;
	}
}
