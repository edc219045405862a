/*
 * svgdata.h - the block of data that our pictures carry: its format, its
 * writer's digits, its reader.
 *
 * An SVG or HTML picture made by render holds, as escaped text of the element
 * with id "flame-data", every frame of the profile:
 *
 *   block  = "flame-data 1\n" { key "=" value "\n" }
 *            "names " N "\n" N * ( colour name "\n" )
 *            "frames " N "\n" numbers
 *   colour = "#rgb" or "#rrggbb", then one blank
 *
 * Keys (newer versions may add some; readers skip what
 * they do not know): columns (1 or 2), scale (decimal digits k: a number n
 * stands for n / 10^k), thin (name id of the frames that gather what was too
 * light to keep, or absent), reverse, chart (1 or absent: the tree was merged
 * from the leaves, or keeps input order), "h.KEY" (field KEY of the folded
 * header), and what the picture shows: title, subtitle, and so on.
 *
 * Names are clean frames (see folded.h), marks included. Their order is by
 * falling frequency, so that common ones have short numbers.
 *
 * Frames come in preorder, the root of all first; it has no name. Each is
 *
 *   [ name ] self ...   one self per column, as before and after
 *   up                  left out in a one-column block where self is 0
 *
 * self is the frame's own weight, without children. up says where the next
 * frame hangs: 0 = it is a child of this one, n = a child of the n-th
 * ancestor of this one (1 = its sibling). Where it is left out it is 0. After
 * the last frame up is its depth + 1.
 *
 * A number v is written in the 86 digits of SVGDATA_DIGITS: v < 62 is the
 * digit of that value; else v - 62 = q * 24 + r gives the digit 62 + r,
 * followed by q written in the same way.
 */
#ifndef SHARE_SVGDATA_H
#define SHARE_SVGDATA_H

#include "share/buf.h"
#include "share/compat.h"
#include "share/err.h"
#include "share/weight.h"

#define SVGDATA_ID "flame-data"

/* Printable ASCII without what XML, HTML or a string literal could touch. */
#define SVGDATA_DIGITS                                                                             \
	"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"                           \
	"!#$%()*+,-./:;=?@[^_{|}~"
#define SVGDATA_LAST 62 /* digits that end a number */
#define SVGDATA_MORE 24 /* digits that go on */

/* Appends a number. */
void svgdata_number(struct buf *out, weight_fx value);

/* The result of svgdata_to_folded() is held to this many bytes. */
#define SVGDATA_MAX_FOLDED ((size_t)1 << 30)

/*
 * Appends the profile that a picture carries as folded text, header first,
 * root first whatever the picture merged from. picture: all of its bytes.
 * Returns 0, or -1 where there is no data block, or a damaged one.
 */
int svgdata_to_folded(struct slice picture, struct buf *out, struct err *err);

#endif
