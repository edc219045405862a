#include "share/compat.h"
#include "share/weight.h"

#include "share/num.h"

static const weight_fx too_large = (weight_fx)WEIGHT_ONE << 64;

/* digits with at most one point among them */
static enum weight_parse parse_unsigned(const char *text, size_t size, weight_fx *weight)
{
	const char *end = text + size;
	uint64_t whole = 0, fraction = 0;
	uint32_t unit = WEIGHT_ONE;
	bool digits = false, round_up = false, overflow = false;

	for (; text < end && *text >= '0' && *text <= '9'; text++) {
		digits = true;
		overflow |= __builtin_mul_overflow(whole, 10, &whole) ||
		            __builtin_add_overflow(whole, (unsigned)(*text - '0'), &whole);
	}
	if (text < end && *text == '.') {
		for (text++; text < end && *text >= '0' && *text <= '9'; text++) {
			digits = true;
			if (unit > 1) {
				unit /= 10;
				fraction += (unsigned)(*text - '0') * (uint64_t)unit;
			} else if (unit == 1) {
				round_up = *text >= '5';
				unit = 0;
			}
		}
	}
	if (text != end || !digits)
		return WEIGHT_NOT_A_NUMBER;
	if (overflow)
		return WEIGHT_TOO_LARGE;
	*weight = weight_from_u64(whole) + fraction + round_up;
	return *weight < too_large ? WEIGHT_OK : WEIGHT_TOO_LARGE;
}

enum weight_parse weight_parse(const char *text, size_t size, weight_fx *weight)
{
	bool is_negative = size && *text == '-';
	enum weight_parse result = parse_unsigned(text + is_negative, size - is_negative, weight);

	return is_negative && result != WEIGHT_NOT_A_NUMBER ? WEIGHT_NEGATIVE : result;
}

bool weight_add(weight_fx *sum, weight_fx weight)
{
	if (*sum + weight >= too_large)
		return false;
	*sum += weight;
	return true;
}

size_t weight_format(char *out, weight_fx weight)
{
	uint32_t fraction = (uint32_t)(weight % WEIGHT_ONE);
	size_t size = num_format_u64(out, (uint64_t)(weight / WEIGHT_ONE));

	if (fraction) {
		out[size++] = '.';
		for (uint32_t unit = WEIGHT_ONE / 10; fraction; unit /= 10) {
			out[size++] = (char)('0' + fraction / unit);
			fraction %= unit;
		}
	}
	out[size] = '\0';
	return size;
}
