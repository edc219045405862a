#include "share/compat.h"
#include "collapse/names/dwo.h"

#include "collapse/names/debugfile.h"
#include "share/mem.h"

#include <dwarf.h>

void dwo_release(struct dwo_files *files)
{
	for (size_t i = 0; i < files->nr_dwarfs; i++)
		dwarf_free(files->dwarfs[i]);
	for (size_t i = 0; i < files->nr_files; i++)
		elffile_close(files->files[i]);
	elffile_close(files->package);
	free(files->dwarfs);
	free(files->files);
	*files = (struct dwo_files){0};
}

/* The sections of a split file; all of a package's, until they are cut. */
static struct dwarf split_sections(struct elffile *file, const struct dwarf *main)
{
	return (struct dwarf){
	        .file = file,
	        .is_split = true,
	        .alt = main->alt,
	        .info = elffile_section_data(file, ".debug_info.dwo"),
	        .abbrev = elffile_section_data(file, ".debug_abbrev.dwo"),
	        .str = dwarf_lazy_of(file, ".debug_str.dwo"),
	        .line.data = elffile_section_data(file, ".debug_line.dwo"),
	        .rnglists = elffile_section_data(file, ".debug_rnglists.dwo"),
	        .str_offsets = elffile_section_data(file, ".debug_str_offsets.dwo"),
	        .line_str = main->line_str,
	};
}

static struct slice *section_of_column(struct dwarf *sections, uint32_t column, uint32_t version)
{
	/* numbers 1 to 4 and 6 are the same in both; rnglists is 8 in version 5 */
	switch (column) {
	case 1:
		return &sections->info;
	case 3:
		return &sections->abbrev;
	case 4:
		return &sections->line.data;
	case 6:
		return &sections->str_offsets;
	case 8:
		return version == 5 ? &sections->rnglists : NULL;
	}
	return NULL;
}

/* Cuts the sections of a package down to one unit's parts; false where it is not there. */
static bool cut_to_unit(struct dwarf *sections, struct slice index, uint64_t id)
{
	struct cursor c = cursor_of((const uint8_t *)index.at, index.size);
	uint32_t version = (uint32_t)cursor_uint(&c, 4);
	uint64_t nr_columns = cursor_uint(&c, 4), nr_units = cursor_uint(&c, 4);
	uint64_t nr_slots = cursor_uint(&c, 4), row = 0, at;
	const uint8_t *ids, *rows, *columns, *offs, *sizes;

	/* version 5 is a half-word, and half a word of padding */
	if ((version & 0xffff) != 5 && version != 2)
		return false;
	version &= 0xffff;
	if (c.bad || !nr_slots || (nr_slots & (nr_slots - 1)) || nr_columns > 16 ||
	    nr_slots > cursor_left(&c) / 12 || nr_units > cursor_left(&c) / 4)
		return false;
	ids = c.at;
	cursor_skip(&c, nr_slots * 8);
	rows = c.at;
	cursor_skip(&c, nr_slots * 4);
	columns = c.at;
	cursor_skip(&c, nr_columns * 4);
	offs = c.at;
	cursor_skip(&c, nr_columns * nr_units * 4);
	sizes = c.at;
	cursor_skip(&c, nr_columns * nr_units * 4);
	if (c.bad)
		return false;
	at = id & (nr_slots - 1);
	for (uint64_t tries = 0; tries < nr_slots; tries++) {
		uint64_t has;
		uint32_t number;

		memcpy(&has, ids + at * 8, 8);
		memcpy(&number, rows + at * 4, 4);
		if (!number)
			return false;
		if (has == id) {
			row = number;
			break;
		}
		at = (at + (((id >> 32) & (nr_slots - 1)) | 1)) & (nr_slots - 1);
	}
	if (!row || row > nr_units)
		return false;
	for (uint64_t i = 0; i < nr_columns; i++) {
		uint32_t column, off, size;
		struct slice *section;

		memcpy(&column, columns + i * 4, 4);
		memcpy(&off, offs + ((row - 1) * nr_columns + i) * 4, 4);
		memcpy(&size, sizes + ((row - 1) * nr_columns + i) * 4, 4);
		section = section_of_column(sections, column, version);
		if (!section)
			continue;
		if (off > section->size || size > section->size - off)
			return false;
		section->at += off;
		section->size = size;
	}
	return true;
}

/* The unit among the sections whose id is the skeleton's, made ready. */
static struct dwarf_unit *take_unit(struct dwo_files *files, const struct dwarf *sections,
                                    struct dwarf_unit *skeleton)
{
	struct dwarf *dwarf = dwarf_of_sections(sections);

	if (!dwarf)
		return NULL;
	MEM_GROW(files->dwarfs, files->nr_dwarfs, files->dwarfs_capacity);
	files->dwarfs[files->nr_dwarfs++] = dwarf;
	for (size_t i = 0; i < dwarf->nr_units; i++) {
		struct dwarf_unit *unit = &dwarf->units[i];

		if (!dwarf_unit_ready(unit) || unit->dwo_id != skeleton->dwo_id)
			continue;
		unit->skeleton = skeleton;
		if (unit->version < 5)
			unit->str_offsets_base = 0;
		return unit;
	}
	return NULL;
}

static struct dwarf_unit *from_package(struct dwo_files *files, struct dwarf_unit *skeleton,
                                       const struct elffile *program)
{
	struct dwarf sections;
	struct slice index;

	if (!files->package_tried) {
		files->package_tried = true;
		files->package = debugfile_open(program, mem_printf("%s.dwp", program->path));
	}
	if (!files->package)
		return NULL;
	index = elffile_section_data(files->package, ".debug_cu_index");
	sections = split_sections(files->package, skeleton->dwarf);
	if (!cut_to_unit(&sections, index, skeleton->dwo_id))
		return NULL;
	return take_unit(files, &sections, skeleton);
}

/* Opens a path, which it frees. */
static struct dwarf_unit *from_file(struct dwo_files *files, struct dwarf_unit *skeleton,
                                    const struct elffile *program, char *path_take)
{
	struct elffile *file = debugfile_open(program, path_take);
	struct dwarf sections;

	if (!file)
		return NULL;
	MEM_GROW(files->files, files->nr_files, files->files_capacity);
	files->files[files->nr_files++] = file;
	sections = split_sections(file, skeleton->dwarf);
	return take_unit(files, &sections, skeleton);
}

struct dwarf_unit *dwo_unit(struct dwo_files *files, struct dwarf_unit *skeleton,
                            const struct elffile *program)
{
	const char *name = dwarf_text(skeleton, &skeleton->dwo_name);
	const char *folder = dwarf_text(skeleton, &skeleton->comp_dir), *base;
	struct dwarf_unit *unit;
	char *here;

	if (!name || !name[0])
		return NULL;
	unit = from_package(files, skeleton, program);
	if (!unit && name[0] == '/')
		unit = from_file(files, skeleton, program, mem_strdup(name));
	else if (!unit && folder)
		unit = from_file(files, skeleton, program, mem_printf("%s/%s", folder, name));
	if (!unit) {
		base = strrchr(name, '/');
		here = debugfile_folder(program->path);
		unit = from_file(files, skeleton, program,
		                 mem_printf("%s/%s", here, base ? base + 1 : name));
		free(here);
	}
	return unit;
}
