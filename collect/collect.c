/*
 * collect.c - options, lifecycle, what is said to people.
 */
#include "share/compat.h"

#include "collect/caps.h"
#include "collect/diagnose.h"
#include "collect/events.h"
#include "collect/listing.h"
#include "collect/procmaps.h"
#include "collect/recorder.h"
#include "collect/recout.h"
#include "collect/sampling.h"
#include "collect/sigrec.h"
#include "collect/target.h"
#include "share/mem.h"
#include "share/msg.h"
#include "share/num.h"
#include "share/opts.h"

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

enum {
	OPT_FREQ = 1,
	OPT_COUNT,
	OPT_ALL,
	OPT_PID,
	OPT_TID,
	OPT_CPU,
	OPT_USER,
	OPT_CGROUP,
	OPT_EVENT,
	OPT_FILTER,
	OPT_OFF_CPU,
	OPT_GRAPH,
	OPT_CALL_GRAPH,
	OPT_ONLY,
	OPT_DATA,
	OPT_WEIGHT,
	OPT_BRANCH,
	OPT_NO_INHERIT,
	OPT_DURATION,
	OPT_DELAY,
	OPT_SWITCH_ON,
	OPT_CLOCK,
	OPT_RING,
	OPT_OUTPUT,
	OPT_SAMPLER,
	OPT_WALL,
	OPT_QUIET,
	OPT_CHECK,
	OPT_LIST,
};

static const struct opt table[] = {
        {OPT_ALL, 'a', "all-cpus", NULL, "record the whole machine (also without any target)"},
        {OPT_PID, 'p', "pid", "PID,...", "record these processes, all their threads"},
        {OPT_TID, 't', "tid", "TID,...", "record these threads"},
        {OPT_USER, 'u', "uid", "USER", "record the processes of a user"},
        {OPT_CGROUP, 'G', "cgroup", "GROUP", "record a control group (path, or a container's id)"},
        {OPT_CPU, 'C', "cpu", "LIST", "record on these CPUs only, such as 0,2-5"},
        {OPT_NO_INHERIT, 'i', "no-inherit", NULL, "leave out threads and children yet to come"},
        {OPT_EVENT, 'e', "event", "LIST", "what to sample (default: cycles, else cpu-clock)"},
        {OPT_FILTER, 0, "filter", "EXPR", "kernel filter of the tracepoints before it"},
        {OPT_OFF_CPU, 0, "off-cpu", NULL,
         "record where threads wait (with -e or -F: that as well)"},
        {OPT_FREQ, 'F', "freq", "N|max", "samples a second on each CPU (default 99)"},
        {OPT_COUNT, 'c', "count", "N", "a sample every N events instead"},
        {OPT_CALL_GRAPH, 0, "call-graph", "MODE", "auto, fp, dwarf[,SIZE], lbr or none"},
        {OPT_GRAPH, 'g', NULL, NULL, "call graphs, which are on without it"},
        {OPT_ONLY, 0, "only", "HALF", "user or kernel"},
        {OPT_DATA, 'd', "data", NULL, "also record data addresses"},
        {OPT_WEIGHT, 'W', "weight", NULL, "also record the weight of each access"},
        {OPT_BRANCH, 'b', "branch-any", NULL, "also record the branches taken"},
        {OPT_DURATION, 0, "duration", "TIME", "stop after 10, 500ms, 2m, ..."},
        {OPT_DELAY, 'D', "delay", "TIME", "take samples only after this time"},
        {OPT_SWITCH_ON, 0, "switch-on", "SIGNAL", "SIGUSR1 starts and stops taking samples"},
        {OPT_CLOCK, 'k', "clock", "CLOCK", "mono (default), raw, real, boot, tai or perf"},
        {OPT_RING, 'm', "mmap-size", "SIZE", "buffer of each CPU, such as 2M"},
        {OPT_OUTPUT, 'o', "output", "FILE", "write records to FILE (default: stdout)"},
        {OPT_SAMPLER, 0, "sampler", "KIND", "perf, or signal: no perf events, a preloaded library"},
        {OPT_WALL, 0, "wall", NULL, "signal sampler: by wall-clock time, not CPU time"},
        {OPT_LIST, 0, "list", "[GLOB]", "print the events of this machine and exit"},
        {OPT_CHECK, 0, "check", NULL, "print what this machine permits, and exit"},
        {OPT_QUIET, 'q', "quiet", NULL, "say nothing but errors and losses"},
};

