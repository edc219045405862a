/*
 * collapse - whatever a profiler wrote, to folded stacks.
 *
 * Chooses the reader by what the input begins with: a perf.data recording
 * (recording.h) or one of the formats (format.h); puts all inputs of the run
 * into one folder and writes it.
 */
#include "share/compat.h"

#include "collapse/folder.h"
#include "collapse/format.h"
#include "collapse/to.h"
#include "collapse/recording.h"
#include "collapse/recursion.h"
#include "share/folded.h"
#include "share/mem.h"
#include "share/msg.h"
#include "share/num.h"
#include "share/opts.h"

#include <regex.h>
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
	OPT_VALUE,
	OPT_COMPAT,
	OPT_COMPAT_KERNEL,
	OPT_COMPAT_JIT,
	OPT_COMPAT_ALL,
	OPT_COMPAT_PID,
	OPT_COMPAT_TID,
	OPT_INLINE,
	OPT_FOLD_RECURSION,
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
        {OPT_KALLSYMS, 0, "kallsyms", "FILE", "in place of /proc/kallsyms"},
        {OPT_VMLINUX, 'k', "vmlinux", "FILE", "kernel image with symbols"},
        {OPT_SAMPLES, 0, "samples", NULL, "print each sample, as perf script does, do not fold"},
        {OPT_INPUT_CHECK, 0, "input-check", "[json]", "tell what is in a recording, do not fold"},
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

struct run {
	struct recording_options recording;
	struct format_options format;
	const struct format *from;
	const struct to_format *to; /* NULL: folded stacks */
	const char *output;
	enum recursion recursion;
	bool no_header, print_samples, check, has_by;
	const char **events, **comms, **debug_dirs, **inputs;
	size_t nr_events, nr_debug_dirs, nr_inputs;
	size_t events_capacity, comms_capacity, debug_dirs_capacity, inputs_capacity;
	regex_t symbol_filter;
	bool has_symbol_filter;

	struct folder folder;
	struct folded_header header;
	struct recording_report report;
	struct format_report format_report;
};

/* ---- options ---- */

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
static int parse_time(struct recording_filter *filter, const char *arg, struct err *err)
{
	const char *comma = strchr(arg, ',');
	size_t size = comma ? (size_t)(comma - arg) : strlen(arg);

	if (!comma || (size && parse_seconds(arg, size, &filter->time_from) < 0) ||
	    (comma[1] && parse_seconds(comma + 1, strlen(comma + 1), &filter->time_to) < 0))
		return err_set(err, "'--time %s' is not FROM,TO in seconds such as 12.5,13", arg);
	return 0;
}

