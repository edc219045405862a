/* test_opts.c - the option table. */
#include "share/compat.h"

#include "share/opts.h"

#include <criterion/criterion.h>

enum { OPT_ALL = 1, OPT_FREQ, OPT_COLOR };

static const struct opt table[] = {
        {OPT_ALL, 'a', "all", NULL, "all"},
        {OPT_FREQ, 'F', "freq", "HZ", "frequency"},
        {OPT_COLOR, 0, "color", "[WHEN]", "colour"},
};

/* Runs the words through the table and writes what came out as text. */
static void run(char *out, size_t size, bool stop_at_operand, char **words, int nr)
{
	struct opts opts = {.table = table,
	                    .nr = ARRAY_SIZE(table),
	                    .argc = nr,
	                    .argv = words,
	                    .stop_at_operand = stop_at_operand};
	struct err err = {0};
	const char *arg;
	size_t used = 0;
	int id;

	out[0] = '\0';
	while ((id = opts_next(&opts, &arg, &err)) != OPTS_END) {
		used += (size_t)snprintf(out + used, size - used, "%d%s%s ", id, arg ? "=" : "",
		                         id == OPTS_ERROR ? err.text :
		                         arg              ? arg :
		                                            "");
		if (id == OPTS_ERROR || used >= size)
			return;
	}
}

#define WORDS(...)                                                                                 \
	(char *[]){"tool", __VA_ARGS__}, sizeof((char *[]){"tool", __VA_ARGS__}) / sizeof(char *)

Test(opts, rows)
{
	char out[2048];

	run(out, sizeof(out), false, WORDS("-a", "-F", "99", "x"));
	cr_expect_str_eq(out, "1 2=99 -1=x ");
	run(out, sizeof(out), false, WORDS("-aF99", "--all", "--freq=5", "--freq", "6"));
	cr_expect_str_eq(out, "1 2=99 1 2=5 2=6 ");
	run(out, sizeof(out), false, WORDS("--color", "--color=never"));
	cr_expect_str_eq(out, "3 3=never ");
	run(out, sizeof(out), false, WORDS("x", "-a", "--", "-a"));
	cr_expect_str_eq(out, "-1=x 1 -1=-a ");
	run(out, sizeof(out), false, WORDS("-"));
	cr_expect_str_eq(out, "-1=- ");
	run(out, sizeof(out), true, WORDS("-a", "cmd", "-a", "-F"));
	cr_expect_str_eq(out, "1 -1=cmd -1=-a -1=-F ");
	run(out, sizeof(out), false, WORDS("--"));
	cr_expect_str_eq(out, "");
}

Test(opts, errors_name_the_thing)
{
	char out[2048];

	run(out, sizeof(out), false, WORDS("--frq=9"));
	cr_expect(strstr(out, "unknown option '--frq'; did you mean '--freq'?"), "%s", out);
	run(out, sizeof(out), false, WORDS("--zzzzzz"));
	cr_expect(strstr(out, "--help"), "%s", out);
	run(out, sizeof(out), false, WORDS("-F"));
	cr_expect(strstr(out, "option '-F' needs an argument (HZ)"), "%s", out);
	run(out, sizeof(out), false, WORDS("--all=3"));
	cr_expect(strstr(out, "takes no argument"), "%s", out);
	run(out, sizeof(out), false, WORDS("-z"));
	cr_expect(strstr(out, "unknown option '-z'"), "%s", out);
}
