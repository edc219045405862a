#include "share/compat.h"
#include "collapse/stacks.h"

#include "collapse/names/sysnames.h"
#include "share/mem.h"

void stacks_init(struct stacks *stacks, struct session *session, struct symbolizer *symbolizer,
                 const struct stacks_options *options)
{
	*stacks =
	        (struct stacks){.session = session, .options = *options, .place_waker = UINT32_MAX};
	frames_init(&stacks->frames, session, symbolizer, &options->frames);
	stacks->nr_slots = 1024;
	stacks->slots = mem_zalloc(stacks->nr_slots * sizeof(*stacks->slots));
	stacks->text_no_stack = strtab_cstr(&session->texts, "[no stack]");
	stacks->text_truncated = strtab_cstr(&session->texts, "[truncated]");
}

void stacks_release(struct stacks *stacks)
{
	frames_release(&stacks->frames);
	free(stacks->entries);
	free(stacks->slots);
	free(stacks->pool);
	free(stacks->spots);
	*stacks = (struct stacks){0};
}

/* ---- root frames ---- */

static uint32_t root_text(struct stacks *stacks, enum stacks_root root, const struct sample *sample,
                          const struct thread *thread)
{
	struct session *session = stacks->session;
	char text[48];
	uint32_t path;

	switch (root) {
	case ROOT_COMM:
		/* sampled in a task that had given up its ids already */
		if (thread->tid == -1 && thread->comm == UINT32_MAX)
			return strtab_cstr(&session->texts, "[exited task]");
		return session_comm(session, thread);
	case ROOT_PID:
		snprintf(text, sizeof(text), "pid %d", thread->pid);
		break;
	case ROOT_TID:
		snprintf(text, sizeof(text), "tid %d", thread->tid);
		break;
	case ROOT_CGROUP:
		path = session_cgroup_path(session, sample->cgroup);
		if (path != UINT32_MAX)
			return path;
		snprintf(text, sizeof(text), "[unknown cgroup]");
		break;
	case ROOT_CPU:
		if (sample->cpu != UINT32_MAX)
			snprintf(text, sizeof(text), "cpu %u", sample->cpu);
		else
			snprintf(text, sizeof(text), "[unknown cpu]");
		break;
	default:
		return strtab_cstr(&session->texts, session->reader->hostname ?
		                                            session->reader->hostname :
		                                            "[unknown host]");
	}
	return strtab_cstr(&session->texts, text);
}

/* ---- counting ---- */

static void grow_slots(struct stacks *stacks)
{
	free(stacks->slots);
	stacks->nr_slots *= 2;
	stacks->slots = mem_zalloc(stacks->nr_slots * sizeof(*stacks->slots));
	for (size_t i = 0; i < stacks->nr_entries; i++) {
		uint32_t hash = stacks->entries[i].hash;
		size_t at = hash & (stacks->nr_slots - 1);

		while (stacks->slots[at].entry)
			at = (at + 1) & (stacks->nr_slots - 1);
		stacks->slots[at] = (struct stacks_slot){hash, (uint32_t)i + 1};
	}
}

static uint32_t hash_of_run(const uint32_t *run, size_t nr)
{
	return (uint32_t)hash_bytes(run, nr * sizeof(*run));
}

/*
 * The entry of a run that stands in the pool, behind what that holds for good;
 * a new one is kept there.
 */
static struct stacks_entry *entry_of_run(struct stacks *stacks, const uint32_t *run, size_t nr,
                                         uint32_t hash)
{
	size_t at = hash & (stacks->nr_slots - 1);
	uint32_t *end = stacks->pool + stacks->pool_size;
	struct stacks_entry *entry;

	for (; stacks->slots[at].entry; at = (at + 1) & (stacks->nr_slots - 1)) {
		if (stacks->slots[at].hash != hash)
			continue;
		entry = &stacks->entries[stacks->slots[at].entry - 1];
		if (entry->nr == nr &&
		    memcmp(stacks->pool + entry->first, run, nr * sizeof(*run)) == 0)
			return entry;
	}
	MEM_GROW(stacks->entries, stacks->nr_entries, stacks->entries_capacity);
	stacks->entries[stacks->nr_entries] =
	        (struct stacks_entry){.first = stacks->pool_size, .nr = (uint32_t)nr, .hash = hash};
	if (run != end)
		memmove(end, run, nr * sizeof(*run));
	stacks->pool_size += nr;
	stacks->slots[at] = (struct stacks_slot){hash, (uint32_t)++stacks->nr_entries};
	if (stacks->nr_entries > stacks->nr_slots / 2)
		grow_slots(stacks);
	return &stacks->entries[stacks->nr_entries - 1];
}

