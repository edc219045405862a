/*
 * collapse - whatever a profiler wrote, to folded stacks.
 *
 * Chooses the reader by what the input begins with: a perf.data recording
 * (recording.h) or one of the formats (format.h); puts all inputs of the run
 * into one folder and writes it.
 */
#include "share/compat.h"

#include "collapse/archive.h"
#include "collapse/folder.h"
#include "collapse/formats/uftracedir.h"
#include "collapse/names/debuginfod.h"
#include "collapse/options.h"
#include "share/folded.h"
#include "share/guard.h"
#include "share/mem.h"
#include "share/msg.h"
#include "share/num.h"
#include "share/opts.h"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct run {
	struct options options;
	struct archive *archive;
	bool is_behind;  /* the last interval could not be written */
	bool is_damaged; /* a file of an archive had to be left out */

	struct folder folder;
	struct profile profile; /* where the output holds more than the folder */
	struct folded_header header;
	struct histograms histograms; /* where --format asks for them */
	struct recording_report report;
	struct format_report format_report;
	const char *format; /* that an input was read as, or NULL */
};

/* ---- inputs ---- */

/* A filter that needs to know more of a sample than formats keep; or NULL. */
static const char *filter_of_recordings(const struct options *options)
{
	const struct recording_options *recording = &options->recording;
	const struct measure_filter *filter = &recording->filter;

	return filter->nr_comms                          ? "--comm" :
	       filter->nr_pids                           ? "--pid" :
	       filter->nr_tids                           ? "--tid" :
	       filter->nr_cpus                           ? "--cpu" :
	       filter->time_from || filter->time_to      ? "--time" :
	       recording->stacks.frames.only != ONLY_ALL ? "--only" :
	       options->has_symbol_filter                ? "--symbol-filter" :
	                                                   NULL;
}

static bool is_blank(struct slice text)
{
	for (size_t i = 0; i < text.size; i++)
		if (!strchr(" \t\r\n", text.at[i])) /* which finds NUL as well */
			return false;
	return true;
}

/* format: NULL where the input is to tell. */
static int fold_format(struct run *run, struct input *in, const struct format *format,
                       struct err *err)
{
	const char *head;
	size_t size;

	if (input_peek(in, FORMAT_HEAD, &head, &size, err) < 0)
		return -1;
	if (size == 0)
		return err_set(err, "'%s' is empty", input_name(in));
	if (size < FORMAT_HEAD && is_blank((struct slice){head, size}))
		return err_set(err, "'%s' holds nothing but blanks or zero bytes", input_name(in));
	if (!format)
		format = format_detect((struct slice){head, size}, size < FORMAT_HEAD);
	if (!format) {
		const char *what = format_looks_like((struct slice){head, size});

		return err_set(err, "'%s' is in no format known here%s%s; '--formats' lists them",
		               input_name(in), what ? ": it looks like " : "", what ? what : "");
	}
	run->format = format->name;
	if (filter_of_recordings(&run->options))
		return err_set(err,
		               "'%s' is %s, and '%s' works on perf.data recordings only; "
		               "flame-render and grep choose among folded stacks",
		               input_name(in), format->name, filter_of_recordings(&run->options));
	if (format->parse(in, &run->folder, &run->options.format, &run->header, &run->format_report,
	                  err) < 0 ||
	    format_header(&run->format_report, &run->header, err) < 0)
		return err_prefix(err, "'%s'", input_name(in));
	return 0;
}

