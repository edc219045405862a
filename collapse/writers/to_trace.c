/*
 * to_trace.c - writes trace events for Perfetto and chrome://tracing: samples
 * with their threads, processors and times.
 *
 * Of counted stacks: a sample for each distinct stack, a microsecond apart.
 *
 * Source: "Trace Event Format", JSON object format, samples and stackFrames;
 * metadata events.
 */
#include "share/compat.h"
#include "collapse/writers/to.h"

static void put_frames(const struct profile *profile, struct output *out)
{
	const struct folder *stacks = &profile->stacks;

	output_string(out, "\"stackFrames\":{");
	for (uint32_t node = 1; node < stacks->nr; node++) {
		const struct profile_frame *frame = &profile->frames[stacks->nodes[node].name];

		output_printf(out, node > 1 ? ",\n\"%u\":{\"name\":" : "\n\"%u\":{\"name\":", node);
		to_json_string(out, strtab_slice(&profile->folder->names, frame->name));
		if (frame->module != PROFILE_NONE) {
			const char *path = profile->modules[frame->module].path;

			output_string(out, ",\"category\":");
			to_json_string(out, (struct slice){path, strlen(path)});
		}
		if (stacks->nodes[node].parent)
			output_printf(out, ",\"parent\":\"%u\"", stacks->nodes[node].parent);
		output_string(out, "}");
	}
	output_string(out, "},\n");
}

static void put_threads(const struct profile *profile, struct output *out)
{
	bool is_first = true;

	output_string(out, "\"traceEvents\":[");
	for (uint32_t id = 0; id < profile->threads.nr && profile_is_recorded(profile); id++) {
		struct profile_thread thread = profile_thread_at(profile, id);

		if (thread.comm == PROFILE_NONE)
			continue;
		output_printf(out,
		              "%s\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,"
		              "\"args\":{\"name\":",
		              is_first ? "" : ",", thread.pid, thread.tid);
		to_json_string(out, strtab_slice(&profile->folder->names, thread.comm));
		output_string(out, "}}");
		is_first = false;
	}
	output_string(out, "],\n");
}

static int write_trace(const struct profile *profile, const struct folded_header *header,
                       struct output *out, struct err *err UNUSED)
{
	const char *event = to_event(header);
	uint64_t start = profile->nr_samples ? profile->samples[0].time : 0;

	event = *event ? event : "profile";
	output_string(out, "{");
	put_threads(profile, out);
	put_frames(profile, out);
	output_string(out, "\"samples\":[");
	for (size_t i = 0; i < profile->nr_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		struct profile_thread thread = profile_thread_at(profile, sample->thread);

		output_string(out, i ? ",\n{\"name\":" : "\n{\"name\":");
		to_json_string(out, (struct slice){event, strlen(event)});
		if (profile_is_recorded(profile))
			output_printf(out, ",\"ts\":%.3f,\"pid\":%d,\"tid\":%d",
			              (double)(sample->time - start) / 1e3, thread.pid, thread.tid);
		else
			output_printf(out, ",\"ts\":%zu", i);
		if (sample->cpu != PROFILE_NONE)
			output_printf(out, ",\"cpu\":%u", sample->cpu);
		output_printf(out, ",\"sf\":\"%u\",\"weight\":", sample->stack);
		to_weight(out, sample->weight);
		output_string(out, "}");
	}
	output_string(out, "]}\n");
	return 0;
}

const struct to_format to_trace = {
        .name = "trace",
        .about = "trace events: Perfetto, chrome://tracing; of recordings, with threads",
        .write_profile = write_trace,
};
