#include "share/compat.h"
#include "collect/count.h"

#include "collect/caps.h"
#include "collect/sampling.h"
#include "share/mem.h"

#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct opened {
	int fd;
	uint32_t event;
	bool leads; /* its group follows; alone it is a group of one */
	uint64_t id;
	/* read last */
	uint64_t value, enabled, running;
};

/* One run: its descriptors, each group in one piece. */
struct run {
	struct count *count;
	struct opened *fds;
	size_t nr, capacity;
	uint64_t *words; /* what a group reads as */
};

/* Words that a group of nr events reads as: nr, two times, then value and id of each. */
#define GROUP_WORDS(nr) (3 + 2 * (nr))

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

double count_deviation(double mean, double squares, unsigned int nr)
{
	double variance, root;

	if (nr < 2 || mean == 0)
		return 0;
	variance = squares / (nr - 1) / nr;
	/* Newton's method: libm is not linked */
	root = variance > 1 ? variance : 1;
	for (int i = 0; i < 200 && variance > 0; i++)
		root = (root + variance / root) / 2;
	return variance > 0 ? root / mean : 0;
}

static void add_to_mean(double *mean, double *squares, unsigned int nr, double value)
{
	double delta = value - *mean;

	*mean += delta / nr;
	*squares += delta * (value - *mean);
}

/* ---- opening ---- */

static void prepare(const struct count *count, struct perf_event_attr *attr, bool on_exec)
{
	attr->sample_period = 0;
	attr->freq = 0;
	attr->sample_type = 0;
	attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
	                    PERF_FORMAT_ID | PERF_FORMAT_GROUP;
	attr->disabled = 1;
	attr->inherit = count->inherit;
	attr->enable_on_exec = on_exec;
	attr->exclude_kernel |= count->only_user;
	attr->exclude_user |= count->only_kernel;
}

/*
 * Opens one event of a task or CPU. Where the kernel half is forbidden, the
 * user half is counted, and the name says so. Only an event that cannot be
 * counted at all is given up.
 */
static int open_one(struct count *count, size_t i, int tid, int cpu, int group_fd)
{
	struct event *event = &count->events->at[i];
	struct sampling sampling = {0};
	struct err err;
	int fd;

	for (;;) {
		fd = (int)syscall(SYS_perf_event_open, &event->attr, tid, cpu, group_fd,
		                  PERF_FLAG_FD_CLOEXEC);
		if (fd >= 0 || (errno != EACCES && errno != EPERM) || count->target->system ||
		    event->attr.exclude_kernel)
			break;
		event->attr.exclude_kernel = event->attr.exclude_hv = 1;
		if (!strchr(event->name, ':')) {
			char *name = mem_printf("%s:u", event->name);

			free(event->name);
			event->name = name;
		}
	}
	if (fd < 0 && !count->counters[i].refusal && errno != ESRCH) {
		caps_explain(event, count->target, &sampling, errno, &err);
		count->counters[i].refusal = mem_strdup(err.text);
	}
	return fd;
}

static void open_pair(struct run *run, int tid, int cpu)
{
	struct event_list *events = run->count->events;
	int leader_fd = -1;

	for (size_t i = 0; i < events->nr; i++) {
		int group_fd = events->at[i].leader == i ? -1 : leader_fd;
		struct opened opened = {.event = (uint32_t)i, .leads = group_fd < 0};

		/* members follow their leader, or stand alone where it cannot be counted */
		events->at[i].attr.disabled = opened.leads;
		opened.fd = open_one(run->count, i, tid, cpu, group_fd);
		if (events->at[i].leader == i)
			leader_fd = opened.fd;
		if (opened.fd < 0)
			continue;
		ioctl(opened.fd, PERF_EVENT_IOC_ID, &opened.id);
		MEM_GROW(run->fds, run->nr, run->capacity);
		run->fds[run->nr++] = opened;
	}
}

static int open_all(struct run *run, struct err *err)
{
	struct count *count = run->count;
	const struct target *target = count->target;

	for (size_t i = 0; i < count->events->nr; i++)
		prepare(count, &count->events->at[i].attr, target->child > 0 && !target->system);
	for (size_t c = 0; target->system && c < target->nr_cpus; c++)
		open_pair(run, -1, target->cpus[c]);
	for (size_t t = 0; !target->system && t < target->nr_tids; t++)
		open_pair(run, target->tids[t], -1);
	if (!run->nr && count->counters[0].refusal)
		return err_set(err, "%s", count->counters[0].refusal);
	if (!run->nr)
		return err_set(err, "every target ended before it could be counted");
	return 0;
}

static void close_all(struct run *run)
{
	for (size_t i = 0; i < run->nr; i++)
		close(run->fds[i].fd);
	free(run->fds);
	free(run->words);
}

/* ---- reading ---- */

/* Adds to its counter what a descriptor has counted since it was read last. */
static void add_reading(struct counter *counter, struct opened *opened, const struct opened *now)
{
	double value = (double)(now->value - opened->value);
	uint64_t enabled = now->enabled - opened->enabled;
	uint64_t running = now->running - opened->running;

	counter->enabled_ns += enabled;
	counter->running_ns += running;
	if (running)
		counter->value +=
		        running < enabled ? value * (double)enabled / (double)running : value;
	opened->value = now->value;
	opened->enabled = now->enabled;
	opened->running = now->running;
}

