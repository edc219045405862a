#include "share/compat.h"
#include "collapse/check.h"

#include "collapse/names/symtab.h"
#include "share/folded.h"
#include "share/mem.h"
#include "share/num.h"

#include <cjson/cJSON.h>

/* Names in a recording are bytes; JSON is UTF-8. */
static void add_text(cJSON *to, const char *key, const char *text)
{
	struct buf clean = {0};
	size_t left = text ? strlen(text) : 0;

	if (!text)
		return;
	while (left) {
		size_t size = utf8_sequence(text, left);

		if (size)
			buf_add(&clean, text, size);
		else
			buf_string(&clean, "\xef\xbf\xbd");
		text += MAX_OF(size, (size_t)1);
		left -= MAX_OF(size, (size_t)1);
	}
	cJSON_AddStringToObject(to, key, buf_text(&clean));
	buf_release(&clean);
}

static void add_number(cJSON *to, const char *key, uint64_t number)
{
	cJSON_AddNumberToObject(to, key, (double)number);
}

static void add_count(cJSON *to, const char *key, uint64_t number)
{
	if (number)
		add_number(to, key, number);
}

/* What the samples of an event can be made stacks of. */
static void add_call_graph(cJSON *to, const struct event *event)
{
	uint64_t type = event->attr.sample_type;
	char text[96];

	if (type & PERF_SAMPLE_STACK_USER && type & PERF_SAMPLE_REGS_USER)
		snprintf(text, sizeof(text), "%sregisters and %u bytes of stack",
		         event->attr.exclude_callchain_user ? "" : "frame pointers, ",
		         event->attr.sample_stack_user);
	else if (type & PERF_SAMPLE_BRANCH_STACK &&
	         event->attr.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK)
		snprintf(text, sizeof(text), "last branch records");
	else if (type & PERF_SAMPLE_CALLCHAIN)
		snprintf(text, sizeof(text), "frame pointers");
	else
		snprintf(text, sizeof(text), "none");
	add_text(to, "call graph", text);
}

static cJSON *events_of(const struct reader *reader)
{
	cJSON *list = cJSON_CreateArray();

	for (size_t i = 0; i < reader->events.nr; i++) {
		const struct event *event = reader->events.at[i];
		const struct perf_event_attr *attr = &event->attr;
		cJSON *item = cJSON_CreateObject();
		char rate[64];

		add_text(item, "event", event->name);
		snprintf(rate, sizeof(rate), attr->freq ? "%llu Hz" : "every %llu",
		         (unsigned long long)attr->sample_freq);
		add_text(item, "rate", rate);
		add_number(item, "samples", event->nr_samples);
		add_number(item, "lost", event->nr_lost);
		add_number(item, "throttled", event->nr_throttled);
		add_call_graph(item, event);
		cJSON_AddItemToArray(list, item);
	}
	return list;
}

struct tally {
	const struct module *module; /* NULL: texts, such as BPF programs */
	uint64_t nr_samples, nr_named;
};

static int compare_tallies(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;

	if (x->nr_samples != y->nr_samples)
		return x->nr_samples < y->nr_samples ? 1 : -1;
	return (x->module ? x->module->id : 0) < (y->module ? y->module->id : 0) ? -1 : 1;
}

static const char *module_name(const struct module *module)
{
	if (!module)
		return "[named by the recording]";
	return module->key.path[0] ? module->key.path : "[no file]";
}

static const char *why_unnamed(const struct module *module)
{
	if (module_why(module) || !module->symtab)
		return module_why(module);
	return module->symtab->is_stripped ? "stripped: its debug symbols are not installed" :
	                                     "no function is known there";
}

