#include "share/compat.h"
#include "render/figures.h"

#include "share/num.h"

char *figure_count(char *out, weight_fx weight)
{
	char exact[WEIGHT_TEXT];
	const char *point;

	weight_format(exact, weight);
	point = strchr(exact, '.');
	num_format_grouped(out, (uint64_t)(weight / WEIGHT_ONE));
	if (point) {
		size_t size = strlen(out);

		memcpy(out + size, point, strlen(point) + 1);
	}
	return out;
}

/* part / whole in hundredths of a percent */
static uint64_t hundredths(weight_fx part, weight_fx whole)
{
	if (!whole)
		return 0;
	/* weights are below 2^94: room for the factor in 128 bits */
	return (uint64_t)((part * 20000 + whole) / (whole * 2));
}

char *figure_percent(char *out, weight_fx part, weight_fx whole)
{
	uint64_t value = hundredths(part, whole);
	size_t size = num_format_u64(out, value / 100);

	out[size++] = '.';
	out[size++] = (char)('0' + value / 10 % 10);
	out[size++] = (char)('0' + value % 10);
	out[size++] = '%';
	out[size] = '\0';
	return out;
}

char *figure_change(char *out, weight_fx before, weight_fx after)
{
	if (before == after)
		return memcpy(out, "0", 2);
	*out = after > before ? '+' : '-';
	figure_count(out + 1, after > before ? after - before : before - after);
	return out;
}

char *figure_relative(char *out, weight_fx before, weight_fx after)
{
	if (before && !after)
		return memcpy(out, "gone", 5);
	if (!before && after)
		return memcpy(out, "new", 4);
	*out = after >= before ? '+' : '-';
	figure_percent(out + 1, after >= before ? after - before : before - after, before);
	return out;
}
