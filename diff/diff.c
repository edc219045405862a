/*
 * diff.c - compares two sides of folded stacks: options and lifecycle.
 */
#include "share/compat.h"

#include "diff/canon.h"
#include "diff/columns.h"
#include "diff/join.h"
#include "diff/limits.h"
#include "diff/report.h"
#include "diff/scale.h"
#include "diff/verdict.h"
#include "share/guard.h"
#include "share/msg.h"
#include "share/num.h"
#include "share/opts.h"
#include "share/svgdata.h"

#include <unistd.h>

enum option {
	OPTION_BEFORE = 1,
	OPTION_AFTER,
	OPTION_NORMALIZE,
	OPTION_TOTAL,
	OPTION_STRIP_HEX,
	OPTION_CANON,
	OPTION_RENAME_FILE,
	OPTION_REPORT,
	OPTION_BY,
	OPTION_FDR,
	OPTION_PERIOD,
	OPTION_TOP,
	OPTION_COLOR,
	OPTION_CHECK,
	OPTION_NO_HEADER,
	OPTION_OUTPUT,
	OPTION_QUIET,
};

static const struct opt table[] = {
        {OPTION_BEFORE, 0, "before", "[FILE]", "the files that follow are runs of the before side"},
        {OPTION_AFTER, 0, "after", "[FILE]", "the files that follow are runs of the after side"},
        {OPTION_NORMALIZE, 0, "normalize", "HOW",
         "scale before to after by: total (default), time, none"},
        {OPTION_TOTAL, 'n', NULL, NULL, "the same as --normalize=total"},
        {OPTION_STRIP_HEX, 's', "strip-hex", NULL, "show every 0x1234 as 0x..."},
        {OPTION_CANON, 0, "canon", "RULES", "how names are matched; 'help' lists the rules"},
        {OPTION_RENAME_FILE, 0, "rename-file", "FILE",
         "rename frames: lines of REGEX TAB REPLACEMENT"},
        {OPTION_REPORT, 0, "report", "FORMAT",
         "what changed for sure, as text, markdown, json or csv"},
        {OPTION_BY, 0, "by", "MEASURE", "compare functions by self (default) or total, or by path"},
        {OPTION_FDR, 0, "fdr", "RATE", "false discovery rate to allow (default 0.05)"},
        {OPTION_PERIOD, 0, "period", "WEIGHT", "weight of one sample, where weights are no counts"},
        {OPTION_TOP, 0, "top", "NR",
         "rows of each section of text and markdown; 0 = all (default 20)"},
        {OPTION_COLOR, 0, "color", "WHEN", "colour the text: auto (default), always, never"},
        {OPTION_CHECK, 0, "check", "LIMITS",
         "exit with 3 when broken: 'regression>3%', 'ratio>1.2x'"},
        {OPTION_NO_HEADER, 0, "no-header", NULL, "leave the header lines out"},
        {OPTION_OUTPUT, 'o', "output", "FILE", "write there instead of stdout"},
        {OPTION_QUIET, 'q', "quiet", NULL, "say nothing that is not a fault"},
};

struct operand {
	const char *path;
	enum join_side side;
};

struct config {
	struct operand *operands;
	size_t nr_operands, capacity;
	bool sides_named; /* by --before or --after */
	enum join_side side;
	struct canon canon;
	const char **rename_files;
	size_t nr_rename_files, rename_capacity;
	struct verdict_options verdict;
	struct limits limits;
	bool wants_report;
	enum report_format format;
	size_t top;
	enum { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER } colour;
	const char *output;
	bool no_header;
};

static void add_operand(struct config *config, const char *path)
{
	enum join_side side = config->side;

	if (!config->sides_named)
		side = config->nr_operands ? JOIN_AFTER : JOIN_BEFORE;
	MEM_GROW(config->operands, config->nr_operands, config->capacity);
	config->operands[config->nr_operands++] = (struct operand){path, side};
}

static int begin_side(struct config *config, enum join_side side, const char *path, struct err *err)
{
	if (!config->sides_named && config->nr_operands)
		return err_set(err, "'%s' stands before --before and --after: on which side is it?",
		               config->operands[0].path);
	config->sides_named = true;
	config->side = side;
	if (path)
		add_operand(config, path);
	return 0;
}

/* The place of the word in a list that ends in NULL, or -1. */
static int parse_word(const char *option, const char *word, const char *const *words,
                      struct err *err)
{
	struct buf known = {0};

	for (int i = 0; words[i]; i++) {
		if (strcmp(word, words[i]) == 0) {
			buf_release(&known);
			return i;
		}
		buf_printf(&known, "%s%s", i ? ", " : "", words[i]);
	}
	err_set(err, "--%s takes one of %s, not '%s'", option, buf_text(&known), word);
	buf_release(&known);
	return -1;
}

