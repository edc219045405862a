#include "share/compat.h"
#include "diff/join.h"

#include "share/mem.h"

#define HEAD_SIZE ((size_t)64 * 1024)

void join_init(struct join *join, struct canon *canon, size_t max_runs)
{
	*join = (struct join){.canon = canon, .max_runs = max_runs, .nr_slots = 1024};
	join->runs = mem_zalloc(max_runs * sizeof(*join->runs));
	join->slots = mem_zalloc(join->nr_slots * sizeof(*join->slots));
}

void join_release(struct join *join)
{
	for (size_t i = 0; i < join->nr_runs; i++)
		folded_header_release(&join->runs[i].header);
	free(join->runs);
	strtab_release(&join->names);
	free(join->known);
	free(join->showing);
	free(join->frames);
	free(join->stacks);
	free(join->weights);
	free(join->slots);
	*join = (struct join){0};
}

/* ---- names ---- */

static uint32_t intern(struct join *join, struct slice text)
{
	uint32_t id = strtab_id(&join->names, text.at, text.size);

	while (join->nr_known <= id) {
		struct slice known = strtab_slice(&join->names, join->nr_known);

		if (join->nr_known == join->known_capacity) {
			join->known_capacity = join->known_capacity ? join->known_capacity * 2 : 64;
			join->known =
			        mem_resize(join->known, join->known_capacity, sizeof(*join->known));
			join->showing = mem_resize(join->showing, join->known_capacity,
			                           sizeof(*join->showing));
		}
		join->showing[join->nr_known] = (struct join_showing){
		        .shown = {JOIN_NONE, JOIN_NONE}, .renamed = JOIN_NONE};
		join->known[join->nr_known++] = (struct join_name){
		        .text = known.at,
		        .size = (uint32_t)known.size,
		        .callee = JOIN_NONE,
		        .canonical = {JOIN_NONE, JOIN_NONE},
		};
	}
	return id;
}

/* First sight of a name at this place and side: decides what it is matched as. */
static void meet(struct join *join, uint32_t id, bool is_root, enum join_side side)
{
	struct slice text = strtab_slice(&join->names, id);
	uint32_t renamed, canonical, *shown;

	renamed = join->showing[id].renamed;
	if (renamed == JOIN_NONE)
		renamed = intern(join, canon_rename(join->canon, text));
	canonical = join->known[id].canonical[is_root];
	if (canonical == JOIN_NONE)
		canonical = intern(join, canon_name(join->canon,
		                                    strtab_slice(&join->names, renamed), is_root));
	join->showing[id].renamed = renamed;
	join->known[id].canonical[is_root] = canonical;
	join->known[id].seen |= (uint8_t)(1u << (2 * side + is_root));
	shown = &join->showing[canonical].shown[side];
	*shown = *shown == JOIN_NONE || *shown == renamed ? renamed : JOIN_SEVERAL;
}

static inline uint32_t canonical_of(struct join *join, uint32_t id, bool is_root,
                                    enum join_side side)
{
	if (UNLIKELY(!(join->known[id].seen & 1u << (2 * side + is_root))))
		meet(join, id, is_root, side);
	return join->known[id].canonical[is_root];
}

struct slice join_shown(const struct join *join, uint32_t name)
{
	const uint32_t *shown = join->showing[name].shown;
	uint32_t id = shown[JOIN_AFTER] != JOIN_NONE ? shown[JOIN_AFTER] : shown[JOIN_BEFORE];

	return strtab_slice(&join->names, id < JOIN_SEVERAL ? id : name);
}

/* ---- stacks ---- */

static void grow_slots(struct join *join)
{
	size_t nr_slots = join->nr_slots * 2;

	free(join->slots);
	join->slots = mem_zalloc(nr_slots * sizeof(*join->slots));
	join->nr_slots = nr_slots;
	for (size_t i = 0; i < join->nr_stacks; i++) {
		uint32_t hash = join->stacks[i].hash;
		size_t at = hash & (nr_slots - 1);

		while (join->slots[at].stack)
			at = (at + 1) & (nr_slots - 1);
		join->slots[at] = (struct join_slot){hash, (uint32_t)i + 1};
	}
}