/* The modules that samples were taken in, most first. */
static cJSON *modules_of(const struct check_view *view)
{
	size_t nr = modules_nr(view->modules);
	struct tally *tallies = mem_zalloc((nr + 1) * sizeof(*tallies));
	struct symbol symbols[SYMBOLIZE_MAX];
	cJSON *list = cJSON_CreateArray();

	for (size_t i = 0; i < nr; i++)
		tallies[i].module = modules_at(view->modules, i);
	for (size_t i = 0; i < view->stacks->frames.places.nr; i++) {
		const struct place *place = &view->stacks->frames.places.at[i];
		struct tally *tally = &tallies[place->module ? place->module->id : nr];

		if (!place->nr_samples)
			continue;
		tally->nr_samples += place->nr_samples;
		if (!place->module ||
		    (view->symbolizer && symbols[symbolize(view->symbolizer, place->module,
		                                           place->off, place->is_return, symbols) -
		                                 1]
		                                 .resolved))
			tally->nr_named += place->nr_samples;
	}
	qsort(tallies, nr + 1, sizeof(*tallies), compare_tallies);
	for (size_t i = 0; i <= nr && tallies[i].nr_samples; i++) {
		cJSON *item = cJSON_CreateObject();
		const char *why = tallies[i].module && tallies[i].nr_named < tallies[i].nr_samples ?
		                          why_unnamed(tallies[i].module) :
		                          "";

		add_number(item, "samples", tallies[i].nr_samples);
		if (view->symbolizer)
			add_number(item, "named", tallies[i].nr_named);
		add_text(item, "module", module_name(tallies[i].module));
		add_text(item, "why", why ? why : "");
		cJSON_AddItemToArray(list, item);
	}
	free(tallies);
	return list;
}

static cJSON *records_of(const struct reader *reader)
{
	cJSON *list = cJSON_CreateArray();

	for (uint32_t type = 0; type <= PERFREC_NR_TYPES; type++) {
		const char *name = perfrec_type_name(type);
		cJSON *item;

		if (!reader->nr_by_type[type])
			continue;
		item = cJSON_CreateObject();
		add_number(item, "records", reader->nr_by_type[type]);
		add_text(item, "type", name ? name : "unknown here, stepped over");
		cJSON_AddItemToArray(list, item);
	}
	return list;
}

static void add_end(cJSON *list, uint64_t nr, enum unwind_end end, const char *module)
{
	cJSON *item;

	if (!nr)
		return;
	item = cJSON_CreateObject();
	add_number(item, "stacks", nr);
	add_text(item, "ended because", unwind_end_text(end));
	add_text(item, "in", module);
	cJSON_AddItemToArray(list, item);
}

static cJSON *unwinding_of(const struct unwinder *unwinder, const struct modules *modules)
{
	cJSON *list = cJSON_CreateArray();

	for (int end = 0; end < UNWIND_NR_ENDS; end++) {
		uint64_t left = unwinder_totals(unwinder)->ends[end];

		/* where whole stacks begin is no news */
		for (size_t id = 0; end != UNWIND_BOTTOM && left && id < modules_nr(modules);
		     id++) {
			const struct module *module = modules_at(modules, id);
			uint64_t nr = unwinder_module_counts(unwinder, module).ends[end];

			add_end(list, nr, (enum unwind_end)end, module->key.path);
			left -= nr;
		}
		add_end(list, left, (enum unwind_end)end, "");
	}
	return list;
}

static cJSON *steps_of(const struct unwind_counts *counts)
{
	cJSON *list = cJSON_CreateArray();

	for (int step = 0; step < UNWIND_NR_STEPS; step++) {
		cJSON *item;

		if (!counts->steps[step])
			continue;
		item = cJSON_CreateObject();
		add_number(item, "frames", counts->steps[step]);
		add_text(item, "found by", unwind_step_text((enum unwind_step)step));
		cJSON_AddItemToArray(list, item);
	}
	return list;
}

static void add_problems(cJSON *to, const struct check_view *view)
{
	const struct recording_report *report = view->report;

	add_number(to, "lost", report->nr_lost);
	add_number(to, "throttled", report->nr_throttled);
	add_count(to, "not understood", report->nr_bad);
	add_count(to, "of unknown events", report->nr_unknown_event);
	add_count(to, "late", report->nr_late);
	add_count(to, "trace buffers not decoded", report->nr_aux);
	add_count(to, "processes with incomplete maps", report->nr_cut_maps);
	add_count(to, "unknown chain markers", view->stacks->frames.nr_markers_unknown);
	add_number(to, "truncated stacks", view->stacks->nr_truncated);
	add_number(to, "without a stack", view->stacks->nr_no_stack);
	if (view->reader->damage[0])
		add_text(to, "damage", view->reader->damage);
}

