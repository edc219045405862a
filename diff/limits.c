#include "share/compat.h"
#include "diff/limits.h"

#include "share/mem.h"
#include "share/num.h"

#include <math.h>

static const struct kind {
	const char *name;
	char unit;
	unsigned classes; /* bit set of enum verdict_class */
} kinds[] = {
        {"regression", '%', 1u << VERDICT_REGRESSION | 1u << VERDICT_NEW},
        {"improvement", '%', 1u << VERDICT_IMPROVEMENT | 1u << VERDICT_GONE},
        {"new", '%', 1u << VERDICT_NEW},
        {"gone", '%', 1u << VERDICT_GONE},
        {"ratio", 'x', 1u << VERDICT_REGRESSION},
};

struct limit {
	const struct kind *kind;
	double value;
};

static int parse_one(struct limits *limits, const char *word, struct err *err)
{
	const char *sign = strchr(word, '>');
	size_t size = strlen(word);

	for (size_t i = 0; sign && i < ARRAY_SIZE(kinds); i++) {
		struct limit limit = {.kind = &kinds[i]};
		char *number;
		int rc;

		if (strlen(kinds[i].name) != (size_t)(sign - word) ||
		    memcmp(word, kinds[i].name, (size_t)(sign - word)) != 0)
			continue;
		if (word[size - 1] != kinds[i].unit)
			break;
		number = mem_strndup(sign + 1, (size_t)(word + size - 1 - (sign + 1)));
		rc = num_parse_real(number, &limit.value);
		free(number);
		if (rc < 0)
			break;
		MEM_GROW(limits->limits, limits->nr, limits->capacity);
		limits->limits[limits->nr++] = limit;
		return 0;
	}
	return err_set(err,
	               "--check does not understand '%s'; it knows 'regression>3%%', "
	               "'improvement>3%%', 'new>1%%', 'gone>1%%' and 'ratio>1.2x'",
	               word);
}

int limits_parse(struct limits *limits, const char *list, struct err *err)
{
	do {
		size_t size = strcspn(list, ",");
		char *word = mem_strndup(list, size);
		int rc = parse_one(limits, word, err);

		free(word);
		if (rc < 0)
			return -1;
		list += size;
	} while (*list++ == ',');
	return 0;
}

void limits_release(struct limits *limits)
{
	free(limits->limits);
	*limits = (struct limits){0};
}

static bool is_broken(const struct limit *limit, const struct verdict_row *row)
{
	if (!(limit->kind->classes & 1u << row->class))
		return false;
	return limit->kind->unit == 'x' ? isfinite(row->ratio) && row->ratio > limit->value :
	                                  fabs(row->change) > limit->value;
}

size_t limits_check(const struct limits *limits, const struct verdict *verdict, struct buf *lines)
{
	size_t nr = 0;

	for (size_t i = 0; i < limits->nr; i++)
		for (size_t j = 0; j < verdict->nr; j++) {
			const struct limit *limit = &limits->limits[i];
			const struct verdict_row *row = &verdict->rows[j];

			if (!is_broken(limit, row))
				continue;
			buf_printf(lines,
			           "%s>%g%c is broken: %+.2f points, %.2f %% to %.2f %%, in '%s'\n",
			           limit->kind->name, limit->value, limit->kind->unit, row->change,
			           row->before, row->after, row->text);
			nr++;
		}
	return nr;
}
