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
	map->is_sorted = false;
	return true;
}

static int compare_entries(const void *a, const void *b)
{
	const struct addrmap_entry *x = a, *y = b;

	return x->start != y->start ? (x->start < y->start ? -1 : 1) :
	       x->end != y->end     ? (x->end < y->end ? -1 : 1) :
	                              0;
}

/* The entry that starts last at or before the address; maps of one process do not overlap. */
static const struct addrmap_entry *find(struct addrmap *map, uint64_t address)
{
	size_t low = 0, high = map->nr;

	if (!map->is_sorted && map->nr)
		qsort(map->at, map->nr, sizeof(*map->at), compare_entries);
	map->is_sorted = true;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (map->at[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < map->at[low - 1].end ? &map->at[low - 1] : NULL;
}

size_t addrmap_name(struct addrmap *map, uint64_t address, char *text, size_t size)
{
	const struct addrmap_entry *entry = find(map, address);
	const char *slash, *base;

	if (!entry)
		return (size_t)snprintf(text, size, "0x%llx", (unsigned long long)address);
	slash = memrchr(entry->file.at, '/', entry->file.size);
	base = slash ? slash + 1 : entry->file.at;
	return (size_t)snprintf(text, size, "%.*s+0x%llx",
	                        (int)MIN_OF(entry->file.at + entry->file.size - base, 255), base,
	                        (unsigned long long)(address - entry->start + entry->offset));
}