static int fold_input(struct run *run, const char *path, struct output *out, struct err *err)
{
	struct input *in = input_open(path, run->options.max_input, err);
	const char *head;
	size_t size;
	int result;

	if (!in)
		return -1;
	if (input_peek(in, 16, &head, &size, err) < 0) {
		result = -1;
	} else if (run->options.format.flamegraph_compat &&
	           reader_knows((struct slice){head, size})) {
		result = err_set(err,
		                 "'%s' is a recording; '--compat flamegraph' reads what perf "
		                 "script prints of it",
		                 input_name(in));
	} else if (!run->options.from && reader_knows((struct slice){head, size})) {
		run->options.recording.samples = run->options.print_samples ? out : NULL;
		run->options.recording.check = run->options.check ? out : NULL;
		run->options.recording.timing.out = out;
		if (run->options.is_histogram)
			run->options.recording.timing.histograms = &run->histograms;
		result = recording_fold(in, &run->options.recording, &run->folder, &run->header,
		                        &run->report, err);
	} else if (run->options.print_samples || run->options.check) {
		result =
		        err_set(err, "'%s' is no perf.data recording; '%s' needs one",
		                input_name(in), run->options.check ? "--input-check" : "--samples");
	} else {
		result = fold_format(run, in, run->options.from, err);
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
	double unresolved = report->folded.total ? weight_to_double(report->folded.unresolved) /
	                                                   weight_to_double(report->folded.total) :
	                                           0;

	if (report->is_incomplete)
		msg_warn("%s; what was before it is used", report->message);
	if (nr_lost)
		msg_warn("the recorder lost %s sample%s or record%s; a larger buffer (-m) or a "
		         "lower "
		         "frequency (-F) avoids that",
		         num_format_grouped(nr, nr_lost), num_plural(nr_lost), num_plural(nr_lost));
	if (nr_bad)
		msg_warn("%s record%s could not be understood and %s left out",
		         num_format_grouped(nr, nr_bad), num_plural(nr_bad),
		         nr_bad == 1 ? "was" : "were");
	if (run->format_report.nr_bad)
		msg_warn("%s malformed %s: %s", num_format_grouped(nr, run->format_report.nr_bad),
		         run->format_report.nr_bad == 1 ?
		                 "line or record was left out" :
		                 "lines or records were left out; the first",
		         run->format_report.first_bad);
	if (run->format_report.incomplete[0])
		msg_warn("%s", run->format_report.incomplete);
	if (guard_nr_cut())
		msg_warn("%u of the files with names became shorter while they were read; from "
		         "then on some of their names are missing or cut short",
		         guard_nr_cut());
	if (debuginfod_counts().nr_late)
		msg_note("%u files were not got from debuginfod servers in the time they had; "
		         "--debuginfod=SECONDS gives them more",
		         debuginfod_counts().nr_late);
	if (report->nr_aux)
		msg_note("%s pieces of a processor's trace (AUX) are left out: they are counted, "
		         "not decoded",
		         num_format_grouped(nr, report->nr_aux));
	if (report->nr_cut_maps)
		msg_note("of %s process%s the recorder did not read all maps in the time it had; "
		         "code in the rest of them has no names (perf record --proc-map-timeout "
		         "gives it more)",
		         num_format_grouped(nr, report->nr_cut_maps),
		         report->nr_cut_maps == 1 ? "" : "es");
	if (report->left_out[0])
		msg_note("samples of other events are left out: %s; --event NAME or --all-events "
		         "folds them",
		         report->left_out);
	if (run->format_report.nr_left_out)
		msg_note("%s are left out: %s%s",
		         run->format_report.left_out ? run->format_report.left_out :
		                                       "samples of other events",
		         num_format_grouped(nr, run->format_report.nr_left_out),
		         run->format_report.left_out ? "" :
		                                       "; --event NAME or --all-events folds them");
	if (report->instead[0])
		msg_note("%s; --event names another one", report->instead);
	if (unresolved > 0.5 && !run->options.recording.stacks.no_symbols)
		msg_note("%.0f %% of the samples lie in stacks with frames that have no name; "
		         "--input-check tells why",
		         unresolved * 100);
	if (report->nr_truncated)
		msg_note("%s stacks lack their outermost frames and stand below [truncated]",
		         num_format_grouped(nr, report->nr_truncated));
	return report->is_incomplete || nr_lost || nr_bad || run->format_report.nr_bad ||
	       run->format_report.incomplete[0];
}

static int no_samples(const struct run *run)
{
	const char *name = run->options.nr_inputs == 1 ? run->options.inputs[0] : "the input";

	if (run->report.is_incomplete)
		msg_error("no samples: %s", run->report.message);
	else if (run->report.has_counts)
		msg_error("no samples in '%s': perf stat wrote it, which counts", name);
	else if (run->report.nr_filtered)
		msg_error("no samples are left: the filters leave out all %llu of '%s'",
		          (unsigned long long)run->report.nr_filtered, name);
	else if (run->report.left_out[0])
		msg_error("no samples of the first event in '%s', but %s: choose one with --event",
		          name, run->report.left_out);
	else if (run->format_report.nr_bad)
		msg_error("no samples in '%s', but what is malformed: %s", name,
		          run->format_report.first_bad);
	else if (run->format_report.incomplete[0])
		msg_error("no samples in '%s': %s", name, run->format_report.incomplete);
	else if (run->format)
		msg_error("no samples in '%s', which was read as %s", name, run->format);
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
		                  (unsigned long long)(report->nr_lost + run->report.nr_lost));
}

