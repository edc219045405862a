/* fuzz_jitdump.c - jitdump files, over any bytes. */
#include "share/compat.h"

#include "collapse/names/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jitdump *jitdump = jitdump_parse(data, size);

	if (!jitdump)
		return 0;
	for (size_t i = 0; i < jitdump->nr && i < 100; i++) {
		const struct jitdump_code *code = &jitdump->at[i];
		const char *file;
		uint32_t line;
		uint64_t start = code->start, time = code->time;
		const struct jitdump_code *found = jitdump_find(jitdump, start, time);

		if (!found || found->start > start || found->end <= start ||
		    strlen(found->name) > size)
			abort();
		line = jitdump_line(jitdump, found, start, &file);
		if (line && strlen(file) > size)
			abort();
		jitdump_rule(jitdump, start + i, time);
	}
	jitdump_free(jitdump);
	return 0;
}
