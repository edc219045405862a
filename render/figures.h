/*
 * figures.h - numbers as people read them, the same in every writer.
 *
 * All arithmetic is exact; rounding is half away from zero at the last digit
 * printed. Results go into out[FIGURE_TEXT], which each function returns.
 */
#ifndef RENDER_FIGURES_H
#define RENDER_FIGURES_H

#include "share/compat.h"
#include "share/weight.h"

#define FIGURE_TEXT 64

/* "microseconds" and "nanoseconds" are printed as s, ms or us; unit may be NULL. */
bool figure_is_time(const char *unit);

/* "1,234,567.5"; of a unit of time "1.235 s", its own unit behind it. */
char *figure_count(char *out, weight_fx weight, const char *unit);

/* "12.34%"; of nothing it is "0.00%". */
char *figure_percent(char *out, weight_fx part, weight_fx whole);

/* "+5", "-1,234.5" or "0": how after differs from before. */
char *figure_change(char *out, weight_fx before, weight_fx after, const char *unit);

/* "+12.50%", or "new" or "gone" where one side is nothing. */
char *figure_relative(char *out, weight_fx before, weight_fx after);

#endif
