/* test_collect_elfsyms.c - the small ELF reader, on this very program, and build-ids. */
#include "share/compat.h"

#include "collect/buildid.h"
#include "collect/elfsyms.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

int a_function_of_this_test(int x);

__attribute__((noinline)) int a_function_of_this_test(int x)
{
	return x * 3 + 1;
}

Test(elfsyms, finds_functions)
{
	struct elfsyms elf;
	uint64_t offset, entry;
	struct err err;

	cr_assert_eq(elfsyms_open(&elf, "/proc/self/exe", &err), 0, "%s", err.text);
	cr_assert_eq(elfsyms_function(&elf, "a_function_of_this_test", &offset), 0);
	/* the bytes there are those of the function in memory */
	cr_assert_lt(offset, elf.size - 16);
	cr_assert_arr_eq(elf.at + offset, (const uint8_t *)(uintptr_t)&a_function_of_this_test, 8);
	cr_assert_eq(elfsyms_function(&elf, "no_such_function", &offset), -1);
	cr_assert_eq(elfsyms_offset(&elf, ~0ull, &offset), -1);
	cr_assert_eq(elfsyms_entry(&elf, &entry), 0);
	cr_assert(elfsyms_is_dynamic(&elf));
	elfsyms_close(&elf);
}

Test(elfsyms, refuses_what_is_no_elf)
{
	static const uint8_t text[128] = "#!/bin/sh\n";
	uint8_t head[128] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2MSB};
	struct elfsyms elf;
	struct err err;

	cr_assert_eq(elfsyms_open(&elf, "/no/such/file", &err), -1);
	cr_assert(strstr(err.text, "No such file"), "%s", err.text);
	cr_assert_eq(elfsyms_from_memory(&elf, text, sizeof(text), &err), -1);
	cr_assert(strstr(err.text, "no ELF file"), "%s", err.text);
	cr_assert_eq(elfsyms_from_memory(&elf, head, 20, &err), -1);
	cr_assert_eq(elfsyms_from_memory(&elf, head, sizeof(head), &err), -1);
	cr_assert(strstr(err.text, "other byte order"), "%s", err.text);
}

Test(buildid, notes)
{
	/* another note first; the id after it */
	static const uint8_t notes[] = {
	        4, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 'G', 'N', 'U', 0, 9, 9, 9, 0,
	        4, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 1, 2, 3, 4,
	};
	static const uint8_t wanted[] = {1, 2, 3, 4};
	uint8_t huge[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	                  3,    0,    0,    0,    'G',  'N',  'U',  0};
	uint8_t id[BUILD_ID_MAX];

	cr_assert_eq(build_id_of_notes(notes, sizeof(notes), id), 4);
	cr_assert_arr_eq(id, wanted, 4);
	for (size_t size = 0; size < sizeof(notes); size++)
		cr_assert_eq(build_id_of_notes(notes, size, id), 0, "cut at %zu", size);
	cr_assert_eq(build_id_of_notes(huge, sizeof(huge), id), 0);
}

Test(buildid, of_this_program)
{
	uint8_t id[BUILD_ID_MAX], other[BUILD_ID_MAX];
	int fd = open("/proc/self/exe", O_RDONLY), null = open("/dev/null", O_RDONLY);
	size_t size = build_id_of_file(fd, id);

	/* gcc of Debian adds one */
	cr_assert(size == 0 || size == 20, "%zu", size);
	cr_assert_eq(build_id_of_file(null, other), 0);
	close(fd);
	close(null);
}
