/* fuzz_elfsyms.c - the ELF reader of probes, and build-ids, on any bytes. */
#include "share/compat.h"

#include "collect/buildid.h"
#include "collect/elfsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static bool count_function(const char *name, uint64_t vaddr, void *arg)
{
	uint64_t *sum = arg;

	*sum += strlen(name) + vaddr;
	return false;
}

static bool count_probe(const struct elfsyms_usdt *probe, void *arg)
{
	uint64_t *sum = arg;

	*sum += strlen(probe->provider) + strlen(probe->name) + probe->offset;
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	/* the reader expects the alignment that mmap gives */
	uint8_t *copy = aligned_alloc(16, (size + 16) & ~(size_t)15);
	uint8_t id[BUILD_ID_MAX];
	struct elfsyms elf;
	uint64_t sum = 0;
	struct err err;

	memcpy(copy, bytes, size);
	if (elfsyms_from_memory(&elf, copy, size, &err) == 0) {
		elfsyms_each(&elf, count_function, &sum);
		elfsyms_each_usdt(&elf, count_probe, &sum);
		elfsyms_function(&elf, "main", &sum);
		elfsyms_entry(&elf, &sum);
		elfsyms_is_dynamic(&elf);
		elfsyms_close(&elf);
	}
	build_id_of_notes(copy, size, id);
	free(copy);
	return 0;
}
