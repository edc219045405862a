#include "share/compat.h"
#include "share/svgdata.h"

static const char digits[] = SVGDATA_DIGITS;

_Static_assert(sizeof(digits) - 1 == SVGDATA_LAST + SVGDATA_MORE, "every digit has a value");

void svgdata_number(struct buf *out, weight_fx value)
{
	while (value >= SVGDATA_LAST) {
		value -= SVGDATA_LAST;
		buf_char(out, digits[SVGDATA_LAST + value % SVGDATA_MORE]);
		value /= SVGDATA_MORE;
	}
	buf_char(out, digits[value]);
}