static size_t add_stack(struct join *join, const uint32_t *frames, size_t nr, uint32_t hash)
{
	size_t id = join->nr_stacks;

	MEM_GROW(join->stacks, join->nr_stacks, join->stacks_capacity);
	while (join->frames_capacity - join->nr_frames < nr) {
		join->frames_capacity = join->frames_capacity ? join->frames_capacity * 2 : 1024;
		join->frames =
		        mem_resize(join->frames, join->frames_capacity, sizeof(*join->frames));
	}
	if (join->weights_capacity == id) {
		join->weights_capacity = join->weights_capacity ? join->weights_capacity * 2 : 256;
		join->weights = mem_resize(join->weights, join->weights_capacity * join->max_runs,
		                           sizeof(*join->weights));
	}
	memset(join->weights + id * join->max_runs, 0, join->max_runs * sizeof(*join->weights));
	memcpy(join->frames + join->nr_frames, frames, nr * sizeof(*frames));
	join->stacks[id] = (struct join_stack){join->nr_frames, (uint32_t)nr, hash};
	join->nr_frames += nr;
	join->nr_stacks++;
	return id;
}

static size_t find_stack(struct join *join, const uint32_t *frames, size_t nr, uint32_t hash)
{
	size_t at = hash & (join->nr_slots - 1);

	for (; join->slots[at].stack; at = (at + 1) & (join->nr_slots - 1)) {
		const struct join_stack *stack;

		if (join->slots[at].hash != hash)
			continue;
		stack = &join->stacks[join->slots[at].stack - 1];
		if (stack->nr_frames == nr &&
		    memcmp(join->frames + stack->first, frames, nr * sizeof(*frames)) == 0)
			return join->slots[at].stack - 1;
	}
	join->slots[at] = (struct join_slot){hash, (uint32_t)join->nr_stacks + 1};
	add_stack(join, frames, nr, hash);
	if (join->nr_stacks > join->nr_slots / 2)
		grow_slots(join);
	return join->nr_stacks - 1;
}

static inline void add_weight(struct join *join, size_t stack, size_t run, weight_fx weight)
{
	join->weights[stack * join->max_runs + run] += weight;
}

/* ---- batches ----
 *
 * With a million rows nearly every look into a table waits for memory. Lines
 * are therefore looked up some at a time: what all of them will touch is asked
 * for first, so that they wait together.
 */

#define BATCH_SIZE 32

struct batch {
	struct batch_line {
		size_t first; /* in frames */
		uint32_t nr_frames, hash;
		weight_fx weight;
	} lines[BATCH_SIZE];
	size_t nr;
	uint32_t *frames;
	size_t nr_frames, capacity;
};

static void batch_add(struct join *join, struct batch *batch, const uint32_t *frames, size_t nr,
                      uint32_t hash, weight_fx weight)
{
	__builtin_prefetch(&join->slots[hash & (join->nr_slots - 1)]);
	while (batch->capacity - batch->nr_frames < nr) {
		batch->capacity = batch->capacity ? batch->capacity * 2 : 1024;
		batch->frames = mem_resize(batch->frames, batch->capacity, sizeof(*frames));
	}
	memcpy(batch->frames + batch->nr_frames, frames, nr * sizeof(*frames));
	batch->lines[batch->nr++] =
	        (struct batch_line){batch->nr_frames, (uint32_t)nr, hash, weight};
	batch->nr_frames += nr;
}

/* Looks all of them up; returns the row of the last one, where there is any. */
static size_t batch_resolve(struct join *join, struct batch *batch, size_t run)
{
	size_t stack = SIZE_MAX;

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < batch->nr; i++) {
			size_t at = batch->lines[i].hash & (join->nr_slots - 1);
			size_t candidate = (size_t)join->slots[at].stack - 1;

			if (!join->slots[at].stack)
				continue;
			if (pass == 0) {
				__builtin_prefetch(&join->stacks[candidate]);
				__builtin_prefetch(&join->weights[candidate * join->max_runs]);
			} else {
				__builtin_prefetch(&join->frames[join->stacks[candidate].first]);
			}
		}
	for (size_t i = 0; i < batch->nr; i++) {
		const struct batch_line *line = &batch->lines[i];

		stack = find_stack(join, batch->frames + line->first, line->nr_frames, line->hash);
		add_weight(join, stack, run, line->weight);
	}
	batch->nr = batch->nr_frames = 0;
	return stack;
}

