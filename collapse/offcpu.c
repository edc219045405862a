#include "share/compat.h"
#include "collapse/offcpu.h"

#include "share/mem.h"

struct offcpu_thread {
	int32_t pid, tid;
	struct offcpu_thread *next; /* in the list of all */
	bool is_known, has_exited, is_forked;

	bool is_waiting, is_left_out;
	enum move_why why;
	size_t entry, waker; /* of stacks; 0 = not told */
	uint64_t since;      /* ns */
	uint64_t woken;      /* ns; 0 = not since it left */

	bool is_running; /* known to be, since running_since */
	uint64_t running_since;
	uint64_t owed_ns;     /* on the CPU, not yet charged to a sample */
	uint64_t untold_ns;   /* of that and what comes, off the CPU, in waits told as a sum */
	size_t running_entry; /* of its last sample on the CPU */
};

void offcpu_init(struct offcpu *offcpu, struct stacks *stacks, const struct offcpu_options *options)
{
	*offcpu = (struct offcpu){.stacks = stacks, .options = *options};
	bytid_init(&offcpu->threads, sizeof(struct offcpu_thread));
	bytid_init(&offcpu->cpus, sizeof(uint64_t));
}

void offcpu_release(struct offcpu *offcpu)
{
	bytid_release(&offcpu->threads);
	bytid_release(&offcpu->cpus);
	*offcpu = (struct offcpu){0};
}

static struct offcpu_thread *thread_of(struct offcpu *offcpu, int32_t pid, int32_t tid)
{
	struct offcpu_thread *thread = bytid_get(&offcpu->threads, tid);

	if (!thread->is_known) {
		thread->is_known = true;
		thread->tid = tid;
		thread->pid = -1;
		thread->next = offcpu->latest;
		offcpu->latest = thread;
	}
	if (pid >= 0)
		thread->pid = pid;
	return thread;
}

static const struct thread *task_of(struct offcpu *offcpu, const struct offcpu_thread *thread)
{
	struct session *session = offcpu->stacks->session;
	const struct thread *task = session_find(session, thread->tid);

	return task ? task :
	              session_thread(session, thread->pid >= 0 ? thread->pid : thread->tid,
	                             thread->tid);
}

/* ---- counting ---- */

/* What of [from, to) lies within the time asked for, in ns. */
static uint64_t length_of(const struct offcpu *offcpu, uint64_t from, uint64_t to)
{
	const struct measure_filter *filter = offcpu->options.filter;

	from = MAX_OF(from, filter->time_from);
	if (filter->time_to)
		to = MIN_OF(to, filter->time_to);
	return to > from ? to - from : 0;
}

/* nanoseconds to microseconds, exactly */
static void charge(struct offcpu *offcpu, size_t entry, uint64_t ns)
{
	if (!stacks_weigh(offcpu->stacks, entry, (weight_fx)ns * (WEIGHT_ONE / 1000)))
		offcpu->is_full = true;
}

/* A stack of one frame, in brackets; 0 where the filter leaves the thread out. */
static size_t enter_text(struct offcpu *offcpu, const struct offcpu_thread *thread,
                         const char *text)
{
	const struct thread *task = task_of(offcpu, thread);
	const struct sample sample = {.pid = task->pid, .tid = task->tid, .cpu = UINT32_MAX};

	if (!measure_wants_task(offcpu->options.filter, offcpu->stacks->session, &sample, task))
		return 0;
	return stacks_enter_text(offcpu->stacks, &sample, task, text);
}

static void count_short(struct offcpu *offcpu, struct offcpu_thread *thread, uint64_t nr,
                        uint64_t ns)
{
	size_t entry = enter_text(offcpu, thread, "[short waits]");

	if (!entry)
		return;
	offcpu->nr_short += nr;
	offcpu->short_ns += ns;
	charge(offcpu, entry, ns);
}

static void count_wait(struct offcpu *offcpu, struct offcpu_thread *thread, uint64_t from,
                       uint64_t to)
{
	static const char *const states[] = {
	        [WHY_UNKNOWN] = "[waiting]",   [WHY_SLEEPING] = "[sleeping]", [WHY_DISK] = "[disk]",
	        [WHY_RUNNABLE] = "[runnable]", [WHY_STOPPED] = "[stopped]",
	};
	size_t entry = thread->entry;
	uint64_t ns = length_of(offcpu, from, to);
	bool is_unseen = !entry && !thread->is_left_out;

	if (!ns && to > from)
		return; /* none of it was asked for */
	if (is_unseen)
		entry = enter_text(offcpu, thread, "[no stack]");
	if (!entry) {
		offcpu->nr_filtered++;
		return;
	}
	if (ns < offcpu->options.min_ns) {
		count_short(offcpu, thread, 1, ns);
		return;
	}
	offcpu->nr_waits++;
	offcpu->nr_no_stack += is_unseen;
	if (offcpu->options.histograms)
		histograms_add(offcpu->options.histograms,
		               strtab_slice(&offcpu->stacks->session->texts,
		                            session_comm(offcpu->stacks->session,
		                                         task_of(offcpu, thread))),
		               ns);
	if (offcpu->options.by_state)
		entry = stacks_extend(offcpu->stacks, entry, states[thread->why]);
	if (offcpu->options.by_waker && thread->waker)
		entry = stacks_join(offcpu->stacks, entry, thread->waker);
	charge(offcpu, entry, ns);
}

