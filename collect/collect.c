/*
 * collect.c - the life of a recording, and what is said to people.
 */
#include "share/compat.h"

#include "collect/caps.h"
#include "collect/count.h"
#include "collect/countout.h"
#include "collect/holdback.h"
#include "collect/follow.h"
#include "collect/options.h"
#include "collect/procmaps.h"
#include "collect/recorder.h"
#include "collect/recout.h"
#include "collect/sampling.h"
#include "collect/sigrec.h"
#include "collect/target.h"
#include "collect/tracing.h"
#include "share/mem.h"
#include "share/msg.h"
#include "share/num.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Rings are read at least that often, so that readers see what happens. */
#define DRAIN_MS        1000
#define DRAIN_SIGNAL_MS 100

/* How often is looked whether CPUs went away or came back. */
#define CPUS_NS 1000000000ull

struct run {
	struct settings *settings;
	struct recorder recorder;
	struct holdback holdback; /* of the recorder, where asked for */
	struct sigrec sigrec;     /* takes the recorder's place with the signal sampler */
	bool by_signal;
	bool progress; /* stderr is a terminal that wants to know */
	struct recout rec;
	int signal_fd;
	struct follow follow; /* used where settings->follow is set */
	int command_status;   /* as of waitpid(2) */
	bool command_ended;
	uint64_t cpus_ns; /* when it is looked for CPUs next */
	bool blind;       /* one of them runs and is not recorded */
	uint64_t start_ns, stop_ns;
	uint64_t resume_ns; /* when samples begin to be taken; 0 = they are, or a signal decides */
	bool sampling;      /* samples are being taken */
};

static uint64_t monotonic_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/*
 * The capabilities that are still needed once everything is open: a file gets
 * its name at the end, in a folder that may be somebody else's.
 */
static uint64_t capabilities_to_keep(const struct settings *settings)
{
	bool to_file = settings->output && strcmp(settings->output, "-") != 0;

	uint64_t keep = to_file ? CAPS_BIT(CAP_DAC_OVERRIDE) | CAPS_BIT(CAP_FOWNER) : 0;

	/* the events of a CPU that comes back are opened anew */
	if (settings->target.system)
		keep |= CAPS_BIT(CAP_PERFMON);
	if (!settings->follow)
		return keep;
	/* processes yet to come are opened, and what they have mapped is read, as at the start */
	keep |= CAPS_BIT(CAP_PERFMON) | CAPS_BIT(CAP_SYS_PTRACE) | CAPS_BIT(CAP_DAC_READ_SEARCH);
	for (size_t i = 0; i < settings->events.nr; i++)
		if (settings->events.at[i].probe || !caps_has(CAP_PERFMON))
			keep |= CAPS_BIT(CAP_SYS_ADMIN);
	return keep;
}

/* ---- recording ---- */

static void between_processes(void *arg)
{
	struct run *run = arg;

	recorder_drain(&run->recorder);
	recout_flush(&run->rec);
}

static void init_procmaps(struct run *run, struct procmaps *maps)
{
	const struct perf_event_attr *attr = &events_tracker(&run->settings->events)->attr;

	procmaps_init(maps, &run->rec, attr->mmap_data, attr->build_id);
	maps->namespaces = attr->namespaces;
}

/* Tells what existed before; the rings fill meanwhile and are read now and then. */
static void tell_existing(struct run *run)
{
	const struct settings *settings = run->settings;
	const struct perf_event_attr *attr = &events_tracker(&run->settings->events)->attr;
	struct procmaps maps;

	init_procmaps(run, &maps);
	if (attr->cgroup)
		procmaps_cgroups(&maps);
	if (!settings->events.at[0].attr.exclude_kernel && !procmaps_kernel(&maps))
		msg_warn("kernel addresses are hidden (kernel.kptr_restrict is not 0): kernel "
		         "frames "
		         "will have no names; run as root to see them");
	if (settings->target.system)
		procmaps_all(&maps, between_processes, run);
	for (size_t i = 0; i < settings->target.nr_pids; i++)
		procmaps_process(&maps, (uint32_t)settings->target.pids[i]);
	procmaps_release(&maps);
	run->recorder.rounds = true;
}

