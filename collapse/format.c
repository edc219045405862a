#include "share/compat.h"
#include "collapse/format.h"

#include <stdarg.h>

const struct format *const formats[] = {
        NULL,
};

void format_bad(struct format_report *report, const char *format, ...)
{
	va_list args;

	if (report->nr_bad++)
		return;
	va_start(args, format);
	vsnprintf(report->first_bad, sizeof(report->first_bad), format, args);
	va_end(args);
}

const struct format *format_by_name(const char *name)
{
	for (size_t i = 0; formats[i]; i++)
		if (strcmp(formats[i]->name, name) == 0)
			return formats[i];
	return NULL;
}

const struct format *format_detect(struct slice head, bool is_all)
{
	const struct format *best = NULL;
	int best_score = 0;

	for (size_t i = 0; formats[i]; i++) {
		int score = formats[i]->detect(head, is_all);

		if (score > best_score) {
			best_score = score;
			best = formats[i];
		}
	}
	return best;
}
