/*
 * fuzz_collectopts.c - the command line of collect, a word a line. Left out is
 * what looks at the machine: --check, --list, and the grammar of -e, which has
 * a target of its own.
 */
#include "collect/events.h"
#define events_parse(events, text, err) ((void)(text), 0)
#include "collect/options.c"

#include "tests/fuzz/words.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct settings settings = {.sampling.freq_hz = SAMPLING_DEFAULT_FREQ};
	struct words words;

	if (size > 512 || memmem(bytes, size, "--list", 6) || memmem(bytes, size, "--check", 7))
		return 0;
	words_init(&words, bytes, size, "collect");
	options_parse(&settings, words.argc, words.argv);
	event_list_release(&settings.events);
	target_release(&settings.target);
	words_release(&words);
	return 0;
}
