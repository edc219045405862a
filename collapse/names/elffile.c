#include "share/compat.h"
#include "collapse/names/elffile.h"

#include "collapse/names/debugfile.h"
#include "collapse/names/unpack.h"
#include "share/below.h"
#include "share/guard.h"
#include "share/mem.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_MASK ((uint64_t)4095)

/* Longer ones are no names that anybody looks for. */
enum { MAX_SECTION_NAME = 256 };

uint64_t elffile_uint(const struct elffile *file, const void *at, unsigned size)
{
	const uint8_t *p = at;
	uint64_t value = 0;

	for (unsigned i = 0; i < size; i++)
		value |= (uint64_t)p[i] << 8 * (file->is_big_endian ? size - 1 - i : i);
	return value;
}

static bool is_inside(uint64_t off, uint64_t size, uint64_t whole)
{
	return off <= whole && size <= whole - off;
}

/* ---- headers ---- */

/* Reads the fields of one structure one after the other. */
struct fields {
	const struct elffile *file;
	const uint8_t *at;
};

static uint64_t field(struct fields *f, unsigned size)
{
	uint64_t value = elffile_uint(f->file, f->at, size);

	f->at += size;
	return value;
}

static uint64_t word(struct fields *f)
{
	return field(f, f->file->is_64 ? 8 : 4);
}

static void read_segments(struct elffile *file, uint64_t off, uint64_t entry_size, uint64_t nr)
{
	if (entry_size != (file->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)) || !nr ||
	    nr > ELFFILE_MAX_SEGMENTS || !is_inside(off, nr * entry_size, file->size))
		return;
	file->segments = mem_resize(NULL, nr, sizeof(*file->segments));
	for (size_t i = 0; i < nr; i++) {
		struct fields f = {file, file->bytes + off + i * entry_size};
		struct elf_segment *s = &file->segments[file->nr_segments++];

		*s = (struct elf_segment){.type = (uint32_t)field(&f, 4)};
		if (file->is_64)
			s->flags = (uint32_t)field(&f, 4);
		s->off = word(&f);
		s->vaddr = word(&f);
		word(&f); /* p_paddr */
		s->file_size = word(&f);
		s->memory_size = word(&f);
		if (!file->is_64)
			s->flags = (uint32_t)field(&f, 4);
	}
}

static void read_sections(struct elffile *file, uint64_t off, uint64_t entry_size, uint64_t nr,
                          uint64_t names)
{
	uint64_t want = file->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	struct slice text = {"", 0};
	uint32_t *name_offs;

	if (!off || entry_size != want || !is_inside(off, want, file->size))
		return;
	/* what does not fit into the header's fields stands in section 0 (gABI, e_shnum) */
	if (!nr || names == SHN_XINDEX) {
		struct fields f = {file, file->bytes + off + 8};
		uint64_t size;
		uint32_t link;

		word(&f);
		word(&f);
		word(&f);
		size = word(&f);
		link = (uint32_t)field(&f, 4);
		nr = nr ? nr : size;
		names = names == SHN_XINDEX ? link : names;
	}
	if (nr > (file->size - off) / want)
		return;
	file->sections = mem_resize(NULL, nr, sizeof(*file->sections));
	name_offs = mem_resize(NULL, nr, sizeof(*name_offs));
	for (size_t i = 0; i < nr; i++) {
		struct fields f = {file, file->bytes + off + i * want};
		struct elf_section *s = &file->sections[file->nr_sections++];

		*s = (struct elf_section){.name = ""};
		name_offs[i] = (uint32_t)field(&f, 4);
		s->type = (uint32_t)field(&f, 4);
		s->flags = word(&f);
		s->vaddr = word(&f);
		s->off = word(&f);
		s->size = word(&f);
		s->link = (uint32_t)field(&f, 4);
		s->info = (uint32_t)field(&f, 4);
		s->align = word(&f);
		s->entry_size = word(&f);
	}
	if (names < nr &&
	    is_inside(file->sections[names].off, file->sections[names].size, file->size))
		text = (struct slice){(const char *)file->bytes + file->sections[names].off,
		                      file->sections[names].size};
	for (size_t i = 0; i < nr; i++)
		if (name_offs[i] < text.size &&
		    memchr(text.at + name_offs[i], '\0',
		           MIN_OF(text.size - name_offs[i], (size_t)MAX_SECTION_NAME)))
			file->sections[i].name = text.at + name_offs[i];
	free(name_offs);
}

