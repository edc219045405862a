/* fuzz_namefiles.c - palette maps and name attributes, over any bytes. */
#include "share/compat.h"

#include "render/nameattr.h"
#include "render/palettemap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice text = {(const char *)data, size};
	struct nameattr attributes = {0};
	struct palette_map map = {0};
	struct err err;

	palette_map_read(&map, text, "file", &err);
	for (uint32_t i = 0; i < map.names.nr; i++)
		if (map.colours[i] > 0xffffff)
			abort();
	nameattr_read(&attributes, text, "file", &err);
	for (uint32_t i = 0; i < attributes.names.nr; i++) {
		const char *link = attributes.entries[i].href;

		if (link && strncasecmp(link, "javascript:", 11) == 0)
			abort();
	}
	palette_map_release(&map);
	nameattr_release(&attributes);
	return 0;
}
