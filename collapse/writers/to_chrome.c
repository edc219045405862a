/*
 * to_chrome.c - writes what Chrome's DevTools open: a .cpuprofile, or a
 * .heapprofile where the unit is bytes.
 *
 * A CPU profile has no weights: each count becomes that many samples; times
 * become one sample a stack that lasts so long, in whole microseconds.
 *
 * Source: Chrome DevTools protocol, Profiler.Profile and
 * HeapProfiler.SamplingHeapProfile.
 */
#include "share/compat.h"
#include "collapse/writers/to.h"

#include "share/mem.h"

#define MAX_SAMPLES 20000000u /* about as many bytes six times over */

static void put_call_frame(const struct folder *folder, uint32_t node, struct output *out)
{
	static const struct slice root = {"(root)", 6};

	output_string(out, "\"callFrame\":{\"functionName\":");
	to_json_string(out, node ? strtab_slice(&folder->names, folder->nodes[node].name) : root);
	output_string(out, ",\"scriptId\":\"0\",\"url\":\"\",\"lineNumber\":-1,"
	                   "\"columnNumber\":-1}");
}

static void put_nodes(const struct folder *folder, bool has_hits, struct output *out)
{
	struct to_children children;

	to_children_init(&children, folder);
	output_string(out, "{\"nodes\":[");
	for (uint32_t node = 0; node < folder->nr; node++) {
		output_printf(out, node ? ",\n{\"id\":%u," : "\n{\"id\":%u,", node + 1);
		put_call_frame(folder, node, out);
		output_printf(out, ",\"hitCount\":%llu,\"children\":[",
		              has_hits ?
		                      (unsigned long long)(folder->nodes[node].self / WEIGHT_ONE) :
		                      folder->nodes[node].self > 0);
		for (uint32_t child = children.first[node]; child; child = children.next[child])
			output_printf(out, child == children.first[node] ? "%u" : ",%u", child + 1);
		output_string(out, "]}");
	}
	to_children_release(&children);
}

static int write_samples(const struct folder *folder, const char *unit, struct output *out,
                         struct err *err)
{
	uint64_t nr = (uint64_t)(folder->total / WEIGHT_ONE);
	bool is_first = true;

	if (nr > MAX_SAMPLES || !to_all_whole(folder))
		return err_set(err,
		               "a CPU profile of Chrome holds single samples, and these %s are "
		               "too many, or have fractions; '--to speedscope' holds any count",
		               unit);
	put_nodes(folder, true, out);
	output_printf(out, "],\n\"startTime\":0,\"endTime\":%llu000,\n\"samples\":[",
	              (unsigned long long)nr);
	for (uint32_t node = 0; node < folder->nr; node++)
		for (uint64_t left = (uint64_t)(folder->nodes[node].self / WEIGHT_ONE); left;
		     left--) {
			output_printf(out, is_first ? "%u" : ",%u", node + 1);
			is_first = false;
		}
	/* a millisecond each, which is V8's own interval */
	output_string(out, "],\n\"timeDeltas\":[");
	for (uint64_t i = 0; i < nr; i++)
		output_string(out, i ? ",1000" : "0");
	output_string(out, "]}\n");
	return 0;
}

static int write_times(const struct folder *folder, uint64_t ns, struct output *out)
{
	weight_fx sum = 0, shown = 0;
	bool is_first = true;

	put_nodes(folder, false, out);
	output_string(out, "],\n\"samples\":[");
	for (uint32_t node = 0; node < folder->nr; node++) {
		if (!folder->nodes[node].self)
			continue;
		output_printf(out, is_first ? "%u" : ",%u", node + 1);
		is_first = false;
	}
	/* a delta is the time of the sample before: they run one behind */
	output_string(out, "],\n\"timeDeltas\":[0");
	for (uint32_t node = 0, left = folder->nr; node < left; node++) {
		weight_fx until;

		if (!folder->nodes[node].self)
			continue;
		sum += folder->nodes[node].self;
		until = sum * ns / 1000 / WEIGHT_ONE;
		if (sum < folder->total)
			output_printf(out, ",%llu", (unsigned long long)(until - shown));
		shown = until;
	}
	output_printf(out, "],\n\"startTime\":1,\"endTime\":%llu}\n",
	              (unsigned long long)shown + 1);
	return 0;
}

/* Nested objects without recursion: a node is closed when its siblings are due. */
static int write_heap(const struct folder *folder, struct output *out)
{
	struct to_children children;
	uint32_t node = 0;
	bool is_down = true;

	to_children_init(&children, folder);
	output_string(out, "{\"head\":");
	for (;;) {
		if (is_down) {
			output_string(out, "{");
			put_call_frame(folder, node, out);
			output_printf(out, ",\"selfSize\":%llu,\"id\":%u,\"children\":[",
			              (unsigned long long)(folder->nodes[node].self / WEIGHT_ONE),
			              node + 1);
			if (children.first[node]) {
				node = children.first[node];
				continue;
			}
		}
		output_string(out, "]}");
		if (!node)
			break;
		is_down = children.next[node];
		if (is_down)
			output_string(out, ",\n");
		node = is_down ? children.next[node] : folder->nodes[node].parent;
	}
	output_string(out, ",\n\"samples\":[]}\n");
	to_children_release(&children);
	return 0;
}

static int write_chrome(const struct folder *folder, const struct folded_header *header,
                        struct output *out, struct err *err)
{
	const char *unit = to_unit(header);
	uint64_t ns = to_unit_ns(unit);

	if (strcmp(unit, "bytes") == 0)
		return to_all_whole(folder) ?
		               write_heap(folder, out) :
		               err_set(err, "a heap profile of Chrome holds whole bytes, and these "
		                            "have fractions");
	return ns ? write_times(folder, ns, out) : write_samples(folder, unit, out, err);
}

const struct to_format to_chrome = {
        .name = "chrome",
        .about = "Chrome DevTools: .cpuprofile, or .heapprofile of bytes",
        .write = write_chrome,
};