/* Reads a group at once; its members are the descriptors from at on. */
static void read_group(struct run *run, size_t at)
{
	uint64_t *words = run->words;
	size_t size = GROUP_WORDS(run->count->events->nr) * sizeof(*words);

	if (read(run->fds[at].fd, words, size) < (ssize_t)(GROUP_WORDS(1) * sizeof(*words)))
		return;
	for (size_t member = at; member < run->nr && (member == at || !run->fds[member].leads);
	     member++) {
		struct opened *opened = &run->fds[member];
		const uint64_t *pair = words + GROUP_WORDS(0);

		for (size_t i = 0; i < words[0]; i++, pair += 2) {
			struct opened now = {
			        .value = pair[0], .enabled = words[1], .running = words[2]};

			if (pair[1] == opened->id)
				add_reading(&run->count->counters[opened->event], opened, &now);
		}
	}
}

/* Sums each event over CPUs and tasks, since the last call, into its counter. */
static void read_all(struct run *run)
{
	struct count *count = run->count;

	if (!run->words)
		run->words = mem_alloc(GROUP_WORDS(count->events->nr) * sizeof(*run->words));
	for (size_t i = 0; i < count->nr_counters; i++) {
		count->counters[i].value = 0;
		count->counters[i].enabled_ns = count->counters[i].running_ns = 0;
	}
	for (size_t i = 0; i < run->nr; i++)
		if (run->fds[i].leads)
			read_group(run, i);
}

/* ---- running ---- */

static bool all_gone(const struct target *target)
{
	for (size_t i = 0; i < target->nr_tids; i++)
		if (kill(target->tids[i], 0) == 0 || errno != ESRCH)
			return false;
	return target->nr_tids > 0;
}

/* Waits until the command or the time ends, telling intervals on the way. */
static void wait_for_end(struct run *run, uint64_t start_ns)
{
	struct count *count = run->count;
	struct target *target = count->target;
	uint64_t stop = count->duration_ns ? start_ns + count->duration_ns : UINT64_MAX;
	uint64_t tick = count->interval_ns ? start_ns + count->interval_ns : UINT64_MAX;
	uint64_t last = start_ns;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD);
	for (;;) {
		uint64_t now = now_ns(), next = MIN_OF(stop, tick), left;
		struct timespec timeout;
		int number;

		/* nothing tells of the end of other people's processes */
		next = MIN_OF(next, now + 100000000);
		left = next > now ? next - now : 0;
		timeout = (struct timespec){(time_t)(left / 1000000000), (long)(left % 1000000000)};
		number = sigtimedwait(&set, NULL, &timeout);
		now = now_ns();
		if (number == SIGCHLD && target->child > 0 &&
		    waitpid(target->child, &count->command_status, WNOHANG) == target->child) {
			target->child = 0;
			return;
		}
		if (number == SIGINT || number == SIGTERM) {
			count->interrupted = true;
			return;
		}
		if (now >= tick) {
			read_all(run);
			count->elapsed_s = (double)(now - start_ns) / 1e9;
			count->interval_s = (double)(now - last) / 1e9;
			last = now;
			tick += count->interval_ns;
			if (count->on_interval)
				count->on_interval(count, count->arg);
		}
		if (now >= stop || (!target->system && target->child <= 0 && all_gone(target)))
			return;
	}
}

static void end_child(struct count *count)
{
	struct target *target = count->target;

	if (target->child <= 0)
		return;
	kill(target->child, SIGTERM);
	waitpid(target->child, &count->command_status, 0);
	target->child = 0;
}

static int run_once(struct count *count, struct err *err)
{
	struct run run = {.count = count};
	struct target *target = count->target;
	uint64_t start;
	double elapsed;

	if (target->command) {
		target->nr_tids = 0;
		if (target_fork(target, count->stdout_is_ours, err) < 0)
			return -1;
	}
	if (open_all(&run, err) < 0) {
		if (target->child > 0)
			target_abandon(target);
		close_all(&run);
		return -1;
	}
	start = now_ns();
	for (size_t i = 0; i < run.nr; i++)
		if (!count->events->at[run.fds[i].event].attr.enable_on_exec)
			ioctl(run.fds[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	if (target->child > 0 && target_start(target, err) < 0) {
		close_all(&run);
		return -1;
	}
	/* no run is to be opened after the last */
	if (count->nr_done + 1 == count->nr_runs)
		caps_keep(count->keep_capabilities);
	wait_for_end(&run, start);
	elapsed = (double)(now_ns() - start) / 1e9;
	end_child(count);
	read_all(&run);
	close_all(&run);
	count->nr_done++;
	for (size_t i = 0; i < count->nr_counters; i++)
		add_to_mean(&count->counters[i].mean, &count->counters[i].squares, count->nr_done,
		            count->counters[i].value);
	count->interval_s = elapsed - (count->interval_ns ? count->elapsed_s : 0);
	if (count->interval_ns)
		count->elapsed_s = elapsed;
	else
		add_to_mean(&count->elapsed_s, &count->elapsed_squares, count->nr_done, elapsed);
	return 0;
}

int count_run(struct count *count, struct err *err)
{
	count->nr_counters = count->events->nr;
	count->counters = mem_zalloc(count->nr_counters * sizeof(*count->counters));
	for (size_t i = 0; i < count->nr_counters; i++)
		count->counters[i].event = &count->events->at[i];
	for (unsigned int i = 0; i < count->nr_runs && !count->interrupted; i++)
		if (run_once(count, err) < 0)
			return -1;
	return 0;
}

void count_release(struct count *count)
{
	for (size_t i = 0; i < count->nr_counters; i++)
		free(count->counters[i].refusal);
	free(count->counters);
	count->counters = NULL;
	count->nr_counters = 0;
}
