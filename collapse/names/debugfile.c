#include "share/compat.h"
#include "collapse/names/debugfile.h"

#include "collapse/names/debuginfod.h"
#include "collapse/names/unpack.h"
#include "share/mem.h"

#include <elf.h>
#include <zlib.h>

#define MINI_MAX_SIZE ((uint64_t)1 << 30)

const char *const *debugfile_dirs(const struct module_options *options)
{
	static const char *const system_dirs[] = {"/usr/lib/debug", NULL};

	return options && options->debug_dirs ? options->debug_dirs : system_dirs;
}

char *debugfile_folder(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? mem_strndup(path, (size_t)(slash - path)) : mem_strdup(".");
}

struct elffile *debugfile_open(const struct elffile *beside, char *path_take)
{
	size_t root_size = beside->root_size;
	struct elffile *file = NULL;
	struct err err = {0};
	char *root;

	if (root_size && strncmp(path_take, beside->path, root_size) == 0) {
		root = mem_strndup(path_take, root_size);
		file = elffile_open_below(root, path_take + root_size, &err);
		free(root);
	} else {
		file = elffile_open(path_take, &err);
	}
	free(path_take);
	return file;
}

/* Opens a path, which it frees, if the file there has this build-id. */
static struct elffile *open_with_id(const struct elffile *beside, char *path_take,
                                    const struct build_id *id)
{
	struct elffile *file = debugfile_open(beside, path_take);

	if (file && !build_id_equals(&file->build_id, id)) {
		elffile_close(file);
		file = NULL;
	}
	return file;
}

/* The same for a path in the program's own system, and else in this one. */
static struct elffile *open_there_or_here(const struct elffile *program, char *path_take,
                                          const struct build_id *id)
{
	struct elffile *file = NULL;

	if (program->root_size)
		file = open_with_id(
		        program,
		        mem_printf("%.*s%s", (int)program->root_size, program->path, path_take),
		        id);
	if (file)
		free(path_take);
	return file ? file : open_with_id(program, path_take, id);
}

/* Opens a path, which it frees, if the CRC-32 of the whole file is this one. */
static struct elffile *open_with_crc(char *path_take, const struct elffile *program, uint32_t crc)
{
	struct elffile *file = NULL;

	if (strcmp(path_take, program->path) != 0)
		file = debugfile_open(program, path_take);
	else
		free(path_take);
	if (!file)
		return NULL;
	/* equal ids prove as much, and need no reading of the whole file */
	if (!build_id_equals(&file->build_id, &program->build_id) &&
	    crc32_z(0, file->bytes, file->size) != crc) {
		elffile_close(file);
		return NULL;
	}
	return file;
}

/* In a folder of debug files of this machine, or of the program's own system. */
static struct elffile *debuglink_below(const char *dir, const char *folder, const char *name,
                                       const struct elffile *program, uint32_t crc)
{
	struct elffile *found = NULL;

	if (program->root_size)
		found = open_with_crc(mem_printf("%.*s%s%s/%s", (int)program->root_size,
		                                 program->path, dir, folder, name),
		                      program, crc);
	if (!found)
		found = open_with_crc(mem_printf("%s%s/%s", dir, folder, name), program, crc);
	return found;
}

/* ".gnu_debuglink": name, NUL, zeros up to a multiple of 4, CRC-32. */
static struct elffile *by_debuglink(struct elffile *file)
{
	struct slice link = elffile_section_data(file, ".gnu_debuglink");
	size_t name_size = strnlen(link.at ? link.at : "", link.size);
	size_t crc_at = (name_size + 4) & ~(size_t)3;
	const char *const *dirs = debugfile_dirs(file->options);
	const char *there;
	struct elffile *found;
	uint32_t crc;
	char *folder;