struct build_id elffile_notes_build_id(struct slice notes, bool is_big_endian)
{
	struct elffile order = {.is_big_endian = is_big_endian};
	struct build_id id = {0};

	while (notes.size >= 12) {
		uint64_t name_size = elffile_uint(&order, notes.at, 4);
		uint64_t size = elffile_uint(&order, notes.at + 4, 4);
		uint64_t type = elffile_uint(&order, notes.at + 8, 4);
		uint64_t body = 12 + ((name_size + 3) & ~(uint64_t)3);

		if (!is_inside(body, size, notes.size))
			break;
		if (type == NT_GNU_BUILD_ID && name_size == 4 &&
		    memcmp(notes.at + 12, "GNU", 4) == 0) {
			id.size = (uint8_t)MIN_OF(size, (uint64_t)BUILD_ID_MAX);
			memcpy(id.bytes, notes.at + body, id.size);
			break;
		}
		body += (size + 3) & ~(uint64_t)3;
		if (body > notes.size)
			break;
		notes.at += body;
		notes.size -= body;
	}
	return id;
}

static struct build_id find_build_id(const struct elffile *file)
{
	struct build_id id = {0};

	for (size_t i = 0; i < file->nr_segments && !id.size; i++) {
		const struct elf_segment *s = &file->segments[i];

		if (s->type == PT_NOTE && is_inside(s->off, s->file_size, file->size))
			id = elffile_notes_build_id(
			        (struct slice){(const char *)file->bytes + s->off, s->file_size},
			        file->is_big_endian);
	}
	for (size_t i = 0; i < file->nr_sections && !id.size; i++) {
		const struct elf_section *s = &file->sections[i];

		if (s->type == SHT_NOTE && is_inside(s->off, s->size, file->size))
			id = elffile_notes_build_id(
			        (struct slice){(const char *)file->bytes + s->off, s->size},
			        file->is_big_endian);
	}
	return id;
}

/* Takes the file; NULL where its headers cannot be used. */
static struct elffile *with_headers(struct elffile *file, struct err *err)
{
	const uint8_t *ident = file->bytes;
	uint64_t phoff, shoff, phentsize, phnum, shentsize, shnum, shstrndx;
	struct fields f = {file, file->bytes + EI_NIDENT};

	if (file->size < EI_NIDENT || memcmp(ident, ELFMAG, SELFMAG) != 0) {
		err_set(err, "not an ELF file");
		goto fail;
	}
	file->is_64 = ident[EI_CLASS] == ELFCLASS64;
	file->is_big_endian = ident[EI_DATA] == ELFDATA2MSB;
	if (file->size < (file->is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr))) {
		err_set(err, "cut short");
		goto fail;
	}
	file->type = (uint16_t)field(&f, 2);
	file->machine = (uint16_t)field(&f, 2);
	field(&f, 4); /* e_version */
	file->entry = word(&f);
	phoff = word(&f);
	shoff = word(&f);
	field(&f, 4); /* e_flags */
	field(&f, 2); /* e_ehsize */
	phentsize = field(&f, 2);
	phnum = field(&f, 2);
	shentsize = field(&f, 2);
	shnum = field(&f, 2);
	shstrndx = field(&f, 2);
	read_sections(file, shoff, shentsize, shnum, shstrndx);
	if (phnum == PN_XNUM && file->nr_sections)
		phnum = file->sections[0].info;
	read_segments(file, phoff, phentsize, phnum);
	if (!file->nr_sections && !file->nr_segments) {
		err_set(err, "an ELF file without sections and segments");
		goto fail;
	}
	file->build_id = find_build_id(file);
	return file;
fail:
	elffile_close(file);
	return NULL;
}

/* ---- opening ---- */

struct elffile *elffile_open(const char *path, struct err *err)
{
	struct elffile *file = NULL;
	struct stat st;
	void *bytes;
	/* a FIFO must not make us wait, a terminal must not become ours */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0) {
		err->code = errno;
		err_set(err, "%s", errno == ENOENT ? "not found" : strerror(errno));
		return NULL;
	}
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		err_set(err, "not a regular file");
	} else if ((uint64_t)st.st_size > ELFFILE_MAX_SIZE) {
		err_set(err, "larger than any program");
	} else if (st.st_size < EI_NIDENT) {
		err_set(err, "not an ELF file");
	} else {
		/* private and writable, as libelf may put things right in place */
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
		if (bytes == MAP_FAILED) {
			err_set(err, "cannot be mapped: %s", strerror(errno));
		} else {
			file = mem_zalloc(sizeof(*file));
			file->path = mem_strdup(path);
			file->bytes = bytes;
			file->size = (size_t)st.st_size;
			file->is_mapped = true;
			file->guard = guard_mapping_add(bytes, file->size);
			file->inode = st.st_ino;
		}
	}
	close(fd);
	return file ? with_headers(file, err) : NULL;
}

