#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/formats.h"

#include <stdarg.h>

#define DECLARE(name) extern const struct format format_##name;
#define POINTER(name) &format_##name,

FORMATS(DECLARE)

const struct format *const formats[] = {FORMATS(POINTER) NULL};

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

uint32_t format_frame(struct folder *folder, const struct format_options *options,
                      struct slice name, struct slice file, int64_t line)
{
	struct buf text = {0};
	uint32_t id;

	if (!options->srcline || !file.size)
		return folder_name(folder, name.at, name.size);
	buf_add(&text, name.at, name.size);
	buf_char(&text, ' ');
	buf_add(&text, file.at, file.size);
	if (line >= 0)
		buf_printf(&text, ":%lld", (long long)line);
	id = folder_name(folder, text.at, text.size);
	buf_release(&text);
	return id;
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

void format_unit(struct format_report *report, const char *event, const char *unit)
{
	snprintf(report->event, sizeof(report->event), "%s", event);
	snprintf(report->unit, sizeof(report->unit), "%s", unit);
}

int format_header(const struct format_report *report, struct folded_header *header, struct err *err)
{
	const char *unit = folded_header_get(header, "unit");

	if (unit && *report->unit && strcmp(unit, report->unit) != 0)
		return err_set(err, "cannot add %s to the %s of the inputs before", report->unit,
		               unit);
	if (*report->event)
		folded_header_set(header, "event", "%s", report->event);
	if (*report->unit)
		folded_header_set(header, "unit", "%s", report->unit);
	return 0;
}

void format_values_note(struct folded_header *header, const char *const *names, size_t nr)
{
	struct buf list = {0};

	for (size_t i = 0; i < nr; i++)
		buf_printf(&list, "%s%s", i ? ", " : "", names[i]);
	if (nr > 1)
		folded_header_set(header, "values", "%s", buf_text(&list));
	buf_release(&list);
}

int format_whole(struct input *in, struct slice *text, struct err *err)
{
	if (input_spool(in, err))
		return -1;
	return input_all(in, SIZE_MAX, text, err);
}

bool head_has(struct slice head, const char *text)
{
	return memmem(head.at, head.size, text, strlen(text)) != NULL;
}

static char first_byte(struct slice head)
{
	size_t i = slice_starts(head, "\xef\xbb\xbf") ? 3 : 0;

	while (i < head.size && strchr(" \t\r\n", head.at[i]) && head.at[i])
		i++;
	return i < head.size ? head.at[i] : 0;
}

bool head_is_object(struct slice head)
{
	return first_byte(head) == '{';
}

bool head_is_array(struct slice head)
{
	return first_byte(head) == '[';
}

int format_too_large(struct err *err)
{
	return err_set(err, "the sum of all counts reaches 2^64");
}

bool format_count(struct folder *folder, uint32_t node, weight_fx weight,
                  struct format_report *report, struct err *err)
{
	if (!node)
		node = folder_child(folder, 0, folder_name(folder, "[no stack]", 10));
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

/* What perf stat prints, and collect --count: its headings could be those of samples. */
static bool is_counts(struct slice head)
{
	head.size = MIN_OF(head.size, 512);
	return head_has(head, "\n Performance counter stats for ") ||
	       head_has(head, "\n Counts of ");
}

const char *format_looks_like(struct slice head)
{
	static const struct {
		const char *begin, *what;
	} kinds[] = {
	        {"PK\x03\x04", "a zip archive, to be unpacked first"},
	        {"\xfd"
	         "7zXZ",
	         "compressed by xz, to be unpacked first"},
	        {"BZh", "compressed by bzip2, to be unpacked first"},
	        {"gmon", "the gmon.out of which gprof makes a report, which can be read"},
	        {"go 1.",
	         "a Go execution trace; 'go tool trace -pprof=sched' makes a profile of it"},
	        {"Nettrace", "a trace of .NET; 'dotnet-trace convert --format speedscope' makes a "
	                     "profile of it"},
	        {"JAVA PROFILE 1.0.2", "a Java heap dump"},
	        {"JOB \"", "a GHC heap profile over time"},
	        {"SQLite format 3", "an SQLite database"},
	};

	if (is_counts(head))
		return "counts of events, which have no stacks";
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (slice_starts(head, kinds[i].begin))
			return kinds[i].what;
	return folded_looks_like(head.at, head.size);
}

const struct format *format_detect(struct slice head, bool is_all)
{
	/* what is no text is none of the formats that are only guessed at */
	int best_score = memchr(head.at, 0, head.size) ? 50 : 0;
	const struct format *best = NULL;

	for (size_t i = 0; formats[i] && !is_counts(head); i++) {
		int score = formats[i]->detect(head, is_all);

		if (score > best_score) {
			best_score = score;
			best = formats[i];
		}
	}
	return best;
}
