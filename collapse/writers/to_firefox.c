/*
 * to_firefox.c - writes a processed profile for profiler.firefox.com.
 *
 * Each thread has tables of its own, with what its samples use of the
 * profile's. Of counted stacks there is one thread, with a sample for each
 * distinct stack, weighted, a millisecond apart. Times stand in milliseconds,
 * as that profiler wants them. Kernel frames (_[k]) and JIT-compiled ones
 * (_[j]) get categories of their own. Where functions begin is not known here:
 * there are no native symbols, and none are needed, as all names are.
 *
 * Source: firefox-devtools/profiler, src/types/profile.js and
 * docs-developer/CHANGELOG-formats.md, processed profile version 47.
 */
#include "share/compat.h"
#include "collapse/writers/to.h"

#include "collapse/places.h"
#include "share/mem.h"

enum { CATEGORY_USER, CATEGORY_KERNEL, CATEGORY_JIT };

/* Which rows of a table of the profile a thread uses, and where they stand there. */
struct subset {
	uint32_t *rows; /* of the profile, ascending once sorted */
	size_t nr;
	uint32_t *place; /* by row of the profile: its index in rows + 1, or 0 */
};

struct writing {
	const struct profile *profile;
	struct profile_functions functions;
	struct profile_order order;
	struct subset stacks, frames, used_functions, modules, names;
	uint64_t start; /* time of the first sample */
	const char *unit;
	struct output *out;
};

static const char meta[] =
        "{\"meta\":{\"version\":27,\"preprocessedProfileVersion\":47,\"interval\":1,"
        "\"startTime\":0,\"processType\":0,\"product\":\"flame-collapse\",\"stackwalk\":1,"
        "\"debug\":false,\"symbolicated\":true,\"markerSchema\":[],\"categories\":["
        "{\"name\":\"User\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
        "{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\"]},"
        "{\"name\":\"JIT\",\"color\":\"blue\",\"subcategories\":[\"Other\"]}]},\n"
        "\"libs\":[";

static const char markers[] =
        "\"markers\":{\"length\":0,\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],"
        "\"phase\":[],\"category\":[]},\n"
        "\"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],\"name\":[],"
        "\"functionSize\":[]},\n";

/* ---- subsets ---- */

static void subset_init(struct subset *subset, size_t nr)
{
	subset->rows = mem_alloc((nr + 1) * sizeof(*subset->rows));
	subset->place = mem_zalloc((nr + 1) * sizeof(*subset->place));
	subset->nr = 0;
}

static void subset_release(struct subset *subset)
{
	free(subset->rows);
	free(subset->place);
}

/* False where it was there already. */
static bool subset_add(struct subset *subset, uint32_t row)
{
	if (subset->place[row])
		return false;
	subset->rows[subset->nr++] = row;
	subset->place[row] = (uint32_t)subset->nr;
	return true;
}

static void subset_clear(struct subset *subset)
{
	for (size_t i = 0; i < subset->nr; i++)
		subset->place[subset->rows[i]] = 0;
	subset->nr = 0;
}

static uint32_t subset_at(const struct subset *subset, uint32_t row)
{
	return subset->place[row] - 1;
}

