/*
 * to_speedscope.c - writes speedscope's file format: one sampled profile, a
 * sample for each distinct stack; of recordings a profile for each thread, its
 * samples in the order they were taken.
 *
 * Source: https://www.speedscope.app/file-format-schema.json (version 0.0.1).
 */
#include "share/compat.h"
#include "collapse/writers/to.h"

#include "share/mem.h"

static const char *unit_of(const struct folded_header *header)
{
	const char *unit = to_unit(header);

	return to_unit_ns(unit) || strcmp(unit, "bytes") == 0 ? unit : "none";
}

static void put_frames(const struct profile *profile, const struct profile_functions *functions,
                       struct output *out)
{
	const struct strtab *names = &profile->folder->names;

	output_string(out, "\"shared\":{\"frames\":[");
	for (size_t i = 0; i < functions->nr; i++) {
		const struct profile_frame *frame = &profile->frames[functions->frame[i]];

		output_string(out, i ? ",\n{\"name\":" : "\n{\"name\":");
		to_json_string(out, strtab_slice(names, frame->name));
		if (frame->file != PROFILE_NONE) {
			output_string(out, ",\"file\":");
			to_json_string(out, strtab_slice(names, frame->file));
		}
		output_string(out, "}");
	}
	output_string(out, "]},\n");
}

/* The stack of a sample as indexes of functions, root first. */
static void put_stack(const struct profile *profile, const struct profile_functions *functions,
                      uint32_t stack, uint32_t **path, size_t *capacity, struct output *out)
{
	size_t nr = to_path(&profile->stacks, stack, path, capacity);

	output_string(out, "[");
	for (size_t i = 0; i < nr; i++)
		output_printf(out, i ? ",%u" : "%u", functions->of_frame[(*path)[i]]);
	output_string(out, "]");
}

static void put_name(const struct profile *profile, size_t thread, const char *event,
                     struct output *out)
{
	struct profile_thread at = profile_thread_at(profile, (uint32_t)thread);
	struct buf name = {0};

	if (!profile_is_recorded(profile)) {
		buf_string(&name, *event ? event : "profile");
	} else {
		if (at.comm != PROFILE_NONE)
			buf_printf(&name, "%s ", strtab_text(&profile->folder->names, at.comm));
		buf_printf(&name, "(tid %d)", at.tid);
	}
	to_json_string(out, (struct slice){name.at, name.size});
	buf_release(&name);
}

static int write_speedscope(const struct profile *profile, const struct folded_header *header,
                            struct output *out, struct err *err UNUSED)
{
	struct profile_functions functions;
	struct profile_order order;
	uint32_t *path = NULL;
	size_t capacity = 0;
	bool is_first = true;

	profile_functions_init(&functions, profile);
	profile_order_init(&order, profile);
	output_string(out,
	              "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n");
	put_frames(profile, &functions, out);
	output_string(out, "\"profiles\":[");
	for (size_t thread = 0; thread < profile->threads.nr; thread++) {
		size_t begin = order.first[thread], end = order.first[thread + 1];
		weight_fx total = 0;

		/* its samples may all have been filtered */
		if (begin == end)
			continue;
		for (size_t i = begin; i < end; i++)
			total += profile->samples[order.samples[i]].weight;
		output_string(out, is_first ? "{\"type\":\"sampled\",\"name\":" :
		                              ",\n{\"type\":\"sampled\",\"name\":");
		put_name(profile, thread, to_event(header), out);
		output_printf(out,
		              ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":", unit_of(header));
		to_weight(out, total);
		output_string(out, ",\n\"samples\":[");
		for (size_t i = begin; i < end; i++) {
			output_string(out, i > begin ? ",\n" : "\n");
			put_stack(profile, &functions, profile->samples[order.samples[i]].stack,
			          &path, &capacity, out);
		}
		output_string(out, "],\n\"weights\":[");
		for (size_t i = begin; i < end; i++) {
			output_string(out, i > begin ? "," : "");
			to_weight(out, profile->samples[order.samples[i]].weight);
		}
		output_string(out, "]}");
		is_first = false;
	}
	output_string(out, "],\n\"exporter\":\"flame-collapse\"}\n");
	profile_functions_release(&functions);
	profile_order_release(&order);
	free(path);
	return 0;
}

const struct to_format to_speedscope = {
        .name = "speedscope",
        .about = "speedscope.app's JSON; of recordings, with threads",
        .write_profile = write_speedscope,
};
