#include "share/compat.h"
#include "collapse/options.h"

#include "share/mem.h"
#include "share/msg.h"
#include "share/num.h"
#include "share/opts.h"

#include <time.h>
#include <unistd.h>

enum option {
	OPT_OUTPUT = 1,
	OPT_NO_HEADER,
	OPT_QUIET,
	OPT_THREADS,
	OPT_BY,
	OPT_ALL_EVENTS,
	OPT_EVENT,
	OPT_COUNT,
	OPT_ONLY,
	OPT_COMM,
	OPT_PID,
	OPT_TID,
	OPT_CPU,
	OPT_TIME,
	OPT_SYMBOL_FILTER,
	OPT_NO_ANNOTATE,
	OPT_ANNOTATE,
	OPT_NO_SYMBOLS,
	OPT_NO_INLINE,
	OPT_UNWIND,
	OPT_ADDRESSES,
	OPT_DEMANGLE,
	OPT_SYMFS,
	OPT_DEBUG_DIR,
	OPT_BUILD_ID_CACHE,
	OPT_DEBUGINFOD,
	OPT_KALLSYMS,
	OPT_VMLINUX,
	OPT_SRCLINE,
	OPT_SAMPLES,
	OPT_INPUT_CHECK,
	OPT_FROM,
	OPT_FORMATS,
	OPT_TO,
	OPT_OFF_CPU,
	OPT_WALL,
	OPT_SPLIT,
	OPT_WAKERS,
	OPT_RUN_QUEUE,
	OPT_LATENCY,
	OPT_TIMEHIST,
	OPT_FORMAT,
	OPT_MIN_BLOCK,
	OPT_VALUE,
	OPT_COMPAT,
	OPT_COMPAT_KERNEL,
	OPT_COMPAT_JIT,
	OPT_COMPAT_ALL,
	OPT_COMPAT_PID,
	OPT_COMPAT_TID,
	OPT_INLINE,
	OPT_FOLD_RECURSION,
	OPT_EVERY,
	OPT_ARCHIVE,
	OPT_KEEP,
	OPT_MAX_SIZE,
	OPT_MAX_INPUT,
	OPT_SINCE,
	OPT_UNTIL,
};

