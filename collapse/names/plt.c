#include "share/compat.h"
#include "collapse/names/plt.h"

#include "share/buf.h"
#include "share/mem.h"

#include <elf.h>

/* More stubs than any program has. */
enum { MAX_STUBS = 1 << 20, STUB_SIZE = 16 };

struct slot {
	uint64_t vaddr;
	uint32_t name; /* offset in .dynstr */
};

struct slots {
	struct slot *at;
	size_t nr, capacity;
	struct slice names; /* .dynstr, ending in a NUL */
};

static int by_vaddr(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

/*
 * How many relocations at the begin of the section are relative, which name
 * nothing: DT_RELACOUNT (elf.h), as linkers sort them. Large programs have
 * a million.
 */
static size_t nr_relative(struct elffile *file, const struct elf_section *section)
{
	struct slice dynamic = elffile_section_data(file, ".dynamic");
	size_t count = 0;
	bool is_this = false;

	for (size_t at = 0; dynamic.size - at >= sizeof(Elf64_Dyn); at += sizeof(Elf64_Dyn)) {
		Elf64_Dyn entry;

		memcpy(&entry, dynamic.at + at, sizeof(entry));
		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_RELA)
			is_this = entry.d_un.d_ptr == section->vaddr;
		else if (entry.d_tag == DT_RELACOUNT)
			count = entry.d_un.d_val;
	}
	return is_this ? count : 0;
}

/* The slots that one section of relocations fills with addresses of functions. */
static void read_relocations(struct slots *slots, struct elffile *file, struct elf_section *section)
{
	struct slice data = elffile_data(file, section), symbols;
	struct elf_section *table;
	size_t nr_symbols, nr = data.size / sizeof(Elf64_Rela);

	if (section->link >= file->nr_sections)
		return;
	table = &file->sections[section->link];
	if (table->type != SHT_DYNSYM || table->link >= file->nr_sections)
		return;
	symbols = elffile_data(file, table);
	nr_symbols = elffile_nr_symbols(file, table);
	slots->names = elffile_data(file, &file->sections[table->link]);
	if (!slots->names.size || slots->names.at[slots->names.size - 1])
		return;
	for (size_t i = nr_relative(file, section); i < nr && slots->nr < MAX_STUBS; i++) {
		Elf64_Rela rela;
		struct elf_symbol symbol;
		uint64_t type;

		memcpy(&rela, data.at + i * sizeof(rela), sizeof(rela));
		type = ELF64_R_TYPE(rela.r_info);
		if (file->machine == EM_X86_64 ?
		            type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT :
		            type != R_AARCH64_JUMP_SLOT && type != R_AARCH64_GLOB_DAT)
			continue;
		if (ELF64_R_SYM(rela.r_info) >= nr_symbols)
			continue;
		symbol = elffile_symbol(file, &symbols, ELF64_R_SYM(rela.r_info));
		if (symbol.name >= slots->names.size || !slots->names.at[symbol.name])
			continue;
		MEM_GROW(slots->at, slots->nr, slots->capacity);
		slots->at[slots->nr++] = (struct slot){rela.r_offset, symbol.name};
	}
}

static const struct slot *find_slot(const struct slots *slots, uint64_t vaddr)
{
	struct slot want = {vaddr, 0};

	return bsearch(&want, slots->at, slots->nr, sizeof(want), by_vaddr);
}

/* jmp *disp(%rip), perhaps behind endbr64 and with a bnd prefix. */
static bool x86_64_slot(const uint8_t *code, size_t size, uint64_t vaddr, uint64_t *slot)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t at = 0;
	int32_t disp;

	if (size >= sizeof(endbr64) && memcmp(code, endbr64, sizeof(endbr64)) == 0)
		at = sizeof(endbr64);
	if (at < size && code[at] == 0xf2)
		at++;
	if (at + 6 > size || code[at] != 0xff || code[at + 1] != 0x25)
		return false;
	memcpy(&disp, code + at + 2, sizeof(disp));
	*slot = vaddr + at + 6 + (uint64_t)(int64_t)disp;
	return true;
}