struct elffile *elffile_open_below(const char *root, const char *path, struct err *err)
{
	/* nothing is opened yet, so that a fifo or a device stays untouched */
	int fd = below_open(root, path, O_PATH);
	struct elffile *file = NULL;
	struct stat st;
	char self[64];

	if (fd < 0 || fstat(fd, &st) != 0) {
		err_set(err, "not found");
	} else if (!S_ISREG(st.st_mode)) {
		err_set(err, "not a regular file");
	} else {
		snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
		file = elffile_open(self, err);
	}
	if (fd >= 0)
		close(fd);
	if (!file)
		return NULL;
	/* what belongs to it lies beside it */
	free(file->path);
	file->path = mem_printf("%s%s", root, path);
	file->root_size = strlen(root);
	return file;
}

struct elffile *elffile_of_memory(const char *name, uint8_t *bytes_take, size_t size,
                                  struct err *err)
{
	struct elffile *file = mem_zalloc(sizeof(*file));

	file->path = mem_strdup(name);
	file->bytes = bytes_take;
	file->size = size;
	return with_headers(file, err);
}

struct elffile *elffile_vdso(struct err *err)
{
	const uint8_t *at = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	Elf64_Ehdr header;
	uint64_t size;
	uint8_t *copy;

	if (!at || at[EI_CLASS] != ELFCLASS64) {
		err_set(err, "this process has none");
		return NULL;
	}
	/* the kernel's own image, so its headers are true; sections stand at its end */
	memcpy(&header, at, sizeof(header));
	size = header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize;
	copy = mem_alloc(size);
	memcpy(copy, at, size);
	return elffile_of_memory("[vdso]", copy, size, err);
}

/*
 * Was the file cut where it is mapped still? Within its last page that raises
 * no signal. Only where its name still leads to it.
 */
static bool is_shorter(const struct elffile *file)
{
	struct stat st;

	return file->is_mapped && stat(file->path, &st) == 0 && st.st_ino == file->inode &&
	       (uint64_t)st.st_size < file->size;
}

/* NOLINTNEXTLINE(misc-no-recursion): a debug file has at most a shared one of its own */
void elffile_close(struct elffile *file)
{
	if (!file)
		return;
	if (is_shorter(file))
		guard_mapping_cut(file->guard);
	elffile_close(file->debug);
	elffile_close(file->mini);
	elffile_close(file->alt);
	elf_end(file->elf);
	for (size_t i = 0; i < file->nr_sections; i++)
		unpack_release(file->sections[i].unpacked);
	free(file->sections);
	free(file->segments);
	guard_mapping_remove(file->guard);
	if (file->is_mapped)
		munmap((void *)file->bytes, file->size);
	else
		free((void *)file->bytes);
	free(file->path);
	free(file);
}

/* ---- addresses ---- */

bool elffile_vaddr(const struct elffile *file, uint64_t off, uint64_t *vaddr)
{
	/* executable and exact; any exact; by whole pages, executable first */
	for (int pass = 0; pass < 4; pass++) {
		uint64_t slack = pass < 2 ? 0 : PAGE_MASK;

		for (size_t i = 0; i < file->nr_segments; i++) {
			const struct elf_segment *s = &file->segments[i];

			if (s->type != PT_LOAD || (!(pass & 1) && !(s->flags & PF_X)))
				continue;
			if (off >= (s->off & ~slack) &&
			    off - (s->off & ~slack) < s->file_size + slack) {
				*vaddr = off - s->off + s->vaddr;
				return true;
			}
		}
	}
	return false;
}

bool elffile_is_code(const struct elffile *file, uint64_t vaddr)
{
	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct elf_segment *s = &file->segments[i];

		if (s->type == PT_LOAD && (s->flags & PF_X) && vaddr >= s->vaddr &&
		    vaddr - s->vaddr < s->memory_size)
			return true;
	}
	return false;
}

struct slice elffile_at_vaddr(const struct elffile *file, uint64_t vaddr)
{
	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct elf_segment *s = &file->segments[i];

