#include "share/compat.h"
#include "share/opts.h"

#include "share/mem.h"
#include "share/msg.h"
#include "share/version.h"

static const struct opt builtin[] = {
        {-100, 'h', "help", NULL, "print this help and exit"},
        {-101, 'V', "version", NULL, "print the version and exit"},
        {-102, 0, "completion", "SHELL", NULL},
};

static void print_help(const struct opts *opts)
{
	int width = 0;
	char left[128];

	for (const char *line = opts->usage, *end; line; line = *end ? end + 1 : NULL) {
		end = strchrnul(line, '\n');
		printf("%s %s %.*s\n", line == opts->usage ? "usage:" : "      ", msg_program(),
		       (int)(end - line), line);
	}
	printf("\n%s\n\n", opts->about);
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < opts->nr + ARRAY_SIZE(builtin); i++) {
			const struct opt *opt =
			        i < opts->nr ? &opts->table[i] : &builtin[i - opts->nr];
			bool optional = opt->arg && opt->arg[0] == '[';
			int size;

			if (!opt->help)
				continue;
			size = snprintf(left, sizeof(left), "  %c%c%s%s%s%s%s",
			                opt->letter ? '-' : ' ', opt->letter ? opt->letter : ' ',
			                opt->name ? (opt->letter ? ", --" : "  --") : "",
			                opt->name ? opt->name : "",
			                opt->arg ? (!opt->name ? " " :
			                            optional   ? "[=" :
			                                         "=") :
			                           "",
			                opt->arg ? opt->arg + optional : "", "");
			if (pass == 0)
				width = MAX_OF(width, MIN_OF(size, 34));
			else if (size > width)
				printf("%s\n%*s%s\n", left, width + 2, "", opt->help);
			else
				printf("%-*s  %s\n", width, left, opt->help);
		}
	}
	printf("\nThe manual page %s(1) has the details.\n", msg_program());
}

static void print_completion(const struct opts *opts)
{
	printf("_%s() { COMPREPLY=($(compgen -f -W '", msg_program());
	for (size_t i = 0; i < opts->nr; i++)
		if (opts->table[i].help && opts->table[i].name)
			printf("--%s%s ", opts->table[i].name, opts->table[i].arg ? "=" : "");
	printf("--help --version' -- \"${COMP_WORDS[COMP_CWORD]}\")); }\n"
	       "complete -o nospace -F _%s %s\n",
	       msg_program(), msg_program());
}

const char *opts_nearest(const char *word, const char *const *names, size_t nr)
{
	size_t size = strlen(word), best = SIZE_MAX;
	const char *nearest = NULL;
	size_t *row = mem_alloc((size + 1) * sizeof(*row));

	for (size_t n = 0; n < nr; n++) {
		/* Levenshtein distance, one row of the matrix at a time */
		for (size_t i = 0; i <= size; i++)
			row[i] = i;
		for (const char *c = names[n]; *c; c++) {
			size_t diagonal = row[0]++;

			for (size_t i = 1; i <= size; i++) {
				size_t change = diagonal + (word[i - 1] != *c);

				diagonal = row[i];
				row[i] = MIN_OF(change, MIN_OF(row[i], row[i - 1]) + 1);
			}
		}
		if (row[size] < best) {
			best = row[size];
			nearest = names[n];
		}
	}
	free(row);
	/* where every byte differs it is no slip of a finger */
	return nearest && best <= 1 + size / 3 && best < strlen(nearest) ? nearest : NULL;
}

static int unknown(const struct opts *opts, const char *name, size_t size, struct err *err)
{
	const char **names = mem_alloc((opts->nr + 1) * sizeof(*names));
	char *word = mem_strndup(name, size);
	size_t nr = 0;
	const char *near;

	for (size_t i = 0; i < opts->nr; i++)
		if (opts->table[i].name)
			names[nr++] = opts->table[i].name;
	near = opts_nearest(word, names, nr);
	if (near)
		err_set(err, "unknown option '--%s'; did you mean '--%s'?", word, near);
	else
		err_set(err, "unknown option '--%s'; try '%s --help'", word, msg_program());
	free(word);
	free(names);
	return OPTS_ERROR;
}