static const struct opt table[] = {
        {OPT_OUTPUT, 'o', "output", "FILE", "write to FILE (default: stdout)"},
        {OPT_NO_HEADER, 0, "no-header", NULL, "leave out the lines that begin with #"},
        {OPT_QUIET, 'q', "quiet", NULL, "no notes on stderr"},
        {OPT_THREADS, 0, "threads", "N", "use up to N threads (default: one for each CPU)"},
        {OPT_BY, 0, "by", "WHAT", "root frames: comm, pid, tid, cgroup, cpu, host, none"},
        {OPT_EVENT, 'e', "event", "NAME", "fold this event (repeatable; default: the first)"},
        {OPT_ALL_EVENTS, 0, "all-events", NULL, "fold every event below a frame of its name"},
        {OPT_COUNT, 0, "count", "WHAT", "weigh by samples (default), period or time"},
        {OPT_OFF_CPU, 0, "off-cpu", NULL, "time off the CPU, in us, where it was left"},
        {OPT_WALL, 0, "wall", NULL, "time on and off the CPU, in us"},
        {OPT_SPLIT, 0, "split", "WHAT", "state: why a thread was off the CPU, as a frame on top"},
        {OPT_WAKERS, 0, "wakers", NULL, "who ended each wait, below a frame --"},
        {OPT_RUN_QUEUE, 0, "run-queue", NULL, "time from wakeup to running, in us"},
        {OPT_LATENCY, 0, "latency", "FROM,TO", "time between two events of a thread, in us"},
        {OPT_MIN_BLOCK, 0, "min-block", "TIME", "only add up times that are shorter, as 100us"},
        {OPT_TIMEHIST, 0, "timehist", NULL, "print a line for each switch, do not fold"},
        {OPT_FORMAT, 0, "format", "FORMAT", "of times: folded (default), histogram[-json]"},
        {OPT_VALUE, 0, "value", "NAME", "of a format with several values: the one to fold"},
        {OPT_ONLY, 0, "only", "PART", "only the user or the kernel part of each stack"},
        {OPT_COMM, 0, "comm", "NAME", "only samples of this thread name (repeatable)"},
        {OPT_PID, 'p', "pid", "LIST", "only samples of these processes"},
        {OPT_TID, 't', "tid", "LIST", "only samples of these threads"},
        {OPT_CPU, 'C', "cpu", "LIST", "only samples of these CPUs, as 0-3,8"},
        {OPT_TIME, 0, "time", "FROM,TO", "only samples between these times, in seconds"},
        {OPT_SYMBOL_FILTER, 0, "symbol-filter", "REGEX", "only stacks with a frame that matches"},
        {OPT_NO_SYMBOLS, 0, "no-symbols", NULL, "module+offset in place of names"},
        {OPT_NO_INLINE, 0, "no-inline", NULL, "leave out functions that were inlined"},
        {OPT_NO_INLINE, 0, "no-inlines", NULL, NULL},
        {OPT_UNWIND, 0, "unwind", "HOW", "guess where rules are missing (default), or strict"},
        {OPT_ADDRESSES, 0, "addresses", NULL, "add the address to frames without a name"},
        {OPT_DEMANGLE, 0, "demangle", "HOW", "full (default), short or none"},
        {OPT_SRCLINE, 0, "srcline", NULL, "add file and line to names"},
        {OPT_ANNOTATE, 0, "annotate", NULL, "mark frames: _[k] _[i] _[j] (the default)"},
        {OPT_NO_ANNOTATE, 0, "no-annotate", NULL, "no marks at the end of frames"},
        {OPT_SYMFS, 0, "symfs", "DIR", "look for recorded files below DIR"},
        {OPT_DEBUG_DIR, 0, "debug-dir", "DIR", "look for debug files below DIR (repeatable)"},
        {OPT_BUILD_ID_CACHE, 0, "build-id-cache", "DIR", "in place of ~/.debug"},
        {OPT_DEBUGINFOD, 0, "debuginfod", "[SECONDS]", "ask servers, so long in all (30)"},
        {OPT_KALLSYMS, 0, "kallsyms", "FILE", "in place of /proc/kallsyms"},
        {OPT_VMLINUX, 'k', "vmlinux", "FILE", "kernel image with symbols"},
        {OPT_ARCHIVE, 0, "archive", "DIR",
         "write one file an interval there, named by time and host"},
        {OPT_EVERY, 0, "every", "TIME", "length of these intervals (default: 60s)"},
        {OPT_KEEP, 0, "keep", "TIME", "remove files of the archive that are older, as 7d"},
        {OPT_MAX_SIZE, 0, "max-size", "SIZE", "remove the oldest above this sum, as 2G"},
        {OPT_SINCE, 0, "since", "TIME",
         "of an archive: files from then on; 10:00, 2h (ago), 2026-11-29"},
        {OPT_UNTIL, 0, "until", "TIME", "of an archive: files before then"},
        {OPT_SAMPLES, 0, "samples", NULL, "print each sample, as perf script does, do not fold"},
        {OPT_INPUT_CHECK, 0, "input-check", "[json]", "tell what is in a recording, do not fold"},
        {OPT_MAX_INPUT, 0, "max-input", "SIZE",
         "refuse inputs that are larger, decompressed, as 1G"},
        {OPT_FROM, 0, "from", "FORMAT", "the format of the input (default: by its contents)"},
        {OPT_TO, 0, "to", "FORMAT", "write folded (default), pprof, speedscope, firefox, ..."},
        {OPT_FORMATS, 0, "formats", NULL, "list the formats that can be read and written"},
        {OPT_FOLD_RECURSION, 0, "fold-recursion", "HOW", "shorten recursion: direct or cycles"},
        {OPT_COMPAT, 0, "compat", "TOOL", "print what this tool prints: flamegraph"},
        {OPT_COMPAT_KERNEL, 0, "kernel", NULL, NULL},
        {OPT_COMPAT_JIT, 0, "jit", NULL, NULL},
        {OPT_COMPAT_ALL, 0, "all", NULL, NULL},
        {OPT_ADDRESSES, 0, "addrs", NULL, NULL},
        {OPT_EVENT, 0, "event-filter", "NAME", NULL},
        {OPT_INLINE, 0, "inline", NULL, NULL},
};

