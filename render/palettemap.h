/*
 * palettemap.h - explicit colours of names, kept in a file from one picture to
 * the next.
 *
 * The file is that of flamegraph.pl's --cp: lines "NAME->rgb(R,G,B)"; here
 * "NAME->#RRGGBB" too. Blank lines and lines that begin with "#" and hold no
 * "->" are passed over, and kept. A name with its mark ("read_[k]") goes
 * before the same name without.
 */
#ifndef RENDER_PALETTEMAP_H
#define RENDER_PALETTEMAP_H

#include "share/buf.h"
#include "share/compat.h"
#include "share/err.h"
#include "share/strtab.h"

/* A zeroed struct palette_map is an empty map. */
struct palette_map {
	struct strtab names;
	uint32_t nr_read;  /* names that were in the file; the others are new */
	uint32_t *colours; /* 0xRRGGBB, by name id */
	size_t capacity;
	struct buf text; /* of the file */
};

/* Once, before anything is added. Fails on a line of another kind, naming it and the file. */
int palette_map_read(struct palette_map *map, struct slice text, const char *file, struct err *err);
void palette_map_release(struct palette_map *map);

bool palette_map_find(const struct palette_map *map, struct slice name, uint32_t *colour);

/* Nothing happens where the name is there, or was read without its mark. */
void palette_map_add(struct palette_map *map, struct slice name, uint32_t colour);

static inline bool palette_map_has_new(const struct palette_map *map)
{
	return map->names.nr > map->nr_read;
}

/*
 * Writes what was read as it stands, then the new names in the order of their
 * bytes. The file at path appears when it is complete.
 */
int palette_map_write(struct palette_map *map, const char *path, struct err *err);

#endif
