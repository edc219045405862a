/* fuzz_collapseopts.c - the command line of collapse, a word a line. */
#include "collapse/options.c"

#include "tests/fuzz/words.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct options options;
	struct words words;
	struct err err;
	int status;

	/* what a regular expression costs is the caller's own choice */
	if (size > 512)
		return 0;
	words_init(&words, bytes, size, "collapse");
	options_parse(&options, words.argc, words.argv, &status, &err);
	options_release(&options);
	words_release(&words);
	return 0;
}