		if (s->type == PT_LOAD && vaddr >= s->vaddr && vaddr - s->vaddr < s->file_size &&
		    is_inside(s->off, s->file_size, file->size))
			return (struct slice){(const char *)file->bytes + s->off +
			                              (vaddr - s->vaddr),
			                      s->file_size - (vaddr - s->vaddr)};
	}
	return (struct slice){NULL, 0};
}

/* ---- sections ---- */

struct elf_section *elffile_section(const struct elffile *file, const char *name)
{
	for (size_t i = 0; i < file->nr_sections; i++) {
		const char *has = file->sections[i].name;

		if (strcmp(has, name) == 0)
			return &file->sections[i];
		if (strncmp(has, ".zdebug", 7) == 0 && strncmp(name, ".debug", 6) == 0 &&
		    strcmp(has + 7, name + 6) == 0)
			return &file->sections[i];
	}
	return NULL;
}

/* Fills section->unpacked, or says that it is bad. */
static void unpack_section(struct elffile *file, struct elf_section *section)
{
	const uint8_t *at = file->bytes + section->off;
	struct slice packed = {(const char *)at, section->size};
	uint64_t header, size, type = ELFCOMPRESS_ZLIB;

	if (section->flags & SHF_COMPRESSED) {
		header = file->is_64 ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
		if (section->size < header)
			goto bad;
		type = elffile_uint(file, at, 4);
		size = elffile_uint(file, at + (file->is_64 ? 8 : 4), file->is_64 ? 8 : 4);
	} else {
		header = 12;
		if (section->size < header || memcmp(at, "ZLIB", 4) != 0)
			goto bad;
		size = 0;
		for (int i = 4; i < 12; i++)
			size = size << 8 | at[i];
	}
	packed.at += header;
	packed.size -= header;
	section->unpacked = unpack_known(type == ELFCOMPRESS_ZLIB ? UNPACK_ZLIB :
	                                 type == 2                ? UNPACK_ZSTD :
	                                                            UNPACK_UNKNOWN,
	                                 packed, size, ELFFILE_MAX_UNPACKED);
	if (section->unpacked.at)
		return;
bad:
	section->is_bad = true;
}

struct slice elffile_data(struct elffile *file, struct elf_section *section)
{
	if (!section || section->is_bad || section->type == SHT_NOBITS ||
	    !is_inside(section->off, section->size, file->size))
		return (struct slice){NULL, 0};
	if (!(section->flags & SHF_COMPRESSED) && strncmp(section->name, ".zdebug", 7) != 0)
		return (struct slice){(const char *)file->bytes + section->off, section->size};
	if (!section->unpacked.at)
		unpack_section(file, section);
	return section->unpacked;
}

struct slice elffile_section_data(struct elffile *file, const char *name)
{
	return elffile_data(file, elffile_section(file, name));
}

size_t elffile_nr_symbols(struct elffile *file, struct elf_section *section)
{
	return elffile_data(file, section).size /
	       (file->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
}

struct elf_symbol elffile_symbol(const struct elffile *file, const struct slice *data, size_t index)
{
	struct elf_symbol symbol;
	uint8_t info, other;

	/* nearly every file is of this kind, and has many */
	if (LIKELY(file->is_64 && !file->is_big_endian)) {
		Elf64_Sym raw;

		memcpy(&raw, data->at + index * sizeof(raw), sizeof(raw));
		symbol = (struct elf_symbol){.name = raw.st_name,
		                             .section = raw.st_shndx,
		                             .value = raw.st_value,
		                             .size = raw.st_size};
		info = raw.st_info;
		other = raw.st_other;
	} else {
		struct fields f = {file, (const uint8_t *)data->at +
		                                 index * (file->is_64 ? sizeof(Elf64_Sym) :
		                                                        sizeof(Elf32_Sym))};

		symbol = (struct elf_symbol){.name = (uint32_t)field(&f, 4)};
		if (!file->is_64) {
			symbol.value = word(&f);
			symbol.size = word(&f);
		}
		info = (uint8_t)field(&f, 1);
		other = (uint8_t)field(&f, 1);
		symbol.section = (uint16_t)field(&f, 2);
		if (file->is_64) {
			symbol.value = word(&f);
			symbol.size = word(&f);
		}
	}
	symbol.type = info & 15;
	symbol.bind = info >> 4;
	symbol.visibility = other & 3;
	return symbol;
}

/* ---- libelf ---- */

Elf *elffile_elf(struct elffile *file)
{
	if (!file->elf) {
		elf_version(EV_CURRENT);
		file->elf = elf_memory((char *)(uintptr_t)file->bytes, file->size);
	}
	return file->elf;
}
