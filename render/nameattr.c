#include "share/compat.h"
#include "render/nameattr.h"

#include "share/mem.h"

#include <strings.h>

/* A scheme we know, or none: what comes before ":" has a "/", "?" or "#". */
static bool is_safe_link(const char *link)
{
	static const char *const schemes[] = {"http:", "https:", "mailto:"};
	size_t scheme = strcspn(link, ":/?#");

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (strncasecmp(link, schemes[i], strlen(schemes[i])) == 0)
			return true;
	for (const char *p = link; *p; p++)
		if ((unsigned char)*p <= 0x20)
			return false;
	return link[scheme] != ':';
}

static void take(struct nameattr *attributes, struct nameattr_entry *entry, struct slice pair)
{
	const char *equals = memchr(pair.at, '=', pair.size);
	struct slice key, value;
	char *text;

	if (!equals) {
		attributes->nr_skipped++;
		return;
	}
	key = (struct slice){pair.at, (size_t)(equals - pair.at)};
	value = (struct slice){equals + 1, pair.size - key.size - 1};
	if (value.size >= 2 && value.at[0] == '"' && value.at[value.size - 1] == '"')
		value = (struct slice){value.at + 1, value.size - 2};
	text = mem_strndup(value.at, value.size);
	if (slice_equals(key, "href") && is_safe_link(text)) {
		free(entry->href);
		entry->href = text;
	} else if (slice_equals(key, "title")) {
		free(entry->title);
		entry->title = text;
	} else {
		attributes->nr_skipped++;
		free(text);
	}
}

static struct nameattr_entry *entry_of(struct nameattr *attributes, const char *name, size_t size)
{
	uint32_t id = strtab_id(&attributes->names, name, size);

	while (attributes->capacity <= id) {
		size_t old = attributes->capacity, nr = old;

		MEM_GROW(attributes->entries, nr, attributes->capacity);
		memset(attributes->entries + old, 0,
		       (attributes->capacity - old) * sizeof(*attributes->entries));
	}
	return &attributes->entries[id];
}

int nameattr_read(struct nameattr *attributes, struct slice text, const char *file, struct err *err)
{
	for (size_t line_number = 1; text.size; line_number++) {
		const char *newline = memchr(text.at, '\n', text.size);
		const char *end = newline ? newline : text.at + text.size, *line = text.at, *tab;
		struct nameattr_entry *entry;

		text.size -= (size_t)(end - text.at) + (newline != NULL);
		text.at = end + (newline != NULL);
		if (end > line && end[-1] == '\r')
			end--;
		if (end == line)
			continue;
		tab = memchr(line, '\t', (size_t)(end - line));
		if (!tab)
			return err_set(err, "'%s' line %zu has no tab between name and attributes",
			               file, line_number);
		entry = entry_of(attributes, line, (size_t)(tab - line));
		while (tab && tab < end) {
			const char *pair = tab + 1;

			tab = memchr(pair, '\t', (size_t)(end - pair));
			take(attributes, entry,
			     (struct slice){pair, (size_t)((tab ? tab : end) - pair)});
		}
	}
	return 0;
}

void nameattr_release(struct nameattr *attributes)
{
	for (uint32_t i = 0; i < attributes->names.nr; i++) {
		free(attributes->entries[i].href);
		free(attributes->entries[i].title);
	}
	strtab_release(&attributes->names);
	free(attributes->entries);
	*attributes = (struct nameattr){0};
}

const struct nameattr_entry *nameattr_find(const struct nameattr *attributes, struct slice name)
{
	uint32_t id = strtab_find(&attributes->names, name.at, name.size);

	return id == UINT32_MAX ? NULL : &attributes->entries[id];
}
