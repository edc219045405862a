#include "share/compat.h"
#include "collect/elfsyms.h"

#include "collect/regular.h"

#include <elf.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Larger files do not exist as programs; keeps offsets far from overflow. */
#define MAX_SIZE (1ull << 40)

#define NT_STAPSDT 3

/* The fields of both classes that are used here, widened. */
struct section {
	uint32_t name, type, link;
	uint64_t vaddr, offset, size;
};

static const void *bytes_at(const struct elfsyms *elf, uint64_t offset, uint64_t size)
{
	if (offset > elf->size || size > elf->size - offset)
		return NULL;
	return elf->at + offset;
}

/* Text at an offset within a section, up to its NUL; NULL where there is none. */
static const char *text_at(const struct elfsyms *elf, const struct section *strings,
                           uint64_t offset)
{
	const char *table = bytes_at(elf, strings->offset, strings->size);

	if (!table || offset >= strings->size || !memchr(table + offset, 0, strings->size - offset))
		return NULL;
	return table + offset;
}

int elfsyms_from_memory(struct elfsyms *elf, const uint8_t *at, size_t size, struct err *err)
{
	const uint16_t probe = 1;
	int ours = *(const uint8_t *)&probe ? ELFDATA2LSB : ELFDATA2MSB;

	*elf = (struct elfsyms){.at = at, .size = size, .borrowed = true};
	if (size < sizeof(Elf64_Ehdr) || memcmp(at, ELFMAG, SELFMAG) != 0)
		return err_set(err, "it is no ELF file");
	if (at[EI_DATA] != ours)
		return err_set(err, "it is for a machine of the other byte order");
	elf->is_64 = at[EI_CLASS] == ELFCLASS64;
	return 0;
}

int elfsyms_open(struct elfsyms *elf, const char *path, struct err *err)
{
	struct stat st;
	int fd = regular_open(path, &st);
	void *at;

	*elf = (struct elfsyms){0};
	if (fd < 0 && errno != EINVAL)
		return err_sys(err, "cannot open '%s'", path);
	if (fd < 0)
		return err_set(err, "'%s' is no regular file", path);
	if (st.st_size <= 0 || (uint64_t)st.st_size > MAX_SIZE) {
		close(fd);
		return err_set(err, "'%s' is empty, or larger than any program", path);
	}
	at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return err_sys(err, "cannot map '%s'", path);
	if (elfsyms_from_memory(elf, at, (size_t)st.st_size, err) < 0) {
		munmap(at, (size_t)st.st_size);
		*elf = (struct elfsyms){0};
		return err_prefix(err, "cannot use '%s'", path);
	}
	elf->borrowed = false;
	return 0;
}

void elfsyms_close(struct elfsyms *elf)
{
	if (elf->at && !elf->borrowed)
		munmap((void *)elf->at, elf->size);
	*elf = (struct elfsyms){0};
}

/* ---- sections and segments ---- */

static bool section_at(const struct elfsyms *elf, size_t i, struct section *section)
{
	if (elf->is_64) {
		const Elf64_Ehdr *head = (const void *)elf->at;
		const Elf64_Shdr *table =
		        bytes_at(elf, head->e_shoff, (uint64_t)head->e_shnum * sizeof(*table));
		Elf64_Shdr one;

		if (!table || i >= head->e_shnum || head->e_shentsize != sizeof(*table))
			return false;
		memcpy(&one, table + i, sizeof(one));
		*section = (struct section){one.sh_name, one.sh_type,   one.sh_link,
		                            one.sh_addr, one.sh_offset, one.sh_size};
	} else {
		const Elf32_Ehdr *head = (const void *)elf->at;
		const Elf32_Shdr *table =
		        bytes_at(elf, head->e_shoff, (uint64_t)head->e_shnum * sizeof(*table));
		Elf32_Shdr one;

		if (!table || i >= head->e_shnum || head->e_shentsize != sizeof(*table))
			return false;
		memcpy(&one, table + i, sizeof(one));
		*section = (struct section){one.sh_name, one.sh_type,   one.sh_link,
		                            one.sh_addr, one.sh_offset, one.sh_size};
	}
	return true;
}