/* A process of the name that is followed: new to the recording, or not. */
static void follow_found(int pid, void *arg)
{
	struct run *run = arg;
	struct recorder *recorder = &run->recorder;
	uint64_t now = recorder_now(recorder);
	struct procmaps maps;
	struct err err;
	int added = recorder_add(recorder, pid, &err);

	if (added < 0)
		msg_warn("process %d is not recorded: %s", pid, err.text);
	if (added <= 0)
		return;
	/* from here on the kernel tells what changes */
	run->rec.trailer_ns = now;
	init_procmaps(run, &maps);
	procmaps_process(&maps, (uint32_t)pid);
	procmaps_release(&maps);
	run->rec.trailer_ns = 0;
}

/* Takes what the rings hold. False once nobody reads us any more. */
static bool drain(struct run *run)
{
	if (run->by_signal)
		sigrec_drain(&run->sigrec);
	else
		recorder_drain(&run->recorder);
	return recout_flush(&run->rec) == 0;
}

/* True when a signal asks to stop. */
static bool take_signal(struct run *run)
{
	struct signalfd_siginfo info;
	pid_t child = run->settings->target.child;

	if (read(run->signal_fd, &info, sizeof(info)) != sizeof(info))
		return false;
	if (info.ssi_signo == SIGUSR1) {
		if (run->sampling)
			recorder_pause(&run->recorder);
		else
			recorder_resume(&run->recorder);
		run->sampling = !run->sampling;
		msg_note(run->sampling ? "taking samples" : "taking no samples");
		return false;
	}
	if (info.ssi_signo == SIGUSR2) {
		drain(run);
		recout_let_go(&run->rec);
		msg_note("wrote what was kept");
		return false;
	}
	if (info.ssi_signo != SIGCHLD)
		return true;
	if (child > 0 && waitpid(child, &run->command_status, WNOHANG) == child) {
		run->command_ended = true;
		return true;
	}
	return false;
}

/* CPUs that go offline and come back while the whole machine is recorded. */
static void look_at_cpus(struct run *run)
{
	struct target *target = &run->settings->target;
	enum cpu_change change = CPU_GONE;
	struct err err;
	int cpu;

	if (!target->system || monotonic_ns() < run->cpus_ns)
		return;
	run->cpus_ns = monotonic_ns() + CPUS_NS;
	while ((cpu = target_cpu_changed(target, &change)) >= 0) {
		if (change == CPU_GONE) {
			recorder_cpu_gone(&run->recorder, cpu);
			msg_note("CPU %d went offline", cpu);
		} else if (change == CPU_BACK &&
		           recorder_cpu_back(&run->recorder, cpu, &err) == 0) {
			msg_note("CPU %d is back", cpu);
		} else if (change == CPU_BACK) {
			msg_warn("CPU %d is back but not recorded any more: %s", cpu, err.text);
			run->blind = true;
		} else if (target->nr_cpus == target->nr_online) {
			msg_warn("CPU %d came online and is not recorded; start anew", cpu);
			run->blind = true;
		}
	}
}

static int poll_timeout(const struct run *run)
{
	uint64_t now = monotonic_ns(), next = now;

	/* shared memory wakes nobody */
	next += (run->by_signal ? DRAIN_SIGNAL_MS : DRAIN_MS) * 1000000ull;

	if (run->stop_ns)
		next = MIN_OF(next, run->stop_ns);
	if (run->resume_ns)
		next = MIN_OF(next, run->resume_ns);
	if (run->settings->follow && !run->follow.nr_bells)
		next = MIN_OF(next, now + FOLLOW_SCAN_NS);
	return next > now ? (int)((next - now + 999999) / 1000000) : 0;
}

/* One line on a terminal, over itself, while a recording runs. */
static void show_progress(const struct run *run)
{
	uint64_t samples = run->by_signal ? run->sigrec.nr_samples : run->recorder.nr_samples;
	uint64_t lost = run->by_signal ? run->sigrec.nr_lost : run->recorder.nr_lost;
	char grouped[NUM_GROUPED], lost_grouped[NUM_GROUPED];

	msg_progress("%.0f s, %s samples, %s lost, %.1f MB",
	             (double)(monotonic_ns() - run->start_ns) / 1e9,
	             num_format_grouped(grouped, samples), num_format_grouped(lost_grouped, lost),
	             (double)run->rec.nr_bytes / 1e6);
}

