/* test_containers.c - buf, arena, strtab; with tiny blocks too. */
#include "share/compat.h"

#include "share/arena.h"
#include "share/buf.h"
#include "share/strtab.h"

#include <criterion/criterion.h>

Test(buf, grows)
{
	struct buf buf = {0};

	for (int i = 0; i < 1000; i++)
		buf_printf(&buf, "%d,", i);
	cr_expect_eq(buf.size, 10 * 2 + 90 * 3 + 900 * 4);
	cr_expect(strncmp(buf_text(&buf), "0,1,2,", 6) == 0);
	cr_expect_eq(buf.at[buf.size], '\0');
	buf_reset(&buf);
	cr_expect_str_eq(buf_text(&buf), "");
	buf_release(&buf);
}

Test(arena, pieces_do_not_overlap)
{
	static const size_t block_sizes[] = {1, 64, 0};

	for (size_t b = 0; b < ARRAY_SIZE(block_sizes); b++) {
		struct arena arena = {.block_size = block_sizes[b]};
		uint64_t *numbers[500];
		char *texts[500];

		for (int round = 0; round < 2; round++) {
			for (uint64_t i = 0; i < 500; i++) {
				char text[24];

				numbers[i] = arena_alloc(&arena, sizeof(uint64_t));
				cr_assert_eq((uintptr_t)numbers[i] % 8, 0);
				*numbers[i] = i;
				snprintf(text, sizeof(text), "text %d", (int)i);
				texts[i] = arena_copy(&arena, text, strlen(text));
			}
			for (uint64_t i = 0; i < 500; i++) {
				char text[24];

				snprintf(text, sizeof(text), "text %d", (int)i);
				cr_assert_eq(*numbers[i], i);
				cr_assert_str_eq(texts[i], text);
			}
			arena_reset(&arena);
		}
		arena_release(&arena);
		cr_expect_eq(arena.total_size, 0);
	}
}

Test(strtab, ids_are_dense_and_stable)
{
	struct strtab tab = {0};

	cr_expect_eq(strtab_find(&tab, "none", 4), UINT32_MAX);
	for (uint32_t i = 0; i < 10000; i++) {
		char text[24];

		snprintf(text, sizeof(text), "name %u", i);
		cr_assert_eq(strtab_cstr(&tab, text), i);
	}
	for (uint32_t i = 0; i < 10000; i++) {
		char text[24];

		snprintf(text, sizeof(text), "name %u", i);
		cr_assert_eq(strtab_cstr(&tab, text), i);
		cr_assert_eq(strtab_find(&tab, text, strlen(text)), i);
		cr_assert_str_eq(strtab_text(&tab, i), text);
	}
	cr_expect_eq(tab.nr, 10000);
	cr_expect_eq(strtab_find(&tab, "none", 4), UINT32_MAX);
	strtab_release(&tab);
}

Test(strtab, bytes_decide)
{
	struct strtab tab = {0};

	cr_expect_eq(strtab_id(&tab, "a\0b", 3), 0);
	cr_expect_eq(strtab_id(&tab, "a\0c", 3), 1);
	cr_expect_eq(strtab_id(&tab, "", 0), 2);
	cr_expect_eq(strtab_id(&tab, "a", 1), 3);
	cr_expect_eq(strtab_id(&tab, "a\0b", 3), 0);
	strtab_release(&tab);
}
