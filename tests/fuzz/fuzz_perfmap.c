/* fuzz_perfmap.c - the map of a JIT, over any bytes. */
#include "share/compat.h"

#include "collapse/names/perfmap.h"
#include "share/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = mem_alloc(size + 1);
	struct symtab *symtab;

	memcpy(copy, data, size);
	symtab = perfmap_parse(copy, size);
	for (uint64_t i = 0; symtab && i < symtab->ranges.nr_flat; i++)
		if (symtab_find(symtab, symtab->ranges.starts[i]).size > size)
			abort();
	symtab_free(symtab);
	return 0;
}