static int parse_by(struct run *run, const char *arg, struct err *err)
{
	struct stacks_options *stacks = &run->recording.stacks;
	int root = one_of(arg, root_names, ARRAY_SIZE(root_names), "by", err);

	if (root < 0)
		return -1;
	run->has_by = true;
	run->format.by_comm |= root == ROOT_COMM;
	run->format.by_pid |= root == ROOT_PID;
	run->format.by_tid |= root == ROOT_TID;
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

static int parse_symbol_filter(struct run *run, const char *arg, struct err *err)
{
	int code;

	if (run->has_symbol_filter)
		return err_set(err, "'--symbol-filter' is given twice; join the two with '|'");
	code = regcomp(&run->symbol_filter, arg, REG_EXTENDED | REG_NOSUB);
	if (code) {
		char text[128];

		regerror(code, &run->symbol_filter, text, sizeof(text));
		return err_set(err, "'--symbol-filter %s': %s", arg, text);
	}
	run->has_symbol_filter = true;
	run->recording.keep = name_matches;
	run->recording.keep_ctx = &run->symbol_filter;
	return 0;
}

static int parse_from(struct run *run, const char *arg, struct err *err)
{
	const char *names[64];
	size_t nr = 0;
	const char *near;

	run->from = format_by_name(arg);
	if (run->from)
		return 0;
	for (; formats[nr] && nr < ARRAY_SIZE(names); nr++)
		names[nr] = formats[nr]->name;
	near = opts_nearest(arg, names, nr);
	if (near)
		return err_set(err, "unknown format '%s'; did you mean '%s'?", arg, near);
	return err_set(err, "unknown format '%s'; '--formats' lists all", arg);
}

static int parse_to(struct run *run, const char *arg, struct err *err)
{
	const char *names[16], *near;
	size_t nr = 0;

	run->to = to_format_by_name(arg);
	if (run->to)
		return 0;
	for (; to_formats[nr] && nr < ARRAY_SIZE(names); nr++)
		names[nr] = to_formats[nr]->name;
	near = opts_nearest(arg, names, nr);
	if (near)
		return err_set(err, "'--to %s' is not known; did you mean '%s'?", arg, near);
	return err_set(err, "'--to %s' is not known; '--formats' lists all", arg);
}

static int parse_threads(struct run *run, const char *arg, struct err *err)
{
	uint64_t nr;

	if (num_parse_u64(arg, strlen(arg), &nr) < 0 || nr < 1 || nr > 1024)
		return err_set(err, "'--threads %s' is no number from 1 to 1024", arg);
	run->format.nr_threads = (unsigned)nr;
	return 0;
}

static int take_option(struct run *run, int option, const char *arg, struct err *err)
{
	static const char *const counts[] = {"samples", "period", "time"};
	static const char *const parts[] = {"all", "user", "kernel"};
	static const char *const demangles[] = {"full", "short", "none"};
	static const char *const unwinds[] = {"guess", "strict"};
	static const char *const splits[] = {"state"};
	static const char *const recursions[] = {"direct", "cycles"};
	static const char *const compats[] = {"flamegraph"};
	struct recording_options *recording = &run->recording;
	struct recording_filter *filter = &recording->filter;
	int choice;

	switch ((enum option)option) {
	case OPT_OUTPUT:
		run->output = arg;
		return 0;
	case OPT_NO_HEADER:
		run->no_header = true;
		return 0;
	case OPT_QUIET:
		msg_quiet(true);
		return 0;
	case OPT_THREADS:
		return parse_threads(run, arg, err);
	case OPT_BY:
		return parse_by(run, arg, err);
	case OPT_ALL_EVENTS:
		recording->all_events = run->format.all_events = true;
		return 0;
	case OPT_EVENT:
		MEM_GROW(run->events, run->nr_events + 1, run->events_capacity);
		run->events[run->nr_events++] = arg;
		run->events[run->nr_events] = NULL;
		return 0;
	case OPT_COUNT:
		choice = one_of(arg, counts, ARRAY_SIZE(counts), "count", err);
		recording->count = (enum recording_count)MAX_OF(choice, 0);
		run->format.count = MAX_OF(choice, 0);
		return MIN_OF(choice, 0);
	case OPT_WALL:
		recording->wall = true;
		/* fall through */
	case OPT_OFF_CPU:
		recording->off_cpu = true;
		recording->count = RECORDING_TIME;
		return 0;
	case OPT_SPLIT:
		recording->split_state = true;
		return one_of(arg, splits, ARRAY_SIZE(splits), "split", err);
	case OPT_ONLY:
		choice = one_of(arg, parts, ARRAY_SIZE(parts), "only", err);
		recording->stacks.frames.only = (enum frames_only)MAX_OF(choice, 0);
		return MIN_OF(choice, 0);
	case OPT_COMM:
		MEM_GROW(run->comms, filter->nr_comms, run->comms_capacity);
		run->comms[filter->nr_comms++] = arg;
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
		return parse_symbol_filter(run, arg, err);
	case OPT_ANNOTATE:
	case OPT_NO_ANNOTATE:
		recording->stacks.annotate = run->format.annotate = option == OPT_ANNOTATE;
		return 0;
	case OPT_NO_SYMBOLS:
		recording->stacks.no_symbols = true;
		return 0;
	case OPT_NO_INLINE:
		recording->symbolize.no_inlines = true;
		run->format.inlines = false;
		return 0;
	case OPT_UNWIND:
		choice = one_of(arg, unwinds, ARRAY_SIZE(unwinds), "unwind", err);
		recording->stacks.frames.unwind.strict = choice == 1;
		return MIN_OF(choice, 0);
	case OPT_ADDRESSES:
		recording->stacks.addresses = run->format.addresses = true;
		return 0;
	case OPT_DEMANGLE:
		choice = one_of(arg, demangles, ARRAY_SIZE(demangles), "demangle", err);
		recording->symbolize.demangle = (enum symbolize_demangle)MAX_OF(choice, 0);
		return MIN_OF(choice, 0);
	case OPT_SRCLINE:
		recording->symbolize.srcline = run->format.srcline = true;
		return 0;
	case OPT_SYMFS:
		recording->modules.symfs = arg;
		return 0;
	case OPT_DEBUG_DIR:
		MEM_GROW(run->debug_dirs, run->nr_debug_dirs + 1, run->debug_dirs_capacity);
		run->debug_dirs[run->nr_debug_dirs++] = arg;
		run->debug_dirs[run->nr_debug_dirs] = NULL;
		return 0;
	case OPT_BUILD_ID_CACHE:
		recording->modules.build_id_cache = arg;
		return 0;
	case OPT_KALLSYMS:
		recording->symbolize.kallsyms = arg;
		return 0;
	case OPT_VMLINUX:
		recording->symbolize.vmlinux = arg;
		return 0;
	case OPT_SAMPLES:
		run->print_samples = true;
		return 0;
	case OPT_TO:
		return parse_to(run, arg, err);
	case OPT_FROM:
		return parse_from(run, arg, err);
	case OPT_VALUE:
		run->format.value = arg;
		return 0;
	case OPT_FOLD_RECURSION:
		choice = one_of(arg, recursions, ARRAY_SIZE(recursions), "fold-recursion", err);
		run->recursion = RECURSION_DIRECT + (enum recursion)MAX_OF(choice, 0);
		return MIN_OF(choice, 0);
	case OPT_COMPAT:
		run->format.flamegraph_compat = true;
		return one_of(arg, compats, ARRAY_SIZE(compats), "compat", err);
	case OPT_COMPAT_KERNEL:
	case OPT_COMPAT_JIT:
	case OPT_COMPAT_ALL:
		run->format.compat_kernel |= option != OPT_COMPAT_JIT;
		run->format.compat_jit |= option != OPT_COMPAT_KERNEL;
		return 0;
	case OPT_COMPAT_PID:
		run->format.by_pid = true;
		return 0;
	case OPT_COMPAT_TID:
		run->format.by_tid = true;
		return 0;
	case OPT_INLINE:
		recording->symbolize.no_inlines = false;
		run->format.inlines = true;
		return 0;
	case OPT_INPUT_CHECK:
		if (arg && strcmp(arg, "json") != 0 && strcmp(arg, "text") != 0)
			return err_set(err, "'--input-check=%s' is neither text nor json", arg);
		run->check = true;
		recording->check_json = arg && strcmp(arg, "json") == 0;
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

/* OPTS_END when the run may begin; else *status is the exit status. */
static int parse_options(struct run *run, int argc, char **argv, int *status, struct err *err)
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
			MEM_GROW(run->inputs, run->nr_inputs, run->inputs_capacity);
			run->inputs[run->nr_inputs++] = arg;
		} else if (option == OPTS_ERROR || take_option(run, option, arg, err) < 0) {
			msg_error("%s", err->text);
			*status = EXIT_MISUSE;
			return OPTS_ERROR;
		}
	}
	return OPTS_END;
}

