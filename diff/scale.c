#include "share/compat.h"
#include "diff/scale.h"

#include "share/num.h"

weight_fx scale_muldiv(weight_fx a, weight_fx b, weight_fx c)
{
	const weight_fx low_half = UINT64_MAX;
	weight_fx low, high, middle, rest, quotient = 0;

	if (!__builtin_mul_overflow(a, b, &low))
		return low / c;
	/* schoolbook product of 64-bit halves: high:low */
	middle = (a >> 64) * (b & low_half);
	low = (a & low_half) * (b & low_half);
	high = (a >> 64) * (b >> 64) + (middle >> 64);
	high += __builtin_add_overflow(low, middle << 64, &low);
	middle = (a & low_half) * (b >> 64);
	high += middle >> 64;
	high += __builtin_add_overflow(low, middle << 64, &low);
	if (high >= c)
		return ~(weight_fx)0;
	/* long division, a bit at a time: rare enough */
	rest = high;
	for (int bit = 127; bit >= 0; bit--) {
		bool carry = rest >> 127;

		rest = rest << 1 | (low >> bit & 1);
		quotient <<= 1;
		if (carry || rest >= c) {
			rest -= c;
			quotient |= 1;
		}
	}
	return quotient;
}

static void reduce(struct scale *scale)
{
	weight_fx a = scale->numerator, b = scale->denominator;

	while (b) {
		weight_fx rest = a % b;

		a = b;
		b = rest;
	}
	scale->numerator /= a;
	scale->denominator /= a;
}

/* "5.01 s on 2 cpus at 99 Hz": takes the number and the word behind it off the text. */
static bool take(const char **text, const char *word, weight_fx *number)
{
	size_t digits = strspn(*text, "0123456789."), size = strlen(word);

	if (!digits || weight_parse(*text, digits, number) != WEIGHT_OK)
		return false;
	*text += digits;
	if (strncasecmp(*text, word, size) != 0)
		return false;
	*text += size;
	return true;
}

weight_fx scale_watched(const struct folded_header *header)
{
	const char *text = folded_header_get(header, "sampled");
	const char *unit = folded_header_get(header, "unit");
	weight_fx seconds, cpus = WEIGHT_ONE, hertz;

	if (!text || !take(&text, " s", &seconds))
		return 0;
	if (strncmp(text, " on ", 4) == 0) {
		text += 4;
		if (!take(&text, " cpu", &cpus))
			return 0;
		text += *text == 's';
	}
	seconds = scale_muldiv(seconds, cpus, WEIGHT_ONE);
	if (strncmp(text, " at ", 4) == 0 && unit && strcmp(unit, "samples") == 0) {
		text += 4;
		if (take(&text, " Hz", &hertz))
			seconds = scale_muldiv(seconds, hertz, WEIGHT_ONE);
	}
	return seconds >> 100 ? 0 : seconds;
}

int scale_init(struct scale *scale, const struct join *join, enum scale_mode mode, struct err *err)
{
	weight_fx watched[2] = {0, 0};

	*scale = (struct scale){.numerator = 1, .denominator = 1};
	for (size_t i = 0; i < join->nr_runs; i++) {
		const struct join_run *run = &join->runs[i];
		weight_fx time = scale_watched(&run->header);

		if (!weight_add(&scale->totals[run->side], run->total))
			return err_set(err, "the counts of one side add up to 2^64 or more");
		if (mode == SCALE_TIME && !time)
			return err_set(err,
			               "--normalize=time needs the duration in the header of "
			               "every input ('# sampled: 5 s on 2 cpus at 99 Hz'); "
			               "number %zu has none",
			               i + 1);
		watched[run->side] += time;
	}
	if (mode == SCALE_TOTAL && scale->totals[JOIN_BEFORE] && scale->totals[JOIN_AFTER]) {
		scale->numerator = scale->totals[JOIN_AFTER];
		scale->denominator = scale->totals[JOIN_BEFORE];
	}
	if (mode == SCALE_TIME && watched[JOIN_BEFORE] && watched[JOIN_AFTER]) {
		scale->numerator = watched[JOIN_AFTER];
		scale->denominator = watched[JOIN_BEFORE];
	}
	reduce(scale);
	if (scale_muldiv(scale->totals[JOIN_BEFORE], scale->numerator, scale->denominator) >> 64 >=
	    WEIGHT_ONE)
		return err_set(err, "the scaled counts of the before side add up to 2^64 or more");
	return 0;
}

weight_fx scale_next(struct scale *scale, weight_fx weight)
{
	weight_fx before = scale->scaled;

	if (scale->numerator == scale->denominator)
		return weight;
	scale->sum += weight;
	scale->scaled = scale_muldiv(scale->sum, scale->numerator, scale->denominator);
	return scale->scaled - before;
}