	/* a name with a slash in it would lead anywhere */
	if (!name_size || crc_at + 4 > link.size || memchr(link.at, '/', name_size))
		return NULL;
	crc = (uint32_t)elffile_uint(file, link.at + crc_at, 4);
	folder = debugfile_folder(file->path);
	found = open_with_crc(mem_printf("%s/%s", folder, link.at), file, crc);
	if (!found)
		found = open_with_crc(mem_printf("%s/.debug/%s", folder, link.at), file, crc);
	there = folder + MIN_OF(file->root_size, strlen(folder));
	for (; !found && *dirs; dirs++) {
		found = debuglink_below(*dirs, there, link.at, file, crc);
		/* /lib is /usr/lib now, and packages still say either */
		if (!found && strncmp(there, "/usr/", 5) == 0)
			found = debuglink_below(*dirs, there + 4, link.at, file, crc);
	}
	free(folder);
	return found;
}

struct elffile *debugfile_of(struct elffile *file)
{
	const struct module_options *options = file->options;
	const char *const *dirs = debugfile_dirs(options);
	char *fetched;

	if (file->debug_tried || !options)
		return file->debug;
	file->debug_tried = true;
	/* nothing to add to a file that has all itself */
	if (elffile_section(file, ".debug_info") && elffile_section(file, ".symtab"))
		return NULL;
	if (file->build_id.size) {
		for (; !file->debug && *dirs; dirs++)
			file->debug = open_there_or_here(
			        file, build_id_path(*dirs, &file->build_id, ".debug"),
			        &file->build_id);
		if (!file->debug && options->build_id_cache)
			file->debug = open_with_id(
			        file,
			        build_id_path(options->build_id_cache, &file->build_id, "/debug"),
			        &file->build_id);
	}
	if (!file->debug)
		file->debug = by_debuglink(file);
	if (!file->debug) {
		fetched = debuginfod_path(options, &file->build_id, file->path, true);
		if (fetched)
			file->debug = open_with_id(file, fetched, &file->build_id);
	}
	if (file->debug)
		file->debug->options = options;
	return file->debug;
}

struct elffile *debugfile_mini(struct elffile *file)
{
	struct slice packed, plain;
	struct err err = {0};
	uint8_t *copy;

	if (file->mini_tried)
		return file->mini;
	file->mini_tried = true;
	packed = elffile_section_data(file, ".gnu_debugdata");
	if (!packed.size || unpack_kind_of(packed) != UNPACK_XZ)
		return NULL;
	plain = unpack_all(UNPACK_XZ, packed, MINI_MAX_SIZE);
	if (!plain.size)
		return NULL;
	copy = mem_alloc(plain.size);
	memcpy(copy, plain.at, plain.size);
	file->mini = elffile_of_memory(file->path, copy, plain.size, &err);
	unpack_release(plain);
	return file->mini;
}

struct elffile *debugfile_alt(struct elffile *file)
{
	struct slice link;
	size_t name_size;
	struct build_id id = {0};
	const char *const *dirs = debugfile_dirs(file->options);
	const char *base;
	char *folder;

	if (file->alt_tried)
		return file->alt;
	file->alt_tried = true;
	link = elffile_section_data(file, ".gnu_debugaltlink");
	name_size = strnlen(link.at ? link.at : "", link.size);
	if (!name_size || name_size + 1 >= link.size)
		return NULL;
	id.size = (uint8_t)MIN_OF(link.size - name_size - 1, (size_t)BUILD_ID_MAX);
	memcpy(id.bytes, link.at + name_size + 1, id.size);
	if (link.at[0] == '/') {
		file->alt = open_there_or_here(file, mem_strdup(link.at), &id);
	} else {
		folder = debugfile_folder(file->path);
		file->alt = open_with_id(file, mem_printf("%s/%s", folder, link.at), &id);
		free(folder);
	}
	base = strrchr(link.at, '/');
	for (; !file->alt && *dirs; dirs++) {
		file->alt = open_there_or_here(file, build_id_path(*dirs, &id, ".debug"), &id);
		if (!file->alt)
			file->alt = open_there_or_here(
			        file, mem_printf("%s/.dwz/%s", *dirs, base ? base + 1 : link.at),
			        &id);
	}
	return file->alt;
}