/* With --compat flamegraph these are its options, which take no argument. */
static const struct opt compat_table[] = {
        {OPT_COMPAT_PID, 0, "pid", NULL, "add the process to the comm"},
        {OPT_COMPAT_TID, 0, "tid", NULL, "add process and thread to the comm"},
};

enum { DEBUGINFOD_SECONDS = 30 };

static const char *const root_names[] = {"comm", "pid", "tid", "cgroup", "cpu", "host", "none"};

static int one_of(const char *arg, const char *const *names, size_t nr, const char *option,
                  struct err *err)
{
	struct buf list = {0};

	for (size_t i = 0; i < nr; i++)
		if (strcmp(arg, names[i]) == 0)
			return (int)i;
	for (size_t i = 0; i < nr; i++)
		buf_printf(&list, "%s%s", i ? ", " : "", names[i]);
	err_set(err, "'--%s %s' is none of: %s", option, arg, buf_text(&list));
	buf_release(&list);
	return -1;
}

/* "1,3-5" into single numbers; ranges of at most 65,536. */
static int parse_numbers(const char *arg, int64_t **list, size_t *nr, const char *option,
                         struct err *err)
{
	size_t capacity = *nr;

	for (const char *at = arg;; at++) {
		size_t size = strcspn(at, ",-");
		uint64_t first, last;

		if (num_parse_u64(at, size, &first) < 0)
			return err_set(err, "'--%s %s' is no list of numbers such as 1,3-5", option,
			               arg);
		last = first;
		at += size;
		if (*at == '-') {
			size = strcspn(++at, ",");
			if (num_parse_u64(at, size, &last) < 0 || last < first ||
			    last - first > 65535)
				return err_set(err, "'--%s %s' is no list of numbers such as 1,3-5",
				               option, arg);
			at += size;
		}
		for (; first <= last; first++) {
			MEM_GROW(*list, *nr, capacity);
			(*list)[(*nr)++] = (int64_t)first;
		}
		if (!*at)
			return 0;
	}
}

static int parse_seconds(const char *text, size_t size, uint64_t *ns)
{
	char copy[32];
	double seconds;

	if (size >= sizeof(copy))
		return -1;
	memcpy(copy, text, size);
	copy[size] = '\0';
	if (num_parse_real(copy, &seconds) < 0 || seconds > 1e10)
		return -1;
	*ns = (uint64_t)(seconds * 1e9 + 0.5);
	return 0;
}

/* "FROM,TO" in seconds; either may be left out. */
static int parse_time(struct measure_filter *filter, const char *arg, struct err *err)
{
	const char *comma = strchr(arg, ',');
	size_t size = comma ? (size_t)(comma - arg) : strlen(arg);

	if (!comma || (size && parse_seconds(arg, size, &filter->time_from) < 0) ||
	    (comma[1] && parse_seconds(comma + 1, strlen(comma + 1), &filter->time_to) < 0))
		return err_set(err, "'--time %s' is not FROM,TO in seconds such as 12.5,13", arg);
	return 0;
}

static int parse_by(struct options *options, const char *arg, struct err *err)
{
	struct stacks_options *stacks = &options->recording.stacks;
	int root = one_of(arg, root_names, ARRAY_SIZE(root_names), "by", err);

	if (root < 0)
		return -1;
	options->has_by = true;
	options->format.by_comm |= root == ROOT_COMM;
	options->format.by_pid |= root == ROOT_PID;
	options->format.by_tid |= root == ROOT_TID;
	if (root == ROOT_NONE)
		return 0;
	if (stacks->nr_roots == STACKS_ROOTS_MAX)
		return err_set(err, "'--by' is given more than %d times", STACKS_ROOTS_MAX);
	stacks->roots[stacks->nr_roots++] = (enum stacks_root)root;
	return 0;
}