static int parse_report_option(struct config *config, int id, const char *arg, struct err *err)
{
	static const char *const measures[] = {"self", "total", "path", NULL};
	static const char *const colours[] = {"auto", "always", "never", NULL};
	uint64_t top;
	int word;

	switch (id) {
	case OPTION_REPORT:
		config->wants_report = true;
		if (!report_parse_format(arg, &config->format))
			return err_set(err,
			               "--report takes one of text, markdown, json, csv, not '%s'",
			               arg);
		break;
	case OPTION_BY:
		word = parse_word("by", arg, measures, err);
		if (word < 0)
			return -1;
		config->verdict.measure = (enum verdict_measure)word;
		break;
	case OPTION_FDR:
		if (num_parse_real(arg, &config->verdict.fdr) < 0 || config->verdict.fdr <= 0 ||
		    config->verdict.fdr > 1)
			return err_set(err, "--fdr takes a rate above 0 and up to 1, not '%s'",
			               arg);
		break;
	case OPTION_PERIOD:
		if (num_parse_real(arg, &config->verdict.period) < 0 || config->verdict.period <= 0)
			return err_set(err, "--period takes a weight above 0, not '%s'", arg);
		break;
	case OPTION_TOP:
		if (num_parse_u64(arg, strlen(arg), &top) < 0)
			return err_set(err, "--top takes a number of rows, not '%s'", arg);
		config->top = top;
		break;
	case OPTION_COLOR:
		word = parse_word("color", arg, colours, err);
		if (word < 0)
			return -1;
		config->colour = word;
		break;
	case OPTION_CHECK:
		return limits_parse(&config->limits, arg, err);
	}
	return 0;
}

static int check_operands(const struct config *config, struct err *err)
{
	size_t nr[2] = {0, 0}, nr_stdin = 0;

	for (size_t i = 0; i < config->nr_operands; i++) {
		nr[config->operands[i].side]++;
		nr_stdin += strcmp(config->operands[i].path, "-") == 0;
	}
	if (!nr[JOIN_BEFORE] || !nr[JOIN_AFTER])
		return err_set(err, "give both sides: %s BEFORE AFTER", msg_program());
	if (!config->sides_named && config->nr_operands > 2)
		return err_set(err,
		               "more than two files: name the sides with --before and --after");
	if (nr_stdin > 1)
		return err_set(err, "'-' can stand for one input only");
	return 0;
}

/* Returns -1 with err, 0 to go on, 1 when all is said. */
static int parse(struct config *config, struct opts *opts, struct err *err)
{
	static const char *const modes[] = {"total", "time", "none", NULL};
	const char *arg;
	int rc = 0, id, word;

	while (rc == 0 && (id = opts_next(opts, &arg, err)) != OPTS_END) {
		switch (id) {
		case OPTS_OPERAND:
			add_operand(config, arg);
			break;
		case OPTS_DONE:
			return 1;
		case OPTS_ERROR:
			return -1;
		case OPTION_BEFORE:
			rc = begin_side(config, JOIN_BEFORE, arg, err);
			break;
		case OPTION_AFTER:
			rc = begin_side(config, JOIN_AFTER, arg, err);
			break;
		case OPTION_NORMALIZE:
			rc = word = parse_word("normalize", arg, modes, err);
			if (word >= 0) {
				config->verdict.mode = (enum scale_mode)word;
				rc = 0;
			}
			break;
		case OPTION_TOTAL:
			config->verdict.mode = SCALE_TOTAL;
			break;
		case OPTION_STRIP_HEX:
			config->canon.strip_hex = true;
			break;
		case OPTION_CANON:
			if (strcmp(arg, "help") == 0) {
				struct buf text = {0};

				canon_describe(&text);
				fputs(buf_text(&text), stdout);
				buf_release(&text);
				return 1;
			}
			rc = canon_parse(&config->canon, arg, err);
			break;
		case OPTION_RENAME_FILE:
			MEM_GROW(config->rename_files, config->nr_rename_files,
			         config->rename_capacity);
			config->rename_files[config->nr_rename_files++] = arg;
			break;
		case OPTION_NO_HEADER:
			config->no_header = true;
			break;
		case OPTION_OUTPUT:
			config->output = arg;
			break;
		case OPTION_QUIET:
			msg_quiet(true);
			break;
		default:
			rc = parse_report_option(config, id, arg, err);
		}
	}
	return rc < 0 ? -1 : check_operands(config, err);
}

/* The profile that one of our pictures carries takes the place of the picture. */
static struct input *open_operand(const char *path, struct err *err)
{
	struct input *in = input_open(path, 0, err), *inside;
	struct slice all;
	struct buf folded = {0};
	const char *head;
	size_t size;