/* What the first input counts; unlike events are not added up. */
struct counted {
	char *event, *unit;
};

/* The header of folded text is merged with that of the inputs before it. */
static const char *unlike(const char *what)
{
	return strcmp(what, "several") == 0 ? "something else" : what;
}

static int check_counted(const struct run *run, struct counted *first, const char *input,
                         struct err *err)
{
	const char *event = folded_header_get(&run->header, "event");
	const char *unit = folded_header_get(&run->header, "unit");

	if (first->event && event && strcmp(first->event, event) != 0)
		return err_set(err,
		               "'%s' counts '%s' and '%s' counts '%s': unlike events are not "
		               "added up",
		               input, unlike(event), run->options.inputs[0], first->event);
	if (first->unit && unit && strcmp(first->unit, unit) != 0)
		return err_set(err,
		               "'%s' counts %s and '%s' counts %s: unlike units are not added up",
		               input, unlike(unit), run->options.inputs[0], first->unit);
	if (!first->event && event)
		first->event = mem_strdup(event);
	if (!first->unit && unit)
		first->unit = mem_strdup(unit);
	return 0;
}

/* ---- archives ---- */

static bool is_folder(const char *path)
{
	struct stat st;

	return strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_recording(const char *path)
{
	struct stat st;
	char head[8];
	FILE *file;
	bool is_known;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || !(file = fopen(path, "rbe")))
		return false;
	is_known = fread(head, 1, sizeof(head), file) == sizeof(head) &&
	           reader_knows((struct slice){head, sizeof(head)});
	fclose(file);
	return is_known;
}

/*
 * One file of an archive: all of it or, where it cannot be decoded to its end,
 * nothing but a warning.
 */
static int fold_member(struct run *run, const char *path, struct err *err)
{
	struct input *in = input_open(path, run->options.max_input, err);
	const char *at;
	size_t size;
	int result = 0;

	if (!in || input_peek(in, SIZE_MAX, &at, &size, err) < 0 ||
	    (result = fold_format(run, in, format_by_name("folded"), err)) < 0) {
		if (result == 0 || !run->folder.total) {
			msg_warn("%s; left out", err->text);
			run->is_damaged = true;
			result = 0;
		}
	}
	input_close(in);
	return result;
}

static int fold_archive(struct run *run, const char *dir, struct err *err)
{
	struct archive_list list;
	int result = 0;

	/* it may be the same one, whose counts would double */
	if (run->archive)
		return err_set(err, "'%s' is an archive, and none goes into --archive", dir);
	if (archive_list(dir, run->options.since, run->options.until, &list, err) < 0)
		return -1;
	if (!list.nr)
		result = err_set(err, "the archive '%s' has no files%s", dir,
		                 run->options.has_range ? " of that time" : "");
	for (size_t i = 0; i < list.nr && result == 0; i++)
		result = fold_member(run, list.members[i].path, err);
	archive_list_release(&list);
	return result;
}

static const char *archive_host(const struct run *run, char *here, size_t size)
{
	const char *host = folded_header_get(&run->header, "host");

	if (host)
		return host;
	here[0] = '\0';
	gethostname(here, size - 1);
	return here;
}