/* The number of the run that stands right behind what the pool holds for good. */
static size_t number_of_run(struct stacks *stacks, size_t nr)
{
	const uint32_t *run = stacks->pool + stacks->pool_size;

	return (size_t)(entry_of_run(stacks, run, nr, hash_of_run(run, nr)) - stacks->entries) + 1;
}

/* Makes room for words behind what the pool holds for good. */
static uint32_t *reserve(struct stacks *stacks, size_t nr)
{
	if (stacks->pool_capacity - stacks->pool_size < nr) {
		stacks->pool_capacity =
		        MAX_OF(stacks->pool_capacity * 2, stacks->pool_size + nr + 4096);
		stacks->pool =
		        mem_resize(stacks->pool, stacks->pool_capacity, sizeof(*stacks->pool));
	}
	return stacks->pool + stacks->pool_size;
}

/* The places of all spots that wait, as runs behind what the pool holds for good. */
static void place_spots(struct stacks *stacks)
{
	places_of_spots(&stacks->frames.places, stacks->spots, stacks->nr_spots,
	                reserve(stacks, stacks->nr_spots));
	stacks->nr_spots = 0;
}

/*
 * Each look goes where no other went of late, so that it would wait for memory
 * again and again; what is asked for early for many comes for all at once.
 */
void stacks_settle(struct stacks *stacks)
{
	const size_t mask = stacks->nr_slots - 1, nr = stacks->nr_pending;
	struct stacks_pending *pending = stacks->pending;
	size_t first = stacks->pool_size;

	place_spots(stacks);
	for (size_t i = 0; i < nr; i++) {
		pending[i].hash = hash_of_run(stacks->pool + first, pending[i].nr);
		__builtin_prefetch(&stacks->slots[pending[i].hash & mask], 1);
		first += pending[i].nr;
	}
	for (size_t i = 0; i < nr; i++) {
		const struct stacks_slot *slot = &stacks->slots[pending[i].hash & mask];

		if (slot->entry)
			__builtin_prefetch(&stacks->entries[slot->entry - 1], 1);
	}
	for (size_t i = 0; i < nr; i++) {
		const struct stacks_slot *slot = &stacks->slots[pending[i].hash & mask];

		if (slot->entry)
			__builtin_prefetch(&stacks->pool[stacks->entries[slot->entry - 1].first]);
	}
	first = stacks->pool_size;
	for (size_t i = 0; i < nr; i++) {
		entry_of_run(stacks, stacks->pool + first, pending[i].nr, pending[i].hash)
		        ->weight += pending[i].weight;
		first += pending[i].nr;
	}
	stacks->nr_pending = 0;
}

/* The system call that a sample tells of, as the frame inside all others; or UINT32_MAX. */
static uint32_t place_of_call(struct stacks *stacks, const struct event *event,
                              const struct sample *sample)
{
	int64_t number = sysnames_number(stacks->session->reader, event, sample);
	struct slice name;
	char text[48];
	uint32_t place;

	if (number < 0)
		return UINT32_MAX;
	if (number < (int64_t)ARRAY_SIZE(stacks->calls) && stacks->calls[number])
		return stacks->calls[number] - 1;
	name = sysnames_of(stacks->options.frames.machine, number);
	if (name.size)
		snprintf(text, sizeof(text), "sys_%.*s", (int)name.size, name.at);
	else
		snprintf(text, sizeof(text), "sys_%lld", (long long)number);
	place = places_of_text(&stacks->frames.places, strtab_cstr(&stacks->session->texts, text),
	                       true);
	if (number < (int64_t)ARRAY_SIZE(stacks->calls))
		stacks->calls[number] = place + 1;
	return place;
}