/* adrp x16, page; ldr x17, [x16, #offset], perhaps behind bti c. */
static bool aarch64_slot(const uint8_t *code, size_t size, uint64_t vaddr, uint64_t *slot)
{
	uint32_t insn[3] = {0};
	const uint32_t *at = insn;
	int64_t page;

	memcpy(insn, code, MIN_OF(size, sizeof(insn)));
	if (insn[0] == 0xd503245f) {
		at++;
		vaddr += 4;
	}
	if ((at[0] & 0x9f00001f) != 0x90000010 || (at[1] & 0xffc003ff) != 0xf9400211)
		return false;
	page = (int64_t)((uint64_t)(at[0] >> 5 & 0x7ffff) << 45) >> 43 | (at[0] >> 29 & 3);
	*slot = (vaddr & ~(uint64_t)4095) + (uint64_t)page * 4096 +
	        (uint64_t)(at[1] >> 10 & 0xfff) * 8;
	return true;
}

/* What a stub is called, for struct symtab to own: the names one after another. */
struct stub {
	uint64_t vaddr;
	uint32_t size, offset;
};

static void add_stubs(struct elffile *file, struct elf_section *section, const struct slots *slots,
                      struct buf *names, struct stub **stubs, size_t *nr, size_t *capacity)
{
	struct slice code = elffile_data(file, section);
	size_t step =
	        strcmp(section->name, ".plt.got") == 0 && section->entry_size == 8 ? 8 : STUB_SIZE;

	for (size_t at = 0; at < code.size && *nr < MAX_STUBS; at += step) {
		const uint8_t *bytes = (const uint8_t *)code.at + at;
		size_t left = MIN_OF(code.size - at, step);
		uint64_t vaddr = section->vaddr + at, slot;
		const struct slot *found;

		if (!(file->machine == EM_X86_64 ? x86_64_slot(bytes, left, vaddr, &slot) :
		                                   aarch64_slot(bytes, left, vaddr, &slot)))
			continue;
		found = find_slot(slots, slot);
		if (!found || names->size > UINT32_MAX / 2)
			continue;
		MEM_GROW(*stubs, *nr, *capacity);
		(*stubs)[(*nr)++] = (struct stub){vaddr, (uint32_t)step, (uint32_t)names->size};
		buf_printf(names, "%s@plt", slots->names.at + found->name);
		buf_char(names, '\0');
	}
}

void plt_add_symbols(struct symtab *symtab, struct elffile *file, uint32_t priority)
{
	struct slots slots = {0};
	struct buf names = {0};
	struct stub *stubs = NULL;
	size_t nr = 0, capacity = 0;
	uint32_t text;

	if (!file->is_64 || file->is_big_endian ||
	    (file->machine != EM_X86_64 && file->machine != EM_AARCH64))
		return;
	for (size_t i = 0; i < file->nr_sections; i++)
		if (file->sections[i].type == SHT_RELA && (file->sections[i].flags & SHF_ALLOC))
			read_relocations(&slots, file, &file->sections[i]);
	if (slots.nr)
		qsort(slots.at, slots.nr, sizeof(*slots.at), by_vaddr);
	for (size_t i = 0; slots.nr && i < file->nr_sections; i++)
		if (strncmp(file->sections[i].name, ".plt", 4) == 0 &&
		    (file->sections[i].flags & SHF_EXECINSTR))
			add_stubs(file, &file->sections[i], &slots, &names, &stubs, &nr, &capacity);
	text = nr ? symtab_add_text(symtab, (struct slice){names.at, names.size}) : RANGES_NONE;
	for (size_t i = 0; i < nr && text != RANGES_NONE; i++)
		symtab_add(symtab, stubs[i].vaddr, stubs[i].vaddr + stubs[i].size, text,
		           stubs[i].offset, priority);
	symtab->owned = names.at;
	free(slots.at);
	free(stubs);
}
