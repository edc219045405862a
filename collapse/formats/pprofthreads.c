/*
 * pprofthreads.c - the thread lists of gperftools: each thread is one sample.
 *
 * Below a thread's own frames stand those of the thread that made it, as pprof
 * has them. Where the list holds no names, the map at its end tells files:
 * "libfoo.so+0x1234".
 *
 * Source: google/pprof, profile/legacy_profile.go, parseThread and
 * parseThreadSample:
 *
 *   "--- threadz N ---"
 *   "--- Thread 7f79 (name: NAME/TID) stack: ---"
 *   "  PC:  0xADDR: NAME", "  0xADDR: NAME"        innermost first, or
 *   "  PC: 0xADDR 0xADDR ...", "      0xADDR ..."  several a line
 *   "      creator: 0xADDR ..."
 *   "  [same as previous thread]"
 *   "--- Memory map: ---"
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/addrmap.h"
#include "collapse/formats/callers.h"
#include "share/num.h"

struct lister {
	struct folder *folder;
	const struct format_options *options;
	struct format_report *report;
	struct err *err;
	struct addrmap maps;
	struct callers callers; /* of the thread at hand, and then of the one before */
	struct slice name;
	int64_t tid;
	bool is_in_thread, has_frames;
};

static int detect(struct slice head, bool is_all UNUSED)
{
	return slice_starts(head, "--- threadz ") || slice_starts(head, "--- Thread ") ||
	                       head_has(head, "\n--- Thread ") ?
	               90 :
	               0;
}

static bool end_thread(struct lister *lister)
{
	uint32_t node;

	if (!lister->is_in_thread)
		return true;
	lister->is_in_thread = false;
	node = format_root(lister->folder, lister->options,
	                   lister->name.size ? lister->name.at : NULL, lister->name.size, -1,
	                   lister->tid);
	if (lister->has_frames)
		node = callers_node(&lister->callers, lister->folder, node);
	else
		node = folder_child(lister->folder, node,
		                    folder_name(lister->folder, "[no stack]", 10));
	return format_count(lister->folder, node, weight_from_u64(1), lister->report, lister->err);
}

/* "--- Thread 7f794ab90940 (name: main/14748) stack: ---" */
static bool begin_thread(struct lister *lister, struct slice line)
{
	const char *slash;
	uint64_t tid;

	if (!end_thread(lister))
		return false;
	lister->is_in_thread = true;
	lister->has_frames = false;
	lister->tid = -1;
	lister->name = slice_from(line, slice_find(line, "(name: ") + 7);
	lister->name.size = slice_find(lister->name, ")");
	slash = lister->name.size ? memrchr(lister->name.at, '/', lister->name.size) : NULL;
	if (slash &&
	    !num_parse_u64(slash + 1, (size_t)(lister->name.at + lister->name.size - slash - 1),
	                   &tid)) {
		lister->tid = tid <= INT64_MAX ? (int64_t)tid : -1;
		lister->name.size = (size_t)(slash - lister->name.at);
	}
	return true;
}

/* Frames of one line; false where it holds none. */
static bool take_frames(struct lister *lister, struct slice text)
{
	static const char *const prefixes[] = {"PC:", "creator:"};
	struct slice word;
	bool is_any = false;

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (slice_starts(text, prefixes[i]))
			text = slice_from(text, strlen(prefixes[i]));
	while (slice_word(&text, &word)) {
		bool has_name = word.at[word.size - 1] == ':';
		uint64_t address;
		char name[300];

		if (!slice_starts(word, "0x") ||
		    num_parse_hex(word.at, word.size - has_name, &address))
			return is_any;
		if (!lister->has_frames)
			callers_reset(&lister->callers);
		lister->has_frames = is_any = true;
		if (has_name) {
			callers_add(&lister->callers, lister->folder, slice_trim(text));
			return true;
		}
		word = (struct slice){name,
		                      addrmap_name(&lister->maps, address, name, sizeof(name))};
		callers_add(&lister->callers, lister->folder, word);
	}
	return is_any;
}

static bool take_line(struct lister *lister, struct slice line, uint64_t number)
{
	struct slice text = slice_trim(line);

	if (slice_starts(text, "--- Thread "))
		return begin_thread(lister, text);
	if (slice_starts(text, "---"))
		return end_thread(lister);
	if (slice_starts(text, "[same as previous thread]"))
		lister->has_frames = lister->callers.nr;
	else if (lister->is_in_thread && text.size && !take_frames(lister, text))
		format_bad(lister->report, "line %llu: no frame of a thread: %.*s",
		           (unsigned long long)number, (int)MIN_OF(text.size, (size_t)100),
		           text.at);
	return true;
}

static bool next_line(struct slice *rest, struct slice *line)
{
	if (!rest->size)
		return false;
	*line = (struct slice){rest->at, slice_find(*rest, "\n")};
	*rest = slice_from(*rest, line->size + 1);
	return true;
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header UNUSED, struct format_report *report, struct err *err)
{
	struct lister lister = {.folder = folder, .options = options, .report = report, .err = err};
	struct slice all, rest, line;
	uint64_t number = 0;
	bool ok = true;

	if (format_whole(in, &all, err) < 0)
		return -1;
	format_unit(report, "thread", "threads");
	rest = slice_from(all, slice_find(all, "--- Memory map"));
	while (next_line(&rest, &line))
		addrmap_take(&lister.maps, line);
	rest = all;
	while (ok && next_line(&rest, &line))
		ok = take_line(&lister, line, ++number);
	ok = ok && end_thread(&lister);
	addrmap_release(&lister.maps);
	callers_release(&lister.callers);
	return ok ? 0 : -1;
}

const struct format format_pprof_threads = {
        .name = "pprof-threads",
        .about = "thread lists of gperftools: a sample a thread",
        .detect = detect,
        .parse = parse,
};