static uint32_t place_of_root(struct stacks *stacks, size_t root, const struct sample *sample,
                              const struct thread *thread)
{
	return places_of_text(&stacks->frames.places,
	                      root_text(stacks, stacks->options.roots[root], sample, thread),
	                      false);
}

size_t stacks_enter_text(struct stacks *stacks, const struct sample *sample,
                         const struct thread *thread, const char *text)
{
	uint32_t *run;
	size_t nr = 0;

	stacks_settle(stacks);
	run = reserve(stacks, STACKS_ROOTS_MAX + 1);
	for (; nr < stacks->options.nr_roots; nr++)
		run[nr] = place_of_root(stacks, nr, sample, thread);
	run[nr++] = places_of_text(&stacks->frames.places,
	                           strtab_cstr(&stacks->session->texts, text), false);
	return number_of_run(stacks, nr);
}

static void add_spot(struct stacks *stacks, struct spot spot)
{
	/* a process that still runs is asked for its files at once */
	if (stacks->frames.places.is_live)
		spot = (struct spot){.place = places_of_spot(&stacks->frames.places, &spot)};
	else
		places_fetch(&stacks->frames.places, &spot);
	stacks->spots[stacks->nr_spots++] = spot;
}

static void add_place(struct stacks *stacks, uint32_t place)
{
	stacks->spots[stacks->nr_spots++] = (struct spot){.place = place};
}

static void add_text(struct stacks *stacks, uint32_t text)
{
	add_place(stacks, places_of_text(&stacks->frames.places, text, false));
}

/* Puts the sample's run behind those that wait; its length, 0 = left out by options.only. */
static size_t put_run(struct stacks *stacks, const struct event *event, const struct sample *sample,
                      const struct thread *thread)
{
	struct frames *frames = &stacks->frames;
	size_t first = stacks->nr_spots, most;
	uint32_t call;
	bool is_truncated;

	if (!frames_resolve(frames, event, sample, thread, &is_truncated))
		return 0;
	call = place_of_call(stacks, event, sample);
	most = first + frames->nr + STACKS_ROOTS_MAX + 4;
	if (most > stacks->spots_capacity) {
		stacks->spots_capacity = most * 2;
		stacks->spots = mem_resize(stacks->spots, most * 2, sizeof(*stacks->spots));
	}
	if (stacks->options.event_root)
		add_text(stacks, strtab_cstr(&stacks->session->texts, event->name));
	for (size_t i = 0; i < stacks->options.nr_roots; i++)
		add_place(stacks, place_of_root(stacks, i, sample, thread));
	if (is_truncated) {
		stacks->nr_truncated++;
		add_text(stacks, stacks->text_truncated);
	}
	if (!frames->nr) {
		stacks->nr_no_stack++;
		add_text(stacks, stacks->text_no_stack);
	} else if (stacks->options.tally) {
		uint32_t innermost = places_of_spot(&frames->places, &frames->at[0]);

		frames->places.at[innermost].nr_samples++;
	}
	for (size_t i = frames->nr; i-- > 0;)
		add_spot(stacks, frames->at[i]);
	if (call != UINT32_MAX)
		add_place(stacks, call);
	return stacks->nr_spots - first;
}

size_t stacks_enter(struct stacks *stacks, const struct event *event, const struct sample *sample,
                    const struct thread *thread)
{
	size_t nr;

	stacks_settle(stacks);
	nr = put_run(stacks, event, sample, thread);
	place_spots(stacks);
	return nr ? number_of_run(stacks, nr) : 0;
}

bool stacks_weigh(struct stacks *stacks, size_t entry, weight_fx weight)
{
	if (!weight_add(&stacks->total, weight))
		return false;
	stacks->entries[entry - 1].weight += weight;
	return true;
}

int stacks_sample(struct stacks *stacks, const struct event *event, const struct sample *sample,
                  const struct thread *thread, weight_fx weight)
{
	size_t nr = put_run(stacks, event, sample, thread);

	if (!nr)
		return 0;
	stacks->pending[stacks->nr_pending++] =
	        (struct stacks_pending){.weight = weight, .nr = (uint32_t)nr};
	if (stacks->nr_pending == STACKS_BATCH || stacks->nr_spots >= STACKS_BATCH_SPOTS)
		stacks_settle(stacks);
	return weight_add(&stacks->total, weight) ? 1 : -1;
}

