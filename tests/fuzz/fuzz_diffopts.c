/* fuzz_diffopts.c - the command line of diff with its limits and rules, a word a line. */
int diff_main(int argc, char **argv);
#define main diff_main
#include "diff/diff.c"
#undef main

#include "tests/fuzz/words.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct opts opts = {.usage = "", .about = "", .table = table, .nr = ARRAY_SIZE(table)};
	struct config config = {.canon.rules = CANON_ALL};
	struct words words;
	struct err err;

	if (size > 512)
		return 0;
	words_init(&words, bytes, size, "diff");
	opts.argc = words.argc;
	opts.argv = words.argv;
	parse(&config, &opts, &err);
	canon_release(&config.canon);
	limits_release(&config.limits);
	free(config.operands);
	free(config.rename_files);
	words_release(&words);
	return 0;
}
