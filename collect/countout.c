#include "share/compat.h"
#include "collect/countout.h"

#include "share/num.h"

/* A line about one counter, settled before it takes its form. */
struct line {
	const struct counter *counter;
	double value; /* ns for clocks */
	double deviation_percent;
	bool is_time;
	double ratio;
	const char *ratio_unit; /* "" = none */
};

static bool is_software(const struct event *event, uint64_t config)
{
	return event->attr.type == PERF_TYPE_SOFTWARE && event->attr.config == config;
}

static bool is_hardware(const struct event *event, uint64_t config)
{
	return event->attr.type == PERF_TYPE_HARDWARE && event->attr.config == config;
}

/* The value of another counter that can be divided by; 0 where there is none. */
static double value_of(const struct count *count, bool total, uint32_t type, uint64_t config)
{
	for (size_t i = 0; i < count->nr_counters; i++) {
		const struct counter *counter = &count->counters[i];

		if (counter->event->attr.type == type && counter->event->attr.config == config &&
		    !counter->refusal)
			return total ? counter->mean : counter->value;
	}
	return 0;
}

static void find_ratio(const struct count *count, bool total, struct line *line)
{
	const struct event *event = line->counter->event;
	double seconds = total && !count->interval_ns ? count->elapsed_s : count->interval_s;
	double cpu_ns = value_of(count, total, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	double cycles = value_of(count, total, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	double of = 0, scale = 1;

	if (!cpu_ns)
		cpu_ns = value_of(count, total, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	line->ratio_unit = "";
	if (line->is_time) {
		of = seconds * 1e9;
		line->ratio_unit = "CPUs utilized";
	} else if (is_hardware(event, PERF_COUNT_HW_CPU_CYCLES)) {
		of = cpu_ns;
		line->ratio_unit = "GHz";
	} else if (is_hardware(event, PERF_COUNT_HW_INSTRUCTIONS) && cycles) {
		of = cycles;
		line->ratio_unit = "insn per cycle";
	} else if (is_hardware(event, PERF_COUNT_HW_BRANCH_MISSES)) {
		of = value_of(count, total, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
		scale = 100;
		line->ratio_unit = "% of all branches";
	} else if (is_hardware(event, PERF_COUNT_HW_CACHE_MISSES)) {
		of = value_of(count, total, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES);
		scale = 100;
		line->ratio_unit = "% of all cache refs";
	} else {
		of = cpu_ns;
		scale = 1e9;
		line->ratio_unit = "/sec";
	}
	if (of)
		line->ratio = line->value / of * scale;
	else
		line->ratio_unit = "";
	if (strcmp(line->ratio_unit, "/sec") == 0 && line->ratio >= 1e6) {
		line->ratio /= 1e6;
		line->ratio_unit = "M/sec";
	} else if (strcmp(line->ratio_unit, "/sec") == 0 && line->ratio >= 1e3) {
		line->ratio /= 1e3;
		line->ratio_unit = "K/sec";
	}
}

static struct line line_of(const struct count *count, const struct counter *counter, bool total)
{
	struct line line = {.counter = counter, .value = total ? counter->mean : counter->value};

	line.is_time = is_software(counter->event, PERF_COUNT_SW_TASK_CLOCK) ||
	               is_software(counter->event, PERF_COUNT_SW_CPU_CLOCK);
	if (total)
		line.deviation_percent =
		        100 * count_deviation(counter->mean, counter->squares, count->nr_done);
	find_ratio(count, total, &line);
	return line;
}

static double percent_counted(const struct counter *counter)
{
	return counter->enabled_ns ?
	               100.0 * (double)counter->running_ns / (double)counter->enabled_ns :
	               0;
}

static bool was_counted(const struct counter *counter)
{
	return !counter->refusal && counter->running_ns;
}

static const char *why_not(const struct counter *counter)
{
	return counter->refusal ? "<not supported>" : "<not counted>";
}

/* ---- text ---- */

static void text_value(const struct line *line, char *out, size_t size)
{
	char digits[NUM_GROUPED];

	if (!was_counted(line->counter)) {
		snprintf(out, size, "%s", why_not(line->counter));
	} else if (line->is_time) {
		uint64_t hundredths = (uint64_t)(line->value / 1e4 + .5);

		snprintf(out, size, "%s.%02u", num_format_grouped(digits, hundredths / 100),
		         (unsigned int)(hundredths % 100));
	} else {
		snprintf(out, size, "%s", num_format_grouped(digits, (uint64_t)(line->value + .5)));
	}
}

static void text_line(const struct line *line, struct output *out, const char *time)
{
	char value[64];

	text_value(line, value, sizeof(value));
	output_printf(out, "%s%18s %-4s  %-25s", time, value,
	              line->is_time && was_counted(line->counter) ? "msec" : "",
	              line->counter->event->name);
	if (was_counted(line->counter)) {
		if (*line->ratio_unit)
			output_printf(out, " # %8.3f %-20s", line->ratio, line->ratio_unit);
		if (line->deviation_percent > 0)
			output_printf(out, " ( +- %5.2f %% )", line->deviation_percent);
		if (line->counter->running_ns < line->counter->enabled_ns)
			output_printf(out, " (scaled, counted %.2f %% of the time)",
			              percent_counted(line->counter));
	}
	/* no trailing blanks */
	while (out->buf.size && out->buf.at[out->buf.size - 1] == ' ')
		out->buf.size--;
	output_string(out, "\n");
}

/* ---- CSV and JSON ---- */

static void csv_line(const struct line *line, struct output *out, const char *time)
{
	const struct counter *counter = line->counter;

	if (*time)
		output_printf(out, "%s,", time);
	if (was_counted(counter))
		output_printf(out, line->is_time ? "%.2f,msec," : "%.0f,,",
		              line->is_time ? line->value / 1e6 : line->value);
	else
		output_printf(out, "%s,,", why_not(counter));
	output_printf(out, "%s,%.2f,%ju,%.2f", counter->event->name, line->deviation_percent,
	              (uintmax_t)counter->running_ns, percent_counted(counter));
	if (*line->ratio_unit && was_counted(counter))
		output_printf(out, ",%.3f,%s\n", line->ratio, line->ratio_unit);
	else
		output_string(out, ",,\n");
}

/* Names of events are ours or the user's own words: quotes and controls may be in them. */
static void json_text(struct output *out, const char *text)
{
	output_string(out, "\"");
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			output_printf(out, "\\%c", *text);
		else if ((unsigned char)*text < 0x20)
			output_printf(out, "\\u%04x", (unsigned int)*text);
		else
			output_add(out, text, 1);
	}
	output_string(out, "\"");
}

static void json_line(const struct line *line, struct output *out, const char *time)
{
	const struct counter *counter = line->counter;

	output_string(out, "{");
	if (*time)
		output_printf(out, "\"interval\": %s, ", time);
	output_string(out, "\"event\": ");
	json_text(out, counter->event->name);
	if (was_counted(counter)) {
		output_printf(out, ", \"value\": %.*f, \"unit\": \"%s\"", line->is_time ? 6 : 0,
		              line->is_time ? line->value / 1e6 : line->value,
		              line->is_time ? "msec" : "");
		if (*line->ratio_unit)
			output_printf(out, ", \"ratio\": %.3f, \"ratio-unit\": \"%s\"", line->ratio,
			              line->ratio_unit);
	} else {
		output_string(out, ", \"value\": null, \"reason\": ");
		json_text(out, counter->refusal ? counter->refusal : "never scheduled");
	}
	output_printf(out,
	              ", \"deviation-percent\": %.2f, \"running-ns\": %ju, "
	              "\"counted-percent\": %.2f, \"scaled\": %s}\n",
	              line->deviation_percent, (uintmax_t)counter->running_ns,
	              percent_counted(counter),
	              counter->running_ns < counter->enabled_ns ? "true" : "false");
}

static void print_lines(const struct count *count, struct output *out, enum count_format format,
                        bool total, const char *time)
{
	for (size_t i = 0; i < count->nr_counters; i++) {
		struct line line = line_of(count, &count->counters[i], total);

		if (format == COUNT_TEXT)
			text_line(&line, out, time);
		else if (format == COUNT_CSV)
			csv_line(&line, out, time);
		else
			json_line(&line, out, time);
	}
}

void countout_interval(const struct count *count, struct output *out, enum count_format format)
{
	char time[32];

	snprintf(time, sizeof(time), format == COUNT_TEXT ? "%14.6f " : "%.6f", count->elapsed_s);
	print_lines(count, out, format, false, time);
}

void countout_total(const struct count *count, struct output *out, enum count_format format,
                    const char *what)
{
	double deviation;

	if (format != COUNT_TEXT) {
		print_lines(count, out, format, true, "");
		return;
	}
	output_printf(out, "\n Counts of %s", what);
	if (count->nr_done > 1)
		output_printf(out, " (%u runs)", count->nr_done);
	output_string(out, ":\n\n");
	print_lines(count, out, format, true, "");
	output_printf(out, "\n%18.6f seconds elapsed", count->elapsed_s);
	deviation = count_deviation(count->elapsed_s, count->elapsed_squares, count->nr_done);
	if (deviation > 0)
		output_printf(out, " ( +- %.2f %% )", 100 * deviation);
	output_string(out, "\n");
	for (size_t i = 0; i < count->nr_counters; i++)
		if (count->counters[i].refusal)
			output_printf(out, "\n '%s': %s", count->counters[i].event->name,
			              count->counters[i].refusal);
	output_string(out, "\n");
}