size_t stacks_extend(struct stacks *stacks, size_t entry, const char *text)
{
	struct stacks_entry base = stacks->entries[entry - 1];
	uint32_t *run;

	stacks_settle(stacks);
	run = reserve(stacks, (size_t)base.nr + 1);
	memcpy(run, stacks->pool + base.first, base.nr * sizeof(*run));
	run[base.nr] = places_of_text(&stacks->frames.places,
	                              strtab_cstr(&stacks->session->texts, text), false);
	return number_of_run(stacks, (size_t)base.nr + 1);
}

size_t stacks_join(struct stacks *stacks, size_t entry, size_t waker)
{
	struct stacks_entry base = stacks->entries[entry - 1], other = stacks->entries[waker - 1];
	uint32_t *run;
	size_t nr = base.nr;

	if (stacks->place_waker == UINT32_MAX)
		stacks->place_waker = places_of_text(
		        &stacks->frames.places, strtab_cstr(&stacks->session->texts, "--"), false);
	stacks_settle(stacks);
	run = reserve(stacks, (size_t)base.nr + 1 + other.nr);
	memcpy(run, stacks->pool + base.first, base.nr * sizeof(*run));
	run[nr++] = stacks->place_waker;
	for (uint32_t i = other.nr; i-- > 0;)
		run[nr++] = stacks->pool[other.first + i];
	return number_of_run(stacks, nr);
}

/* The frames of one place, outermost first: ids in the folder. */
struct naming {
	uint32_t first;       /* in ids */
	uint32_t first_frame; /* in the profile, if there is one */
	uint16_t nr;
	bool is_named, is_unresolved, is_kept;
	bool is_start; /* in what starts programs and threads */
};

struct fold {
	const struct stacks *stacks;
	struct symbolizer *symbolizer;
	const struct strtab *names;
	struct folder *folder;
	bool (*keep)(void *ctx, const char *name);
	void *ctx;
	struct naming *namings; /* by place; behind them the same places as frames of wakers */
	uint32_t *ids;
	size_t nr_ids, ids_capacity;
	uint32_t *known; /* the folder's id + 1 of names that only "_[i]" may stand behind */
	size_t nr_known;
};

static uint32_t file_of(struct fold *fold, const struct symbol *symbol)
{
	struct slice path;

	if (!symbol || !symbol->line)
		return PROFILE_NONE;
	path = strtab_slice(fold->names, symbol->file);
	return folder_name(fold->folder, path.at, path.size);
}

static void add_id(struct fold *fold, struct naming *naming, uint32_t id)
{
	MEM_GROW(fold->ids, fold->nr_ids, fold->ids_capacity);
	fold->ids[fold->nr_ids++] = id;
	naming->nr++;
}

/* symbol: what the name was made of, or NULL. */
static void add_name(struct fold *fold, struct naming *naming, const struct place *place,
                     const struct symbol *symbol, const struct buf *name, const char *mark)
{
	struct profile *profile = fold->stacks->options.profile;
	struct buf marked = {0};
	uint32_t id, bare;

	buf_add(&marked, name->at, name->size);
	if (fold->stacks->options.annotate)
		buf_string(&marked, mark);
	id = folder_name(fold->folder, marked.at, marked.size);
	bare = profile && naming->nr ? folder_name(fold->folder, name->at, name->size) : id;
	if (profile && !naming->nr)
		naming->first_frame = (uint32_t)profile->nr_frames;
	if (profile)
		profile_add_frame(
		        profile, &(struct profile_frame){
		                         .name = id,
		                         .bare = bare,
		                         .address = place->off - place->is_return,
		                         .module = place->module ? place->module->id : PROFILE_NONE,
		                         .file = file_of(fold, symbol),
		                         .line = symbol ? symbol->line : 0,
		                         .is_inlined = naming->nr > 0});
	add_id(fold, naming, id);
	if (fold->keep && !naming->is_kept)
		naming->is_kept = fold->keep(fold->ctx, buf_text(&marked));
	buf_release(&marked);
}

/*
 * The C library and the linker start programs and threads in functions of
 * their own, which have no names where those were stripped, as most
 * distributions do it: nothing that anybody looks for is missing there.
 */