static int compare_rows(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* A stack's parent has a smaller number, and must come first here as well. */
static void subset_sort(struct subset *subset)
{
	qsort(subset->rows, subset->nr, sizeof(*subset->rows), compare_rows);
	for (size_t i = 0; i < subset->nr; i++)
		subset->place[subset->rows[i]] = (uint32_t)i + 1;
}

/* ---- tables ---- */

static int category_of(const struct writing *w, uint32_t frame)
{
	struct slice text =
	        strtab_slice(&w->profile->folder->names, w->profile->frames[frame].name);

	if (text.size < 4 || memcmp(text.at + text.size - 4, "_[", 2) != 0 ||
	    text.at[text.size - 1] != ']')
		return CATEGORY_USER;
	return text.at[text.size - 2] == 'k' ? CATEGORY_KERNEL :
	       text.at[text.size - 2] == 'j' ? CATEGORY_JIT :
	                                       CATEGORY_USER;
}

/* "KEY":[nr times the same value] */
static void put_same(struct output *out, const char *key, const char *value, size_t nr)
{
	output_printf(out, "\"%s\":[", key);
	for (size_t i = 0; i < nr; i++)
		output_printf(out, i ? ",%s" : "%s", value);
	output_string(out, "],\n");
}

/* "KEY":[a number for each row]; negative: null */
static void put_column(struct writing *w, const char *key, const struct subset *subset,
                       int64_t (*value_of)(const struct writing *w, uint32_t row))
{
	output_printf(w->out, "\"%s\":[", key);
	for (size_t i = 0; i < subset->nr; i++) {
		int64_t value = value_of(w, subset->rows[i]);

		output_string(w->out, i ? "," : "");
		if (value < 0)
			output_string(w->out, "null");
		else
			output_printf(w->out, "%lld", (long long)value);
	}
	output_string(w->out, "],\n");
}

static int64_t frame_function(const struct writing *w, uint32_t frame)
{
	return subset_at(&w->used_functions, w->functions.of_frame[frame]);
}

static int64_t frame_line(const struct writing *w, uint32_t frame)
{
	return w->profile->frames[frame].line ? (int64_t)w->profile->frames[frame].line : -1;
}

static int64_t frame_category(const struct writing *w, uint32_t frame)
{
	return category_of(w, frame);
}

static int64_t frame_depth(const struct writing *w, uint32_t frame)
{
	uint32_t outermost = frame;

	while (w->profile->frames[outermost].is_inlined)
		outermost--;
	return frame - outermost;
}

static int64_t function_name(const struct writing *w, uint32_t function)
{
	return subset_at(&w->names, w->profile->frames[w->functions.frame[function]].name);
}

static int64_t function_file(const struct writing *w, uint32_t function)
{
	uint32_t file = w->profile->frames[w->functions.frame[function]].file;

	return file == PROFILE_NONE ? -1 : (int64_t)subset_at(&w->names, file);
}

static void put_resource_of(struct writing *w)
{
	output_string(w->out, "\"resource\":[");
	for (size_t i = 0; i < w->used_functions.nr; i++) {
		uint32_t frame = w->functions.frame[w->used_functions.rows[i]],
		         module = w->profile->frames[frame].module;

		output_printf(w->out, i ? ",%lld" : "%lld",
		              module == PROFILE_NONE ? -1LL :
		                                       (long long)subset_at(&w->modules, module));
	}
	output_string(w->out, "],\n");
}

static void put_frames(struct writing *w)
{
	size_t nr = w->frames.nr;

	output_string(w->out, "\"frameTable\":{\n\"address\":[");
	for (size_t i = 0; i < nr; i++) {
		const struct profile_frame *frame = &w->profile->frames[w->frames.rows[i]];

		/* of the kernel too large for a number of that language */
		output_printf(w->out, i ? ",%lld" : "%lld",
		              frame->module == PROFILE_NONE || frame->address >> 53 ?
		                      -1LL :
		                      (long long)frame->address);
	}
	output_string(w->out, "],\n");
	put_column(w, "inlineDepth", &w->frames, frame_depth);
	put_column(w, "category", &w->frames, frame_category);
	put_column(w, "func", &w->frames, frame_function);
	put_column(w, "line", &w->frames, frame_line);
	put_same(w->out, "subcategory", "0", nr);
	put_same(w->out, "nativeSymbol", "null", nr);
	put_same(w->out, "innerWindowID", "0", nr);
	put_same(w->out, "implementation", "null", nr);
	put_same(w->out, "column", "null", nr);
	output_printf(w->out, "\"length\":%zu},\n", nr);
}

static void put_functions(struct writing *w)
{
	size_t nr = w->used_functions.nr;

	output_string(w->out, "\"funcTable\":{\n");
	put_column(w, "name", &w->used_functions, function_name);
	put_column(w, "fileName", &w->used_functions, function_file);
	put_resource_of(w);
	put_same(w->out, "isJS", "false", nr);
	put_same(w->out, "relevantForJS", "false", nr);
	put_same(w->out, "lineNumber", "null", nr);
	put_same(w->out, "columnNumber", "null", nr);
	output_printf(w->out, "\"length\":%zu},\n", nr);
}

/* Modules are libraries by their index in the profile; their names are strings behind the others.
 */
static void put_resources(struct writing *w)
{
	size_t nr = w->modules.nr;

	output_string(w->out, "\"resourceTable\":{\"lib\":[");
	for (size_t i = 0; i < nr; i++)
		output_printf(w->out, i ? ",%u" : "%u", w->modules.rows[i]);
	output_string(w->out, "],\n\"name\":[");
	for (size_t i = 0; i < nr; i++)
		output_printf(w->out, i ? ",%zu" : "%zu", w->names.nr + i);
	output_string(w->out, "],\n");
	put_same(w->out, "host", "null", nr);
	put_same(w->out, "type", "1", nr);
	output_printf(w->out, "\"length\":%zu},\n", nr);
}

static void put_strings(struct writing *w)
{
	output_string(w->out, "\"stringArray\":[");
	for (size_t i = 0; i < w->names.nr; i++) {
		output_string(w->out, i ? ",\n" : "\n");
		to_json_string(w->out, strtab_slice(&w->profile->folder->names, w->names.rows[i]));
	}
	for (size_t i = 0; i < w->modules.nr; i++) {
		const char *name = places_base_name(w->profile->modules[w->modules.rows[i]].path);

		output_string(w->out, w->names.nr + i ? ",\n" : "\n");
		to_json_string(w->out, (struct slice){name, strlen(name)});
	}
	output_string(w->out, "],\n");
}

static void put_stacks(struct writing *w)
{
	const struct folder_node *nodes = w->profile->stacks.nodes;
	size_t nr = w->stacks.nr;

	output_string(w->out, "\"stackTable\":{\n\"prefix\":[");
	for (size_t i = 0; i < nr; i++) {
		uint32_t parent = nodes[w->stacks.rows[i]].parent;

		output_string(w->out, i ? "," : "");
		if (parent)
			output_printf(w->out, "%u", subset_at(&w->stacks, parent));
		else
			output_string(w->out, "null");
	}
	output_string(w->out, "],\n\"frame\":[");
	for (size_t i = 0; i < nr; i++)
		output_printf(w->out, i ? ",%u" : "%u",
		              subset_at(&w->frames, nodes[w->stacks.rows[i]].name));
	output_string(w->out, "],\n\"category\":[");
	for (size_t i = 0; i < nr; i++)
		output_printf(w->out, i ? ",%d" : "%d",
		              category_of(w, nodes[w->stacks.rows[i]].name));
	output_string(w->out, "],\n");
	put_same(w->out, "subcategory", "0", nr);
	output_printf(w->out, "\"length\":%zu},\n", nr);
}

static const struct profile_sample *sample_at(const struct writing *w, size_t i)
{
	return &w->profile->samples[w->order.samples[i]];
}

static void put_samples(struct writing *w, size_t begin, size_t end)
{
	uint64_t ns = to_unit_ns(w->unit);

	output_string(w->out, "\"samples\":{\"stack\":[");
	for (size_t i = begin; i < end; i++)
		output_printf(w->out, i > begin ? ",%u" : "%u",
		              subset_at(&w->stacks, sample_at(w, i)->stack));
	output_string(w->out, "],\n\"weight\":[");
	for (size_t i = begin; i < end; i++) {
		weight_fx weight = sample_at(w, i)->weight;

		output_string(w->out, i > begin ? "," : "");
		/* milliseconds with all the places there are */
		to_weight(w->out, ns ? weight * ns / 1000000 : weight);
	}
	output_string(w->out, "],\n\"time\":[");
	for (size_t i = begin; i < end; i++)
		if (profile_is_recorded(w->profile))
			output_printf(w->out, i > begin ? ",%.6f" : "%.6f",
			              (double)(sample_at(w, i)->time - w->start) / 1e6);
		else
			output_printf(w->out, i > begin ? ",%zu" : "%zu", i - begin);
	output_printf(w->out, "],\n\"weightType\":\"%s\",\"length\":%zu}}",
	              ns                            ? "tracing-ms" :
	              strcmp(w->unit, "bytes") == 0 ? "bytes" :
	                                              "samples",
	              end - begin);
}

/* ---- threads ---- */

static void choose_rows(struct writing *w, size_t begin, size_t end)
{
	const struct profile *profile = w->profile;

	for (size_t i = begin; i < end; i++) {
		uint32_t node = sample_at(w, i)->stack;

		for (; node && subset_add(&w->stacks, node);
		     node = profile->stacks.nodes[node].parent)
			subset_add(&w->frames, profile->stacks.nodes[node].name);
	}
	subset_sort(&w->stacks);
	for (size_t i = 0; i < w->frames.nr; i++) {
		uint32_t function = w->functions.of_frame[w->frames.rows[i]];
		const struct profile_frame *frame = &profile->frames[w->functions.frame[function]];

		if (!subset_add(&w->used_functions, function))
			continue;
		subset_add(&w->names, frame->name);
		if (frame->file != PROFILE_NONE)
			subset_add(&w->names, frame->file);
		if (frame->module != PROFILE_NONE)
			subset_add(&w->modules, frame->module);
	}
}

static void put_thread(struct writing *w, size_t id, const char *event)
{
	size_t begin = w->order.first[id], end = w->order.first[id + 1];
	struct profile_thread thread = profile_thread_at(w->profile, (uint32_t)id);
	struct slice name = {event, strlen(event)};

	if (thread.comm != PROFILE_NONE)
		name = strtab_slice(&w->profile->folder->names, thread.comm);
	choose_rows(w, begin, end);
	output_string(w->out, "{\"name\":");
	to_json_string(w->out, name);
	output_string(w->out, ",\"processName\":");
	to_json_string(w->out, name);
	output_printf(w->out,
	              ",\"processType\":\"default\",\"processStartupTime\":0,"
	              "\"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,"
	              "\"pausedRanges\":[],\"isMainThread\":%s,\"pid\":\"%d\",\"tid\":%d,\n",
	              thread.pid == thread.tid ? "true" : "false", thread.pid, thread.tid);
	output_string(w->out, markers);
	put_resources(w);
	put_frames(w);
	put_functions(w);
	put_strings(w);
	put_stacks(w);
	put_samples(w, begin, end);
	subset_clear(&w->stacks);
	subset_clear(&w->frames);
	subset_clear(&w->used_functions);
	subset_clear(&w->names);
	subset_clear(&w->modules);
}

static void put_libraries(struct writing *w)
{
	for (size_t i = 0; i < w->profile->nr_modules; i++) {
		const struct profile_module *module = &w->profile->modules[i];
		struct slice path = {module->path, strlen(module->path)};
		const char *base = places_base_name(module->path);
		struct slice name = {base, strlen(base)};

		output_string(w->out,
		              i ? ",\n{\"arch\":\"\",\"name\":" : "\n{\"arch\":\"\",\"name\":");
		to_json_string(w->out, name);
		output_string(w->out, ",\"debugName\":");
		to_json_string(w->out, name);
		output_string(w->out, ",\"path\":");
		to_json_string(w->out, path);
		output_string(w->out, ",\"debugPath\":");
		to_json_string(w->out, path);
		output_string(w->out, ",\"breakpadId\":\"\",\"codeId\":\"");
		for (uint8_t k = 0; k < module->build_id.size; k++)
			output_printf(w->out, "%02x", module->build_id.bytes[k]);
		output_string(w->out, "\"}");
	}
}

static int write_firefox(const struct profile *profile, const struct folded_header *header,
                         struct output *out, struct err *err UNUSED)
{
	struct writing w = {.profile = profile, .unit = to_unit(header), .out = out};
	const char *event = to_event(header);
	bool is_first = true;

	profile_functions_init(&w.functions, profile);
	profile_order_init(&w.order, profile);
	subset_init(&w.stacks, profile->stacks.nr);
	subset_init(&w.frames, profile->nr_frames);
	subset_init(&w.used_functions, w.functions.nr);
	subset_init(&w.modules, profile->nr_modules);
	subset_init(&w.names, profile->folder->names.nr);
	w.start = profile->nr_samples ? profile->samples[0].time : 0;
	output_string(out, meta);
	put_libraries(&w);
	output_string(out, "],\"pages\":[],\"counters\":[],\n\"threads\":[");
	for (size_t thread = 0; thread < profile->threads.nr; thread++) {
		/* all its samples may have been filtered */
		if (w.order.first[thread] == w.order.first[thread + 1])
			continue;
		output_string(out, is_first ? "" : ",\n");
		put_thread(&w, thread, *event ? event : "profile");
		is_first = false;
	}
	output_string(out, "]}\n");
	profile_functions_release(&w.functions);
	profile_order_release(&w.order);
	subset_release(&w.stacks);
	subset_release(&w.frames);
	subset_release(&w.used_functions);
	subset_release(&w.modules);
	subset_release(&w.names);
	return 0;
}

const struct to_format to_firefox = {
        .name = "firefox",
        .about = "processed profile for profiler.firefox.com; of recordings, with threads",
        .write_profile = write_firefox,
};