struct settings {
	struct event_list events;
	struct target target;
	struct sampling sampling;
	size_t ring_size;
	uint64_t duration_ns; /* 0 = no limit */
	uint64_t delay_ns;    /* 0 = none */
	bool switched;        /* SIGUSR1 starts and stops */
	bool some_cpus;       /* -C was given */
	const char *output;
	bool quiet;
	bool whole_machine;
	enum { SAMPLER_ANY, SAMPLER_PERF, SAMPLER_SIGNAL } sampler;
	bool wall;
	bool off_cpu;
	bool freq_given;
};

struct run {
	struct settings *settings;
	struct recorder recorder;
	struct sigrec sigrec; /* takes the recorder's place with the signal sampler */
	bool by_signal;
	struct recout rec;
	int signal_fd;
	bool reader_gone;   /* writing failed with EPIPE */
	int command_status; /* as of waitpid(2) */
	bool command_ended;
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

/* ---- options ---- */

static int parse_number(const char *option, const char *text, uint64_t *value, struct err *err)
{
	if (num_parse_u64(text, strlen(text), value) < 0 || *value == 0)
		return err_set(err, "%s '%s' is not a positive number", option, text);
	return 0;
}

static int parse_ring_size(struct settings *settings, const char *text, struct err *err)
{
	uint64_t bytes;
	size_t size = 4096;

	if (num_parse_size(text, &bytes) < 0 || bytes < 4096 || bytes > (1ull << 30))
		return err_set(err, "-m '%s' is no size from 4K to 1G", text);
	while (size < bytes)
		size *= 2;
	settings->ring_size = size;
	return 0;
}

static int take_option(struct settings *settings, int id, const char *arg, struct err *err)
{
	struct sampling *sampling = &settings->sampling;

	switch (id) {
	case OPT_FREQ:
		settings->freq_given = true;
		sampling->freq_max = strcmp(arg, "max") == 0;
		sampling->period = 0;
		return sampling->freq_max ? 0 : parse_number("-F", arg, &sampling->freq_hz, err);
	case OPT_COUNT:
		sampling->freq_hz = 0;
		sampling->freq_max = false;
		return parse_number("-c", arg, &sampling->period, err);
	case OPT_ALL:
		settings->whole_machine = true;
		return 0;
	case OPT_PID:
		return target_pids(&settings->target, arg, err);
	case OPT_TID:
		return target_tids(&settings->target, arg, err);
	case OPT_USER:
		return target_user(&settings->target, arg, err);
	case OPT_CGROUP:
		return target_cgroup(&settings->target, arg, err);
	case OPT_CPU:
		settings->some_cpus = true;
		return target_cpus(&settings->target, arg, err);
	case OPT_EVENT:
		return events_parse(&settings->events, arg, err);
	case OPT_FILTER:
		return events_filter(&settings->events, arg, err);
	case OPT_OFF_CPU:
		settings->off_cpu = true;
		return 0;
	case OPT_GRAPH:
		return 0;
	case OPT_CALL_GRAPH:
		return sampling_parse_chain(sampling, arg, err);
	case OPT_ONLY:
		sampling->only_user = strcmp(arg, "user") == 0;
		sampling->only_kernel = strcmp(arg, "kernel") == 0;
		if (!sampling->only_user && !sampling->only_kernel)
			return err_set(err, "--only '%s' is neither user nor kernel", arg);
		return 0;
	case OPT_DATA:
		sampling->addresses = true;
		return 0;
	case OPT_WEIGHT:
		sampling->weights = true;
		return 0;
	case OPT_BRANCH:
		sampling->branches = true;
		return 0;
	case OPT_NO_INHERIT:
		sampling->inherit = false;
		return 0;
	case OPT_DURATION:
		if (num_parse_duration(arg, &settings->duration_ns) < 0 || !settings->duration_ns)
			return err_set(err, "--duration '%s' is no time such as 10, 500ms or 2m",
			               arg);
		return 0;
	case OPT_DELAY:
		if (num_parse_duration(arg, &settings->delay_ns) < 0)
			return err_set(err, "--delay '%s' is no time such as 500ms or 2", arg);
		return 0;
	case OPT_SWITCH_ON:
		settings->switched = true;
		if (strcmp(arg, "SIGUSR1") != 0 && strcmp(arg, "USR1") != 0)
			return err_set(err, "--switch-on '%s': only SIGUSR1 starts and stops", arg);
		return 0;
	case OPT_CLOCK:
		return sampling_parse_clock(sampling, arg, err);
	case OPT_RING:
		return parse_ring_size(settings, arg, err);
	case OPT_OUTPUT:
		settings->output = arg;
		return 0;
	case OPT_SAMPLER:
		if (strcmp(arg, "perf") != 0 && strcmp(arg, "signal") != 0)
			return err_set(err, "unknown --sampler '%s'; known are perf and signal",
			               arg);
		settings->sampler = arg[0] == 'p' ? SAMPLER_PERF : SAMPLER_SIGNAL;
		return 0;
	case OPT_WALL:
		settings->wall = true;
		settings->sampler = SAMPLER_SIGNAL;
		return 0;
	case OPT_QUIET:
		settings->quiet = true;
		return 0;
	}
	return 0;
}

/* --check and --list: a table on stdout instead of a recording. */
static int print_table(int id, const char *arg)
{
	struct output out;
	struct err err;
	int status = EXIT_COMPLETE;

	output_open(&out, NULL, &err);
	if (id == OPT_CHECK)
		diagnose_print(&out);
	else if (listing_print(&out, arg, &err) < 0)
		status = msg_fail(&err);
	if (output_close(&out, &err) < 0)
		status = msg_fail(&err);
	return status;
}

/* Returns an exit status, or -1 to go on. */
static int parse_options(struct settings *settings, int argc, char **argv)
{
	struct opts opts = {
	        .usage = "[OPTION]... [-- COMMAND [ARG]...]",
	        .about = "Records what the machine, some processes or a command spend their time "
	                 "on, as a\nstream of perf.data records for collapse:\n\n"
	                 "  collect -F 99 -a --duration 10 | collapse | render >flame.svg",
	        .table = table,
	        .nr = ARRAY_SIZE(table),
	        .stop_at_operand = true,
	        .argc = argc,
	        .argv = argv,
	};
	const char *arg;
	struct err err;
	int id;

	while ((id = opts_next(&opts, &arg, &err)) != OPTS_END) {
		if (id == OPTS_DONE)
			return EXIT_COMPLETE;
		if (id == OPT_CHECK || id == OPT_LIST) {
			/* the pattern may also stand apart */
			if (!arg && opts_next(&opts, &arg, &err) != OPTS_OPERAND)
				arg = NULL;
			return print_table(id, arg);
		}
		if (id == OPTS_OPERAND) {
			settings->target.command = argv + opts.at - 1;
			break;
		}
		if (id == OPTS_ERROR || take_option(settings, id, arg, &err) < 0) {
			msg_error("%s", err.text);
			return EXIT_MISUSE;
		}
	}
	if (settings->whole_machine && settings->target.tasks_named) {
		msg_error("-a records every process; leave out -a, or -p, -t and -u");
		return EXIT_MISUSE;
	}
	if (settings->target.command && settings->target.tasks_named) {
		msg_error("a command is recorded itself; leave out the command, or -p, -t and -u");
		return EXIT_MISUSE;
	}
	if (settings->sampler == SAMPLER_SIGNAL &&
	    (!settings->target.command || settings->whole_machine || settings->events.nr)) {
		msg_error("the signal sampler samples a command by time: leave out -a and -e, and "
		          "write the command after --");
		return EXIT_MISUSE;
	}
	settings->target.system = settings->whole_machine;
	return -1;
}

/* ---- recording ---- */

static void between_processes(void *arg)
{
	struct run *run = arg;

	recorder_drain(&run->recorder);
	recout_flush(&run->rec);
}

/* Tells what existed before; the rings fill meanwhile and are read now and then. */
static void tell_existing(struct run *run)
{
	const struct settings *settings = run->settings;
	const struct perf_event_attr *attr = &events_tracker(&run->settings->events)->attr;
	struct procmaps maps;

	procmaps_init(&maps, &run->rec, attr->mmap_data, attr->build_id);
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
	if (info.ssi_signo != SIGCHLD)
		return true;
	if (child > 0 && waitpid(child, &run->command_status, WNOHANG) == child) {
		run->command_ended = true;
		return true;
	}
	return false;
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
	return next > now ? (int)((next - now + 999999) / 1000000) : 0;
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

static void record(struct run *run)
{
	struct recorder *recorder = &run->recorder;
	struct pollfd *fds = mem_alloc((recorder->nr_rings + 1) * sizeof(*fds));
	bool stop = false;

	while (!stop) {
		size_t nr = recorder_pollfds(recorder, fds + 1);

		/* rings of tasks that ended tell nothing more; a command's end is a signal */
		if (!nr && run->settings->target.child <= 0)
			break;
		fds[0] = (struct pollfd){.fd = run->signal_fd, .events = POLLIN};
		if (poll(fds, (nfds_t)nr + 1, poll_timeout(run)) < 0 && errno != EINTR)
			break;
		if (fds[0].revents & POLLIN)
			stop = take_signal(run);
		if (run->resume_ns && monotonic_ns() >= run->resume_ns) {
			recorder_resume(recorder);
			run->resume_ns = 0;
			run->sampling = true;
		}
		recorder_polled(recorder, fds + 1, nr);
		if (!drain(run) || (run->stop_ns && monotonic_ns() >= run->stop_ns))
			break;
	}
	free(fds);
}

static int block_signals(bool switched)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	if (switched)
		sigaddset(&set, SIGUSR1);
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
			         "-m "
			         "%zuK, or a lower frequency",
			         (uintmax_t)event->nr_lost, event->name,
			         recorder->ring_size * 2 / 1024);
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
	if (!nr)
		msg_warn("no samples were taken: the targets did not run, or event '%s' did not "
		         "occur",
		         run->settings->events.at[0].name);
	if (run->by_signal)
		say_about_signals(sigrec);
	else if (nr_lost)
		say_what_was_lost(recorder);
	if (nr_malformed)
		msg_warn("%ju records were malformed and left out", (uintmax_t)nr_malformed);
	return nr_lost || nr_malformed ? EXIT_INCOMPLETE : EXIT_COMPLETE;
}

