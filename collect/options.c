#include "share/compat.h"
#include "collect/options.h"

#include "collect/diagnose.h"
#include "collect/listing.h"
#include "share/msg.h"
#include "share/num.h"
#include "share/opts.h"

enum {
	OPT_FREQ = 1,
	OPT_COUNT,
	OPT_ALL,
	OPT_PID,
	OPT_TID,
	OPT_CPU,
	OPT_USER,
	OPT_FOLLOW,
	OPT_CGROUP,
	OPT_EVENT,
	OPT_FILTER,
	OPT_OFF_CPU,
	OPT_MIN_BLOCK,
	OPT_GRAPH,
	OPT_CALL_GRAPH,
	OPT_ONLY,
	OPT_DATA,
	OPT_WEIGHT,
	OPT_BRANCH,
	OPT_NO_INHERIT,
	OPT_NAMESPACES,
	OPT_DURATION,
	OPT_DELAY,
	OPT_SWITCH_ON,
	OPT_OVERWRITE,
	OPT_COMPRESS,
	OPT_CLOCK,
	OPT_RING,
	OPT_OUTPUT,
	OPT_COUNTING,
	OPT_INTERVAL,
	OPT_REPEAT,
	OPT_JSON,
	OPT_CSV,
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
        {OPT_FOLLOW, 0, "follow", "NAME", "record the processes of a name, present and future"},
        {OPT_CGROUP, 'G', "cgroup", "GROUP", "record a control group (path, or a container's id)"},
        {OPT_CPU, 'C', "cpu", "LIST", "record on these CPUs only, such as 0,2-5"},
        {OPT_NO_INHERIT, 'i', "no-inherit", NULL, "leave out threads and children yet to come"},
        {OPT_EVENT, 'e', "event", "LIST", "what to sample (default: cycles, else cpu-clock)"},
        {OPT_FILTER, 0, "filter", "EXPR", "kernel filter of the tracepoints before it"},
        {OPT_OFF_CPU, 0, "off-cpu", NULL,
         "record where threads wait (with -e or -F: that as well)"},
        {OPT_MIN_BLOCK, 0, "min-block", "TIME",
         "of these, add up the shorter ones (default: 100us; 0: none)"},
        {OPT_FREQ, 'F', "freq", "N|max", "samples a second on each CPU (default 99)"},
        {OPT_COUNT, 'c', "period", "N", "a sample every N events instead"},
        {OPT_CALL_GRAPH, 0, "call-graph", "MODE", "auto, fp, dwarf[,SIZE], lbr or none"},
        {OPT_GRAPH, 'g', NULL, NULL, "call graphs, which are on without it"},
        {OPT_ONLY, 0, "only", "HALF", "user or kernel"},
        {OPT_DATA, 'd', "data", NULL, "also record data addresses"},
        {OPT_WEIGHT, 'W', "weight", NULL, "also record the weight of each access"},
        {OPT_BRANCH, 'b', "branch-any", NULL, "also record the branches taken"},
        {OPT_NAMESPACES, 0, "namespaces", NULL, "also record the namespaces of each process"},
        {OPT_DURATION, 0, "duration", "TIME", "stop after 10, 500ms, 2m, ..."},
        {OPT_DELAY, 'D', "delay", "TIME", "take samples only after this time"},
        {OPT_SWITCH_ON, 0, "switch-on", "SIGNAL", "SIGUSR1 starts and stops taking samples"},
        {OPT_OVERWRITE, 0, "overwrite", "TIME",
         "keep only the last TIME; written on SIGUSR2, at the end"},
        {OPT_CLOCK, 'k', "clock", "CLOCK", "mono (default), raw, real, boot, tai or perf"},
        {OPT_RING, 'm', "mmap-size", "SIZE", "buffer of each CPU, such as 2M"},
        {OPT_COMPRESS, 'z', "compress", "[LEVEL]",
         "compress records by zstd, level 1 (default) to 19"},
        {OPT_OUTPUT, 'o', "output", "FILE", "write records to FILE (default: stdout)"},
        {OPT_SAMPLER, 0, "sampler", "KIND", "perf, or signal: no perf events, a preloaded library"},
        {OPT_WALL, 0, "wall", NULL, "signal sampler: by wall-clock time, not CPU time"},
        {OPT_COUNTING, 0, "count", NULL, "count events instead of recording samples"},
        {OPT_INTERVAL, 'I', "interval", "TIME", "counting: print every 100ms, 1s, ..."},
        {OPT_REPEAT, 'r', "repeat", "N", "counting: run the command N times, print the mean"},
        {OPT_JSON, 0, "json", NULL, "counting: print JSON"},
        {OPT_CSV, 0, "csv", NULL, "counting: print CSV"},
        {OPT_LIST, 0, "list", "[GLOB]", "print the events of this machine and exit"},
        {OPT_CHECK, 0, "check", NULL, "print what this machine permits, and exit"},
        {OPT_QUIET, 'q', "quiet", NULL, "say nothing but errors and losses"},
};

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
	case OPT_FOLLOW:
		settings->follow = arg;
		settings->target.tasks_named = true;
		return *arg ? 0 : err_set(err, "--follow names no process");
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
	case OPT_MIN_BLOCK:
		if (num_parse_duration(arg, &settings->min_block_ns) < 0)
			return err_set(err, "--min-block '%s' is no time such as 100us", arg);
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
	case OPT_NAMESPACES:
		settings->namespaces = true;
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
	case OPT_OVERWRITE:
		if (num_parse_duration(arg, &settings->overwrite_ns) < 0 || !settings->overwrite_ns)
			return err_set(err, "--overwrite '%s' is no time such as 10 or 30s", arg);
		return 0;
	case OPT_COMPRESS:
		settings->zstd_level = arg ? (int)strtol(arg, NULL, 10) : 1;
		if (settings->zstd_level < 1 || settings->zstd_level > 19)
			return err_set(err, "-z '%s' is no level from 1 to 19", arg);
		return 0;
	case OPT_CLOCK:
		return sampling_parse_clock(sampling, arg, err);
	case OPT_RING:
		return parse_ring_size(settings, arg, err);
	case OPT_OUTPUT:
		settings->output = arg;
		return 0;
	case OPT_COUNTING:
		settings->counting = true;
		return 0;
	case OPT_INTERVAL:
		/* a plain number is in milliseconds, as perf stat has it */
		if (num_parse_u64(arg, strlen(arg), &settings->interval_ns) == 0)
			settings->interval_ns *= 1000000;
		else if (num_parse_duration(arg, &settings->interval_ns) < 0)
			settings->interval_ns = 0;
		return settings->interval_ns >= 1000000 ?
		               0 :
		               err_set(err, "-I '%s' is no time of a millisecond or more", arg);
	case OPT_REPEAT:
		return parse_number("-r", arg, &settings->nr_runs, err);
	case OPT_JSON:
		settings->count_format = COUNT_JSON;
		return 0;
	case OPT_CSV:
		settings->count_format = COUNT_CSV;
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

