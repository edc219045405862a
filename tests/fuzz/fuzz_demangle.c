/* fuzz_demangle.c - linkers' names, over any bytes. */
#include "share/compat.h"

#include "collapse/names/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice name = {(const char *)data, strnlen((const char *)data, size)};
	struct buf text = {0};

	for (int how = DEMANGLE_FULL; how <= DEMANGLE_NONE; how++) {
		demangle(name, (enum symbolize_demangle)how, &text);
		if (text.size > MAX_OF(name.size, (size_t)DEMANGLE_MAX_OUT + 64) + 64)
			abort();
	}
	demangle_shorten(name, &text);
	if (text.size > name.size)
		abort();
	buf_release(&text);
	return 0;
}