/* ---- inputs ---- */

static int fold_format(struct run *run, struct input *in, struct err *err)
{
	const struct format *format = run->from;
	const char *head;
	size_t size;

	if (input_peek(in, FORMAT_HEAD, &head, &size, err) < 0)
		return -1;
	if (size == 0)
		return err_set(err, "'%s' is empty", input_name(in));
	if (!format)
		format = format_detect((struct slice){head, size}, size < FORMAT_HEAD);
	if (!format) {
		const char *what = folded_looks_like(head, size);

		return err_set(err, "'%s' is in no format known here%s%s; '--formats' lists them",
		               input_name(in), what ? ": it looks like " : "", what ? what : "");
	}
	if (format->parse(in, &run->folder, &run->format, &run->header, &run->format_report, err) <
	            0 ||
	    format_header(&run->format_report, &run->header, err) < 0)
		return err_prefix(err, "'%s'", input_name(in));
	return 0;
}

static int fold_input(struct run *run, const char *path, struct output *out, struct err *err)
{
	struct input *in = input_open(path, 0, err);
	const char *head;
	size_t size;
	int result;

	if (!in)
		return -1;
	if (input_peek(in, 16, &head, &size, err) < 0) {
		result = -1;
	} else if (run->format.flamegraph_compat && reader_knows((struct slice){head, size})) {
		result = err_set(err,
		                 "'%s' is a recording; '--compat flamegraph' reads what perf "
		                 "script prints of it",
		                 input_name(in));
	} else if (!run->from && reader_knows((struct slice){head, size})) {
		run->recording.samples = run->print_samples ? out : NULL;
		run->recording.check = run->check ? out : NULL;
		result = recording_fold(in, &run->recording, &run->folder, &run->header,
		                        &run->report, err);
	} else if (run->print_samples || run->check) {
		result = err_set(err, "'%s' is no perf.data recording; '%s' needs one",
		                 input_name(in), run->check ? "--input-check" : "--samples");
	} else {
		result = fold_format(run, in, err);
	}
	input_close(in);
	return result;
}