static void record(struct run *run)
{
	struct recorder *recorder = &run->recorder;
	struct pollfd *fds =
	        mem_alloc((recorder->nr_rings + run->follow.nr_bells + 1) * sizeof(*fds));
	bool stop = false;

	while (!stop) {
		size_t nr = recorder_pollfds(recorder, fds + 1), nr_bells;

		/* rings of tasks that ended tell nothing more; a command's end is a signal */
		if (!nr && run->settings->target.child <= 0 && !run->settings->follow)
			break;
		fds[0] = (struct pollfd){.fd = run->signal_fd, .events = POLLIN};
		nr_bells = follow_pollfds(&run->follow, fds + 1 + nr);
		if (poll(fds, (nfds_t)(1 + nr + nr_bells), poll_timeout(run)) < 0 && errno != EINTR)
			break;
		if (fds[0].revents & POLLIN)
			stop = take_signal(run);
		if (run->resume_ns && monotonic_ns() >= run->resume_ns) {
			recorder_resume(recorder);
			run->resume_ns = 0;
			run->sampling = true;
		}
		recorder_polled(recorder, fds + 1, nr);
		look_at_cpus(run);
		if (run->settings->follow)
			follow_look(&run->follow, follow_found, run);
		if (run->progress)
			show_progress(run);
		if (!drain(run) || (run->stop_ns && monotonic_ns() >= run->stop_ns))
			break;
	}
	free(fds);
}

static int block_signals(const struct settings *settings)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	if (settings->switched)
		sigaddset(&set, SIGUSR1);
	if (settings->overwrite_ns)
		sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static void say_what_was_given_up(const struct recorder *recorder)
{
	const struct event *first = &recorder->events->at[0];

	if (recorder->without_pmu)
		msg_note("no hardware counters here: sampling %s instead of cycles", first->name);
	if (recorder->without_kernel)
		msg_note("kernel.perf_event_paranoid forbids the kernel half: recording user space "
		         "only");
	if (recorder->without_children)
		msg_warn("this kernel cannot read a group (:S) in threads and children yet to "
		         "come: they are left out");
	if (recorder->ring_size < recorder->asked_ring_size)
		msg_warn("the locked-memory limit leaves %zu kB of buffer for each CPU instead of "
		         "%zu "
		         "kB; samples may be lost (raise kernel.perf_event_mlock_kb or ulimit -l)",
		         recorder->ring_size / 1024, recorder->asked_ring_size / 1024);
}

/* Ends the command, where it still runs, and says how it ended. */
static void end_command(struct run *run)
{
	pid_t child = run->settings->target.child;
	const char *name;

	if (child <= 0)
		return;
	name = run->settings->target.command[0];
	if (!run->command_ended) {
		/* the recording is over before the command: as with perf, it is ended too */
		kill(child, SIGTERM);
		waitpid(child, &run->command_status, 0);
		msg_note("'%s' was still running and was ended (SIGTERM)", name);
	} else if (WIFSIGNALED(run->command_status)) {
		msg_warn("'%s' was ended by signal %d", name, WTERMSIG(run->command_status));
	} else if (WEXITSTATUS(run->command_status)) {
		msg_warn("'%s' exited with status %d", name, WEXITSTATUS(run->command_status));
	}
}

static void say_what_was_lost(const struct recorder *recorder)
{
	for (size_t i = 0; i < recorder->events->nr; i++) {
		const struct event *event = &recorder->events->at[i];

		if (event->nr_lost)
			msg_warn("%ju records of event '%s' were lost: the buffers were full; use "
			         "-m %zuK, or %s",
			         (uintmax_t)event->nr_lost, event->name,
			         recorder->ring_size * 2 / 1024,
			         event->attr.freq  ? "a lower frequency" :
			         event->tracepoint ? "a --filter" :
			                             "a longer period (-c)");
	}
}

static void say_about_signals(const struct sigrec *sigrec)
{
	if (!sigrec_processes(sigrec))
		msg_warn("no process loaded the sampler: the command is not dynamically linked, or "
		         "has another libc");
	if (sigrec_conflicts(sigrec))
		msg_warn("%ju processes use signal SIGRTMAX-3 themselves and were left alone from "
		         "then on",
		         (uintmax_t)sigrec_conflicts(sigrec));
}

static void say_what_was_throttled(const struct recorder *recorder)
{
	for (size_t i = 0; i < recorder->events->nr; i++) {
		const struct event *event = &recorder->events->at[i];

		if (event->nr_throttled)
			msg_warn("event '%s' was throttled %ju time%s: it came too often for the "
			         "kernel, which stopped it until the next tick; use a lower "
			         "frequency",
			         event->name, (uintmax_t)event->nr_throttled,
			         num_plural(event->nr_throttled));
	}
}

