/* fuzz_svgdata.c - the reader of pictures' data blocks, over any bytes. */
#include "share/compat.h"

#include "share/svgdata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf out = {0};
	struct err err;

	if (svgdata_to_folded((struct slice){(const char *)data, size}, &out, &err) == 0 &&
	    out.size && out.at[out.size - 1] != '\n')
		abort();
	buf_release(&out);
	return 0;
}
