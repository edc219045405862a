#include "share/compat.h"
#include "collapse/formats/callers.h"

#include "share/mem.h"

void callers_release(struct callers *callers)
{
	free(callers->names);
	*callers = (struct callers){0};
}

static void add_name(struct callers *callers, uint32_t name)
{
	if (callers->nr == CALLERS_MAX) {
		callers->nr_dropped++;
		return;
	}
	MEM_GROW(callers->names, callers->nr, callers->capacity);
	callers->names[callers->nr++] = name;
}

void callers_add(struct callers *callers, struct folder *folder, struct slice name)
{
	add_name(callers, folder_name(folder, name.at, name.size));
}

void callers_add_outermost(struct callers *callers, const struct callers *other, uint64_t nr)
{
	for (size_t i = other->nr - MIN_OF(nr, other->nr); i < other->nr; i++)
		add_name(callers, other->names[i]);
}

uint32_t callers_node(const struct callers *callers, struct folder *folder, uint32_t root)
{
	return folder_path(folder, root, callers->names, callers->nr);
}

bool slice_ends(struct slice s, const char *suffix)
{
	size_t size = strlen(suffix);

	return s.size >= size && memcmp(s.at + s.size - size, suffix, size) == 0;
}

bool slice_is_digits(struct slice s)
{
	for (size_t i = 0; i < s.size; i++)
		if (s.at[i] < '0' || s.at[i] > '9')
			return false;
	return s.size > 0;
}

struct slice slice_next_field(struct slice *rest, char separator)
{
	const char *end = rest->size ? memchr(rest->at, separator, rest->size) : NULL;
	struct slice field = {rest->at, end ? (size_t)(end - rest->at) : rest->size};

	*rest = slice_from(*rest, field.size + 1);
	return field;
}

bool slice_next_line(struct slice *rest, struct slice *line)
{
	if (!rest->size)
		return false;
	*line = slice_next_field(rest, '\n');
	return true;
}

struct slice slice_cut_offset(struct slice name)
{
	for (size_t at = name.size; at-- > 1;) {
		char c = name.at[at];

		if (c == '+' && at + 1 < name.size)
			return (struct slice){name.at, at};
		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f') && c != 'x' && c != '/')
			break;
	}
	return name;
}

struct slice slice_valgrind_frame(struct slice s, bool with_place)
{
	size_t colon = slice_find(s, ": ");
	const char *bracket;

	if (slice_starts(s, "0x") && colon < s.size)
		s = slice_from(s, colon + 2);
	if (with_place || !slice_ends(s, ")"))
		return s;
	bracket = memrchr(s.at, '(', s.size);
	if (bracket && bracket > s.at + 1 && bracket[-1] == ' ')
		s.size = (size_t)(bracket - 1 - s.at);
	return s;
}