static int summarize(struct run *run)
{
	const struct recorder *recorder = &run->recorder;
	const struct sigrec *sigrec = &run->sigrec;
	uint64_t nr = run->by_signal ? sigrec->nr_samples : recorder->nr_samples;
	uint64_t nr_lost = run->by_signal ? sigrec->nr_lost : recorder->nr_lost;
	uint64_t nr_malformed = run->by_signal ? sigrec->nr_malformed : recorder->nr_malformed;
	char samples[NUM_GROUPED], lost[NUM_GROUPED], throttled[NUM_GROUPED];
	double seconds = (double)(monotonic_ns() - run->start_ns) / 1e9;

	num_format_grouped(samples, nr);
	num_format_grouped(lost, nr_lost);
	num_format_grouped(throttled, recorder->nr_throttled);
	msg_note("%s samples, %s lost, %s throttled in %.2f s", samples, lost, throttled, seconds);
	if (run->holdback.nr_short)
		msg_note("%s waits shorter than --min-block, %.3f s in all, stand as a sum",
		         num_format_grouped(samples, run->holdback.nr_short),
		         (double)run->holdback.short_ns / 1e9);
	if (run->holdback.nr_stripped)
		msg_warn("%s waits stand without the user's stack: so many threads waited at once "
		         "that their copies took more than %zu MB",
		         num_format_grouped(samples, run->holdback.nr_stripped),
		         HOLDBACK_MAX >> 20);
	if (!nr)
		msg_warn("no samples were taken: the targets hardly ran, or event '%s' did not "
		         "occur",
		         run->settings->events.at[0].name);
	if (run->by_signal)
		say_about_signals(sigrec);
	else if (nr_lost)
		say_what_was_lost(recorder);
	if (!run->by_signal && recorder->nr_throttled)
		say_what_was_throttled(recorder);
	if (nr_malformed)
		msg_warn("%ju record%s malformed and left out", (uintmax_t)nr_malformed,
		         nr_malformed == 1 ? " was" : "s were");
	return nr_lost || nr_malformed || run->blind ? EXIT_INCOMPLETE : EXIT_COMPLETE;
}

static int open_signal_sampler(struct run *run, struct err *err)
{
	struct settings *settings = run->settings;

	event_list_release(&settings->events);
	run->by_signal = true;
	return sigrec_open(&run->sigrec, &run->rec, &settings->events, &settings->sampling,
	                   settings->wall, settings->target.command[0], err);
}

/* Waits are seen by the kernel alone; what a user can have without it. */
static int add_remedy(struct err *err)
{
	struct err refusal = *err;
	int code = err->code;

	err_set(err,
	        "%s; without it, what samples the waits of a command by its clock: "
	        "collect --wall -- COMMAND",
	        refusal.text);
	err->code = code;
	return -1;
}

/* Opens events, or prepares the other sampler; the command is forked by then. */
static int open_sampler(struct run *run, struct err *err)
{
	struct settings *settings = run->settings;
	struct recorder *recorder = &run->recorder;
	bool stdout_is_ours = !run->rec.out.path;
	struct err refusal;

	if (settings->some_cpus || settings->delay_ns || settings->switched ||
	    settings->target.cgroup_fd > 0)
		events_add_sideband(&settings->events);
	sampling_apply(&settings->sampling, &settings->events, settings->target.nr_cpus);
	if (settings->sampler == SAMPLER_SIGNAL) {
		if (open_signal_sampler(run, err) < 0)
			return -1;
		return target_fork(&settings->target, stdout_is_ours, err);
	}
	*recorder = (struct recorder){
	        .events = &settings->events,
	        .target = &settings->target,
	        .sampling = &settings->sampling,
	        .rec = &run->rec,
	        .ring_size = settings->ring_size,
	        .switches = settings->off_cpu,
	        .namespaces = settings->namespaces,
	        .follows = settings->follow,
	        .hold = settings->delay_ns || settings->switched,
	};
	if (settings->off_cpu && settings->min_block_ns) {
		holdback_init(&run->holdback, recorder, settings->min_block_ns);
		recorder->holdback = &run->holdback;
	}
	if (settings->target.command && target_fork(&settings->target, stdout_is_ours, err) < 0)
		return -1;
	if (recorder_open(recorder, err) == 0)
		return recorder_enable(recorder, err);
	if (settings->off_cpu && (err->code == EACCES || err->code == EPERM))
		return add_remedy(err);
	/* a command can be sampled without perf events, if nothing else was asked for */
	if (!settings->target.command || settings->target.system ||
	    settings->sampler != SAMPLER_ANY || !settings->events.at[0].is_default ||
	    recorder->hold || (err->code != EACCES && err->code != EPERM && err->code != ENOSYS))
		return -1;
	refusal = *err;
	recorder_release(recorder);
	target_abandon(&settings->target);
	if (open_signal_sampler(run, err) < 0)
		return err_prefix(err, "%s; instead", refusal.text);
	msg_warn("%s; sampling by signals instead", refusal.text);
	return target_fork(&settings->target, stdout_is_ours, err);
}

