#include "share/compat.h"
#include "render/palette.h"

#include "render/palettemap.h"

#include "share/mem.h"
#include "share/num.h"

const char *const palette_names[PALETTE_NR] = {
        "hot",  "mem",    "io",     "java",   "js",        "perl",    "python",
        "rust", "wakeup", "chain",  "wait",   "red",       "green",   "blue",
        "aqua", "yellow", "purple", "orange", "by-module", "by-type", "by-width",
};

/* The two ends of a hue family; names lie between them, some paler. */
struct family {
	uint32_t from, to;
};

static const struct family families[] = {
        [PALETTE_HOT] = {0xf0703c, 0xffcf5c},    [PALETTE_MEM] = {0x6cc26a, 0x8fdcc0},
        [PALETTE_IO] = {0x7c96e8, 0x8ac9f2},     [PALETTE_RED] = {0xf0685c, 0xf79a84},
        [PALETTE_GREEN] = {0x74c365, 0xa9dd7c},  [PALETTE_BLUE] = {0x6f9df0, 0x95bdf7},
        [PALETTE_AQUA] = {0x4fbcc4, 0x86dcd9},   [PALETTE_YELLOW] = {0xe6c243, 0xf5dd72},
        [PALETTE_WAIT] = {0x9a93ec, 0xb5b4f5},   [PALETTE_PURPLE] = {0xb884e0, 0xd6a8f0},
        [PALETTE_ORANGE] = {0xf2933c, 0xf9b868},
};

#define GREY 0xcccccc

static uint32_t mix(uint32_t a, uint32_t b, unsigned share)
{
	uint32_t colour = 0;

	for (int shift = 16; shift >= 0; shift -= 8) {
		int x = (int)(a >> shift & 0xff), y = (int)(b >> shift & 0xff);

		colour |= (uint32_t)(x + (y - x) * (int)share / 255) << shift;
	}
	return colour;
}

/* To four bits a channel: short to write, and finer than the eye needs here. */
static uint32_t coarse(uint32_t colour)
{
	return (colour >> 4 & 0x0f0f0f) * 0x11;
}

static uint32_t shade(enum palette_kind family, struct slice name)
{
	uint64_t hash = hash_bytes(name.at, name.size);
	uint32_t colour =
	        mix(families[family].from, families[family].to, (unsigned)(hash >> 8 & 0xff));

	return coarse(mix(colour, 0xffffff, (unsigned)(hash >> 16 & 0xff) / 5));
}

struct slice palette_unmark(struct slice name, char *mark)
{
	*mark = 0;
	if (name.size > 4 && memcmp(name.at + name.size - 4, "_[", 2) == 0 &&
	    name.at[name.size - 1] == ']' && memchr("kijw", name.at[name.size - 2], 4)) {
		*mark = name.at[name.size - 2];
		name.size -= 4;
	}
	return name;
}

static bool holds(struct slice name, const char *part)
{
	return memmem(name.at, name.size, part, strlen(part)) != NULL;
}

static bool ends(struct slice name, const char *tail)
{
	size_t size = strlen(tail);

	return name.size >= size && memcmp(name.at + name.size - size, tail, size) == 0;
}

static bool is_java_path(struct slice name)
{
	static const char *const roots[] = {"java", "javax", "jdk", "net",
	                                    "org",  "com",   "io",  "sun"};

	if (name.size && name.at[0] == 'L')
		name = (struct slice){name.at + 1, name.size - 1};
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		size_t size = strlen(roots[i]);

		if (slice_starts(name, roots[i]) && name.size > size &&
		    (name.at[size] == '/' || name.at[size] == '.'))
			return true;
	}
	return false;
}

/* The rules of java, js and perl are those of flamegraph.pl, by intent. */
static enum palette_kind java_family(struct slice name, char mark)
{
	if (mark == 'j' || (!mark && is_java_path(name)))
		return PALETTE_GREEN;
	return mark == 'i' ? PALETTE_AQUA : holds(name, "::") ? PALETTE_YELLOW : PALETTE_RED;
}

