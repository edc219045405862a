/*
 * palette.h - a colour for each name.
 *
 * A colour depends on the name alone (marks included where the palette looks
 * at them), so a function looks the same in every picture, run and machine:
 * integer arithmetic only. Fills are light enough for dark text.
 */
#ifndef RENDER_PALETTE_H
#define RENDER_PALETTE_H

#include "share/compat.h"
#include "share/strtab.h"

enum palette_kind {
	PALETTE_HOT,
	PALETTE_MEM,
	PALETTE_IO,
	PALETTE_JAVA,
	PALETTE_JS,
	PALETTE_PERL,
	PALETTE_PYTHON,
	PALETTE_RUST,
	PALETTE_WAKEUP,
	PALETTE_CHAIN,
	PALETTE_WAIT, /* what waits in blue, its kernel part apart, who ended it in aqua */
	PALETTE_RED,
	PALETTE_GREEN,
	PALETTE_BLUE,
	PALETTE_AQUA,
	PALETTE_YELLOW,
	PALETTE_PURPLE,
	PALETTE_ORANGE,
	PALETTE_BY_MODULE,
	PALETTE_BY_TYPE,
	PALETTE_BY_WIDTH, /* from the frame's share: palette_share() */
	PALETTE_NR,
};

extern const char *const palette_names[PALETTE_NR];

struct palette_map;

/* 0xRRGGBB. map may be NULL. */
uint32_t palette_colour(enum palette_kind kind, const struct palette_map *map, struct slice name);

/* For PALETTE_BY_WIDTH: share of the root in 0..255. */
uint32_t palette_share(unsigned share);

/* For differences: change in -255..255; more is red and less is blue. */
uint32_t palette_change(int change);

/*
 * The name without its mark, and the mark's letter (k, i, j, w) or 0. An
 * "_[k]" that is the whole name is no mark.
 */
struct slice palette_unmark(struct slice name, char *mark);

/* "#rgb" or "#rrggbb" into out[8]; returns its size. */
size_t palette_format(char *out, uint32_t colour);

/* "#rgb", "#rrggbb" -> 0xRRGGBB; false for anything else. */
bool palette_parse_hex(const char *text, size_t size, uint32_t *colour);

#endif