static void add_followed(int pid, void *arg)
{
	target_add_process(arg, pid);
}

/*
 * Waits until there is a process of the name. The bells are there before
 * /proc is looked through: none can come in between unseen.
 */
static int await_first(struct run *run, struct err *err)
{
	const struct settings *settings = run->settings;
	struct target *target = &run->settings->target;
	struct follow *follow = &run->follow;
	uint64_t end = settings->duration_ns ? monotonic_ns() + settings->duration_ns : UINT64_MAX;
	struct pollfd *fds;

	follow_open(follow, settings->follow, target->online, target->nr_online);
	target_each_named(follow->name, add_followed, target);
	if (!target->nr_tids)
		msg_note("waiting for a process named '%s'", follow->name);
	fds = mem_alloc((follow->nr_bells + 1) * sizeof(*fds));
	fds[0] = (struct pollfd){.fd = run->signal_fd, .events = POLLIN};
	while (!target->nr_tids && monotonic_ns() < end) {
		size_t nr = follow_pollfds(follow, fds + 1);

		poll(fds, (nfds_t)nr + 1, FOLLOW_SCAN_NS / 1000000);
		if (fds[0].revents & POLLIN && take_signal(run))
			break;
		follow_look(follow, add_followed, target);
	}
	free(fds);
	return target->nr_tids ? 0 : err_set(err, "no process named '%s' came", follow->name);
}

static int start(struct run *run, int argc, char **argv, struct err *err)
{
	struct settings *settings = run->settings;
	const struct perf_event_attr *attr;

	if (recout_open(&run->rec, settings->output, err) < 0)
		return -1;
	run->signal_fd = block_signals(settings);
	if (run->signal_fd < 0)
		return err_sys(err, "cannot receive signals");
	if (target_prepare(&settings->target, err) < 0 ||
	    (settings->follow && await_first(run, err) < 0) || open_sampler(run, err) < 0)
		return -1;
	if (settings->target.child > 0 && target_start(&settings->target, err) < 0)
		return -1;
	run->start_ns = monotonic_ns();
	run->sampling = !run->recorder.hold;
	if (settings->delay_ns)
		run->resume_ns = run->start_ns + settings->delay_ns;
	if (settings->duration_ns)
		run->stop_ns = run->start_ns + settings->delay_ns + settings->duration_ns;
	recout_events(&run->rec, &settings->events);
	if (run->recorder.holdback)
		holdback_describe(&run->rec);
	tracing_write(&run->rec, &settings->events);
	attr = &settings->events.at[0].attr;
	recout_features(&run->rec, argc, argv, attr->use_clockid ? attr->clockid : -1);
	if (settings->zstd_level && recout_compress(&run->rec, settings->zstd_level, err) < 0)
		return -1;
	if (!run->by_signal) {
		say_what_was_given_up(&run->recorder);
		tell_existing(run);
	}
	caps_keep(capabilities_to_keep(settings));
	return 0;
}

static void finish(struct run *run)
{
	if (run->by_signal) {
		sigrec_finish(&run->sigrec);
		recout_sample_time(&run->rec, run->start_ns, monotonic_ns());
	} else {
		recorder_finish(&run->recorder);
	}
	recout_flush(&run->rec);
}

static void release(struct run *run)
{
	if (run->by_signal)
		sigrec_release(&run->sigrec);
	else
		recorder_release(&run->recorder);
	holdback_release(&run->holdback);
	follow_release(&run->follow);
}