static int archive_rest(struct run *run, int64_t start, struct err *err)
{
	char here[256] = "";

	if (!run->folder.total)
		return 0;
	recording_shares(&run->report, &run->folder, &run->header);
	/* what tells no time is kept, and expires, as what came now */
	if (!start)
		start = time(NULL);
	return archive_add(run->archive, start, archive_host(run, here, sizeof(here)), &run->header,
	                   &run->folder, err);
}

/* Called by the recording at the end of each interval. */
static int archive_interval(void *ctx, int64_t start, struct err *err)
{
	struct run *run = ctx;
	bool failed;

	recursion_fold(&run->folder, run->options.recursion);
	failed = archive_rest(run, start, err) < 0;

	if (failed && !run->is_behind)
		msg_warn("%s; the interval is kept and tried again at the end of the next",
		         err->text);
	run->is_behind = failed;
	if (failed)
		return 1;
	folded_header_release(&run->header);
	folder_release(&run->folder);
	folder_init(&run->folder);
	return 0;
}

static volatile sig_atomic_t nowhere; /* a descriptor of /dev/null */

/* Nothing more comes: whatever waits for input meets its end. */
static void end_input(int number)
{
	(void)number;
	dup2(nowhere, STDIN_FILENO);
}

/* The recorder was most likely told to end as well: what it still has comes first. */
static void end_soon(int number)
{
	(void)number;
	alarm(2);
}

static void end_on_signals(void)
{
	struct sigaction soon = {.sa_handler = end_soon}, now = {.sa_handler = end_input};

	nowhere = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigaction(SIGINT, &soon, NULL);
	sigaction(SIGTERM, &soon, NULL);
	sigaction(SIGALRM, &now, NULL);
}

static int begin_archive(struct run *run, struct err *err)
{
	if (run->options.recording.timing.what)
		return err_set(err, "--archive does not go with --off-cpu and other times: waits "
		                    "that span intervals would be lost");
	run->archive = archive_open(run->options.archive_dir, &run->options.archive, err);
	if (!run->archive)
		return -1;
	if (!run->options.recording.every_ns)
		run->options.recording.every_ns = UINT64_C(60000000000);
	/* glibc would raise it with every large block, and keep ever more of them */
	mallopt(M_MMAP_THRESHOLD, 256 * 1024);
	run->options.recording.interval = archive_interval;
	run->options.recording.interval_ctx = run;
	end_on_signals();
	return 0;
}

/* ---- all inputs ---- */

/* A folder is a recording of perf or of uftrace, or else an archive. */
static int fold_folder(struct run *run, const char *path, struct output *out, struct err *err)
{
	const struct format *from = run->options.from;
	char **threads, *data = mem_printf("%s/data", path);
	bool is_perf = is_recording(data);
	size_t nr;
	int result = 0;

	if (is_perf)
		result = fold_input(run, data, out, err);
	free(data);
	if (is_perf)
		return result;
	nr = uftracedir_threads(path, &threads);
	if (!nr)
		return fold_archive(run, path, err);
	run->options.from = format_by_name("uftrace");
	for (size_t i = 0; i < nr; i++) {
		if (result == 0)
			result = fold_input(run, threads[i], out, err);
		free(threads[i]);
	}
	free(threads);
	run->options.from = from;
	return result;
}

static int fold_inputs(struct run *run, struct output *out, struct err *err)
{
	struct counted first = {NULL, NULL};
	int result = 0;

	for (size_t i = 0; i < run->options.nr_inputs && result == 0; i++) {
		result = is_folder(run->options.inputs[i]) ?
		                 fold_folder(run, run->options.inputs[i], out, err) :
		                 fold_input(run, run->options.inputs[i], out, err);
		if (result == 0)
			result = check_counted(run, &first, run->options.inputs[i], err);
	}
	free(first.event);
	free(first.unit);
	return result;
}

