/* fuzz_renderopts.c - the command line of render, a word a line. */
int render_main(int argc, char **argv);
#define main render_main
#include "render/render.c"
#undef main

#include "tests/fuzz/words.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct opts opts = {.usage = "", .about = "", .table = table, .nr = ARRAY_SIZE(table)};
	struct request request = {.picture.min_width = 0.5};
	weight_fx threshold;
	struct words words;
	const char *arg;
	struct err err;
	size_t max;
	int id;

	if (size > 512)
		return 0;
	words_init(&words, bytes, size, "render");
	opts.argc = words.argc;
	opts.argv = words.argv;
	while ((id = opts_next(&opts, &arg, &err)) != OPTS_END)
		if (id == OPTS_DONE || id == OPTS_ERROR || take_option(&request, id, arg, &err) < 0)
			break;
	if (id == OPTS_END) {
		fill_defaults(&request);
		threshold_of(&request, &threshold, &max, &err);
	}
	release(&request);
	words_release(&words);
	return 0;
}