static bool name_matches(void *ctx, const char *name)
{
	return regexec(ctx, name, 0, NULL, 0) == 0;
}

static int parse_symbol_filter(struct options *options, const char *arg, struct err *err)
{
	int code;

	if (options->has_symbol_filter)
		return err_set(err, "'--symbol-filter' is given twice; join the two with '|'");
	code = regcomp(&options->symbol_filter, arg, REG_EXTENDED | REG_NOSUB);
	if (code) {
		char text[128];

		regerror(code, &options->symbol_filter, text, sizeof(text));
		return err_set(err, "'--symbol-filter %s': %s", arg, text);
	}
	options->has_symbol_filter = true;
	options->recording.keep = name_matches;
	options->recording.keep_ctx = &options->symbol_filter;
	return 0;
}

static int parse_from(struct options *options, const char *arg, struct err *err)
{
	const char *names[64];
	size_t nr = 0;
	const char *near;

	options->from = format_by_name(arg);
	if (options->from)
		return 0;
	for (; formats[nr] && nr < ARRAY_SIZE(names); nr++)
		names[nr] = formats[nr]->name;
	near = opts_nearest(arg, names, nr);
	if (near)
		return err_set(err, "unknown format '%s'; did you mean '%s'?", arg, near);
	return err_set(err, "unknown format '%s'; '--formats' lists all", arg);
}

static int parse_to(struct options *options, const char *arg, struct err *err)
{
	const char *names[16], *near;
	size_t nr = 0;

	options->to = to_format_by_name(arg);
	if (options->to)
		return 0;
	for (; to_formats[nr] && nr < ARRAY_SIZE(names); nr++)
		names[nr] = to_formats[nr]->name;
	near = opts_nearest(arg, names, nr);
	if (near)
		return err_set(err, "'--to %s' is not known; did you mean '%s'?", arg, near);
	return err_set(err, "'--to %s' is not known; '--formats' lists all", arg);
}

static int parse_threads(struct options *options, const char *arg, struct err *err)
{
	uint64_t nr;

	if (num_parse_u64(arg, strlen(arg), &nr) < 0 || nr < 1 || nr > 1024)
		return err_set(err, "'--threads %s' is no number from 1 to 1024", arg);
	options->format.nr_threads = (unsigned)nr;
	return 0;
}

static int parse_debuginfod(struct options *options, const char *arg, struct err *err)
{
	uint64_t seconds = DEBUGINFOD_SECONDS;

	if (arg && (num_parse_u64(arg, strlen(arg), &seconds) < 0 || seconds > 86400))
		return err_set(err, "'--debuginfod=%s' is no number of seconds up to a day", arg);
	options->recording.modules.debuginfod_seconds = (unsigned)seconds;
	options->has_debuginfod = true;
	return 0;
}

static int parse_archive(struct options *options, int option, const char *arg, struct err *err)
{
	uint64_t ns;

	switch (option) {
	case OPT_ARCHIVE:
		options->archive_dir = arg;
		return 0;
	case OPT_EVERY:
		if (num_parse_duration(arg, &options->recording.every_ns) < 0 ||
		    options->recording.every_ns < 1000000)
			return err_set(err, "'--every %s' is no time such as 60s", arg);
		return 0;
	case OPT_KEEP:
		if (num_parse_duration(arg, &ns) < 0 || ns < 1000000000)
			return err_set(err, "'--keep %s' is no time such as 7d", arg);
		options->archive.keep_s = ns / 1000000000;
		return 0;
	case OPT_MAX_SIZE:
		if (num_parse_size(arg, &options->archive.max_size) < 0 ||
		    !options->archive.max_size)
			return err_set(err, "'--max-size %s' is no size such as 2G", arg);
		return 0;
	default:
		options->has_range = true;
		if (archive_parse_time(arg, time(NULL),
		                       option == OPT_SINCE ? &options->since : &options->until) < 0)
			return err_set(err,
			               "'--%s %s' is no time such as 10:00, 2h or "
			               "2026-11-29T10:00",
			               option == OPT_SINCE ? "since" : "until", arg);
		return 0;
	}
}