static void forget_wait(struct offcpu_thread *thread)
{
	thread->is_waiting = thread->is_left_out = false;
	thread->why = WHY_UNKNOWN;
	thread->entry = thread->waker = 0;
	thread->woken = 0;
}

static void end_wait(struct offcpu *offcpu, struct offcpu_thread *thread, uint64_t time)
{
	if (thread->why != WHY_DEAD) {
		if (!offcpu->options.run_queue && thread->is_waiting)
			count_wait(offcpu, thread, thread->since, time);
		else if (offcpu->options.run_queue && thread->woken)
			count_wait(offcpu, thread, thread->woken, time);
	}
	forget_wait(thread);
}

/* ---- what threads do ---- */

static void start_running(struct offcpu_thread *thread, uint64_t time)
{
	thread->is_running = true;
	thread->running_since = time;
}

static void stop_running(struct offcpu *offcpu, struct offcpu_thread *thread, uint64_t time)
{
	if (thread->is_running)
		thread->owed_ns += length_of(offcpu, thread->running_since, time);
	thread->is_running = false;
}

/* It was there before the recording, and nothing was heard of it until now. */
static bool is_silent(const struct offcpu_thread *thread)
{
	return !thread->is_waiting && !thread->is_running && !thread->is_forked &&
	       !thread->has_exited && !thread->since && !thread->running_entry;
}

static void come_back(struct offcpu *offcpu, struct offcpu_thread *thread, uint64_t time)
{
	if (offcpu->options.wall && is_silent(thread)) {
		thread->is_waiting = true;
		thread->since = offcpu->first_time;
	}
	end_wait(offcpu, thread, time);
	/* told twice, by a sample and by a record */
	if (!thread->is_running)
		start_running(thread, time);
}

static void begin_wait(struct offcpu *offcpu, struct offcpu_thread *thread, const struct move *move)
{
	uint64_t *switched = bytid_get(&offcpu->cpus, (int32_t)move->cpu);

	if (thread->is_waiting && thread->why != WHY_DEAD) {
		offcpu->nr_unreturned++;
		come_back(offcpu, thread, MAX_OF(thread->since, *switched));
	}
	stop_running(offcpu, thread, move->time);
	forget_wait(thread);
	thread->is_waiting = !thread->has_exited;
	thread->why = move->why;
	thread->since = move->time;
	*switched = move->time;
}

/* What the thread is owed now, for one to be charged with. */
static uint64_t pay(struct offcpu_thread *thread)
{
	uint64_t untold = MIN_OF(thread->untold_ns, thread->owed_ns);
	uint64_t ns = thread->owed_ns - untold;

	thread->untold_ns -= untold;
	thread->owed_ns = 0;
	return ns;
}

static void settle(struct offcpu *offcpu, struct offcpu_thread *thread, uint64_t time)
{
	stop_running(offcpu, thread, time);
	if (thread->running_entry)
		charge(offcpu, thread->running_entry, pay(thread));
	else
		offcpu->unsampled_ns += pay(thread);
	thread->running_entry = 0;
}

static void begin_or_end_life(struct offcpu *offcpu, struct offcpu_thread *thread,
                              const struct move *move)
{
	settle(offcpu, thread, move->time);
	offcpu->nr_unreturned += thread->is_waiting && thread->why != WHY_DEAD;
	thread->has_exited = move->kind == MOVE_EXIT;
	/* at time 0 the recorder tells what was there before */
	thread->is_forked = move->kind == MOVE_FORK && move->time;
	thread->since = 0;
	forget_wait(thread);
}

static void note_time(struct offcpu *offcpu, uint64_t time)
{
	if (time && (!offcpu->first_time || time < offcpu->first_time))
		offcpu->first_time = time;
	offcpu->last_time = MAX_OF(offcpu->last_time, time);
}

/* Where the sample was taken; 0 and *is_left_out where it is not wanted. */
static size_t enter(struct offcpu *offcpu, const struct event *event, const struct sample *sample,
                    const struct thread *task, bool *is_left_out)
{
	size_t entry = 0;

	if (measure_wants_task(offcpu->options.filter, offcpu->stacks->session, sample, task))
		entry = stacks_enter(offcpu->stacks, event, sample, task);
	*is_left_out = !entry;
	return entry;
}

static void take_running(struct offcpu *offcpu, const struct event *event,
                         const struct sample *sample, const struct thread *task)
{
	struct offcpu_thread *thread = thread_of(offcpu, sample->pid, sample->tid);
	bool is_left_out;
	size_t entry = enter(offcpu, event, sample, task, &is_left_out);
	uint64_t owed_ns;

	/* sampled on its way out: that time goes on until the switch is seen */
	if (!thread->is_waiting)
		stop_running(offcpu, thread, sample->time);
	owed_ns = pay(thread);
	if (entry) {
		charge(offcpu, entry, owed_ns);
		thread->running_entry = entry;
	}
	if (!thread->is_waiting)
		start_running(thread, sample->time);
}

