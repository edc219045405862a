/*
 * source.h - the flame-*.js files, joined into one function, and flame.css,
 * embedded, written without what only their reader needs: indentation,
 * comment lines, blanks between tokens.
 *
 * Comments stand on lines of their own there; template literals are not used.
 */
#ifndef RENDER_SOURCE_H
#define RENDER_SOURCE_H

#include "share/compat.h"
#include "share/output.h"

void source_script(struct output *out);
void source_style(struct output *out);

/* Appends one line of JavaScript, squeezed. For tests. */
void source_squeeze(struct output *out, const char *line, size_t size);

#endif
