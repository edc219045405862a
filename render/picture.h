/*
 * picture.h - the SVG and HTML writers, and what one picture is to show.
 *
 * A picture is complete without scripting: frames of at least min_width,
 * drawn at fixed coordinates, with tooltips. It also carries every frame of
 * the layout as a data block (share/svgdata.h), from which the script makes the
 * interactive version.
 */
#ifndef RENDER_PICTURE_H
#define RENDER_PICTURE_H

#include "render/layout.h"
#include "render/nameattr.h"
#include "render/palette.h"

#include <regex.h>

enum theme { THEME_AUTO, THEME_LIGHT, THEME_DARK };

struct picture {
	/* texts; NULL = none, or a default where one is named */
	const char *title, *subtitle, *notes;
	const char *count_name; /* default "samples" */
	const char *name_type;  /* default "Function:" */
	const char *search;     /* an extended regular expression, or NULL */
	const regex_t *search_regex;

	bool html;      /* an HTML page around the same thing */
	bool no_script; /* the static picture alone, without data */
	bool inverted;  /* the root on top */
	bool negate;    /* swap the hues of a difference */
	enum theme theme;
	enum palette_kind palette;
	const struct palette_map *palette_map; /* or NULL */
	const struct nameattr *attributes;     /* or NULL */
	/* colours; NULL for the theme's */
	const char *background;
	const char *text_colour; /* of what stands around the frames */
	const char *stroke;      /* around each frame; NULL = none */
	uint32_t search_colour;

	unsigned width; /* pixels; 0 = as wide as the window, 1200 without scripting */
	unsigned frame_height;
	double min_width; /* pixels, or percent of all */
	bool min_is_percent;
	const char *font;   /* family for frames, or NULL */
	unsigned font_size; /* pixels */
	double font_width;  /* mean width of a character, in units of font_size */

	const struct folded_header *header; /* of the input */
};

/* Widths a picture can have, in pixels. */
#define PICTURE_MIN_WIDTH 100
#define PICTURE_MAX_WIDTH 30000

void picture_write(const struct picture *picture, const struct layout *layout, struct output *out);

#endif
