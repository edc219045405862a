/* json.h - the tree as nested objects, the shape d3-flame-graph reads. */
#ifndef RENDER_JSON_H
#define RENDER_JSON_H

#include "render/layout.h"

/*
 * {"name": ..., "value": total, "children": [...]}; with two columns value is
 * the second one's and "before" the first one's, "delta" their difference.
 * Values are exact decimals. Names keep their marks.
 */
void json_write(const struct layout *layout, struct output *out);

#endif