/* ---- lines ---- */

/*
 * The stack of the line before, kept to skip what the next one shares with
 * it: in sorted files that is most of each line.
 */
struct step {
	size_t end;    /* offset behind the frame */
	uint64_t hash; /* of the frames up to here */
	uint32_t name; /* id of the text that was read */
};

struct previous {
	struct buf text;
	uint32_t *frames; /* canonical ids */
	struct step *steps;
	size_t nr, frames_capacity, steps_capacity;
	size_t stack; /* its row, or SIZE_MAX */
	size_t next;  /* the row that the next line may be */
};

static size_t shared_size(const char *a, const char *b, size_t size)
{
	size_t at = 0;

	while (at + 8 <= size) {
		uint64_t x, y;

		memcpy(&x, a + at, 8);
		memcpy(&y, b + at, 8);
		if (x != y)
			break;
		at += 8;
	}
	while (at < size && a[at] == b[at])
		at++;
	return at;
}

/* memcmp() for what are mostly 8 to 40 bytes, without a call. */
static inline bool equal_bytes(const char *a, const char *b, size_t size)
{
	uint64_t x, y;

	if (size < 8) {
		while (size && a[size - 1] == b[size - 1])
			size--;
		return !size;
	}
	for (size_t at = 0; at + 8 < size; at += 8) {
		memcpy(&x, a + at, 8);
		memcpy(&y, b + at, 8);
		if (x != y)
			return false;
	}
	memcpy(&x, a + size - 8, 8);
	memcpy(&y, b + size - 8, 8);
	return x == y;
}

/* Takes the next frame off the text if it is this name. */
static inline bool take_guess(const struct join_name *name, struct slice *rest)
{
	size_t size = name->size;
	bool more;

	/* wrong guesses are mostly of another length */
	if (rest->size < size)
		return false;
	more = rest->size > size;
	if ((more && rest->at[size] != ';') || !equal_bytes(rest->at, name->text, size))
		return false;
	*rest = (struct slice){rest->at + size + more, rest->size - size - more};
	return true;
}

/*
 * Takes the line apart into previous->frames; previous->stack becomes its row
 * where that is the one behind the row before, else SIZE_MAX. Most frames are guessed rather than
 * searched for: two files often have the same rows in the same order, and a function the same
 * callees.
 */
static void read_stack(struct join *join, struct previous *previous, struct slice line,
                       enum join_side side)
{
	size_t shared =
	        shared_size(previous->text.at, line.at, MIN_OF(previous->text.size, line.size));
	size_t nr = previous->nr, next = previous->next;
	const struct join_stack *expected = next < join->nr_stacks ? &join->stacks[next] : NULL;
	struct slice rest, frame;

	/* a frame is shared where its ";" is shared too */
	while (nr && previous->steps[nr - 1].end >= shared)
		nr--;
	if (expected && nr &&
	    (expected->nr_frames < nr || memcmp(join->frames + expected->first, previous->frames,
	                                        nr * sizeof(*previous->frames)) != 0))
		expected = NULL;
	rest.at = line.at + (nr ? previous->steps[nr - 1].end : 0);
	rest.size = line.size - (size_t)(rest.at - line.at);
	if (nr) {
		rest.at++;
		rest.size--;
	} else if (!folded_frame(&(struct slice){line.at, line.size}, &frame)) {
		/* nothing but ";": as a name it would be invisible */
		rest = (struct slice){"[empty]", 7};
	}
	while (rest.size) {
		uint64_t hash = nr ? previous->steps[nr - 1].hash : 0;
		uint32_t name = JOIN_NONE, id;

		if (expected && nr < expected->nr_frames)
			name = join->frames[expected->first + nr];
		else if (nr)
			name = join->known[previous->steps[nr - 1].name].callee;
		if (name == JOIN_NONE || !take_guess(&join->known[name], &rest)) {
			if (!folded_frame(&rest, &frame))
				break;
			name = intern(join, frame);
			if (nr)
				join->known[previous->steps[nr - 1].name].callee = name;
		}
		id = canonical_of(join, name, nr == 0, side);
		if (expected &&
		    (nr >= expected->nr_frames || join->frames[expected->first + nr] != id))
			expected = NULL;
		MEM_GROW(previous->frames, nr, previous->frames_capacity);
		MEM_GROW(previous->steps, nr, previous->steps_capacity);
		previous->frames[nr] = id;
		previous->steps[nr].hash = hash_u64(hash, id);
		previous->steps[nr].name = name;
		/* without the ";" that the frame was read with */
		previous->steps[nr].end = line.size - rest.size - (rest.at[-1] == ';');
		nr++;
	}
	previous->nr = nr;
	buf_reset(&previous->text);
	buf_add(&previous->text, line.at, line.size);
	previous->stack = expected && expected->nr_frames == nr ? next : SIZE_MAX;
}