/* ---- what is said at the end ---- */

/* One line on stderr for each kind of loss; true where the output lacks something. */
static bool say_losses(const struct run *run)
{
	const struct recording_report *report = &run->report;
	uint64_t nr_lost = report->nr_lost + run->format_report.nr_lost;
	uint64_t nr_bad = report->nr_bad + report->nr_unknown_event;
	char nr[NUM_GROUPED];

	if (report->is_incomplete)
		msg_warn("%s; what was before it is used", report->message);
	if (nr_lost)
		msg_warn("the recorder lost %s samples or records; a larger buffer (-m) or a lower "
		         "frequency (-F) avoids that",
		         num_format_grouped(nr, nr_lost));
	if (nr_bad)
		msg_warn("%s records could not be understood and were left out",
		         num_format_grouped(nr, nr_bad));
	if (run->format_report.nr_bad)
		msg_warn("%s malformed lines or records were left out; the first: %s",
		         num_format_grouped(nr, run->format_report.nr_bad),
		         run->format_report.first_bad);
	if (report->left_out[0])
		msg_note("left out: samples %s; --event NAME or --all-events folds them",
		         report->left_out);
	if (run->format_report.nr_left_out)
		msg_note("left out: %s samples of other events; --event NAME or --all-events folds "
		         "them",
		         num_format_grouped(nr, run->format_report.nr_left_out));
	if (report->nr_truncated)
		msg_note("%s stacks lack their outermost frames and stand below [truncated]",
		         num_format_grouped(nr, report->nr_truncated));
	return report->is_incomplete || nr_lost || nr_bad || run->format_report.nr_bad;
}

static int no_samples(const struct run *run)
{
	const char *name = run->nr_inputs == 1 ? run->inputs[0] : "the input";

	if (run->report.is_incomplete)
		msg_error("no samples: %s", run->report.message);
	else if (run->report.nr_filtered)
		msg_error("no samples are left: the filters leave out all %llu of '%s'",
		          (unsigned long long)run->report.nr_filtered, name);
	else if (run->report.left_out[0])
		msg_error("no samples of the first event in '%s', but %s: choose one with --event",
		          name, run->report.left_out);
	else if (run->format_report.nr_bad)
		msg_error("no samples in '%s', but what is malformed: %s", name,
		          run->format_report.first_bad);
	else
		msg_error("no samples in '%s'", name);
	return EXIT_FAILED;
}

/* What a format said of itself; recordings write their own. */
static void describe_formats(struct run *run)
{
	const struct format_report *report = &run->format_report;

	if (report->nr_lost)
		folded_header_set(&run->header, "lost", "%llu records",
		                  (unsigned long long)report->nr_lost);
}

/* What the first input counts; unlike events are not added up. */
struct counted {
	char *event, *unit;
};

static int check_counted(const struct run *run, struct counted *first, const char *input,
                         struct err *err)
{
	const char *event = folded_header_get(&run->header, "event");
	const char *unit = folded_header_get(&run->header, "unit");

	if (first->event && event && strcmp(first->event, event) != 0)
		return err_set(err,
		               "'%s' counts '%s' and '%s' counts '%s': unlike events are not "
		               "added up",
		               input, event, run->inputs[0], first->event);
	if (first->unit && unit && strcmp(first->unit, unit) != 0)
		return err_set(err,
		               "'%s' counts %s and '%s' counts %s: unlike units are not added up",
		               input, unit, run->inputs[0], first->unit);
	if (!first->event && event)
		first->event = mem_strdup(event);
	if (!first->unit && unit)
		first->unit = mem_strdup(unit);
	return 0;
}

