/*
 * papyrus.c - script profiling logs of Papyrus (the Creation engine).
 *
 * Milliseconds in each function; a script stack is a thread.
 *
 * Source: Creation Kit wiki, "Profiling": MILLISECONDS:PUSH|POP:STACK:DEPTH:
 * OBJECT:SCRIPT..FUNCTION, between "NAME log opened" and "Log closed"; in the log
 * of one stack also MILLISECONDS:START|DONE:STACK.
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/idmap.h"
#include "collapse/formats/spans.h"
#include "collapse/formats/callers.h"
#include "share/num.h"

static int detect(struct slice head, bool is_all UNUSED)
{
	return head_has(head, " log opened (") &&
	                       (head_has(head, ":PUSH:") || head_has(head, ":QUEUE_PUSH:")) ?
	               90 :
	               0;
}

/* Cuts the part up to the next ':' off; false where there is none. */
static bool next_part(struct slice *rest, struct slice *part)
{
	const char *colon = memchr(rest->at, ':', rest->size);

	if (!colon)
		return false;
	*part = (struct slice){rest->at, (size_t)(colon - rest->at)};
	rest->size -= part->size + 1;
	rest->at = colon + 1;
	return true;
}

static bool take_line(struct slice line, struct spans *spans, struct idmap *threads,
                      struct folder *folder, const struct format_options *options)
{
	struct slice time, kind, stack, depth, object;
	uint64_t at, id;
	uint32_t thread, name;

	if (!next_part(&line, &time) || !next_part(&line, &kind))
		return false;
	if (slice_equals(kind, "START") || slice_equals(kind, "DONE"))
		return slice_is_digits(time) && slice_is_digits(line);
	if (!next_part(&line, &stack) || !next_part(&line, &depth) || !next_part(&line, &object) ||
	    !line.size)
		return false;
	if (num_parse_u64(time.at, time.size, &at) || num_parse_u64(stack.at, stack.size, &id))
		return false;
	if (!slice_equals(kind, "PUSH") && !slice_equals(kind, "POP"))
		return slice_starts(kind, "QUEUE_");
	thread = idmap_get(threads, id);
	if (thread == UINT32_MAX) {
		thread = spans_thread(spans, format_root(folder, options, NULL, 0, -1,
		                                         (int64_t)(id & INT64_MAX)));
		idmap_set(threads, id, thread);
	}
	name = folder_name(folder, line.at, line.size);
	spans_event(spans, thread, slice_equals(kind, "PUSH") ? SPAN_BEGIN : SPAN_END, name,
	            (__int128)weight_from_u64(at));
	return true;
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header UNUSED, struct format_report *report, struct err *err)
{
	struct idmap threads = {0};
	struct spans spans = {0};
	struct slice line;
	int more, result = 0;

	format_unit(report, "time", "milliseconds");
	while ((more = input_line(in, &line, err)) > 0) {
		if (!line.size || slice_equals(line, "Log closed") ||
		    memmem(line.at, line.size, " log opened (", 13))
			continue;
		if (take_line(line, &spans, &threads, folder, options))
			report->nr_samples++;
		else
			format_bad(report, "line %llu: no event of a Papyrus log",
			           (unsigned long long)input_line_number(in));
	}
	if (more < 0)
		result = -1;
	else if (!spans_fold(&spans, folder))
		result = format_too_large(err);
	spans_release(&spans);
	idmap_release(&threads);
	return result;
}

const struct format format_papyrus = {
        .name = "papyrus",
        .about = "Papyrus script profiling log",
        .detect = detect,
        .parse = parse,
};
