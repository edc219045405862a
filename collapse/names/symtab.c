#include "share/compat.h"
#include "collapse/names/symtab.h"

#include "collapse/names/debugfile.h"
#include "collapse/names/plt.h"
#include "share/mem.h"

#include <elf.h>

/* What is longer is cut: a table of lies may be one text from end to end. */
enum { MAX_NAME = 1 << 16 };

struct symtab *symtab_new(void)
{
	return mem_zalloc(sizeof(struct symtab));
}

void symtab_free(struct symtab *symtab)
{
	if (!symtab)
		return;
	ranges_release(&symtab->ranges);
	free(symtab->names);
	free(symtab->owned);
	free(symtab);
}

uint32_t symtab_add_text(struct symtab *symtab, struct slice text)
{
	if (!text.size || text.size > UINT32_MAX || text.at[text.size - 1] ||
	    symtab->nr_texts >= SYMTAB_MAX_TEXTS)
		return RANGES_NONE;
	symtab->texts[symtab->nr_texts] = text;
	return symtab->nr_texts++;
}

/* The index of a new name. */
static uint32_t add_name(struct symtab *symtab, uint32_t text, uint32_t offset)
{
	MEM_GROW(symtab->names, symtab->nr, symtab->capacity);
	symtab->names[symtab->nr] = (struct symtab_name){.offset = offset, .text = (uint8_t)text};
	return (uint32_t)symtab->nr++;
}

void symtab_add(struct symtab *symtab, uint64_t start, uint64_t end, uint32_t text, uint32_t offset,
                uint32_t priority)
{
	if (start >= end || symtab->nr >= RANGES_NONE - 1)
		return;
	ranges_add(&symtab->ranges, start, end, add_name(symtab, text, offset), priority);
}

void symtab_append(struct symtab *symtab, uint64_t start, uint32_t text, uint32_t offset)
{
	if (symtab->nr < RANGES_NONE - 1)
		ranges_append(&symtab->ranges, start, add_name(symtab, text, offset));
}

static const char *name_text(const struct symtab *symtab, uint32_t index)
{
	const struct symtab_name *name = &symtab->names[index];

	return symtab->texts[name->text].at + name->offset;
}

struct slice symtab_find(const struct symtab *symtab, uint64_t address)
{
	uint32_t index = ranges_find(&symtab->ranges, address);
	struct slice name = {"", 0};

	if (index == RANGES_NONE)
		return name;
	name.at = name_text(symtab, index);
	name.size = strnlen(name.at, MAX_NAME);
	if (symtab->names[index].is_versioned) {
		const char *version = memchr(name.at + 1, '@', name.size - 1);

		if (version)
			name.size = (size_t)(version - name.at);
	}
	return symtab_cut_alias(name);
}

/* ---- which of several names ---- */

static unsigned rank_of(const struct elf_symbol *symbol)
{
	if (!symbol->size)
		return SYMTAB_LABEL;
	if (symbol->bind == STB_LOCAL)
		return SYMTAB_LOCAL;
	return symbol->bind == STB_WEAK ? SYMTAB_WEAK : SYMTAB_GLOBAL;
}

static size_t underscores(const char *name)
{
	size_t nr = 0;

	while (nr < MAX_NAME && name[nr] == '_')
		nr++;
	return nr;
}

int symtab_compare(const char *x, uint32_t rank_x, const char *y, uint32_t rank_y)
{
	size_t nr_x, nr_y;

	if (rank_x != rank_y)
		return rank_x < rank_y ? -1 : 1;
	nr_x = underscores(x);
	nr_y = underscores(y);
	if (nr_x != nr_y)
		return nr_x > nr_y ? -1 : 1;
	nr_x = strnlen(x, MAX_NAME);
	nr_y = strnlen(y, MAX_NAME);
	if (nr_x != nr_y)
		return nr_x < nr_y ? -1 : 1;
	return strncmp(y, x, MAX_NAME);
}

