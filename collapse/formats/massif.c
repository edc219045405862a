/*
 * massif.c - heap profiles of valgrind's massif.
 *
 * Bytes that were allocated and not yet freed (mem_heap_B: without the
 * allocator's own overhead), by the stack that asked for them, at one moment:
 * the peak, or the detailed snapshot whose number --value names. A file
 * without a peak gives its largest detailed snapshot.
 *
 * Source: valgrind 3.19, massif/ms_main.c (pp_snapshot) and coregrind/m_xtree.c,
 * ms_print: "nCHILDREN: BYTES PLACE" lines, each indented by one blank more than
 * what it called; the first stands for the allocation functions.
 */
#include "share/compat.h"
#include "collapse/formats/calltree.h"
#include "collapse/formats/format.h"

#include "collapse/formats/callers.h"
#include "share/mem.h"
#include "share/num.h"

struct snapshot {
	char name[24]; /* "peak", or its number */
	uint64_t bytes;
	struct slice tree; /* from the line after "heap_tree=" on */
	uint64_t line;     /* of its first line */
	bool is_peak;
};

struct massif {
	struct format_report *report;
	struct snapshot *snapshots; /* those that have a tree */
	size_t nr, capacity;
	uint64_t line;
};

static int detect(struct slice head, bool is_all UNUSED)
{
	return slice_starts(head, "desc: ") && head_has(head, "\ntime_unit: ") &&
	                       head_has(head, "\n#-----------\nsnapshot=") ?
	               100 :
	               0;
}

static bool next_line(struct massif *m, struct slice *rest, struct slice *line)
{
	m->line++;
	return slice_next_line(rest, line);
}

static bool key_number(struct slice line, const char *key, uint64_t *value)
{
	struct slice digits = slice_from(line, strlen(key));

	return slice_starts(line, key) && num_parse_u64(digits.at, digits.size, value) == 0;
}

static void list_snapshots(struct massif *m, struct slice rest)
{
	struct slice line;
	uint64_t number = 0, bytes = 0;

	while (next_line(m, &rest, &line)) {
		struct snapshot snapshot = {.tree = rest, .line = m->line};

		if (key_number(line, "snapshot=", &number) ||
		    key_number(line, "mem_heap_B=", &bytes))
			continue;
		snapshot.is_peak = slice_equals(line, "heap_tree=peak");
		if (!snapshot.is_peak && !slice_equals(line, "heap_tree=detailed"))
			continue;
		snapshot.bytes = bytes;
		snprintf(snapshot.name, sizeof(snapshot.name), "%llu", (unsigned long long)number);
		if (snapshot.is_peak)
			snprintf(snapshot.name, sizeof(snapshot.name), "peak");
		MEM_GROW(m->snapshots, m->nr, m->capacity);
		m->snapshots[m->nr++] = snapshot;
	}
}

static int choose(const struct massif *m, const struct format_options *options,
                  struct folded_header *header, size_t *picked, struct err *err)
{
	const char **names = mem_resize(NULL, m->nr + 1, sizeof(*names));
	size_t best = 0;
	int result;

	for (size_t i = 0; i < m->nr; i++) {
		const struct snapshot *snapshot = &m->snapshots[i];

		names[i] = snapshot->name;
		if (snapshot->is_peak ||
		    (!m->snapshots[best].is_peak && snapshot->bytes > m->snapshots[best].bytes))
			best = i;
	}
	result = format_value(options, names, m->nr, best, picked, err);
	format_values_note(header, names, m->nr);
	free(names);
	return result;
}

/* "n2: 105950 PLACE"; false where it is no line of a tree. */
static bool parse_node(struct slice line, size_t *depth, weight_fx *bytes, struct slice *place)
{
	size_t colon = slice_find(line, ": ");
	struct slice digits;

	for (*depth = 0; *depth < line.size && line.at[*depth] == ' ';)
		*depth += 1;
	digits = slice_from(line, *depth + 1);
	digits.size = colon < line.size && colon > *depth ? colon - *depth - 1 : 0;
	if (!slice_is_digits(digits) || line.at[*depth] != 'n')
		return false;
	*place = slice_from(line, colon + 2);
	digits = (struct slice){place->at, slice_find(*place, " ")};
	*place = slice_from(*place, digits.size + 1);
	return place->size && weight_parse(digits.at, digits.size, bytes) == WEIGHT_OK;
}

static int fold(struct massif *m, const struct snapshot *snapshot,
                const struct format_options *options, struct calltree *tree)
{
	struct slice rest = snapshot->tree, line, place;
	weight_fx bytes, total = 0, by_place = 0;
	size_t depth;

	m->line = snapshot->line;
	while (next_line(m, &rest, &line) && !slice_starts(line, "#---")) {
		bool is_skipped;

		if (!parse_node(line, &depth, &bytes, &place)) {
			format_bad(m->report, "line %llu: no line of a heap tree: %.*s",
			           (unsigned long long)m->line, (int)MIN_OF(line.size, (size_t)100),
			           line.at);
			continue;
		}
		if (!depth) { /* "(heap allocation functions) malloc/new/new[], ..." */
			total = bytes;
			continue;
		}
		if (slice_starts(place, "in ") && slice_find(place, "threshold") < place.size)
			place = (struct slice){"[below threshold]", 17};
		else
			place = slice_valgrind_frame(place, options->srcline);
		by_place += depth == 1 ? bytes : 0;
		if (calltree_add(tree, depth - 1, place, bytes, &is_skipped) < 0)
			return -1;
		if (is_skipped)
			format_bad(m->report,
			           "line %llu: it is indented deeper than a caller of the line "
			           "above",
			           (unsigned long long)m->line);
	}
	if (calltree_finish(tree) < 0)
		return -1;
	/* what a cut tree lacks, and the whole of one that has no places */
	if (total > by_place &&
	    !format_count(tree->folder, 0, total - by_place, m->report, tree->err))
		return -1;
	if (total != weight_from_u64(snapshot->bytes))
		format_bad(m->report, "line %llu: the heap holds %llu bytes, its tree others",
		           (unsigned long long)snapshot->line, (unsigned long long)snapshot->bytes);
	return 0;
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header, struct format_report *report, struct err *err)
{
	struct calltree tree = {.folder = folder,
	                        .report = report,
	                        .err = err,
	                        .is_inclusive = true,
	                        .is_inverted = true};
	struct massif m = {.report = report};
	struct slice text;
	size_t picked;
	int result = -1;

	if (format_whole(in, &text, err))
		return -1;
	list_snapshots(&m, text);
	format_unit(report, "heap", "bytes");
	if (!m.nr)
		err_set(err, "no snapshot has a tree; massif writes one at the peak and with "
		             "--detailed-freq=1 at each");
	else if (choose(&m, options, header, &picked, err) == 0)
		result = fold(&m, &m.snapshots[picked], options, &tree);
	calltree_release(&tree);
	free(m.snapshots);
	return result;
}

const struct format format_massif = {
        .name = "massif",
        .about = "valgrind massif heap profile; values: peak, or a snapshot's number",
        .detect = detect,
        .parse = parse,
};
