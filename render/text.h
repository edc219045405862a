/*
 * text.h - a report for the terminal: the heaviest functions by their own
 * weight and by the weight of all below them, then the tree of calls.
 * In the tree the heaviest of siblings comes first, but a flame chart keeps its
 * order.
 */
#ifndef RENDER_TEXT_H
#define RENDER_TEXT_H

#include "render/picture.h"

struct text_options {
	unsigned top;     /* functions in each table */
	double threshold; /* least share of a frame in the tree, percent */
	bool colour;      /* escape sequences (ECMA-48 SGR) */
	unsigned width;   /* columns; 0 = that of the terminal, else 100 */
};

/* Lines are cut on whole code points to fit the width. */
void text_write(const struct text_options *options, const struct picture *picture,
                const struct layout *layout, struct output *out);

#endif