static int open_signal_sampler(struct run *run, struct err *err)
{
	struct settings *settings = run->settings;

	event_list_release(&settings->events);
	run->by_signal = true;
	return sigrec_open(&run->sigrec, &run->rec, &settings->events, &settings->sampling,
	                   settings->wall, settings->target.command[0], err);
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
	        .hold = settings->delay_ns || settings->switched,
	};
	if (settings->target.command && target_fork(&settings->target, stdout_is_ours, err) < 0)
		return -1;
	if (recorder_open(recorder, err) == 0)
		return recorder_enable(recorder, err);
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

static int start(struct run *run, int argc, char **argv, struct err *err)
{
	struct settings *settings = run->settings;
	const struct perf_event_attr *attr;

	if (recout_open(&run->rec, settings->output, err) < 0)
		return -1;
	run->signal_fd = block_signals(settings->switched);
	if (run->signal_fd < 0)
		return err_sys(err, "cannot receive signals");
	if (target_prepare(&settings->target, err) < 0 || open_sampler(run, err) < 0)
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
	attr = &settings->events.at[0].attr;
	recout_features(&run->rec, argc, argv, attr->use_clockid ? attr->clockid : -1);
	if (run->by_signal)
		return 0;
	say_what_was_given_up(&run->recorder);
	tell_existing(run);
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
}

