/* fuzz_canon.c - canonical names: any name, any rules; a canonical name is its own. */
#include "share/compat.h"

#include "diff/canon.h"
#include "share/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct canon canon = {0};
	struct slice once, twice;
	char *kept;

	/* the first two bytes choose rules and place; the join never has empty names */
	if (size < 3)
		return 0;
	canon.rules = data[0];
	once = canon_name(&canon, (struct slice){(const char *)data + 2, size - 2}, data[1] & 1);
	if (!once.size)
		abort();
	kept = mem_strndup(once.at, once.size);
	once.at = kept;
	twice = canon_name(&canon, once, data[1] & 1);
	if (twice.size != once.size || memcmp(twice.at, once.at, once.size) != 0)
		abort();
	free(kept);
	canon_release(&canon);
	return 0;
}
