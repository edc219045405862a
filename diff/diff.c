/*
 * diff.c - compares two sides of folded stacks: options and lifecycle.
 */
#include "share/compat.h"

#include "diff/canon.h"
#include "diff/columns.h"
#include "diff/join.h"
#include "diff/scale.h"
#include "share/msg.h"
#include "share/opts.h"

enum option {
	OPTION_BEFORE = 1,
	OPTION_AFTER,
	OPTION_NORMALIZE,
	OPTION_TOTAL,
	OPTION_STRIP_HEX,
	OPTION_CANON,
	OPTION_RENAME_FILE,
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
	enum scale_mode scale;
	struct canon canon;
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

static int parse_normalize(const char *word, enum scale_mode *mode, struct err *err)
{
	static const char *const words[] = {"total", "time", "none"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(word, words[i]) == 0) {
			*mode = (enum scale_mode)i;
			return 0;
		}
	return err_set(err, "--normalize takes total, time or none, not '%s'", word);
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
	const char *arg;
	int rc = 0, id;

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
			rc = parse_normalize(arg, &config->scale, err);
			break;
		case OPTION_TOTAL:
			config->scale = SCALE_TOTAL;
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
			rc = canon_read_renames(&config->canon, arg, err);
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
		}
	}
	return rc < 0 ? -1 : check_operands(config, err);
}

/* Reads every input; *incomplete where lines had to be skipped. */
static int read_all(const struct config *config, struct join *join, bool *incomplete,
                    struct err *err)
{
	for (size_t i = 0; i < config->nr_operands; i++) {
		const struct operand *operand = &config->operands[i];
		struct input *in = input_open(operand->path, 0, err);
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

static int run(const struct config *config, struct join *join, struct err *err)
{
	struct output out;
	struct scale scale;
	bool incomplete = false;

	if (read_all(config, join, &incomplete, err) < 0 ||
	    scale_init(&scale, join, config->scale, err) < 0 ||
	    output_open(&out, config->output, err) < 0)
		return EXIT_FAILED;
	if (!join->nr_stacks)
		msg_warn("both sides are empty");
	columns_write(join, &scale, !config->no_header, &out);
	if (output_close(&out, err) < 0)
		return EXIT_FAILED;
	return incomplete ? EXIT_INCOMPLETE : EXIT_COMPLETE;
}

int main(int argc, char **argv)
{
	struct config config = {.canon.rules = CANON_ALL};
	struct opts opts = {
	        .usage = "[OPTION]... BEFORE AFTER\n"
	                 "       [OPTION]... --before FILE... --after FILE...",
	        .about = "Compares folded stacks of two sides and writes them with two counts a "
	                 "line for render.",
	        .table = table,
	        .nr = ARRAY_SIZE(table),
	        .argc = argc,
	        .argv = argv,
	};
	struct join join = {0};
	struct err err = {0};
	int status;

	msg_init("diff");
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
	free(config.operands);
	return status;
}
