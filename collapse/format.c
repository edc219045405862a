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

uint32_t format_root(struct folder *folder, const struct format_options *options, const char *comm,
                     size_t comm_size, int64_t pid, int64_t tid)
{
	uint32_t node = 0;
	char text[40];

	if (options->by_comm && comm)
		node = folder_child(folder, node, folder_name(folder, comm, comm_size));
	if (options->by_pid && pid >= 0) {
		int size = snprintf(text, sizeof(text), "pid %lld", (long long)pid);

		node = folder_child(folder, node, folder_name(folder, text, (size_t)size));
	}
	if (options->by_tid && tid >= 0) {
		int size = snprintf(text, sizeof(text), "tid %lld", (long long)tid);

		node = folder_child(folder, node, folder_name(folder, text, (size_t)size));
	}
	return node;
}

int format_value(const struct format_options *options, const char *const *names, size_t nr,
                 size_t first_choice, size_t *picked, struct err *err)
{
	struct buf list = {0};

	*picked = first_choice;
	if (!options->value)
		return 0;
	for (size_t i = 0; i < nr; i++) {
		if (strcmp(names[i], options->value) == 0) {
			*picked = i;
			buf_release(&list);
			return 0;
		}
		buf_printf(&list, "%s%s", i ? ", " : "", names[i]);
	}
	err_set(err, "no value '%s'; there are: %s", options->value, nr ? buf_text(&list) : "none");
	buf_release(&list);
	return -1;
}

int format_too_large(struct err *err)
{
	return err_set(err, "the sum of all counts reaches 2^64");
}

bool format_count(struct folder *folder, uint32_t node, weight_fx weight,
                  struct format_report *report, struct err *err)
{
	if (!folder_count(folder, node, weight)) {
		format_too_large(err);
		return false;
	}
	report->nr_samples++;
	return true;
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