/* Single samples are kept where the output holds them and each means what it counts. */
static void begin_profile(struct run *run)
{
	struct recording_options *recording = &run->options.recording;

	profile_init(&run->profile, &run->folder);
	if (run->options.to && run->options.to->write_profile && !run->archive &&
	    !recording->timing.what && run->options.recursion == RECURSION_KEEP)
		recording->stacks.profile = &run->profile;
}

static int write_profile(struct run *run, struct output *out, struct err *err)
{
	/* other inputs have told of no threads */
	if (!run->options.recording.stacks.profile || run->profile.total != run->folder.total)
		profile_of_folder(&run->profile);
	return run->options.to->write_profile(&run->profile, &run->header, out, err);
}

static int write_stacks(struct run *run, struct output *out, struct err *err)
{
	if (run->options.to && run->options.to->is_binary && !run->options.output &&
	    isatty(STDOUT_FILENO))
		return err_set(err,
		               "'--to %s' writes bytes that are not for a terminal; name a "
		               "file with -o",
		               run->options.to->name);
	recording_shares(&run->report, &run->folder, &run->header);
	if (run->options.recording.timing.what == TIMING_TIMEHIST)
		return 0;
	if (run->options.is_histogram) {
		histograms_write(&run->histograms, &run->header, run->options.is_json, out);
		return 0;
	}
	if (run->options.to && run->options.to->write_profile)
		return write_profile(run, out, err);
	if (run->options.to)
		return run->options.to->write(&run->folder, &run->header, out, err);
	if (!run->options.no_header)
		folded_header_write(&run->header, out);
	folder_write(&run->folder, out);
	return 0;
}

static int fold_all(struct run *run)
{
	struct output out;
	struct err err;
	bool is_incomplete;

	if ((run->options.archive_dir && begin_archive(run, &err) < 0) ||
	    output_open(&out, run->options.output, &err) < 0)
		return msg_fail(&err);
	begin_profile(run);
	if (fold_inputs(run, &out, &err) < 0) {
		output_discard(&out);
		return msg_fail(&err);
	}
	if (!run->options.check && !run->report.nr_samples && !run->format_report.nr_samples &&
	    !run->folder.total) {
		output_discard(&out);
		return no_samples(run);
	}
	if (!run->options.print_samples && !run->options.check) {
		recursion_fold(&run->folder, run->options.recursion);
		describe_formats(run);
		if (run->archive ? archive_rest(run, run->report.rest_start, &err) < 0 :
		                   write_stacks(run, &out, &err) < 0) {
			output_discard(&out);
			return msg_fail(&err);
		}
	}
	if (output_close(&out, &err) < 0)
		return msg_fail(&err);
	is_incomplete = say_losses(run) || run->is_damaged;
	return is_incomplete ? EXIT_INCOMPLETE : EXIT_COMPLETE;
}

static void say_waiting(const char *name, long done, long all)
{
	if (!isatty(STDERR_FILENO)) {
		if (name && done < 0)
			msg_note("asking a debuginfod server for '%s'", name);
	} else if (!name) {
		msg_progress_end();
	} else if (all > 0) {
		msg_progress("asking a debuginfod server for '%s': %ld of %ld kB", name,
		             done / 1000, all / 1000);
	} else {
		msg_progress("asking a debuginfod server for '%s'", name);
	}
}

int main(int argc, char **argv)
{
	struct run run = {0};
	struct err err;
	int status;

	msg_init("collapse");
	guard_init();
	if (options_parse(&run.options, argc, argv, &status, &err) == OPTS_END) {
		if (run.options.nr_inputs == 1 && strcmp(run.options.inputs[0], "-") == 0 &&
		    isatty(STDIN_FILENO)) {
			msg_error("nothing to read: give a FILE, or pipe into this, as in: collect "
			          "-a | collapse; '--help' tells more");
			status = EXIT_MISUSE;
		} else {
			run.options.recording.modules.progress = say_waiting;
			folder_init(&run.folder);
			status = fold_all(&run);
			archive_close(run.archive);
			profile_release(&run.profile);
			folder_release(&run.folder);
			histograms_release(&run.histograms);
			folded_header_release(&run.header);
		}
	}
	options_release(&run.options);
	return status;
}