static bool starts_programs(const struct place *place)
{
	static const char *const names[] = {"libc.so", "libc-", "libpthread", "ld-"};
	const char *base;

	if (!place->module || place->is_kernel)
		return false;
	base = places_base_name(place->module->key.path);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strncmp(base, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/*
 * Where a name's id in the folder is kept, or is to be, so that it is put
 * together once and not for each place; NULL where other things go with it.
 */
static uint32_t *known_name(struct fold *fold, const struct place *place,
                            const struct symbol *symbol, const char *mark)
{
	size_t at = (size_t)symbol->name * 2 + symbol->inlined, nr_old = fold->nr_known;

	if (fold->keep || fold->stacks->options.profile || mark[0] || !symbol->resolved ||
	    symbol->line || !place->module)
		return NULL;
	if (at >= nr_old) {
		fold->nr_known = MAX_OF(at + 1, nr_old * 2);
		fold->known = mem_resize(fold->known, fold->nr_known, sizeof(*fold->known));
		memset(fold->known + nr_old, 0, (fold->nr_known - nr_old) * sizeof(*fold->known));
	}
	return &fold->known[at];
}

/* naming: one of the two that the place has. */
static void name_place(struct fold *fold, uint32_t id, struct naming *naming, bool is_waker)
{
	const struct place *place = &fold->stacks->frames.places.at[id];
	struct symbol symbols[SYMBOLIZE_MAX];
	struct buf name = {0};
	bool is_jit = place->module && place->module->key.kind == MODULE_JIT;
	const char *mark = is_waker ? "_[w]" : place->is_kernel ? "_[k]" : is_jit ? "_[j]" : "";
	size_t nr;

	naming->first = (uint32_t)fold->nr_ids;
	naming->is_named = true;
	naming->is_start = starts_programs(place);
	if (!place->module || fold->stacks->options.no_symbols) {
		places_describe(&fold->stacks->frames.places, place, &name);
		naming->is_unresolved =
		        slice_equals((struct slice){name.at, name.size}, "[unknown]");
		/* a word in brackets is no frame of the kernel or of code made at run time */
		add_name(fold, naming, place, NULL, &name,
		         name.size && name.at[name.size - 1] == ']' ? "" : mark);
		buf_release(&name);
		return;
	}
	nr = symbolize(fold->symbolizer, place->module, place->off, place->is_return, symbols);
	if (nr == 1 && !symbols[0].resolved &&
	    embedded_name(&fold->stacks->session->reader->embedded, place->module, place->off,
	                  place->is_return, fold->stacks->options.demangle, &name)) {
		add_name(fold, naming, place, NULL, &name, mark);
		buf_release(&name);
		return;
	}
	for (size_t i = nr; i-- > 0;) {
		struct slice text = strtab_slice(fold->names, symbols[i].name);
		uint32_t *known = known_name(fold, place, &symbols[i], mark);

		if (known && *known) {
			add_id(fold, naming, *known - 1);
			continue;
		}
		buf_reset(&name);
		naming->is_unresolved |= !symbols[i].resolved;
		if (is_jit && !symbols[i].resolved) {
			/* nothing is mapped there and nobody claims to have made it */
			text = (struct slice){"[unknown]", 9};
			mark = "";
		}
		buf_add(&name, text.at, text.size);
		if (symbols[i].line && !fold->stacks->options.profile)
			buf_printf(&name, " (%s:%u)",
			           places_base_name(strtab_text(fold->names, symbols[i].file)),
			           symbols[i].line);
		if (!symbols[i].resolved && fold->stacks->options.addresses)
			buf_printf(&name, "+0x%llx", (unsigned long long)place->off);
		add_name(fold, naming, place, &symbols[i], &name,
		         symbols[i].inlined && !is_waker ? "_[i]" : mark);
		if (known)
			*known = fold->ids[fold->nr_ids - 1] + 1;
	}
	buf_release(&name);
}

/* One stack as names: a run of ids of the folder, root first. */
struct line {
	uint64_t first; /* in texts */
	uint32_t nr;
	bool is_unresolved;
	weight_fx weight;
};

/* All lines of a recording, their runs one behind the other. */
struct lines {
	struct line *at;
	size_t nr;
	uint32_t *texts;
	size_t size, capacity, longest;
};

/* Whether threads tell what the root frame says. */
static bool is_of_thread(const struct stacks_options *options, size_t depth)
{
	size_t root = depth - options->event_root;

	return depth >= options->event_root && root < options->nr_roots &&
	       options->roots[root] != ROOT_CPU && options->roots[root] != ROOT_HOST;
}

/* The stack whose line was made, in the profile. */
static void profile_stack(struct fold *fold, size_t number)
{
	const struct stacks *stacks = fold->stacks;
	const struct stacks_entry *entry = &stacks->entries[number - 1];
	struct profile *profile = stacks->options.profile;
	uint32_t node = 0;

	for (uint32_t i = 0; i < entry->nr; i++) {
		const struct naming *naming = &fold->namings[stacks->pool[entry->first + i]];

		for (uint16_t k = 0; k < naming->nr && !is_of_thread(&stacks->options, i); k++)
			node = folder_child(&profile->stacks, node, naming->first_frame + k);
	}
	profile_set_stack(profile, number, node);
}

/*
 * Whether a frame has no name, besides those between the first one (_start, in
 * the program) and the first that is not of the C library. The innermost one
 * counts wherever it is.
 */
static bool lacks_names(const struct fold *fold, const uint32_t *run, uint32_t nr)
{
	const struct place *places = fold->stacks->frames.places.at;
	uint32_t first = 0, inside;

	while (first < nr && !places[run[first]].module)
		if (fold->namings[run[first++]].is_unresolved)
			return true;
	inside = first;
	if (first + 1 < nr && fold->namings[run[first + 1]].is_start)
		inside++;
	while (inside + 1 < nr && fold->namings[run[inside]].is_start)
		inside++;
	for (; inside < nr; inside++)
		if (fold->namings[run[inside]].is_unresolved)
			return true;
	return false;
}

static void make_line(struct fold *fold, struct lines *lines, size_t number,
                      struct stacks_folded *folded)
{
	const struct stacks_entry *entry = &fold->stacks->entries[number - 1];
	const uint32_t *run = fold->stacks->pool + entry->first;
	struct line *line = &lines->at[lines->nr];
	bool is_kept = !fold->keep, is_waker = false;
	uint32_t nr_own = 0;

	*line = (struct line){.first = lines->size, .weight = entry->weight};
	for (uint32_t i = 0; i < entry->nr; i++) {
		struct naming *naming =
		        &fold->namings[run[i] + (is_waker ? fold->stacks->frames.places.nr : 0)];

		if (!naming->is_named)
			name_place(fold, run[i], naming, is_waker);
		nr_own += !is_waker;
		line->is_unresolved |= is_waker && naming->is_unresolved;
		is_kept |= naming->is_kept;
		if (lines->capacity - lines->size < naming->nr) {
			lines->capacity = MAX_OF(lines->capacity * 2, lines->size + 65536);
			lines->texts =
			        mem_resize(lines->texts, lines->capacity, sizeof(*lines->texts));
		}
		/* wakers stand upside down, what was inlined in them too */
		for (uint32_t k = 0; k < naming->nr; k++)
			lines->texts[lines->size + k] =
			        fold->ids[naming->first + (is_waker ? naming->nr - 1 - k : k)];
		lines->size += naming->nr;
		is_waker |= run[i] == fold->stacks->place_waker;
	}
	line->is_unresolved |= lacks_names(fold, run, nr_own);
	line->nr = (uint32_t)(lines->size - line->first);
	lines->longest = MAX_OF(lines->longest, (size_t)line->nr);
	if (!is_kept) {
		folded->filtered += entry->weight;
		return;
	}
	lines->nr++;
	if (fold->stacks->options.profile)
		profile_stack(fold, number);
}

static int compare_lines(const void *a, const void *b, void *ctx)
{
	const uint32_t *texts = ctx;
	const struct line *x = a, *y = b;
	const uint32_t *p = texts + x->first, *q = texts + y->first;
	uint32_t shared = MIN_OF(x->nr, y->nr);

	for (uint32_t i = 0; i < shared; i++)
		if (p[i] != q[i])
			return p[i] < q[i] ? -1 : 1;
	return (x->nr > y->nr) - (x->nr < y->nr);
}

/*
 * Puts sorted lines into the folder. Neighbours share their way from the root,
 * so that what is new in a line is new in an empty folder too, and need not be
 * looked for there.
 */
static int add_lines(struct fold *fold, const struct lines *lines, struct stacks_folded *folded,
                     struct err *err)
{
	uint32_t *nodes = mem_zalloc((lines->longest + 1) * sizeof(*nodes)); /* by depth */
	bool was_empty = fold->folder->nr == 1;
	const uint32_t *last = lines->texts;
	uint32_t nr_last = 0;
	int result = 0;

	for (size_t i = 0; i < lines->nr && result == 0; i++) {
		const struct line *line = &lines->at[i];
		const uint32_t *texts = lines->texts + line->first;
		uint32_t depth = 0;

		while (depth < nr_last && depth < line->nr && last[depth] == texts[depth])
			depth++;
		for (; depth < line->nr; depth++)
			nodes[depth + 1] =
			        was_empty ?
			                folder_append(fold->folder, nodes[depth], texts[depth]) :
			                folder_child(fold->folder, nodes[depth], texts[depth]);
		last = texts;
		nr_last = line->nr;
		if (!folder_count(fold->folder, nodes[line->nr], line->weight))
			result = err_set(err, "the sum of all counts reaches 2^64");
		folded->total += line->weight;
		if (line->is_unresolved)
			folded->unresolved += line->weight;
	}
	free(nodes);
	return result;
}

struct heat {
	struct module *module;
	double weight; /* of its frames */
};

static int hotter(const void *a, const void *b)
{
	const struct heat *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return (x->module->id > y->module->id) - (x->module->id < y->module->id);
}

/* Servers may take so long in all: they are asked for the hottest modules first. */
static void prepare_hottest_first(const struct stacks *stacks, struct symbolizer *symbolizer)
{
	const struct modules *modules = stacks->session->modules;
	size_t nr = modules_nr(modules);
	struct heat *heats = mem_zalloc(nr * sizeof(*heats));

	for (size_t i = 0; i < nr; i++)
		heats[i].module = modules_at(modules, i);
	for (size_t i = 0; i < stacks->nr_entries; i++) {
		const struct stacks_entry *entry = &stacks->entries[i];

		for (uint32_t j = 0; j < entry->nr; j++) {
			uint32_t at = stacks->pool[entry->first + j];
			const struct module *module = stacks->frames.places.at[at].module;

			if (module)
				heats[module->id].weight += weight_to_double(entry->weight);
		}
	}
	qsort(heats, nr, sizeof(*heats), hotter);
	for (size_t i = 0; i < nr && heats[i].weight > 0; i++)
		symbolizer_prepare(symbolizer, heats[i].module);
	free(heats);
}

int stacks_fold(const struct stacks *stacks, struct symbolizer *symbolizer,
                const struct strtab *names, bool (*keep)(void *ctx, const char *name), void *ctx,
                struct folder *folder, struct stacks_folded *folded, struct err *err)
{
	struct fold fold = {.stacks = stacks,
	                    .symbolizer = symbolizer,
	                    .names = names,
	                    .folder = folder,
	                    .keep = keep,
	                    .ctx = ctx};
	struct lines lines = {0};
	int result;

	*folded = (struct stacks_folded){0};
	if (symbolizer && modules_options(stacks->session->modules)->debuginfod_seconds)
		prepare_hottest_first(stacks, symbolizer);
	fold.namings = mem_zalloc(2 * stacks->frames.places.nr * sizeof(*fold.namings));
	lines.at = mem_alloc((stacks->nr_entries + 1) * sizeof(*lines.at));
	for (size_t i = 0; i < stacks->nr_entries; i++)
		if (stacks->entries[i].weight)
			make_line(&fold, &lines, i + 1, folded);
	if (lines.nr)
		qsort_r(lines.at, lines.nr, sizeof(*lines.at), compare_lines, lines.texts);
	result = add_lines(&fold, &lines, folded, err);
	free(fold.namings);
	free(fold.ids);
	free(fold.known);
	free(lines.at);
	free(lines.texts);
	return result;
}
