/* datablock.h - writes the data block of a picture (share/svgdata.h). */
#ifndef RENDER_DATABLOCK_H
#define RENDER_DATABLOCK_H

#include "render/picture.h"

/* The whole block, escaped, without the element around it. */
void datablock_write(const struct picture *picture, const struct layout *layout,
                     struct output *out);

#endif
