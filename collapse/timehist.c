#include "share/compat.h"
#include "collapse/timehist.h"

#include "share/folded.h"

#define TASK_WIDTH 30

struct timehist_task {
	uint64_t in, out, woken; /* ns; 0 = not seen */
	uint64_t cpu_switched;   /* of an idle thread: the last switch on its CPU */
	bool is_running;
};

void timehist_init(struct timehist *timehist, struct session *session,
                   const struct measure_filter *filter, struct output *out)
{
	*timehist = (struct timehist){.session = session, .filter = filter, .out = out};
	bytid_init(&timehist->tasks, sizeof(struct timehist_task));
	output_printf(out, "%15s %6s  %-*s  %9s  %9s  %9s\n", "time", "cpu", TASK_WIDTH,
	              "task name", "wait time", "sch delay", "run time");
	output_printf(out, "%15s %6s  %-*s  %9s  %9s  %9s\n", "", "", TASK_WIDTH, "[tid/pid]",
	              "(msec)", "(msec)", "(msec)");
	output_printf(out, "%.15s %.6s  %.*s  %.9s  %.9s  %.9s\n", "------------------------------",
	              "------------------------------", TASK_WIDTH,
	              "------------------------------", "------------------------------",
	              "------------------------------", "------------------------------");
}

void timehist_release(struct timehist *timehist)
{
	if (timehist->tasks.slots)
		bytid_release(&timehist->tasks);
	*timehist = (struct timehist){0};
}

static void write_task(struct timehist *timehist, const struct thread *thread)
{
	struct slice comm =
	        strtab_slice(&timehist->session->texts, session_comm(timehist->session, thread));
	struct buf text = {0};

	folded_clean(&text, comm.at, comm.size);
	if (thread->tid == thread->pid)
		buf_printf(&text, "[%d]", thread->tid);
	else
		buf_printf(&text, "[%d/%d]", thread->tid, thread->pid);
	output_printf(timehist->out, "  %-*s", TASK_WIDTH, buf_text(&text));
	buf_release(&text);
}

static void write_ms(struct output *out, uint64_t ns)
{
	output_printf(out, "  %5llu.%03llu", (unsigned long long)(ns / 1000000),
	              (unsigned long long)(ns / 1000 % 1000));
}

static uint64_t between(uint64_t from, uint64_t to)
{
	return from && to > from ? to - from : 0;
}

static void write_line(struct timehist *timehist, const struct move *move,
                       const struct timehist_task *task)
{
	const struct thread *thread = session_find(timehist->session, move->tid);
	struct output *out = timehist->out;
	struct sample sample = {
	        .pid = move->pid, .tid = move->tid, .cpu = move->cpu, .time = move->time};

	if (!thread)
		thread = session_thread(timehist->session, move->pid, move->tid);
	if (!measure_wants(timehist->filter, timehist->session, &sample, thread))
		return;
	timehist->nr_lines++;
	output_printf(out, "%8llu.%06llu [%04d]", (unsigned long long)(move->time / 1000000000),
	              (unsigned long long)(move->time / 1000 % 1000000),
	              move->cpu == UINT32_MAX ? -1 : (int)move->cpu);
	if (move->tid)
		write_task(timehist, thread);
	else
		output_printf(out, "  %-*s", TASK_WIDTH, "<idle>");
	write_ms(out, task->is_running ? between(task->out, task->in) : 0);
	write_ms(out, task->is_running ? between(task->woken, task->in) : 0);
	write_ms(out, task->is_running ? between(task->in, move->time) : 0);
	output_add(out, "\n", 1);
}

static struct timehist_task *idle_of(struct timehist *timehist, uint32_t cpu)
{
	/* each CPU has an idle thread of its own; all of them are number 0 */
	return bytid_get(&timehist->tasks, INT32_MIN + (int32_t)(cpu & INT32_MAX));
}

static void leave(struct timehist *timehist, const struct move *move, struct timehist_task *task,
                  bool is_record)
{
	struct timehist_task *idle = idle_of(timehist, move->cpu);

	if (!task->is_running) {
		/* told by a sample before */
		if (is_record && task->out)
			return;
		/* it came unseen, when the last one went unseen */
		task->is_running = idle->cpu_switched != 0;
		task->in = idle->cpu_switched;
	}
	write_line(timehist, move, task);
	task->is_running = false;
	task->out = move->time;
	task->woken = 0;
	idle->cpu_switched = move->time;
}

void timehist_move(struct timehist *timehist, const struct move *move, bool is_record)
{
	struct timehist_task *task =
	        move->tid ? bytid_get(&timehist->tasks, move->tid) : idle_of(timehist, move->cpu);

	switch (move->kind) {
	case MOVE_OUT:
		leave(timehist, move, task, is_record);
		break;
	case MOVE_IN:
		if (task->is_running)
			return;
		task->is_running = true;
		task->in = move->time;
		break;
	case MOVE_WOKEN:
		if (!task->is_running && !task->woken)
			task->woken = move->time;
		break;
	case MOVE_FORK:
		/* at time 0 the recorder tells what was there before */
		if (move->time)
			*task = (struct timehist_task){0};
		break;
	case MOVE_EXIT:
		break;
	}
}
