#include "share/compat.h"
#include "render/figures.h"

#include "share/num.h"

static weight_fx ns_of_one(const char *unit)
{
	return !unit                             ? 0 :
	       strcmp(unit, "microseconds") == 0 ? 1000 :
	       strcmp(unit, "nanoseconds") == 0  ? 1 :
	                                           0;
}

bool figure_is_time(const char *unit)
{
	return ns_of_one(unit) != 0;
}

/* Three digits behind the point; picoseconds are what thousandths of the least unit are. */
static char *figure_time(char *out, weight_fx ps)
{
	const char *unit = ps >= 1000000000000u ? "s" : ps >= 1000000000u ? "ms" : "us";
	weight_fx last = (ps >= 1000000000000u ? 1000000000u :
	                  ps >= 1000000000u    ? 1000000u :
	                                         1000u);
	uint64_t value = (uint64_t)((ps * 2 + last) / (last * 2));
	size_t size;

	if (!ps)
		return memcpy(out, "0 us", 5);
	num_format_grouped(out, value / 1000);
	size = strlen(out);
	snprintf(out + size, FIGURE_TEXT - size, ".%03u %s", (unsigned)(value % 1000), unit);
	return out;
}

char *figure_count(char *out, weight_fx weight, const char *unit)
{
	char exact[WEIGHT_TEXT];
	const char *point;

	if (figure_is_time(unit))
		return figure_time(out, weight / (WEIGHT_ONE / 1000) * ns_of_one(unit));
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

char *figure_change(char *out, weight_fx before, weight_fx after, const char *unit)
{
	if (before == after)
		return memcpy(out, "0", 2);
	*out = after > before ? '+' : '-';
	figure_count(out + 1, after > before ? after - before : before - after, unit);
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
