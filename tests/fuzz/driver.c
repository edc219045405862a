/*
 * driver.c - runs a fuzz target over the files named on the command line, so
 * that kept inputs are replayed with any compiler.
 */
#include "share/compat.h"

#include "share/err.h"
#include "share/input.h"
#include "share/msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		FILE *file = fopen(argv[i], "rb");
		static uint8_t data[16 << 20];
		uint8_t *exact;
		size_t size;

		if (!file)
			return EXIT_FAILED;
		size = fread(data, 1, sizeof(data), file);
		fclose(file);
		/* a block of just this size lets sanitizers see any overrun */
		exact = malloc(size ? size : 1);
		if (!exact)
			return EXIT_FAILED;
		memcpy(exact, data, size);
		LLVMFuzzerTestOneInput(exact, size);
		free(exact);
	}
	return EXIT_COMPLETE;
}
