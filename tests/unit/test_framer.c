/* test_framer.c - stacks to name ids, against a plain split of the same text. */
#include "share/compat.h"

#include "share/folded.h"
#include "share/framer.h"
#include "share/mem.h"

#include <criterion/criterion.h>

static struct framer framer;
static struct strtab names, plain;

/* Splits the stack both ways; the names must be the same, one by one. */
static void split(const char *text, size_t size)
{
	struct slice rest = {text, size}, frame;
	size_t nr, i = 0;
	const uint32_t *ids = framer_split(&framer, &names, rest, &nr);

	for (; folded_frame(&rest, &frame); i++) {
		struct slice name;

		cr_assert_lt(i, nr, "%.*s: %zu frames only", (int)size, text, nr);
		name = strtab_slice(&names, ids[i]);
		cr_assert(name.size == frame.size && memcmp(name.at, frame.at, frame.size) == 0,
		          "%.*s: frame %zu is '%.*s'", (int)size, text, i, (int)name.size, name.at);
		cr_assert_eq(ids[i], strtab_id(&plain, frame.at, frame.size));
	}
	cr_assert_eq(i, nr, "%.*s: %zu frames", (int)size, text, nr);
}

static void release(void)
{
	framer_release(&framer);
	strtab_release(&names);
	strtab_release(&plain);
}

Test(framer, odd_stacks, .fini = release)
{
	static const char *const rows[] = {
	        "a",        "a;b",       "a;b;c", "a;b",  "",     ";",    ";;;",
	        ";a",       "a;",        "a;;b",  "a;b;", ";;a;", "a;bb", "a;b b",
	        "a;b;c;d;", "a;b;c;dd;", "aa;b",  "a;b",  "\1",   "x",    "a;b;c;d;e;f;g",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t j = 0; j < ARRAY_SIZE(rows); j++) {
			split(rows[i], strlen(rows[i]));
			split(rows[j], strlen(rows[j]));
		}
	/* NULs are bytes like others, many empty frames are none */
	split("\0;\0\0;x", 6);
	split((const char[200]){0}, 200);
	split("a;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;"
	      "b",
	      83);
}

/* Names of all sizes around the blocks they are looked at in, equal but for one byte. */
Test(framer, sizes, .fini = release)
{
	char text[1024];

	for (size_t size = 1; size < 200; size++)
		for (size_t change = 0; change < size; change += 1 + size / 9) {
			size_t at = 0;

			for (int twin = 0; twin < 4; twin++) {
				memset(text + at, 'x', size);
				text[at + change] = twin % 2 ? 'y' : 'x';
				at += size;
				text[at++] = ';';
			}
			split(text, at - 1);
			split(text + 1, at - 2);
			split(text, at);
		}
}

/* More names than slots, and of one hash: of each only the bytes between those that are hashed. */
Test(framer, many_names, .fini = release)
{
	char text[128];

	for (int turn = 0; turn < 2; turn++)
		for (int i = 0; i < 200000; i += 1 + 60 * turn) {
			int size = snprintf(text, sizeof(text),
			                    "main;f%d;common%06dmid-dle-%06dtail--end;x", i, i % 5,
			                    i % 7);

			split(text, (size_t)size);
		}
}

Test(framer, depth_and_length, .fini = release)
{
	size_t size = 1 << 20;
	char *text = mem_alloc(size);

	for (size_t i = 0; i < size; i++)
		text[i] = i % 2 ? ';' : 'a' + (char)(i / 2 % 26);
	split(text, size);
	split(text, size - 2);
	memset(text, 'n', size);
	split(text, size);
	text[size / 2] = ';';
	split(text, size);
	memset(text, ';', size);
	split(text, size);
	free(text);
}