static int run_recording(struct settings *settings, int argc, char **argv)
{
	struct run run = {.settings = settings};
	struct err err;
	int status;

	if (start(&run, argc, argv, &err) < 0) {
		recout_discard(&run.rec);
		if (settings->target.child > 0)
			kill(settings->target.child, SIGKILL);
		release(&run);
		return msg_fail(&err);
	}
	run.progress = !settings->quiet && isatty(STDERR_FILENO);
	if (settings->overwrite_ns)
		recout_hold(&run.rec, settings->overwrite_ns);
	record(&run);
	if (run.progress)
		msg_progress_end();
	/* samples of a command that still runs end here, not when it has been ended */
	finish(&run);
	end_command(&run);
	status = summarize(&run);
	if (recout_close(&run.rec, &err) < 0) {
		if (err.code == EPIPE) {
			msg_warn("the reader of the records has gone away; what came after is not "
			         "recorded");
			status = EXIT_INCOMPLETE;
		} else {
			status = msg_fail(&err);
		}
	}
	release(&run);
	return status;
}

/* ---- counting ---- */

struct counting {
	struct output out;
	enum count_format format;
};

static void print_interval(const struct count *count, void *arg)
{
	struct counting *counting = arg;

	countout_interval(count, &counting->out, counting->format);
	output_flush(&counting->out);
}

static void add_usual_events(struct event_list *events)
{
	static const char usual[] = "task-clock,context-switches,cpu-migrations,page-faults,cycles,"
	                            "instructions,branches,branch-misses";
	struct err err;

	events_parse(events, usual, &err);
}

static int run_counting(struct settings *settings)
{
	struct counting counting = {.format = settings->count_format};
	struct target *target = &settings->target;
	struct count count = {
	        .events = &settings->events,
	        .target = target,
	        .inherit = settings->sampling.inherit,
	        .only_user = settings->sampling.only_user,
	        .only_kernel = settings->sampling.only_kernel,
	        .duration_ns = settings->duration_ns,
	        .interval_ns = settings->interval_ns,
	        .nr_runs =
	                settings->nr_runs ? (unsigned int)MIN_OF(settings->nr_runs, 1000000u) : 1,
	        .stdout_is_ours = !settings->output,
	        .keep_capabilities = capabilities_to_keep(settings),
	        .on_interval = print_interval,
	        .arg = &counting,
	};
	struct err err;
	int status = EXIT_COMPLETE;

	if (!settings->events.nr)
		add_usual_events(&settings->events);
	if (output_open(&counting.out, settings->output, &err) < 0)
		return msg_fail(&err);
	block_signals(settings);
	if (target_prepare(target, &err) < 0 || count_run(&count, &err) < 0) {
		count_release(&count);
		output_discard(&counting.out);
		return msg_fail(&err);
	}
	if (count.interval_ns)
		countout_interval(&count, &counting.out, counting.format);
	else
		countout_total(&count, &counting.out, counting.format,
		               target->command ? target->command[0] :
		               target->system  ? "the whole machine" :
		                                 "the processes named");
	if (WIFEXITED(count.command_status) && WEXITSTATUS(count.command_status))
		msg_warn("'%s' exited with status %d", target->command[0],
		         WEXITSTATUS(count.command_status));
	if (output_close(&counting.out, &err) < 0)
		status = msg_fail(&err);
	count_release(&count);
	return status;
}

int main(int argc, char **argv)
{
	struct settings settings = {
	        .min_block_ns = 100000,
	        .sampling =
	                {
	                        .freq_hz = SAMPLING_DEFAULT_FREQ,
	                        .bandwidth = SAMPLING_DEFAULT_BANDWIDTH,
	                        .inherit = true,
	                        .clockid = CLOCK_MONOTONIC,
	                },
	};
	int status;

	msg_init("collect");
	status = options_parse(&settings, argc, argv);
	if (status < 0) {
		msg_quiet(settings.quiet);
		caps_raise_descriptors();
		if (settings.counting) {
			status = run_counting(&settings);
			goto end;
		}
		if (!settings.events.nr && (!settings.off_cpu || settings.freq_given))
			events_add(&settings.events, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES,
			           "cycles")
			        ->is_default = true;
		if (settings.off_cpu)
			events_add_switches(&settings.events, settings.min_block_ns > 0);
		status = run_recording(&settings, argc, argv);
	}
end:
	event_list_release(&settings.events);
	target_release(&settings.target);
	return status;
}
