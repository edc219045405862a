/*
 * The format "perf-script": cuts the input into chunks of whole samples,
 * which threads take in turn and fold each into a folder of its own; the
 * folders are merged at the end. One thread needs no copy at all.
 */
#include "share/compat.h"
#include "collapse/formats/textin.h"

#include "share/mem.h"

#include <pthread.h>

/* Small enough to stay in the second cache while it is read twice. */
#define CHUNK_SIZE ((size_t)512 * 1024)
/* A sample larger than that is cut where a line ends. */
#define CHUNK_MAX ((size_t)64 << 20)

/* Handing pages back interrupts all threads: not too often. */
#define FORGET_SIZE ((uint64_t)16 << 20)

/* ---- chunks ---- */

/*
 * How much of the text is whole samples: up to an empty line whose successor
 * is no frame, or else up to a line that is not indented, or 0.
 */
static size_t whole_samples(const char *text, size_t size)
{
	const char *at = text + size;

	while ((at = memrchr(text, '\n', (size_t)(at - text)))) {
		if (at > text && at[-1] == '\n' && at + 1 < text + size && at[1] != '\t' &&
		    at[1] != '\n')
			return (size_t)(at + 1 - text);
	}
	for (at = text + size; (at = memrchr(text, '\n', (size_t)(at - text)));)
		if (at + 1 < text + size && at[1] != '\t' && at[1] != ' ' && at[1] != '\r')
			return (size_t)(at + 1 - text);
	return 0;
}

/* The next chunk, not yet consumed; size 0 at the end. */
static int peek_chunk(struct input *in, struct slice *chunk, struct err *err)
{
	size_t want = CHUNK_SIZE, got, whole;

	for (;;) {
		if (input_peek(in, want, &chunk->at, &got, err) < 0)
			return -1;
		chunk->size = got;
		if (got < want)
			return 0;
		whole = whole_samples(chunk->at, got);
		if (whole) {
			chunk->size = whole;
			return 0;
		}
		if (want >= CHUNK_MAX) {
			const char *newline = memrchr(chunk->at, '\n', got);

			if (newline)
				chunk->size = (size_t)(newline + 1 - chunk->at);
			return 0;
		}
		want *= 2;
	}
}

/* ---- threads ---- */

struct team {
	struct input *in;
	pthread_mutex_t lock; /* over everything here */
	struct err *err;
	bool has_failed, is_copied;
	uint64_t forget_at; /* offset at which pages of the map are handed back next */

	uint64_t *nr_lines; /* of the chunks, as far as they have been folded */
	size_t nr_chunks, chunks_capacity;
};

struct member {
	struct team *team;
	struct textin_fold *fold;
	struct buf copy;
	pthread_t thread;
};

/* Takes a chunk for this member alone; *index is its place among all of them. */
static int take_chunk(struct member *member, struct slice *chunk, size_t *index)
{
	struct team *team = member->team;
	int result = -1;

	pthread_mutex_lock(&team->lock);
	if (!team->has_failed && peek_chunk(team->in, chunk, team->err) == 0) {
		uint64_t offset = input_offset(team->in);

		if (team->is_copied) {
			buf_reset(&member->copy);
			buf_add(&member->copy, chunk->at, chunk->size);
		} else if (offset >= team->forget_at) {
			/* what others still read comes back by itself */
			input_forget(team->in, chunk->at - MIN_OF(offset, FORGET_SIZE / 2));
			team->forget_at = offset + FORGET_SIZE;
		}
		MEM_GROW(team->nr_lines, team->nr_chunks, team->chunks_capacity);
		*index = team->nr_chunks++;
		input_skip(team->in, chunk->size);
		if (team->is_copied)
			chunk->at = member->copy.at;
		result = 0;
	} else {
		team->has_failed = true;
	}
	pthread_mutex_unlock(&team->lock);
	return result;
}

static bool fold_chunk(struct member *member, struct slice chunk, size_t index)
{
	struct team *team = member->team;
	uint64_t nr_lines;
	struct err err;
	bool ok = textin_fold_text(member->fold, chunk, index, &nr_lines, &err);

	pthread_mutex_lock(&team->lock);
	team->nr_lines[index] = nr_lines;
	if (!ok) {
		team->has_failed = true;
		*team->err = err;
	}
	pthread_mutex_unlock(&team->lock);
	return ok;
}

static void *work(void *arg)
{
	struct member *member = arg;
	struct slice chunk;
	size_t index;

	while (take_chunk(member, &chunk, &index) == 0 && chunk.size)
		fold_chunk(member, chunk, index);
	return NULL;
}

/* ---- results ---- */