static int fold_inputs(struct run *run, struct output *out, struct err *err)
{
	struct counted first = {NULL, NULL};
	int result = 0;

	for (size_t i = 0; i < run->nr_inputs && result == 0; i++) {
		result = fold_input(run, run->inputs[i], out, err);
		if (result == 0)
			result = check_counted(run, &first, run->inputs[i], err);
	}
	free(first.event);
	free(first.unit);
	return result;
}

static int write_stacks(const struct run *run, struct output *out, struct err *err)
{
	if (run->to && run->to->is_binary && !run->output && isatty(STDOUT_FILENO))
		return err_set(err,
		               "'--to %s' writes bytes that are not for a terminal; name a "
		               "file with -o",
		               run->to->name);
	if (run->to)
		return run->to->write(&run->folder, &run->header, out, err);
	if (!run->no_header)
		folded_header_write(&run->header, out);
	folder_write(&run->folder, out);
	return 0;
}

static int fold_all(struct run *run)
{
	struct output out;
	struct err err;
	bool is_incomplete;

	if (output_open(&out, run->output, &err) < 0)
		return msg_fail(&err);
	if (fold_inputs(run, &out, &err) < 0) {
		output_discard(&out);
		return msg_fail(&err);
	}
	if (!run->check && !run->report.nr_samples && !run->format_report.nr_samples &&
	    !run->folder.total) {
		output_discard(&out);
		return no_samples(run);
	}
	if (!run->print_samples && !run->check) {
		recursion_fold(&run->folder, run->recursion);
		describe_formats(run);
		if (write_stacks(run, &out, &err) < 0) {
			output_discard(&out);
			return msg_fail(&err);
		}
	}
	if (output_close(&out, &err) < 0)
		return msg_fail(&err);
	is_incomplete = say_losses(run);
	return is_incomplete ? EXIT_INCOMPLETE : EXIT_COMPLETE;
}

/* What stands where the command line says nothing. */
static void complete_options(struct run *run)
{
	struct recording_options *recording = &run->recording;

	if (!run->nr_inputs) {
		MEM_GROW(run->inputs, run->nr_inputs, run->inputs_capacity);
		run->inputs[run->nr_inputs++] = "-";
	}
	if (!run->has_by) {
		recording->stacks.roots[recording->stacks.nr_roots++] = ROOT_COMM;
		run->format.by_comm = true;
	}
	if (run->format.flamegraph_compat) {
		run->no_header = true;
		run->format.annotate = false;
		run->format.count = COUNT_PERIOD;
	}
	if (!run->format.nr_threads)
		run->format.nr_threads = (unsigned)MAX_OF(sysconf(_SC_NPROCESSORS_ONLN), 1);
	recording->events = run->format.events = run->events;
	recording->filter.comms = run->comms;
	recording->modules.debug_dirs = run->debug_dirs;
	folder_init(&run->folder);
}

static void run_release(struct run *run)
{
	folder_release(&run->folder);
	folded_header_release(&run->header);
	if (run->has_symbol_filter)
		regfree(&run->symbol_filter);
	free(run->recording.filter.pids);
	free(run->recording.filter.tids);
	free(run->recording.filter.cpus);
	free(run->events);
	free(run->comms);
	free(run->debug_dirs);
	free(run->inputs);
}

int main(int argc, char **argv)
{
	struct run run = {
	        .recording.stacks.annotate = true,
	        .format = {.annotate = true, .inlines = true},
	};
	struct err err;
	int status;

	msg_init("collapse");
	if (parse_options(&run, argc, argv, &status, &err) == OPTS_END) {
		complete_options(&run);
		if (run.nr_inputs == 1 && strcmp(run.inputs[0], "-") == 0 && isatty(STDIN_FILENO)) {
			msg_error("nothing to read: give a FILE, or pipe into this, as in: collect "
			          "-a | collapse; '--help' tells more");
			status = EXIT_MISUSE;
		} else {
			status = fold_all(&run);
		}
	}
	run_release(&run);
	return status;
}