/* What is measured; unlike times have no common sum. */
static int measure_time(struct timing_options *timing, enum timing_what what, struct err *err)
{
	/* wall time is time off the CPU and more, whichever was named first */
	if (timing->what == TIMING_WALL && what == TIMING_OFF_CPU)
		return 0;
	if (timing->what && timing->what != what &&
	    !(timing->what == TIMING_OFF_CPU && what == TIMING_WALL))
		return err_set(err,
		               "--off-cpu, --run-queue, --latency and --timehist measure unlike "
		               "times: give one of them");
	timing->what = what;
	return 0;
}

static int parse_timing(struct options *options, int option, const char *arg, struct err *err)
{
	static const char *const splits[] = {"state"};
	static const char *const formats_of_times[] = {"folded", "histogram", "histogram-json"};
	struct timing_options *timing = &options->recording.timing;
	int choice;

	switch (option) {
	case OPT_OFF_CPU:
		return measure_time(timing, TIMING_OFF_CPU, err);
	case OPT_WALL:
		return measure_time(timing, TIMING_WALL, err);
	case OPT_RUN_QUEUE:
		return measure_time(timing, TIMING_RUN_QUEUE, err);
	case OPT_TIMEHIST:
		return measure_time(timing, TIMING_TIMEHIST, err);
	case OPT_LATENCY:
		timing->pair = arg;
		if (!strchr(arg, ',') || arg[0] == ',' || arg[strlen(arg) - 1] == ',')
			return err_set(err,
			               "'--latency %s' is not the names of two events, as in "
			               "syscalls:sys_enter_read,syscalls:sys_exit_read",
			               arg);
		return measure_time(timing, TIMING_LATENCY, err);
	case OPT_SPLIT:
		timing->by_state = true;
		return one_of(arg, splits, ARRAY_SIZE(splits), "split", err);
	case OPT_WAKERS:
		timing->by_waker = true;
		return 0;
	case OPT_MIN_BLOCK:
		if (num_parse_duration(arg, &timing->min_ns) < 0)
			return err_set(err, "'--min-block %s' is no time such as 100us", arg);
		return 0;
	default:
		choice = one_of(arg, formats_of_times, ARRAY_SIZE(formats_of_times), "format", err);
		options->is_histogram = choice > 0;
		options->is_json = choice == 2;
		return MIN_OF(choice, 0);
	}
}

/* Options that say nothing without another one. */
static int check_timing(const struct options *options, struct err *err)
{
	const struct timing_options *timing = &options->recording.timing;
	const char *alone = timing->by_waker      ? "--wakers" :
	                    timing->by_state      ? "--split" :
	                    timing->min_ns        ? "--min-block" :
	                    options->is_histogram ? "--format histogram" :
	                                            NULL;

	if (alone && !timing->what)
		return err_set(err,
		               "'%s' needs a time to show: --off-cpu, --wall, --run-queue or "
		               "--latency",
		               alone);
	if (options->is_histogram &&
	    (timing->what == TIMING_WALL || timing->what == TIMING_TIMEHIST))
		return err_set(err, "'--format histogram' goes with --off-cpu, --run-queue and "
		                    "--latency");
	if (options->is_histogram && options->to)
		return err_set(err, "'--format histogram' and '--to' name two outputs");
	return 0;
}

static int check_archive(const struct options *options, struct err *err)
{
	const char *alone = options->recording.every_ns ? "--every" :
	                    options->archive.keep_s     ? "--keep" :
	                    options->archive.max_size   ? "--max-size" :
	                                                  NULL;
	const char *other = options->to            ? "--to" :
	                    options->output        ? "--output" :
	                    options->print_samples ? "--samples" :
	                    options->check         ? "--input-check" :
	                                             NULL;

	if (alone && !options->archive_dir)
		return err_set(err, "'%s' needs an archive to write: --archive DIR", alone);
	if (options->archive_dir && other)
		return err_set(err, "'--archive' and '%s' name two outputs", other);
	return 0;
}

