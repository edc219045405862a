/*
 * to_firefox.c - writes a processed profile for profiler.firefox.com.
 *
 * One thread; a sample for each distinct stack, weighted. Times stand in
 * milliseconds, as that profiler wants them. Kernel frames (_[k]) and
 * JIT-compiled ones (_[j]) get categories of their own.
 *
 * Source: firefox-devtools/profiler, src/types/profile.js and
 * docs-developer/CHANGELOG-formats.md, processed profile version 47.
 */
#include "share/compat.h"
#include "collapse/writers/to.h"

enum { CATEGORY_USER, CATEGORY_KERNEL, CATEGORY_JIT };

static const char meta[] =
        "{\"meta\":{\"version\":27,\"preprocessedProfileVersion\":47,\"interval\":1,"
        "\"startTime\":0,\"processType\":0,\"product\":\"flame-collapse\",\"stackwalk\":1,"
        "\"debug\":false,\"symbolicated\":true,\"markerSchema\":[],\"categories\":["
        "{\"name\":\"User\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
        "{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\"]},"
        "{\"name\":\"JIT\",\"color\":\"blue\",\"subcategories\":[\"Other\"]}]},\n"
        "\"libs\":[],\"pages\":[],\"counters\":[],\n\"threads\":[{\"name\":";

static const char thread[] =
        ",\"processType\":\"default\",\"processName\":\"profile\",\"processStartupTime\":0,"
        "\"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,"
        "\"pausedRanges\":[],\"isMainThread\":true,\"pid\":\"0\",\"tid\":0,\n"
        "\"markers\":{\"length\":0,\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],"
        "\"phase\":[],\"category\":[]},\n"
        "\"resourceTable\":{\"length\":0,\"lib\":[],\"name\":[],\"host\":[],\"type\":[]},\n"
        "\"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],\"name\":[],"
        "\"functionSize\":[]},\n";

static int category_of(const struct folder *folder, uint32_t name)
{
	struct slice text = strtab_slice(&folder->names, name);

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

/* "KEY":[0,1,2,...]: frames and functions are names, one to one */
static void put_same_index(struct output *out, const char *key, size_t nr)
{
	output_printf(out, "\"%s\":[", key);
	for (size_t i = 0; i < nr; i++)
		output_printf(out, i ? ",%zu" : "%zu", i);
	output_string(out, "],\n");
}

static void put_frames(const struct folder *folder, struct output *out)
{
	size_t nr = folder->names.nr;

	output_string(out, "\"frameTable\":{\n");
	put_same(out, "address", "-1", nr);
	put_same(out, "inlineDepth", "0", nr);
	put_same(out, "subcategory", "0", nr);
	put_same(out, "nativeSymbol", "null", nr);
	put_same(out, "innerWindowID", "0", nr);
	put_same(out, "implementation", "null", nr);
	put_same(out, "line", "null", nr);
	put_same(out, "column", "null", nr);
	put_same_index(out, "func", nr);
	output_string(out, "\"category\":[");
	for (uint32_t name = 0; name < nr; name++)
		output_printf(out, name ? ",%d" : "%d", category_of(folder, name));
	output_printf(out, "],\"length\":%zu},\n\"funcTable\":{\n", nr);
	put_same(out, "isJS", "false", nr);
	put_same(out, "relevantForJS", "false", nr);
	put_same(out, "resource", "-1", nr);
	put_same(out, "fileName", "null", nr);
	put_same(out, "lineNumber", "null", nr);
	put_same(out, "columnNumber", "null", nr);
	put_same_index(out, "name", nr);
	output_printf(out, "\"length\":%zu},\n\"stringArray\":[", nr);
	for (uint32_t name = 0; name < nr; name++) {
		output_string(out, name ? ",\n" : "\n");
		to_json_string(out, strtab_slice(&folder->names, name));
	}
	output_string(out, "],\n");
}

static void put_stacks(const struct folder *folder, struct output *out)
{
	size_t nr = folder->nr - 1;

	output_string(out, "\"stackTable\":{\n\"prefix\":[");
	for (uint32_t node = 1; node < folder->nr; node++) {
		uint32_t parent = folder->nodes[node].parent;

		output_string(out, node > 1 ? "," : "");
		if (parent)
			output_printf(out, "%u", parent - 1);
		else
			output_string(out, "null");
	}
	output_string(out, "],\n\"frame\":[");
	for (uint32_t node = 1; node < folder->nr; node++)
		output_printf(out, node > 1 ? ",%u" : "%u", folder->nodes[node].name);
	output_string(out, "],\n\"category\":[");
	for (uint32_t node = 1; node < folder->nr; node++)
		output_printf(out, node > 1 ? ",%d" : "%d",
		              category_of(folder, folder->nodes[node].name));
	output_string(out, "],\n");
	put_same(out, "subcategory", "0", nr);
	output_printf(out, "\"length\":%zu},\n", nr);
}

static void put_samples(const struct folder *folder, const char *unit, struct output *out)
{
	uint64_t ns = to_unit_ns(unit);
	size_t nr = 0;

	output_string(out, "\"samples\":{\"stack\":[");
	for (uint32_t node = 1; node < folder->nr; node++)
		if (folder->nodes[node].self)
			output_printf(out, nr++ ? ",%u" : "%u", node - 1);
	output_string(out, "],\n\"weight\":[");
	nr = 0;
	for (uint32_t node = 1; node < folder->nr; node++) {
		weight_fx weight = folder->nodes[node].self;

		if (!weight)
			continue;
		output_string(out, nr++ ? "," : "");
		/* milliseconds with all the places there are */
		to_weight(out, ns ? weight * ns / 1000000 : weight);
	}
	output_string(out, "],\n");
	put_same_index(out, "time", nr);
	output_printf(out, "\"weightType\":\"%s\",\"length\":%zu}}]}\n",
	              ns                         ? "tracing-ms" :
	              strcmp(unit, "bytes") == 0 ? "bytes" :
	                                           "samples",
	              nr);
}

static int write_firefox(const struct folder *folder, const struct folded_header *header,
                         struct output *out, struct err *err UNUSED)
{
	const char *event = to_event(header);

	event = *event ? event : "profile";
	output_string(out, meta);
	to_json_string(out, (struct slice){event, strlen(event)});
	output_string(out, thread);
	put_frames(folder, out);
	put_stacks(folder, out);
	put_samples(folder, to_unit(header), out);
	return 0;
}

const struct to_format to_firefox = {
        .name = "firefox",
        .about = "processed profile for profiler.firefox.com",
        .write = write_firefox,
};