static bool section_named(const struct elfsyms *elf, const char *name, struct section *section)
{
	size_t names = elf->is_64 ? ((const Elf64_Ehdr *)(const void *)elf->at)->e_shstrndx :
	                            ((const Elf32_Ehdr *)(const void *)elf->at)->e_shstrndx;
	struct section strings;

	if (!section_at(elf, names, &strings))
		return false;
	for (size_t i = 0; section_at(elf, i, section); i++) {
		const char *text = text_at(elf, &strings, section->name);

		if (text && strcmp(text, name) == 0)
			return true;
	}
	return false;
}

struct segment {
	uint32_t type;
	uint64_t vaddr, offset, size;
};

static bool segment_at(const struct elfsyms *elf, size_t i, struct segment *segment)
{
	const Elf64_Ehdr *wide = (const void *)elf->at;
	const Elf32_Ehdr *narrow = (const void *)elf->at;
	size_t nr = elf->is_64 ? wide->e_phnum : narrow->e_phnum;
	uint64_t table = elf->is_64 ? wide->e_phoff : narrow->e_phoff;
	size_t entry = elf->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	const uint8_t *headers = bytes_at(elf, table, (uint64_t)nr * entry);

	if (!headers || i >= nr)
		return false;
	if (elf->is_64) {
		Elf64_Phdr one;

		memcpy(&one, headers + i * entry, sizeof(one));
		*segment = (struct segment){one.p_type, one.p_vaddr, one.p_offset, one.p_filesz};
	} else {
		Elf32_Phdr one;

		memcpy(&one, headers + i * entry, sizeof(one));
		*segment = (struct segment){one.p_type, one.p_vaddr, one.p_offset, one.p_filesz};
	}
	return true;
}

int elfsyms_offset(const struct elfsyms *elf, uint64_t vaddr, uint64_t *offset)
{
	struct segment segment;

	for (size_t i = 0; segment_at(elf, i, &segment); i++) {
		if (segment.type == PT_LOAD && vaddr >= segment.vaddr &&
		    vaddr - segment.vaddr < segment.size) {
			*offset = vaddr - segment.vaddr + segment.offset;
			return 0;
		}
	}
	return -1;
}

bool elfsyms_is_dynamic(const struct elfsyms *elf)
{
	struct segment segment;

	for (size_t i = 0; segment_at(elf, i, &segment); i++)
		if (segment.type == PT_INTERP)
			return true;
	return false;
}

int elfsyms_entry(const struct elfsyms *elf, uint64_t *offset)
{
	return elfsyms_offset(elf,
	                      elf->is_64 ? ((const Elf64_Ehdr *)(const void *)elf->at)->e_entry :
	                                   ((const Elf32_Ehdr *)(const void *)elf->at)->e_entry,
	                      offset);
}

/* ---- functions ---- */

