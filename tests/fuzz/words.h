/*
 * words.h - a command line made of any bytes: a word a line.
 *
 * The programs' own sources are included by the targets, since the tables of
 * options and what is made of them are their own matter.
 */
#ifndef TESTS_FUZZ_WORDS_H
#define TESTS_FUZZ_WORDS_H

#include "share/compat.h"
#include "share/mem.h"
#include "share/msg.h"

#define MAX_WORDS 32

struct words {
	int argc;
	char *argv[MAX_WORDS + 2];
	char *text;
};

/* What tools answer on stdout goes nowhere: replay has its own lines there. */
static void words_init(struct words *words, const uint8_t *bytes, size_t size, const char *program)
{
	static bool is_begun;
	char *state = NULL;

	if (!is_begun && !freopen("/dev/null", "w", stdout))
		abort();
	is_begun = true;
	msg_init(program);
	*words = (struct words){.argc = 1, .text = mem_strndup((const char *)bytes, size)};
	words->argv[0] = mem_strdup(program);
	for (char *word = strtok_r(words->text, "\n", &state); word && words->argc <= MAX_WORDS;
	     word = strtok_r(NULL, "\n", &state))
		words->argv[words->argc++] = word;
}

static void words_release(struct words *words)
{
	free(words->argv[0]);
	free(words->text);
}

#endif
