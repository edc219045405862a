/* fuzz_elf.c - ELF files and their debugging information, over any bytes. */
#include "share/compat.h"

#include "collapse/names/debugfile.h"
#include "collapse/names/elffile.h"
#include "collapse/names/inlines.h"
#include "collapse/names/symtab.h"
#include "share/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Addresses that a file of lies may say something of. */
static void look_up(struct elffile *file, struct symtab *symtab, struct inlines *inlines)
{
	static struct inlines_frame frames[64];

	for (size_t i = 0; i < file->nr_segments && i < 16; i++)
		for (uint64_t step = 0; step < 64; step++) {
			uint64_t off = file->segments[i].off + step * 61, vaddr;

			if (!elffile_vaddr(file, off, &vaddr))
				vaddr = file->segments[i].vaddr + step;
			if (symtab_find(symtab, vaddr).size > file->size + (1 << 20))
				abort();
			if (!inlines)
				continue;
			for (size_t n = inlines_find(inlines, vaddr, true, frames, 64); n--;)
				if (frames[n].name && strlen(frames[n].name) == SIZE_MAX)
					abort();
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = mem_alloc(size ? size : 1);
	struct elffile *file;
	struct symtab *symtab;
	struct inlines *inlines;
	struct err err = {0};

	memcpy(copy, data, size);
	file = elffile_of_memory("fuzz", copy, size, &err);
	if (!file)
		return 0;
	symtab = symtab_of_elf(file);
	inlines = inlines_new(file);
	look_up(file, symtab, inlines);
	inlines_free(inlines);
	symtab_free(symtab);
	symtab_free(symtab_of_kmod(file, 0xffffffffc0000000));
	elffile_close(file);
	return 0;
}