const char *symtab_text(const struct symtab *symtab, const struct range *range)
{
	return name_text(symtab, range->value);
}

static int compare_names(const struct symtab *symtab, const struct range *a, const struct range *b)
{
	return symtab_compare(name_text(symtab, a->value), a->priority, name_text(symtab, b->value),
	                      b->priority);
}

/* Gives labels their ends, then finishes. */
static void settle(struct symtab *symtab)
{
	struct ranges *ranges = &symtab->ranges;
	struct range *at;
	uint64_t sized_end = 0, sized_start = 0;
	size_t nr_kept = 0;

	ranges_sort(ranges);
	at = ranges->at;
	for (size_t i = 0; i < ranges->nr; i++) {
		size_t next = i + 1;

		if (at[i].priority != SYMTAB_LABEL) {
			if (at[i].end > sized_end) {
				sized_start = at[i].start;
				sized_end = at[i].end;
			}
			continue;
		}
		/* a label inside of a function is a place in it, no function */
		if (at[i].start < sized_end && sized_start < at[i].start) {
			at[i].end = at[i].start;
			continue;
		}
		while (next < ranges->nr && at[next].start == at[i].start)
			next++;
		/* a run of labels at one place looks on only once */
		for (size_t j = i; j < next; j++)
			if (at[j].priority == SYMTAB_LABEL && next < ranges->nr)
				at[j].end = MIN_OF(at[j].end, at[next].start);
			else if (at[j].end > sized_end) {
				sized_start = at[j].start;
				sized_end = at[j].end;
			}
		i = next - 1;
	}
	for (size_t i = 0; i < ranges->nr; i++)
		if (at[i].start < at[i].end)
			at[nr_kept++] = at[i];
	ranges->nr = nr_kept;
	symtab_finish(symtab);
}

void symtab_finish(struct symtab *symtab)
{
	struct ranges *ranges = &symtab->ranges;
	struct range *at;

	ranges_sort(ranges);
	at = ranges->at;
	for (size_t i = 0, next; i < ranges->nr; i = next) {
		next = i + 1;
		while (next < ranges->nr && at[next].start == at[i].start)
			next++;
		/* insertion: runs are short */
		for (size_t j = i + 1; j < MIN_OF(next, i + SYMTAB_MAX_ALIASES); j++)
			for (size_t k = j; k > i && compare_names(symtab, &at[k - 1], &at[k]) > 0;
			     k--) {
				struct range swap = at[k];

				at[k] = at[k - 1];
				at[k - 1] = swap;
			}
	}
	for (size_t i = 0; i < ranges->nr; i++)
		at[i].priority = (uint32_t)i;
	ranges_finish(ranges);
}

/* ---- ELF ---- */

static bool is_function(const struct elf_symbol *symbol)
{
	return symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC;
}

/* A name of code that the assembler gave: not "$x" (mapping symbols), not ".L1". */
static bool is_label(const struct elf_symbol *symbol, const struct elf_section *section,
                     const char *name)
{
	return symbol->type == STT_NOTYPE && (section->flags & SHF_EXECINSTR) && name[0] != '$' &&
	       !(name[0] == '.' && name[1] == 'L');
}

/* What one symbol table is read with. */
struct elf_reading {
	struct symtab *symtab;
	struct elffile *file;
	/* of relocatable files: where each section is, 0 = nowhere; NULL: values are addresses */
	const uint64_t *section_starts;
};

