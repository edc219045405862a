/*
 * elffile.h - one ELF file in memory: segments, sections, build-id, notes.
 *
 * Decides whether bytes are an ELF file that can be used, and where its parts
 * lie; each part is checked against the bytes that are there when it is asked
 * for, so that a file of lies gives fewer parts and never a wild read. Reads
 * both classes and both byte orders. Knows no names, no DWARF, and not which
 * file belongs to which module (module.h, debugfile.h).
 *
 * Files are mapped, not copied: the end of a file that is cut short while it
 * is in use turns into zeros (share/guard.h). Sections stored compressed
 * are unpacked when first asked for and kept.
 *
 * Not for two threads at once.
 *
 * Formats: System V gABI, chapters 4 and 5 (elf.h of glibc 2.36); .zdebug:
 * "ZLIB", the size as 8 bytes big-endian, a zlib stream (binutils 2.21).
 */
#ifndef COLLAPSE_ELFFILE_H
#define COLLAPSE_ELFFILE_H

#include "collapse/names/module.h"
#include "share/compat.h"
#include "share/err.h"

#include <libelf.h>

struct elf_segment {
	uint32_t type, flags; /* PT_..., PF_... */
	uint64_t off, vaddr, file_size, memory_size;
};

struct elf_section {
	const char *name; /* "" where it cannot be read; borrowed */
	uint32_t type, link, info;
	uint64_t flags, vaddr, off, size, entry_size, align;
	struct slice unpacked; /* of a compressed one, once asked for */
	bool is_bad;           /* could not be unpacked */
};

struct elf_symbol {
	uint32_t name; /* offset in the string table */
	uint8_t type, bind, visibility;
	uint16_t section;
	uint64_t value, size;
};

struct elffile {
	char *path;       /* as opened, or a name for people */
	size_t root_size; /* of it: the folder that nothing beside the file may lead out of */
	const uint8_t *bytes;
	size_t size;
	bool is_mapped; /* else bytes are from malloc() */
	bool is_cut;    /* it became shorter; set by who noticed */
	struct guard_mapping *guard;
	uint64_t inode; /* of what is mapped */
	bool is_64, is_big_endian;
	uint16_t machine, type; /* EM_..., ET_... */
	uint64_t entry;
	struct build_id build_id;
	struct elf_segment *segments;
	size_t nr_segments;
	struct elf_section *sections;
	size_t nr_sections;

	Elf *elf; /* elffile_elf() */

	/* companions, found by debugfile.c when first asked for; owned */
	const struct module_options *options; /* where to look; NULL: nowhere */
	struct elffile *debug, *mini, *alt;
	bool debug_tried, mini_tried, alt_tried;
};

/* A larger file is refused. */
#define ELFFILE_MAX_SIZE ((uint64_t)64 << 30)
/* Programs have a dozen; every address is looked for in all of them. */
enum { ELFFILE_MAX_SEGMENTS = 1024 };
/* More than this is not unpacked from one section. */
#define ELFFILE_MAX_UNPACKED ((uint64_t)8 << 30)

/* A regular file; NULL with err filled ("not an ELF file", ...). */
struct elffile *elffile_open(const char *path, struct err *err);

/*
 * The same for a path below a folder, which it is not to lead out of
 * (share/below.h).
 */
struct elffile *elffile_open_below(const char *root, const char *path, struct err *err);

/* Takes the bytes, which are from malloc(), also where it fails. */
struct elffile *elffile_of_memory(const char *name, uint8_t *bytes_take, size_t size,
                                  struct err *err);

/* The vdso of this very process. */
struct elffile *elffile_vdso(struct err *err);

/* NULL is fine. Closes the companions too. Counts a file that is shorter now (share/guard.h). */
void elffile_close(struct elffile *file);

/*
 * Offset in the file to the address as linked, by the loadable segment that
 * holds the offset (executable ones first; their pages count where no segment
 * holds the byte itself). false outside of all.
 */
bool elffile_vaddr(const struct elffile *file, uint64_t off, uint64_t *vaddr);

/* Is it inside of a loadable executable segment? */
bool elffile_is_code(const struct elffile *file, uint64_t vaddr);

/* The first section of that name, or NULL. ".debug_x" finds ".zdebug_x" too. */
struct elf_section *elffile_section(const struct elffile *file, const char *name);

/* Its contents, unpacked where they are compressed; size 0 where they cannot be had. */
struct slice elffile_data(struct elffile *file, struct elf_section *section);
struct slice elffile_section_data(struct elffile *file, const char *name);

/* Bytes at an address as linked, from there to the end of the segment; size 0 if none. */
struct slice elffile_at_vaddr(const struct elffile *file, uint64_t vaddr);

/* Entries of a symbol table section, and one of them. index < the number. */
size_t elffile_nr_symbols(struct elffile *file, struct elf_section *section);
struct elf_symbol elffile_symbol(const struct elffile *file, const struct slice *data,
                                 size_t index);

/* libelf's handle on the same bytes, for libdw; NULL where libelf refuses them. */
Elf *elffile_elf(struct elffile *file);

/* The NT_GNU_BUILD_ID in a block of notes (4-byte aligned, as the file is). */
struct build_id elffile_notes_build_id(struct slice notes, bool is_big_endian);

/* A number of 1, 2, 4 or 8 bytes in the byte order of the file. */
uint64_t elffile_uint(const struct elffile *file, const void *at, unsigned size);

#endif