static int read_lines(struct join *join, struct join_run *run, struct folded_reader *reader,
                      struct err *err)
{
	size_t run_index = (size_t)(run - join->runs);
	struct previous previous = {0};
	struct batch batch = {0};
	struct folded_stack line;
	int rc;

	while ((rc = folded_next(reader, &line, err)) > 0) {
		if (reader->nr_columns == 2) {
			rc = err_set(err,
			             "'%s' has two columns, as diff itself writes; give the "
			             "folded files it was made of",
			             input_name(reader->in));
			break;
		}
		if (join->nr_stacks >= UINT32_MAX - 2 * BATCH_SIZE) {
			rc = err_set(err, "'%s' has more than 2^32 distinct stacks",
			             input_name(reader->in));
			break;
		}
		if (!weight_add(&run->total, line.counts[0])) {
			rc = err_set(err, "the counts of '%s' add up to 2^64 or more",
			             input_name(reader->in));
			break;
		}
		if (line.counts[0] % WEIGHT_ONE)
			run->whole = false;
		read_stack(join, &previous, line.stack, run->side);
		if (previous.stack != SIZE_MAX) {
			add_weight(join, previous.stack, run_index, line.counts[0]);
			previous.next = previous.stack + 1;
			continue;
		}
		batch_add(join, &batch, previous.frames, previous.nr,
		          (uint32_t)previous.steps[previous.nr - 1].hash, line.counts[0]);
		previous.next = SIZE_MAX;
		if (batch.nr == BATCH_SIZE)
			previous.next = batch_resolve(join, &batch, run_index) + 1;
	}
	batch_resolve(join, &batch, run_index);
	free(batch.frames);
	buf_release(&previous.text);
	free(previous.frames);
	free(previous.steps);
	return rc;
}

static int refuse_mistakes(struct input *in, struct err *err)
{
	const char *head, *kind;
	size_t size;

	if (input_peek(in, HEAD_SIZE, &head, &size, err) < 0)
		return -1;
	kind = folded_looks_like(head, size);
	/* a root frame may well begin with a bracket or a brace */
	if (!kind || strcmp(kind, "JSON") == 0)
		return 0;
	return err_set(err, "'%s' is %s, not folded stacks; flame-collapse makes those of it",
	               input_name(in), kind);
}

int join_read(struct join *join, enum join_side side, struct input *in, char *bad, size_t bad_size,
              struct err *err)
{
	struct join_run *run = &join->runs[join->nr_runs];
	struct folded_reader reader;
	int rc;

	*bad = '\0';
	if (refuse_mistakes(in, err) < 0)
		return -1;
	*run = (struct join_run){.side = side, .whole = true};
	folded_reader_init(&reader, in);
	rc = read_lines(join, run, &reader, err);
	if (rc == 0 && reader.nr_bad && !reader.nr_stacks)
		rc = err_set(err, "'%s' has no line that is a stack and a count; line %llu: '%s'",
		             input_name(in), (unsigned long long)reader.bad_line, reader.bad_text);
	if (reader.nr_bad)
		snprintf(bad, bad_size, "'%s': skipped %llu bad line%s; line %llu: %s: '%s'",
		         input_name(in), (unsigned long long)reader.nr_bad,
		         reader.nr_bad == 1 ? "" : "s", (unsigned long long)reader.bad_line,
		         reader.bad_reason, reader.bad_text);
	run->nr_stacks = reader.nr_stacks;
	run->nr_bad = reader.nr_bad;
	run->header = reader.header;
	reader.header = (struct folded_header){0};
	folded_reader_release(&reader);
	join->nr_runs++;
	return rc;
}
