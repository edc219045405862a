#include "share/compat.h"
#include "diff/report.h"

#include <cjson/cJSON.h>
#include <math.h>

/* Six digits say all there is to say, and compare as bytes; no number is null. */
static void add_number(cJSON *object, const char *key, double value)
{
	char text[32];

	if (!isfinite(value)) {
		cJSON_AddNullToObject(object, key);
		return;
	}
	snprintf(text, sizeof(text), "%.6g", value);
	cJSON_AddRawToObject(object, key, text);
}

static void add_pair(cJSON *object, const char *key, const double values[2])
{
	cJSON *pair = cJSON_AddObjectToObject(object, key);

	add_number(pair, "before", values[0]);
	add_number(pair, "after", values[1]);
}

/* Exact, also where a double would not be. */
static void add_totals(cJSON *object, const struct scale *scale)
{
	cJSON *totals = cJSON_AddObjectToObject(object, "totals");
	char text[WEIGHT_TEXT];

	weight_format(text, scale->totals[JOIN_BEFORE]);
	cJSON_AddRawToObject(totals, "before", text);
	weight_format(text, scale->totals[JOIN_AFTER]);
	cJSON_AddRawToObject(totals, "after", text);
}

static cJSON *row_object(const struct verdict *verdict, const struct verdict_row *row)
{
	cJSON *object = cJSON_CreateObject(), *interval;

	cJSON_AddStringToObject(
	        object, verdict->options.measure == VERDICT_PATH ? "path" : "function", row->text);
	add_number(object, "before", row->before);
	add_number(object, "after", row->after);
	add_number(object, "change", row->change);
	add_number(object, "ratio", row->ratio);
	interval = cJSON_AddObjectToObject(object, "interval");
	add_number(interval, "low", row->interval.low);
	add_number(interval, "high", row->interval.high);
	add_number(object, "p", row->p);
	add_number(object, "q", row->q);
	add_pair(object, "self", row->self);
	add_pair(object, "total", row->total);
	return object;
}

void report_write_json(const struct report *report, struct output *out)
{
	static const char *const modes[] = {"total", "time", "none"};
	static const char *const tests[] = {"none", "fisher", "poisson", "permutation", "welch"};
	const struct verdict *verdict = report->verdict;
	cJSON *root = cJSON_CreateObject(), *detectable;
	double runs[2] = {(double)verdict->nr_runs[0], (double)verdict->nr_runs[1]};
	char *text;

	cJSON_AddStringToObject(root, "schema", "flame-diff-report");
	add_number(root, "version", REPORT_VERSION);
	cJSON_AddStringToObject(root, "measure", verdict_measure_name(verdict->options.measure));
	cJSON_AddStringToObject(root, "normalize", modes[verdict->options.mode]);
	add_number(root, "factor", scale_factor(report->scale));
	add_totals(root, report->scale);
	add_pair(root, "runs", runs);
	add_pair(root, "samples", verdict->nr_samples);
	add_number(root, "period", verdict->period);
	cJSON_AddStringToObject(root, "test", tests[verdict->test]);
	add_number(root, "fdr", verdict->options.fdr);
	add_number(root, "rows", (double)verdict->nr_rows);
	add_number(root, "tested", (double)verdict->nr_tested);
	add_number(root, "skipped_lines", (double)report->nr_bad);
	detectable = cJSON_AddArrayToObject(root, "detectable");
	for (size_t i = 0; verdict->nr_tested && i < ARRAY_SIZE(verdict->detectable); i++) {
		cJSON *object = cJSON_CreateObject();

		add_number(object, "share", verdict->detectable[i].share);
		add_number(object, "points", verdict->detectable[i].points);
		cJSON_AddItemToArray(detectable, object);
	}
	for (int class = 0; class < VERDICT_NR_CLASSES; class ++) {
		cJSON *array =
		        cJSON_AddArrayToObject(root, report_class_name((enum verdict_class) class));

		for (size_t i = 0; i < verdict->nr; i++)
			if (verdict->rows[i].class == (enum verdict_class) class)
				cJSON_AddItemToArray(array, row_object(verdict, &verdict->rows[i]));
	}
	text = cJSON_Print(root);
	output_string(out, text);
	output_string(out, "\n");
	cJSON_free(text);
	cJSON_Delete(root);
}