static int take_option(struct options *options, int option, const char *arg, struct err *err)
{
	static const char *const counts[] = {"samples", "period", "time"};
	static const char *const parts[] = {"all", "user", "kernel"};
	static const char *const demangles[] = {"full", "short", "none"};
	static const char *const unwinds[] = {"guess", "strict"};
	static const char *const recursions[] = {"direct", "cycles"};
	static const char *const compats[] = {"flamegraph"};
	struct recording_options *recording = &options->recording;
	struct measure_filter *filter = &recording->filter;
	int choice;

	switch ((enum option)option) {
	case OPT_OUTPUT:
		options->output = arg;
		return 0;
	case OPT_NO_HEADER:
		options->no_header = true;
		return 0;
	case OPT_QUIET:
		msg_quiet(true);
		return 0;
	case OPT_THREADS:
		return parse_threads(options, arg, err);
	case OPT_BY:
		return parse_by(options, arg, err);
	case OPT_ALL_EVENTS:
		recording->all_events = options->format.all_events = true;
		return 0;
	case OPT_EVENT:
		MEM_GROW(options->events, options->nr_events + 1, options->events_capacity);
		options->events[options->nr_events++] = arg;
		options->events[options->nr_events] = NULL;
		return 0;
	case OPT_COUNT:
		choice = one_of(arg, counts, ARRAY_SIZE(counts), "count", err);
		recording->count = (enum measure_count)MAX_OF(choice, 0);
		options->format.count = MAX_OF(choice, 0);
		return MIN_OF(choice, 0);
	case OPT_OFF_CPU:
	case OPT_WALL:
	case OPT_RUN_QUEUE:
	case OPT_LATENCY:
	case OPT_TIMEHIST:
	case OPT_SPLIT:
	case OPT_WAKERS:
	case OPT_MIN_BLOCK:
	case OPT_FORMAT:
		return parse_timing(options, option, arg, err);
	case OPT_ONLY:
		choice = one_of(arg, parts, ARRAY_SIZE(parts), "only", err);
		recording->stacks.frames.only = (enum frames_only)MAX_OF(choice, 0);
		return MIN_OF(choice, 0);
	case OPT_COMM:
		MEM_GROW(options->comms, filter->nr_comms, options->comms_capacity);
		options->comms[filter->nr_comms++] = arg;
		return 0;
	case OPT_PID:
		return parse_numbers(arg, &filter->pids, &filter->nr_pids, "pid", err);
	case OPT_TID:
		return parse_numbers(arg, &filter->tids, &filter->nr_tids, "tid", err);
	case OPT_CPU:
		return parse_numbers(arg, &filter->cpus, &filter->nr_cpus, "cpu", err);
	case OPT_TIME:
		return parse_time(filter, arg, err);
	case OPT_SYMBOL_FILTER:
		return parse_symbol_filter(options, arg, err);
	case OPT_ANNOTATE:
	case OPT_NO_ANNOTATE:
		recording->stacks.annotate = options->format.annotate = option == OPT_ANNOTATE;
		return 0;
	case OPT_NO_SYMBOLS:
		recording->stacks.no_symbols = true;
		return 0;
	case OPT_NO_INLINE:
		recording->symbolize.no_inlines = true;
		options->format.inlines = false;
		return 0;
	case OPT_UNWIND:
		choice = one_of(arg, unwinds, ARRAY_SIZE(unwinds), "unwind", err);
		recording->stacks.frames.unwind.strict = choice == 1;
		return MIN_OF(choice, 0);
	case OPT_ADDRESSES:
		recording->stacks.addresses = options->format.addresses = true;
		return 0;
	case OPT_DEMANGLE:
		choice = one_of(arg, demangles, ARRAY_SIZE(demangles), "demangle", err);
		recording->symbolize.demangle = (enum symbolize_demangle)MAX_OF(choice, 0);
		options->format.shorten = recording->symbolize.demangle == DEMANGLE_SHORT;
		return MIN_OF(choice, 0);
	case OPT_SRCLINE:
		recording->symbolize.srcline = options->format.srcline = true;
		return 0;
	case OPT_SYMFS:
		recording->modules.symfs = arg;
		return 0;
	case OPT_DEBUG_DIR:
		MEM_GROW(options->debug_dirs, options->nr_debug_dirs + 1,
		         options->debug_dirs_capacity);
		options->debug_dirs[options->nr_debug_dirs++] = arg;
		options->debug_dirs[options->nr_debug_dirs] = NULL;
		return 0;
	case OPT_BUILD_ID_CACHE:
		recording->modules.build_id_cache = arg;
		return 0;
	case OPT_DEBUGINFOD:
		return parse_debuginfod(options, arg, err);
	case OPT_KALLSYMS:
		recording->symbolize.kallsyms = arg;
		return 0;
	case OPT_VMLINUX:
		recording->symbolize.vmlinux = arg;
		return 0;
	case OPT_SAMPLES:
		options->print_samples = true;
		return 0;
	case OPT_TO:
		return parse_to(options, arg, err);
	case OPT_FROM:
		return parse_from(options, arg, err);
	case OPT_VALUE:
		options->format.value = arg;
		return 0;
	case OPT_FOLD_RECURSION:
		choice = one_of(arg, recursions, ARRAY_SIZE(recursions), "fold-recursion", err);
		options->recursion = RECURSION_DIRECT + (enum recursion)MAX_OF(choice, 0);
		return MIN_OF(choice, 0);
	case OPT_COMPAT:
		options->format.flamegraph_compat = true;
		return one_of(arg, compats, ARRAY_SIZE(compats), "compat", err);
	case OPT_COMPAT_KERNEL:
	case OPT_COMPAT_JIT:
	case OPT_COMPAT_ALL:
		options->format.compat_kernel |= option != OPT_COMPAT_JIT;
		options->format.compat_jit |= option != OPT_COMPAT_KERNEL;
		return 0;
	case OPT_COMPAT_PID:
		options->format.by_pid = true;
		return 0;
	case OPT_COMPAT_TID:
		options->format.by_tid = true;
		return 0;
	case OPT_INLINE:
		recording->symbolize.no_inlines = false;
		options->format.inlines = true;
		return 0;
	case OPT_INPUT_CHECK:
		if (arg && strcmp(arg, "json") != 0 && strcmp(arg, "text") != 0)
			return err_set(err, "'--input-check=%s' is neither text nor json", arg);
		options->check = true;
		recording->check_json = arg && strcmp(arg, "json") == 0;
		return 0;
	case OPT_EVERY:
	case OPT_ARCHIVE:
	case OPT_KEEP:
	case OPT_MAX_SIZE:
	case OPT_SINCE:
	case OPT_UNTIL:
		return parse_archive(options, option, arg, err);
	case OPT_MAX_INPUT:
		if (num_parse_size(arg, &options->max_input) < 0 || !options->max_input)
			return err_set(err, "'--max-input %s' is no size such as 1G", arg);
		return 0;
	case OPT_FORMATS:
		break;
	}
	return 0;
}

