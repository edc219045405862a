/* test_num.c - numbers and weights from text and to text. */
#include "share/compat.h"

#include "share/num.h"
#include "share/weight.h"

#include <criterion/criterion.h>

Test(num, parse_u64)
{
	static const struct {
		const char *text;
		int result;
		uint64_t value;
	} rows[] = {
	        {"0", 0, 0},
	        {"18446744073709551615", 0, UINT64_MAX},
	        {"18446744073709551616", -1, 0},
	        {"99999999999999999999999", -1, 0},
	        {"", -1, 0},
	        {"-1", -1, 0},
	        {"1 ", -1, 0},
	        {"0x1", -1, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t value = 0;

		cr_expect_eq(num_parse_u64(rows[i].text, strlen(rows[i].text), &value),
		             rows[i].result, "%s", rows[i].text);
		cr_expect_eq(value, rows[i].value, "%s", rows[i].text);
	}
}

Test(num, parse_hex)
{
	static const struct {
		const char *text;
		int result;
		uint64_t value;
	} rows[] = {
	        {"ff", 0, 0xff},
	        {"0xFf", 0, 0xff},
	        {"ffffffffffffffff", 0, UINT64_MAX},
	        {"10000000000000000", -1, 0},
	        {"0x", -1, 0},
	        {"g", -1, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t value = 0;

		cr_expect_eq(num_parse_hex(rows[i].text, strlen(rows[i].text), &value),
		             rows[i].result, "%s", rows[i].text);
		cr_expect_eq(value, rows[i].value, "%s", rows[i].text);
	}
}

Test(num, durations_and_sizes)
{
	static const struct {
		int (*parse)(const char *, uint64_t *);
		const char *text;
		int result;
		uint64_t value;
	} rows[] = {
	        {num_parse_duration, "90", 0, 90000000000u},
	        {num_parse_duration, "1.5s", 0, 1500000000u},
	        {num_parse_duration, "200ms", 0, 200000000u},
	        {num_parse_duration, "100us", 0, 100000u},
	        {num_parse_duration, "7d", 0, 604800000000000u},
	        {num_parse_duration, "5 s", -1, 0},
	        {num_parse_duration, "", -1, 0},
	        {num_parse_duration, "1e99", -1, 0},
	        {num_parse_size, "64K", 0, 65536},
	        {num_parse_size, "2G", 0, 2147483648u},
	        {num_parse_size, "99999999999G", -1, 0},
	        {num_parse_size, "-1", -1, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t value = 0;

		cr_expect_eq(rows[i].parse(rows[i].text, &value), rows[i].result, "%s",
		             rows[i].text);
		cr_expect_eq(value, rows[i].value, "%s", rows[i].text);
	}
}

Test(num, grouped)
{
	char text[NUM_GROUPED];

	cr_expect_str_eq(num_format_grouped(text, 0), "0");
	cr_expect_str_eq(num_format_grouped(text, 999), "999");
	cr_expect_str_eq(num_format_grouped(text, 1000), "1,000");
	cr_expect_str_eq(num_format_grouped(text, UINT64_MAX), "18,446,744,073,709,551,615");
}

Test(weight, text_round_trip)
{
	static const struct {
		const char *text, *formatted;
		enum weight_parse result;
	} rows[] = {
	        {"0", "0", WEIGHT_OK},
	        {"1.5", "1.5", WEIGHT_OK},
	        {"1.", "1", WEIGHT_OK},
	        {".5", "0.5", WEIGHT_OK},
	        {"9007199254740993", "9007199254740993", WEIGHT_OK},
	        {"18446744073709551615", "18446744073709551615", WEIGHT_OK},
	        {"18446744073709551615.999999999", "18446744073709551615.999999999", WEIGHT_OK},
	        {"0.000000001", "0.000000001", WEIGHT_OK},
	        {"0.0000000015", "0.000000002", WEIGHT_OK},
	        {"0.0000000014999", "0.000000001", WEIGHT_OK},
	        {"18446744073709551616", NULL, WEIGHT_TOO_LARGE},
	        {"18446744073709551615.9999999999", NULL, WEIGHT_TOO_LARGE},
	        {"-103.7652", NULL, WEIGHT_NEGATIVE},
	        {"-x", NULL, WEIGHT_NOT_A_NUMBER},
	        {"--5", NULL, WEIGHT_NOT_A_NUMBER},
	        {"-", NULL, WEIGHT_NOT_A_NUMBER},
	        {"1e3", NULL, WEIGHT_NOT_A_NUMBER},
	        {".", NULL, WEIGHT_NOT_A_NUMBER},
	        {"", NULL, WEIGHT_NOT_A_NUMBER},
	        {"1 ", NULL, WEIGHT_NOT_A_NUMBER},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[WEIGHT_TEXT];
		weight_fx weight = 0;

		cr_expect_eq(weight_parse(rows[i].text, strlen(rows[i].text), &weight),
		             rows[i].result, "%s", rows[i].text);
		if (!rows[i].formatted)
			continue;
		cr_expect_eq(weight_format(text, weight), strlen(rows[i].formatted), "%s",
		             rows[i].text);
		cr_expect_str_eq(text, rows[i].formatted, "%s", rows[i].text);
	}
}

Test(weight, sums_are_checked)
{
	weight_fx sum = weight_from_u64(UINT64_MAX);

	cr_expect(!weight_add(&sum, weight_from_u64(1)));
	cr_expect(sum == weight_from_u64(UINT64_MAX));
	cr_expect(weight_add(&sum, WEIGHT_ONE - 1));
	cr_expect(!weight_add(&sum, 1));
}