static bool merge_folder(struct folder *to, const struct folder *from, struct err *err)
{
	uint32_t *names = mem_resize(NULL, MAX_OF(from->names.nr, 1u), sizeof(*names));
	uint32_t *nodes = mem_resize(NULL, from->nr, sizeof(*nodes));
	bool ok = true;

	for (uint32_t i = 0; i < from->names.nr; i++) {
		struct slice name = strtab_slice(&from->names, i);

		names[i] = strtab_id(&to->names, name.at, name.size);
	}
	/* a parent is always older than its children */
	nodes[0] = 0;
	for (uint32_t i = 0; i < from->nr && ok; i++) {
		const struct folder_node *node = &from->nodes[i];

		if (i)
			nodes[i] = folder_child(to, nodes[node->parent], names[node->name]);
		if (node->self && !folder_count(to, nodes[i], node->self)) {
			format_too_large(err);
			ok = false;
		}
	}
	free(names);
	free(nodes);
	return ok;
}

/* Adds what one fold saw; of what they quote as bad the first in the input stays. */
static void merge_report(struct format_report *to, const struct textin_fold *fold,
                         const struct team *team, uint64_t *bad_line)
{
	const struct format_report *from = textin_fold_report(fold);

	to->nr_samples += from->nr_samples;
	to->nr_lost += from->nr_lost;
	to->nr_left_out += from->nr_left_out;
	if (from->nr_bad) {
		uint64_t line;
		size_t chunk;

		textin_fold_bad(fold, &chunk, &line);
		while (chunk--)
			line += team->nr_lines[chunk];
		if (line < *bad_line) {
			*bad_line = line;
			snprintf(to->first_bad, sizeof(to->first_bad), "line %llu: %.160s",
			         (unsigned long long)line, from->first_bad);
		}
	}
	to->nr_bad += from->nr_bad;
}

static void note_left_out(const struct member *members, unsigned nr, struct folded_header *header)
{
	struct strtab names = {0};
	uint64_t counts[TEXTIN_EVENTS_MAX] = {0};
	struct buf text = {0};

	for (unsigned i = 0; i < nr; i++) {
		size_t nr_events;
		const struct textin_event *events = textin_fold_events(members[i].fold, &nr_events);

		for (size_t j = 0; j < nr_events; j++) {
			uint32_t id;

			if (events[j].is_chosen)
				continue;
			id = strtab_cstr(&names, events[j].name);
			if (id < TEXTIN_EVENTS_MAX)
				counts[id] += events[j].nr_samples;
		}
	}
	for (uint32_t i = 0; i < names.nr && i < TEXTIN_EVENTS_MAX; i++)
		buf_printf(&text, "%s%s (%llu samples)", i ? ", " : "", strtab_text(&names, i),
		           (unsigned long long)counts[i]);
	if (text.size)
		folded_header_set(header, "left out", "%s", buf_text(&text));
	buf_release(&text);
	strtab_release(&names);
}

static bool has_event_roots(const struct format_options *options)
{
	return options->all_events || (options->events && options->events[0] && options->events[1]);
}

static const char *chosen_event(const struct member *member, const struct format_options *options)
{
	const char *first = textin_fold_first_event(member->fold);

	if (has_event_roots(options))
		return "several, each below its name";
	return options->events ? options->events[0] : first ? first : "";
}

static bool is_clock(const char *event)
{
	return strncmp(event, "cpu-clock", 9) == 0 || strncmp(event, "task-clock", 10) == 0;
}

static void describe(const struct member *members, unsigned nr,
                     const struct format_options *options, struct folded_header *header,
                     struct format_report *report)
{
	static const char *const keys[TEXTIN_MACHINE_MAX] = {"host", "kernel", "command"};
	const char *event = chosen_event(&members[0], options);
	const char *unit = "samples";

	if (options->count == COUNT_PERIOD)
		unit = is_clock(event) ? "nanoseconds" : "events";
	else if (options->count == COUNT_TIME)
		unit = "microseconds";
	format_unit(report, event, unit);
	for (size_t key = 0; key < TEXTIN_MACHINE_MAX; key++) {
		const char *value = textin_fold_machine(members[0].fold, key);

		if (value)
			folded_header_set(header, keys[key], "%s", value);
	}
	note_left_out(members, nr, header);
}

/* ---- the format ---- */

/* What perf script and perf report print with -D: each record in hexadecimal. */
static bool is_dump(struct slice head)
{
	return head_has(head, "]: event: ") && head_has(head, "\n. ... raw event: size ");
}

static int refuse_dump(struct input *in, struct err *err)
{
	struct slice head;

	if (input_peek(in, 4096, &head.at, &head.size, err) < 0)
		return -1;
	head.size = MIN_OF(head.size, (size_t)4096);
	if (!is_dump(head))
		return 0;
	return err_set(err, "this is a dump of records as perf prints with -D; give the recording "
	                    "itself, or what 'perf script' prints without -D");
}

static void note_deferred(struct member *members, unsigned nr, struct format_report *report)
{
	uint64_t nr_deferred = 0;

	for (unsigned i = 0; i < nr; i++)
		nr_deferred += textin_fold_deferred(members[i].fold);
	if (nr_deferred)
		snprintf(report->incomplete, sizeof(report->incomplete),
		         "user frames in records of their own are left out: %llu; 'perf script' "
		         "joins them without --no-merge-callchains",
		         (unsigned long long)nr_deferred);
}

