#include "share/compat.h"
#include "collapse/formats/textin.h"

#include "share/num.h"

static uint64_t number_after(struct slice line, const char *word)
{
	const char *at = memmem(line.at, line.size, word, strlen(word));
	const char *end = line.at + line.size, *from;
	uint64_t value;

	if (!at)
		return 0;
	for (from = at += strlen(word); at < end && *at >= '0' && *at <= '9';)
		at++;
	return num_parse_u64(from, (size_t)(at - from), &value) == 0 ? value : 0;
}

bool textin_message(struct slice line, uint64_t *nr_lost)
{
	static const char *const messages[] = {
	        "instruction trace error",
	        "Was the 'perf record' command",
	        "[ perf record:",
	        "Warning:",
	        "WARNING:",
	        "Check IO/CPU overload",
	        "Processed ",
	        "Invalid ",
	        "Can't ",
	        "Cannot ",
	        "Failed to ",
	        "failed to ",
	        "addr2line:",
	        "BFD:",
	        "cmd__addr2line",
	        "maps__",
	        "Samples for '",
	        "unexpected end of event stream",
	        "Lost ",
	        "--",
	        "|", /* -F srccode: "|10       for (;;)" */
	};

	if (memmem(line.at, line.size, "PERF_RECORD_", 12)) {
		*nr_lost += number_after(line, "PERF_RECORD_LOST lost ") +
		            number_after(line, "PERF_RECORD_LOST_SAMPLES lost ");
		return true;
	}
	while (line.size && (*line.at == ' ' || *line.at == '\t')) {
		line.at++;
		line.size--;
	}
	for (size_t i = 0; i < ARRAY_SIZE(messages); i++) {
		if (!slice_starts(line, messages[i]))
			continue;
		*nr_lost += number_after(line, "and lost ");
		return true;
	}
	return false;
}