static enum palette_kind js_family(struct slice name, char mark)
{
	if (mark == 'j')
		return holds(name, "/") ? PALETTE_GREEN : PALETTE_AQUA;
	if (holds(name, "::"))
		return PALETTE_YELLOW;
	if (holds(name, ".js") || holds(name, ".mjs") || holds(name, ".ts"))
		return PALETTE_GREEN;
	return slice_starts(name, "JS:") || holds(name, ":") ? PALETTE_AQUA : PALETTE_RED;
}

static enum palette_kind python_family(struct slice name)
{
	if (!slice_starts(name, "py::") && !holds(name, ".py") && !holds(name, "<frozen"))
		return holds(name, "::") ? PALETTE_YELLOW : PALETTE_RED;
	if (holds(name, "site-packages") || holds(name, "dist-packages"))
		return PALETTE_AQUA;
	return holds(name, "<frozen") || holds(name, "/lib/python") ? PALETTE_BLUE : PALETTE_GREEN;
}

static enum palette_kind rust_family(struct slice name)
{
	static const char *const standard[] = {
	        "std::", "core::", "alloc::", "<std::", "<core::", "<alloc::"};

	for (size_t i = 0; i < ARRAY_SIZE(standard); i++)
		if (slice_starts(name, standard[i]))
			return PALETTE_BLUE;
	return holds(name, "::") ? PALETTE_GREEN : PALETTE_RED;
}

static enum palette_kind type_family(char mark)
{
	return mark == 'i' ? PALETTE_AQUA :
	       mark == 'j' ? PALETTE_GREEN :
	       mark == 'w' ? PALETTE_PURPLE :
	                     PALETTE_HOT;
}

static enum palette_kind family_of(enum palette_kind kind, struct slice name, char mark)
{
	if (mark == 'k' && kind != PALETTE_HOT && (kind <= PALETTE_RUST || kind == PALETTE_BY_TYPE))
		return kind == PALETTE_MEM || kind == PALETTE_IO ? kind : PALETTE_ORANGE;
	switch (kind) {
	case PALETTE_JAVA:
		return java_family(name, mark);
	case PALETTE_JS:
		return js_family(name, mark);
	case PALETTE_PERL:
		return holds(name, "Perl") || holds(name, ".pl") ? PALETTE_GREEN :
		       holds(name, "::")                         ? PALETTE_YELLOW :
		                                                   PALETTE_RED;
	case PALETTE_PYTHON:
		return python_family(name);
	case PALETTE_RUST:
		return rust_family(name);
	case PALETTE_WAKEUP:
		return PALETTE_AQUA;
	case PALETTE_CHAIN:
		return mark == 'w' ? PALETTE_AQUA : PALETTE_BLUE;
	case PALETTE_WAIT:
		return mark == 'k' ? PALETTE_WAIT : mark == 'w' ? PALETTE_AQUA : PALETTE_BLUE;
	case PALETTE_BY_TYPE:
		return type_family(mark);
	default:
		return kind;
	}
}

/* ---- by module ---- */

/*
 * What names of the various runtimes begin with that says where they come
 * from: "module`function" (DTrace), "function [module]" or "(module)" at the
 * end, "a/b/C.method" (JVM), "a::b::c" (C++, Rust), "a.b.c".
 */
static struct slice module_of(struct slice name)
{
	static const char *const separators[] = {"`", "/", "::", "."};
	const char *open;

	if (ends(name, "]") && (open = memrchr(name.at, '[', name.size)))
		return (struct slice){open, name.size - (size_t)(open - name.at)};
	if (ends(name, ")") && (open = memrchr(name.at, '(', name.size)) && open > name.at &&
	    open[-1] == ' ') {
		const char *colon = memchr(open, ':', name.size - (size_t)(open - name.at));
		const char *end = colon ? colon : name.at + name.size - 1;

		return (struct slice){open + 1, (size_t)(end - open - 1)};
	}
	for (size_t i = 0; i < ARRAY_SIZE(separators); i++) {
		const char *at = memmem(name.at, name.size, separators[i], strlen(separators[i]));
		size_t lead = 0;

		if (!at)
			continue;
		while (name.at + lead < at && strchr("<&*", name.at[lead]))
			lead++;
		if (at > name.at + lead)
			return (struct slice){name.at + lead, (size_t)(at - name.at) - lead};
	}
	return (struct slice){"", 0};
}