int options_parse(struct settings *settings, int argc, char **argv)
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
		msg_error("-a records every process; leave out -a, or -p, -t, -u and --follow");
		return EXIT_MISUSE;
	}
	if (settings->target.command && settings->target.tasks_named) {
		msg_error("a command is recorded itself; leave out the command, or -p, -t, -u and "
		          "--follow");
		return EXIT_MISUSE;
	}
	if (settings->sampler == SAMPLER_SIGNAL &&
	    (!settings->target.command || settings->whole_machine || settings->events.nr)) {
		msg_error("the signal sampler samples a command by time: leave out -a and -e, and "
		          "write the command after --");
		return EXIT_MISUSE;
	}
	for (size_t i = 0; settings->follow && i < settings->events.nr; i++) {
		if (!(settings->events.at[i].attr.sample_type & PERF_SAMPLE_READ))
			continue;
		msg_error("a group read with each sample (:S) counts each process apart, which "
		          "--follow cannot tell of; leave out :S");
		return EXIT_MISUSE;
	}
	if (settings->follow && settings->counting) {
		msg_error("--follow goes with recording, not with --count");
		return EXIT_MISUSE;
	}
	if (settings->nr_runs > 1 && (!settings->target.command || settings->interval_ns)) {
		msg_error("-r repeats a command, and not together with -I");
		return EXIT_MISUSE;
	}
	if (!settings->counting &&
	    (settings->interval_ns || settings->nr_runs || settings->count_format)) {
		msg_error("-I, -r, --json and --csv belong to counting: add --count");
		return EXIT_MISUSE;
	}
	settings->target.system = settings->whole_machine;
	return -1;
}