static int list_formats(struct err *err)
{
	printf("%-16s %s\n", "perf.data", "recordings of perf record, collect and simpleperf");
	for (size_t i = 0; formats[i]; i++)
		printf("%-16s %s\n", formats[i]->name, formats[i]->about);
	printf("\nwritten with --to:\n");
	for (size_t i = 0; to_formats[i]; i++)
		printf("%-16s %s\n", to_formats[i]->name, to_formats[i]->about);
	if (fflush(stdout) != 0) {
		err_sys(err, "cannot write to stdout");
		return msg_fail(err);
	}
	return EXIT_COMPLETE;
}

/* "--compat" stands anywhere, but changes what other options mean. */
static bool wants_compat(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--compat") == 0 || strncmp(argv[i], "--compat=", 9) == 0)
			return true;
	return false;
}

/* What stands where the command line says nothing. */
static void complete(struct options *options)
{
	struct recording_options *recording = &options->recording;
	const char *servers = getenv("DEBUGINFOD_URLS");

	if (!options->nr_inputs) {
		MEM_GROW(options->inputs, options->nr_inputs, options->inputs_capacity);
		options->inputs[options->nr_inputs++] = "-";
	}
	if (!options->has_by) {
		recording->stacks.roots[recording->stacks.nr_roots++] = ROOT_COMM;
		options->format.by_comm = true;
	}
	if (options->format.flamegraph_compat) {
		options->no_header = true;
		options->format.annotate = false;
		options->format.count = COUNT_PERIOD;
	}
	if (!options->format.nr_threads)
		options->format.nr_threads = (unsigned)MAX_OF(sysconf(_SC_NPROCESSORS_ONLN), 1);
	if (recording->timing.what)
		recording->count = MEASURE_TIME;
	/* histograms show no frames */
	recording->stacks.no_symbols |= options->is_histogram;
	options->recording.nr_threads = options->format.nr_threads;
	recording->events = options->format.events = options->events;
	recording->filter.comms = options->comms;
	recording->modules.debug_dirs = options->debug_dirs;
	/* set for all tools of this machine: servers are to be asked */
	if (!options->has_debuginfod && servers && servers[0])
		recording->modules.debuginfod_seconds = DEBUGINFOD_SECONDS;
}