static void add_symbols(struct elf_reading *reading, struct elf_section *table)
{
	struct elffile *file = reading->file;
	struct slice data = elffile_data(file, table);
	size_t nr = elffile_nr_symbols(file, table);
	struct slice text = {NULL, 0};
	uint32_t text_index;

	if (table->link < file->nr_sections)
		text = elffile_data(file, &file->sections[table->link]);
	text_index = symtab_add_text(reading->symtab, text);
	if (text_index == RANGES_NONE)
		return;
	for (size_t i = 1; i < nr; i++) {
		struct elf_symbol symbol = elffile_symbol(file, &data, i);
		const struct elf_section *section = NULL;
		uint64_t start = symbol.value, end, section_start;
		const char *name;

		if ((!is_function(&symbol) && symbol.type != STT_NOTYPE) ||
		    symbol.section == SHN_UNDEF || symbol.name >= text.size)
			continue;
		name = text.at + symbol.name;
		if (!name[0])
			continue;
		if (symbol.section < SHN_LORESERVE && symbol.section < file->nr_sections)
			section = &file->sections[symbol.section];
		if (!is_function(&symbol) && (!section || !is_label(&symbol, section, name)))
			continue;
		if (section && plt_is_linkers_name(section, name))
			continue;
		/* the lowest bit of a 32-bit ARM function says Thumb */
		if (file->machine == EM_ARM && is_function(&symbol))
			start &= ~(uint64_t)1;
		section_start = section ? section->vaddr : 0;
		if (reading->section_starts) {
			if (!section || !reading->section_starts[symbol.section])
				continue;
			section_start = reading->section_starts[symbol.section];
			start += section_start;
		}
		if (symbol.size) {
			if (__builtin_add_overflow(start, symbol.size, &end))
				continue;
		} else {
			/* up to the next symbol, never behind its section */
			if (!section || start < section_start ||
			    start - section_start >= section->size)
				continue;
			end = section_start + section->size;
		}
		symtab_add(reading->symtab, start, end, text_index, symbol.name, rank_of(&symbol));
		if (reading->symtab->nr)
			reading->symtab->names[reading->symtab->nr - 1].is_versioned = 1;
	}
}

static bool add_table(struct symtab *symtab, struct elffile *file, uint32_t type)
{
	struct elf_reading reading = {symtab, file, NULL};
	bool any = false;

	for (size_t i = 0; file && i < file->nr_sections; i++) {
		if (file->sections[i].type != type || file->sections[i].size == 0)
			continue;
		/* one table of each kind (gABI, "Sections") */
		add_symbols(&reading, &file->sections[i]);
		any = true;
		break;
	}
	return any;
}

struct symtab *symtab_of_elf(struct elffile *file)
{
	struct symtab *symtab = symtab_new();

	/* .symtab holds all that .dynsym does */
	if (!add_table(symtab, file, SHT_SYMTAB) &&
	    !add_table(symtab, debugfile_of(file), SHT_SYMTAB)) {
		add_table(symtab, debugfile_mini(file), SHT_SYMTAB);
		add_table(symtab, file, SHT_DYNSYM);
		symtab->is_stripped = true;
	}
	plt_add_symbols(symtab, file, SYMTAB_SYNTHETIC);
	settle(symtab);
	return symtab;
}

struct symtab *symtab_of_kmod(struct elffile *file, uint64_t base)
{
	struct symtab *symtab = symtab_new();
	uint64_t *starts = mem_zalloc((file->nr_sections + 1) * sizeof(*starts));
	struct elf_reading reading = {symtab, file, starts};
	uint64_t at = base;

	/*
	 * The loader lays out the executable sections in their order (kernel
	 * 6.4, layout_sections() in kernel/module/main.c); those of the start
	 * have memory of their own, which is gone.
	 */
	for (size_t i = 0; i < file->nr_sections; i++) {
		const struct elf_section *s = &file->sections[i];
		uint64_t align = s->align && !(s->align & (s->align - 1)) ? s->align : 1;

		if (!(s->flags & SHF_ALLOC) || !(s->flags & SHF_EXECINSTR) ||
		    strncmp(s->name, ".init", 5) == 0)
			continue;
		at = (at + align - 1) & ~(align - 1);
		starts[i] = at;
		if (__builtin_add_overflow(at, s->size, &at))
			break;
	}
	for (size_t i = 0; i < file->nr_sections; i++)
		if (file->sections[i].type == SHT_SYMTAB) {
			add_symbols(&reading, &file->sections[i]);
			break;
		}
	settle(symtab);
	free(starts);
	return symtab;
}
