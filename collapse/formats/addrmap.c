#include "share/compat.h"
#include "collapse/formats/addrmap.h"

#include "share/mem.h"
#include "share/num.h"

void addrmap_release(struct addrmap *map)
{
	free(map->at);
	*map = (struct addrmap){0};
}

bool slice_word(struct slice *rest, struct slice *word)
{
	while (rest->size && *rest->at == ' ') {
		rest->at++;
		rest->size--;
	}
	*word = (struct slice){rest->at, 0};
	while (rest->size && *rest->at != ' ') {
		rest->at++;
		rest->size--;
		word->size++;
	}
	return word->size > 0;
}

bool addrmap_take(struct addrmap *map, struct slice line)
{
	struct slice range, perms, offset, skip, file = {0};
	struct addrmap_entry entry = {0};
	const char *dash;
	bool is_short;

	if (!slice_word(&line, &range))
		return false;
	is_short = range.at[range.size - 1] == ':';
	range.size -= is_short;
	dash = memchr(range.at, '-', range.size);
	if (!dash || num_parse_hex(range.at, (size_t)(dash - range.at), &entry.start) ||
	    num_parse_hex(dash + 1, (size_t)(range.at + range.size - dash - 1), &entry.end))
		return false;
	if (!is_short && (!slice_word(&line, &perms) || !slice_word(&line, &offset) ||
	                  num_parse_hex(offset.at, offset.size, &entry.offset) ||
	                  !slice_word(&line, &skip) || !slice_word(&line, &skip)))
		return false;
	if (!slice_word(&line, &file))
		return false;
	entry.file = file;
	MEM_GROW(map->at, map->nr, map->capacity);
	map->at[map->nr++] = entry;
	return true;
}

size_t addrmap_name(const struct addrmap *map, uint64_t address, char *text, size_t size)
{
	for (size_t i = 0; i < map->nr; i++) {
		const struct addrmap_entry *entry = &map->at[i];
		const char *slash, *base = entry->file.at;

		if (address < entry->start || address >= entry->end)
			continue;
		slash = memrchr(entry->file.at, '/', entry->file.size);
		base = slash ? slash + 1 : base;
		return (size_t)snprintf(
		        text, size, "%.*s+0x%llx",
		        (int)MIN_OF(entry->file.at + entry->file.size - base, 255), base,
		        (unsigned long long)(address - entry->start + entry->offset));
	}
	return (size_t)snprintf(text, size, "0x%llx", (unsigned long long)address);
}