int options_parse(struct options *options, int argc, char **argv, int *status, struct err *err)
{
	struct opt rows[ARRAY_SIZE(compat_table) + ARRAY_SIZE(table)];
	struct opts opts = {
	        .usage = "[OPTION]... [FILE]...",
	        .about = "Folds what a profiler recorded into one line for each distinct stack. "
	                 "Reads "
	                 "perf.data\nrecordings (from a pipe too) and many other formats.",
	        .table = table,
	        .nr = ARRAY_SIZE(table),
	        .argc = argc,
	        .argv = argv,
	};
	const char *arg;
	int option;

	*options = (struct options){
	        .recording.stacks.annotate = true,
	        .format = {.annotate = true, .inlines = true},
	        .since = INT64_MIN,
	        .until = INT64_MAX,
	};
	if (wants_compat(argc, argv)) {
		/* what stands first is found first */
		memcpy(rows, compat_table, sizeof(compat_table));
		memcpy(rows + ARRAY_SIZE(compat_table), table, sizeof(table));
		opts.table = rows;
		opts.nr = ARRAY_SIZE(rows);
	}
	while ((option = opts_next(&opts, &arg, err)) != OPTS_END) {
		if (option == OPTS_DONE) {
			*status = EXIT_COMPLETE;
			return OPTS_DONE;
		}
		if (option == OPT_FORMATS) {
			*status = list_formats(err);
			return OPTS_DONE;
		}
		if (option == OPTS_OPERAND) {
			MEM_GROW(options->inputs, options->nr_inputs, options->inputs_capacity);
			options->inputs[options->nr_inputs++] = arg;
		} else if (option == OPTS_ERROR || take_option(options, option, arg, err) < 0) {
			msg_error("%s", err->text);
			*status = EXIT_MISUSE;
			return OPTS_ERROR;
		}
	}
	if (check_timing(options, err) < 0 || check_archive(options, err) < 0) {
		msg_error("%s", err->text);
		*status = EXIT_MISUSE;
		return OPTS_ERROR;
	}
	complete(options);
	return OPTS_END;
}

void options_release(struct options *options)
{
	if (options->has_symbol_filter)
		regfree(&options->symbol_filter);
	free(options->recording.filter.pids);
	free(options->recording.filter.tids);
	free(options->recording.filter.cpus);
	free(options->events);
	free(options->comms);
	free(options->debug_dirs);
	free(options->inputs);
}