/* The first event is known once a sample was met: until then chunks go one by one. */
static int fold_first(struct member *member)
{
	struct slice chunk;
	size_t index;

	do {
		if (take_chunk(member, &chunk, &index) < 0)
			return -1;
		if (chunk.size && !fold_chunk(member, chunk, index))
			return -1;
	} while (chunk.size && !textin_fold_first_event(member->fold));
	return 0;
}

static int perf_parse(struct input *in, struct folder *folder, const struct format_options *options,
                      struct folded_header *header, struct format_report *report, struct err *err)
{
	unsigned nr = MAX_OF(options->nr_threads, 1u), nr_started = 1;
	struct team team = {.in = in, .err = err, .forget_at = FORGET_SIZE};
	struct member *members = mem_zalloc(nr * sizeof(*members));
	uint64_t bad_line = report->nr_bad ? 0 : UINT64_MAX; /* an input before had the first */
	int result;

	if (refuse_dump(in, err) < 0) {
		free(members);
		return -1;
	}
	pthread_mutex_init(&team.lock, NULL);
	members[0] = (struct member){.team = &team, .fold = textin_fold_new(options, folder)};
	result = fold_first(&members[0]);
	team.is_copied = nr > 1 && !input_is_mapped(in);
	for (unsigned i = 1; i < nr && result == 0; i++) {
		members[i] = (struct member){.team = &team, .fold = textin_fold_new(options, NULL)};
		textin_fold_follow(members[i].fold, textin_fold_first_event(members[0].fold));
		if (pthread_create(&members[i].thread, NULL, work, &members[i]) != 0) {
			textin_fold_free(members[i].fold);
			break;
		}
		nr_started++;
	}
	if (result == 0)
		work(&members[0]);
	for (unsigned i = 1; i < nr_started; i++)
		pthread_join(members[i].thread, NULL);
	if (team.has_failed)
		result = -1;
	if (result == 0 && options->count == COUNT_TIME &&
	    !is_clock(chosen_event(&members[0], options)))
		result = err_set(err,
		                 "the text of perf script does not say how much time a sample "
		                 "of '%s' stands for; '--count time' needs the recording",
		                 chosen_event(&members[0], options));
	for (unsigned i = 0; i < nr_started && result == 0; i++) {
		merge_report(report, members[i].fold, &team, &bad_line);
		if (i && !merge_folder(folder, textin_fold_folder(members[i].fold), err))
			result = -1;
	}
	if (result == 0) {
		describe(members, nr_started, options, header, report);
		note_deferred(members, nr_started, report);
	}
	for (unsigned i = 0; i < nr_started; i++) {
		textin_fold_free(members[i].fold);
		buf_release(&members[i].copy);
	}
	pthread_mutex_destroy(&team.lock);
	free(team.nr_lines);
	free(members);
	return result;
}

static int perf_detect(struct slice head, bool is_all)
{
	const char *at = head.at, *end = head.at + head.size;
	bool after_header = false, has_stamp = false;
	int score = 0;

	(void)is_all;
	if (is_dump(head))
		return 60;
	for (int i = 0; i < 500 && at < end; i++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		struct slice line = {at, (size_t)((newline ? newline : end) - at)};
		struct textin_header header;
		bool is_indented, has_module, is_frame;

		at = newline ? newline + 1 : end;
		if (line.size && line.at[line.size - 1] == '\r')
			line.size--;
		if (slice_starts(line, "# captured on") || slice_starts(line, "# cmdline : "))
			score = MAX_OF(score, 30);
		if (!line.size || line.at[0] == '#')
			continue;
		is_indented = line.at[0] == ' ' || line.at[0] == '\t';
		has_module = line.at[line.size - 1] == ')';
		is_frame = textin_is_address(line) && (is_indented || has_module) &&
		           !textin_is_header(line);
		if (after_header && has_stamp && (is_frame || (line.at[0] == '\t' && has_module)))
			return 90;
		if (after_header && is_frame)
			return has_module ? 75 : 35;
		if (is_frame && is_indented && has_module)
			score = MAX_OF(score, 40);
		after_header = textin_header(line, &header);
		if (!after_header && line.at[0] != ' ' && line.at[0] != '\t') {
			textin_plain_header(line, &header);
			after_header = header.tid.size != 0;
		}
		has_stamp = header.has_stamp;
		if ((has_stamp &&
		     (header.event.size || memmem(line.at, line.size, "PERF_RECORD_", 12))) ||
		    (after_header && (has_stamp || has_module) &&
		     textin_inline_frame(header.rest).size))
			score = MAX_OF(score, 60);
	}
	return score;
}

const struct format format_perf_script = {
        .name = "perf-script",
        .about = "perf script: text of any layout, from perf 3.x on",
        .detect = perf_detect,
        .parse = perf_parse,
};