	if (!in || input_peek(in, 1, &head, &size, err) < 0 || !size || *head != '<')
		return in;
	if (input_all(in, SVGDATA_MAX_FOLDED, &all, err) < 0 ||
	    svgdata_to_folded(all, &folded, err) < 0) {
		err_prefix(err, "cannot read '%s' as a picture", input_name(in));
		inside = NULL;
	} else {
		inside = input_of_bytes(input_name(in), &folded);
	}
	buf_release(&folded);
	input_close(in);
	return inside;
}

/* Reads every input; *incomplete where lines had to be skipped. */
static int read_all(const struct config *config, struct join *join, bool *incomplete,
                    struct err *err)
{
	for (size_t i = 0; i < config->nr_operands; i++) {
		const struct operand *operand = &config->operands[i];
		struct input *in = open_operand(operand->path, err);
		char bad[512];
		int rc;

		if (!in)
			return -1;
		rc = join_read(join, operand->side, in, bad, sizeof(bad), err);
		input_close(in);
		if (rc < 0)
			return -1;
		if (*bad) {
			msg_warn("%s", bad);
			*incomplete = true;
		}
	}
	return 0;
}

static bool wants_colour(const struct config *config)
{
	if (config->colour != COLOUR_AUTO)
		return config->colour == COLOUR_ALWAYS;
	return (!config->output || strcmp(config->output, "-") == 0) && isatty(STDOUT_FILENO) &&
	       !getenv("NO_COLOR");
}

/* Names what breaks the limits; the exit status. */
static int check_limits(const struct config *config, const struct verdict *verdict)
{
	struct buf lines = {0};
	size_t nr = limits_check(&config->limits, verdict, &lines);

	for (char *line = buf_text(&lines), *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		msg_error("%s", line);
	}
	buf_release(&lines);
	return nr ? EXIT_LIMIT : EXIT_COMPLETE;
}

static int write_result(const struct config *config, const struct join *join, struct scale *scale,
                        const struct verdict *verdict, struct err *err)
{
	struct output out;

	if (output_open(&out, config->output, err) < 0)
		return -1;
	if (config->wants_report) {
		struct report report = {
		        .format = config->format,
		        .verdict = verdict,
		        .scale = scale,
		        .top = config->top,
		        .colour = wants_colour(config),
		};

		for (size_t i = 0; i < join->nr_runs; i++)
			report.nr_bad += join->runs[i].nr_bad;
		report_write(&report, &out);
	} else {
		columns_write(join, scale, !config->no_header, &out);
	}
	return output_close(&out, err);
}

static int run(struct config *config, struct join *join, struct err *err)
{
	struct verdict verdict = {0};
	struct scale scale;
	bool incomplete = false;
	int status = EXIT_FAILED;

	for (size_t i = 0; i < config->nr_rename_files; i++)
		if (canon_read_renames(&config->canon, config->rename_files[i], err) < 0)
			return EXIT_FAILED;
	if (read_all(config, join, &incomplete, err) < 0 ||
	    scale_init(&scale, join, config->verdict.mode, err) < 0)
		return EXIT_FAILED;
	if (!join->nr_stacks)
		msg_warn("both sides are empty");
	if (config->wants_report || config->limits.nr)
		verdict_find(&verdict, join, config->verdict);
	if (config->limits.nr && verdict.test == VERDICT_UNTESTED)
		err_set(err, "cannot check: the weights are no counts of samples; give "
		             "--period=WEIGHT of one sample, or two runs a side");
	else if (write_result(config, join, &scale, &verdict, err) == 0)
		status = check_limits(config, &verdict);
	verdict_release(&verdict);
	return status == EXIT_COMPLETE && incomplete ? EXIT_INCOMPLETE : status;
}

int main(int argc, char **argv)
{
	struct config config = {
	        .canon.rules = CANON_ALL,
	        .verdict.fdr = 0.05,
	        .top = 20,
	};
	struct opts opts = {
	        .usage = "[OPTION]... BEFORE AFTER\n"
	                 "[OPTION]... --before FILE... --after FILE...",
	        .about = "Compares folded stacks of two sides: writes them with two counts a line "
	                 "for "
	                 "render,\nor a report of what changed.",
	        .table = table,
	        .nr = ARRAY_SIZE(table),
	        .argc = argc,
	        .argv = argv,
	};
	struct join join = {0};
	struct err err = {0};
	int status;

	msg_init("diff");
	guard_init();
	status = parse(&config, &opts, &err);
	if (status) {
		if (status < 0)
			msg_error("%s", err.text);
		status = status < 0 ? EXIT_MISUSE : EXIT_COMPLETE;
	} else {
		join_init(&join, &config.canon, config.nr_operands);
		status = run(&config, &join, &err);
		if (status == EXIT_FAILED)
			msg_fail(&err);
	}
	join_release(&join);
	canon_release(&config.canon);
	limits_release(&config.limits);
	free(config.operands);
	free(config.rename_files);
	return status;
}