static const struct opt *find_long(const struct opts *opts, const char *name, size_t size)
{
	for (size_t i = 0; i < opts->nr + ARRAY_SIZE(builtin); i++) {
		const struct opt *opt = i < opts->nr ? &opts->table[i] : &builtin[i - opts->nr];

		if (opt->name && strlen(opt->name) == size && !memcmp(opt->name, name, size))
			return opt;
	}
	return NULL;
}

static const struct opt *find_short(const struct opts *opts, char letter)
{
	for (size_t i = 0; i < opts->nr + ARRAY_SIZE(builtin); i++) {
		const struct opt *opt = i < opts->nr ? &opts->table[i] : &builtin[i - opts->nr];

		if (opt->letter == letter)
			return opt;
	}
	return NULL;
}

static int answer(const struct opts *opts, const struct opt *opt, const char *arg, struct err *err)
{
	switch (opt->id) {
	case -100:
		print_help(opts);
		break;
	case -101:
		printf("%s %s\n", msg_program(), FLAME_VERSION);
		break;
	case -102:
		if (strcmp(arg, "bash") != 0) {
			err_set(err, "no completion for '%s'; known is: bash", arg);
			return OPTS_ERROR;
		}
		print_completion(opts);
		break;
	default:
		return opt->id;
	}
	if (fflush(stdout) != 0) {
		err_sys(err, "cannot write to stdout");
		return OPTS_ERROR;
	}
	return OPTS_DONE;
}

static int next_long(struct opts *opts, const char *name, const char **arg, struct err *err)
{
	const char *equals = strchr(name, '=');
	size_t size = equals ? (size_t)(equals - name) : strlen(name);
	const struct opt *opt = find_long(opts, name, size);

	if (!opt)
		return unknown(opts, name, size, err);
	if (equals) {
		if (!opt->arg) {
			err_set(err, "option '--%s' takes no argument", opt->name);
			return OPTS_ERROR;
		}
		*arg = equals + 1;
	} else if (opt->arg && opt->arg[0] != '[') {
		if (opts->at >= opts->argc) {
			err_set(err, "option '--%s' needs an argument (%s)", opt->name, opt->arg);
			return OPTS_ERROR;
		}
		*arg = opts->argv[opts->at++];
	}
	return answer(opts, opt, *arg, err);
}

static int next_short(struct opts *opts, const char **arg, struct err *err)
{
	char letter = *opts->bundle++;
	const struct opt *opt = find_short(opts, letter);

	if (!opt) {
		err_set(err, "unknown option '-%c'; try '%s --help'", letter, msg_program());
		return OPTS_ERROR;
	}
	if (opt->arg && opt->arg[0] != '[') {
		if (*opts->bundle) {
			*arg = opts->bundle;
		} else if (opts->at < opts->argc) {
			*arg = opts->argv[opts->at++];
		} else {
			err_set(err, "option '-%c' needs an argument (%s)", letter, opt->arg);
			return OPTS_ERROR;
		}
		opts->bundle = NULL;
	} else if (!*opts->bundle) {
		opts->bundle = NULL;
	}
	return answer(opts, opt, *arg, err);
}

int opts_next(struct opts *opts, const char **arg, struct err *err)
{
	const char *word;

	*arg = NULL;
	if (opts->bundle)
		return next_short(opts, arg, err);
	if (opts->at == 0)
		opts->at = 1;
	if (opts->at >= opts->argc)
		return OPTS_END;
	word = opts->argv[opts->at++];
	if (!opts->only_operands && word[0] == '-' && word[1]) {
		if (word[1] != '-') {
			opts->bundle = word + 1;
			return next_short(opts, arg, err);
		}
		if (word[2])
			return next_long(opts, word + 2, arg, err);
		opts->only_operands = true;
		if (opts->at >= opts->argc)
			return OPTS_END;
		word = opts->argv[opts->at++];
	}
	*arg = word;
	if (opts->stop_at_operand)
		opts->only_operands = true;
	return OPTS_OPERAND;
}
