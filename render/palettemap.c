#include "share/compat.h"
#include "render/palettemap.h"

#include "render/palette.h"
#include "share/num.h"
#include "share/output.h"

static bool parse_rgb(struct slice text, uint32_t *colour)
{
	uint32_t sum = 0;

	if (palette_parse_hex(text.at, text.size, colour))
		return true;
	if (!slice_starts(text, "rgb(") || !text.size || text.at[text.size - 1] != ')')
		return false;
	text = (struct slice){text.at + 4, text.size - 4};
	for (int i = 0; i < 3; i++) {
		const char *end = memchr(text.at, i < 2 ? ',' : ')', text.size);
		uint64_t value;

		if (!end || num_parse_u64(text.at, (size_t)(end - text.at), &value) || value > 255)
			return false;
		sum = sum << 8 | (uint32_t)value;
		text.size -= (size_t)(end + 1 - text.at);
		text.at = end + 1;
	}
	*colour = sum;
	return text.size == 0;
}

static void set(struct palette_map *map, struct slice name, uint32_t colour)
{
	uint32_t id = strtab_id(&map->names, name.at, name.size);

	while (map->capacity <= id) {
		size_t nr = map->capacity;

		MEM_GROW(map->colours, nr, map->capacity);
	}
	map->colours[id] = colour;
}

int palette_map_read(struct palette_map *map, struct slice text, const char *file, struct err *err)
{
	size_t line_number = 0;

	buf_reset(&map->text);
	buf_add(&map->text, text.at, text.size);
	while (text.size) {
		const char *newline = memchr(text.at, '\n', text.size);
		struct slice line = {text.at,
		                     (size_t)((newline ? newline : text.at + text.size) - text.at)};
		const char *arrow;
		uint32_t colour;

		text.at += line.size + (newline != NULL);
		text.size -= line.size + (newline != NULL);
		line_number++;
		if (line.size && line.at[line.size - 1] == '\r')
			line.size--;
		arrow = memmem(line.at, line.size, "->", 2);
		/* names hold arrows too, as in "operator->": the last one counts */
		for (const char *later = arrow; later;) {
			arrow = later;
			later = memmem(arrow + 2, line.size - (size_t)(arrow + 2 - line.at), "->",
			               2);
		}
		if (!line.size || (!arrow && line.at[0] == '#'))
			continue;
		if (!arrow ||
		    !parse_rgb((struct slice){arrow + 2, line.size - (size_t)(arrow + 2 - line.at)},
		               &colour))
			return err_set(err,
			               "'%s' line %zu is not NAME->rgb(R,G,B) or NAME->#RRGGBB",
			               file, line_number);
		set(map, (struct slice){line.at, (size_t)(arrow - line.at)}, colour);
	}
	map->nr_read = map->names.nr;
	return 0;
}

/* By the whole name, or else by the name without its mark, where that is below `end`. */
static uint32_t find(const struct palette_map *map, struct slice name, uint32_t end)
{
	char mark;
	struct slice plain = palette_unmark(name, &mark);
	uint32_t id = strtab_find(&map->names, name.at, name.size);

	if (id != UINT32_MAX || !mark)
		return id;
	id = strtab_find(&map->names, plain.at, plain.size);
	return id < end ? id : UINT32_MAX;
}

bool palette_map_find(const struct palette_map *map, struct slice name, uint32_t *colour)
{
	uint32_t id = find(map, name, map->names.nr);

	if (id == UINT32_MAX)
		return false;
	*colour = map->colours[id];
	return true;
}

void palette_map_add(struct palette_map *map, struct slice name, uint32_t colour)
{
	if (find(map, name, map->nr_read) == UINT32_MAX)
		set(map, name, colour);
}

int palette_map_write(struct palette_map *map, const char *path, struct err *err)
{
	uint32_t nr = map->names.nr - map->nr_read;
	uint32_t *added = mem_resize(NULL, nr, sizeof(*added));
	char *target = realpath(path, NULL); /* of a link, not the link */
	struct output out;
	int rc = output_open(&out, target ? target : path, err);

	free(target);
	if (rc == 0) {
		output_add(&out, map->text.at, map->text.size);
		if (map->text.size && map->text.at[map->text.size - 1] != '\n')
			output_string(&out, "\n");
		for (uint32_t i = 0; i < nr; i++)
			added[i] = map->nr_read + i;
		qsort_r(added, nr, sizeof(*added), strtab_by_text, &map->names);
		for (uint32_t i = 0; i < nr; i++) {
			struct slice name = strtab_slice(&map->names, added[i]);
			uint32_t colour = map->colours[added[i]];

			output_add(&out, name.at, name.size);
			output_printf(&out, "->rgb(%u,%u,%u)\n", colour >> 16, colour >> 8 & 255,
			              colour & 255);
		}
		rc = output_close(&out, err);
	}
	free(added);
	return rc;
}

void palette_map_release(struct palette_map *map)
{
	strtab_release(&map->names);
	free(map->colours);
	buf_release(&map->text);
	*map = (struct palette_map){0};
}