static int run_recording(struct settings *settings, int argc, char **argv)
{
	struct run run = {.settings = settings};
	struct err err;
	int status, failure;

	if (start(&run, argc, argv, &err) < 0) {
		output_discard(&run.rec.out);
		if (settings->target.child > 0)
			kill(settings->target.child, SIGKILL);
		release(&run);
		return msg_fail(&err);
	}
	record(&run);
	/* samples of a command that still runs end here, not when it has been ended */
	finish(&run);
	failure = run.rec.out.failure;
	end_command(&run);
	status = summarize(&run);
	if (failure == EPIPE) {
		msg_warn(
		        "the reader of the records has gone away; what came after is not recorded");
		output_discard(&run.rec.out);
		status = EXIT_INCOMPLETE;
	} else if (recout_close(&run.rec, &err) < 0) {
		status = msg_fail(&err);
	}
	release(&run);
	return status;
}

int main(int argc, char **argv)
{
	struct settings settings = {
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
	status = parse_options(&settings, argc, argv);
	if (status < 0) {
		msg_quiet(settings.quiet);
		caps_raise_descriptors();
		if (!settings.events.nr && (!settings.off_cpu || settings.freq_given))
			events_add(&settings.events, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES,
			           "cycles")
			        ->is_default = true;
		if (settings.off_cpu)
			events_add_switches(&settings.events);
		status = run_recording(&settings, argc, argv);
	}
	event_list_release(&settings.events);
	target_release(&settings.target);
	return status;
}
