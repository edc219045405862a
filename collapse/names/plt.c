#include "share/compat.h"
#include "collapse/names/plt.h"

#include "share/buf.h"
#include "share/mem.h"

#include <elf.h>

/* More stubs than any program has. */
enum { MAX_STUBS = 1 << 20 };

struct slot {
	uint64_t vaddr;
	uint64_t resolver;        /* of an IFUNC of this file, or 0 */
	const struct range *best; /* of the symbols of the resolver; NULL: none */
	const char *name;
};

struct slots {
	struct elffile *file;
	struct slot *at;
	size_t nr, capacity;
	uint64_t got; /* what 32-bit x86 code holds in %ebx */
};

static int by_vaddr(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

static int by_resolver(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->resolver < y->resolver ? -1 : x->resolver > y->resolver;
}

/* ---- relocations ---- */

/* Does a relocation of this type put an address of code into a slot? *is_own: of an IFUNC. */
static bool is_of_code(uint16_t machine, uint64_t type, bool *is_own)
{
	static const struct {
		uint16_t machine;
		uint32_t jump_slot, glob_dat, irelative;
	} kinds[] = {
	        {EM_X86_64, R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_IRELATIVE},
	        {EM_386, R_386_JMP_SLOT, R_386_GLOB_DAT, R_386_IRELATIVE},
	        {EM_AARCH64, R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, R_AARCH64_IRELATIVE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].machine == machine) {
			*is_own = type == kinds[i].irelative;
			return *is_own || type == kinds[i].jump_slot || type == kinds[i].glob_dat;
		}
	return false;
}

/* What stands in a slot of the file; REL has its addends there. */
static uint64_t slot_contents(const struct elffile *file, uint64_t vaddr)
{
	struct slice at = elffile_at_vaddr(file, vaddr);

	return at.size >= 4 ? elffile_uint(file, at.at, 4) : 0;
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
static void read_relocations(struct slots *slots, struct elf_section *section)
{
	struct elffile *file = slots->file;
	struct slice data = elffile_data(file, section), symbols = {NULL, 0}, names = {NULL, 0};
	unsigned word = file->is_64 ? 8 : 4;
	bool has_addend = section->type == SHT_RELA;
	size_t size = word * (has_addend ? 3 : 2), nr_symbols = 0;
	size_t first = file->is_64 && has_addend ? nr_relative(file, section) : 0;
	struct elf_section *table;

	/* a static program has IFUNCs, and no table of symbols to go with them */
	if (section->link < file->nr_sections && file->sections[section->link].type == SHT_DYNSYM &&
	    file->sections[section->link].link < file->nr_sections) {
		table = &file->sections[section->link];
		symbols = elffile_data(file, table);
		nr_symbols = elffile_nr_symbols(file, table);
		names = elffile_data(file, &file->sections[table->link]);
		if (!names.size || names.at[names.size - 1])
			nr_symbols = 0;
	}
	for (size_t at = MIN_OF(first, data.size / size) * size;
	     at + size <= data.size && slots->nr < MAX_STUBS; at += size) {
		struct slot slot = {.vaddr = elffile_uint(file, data.at + at, word)};
		uint64_t info = elffile_uint(file, data.at + at + word, word);
		uint64_t number = file->is_64 ? ELF64_R_SYM(info) : ELF32_R_SYM(info);
		struct elf_symbol symbol;
		bool is_own;

		if (!is_of_code(file->machine,
		                file->is_64 ? ELF64_R_TYPE(info) : ELF32_R_TYPE(info), &is_own))
			continue;
		if (is_own) {
			slot.resolver = has_addend ?
			                        elffile_uint(file, data.at + at + 2 * word, word) :
			                        slot_contents(file, slot.vaddr);
		} else if (number < nr_symbols) {
			symbol = elffile_symbol(file, &symbols, number);
			if (symbol.name < names.size && names.at[symbol.name])
				slot.name = names.at + symbol.name;
		}
		if (!slot.name && !slot.resolver)
			continue;
		MEM_GROW(slots->at, slots->nr, slots->capacity);
		slots->at[slots->nr++] = slot;
	}
}

/* Of slots by resolver: the first with this one, or NULL. */
static struct slot *first_of(const struct slots *slots, uint64_t resolver)
{
	size_t low = 0, high = slots->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (slots->at[middle].resolver < resolver)
			low = middle + 1;
		else
			high = middle;
	}
	return low < slots->nr && slots->at[low].resolver == resolver ? &slots->at[low] : NULL;
}

/*
 * An IFUNC is called as the symbols call its resolver. That is found for the
 * first slot of each: a file of lies has a million of one, and as many symbols.
 */
static void name_resolvers(struct slots *slots, const struct symtab *symtab)
{
	qsort(slots->at, slots->nr, sizeof(*slots->at), by_resolver);
	for (size_t i = 0; i < symtab->ranges.nr; i++) {
		const struct range *range = &symtab->ranges.at[i];
		struct slot *first = range->start ? first_of(slots, range->start) : NULL;

		if (first &&
		    (!first->best ||
		     symtab_compare(symtab_text(symtab, first->best), first->best->priority,
		                    symtab_text(symtab, range), range->priority) < 0))
			first->best = range;
	}
	for (size_t i = 0; i < slots->nr; i++) {
		struct slot *slot = &slots->at[i];

		if (i && slot->resolver == slot[-1].resolver)
			slot->best = slot[-1].best;
		if (slot->best)
			slot->name = symtab_text(symtab, slot->best);
	}
}

static const struct slot *find_slot(const struct slots *slots, uint64_t vaddr)
{
	struct slot want = {.vaddr = vaddr};

	return bsearch(&want, slots->at, slots->nr, sizeof(want), by_vaddr);
}

/* ---- stubs ---- */

static bool has_bytes(const uint8_t *code, size_t size, const char *bytes, size_t nr)
{
	return size >= nr && memcmp(code, bytes, nr) == 0;
}

/*
 * The slot that the code jumps through: jmp *disp(%rip), or in 32-bit code
 * *address or *disp(%ebx). Perhaps behind endbr, the number of the slot in
 * %r11 (mold), and with a bnd prefix.
 */
static bool x86_slot(const struct slots *slots, const uint8_t *code, size_t size, uint64_t vaddr,
                     uint64_t *slot)
{
	bool is_wide = slots->file->machine == EM_X86_64;
	size_t at = 0;
	int32_t disp;

	if (has_bytes(code, size, is_wide ? "\xf3\x0f\x1e\xfa" : "\xf3\x0f\x1e\xfb", 4))
		at = 4;
	if (has_bytes(code + at, size - at, "\x41\xbb", 2) && size - at > 6)
		at += 6;
	if (has_bytes(code + at, size - at, "\xf2", 1))
		at++;
	if (size - at < 6 || code[at] != 0xff)
		return false;
	memcpy(&disp, code + at + 2, sizeof(disp));
	if (code[at + 1] == 0x25)
		*slot = is_wide ? vaddr + at + 6 + (uint64_t)(int64_t)disp : (uint32_t)disp;
	else if (code[at + 1] == 0xa3 && !is_wide)
		*slot = (uint32_t)(slots->got + (uint64_t)(int64_t)disp);
	else
		return false;
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
	uint64_t vaddr, end;
	uint32_t offset;
};

struct stubs {
	struct stub *at;
	size_t nr, capacity;
	struct buf names;
};

static void add_stubs(struct stubs *stubs, const struct slots *slots, struct elf_section *section)
{
	struct slice code = elffile_data(slots->file, section);
	bool is_arm = slots->file->machine == EM_AARCH64;
	/* what they may start at, and the least and the most that one takes */
	size_t align = is_arm ? 4 : 8, least = is_arm ? 16 : 8, most = is_arm ? 24 : 16;
	size_t first = stubs->nr;

	for (size_t at = 0; at < code.size && stubs->nr < MAX_STUBS;) {
		const uint8_t *bytes = (const uint8_t *)code.at + at;
		size_t left = MIN_OF(code.size - at, most);
		uint64_t vaddr = section->vaddr + at, slot;
		bool is_stub = is_arm ? aarch64_slot(bytes, left, vaddr, &slot) :
		                        x86_slot(slots, bytes, left, vaddr, &slot);
		const struct slot *found = is_stub ? find_slot(slots, slot) : NULL;

		if (!found || !found->name || stubs->names.size > UINT32_MAX / 2) {
			at += align;
			continue;
		}
		if (stubs->nr > first && stubs->at[stubs->nr - 1].end > vaddr)
			stubs->at[stubs->nr - 1].end = vaddr;
		MEM_GROW(stubs->at, stubs->nr, stubs->capacity);
		stubs->at[stubs->nr++] =
		        (struct stub){vaddr, vaddr + left, (uint32_t)stubs->names.size};
		buf_printf(&stubs->names, "%.*s@plt", (int)strcspn(found->name, "@"), found->name);
		buf_char(&stubs->names, '\0');
		at += least;
	}
}

static bool is_stub_section(const struct elf_section *section)
{
	return (section->flags & SHF_EXECINSTR) &&
	       (strncmp(section->name, ".plt", 4) == 0 || strcmp(section->name, ".iplt") == 0);
}

bool plt_is_linkers_name(const struct elf_section *section, const char *name)
{
	size_t size = strlen(name);

	return size > 4 && strcmp(name + size - 4, "$plt") == 0 && is_stub_section(section);
}

void plt_add_symbols(struct symtab *symtab, struct elffile *file, uint32_t priority)
{
	struct slots slots = {.file = file};
	struct stubs stubs = {0};
	const struct elf_section *got = elffile_section(file, ".got.plt");
	uint32_t text;

	if (file->is_big_endian || (file->machine == EM_AARCH64 && !file->is_64))
		return;
	got = got ? got : elffile_section(file, ".got");
	slots.got = got ? got->vaddr : 0;
	for (size_t i = 0; i < file->nr_sections; i++)
		if ((file->sections[i].type == SHT_RELA || file->sections[i].type == SHT_REL) &&
		    (file->sections[i].flags & SHF_ALLOC))
			read_relocations(&slots, &file->sections[i]);
	if (slots.nr) {
		name_resolvers(&slots, symtab);
		qsort(slots.at, slots.nr, sizeof(*slots.at), by_vaddr);
	}
	for (size_t i = 0; slots.nr && i < file->nr_sections; i++)
		if (is_stub_section(&file->sections[i]))
			add_stubs(&stubs, &slots, &file->sections[i]);
	text = stubs.nr ?
	               symtab_add_text(symtab, (struct slice){stubs.names.at, stubs.names.size}) :
	               RANGES_NONE;
	for (size_t i = 0; i < stubs.nr && text != RANGES_NONE; i++)
		symtab_add(symtab, stubs.at[i].vaddr, stubs.at[i].end, text, stubs.at[i].offset,
		           priority);
	symtab->owned = stubs.names.at;
	free(slots.at);
	free(stubs.at);
}