/* False once visit has asked to stop. */
static bool each_of(const struct elfsyms *elf, const struct section *table,
                    bool (*visit)(const char *name, uint64_t vaddr, void *arg), void *arg)
{
	size_t entry = elf->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	const uint8_t *symbols = bytes_at(elf, table->offset, table->size);
	struct section strings;

	if (!symbols || !section_at(elf, table->link, &strings))
		return true;
	for (size_t i = 0; i < table->size / entry; i++) {
		uint32_t name_at, type, section;
		const char *name;
		uint64_t vaddr;

		if (elf->is_64) {
			Elf64_Sym one;

			memcpy(&one, symbols + i * entry, sizeof(one));
			name_at = one.st_name, vaddr = one.st_value, section = one.st_shndx;
			type = ELF64_ST_TYPE(one.st_info);
		} else {
			Elf32_Sym one;

			memcpy(&one, symbols + i * entry, sizeof(one));
			name_at = one.st_name, vaddr = one.st_value, section = one.st_shndx;
			type = ELF32_ST_TYPE(one.st_info);
		}
		/* assembly may leave the type out */
		if (section == SHN_UNDEF ||
		    (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
			continue;
		name = text_at(elf, &strings, name_at);
		if (name && *name && visit(name, vaddr, arg))
			return false;
	}
	return true;
}

void elfsyms_each(const struct elfsyms *elf,
                  bool (*visit)(const char *name, uint64_t vaddr, void *arg), void *arg)
{
	struct section section;

	for (size_t i = 0; section_at(elf, i, &section); i++)
		if ((section.type == SHT_SYMTAB || section.type == SHT_DYNSYM) &&
		    !each_of(elf, &section, visit, arg))
			return;
}

struct find {
	const char *name;
	uint64_t vaddr;
	bool found;
};

static bool is_wanted(const char *name, uint64_t vaddr, void *arg)
{
	struct find *find = arg;

	if (strcmp(name, find->name) != 0)
		return false;
	find->vaddr = vaddr;
	find->found = true;
	return true;
}

int elfsyms_function(const struct elfsyms *elf, const char *name, uint64_t *offset)
{
	struct find find = {.name = name};

	elfsyms_each(elf, is_wanted, &find);
	return find.found ? elfsyms_offset(elf, find.vaddr, offset) : -1;
}

/* ---- USDT ---- */

static uint64_t word_at(const struct elfsyms *elf, const uint8_t *at, size_t i)
{
	uint64_t wide;
	uint32_t narrow;

	if (elf->is_64) {
		memcpy(&wide, at + i * 8, 8);
		return wide;
	}
	memcpy(&narrow, at + i * 4, 4);
	return narrow;
}

static bool one_probe(const struct elfsyms *elf, const uint8_t *content, size_t size,
                      const struct section *base, struct elfsyms_usdt *probe)
{
	size_t words = 3 * (elf->is_64 ? 8 : 4), provider, name;
	uint64_t pc, moved, semaphore;

	if (size < words)
		return false;
	provider = strnlen((const char *)content + words, size - words);
	if (words + provider >= size)
		return false;
	name = strnlen((const char *)content + words + provider + 1, size - words - provider - 1);
	if (words + provider + 1 + name >= size)
		return false;
	probe->provider = (const char *)content + words;
	probe->name = probe->provider + provider + 1;
	moved = base->vaddr ? base->vaddr - word_at(elf, content, 1) : 0;
	pc = word_at(elf, content, 0) + moved;
	semaphore = word_at(elf, content, 2);
	probe->semaphore = 0;
	/* the counter is in .probes, which the file holds although it is zero */
	if (semaphore && elfsyms_offset(elf, semaphore + moved, &probe->semaphore) < 0)
		return false;
	return elfsyms_offset(elf, pc, &probe->offset) == 0;
}

void elfsyms_each_usdt(const struct elfsyms *elf,
                       bool (*visit)(const struct elfsyms_usdt *probe, void *arg), void *arg)
{
	struct section notes, base = {0};
	const uint8_t *at;
	size_t left;

	if (!section_named(elf, ".note.stapsdt", &notes) ||
	    !(at = bytes_at(elf, notes.offset, notes.size)))
		return;
	if (!section_named(elf, ".stapsdt.base", &base))
		base.vaddr = 0;
	for (left = notes.size; left >= sizeof(Elf64_Nhdr);) {
		struct elfsyms_usdt probe;
		Elf64_Nhdr note;
		uint64_t name, whole;

		memcpy(&note, at, sizeof(note));
		name = ((uint64_t)note.n_namesz + 3) & ~3ull;
		whole = sizeof(note) + name + note.n_descsz;
		if (whole > left)
			return;
		if (note.n_type == NT_STAPSDT && note.n_namesz == 8 &&
		    memcmp(at + sizeof(note), "stapsdt", 8) == 0 &&
		    one_probe(elf, at + sizeof(note) + name, note.n_descsz, &base, &probe) &&
		    visit(&probe, arg))
			return;
		whole = MIN_OF((whole + 3) & ~3ull, left);
		at += whole;
		left -= whole;
	}
}
