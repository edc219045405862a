#include "share/compat.h"
#include "share/num.h"

int num_parse_u64(const char *text, size_t size, uint64_t *value)
{
	uint64_t v = 0;

	if (!size)
		return -1;
	for (size_t i = 0; i < size; i++) {
		unsigned digit = (unsigned char)text[i] - '0';

		if (digit > 9 || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, digit, &v))
			return -1;
	}
	*value = v;
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

int num_parse_hex(const char *text, size_t size, uint64_t *value)
{
	uint64_t v = 0;

	if (size > 2 && text[0] == '0' && (text[1] | 0x20) == 'x') {
		text += 2;
		size -= 2;
	}
	if (!size)
		return -1;
	for (size_t i = 0; i < size; i++) {
		int digit = hex_digit(text[i]);

		if (digit < 0 || v >> 60)
			return -1;
		v = v << 4 | (unsigned)digit;
	}
	*value = v;
	return 0;
}

int num_parse_real(const char *text, double *value)
{
	double v = 0, unit = 1;
	const char *p = text;

	for (; *p >= '0' && *p <= '9'; p++)
		v = v * 10 + (*p - '0');
	if (*p == '.')
		for (p++; *p >= '0' && *p <= '9'; p++)
			v += (*p - '0') * (unit /= 10);
	if (*p || p == text || (p == text + 1 && *text == '.'))
		return -1;
	*value = v;
	return 0;
}

/* Splits "12ms" into 12 and "ms"; the number may have a fraction. */
static int split_unit(const char *text, double *number, const char **unit)
{
	size_t size = strspn(text, "0123456789.");
	char digits[32];

	if (!size || size >= sizeof(digits))
		return -1;
	memcpy(digits, text, size);
	digits[size] = '\0';
	*unit = text + size;
	return num_parse_real(digits, number);
}

struct unit {
	const char *name;
	double factor;
};

static int parse_with_units(const char *text, const struct unit *units, uint64_t *value)
{
	const char *name;
	double number;

	if (split_unit(text, &number, &name) < 0)
		return -1;
	for (; units->name; units++) {
		if (strcmp(units->name, name) != 0)
			continue;
		number *= units->factor;
		if (number >= 18446744073709551615.0)
			return -1;
		*value = (uint64_t)(number + 0.5);
		return 0;
	}
	return -1;
}

int num_parse_duration(const char *text, uint64_t *ns)
{
	static const struct unit units[] = {
	        {"", 1e9},   {"s", 1e9},    {"ms", 1e6},    {"us", 1e3}, {"ns", 1},
	        {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9}, {0},
	};

	return parse_with_units(text, units, ns);
}

int num_parse_size(const char *text, uint64_t *bytes)
{
	static const struct unit units[] = {
	        {"", 1},
	        {"K", 1024},
	        {"k", 1024},
	        {"M", 1024 * 1024},
	        {"m", 1024 * 1024},
	        {"G", 1024.0 * 1024 * 1024},
	        {"g", 1024.0 * 1024 * 1024},
	        {0},
	};

	return parse_with_units(text, units, bytes);
}

size_t num_format_u64(char *out, uint64_t value)
{
	char digits[20];
	size_t nr = 0;

	do {
		digits[nr++] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	for (size_t i = 0; i < nr; i++)
		out[i] = digits[nr - 1 - i];
	return nr;
}

char *num_format_grouped(char *out, uint64_t value)
{
	char digits[20];
	size_t nr = num_format_u64(digits, value);
	char *p = out;

	for (size_t i = 0; i < nr; i++) {
		if (i && (nr - i) % 3 == 0)
			*p++ = ',';
		*p++ = digits[i];
	}
	*p = '\0';
	return out;
}