static cJSON *describe(const struct check_view *view)
{
	const struct reader *reader = view->reader;
	const struct unwinder *unwinder = view->stacks->frames.unwinder;
	cJSON *root = cJSON_CreateObject();
	char text[128], folder[48] = "";

	if (reader->nr_stretches > 1)
		snprintf(folder, sizeof(folder), ", a folder of %zu", reader->nr_stretches);
	add_text(root, "recording", input_name(reader->in));
	snprintf(text, sizeof(text), "%s%s, %s byte order%s%s", reader->is_pipe ? "pipe" : "file",
	         folder, reader->swap ? "the other" : "our",
	         reader->compressed_size ? ", compressed" : "",
	         reader->is_simpleperf ? ", simpleperf" : "");
	add_text(root, "mode", text);
	add_text(root, "writer", reader->version);
	add_text(root, "host", reader->hostname);
	add_text(root, "kernel", reader->osrelease);
	add_text(root, "architecture", reader->arch);
	add_text(root, "processor", reader->cpudesc);
	add_text(root, "command", reader->command);
	add_number(root, "samples", view->report->nr_samples);
	if (view->span->last_time) {
		snprintf(text, sizeof(text), "%.6f s to %.6f s (%.6f s)",
		         (double)view->span->first_time / 1e9, (double)view->span->last_time / 1e9,
		         (double)(view->span->last_time - view->span->first_time) / 1e9);
		add_text(root, "span", text);
	}
	add_count(root, "cpus seen", view->span->nr_cpus);
	add_number(root, "processes", view->session->nr_processes);
	add_number(root, "threads", view->session->nr_threads);
	add_number(root, "distinct stacks", view->stacks->nr_entries);
	add_number(root, "distinct places", view->stacks->frames.places.nr);
	add_problems(root, view);
	cJSON_AddItemToObject(root, "events", events_of(reader));
	cJSON_AddItemToObject(root, "modules", modules_of(view));
	if (unwinder) {
		cJSON_AddItemToObject(root, "frames", steps_of(unwinder_totals(unwinder)));
		cJSON_AddItemToObject(root, "unwinding",
		                      unwinding_of(unwinder, view->session->modules));
	}
	cJSON_AddItemToObject(root, "records", records_of(reader));
	return root;
}

/* ---- the same as text: "key: value" lines, lists as tables ---- */

static void text_of(const cJSON *value, struct buf *out)
{
	char number[NUM_GROUPED];

	buf_reset(out);
	if (cJSON_IsString(value))
		buf_string(out, value->valuestring);
	else if (cJSON_IsNumber(value))
		buf_string(out, num_format_grouped(number, (uint64_t)value->valuedouble));
	buf_text(out);
}

#define COLUMNS_MAX 8

static void print_row(const cJSON *row, const int *widths, bool is_head, struct output *out)
{
	struct buf text = {0};
	const cJSON *cell;
	int column = 0;

	cJSON_ArrayForEach (cell, row) {
		int width = cJSON_IsNumber(cell) ? widths[column] :
		            cell->next           ? -widths[column] :
		                                   0;

		text_of(cell, &text);
		output_printf(out, "  %*s", width, is_head ? cell->string : text.at);
		column += column < COLUMNS_MAX - 1;
	}
	output_string(out, "\n");
	buf_release(&text);
}

static void print_table(const cJSON *list, struct output *out)
{
	int widths[COLUMNS_MAX] = {0};
	const cJSON *row, *cell;
	struct buf text = {0};

	cJSON_ArrayForEach (row, list) {
		int column = 0;

		cJSON_ArrayForEach (cell, row) {
			text_of(cell, &text);
			widths[column] = MAX_OF(widths[column],
			                        (int)MAX_OF(text.size, strlen(cell->string)));
			column += column < COLUMNS_MAX - 1;
		}
	}
	if (list->child)
		print_row(list->child, widths, true, out);
	cJSON_ArrayForEach (row, list)
		print_row(row, widths, false, out);
	buf_release(&text);
}

static void print_text(const cJSON *root, struct output *out)
{
	struct buf text = {0};
	const cJSON *item;

	cJSON_ArrayForEach (item, root) {
		if (cJSON_IsArray(item)) {
			output_printf(out, "\n%s:\n", item->string);
			print_table(item, out);
		} else {
			text_of(item, &text);
			output_printf(out, "%-18s %s\n", item->string, text.at);
		}
	}
	buf_release(&text);
}

void check_write(const struct check_view *view, bool as_json, struct output *out)
{
	cJSON *root = describe(view);

	if (as_json) {
		char *text = cJSON_Print(root);

		output_string(out, text);
		output_string(out, "\n");
		cJSON_free(text);
	} else {
		print_text(root, out);
	}
	cJSON_Delete(root);
}