static uint32_t module_colour(struct slice name, char mark)
{
	/* twelve hues that dark text stays readable on */
	static const uint32_t hues[] = {0xf28e7a, 0xf7b267, 0xf2d06b, 0xc5d86d, 0x8fd18a, 0x6fcfb0,
	                                0x74cfe0, 0x82b8f0, 0xa3a8f0, 0xc79fec, 0xe79fdc, 0xf09ab0};
	struct slice module = module_of(name);
	uint32_t hue;

	if (mark == 'k')
		return shade(PALETTE_ORANGE, name);
	if (!module.size)
		return shade(PALETTE_HOT, name);
	hue = hues[hash_bytes(module.at, module.size) % ARRAY_SIZE(hues)];
	return coarse(mix(hue, 0xffffff, (unsigned)(hash_bytes(name.at, name.size) & 0xff) / 4));
}

/* The frames that say why a thread was off the CPU, in whatever picture. */
static bool is_wait(struct slice name)
{
	static const char *const waits[] = {"[sleeping]", "[disk]",    "[runnable]",
	                                    "[stopped]",  "[waiting]", "[short waits]"};

	for (size_t i = 0; i < ARRAY_SIZE(waits); i++)
		if (slice_equals(name, waits[i]))
			return true;
	return false;
}

/* ---- the interface ---- */

uint32_t palette_colour(enum palette_kind kind, const struct palette_map *map, struct slice name)
{
	char mark;

	uint32_t colour;

	if (map && palette_map_find(map, name, &colour))
		return colour;
	name = palette_unmark(name, &mark);
	if (is_wait(name))
		return shade(PALETTE_BLUE, name);
	/* [unknown], [truncated] and their like say what is missing */
	if (name.size && name.at[0] == '[' && ends(name, "]"))
		return GREY;
	if (kind == PALETTE_BY_MODULE)
		return module_colour(name, mark);
	if (kind == PALETTE_BY_WIDTH)
		return palette_share(0);
	return shade(family_of(kind, name, mark), name);
}

uint32_t palette_share(unsigned share)
{
	return share < 128 ? coarse(mix(0xf7efdc, 0xffc84a, share * 2)) :
	                     coarse(mix(0xffc84a, 0xf0602c, (share - 128) * 2));
}

/*
 * Vermilion and blue: told apart with every common colour blindness (Okabe
 * and Ito, "Color Universal Design", 2008, the pair D55E00 and 0072B2), here
 * lightened for dark text. The square root makes small changes visible.
 */
uint32_t palette_change(int change)
{
	unsigned size = (unsigned)(change < 0 ? -change : change), root = 0;

	while ((root + 1) * (root + 1) <= size * 255)
		root++;
	return mix(0xeeeeee, change < 0 ? 0x56a0e0 : 0xf2703a, root);
}

size_t palette_format(char *out, uint32_t colour)
{
	bool is_short = (colour >> 4 & 0x0f0f0f) == (colour & 0x0f0f0f);
	size_t size = 0;

	out[size++] = '#';
	for (int shift = 20; shift >= 0; shift -= is_short ? 8 : 4)
		out[size++] = "0123456789abcdef"[colour >> shift & 15];
	out[size] = '\0';
	return size;
}

bool palette_parse_hex(const char *text, size_t size, uint32_t *colour)
{
	uint64_t value;

	if ((size != 4 && size != 7) || text[0] != '#' || num_parse_hex(text + 1, size - 1, &value))
		return false;
	if (size == 4)
		value = (value & 0xf00) * 0x1100 + (value & 0xf0) * 0x110 + (value & 0xf) * 0x11;
	*colour = (uint32_t)value;
	return true;
}
