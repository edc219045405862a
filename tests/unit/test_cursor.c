/* test_cursor.c - values out of a piece of memory, and out of none. */
#include "share/compat.h"

#include "collapse/records/cursor.h"

#include <criterion/criterion.h>

Test(cursor, an_empty_section_is_at_an_address)
{
	struct cursor cursor = cursor_of(NULL, 0);

	cr_expect_not_null(cursor.at);
	cr_expect_eq(cursor_left(&cursor), 0);
	cr_expect(cursor_skip(&cursor, 0) && !cursor.bad);
	cr_expect_eq(cursor_uint(&cursor, 4), 0);
	cr_expect(cursor.bad);
}