/* A wait that is told when it is over. */
static void take_wait(struct offcpu *offcpu, const struct event *event, const struct sample *sample,
                      const struct thread *task)
{
	struct offcpu_thread *thread = thread_of(offcpu, sample->pid, sample->tid);
	const struct move move = {
	        .kind = MOVE_OUT,
	        .why = moves_why_of_wait(offcpu->stacks->session->reader, sample),
	        .cpu = sample->cpu,
	        .time = sample->time - MIN_OF(sample->period, sample->time),
	};
	uint64_t woken;
	size_t waker;

	/* who ended it was told before */
	woken = thread->woken;
	waker = thread->waker;
	begin_wait(offcpu, thread, &move);
	thread->woken = woken;
	thread->waker = waker;
	thread->entry = enter(offcpu, event, sample, task, &thread->is_left_out);
	come_back(offcpu, thread, sample->time);
}

/* Waits that the recorder did not tell apart. */
static void take_short(struct offcpu *offcpu, const struct sample *sample)
{
	struct offcpu_thread *thread = thread_of(offcpu, sample->pid, sample->tid);

	/* how long of that it could have run is not known */
	if (offcpu->options.run_queue)
		return;
	/* the thread looked as if it had run all the time */
	thread->untold_ns += sample->period;
	count_short(offcpu, thread, sample->addr, sample->period);
}

void offcpu_sample(struct offcpu *offcpu, const struct event *event, const struct sample *sample,
                   const struct thread *task)
{
	/* the thread has come back: this sample stands in front of that of its wait */
	bool is_told_late = strcmp(event->name, "offcpu-waker") == 0;
	struct move moves[MOVES_MAX];
	size_t nr;

	note_time(offcpu, sample->time);
	if (moves_is_short(event)) {
		take_short(offcpu, sample);
		return;
	}
	if (moves_is_wait(event) && sample->tid > 0) {
		take_wait(offcpu, event, sample, task);
		return;
	}
	if (!moves_is_switch(event) && !moves_is_waking(event)) {
		if (sample->tid > 0)
			take_running(offcpu, event, sample, task);
		return;
	}
	nr = moves_of_sample(offcpu->stacks->session->reader, event, sample, moves);
	for (size_t i = 0; i < nr; i++) {
		const struct move *move = &moves[i];
		struct offcpu_thread *thread;

		if (move->tid <= 0)
			continue;
		thread = thread_of(offcpu, move->pid, move->tid);
		if (move->kind == MOVE_OUT) {
			begin_wait(offcpu, thread, move);
			thread->entry = enter(offcpu, event, sample, task, &thread->is_left_out);
		} else if (move->kind == MOVE_IN) {
			come_back(offcpu, thread, move->time);
		} else if (!thread->woken && (!thread->is_running || is_told_late)) {
			thread->woken = move->time;
			if (offcpu->options.by_waker)
				thread->waker = stacks_enter(offcpu->stacks, event, sample, task);
		}
	}
}

void offcpu_record(struct offcpu *offcpu, const struct record *record, const struct event *event,
                   uint64_t time)
{
	struct offcpu_thread *thread;
	struct move move;

	note_time(offcpu, time);
	if (!moves_of_record(offcpu->stacks->session->reader, record, event, time, &move) ||
	    move.tid <= 0)
		return;
	thread = thread_of(offcpu, move.pid, move.tid);
	if (move.kind == MOVE_EXIT || move.kind == MOVE_FORK) {
		begin_or_end_life(offcpu, thread, &move);
	} else if (move.kind == MOVE_IN) {
		come_back(offcpu, thread, time);
	} else {
		/* the sample with the stack came first, with the time of its own */
		if (!thread->is_waiting)
			begin_wait(offcpu, thread, &move);
		else if (thread->why == WHY_UNKNOWN)
			thread->why = move.why;
	}
}

void offcpu_finish(struct offcpu *offcpu)
{
	struct session *session = offcpu->stacks->session;

	for (size_t i = 0; offcpu->options.wall && i < session->nr_thread_slots; i++) {
		const struct thread *task = session->threads[i];

		if (task && !task->is_gone && task->tid > 0)
			thread_of(offcpu, task->pid, task->tid);
	}
	for (struct offcpu_thread *thread = offcpu->latest; thread; thread = thread->next) {
		uint64_t nr_over = offcpu->nr_waits;

		if (offcpu->options.wall && is_silent(thread)) {
			thread->is_waiting = true;
			thread->since = offcpu->first_time;
		}
		end_wait(offcpu, thread, offcpu->last_time);
		offcpu->nr_open += offcpu->nr_waits - nr_over;
		settle(offcpu, thread, offcpu->last_time);
	}
}
