#include "share/compat.h"
#include "collapse/stacks.h"

#include "share/mem.h"

#define CACHE_SIZE 16384u /* entries; 400 kB, within the second cache of most machines */

/* Kernel default of sysctl perf_event_max_stack (PERF_MAX_STACK_DEPTH). */
#define DEFAULT_MAX_STACK 127

void stacks_init(struct stacks *stacks, struct session *session,
                 const struct stacks_options *options)
{
	*stacks = (struct stacks){.session = session, .options = *options};
	stacks->nr_slots = 1024;
	stacks->slots = mem_zalloc(stacks->nr_slots * sizeof(*stacks->slots));
	stacks->cache = mem_zalloc(CACHE_SIZE * sizeof(*stacks->cache));
	stacks->nr_entry_slots = 1024;
	stacks->entry_slots = mem_zalloc(stacks->nr_entry_slots * sizeof(*stacks->entry_slots));
	stacks->text_no_stack = strtab_cstr(&session->texts, "[no stack]");
	stacks->text_truncated = strtab_cstr(&session->texts, "[truncated]");
}

void stacks_release(struct stacks *stacks)
{
	free(stacks->entries);
	free(stacks->entry_slots);
	free(stacks->pool);
	free(stacks->places);
	free(stacks->slots);
	free(stacks->cache);
	free(stacks->frames);
	free(stacks->ips);
	*stacks = (struct stacks){0};
}

/* ---- places ---- */

static uint64_t place_hash(const struct place *place)
{
	uint64_t what = place->module ? place->module->id : (uint64_t)place->text << 32;

	return hash_u64(place->off, what << 2 | (uint64_t)place->is_return << 1 | place->is_kernel);
}

static bool place_equals(const struct place *a, const struct place *b)
{
	return a->off == b->off && a->module == b->module && a->text == b->text &&
	       a->is_return == b->is_return && a->is_kernel == b->is_kernel;
}

static uint32_t *find_slot(const struct stacks *stacks, const struct place *place)
{
	size_t at = place_hash(place) & (stacks->nr_slots - 1);

	while (stacks->slots[at] && !place_equals(&stacks->places[stacks->slots[at] - 1], place))
		at = (at + 1) & (stacks->nr_slots - 1);
	return &stacks->slots[at];
}

static uint32_t place_id(struct stacks *stacks, const struct place *place)
{
	uint32_t *slot = find_slot(stacks, place);

	if (*slot)
		return *slot - 1;
	/* a process that still runs can be asked for its files; later it may be too late */
	if (stacks->options.is_live && place->module && place->module->nr_samples++ == 0)
		module_elf(stacks->session->modules, place->module);
	MEM_GROW(stacks->places, stacks->nr_places, stacks->places_capacity);
	stacks->places[stacks->nr_places++] = *place;
	*slot = (uint32_t)stacks->nr_places;
	if (stacks->nr_places > stacks->nr_slots / 2) {
		stacks->nr_slots *= 2;
		free(stacks->slots);
		stacks->slots = mem_zalloc(stacks->nr_slots * sizeof(*stacks->slots));
		for (size_t i = 0; i < stacks->nr_places; i++)
			*find_slot(stacks, &stacks->places[i]) = (uint32_t)i + 1;
	}
	return (uint32_t)stacks->nr_places - 1;
}

static uint32_t text_place(struct stacks *stacks, uint32_t text, bool is_kernel)
{
	return place_id(stacks, &(struct place){.text = text, .is_kernel = is_kernel});
}

static uint32_t kernel_place(struct stacks *stacks, uint64_t ip, bool is_return)
{
	struct session *session = stacks->session;
	/* the call that a return address follows may be the last of its function */
	const struct map *map = maps_find(session->kernel, ip - is_return);
	struct place place = {.off = ip, .is_return = is_return, .is_kernel = true};

	if (map && !map->module)
		return text_place(stacks, map->name, true);
	place.module = map ? map->module : session_kernel_module(session);
	return place_id(stacks, &place);
}

static uint32_t user_place(struct stacks *stacks, struct process *process, uint64_t ip,
                           bool is_return)
{
	const struct map *map = maps_find(process->maps, ip - is_return);
	struct place place = {.off = ip, .is_return = is_return};

	if (map) {
		place.off = ip - map->start + map->pgoff;
		place.module = map->module;
	} else {
		place.module = session_unknown_module(stacks->session, process);
	}
	return place_id(stacks, &place);
}

/* ---- the frames of one sample ---- */

static void push(struct stacks *stacks, uint32_t place, uint64_t ip)
{
	if (stacks->nr_frames == stacks->frames_capacity) {
		stacks->frames_capacity = MAX_OF(stacks->frames_capacity * 2, (size_t)256);
		stacks->frames = mem_resize(stacks->frames, stacks->frames_capacity,
		                            sizeof(*stacks->frames));
		stacks->ips =
		        mem_resize(stacks->ips, stacks->frames_capacity, sizeof(*stacks->ips));
	}
	stacks->frames[stacks->nr_frames] = place;
	stacks->ips[stacks->nr_frames++] = ip;
}

enum context { CONTEXT_USER, CONTEXT_KERNEL, CONTEXT_OTHER };

static void push_ip(struct stacks *stacks, const struct thread *thread, enum context context,
                    uint64_t ip, bool is_return)
{
	bool is_kernel = context == CONTEXT_KERNEL;
	uint64_t version =
	        is_kernel ? stacks->session->kernel->version : thread->process->maps->version;
	uint64_t tag = version << 1 | is_return;
	struct stacks_cached *cached = &stacks->cache[hash_u64(ip, tag) & (CACHE_SIZE - 1)];

	/* a version belongs to one address space only, so it says which process */
	if (cached->version != tag || cached->ip != ip) {
		uint32_t place = is_kernel ? kernel_place(stacks, ip, is_return) :
		                             user_place(stacks, thread->process, ip, is_return);

		*cached = (struct stacks_cached){ip, tag, place};
	}
	push(stacks, cached->place, ip);
}

static void push_foreign(struct stacks *stacks, const char *name)
{
	push(stacks, text_place(stacks, strtab_cstr(&stacks->session->texts, name), false), 0);
}

static enum context context_of_mode(uint16_t cpumode)
{
	switch (cpumode) {
	case PERF_RECORD_MISC_KERNEL:
		return CONTEXT_KERNEL;
	case PERF_RECORD_MISC_USER:
		return CONTEXT_USER;
	}
	return CONTEXT_OTHER;
}

static const char *foreign_name(uint64_t marker)
{
	switch (marker) {
	case PERF_CONTEXT_HV:
		return "[hypervisor]";
	case PERF_CONTEXT_GUEST_KERNEL:
		return "[guest kernel]";
	case PERF_CONTEXT_GUEST_USER:
		return "[guest user]";
	}
	return "[guest]";
}

/* Where branches form a call stack (LBR) they replace the user part of the chain. */
static void push_branches(struct stacks *stacks, const struct thread *thread,
                          const struct sample *sample)
{
	push_ip(stacks, thread, CONTEXT_USER, sample->branches[1], false);
	for (uint64_t i = 0; i < sample->nr_branches; i++)
		push_ip(stacks, thread, CONTEXT_USER, sample->branches[3 * i], false);
}

static void push_chain(struct stacks *stacks, const struct thread *thread,
                       const struct sample *sample, const uint64_t *chain, uint64_t nr)
{
	const bool is_lowered = stacks->session->reader->is_simpleperf;
	enum context context = context_of_mode(sample->cpumode);
	bool is_first = true;

	for (uint64_t i = 0; i < nr; i++) {
		uint64_t ip = chain[i];

		if (ip < PERF_CONTEXT_MAX) {
			if (context == CONTEXT_OTHER)
				continue;
			if (context == CONTEXT_USER && sample->nr_branches) {
				push_branches(stacks, thread, sample);
				return;
			}
			push_ip(stacks, thread, context, ip, !is_first && !is_lowered);
			is_first = false;
			if (context == CONTEXT_KERNEL)
				stacks->nr_kernel_frames = stacks->nr_frames;
			continue;
		}
		is_first = true;
		switch (ip) {
		case PERF_CONTEXT_KERNEL:
			context = CONTEXT_KERNEL;
			break;
		case PERF_CONTEXT_USER:
			context = CONTEXT_USER;
			break;
		case PERFREC_CONTEXT_USER_DEFERRED:
			i++; /* the cookie */
			break;
		case PERF_CONTEXT_HV:
		case PERF_CONTEXT_GUEST:
		case PERF_CONTEXT_GUEST_KERNEL:
		case PERF_CONTEXT_GUEST_USER:
			context = CONTEXT_OTHER;
			push_foreign(stacks, foreign_name(ip));
			break;
		default:
			context = CONTEXT_OTHER;
			stacks->nr_markers_unknown++;
		}
	}
}

static void push_sampled_ip(struct stacks *stacks, const struct thread *thread,
                            const struct sample *sample)
{
	switch (sample->cpumode) {
	case PERF_RECORD_MISC_KERNEL:
		push_ip(stacks, thread, CONTEXT_KERNEL, sample->ip, false);
		stacks->nr_kernel_frames = stacks->nr_frames;
		break;
	case PERF_RECORD_MISC_USER:
		push_ip(stacks, thread, CONTEXT_USER, sample->ip, false);
		break;
	case PERF_RECORD_MISC_HYPERVISOR:
		push_foreign(stacks, "[hypervisor]");
		break;
	case PERF_RECORD_MISC_GUEST_KERNEL:
		push_foreign(stacks, "[guest kernel]");
		break;
	case PERF_RECORD_MISC_GUEST_USER:
		push_foreign(stacks, "[guest user]");
		break;
	}
}

/* The kernel stops after so many entries, counted from the leaf: the roots are lost. */
static bool is_cut(const struct event *event, const struct sample *sample)
{
	uint64_t limit =
	        event->attr.sample_max_stack ? event->attr.sample_max_stack : DEFAULT_MAX_STACK;
	uint64_t nr = 0;

	if (sample->nr_chain < limit)
		return false;
	for (uint64_t i = 0; i < sample->nr_chain; i++)
		nr += sample->chain[i] < PERF_CONTEXT_MAX;
	/* above the limit the recording machine had another one, which is not known */
	return nr == limit;
}

bool stacks_resolve(struct stacks *stacks, const struct event *event, const struct sample *sample,
                    const struct thread *thread, bool *is_truncated)
{
	stacks->nr_frames = stacks->nr_kernel_frames = 0;
	*is_truncated = false;
	if (sample->has_chain) {
		push_chain(stacks, thread, sample, sample->chain, sample->nr_chain);
		*is_truncated = is_cut(event, sample);
	}
	if (!stacks->nr_frames && sample->has_ip && sample->ip)
		push_sampled_ip(stacks, thread, sample);
	if (stacks->options.only == ONLY_KERNEL) {
		stacks->nr_frames = stacks->nr_kernel_frames;
		*is_truncated = false;
	} else if (stacks->options.only == ONLY_USER) {
		stacks->nr_frames -= stacks->nr_kernel_frames;
		memmove(stacks->frames, stacks->frames + stacks->nr_kernel_frames,
		        stacks->nr_frames * sizeof(*stacks->frames));
		memmove(stacks->ips, stacks->ips + stacks->nr_kernel_frames,
		        stacks->nr_frames * sizeof(*stacks->ips));
	}
	return stacks->options.only == ONLY_ALL || stacks->nr_frames;
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

static void grow_entry_slots(struct stacks *stacks)
{
	free(stacks->entry_slots);
	stacks->nr_entry_slots *= 2;
	stacks->entry_slots = mem_zalloc(stacks->nr_entry_slots * sizeof(*stacks->entry_slots));
	for (size_t i = 0; i < stacks->nr_entries; i++) {
		size_t at = stacks->entries[i].hash & (stacks->nr_entry_slots - 1);

		while (stacks->entry_slots[at])
			at = (at + 1) & (stacks->nr_entry_slots - 1);
		stacks->entry_slots[at] = (uint32_t)i + 1;
	}
}

/*
 * The entry of the run that stands at the end of the pool, behind what the
 * pool holds for good; a new one keeps it there.
 */
static struct stacks_entry *entry_of_run(struct stacks *stacks, size_t nr)
{
	const uint32_t *run = stacks->pool + stacks->pool_size;
	uint32_t hash = (uint32_t)hash_bytes(run, nr * sizeof(*run));
	size_t at = hash & (stacks->nr_entry_slots - 1);
	struct stacks_entry *entry;

	for (; stacks->entry_slots[at]; at = (at + 1) & (stacks->nr_entry_slots - 1)) {
		entry = &stacks->entries[stacks->entry_slots[at] - 1];
		if (entry->hash == hash && entry->nr == nr &&
		    memcmp(stacks->pool + entry->first, run, nr * sizeof(*run)) == 0)
			return entry;
	}
	MEM_GROW(stacks->entries, stacks->nr_entries, stacks->entries_capacity);
	stacks->entries[stacks->nr_entries] =
	        (struct stacks_entry){.first = stacks->pool_size, .nr = (uint32_t)nr, .hash = hash};
	stacks->pool_size += nr;
	stacks->entry_slots[at] = (uint32_t)++stacks->nr_entries;
	if (stacks->nr_entries > stacks->nr_entry_slots / 2)
		grow_entry_slots(stacks);
	return &stacks->entries[stacks->nr_entries - 1];
}

static void reserve_run(struct stacks *stacks, size_t nr)
{
	if (stacks->pool_capacity - stacks->pool_size >= nr)
		return;
	stacks->pool_capacity = MAX_OF(stacks->pool_capacity * 2, stacks->pool_size + nr + 4096);
	stacks->pool = mem_resize(stacks->pool, stacks->pool_capacity, sizeof(*stacks->pool));
}

size_t stacks_enter(struct stacks *stacks, const struct event *event, const struct sample *sample,
                    const struct thread *thread)
{
	struct session *session = stacks->session;
	uint32_t *run;
	size_t nr = 0;
	bool is_truncated;

	if (!stacks_resolve(stacks, event, sample, thread, &is_truncated))
		return 0;
	reserve_run(stacks, stacks->nr_frames + STACKS_ROOTS_MAX + 3);
	run = stacks->pool + stacks->pool_size;
	if (stacks->options.event_root)
		run[nr++] = text_place(stacks, strtab_cstr(&session->texts, event->name), false);
	for (size_t i = 0; i < stacks->options.nr_roots; i++)
		run[nr++] = text_place(
		        stacks, root_text(stacks, stacks->options.roots[i], sample, thread), false);
	if (is_truncated) {
		stacks->nr_truncated++;
		run[nr++] = text_place(stacks, stacks->text_truncated, false);
	}
	if (stacks->nr_frames) {
		stacks->places[stacks->frames[0]].nr_samples++;
	} else {
		stacks->nr_no_stack++;
		run[nr++] = text_place(stacks, stacks->text_no_stack, false);
	}
	for (size_t i = stacks->nr_frames; i-- > 0;)
		run[nr++] = stacks->frames[i];
	return (size_t)(entry_of_run(stacks, nr) - stacks->entries) + 1;
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
	size_t entry = stacks_enter(stacks, event, sample, thread);

	if (!entry)
		return 0;
	return stacks_weigh(stacks, entry, weight) ? 1 : -1;
}

size_t stacks_extend(struct stacks *stacks, size_t entry, const char *text)
{
	struct stacks_entry base = stacks->entries[entry - 1];
	uint32_t *run;

	reserve_run(stacks, (size_t)base.nr + 1);
	run = stacks->pool + stacks->pool_size;
	memcpy(run, stacks->pool + base.first, base.nr * sizeof(*run));
	run[base.nr] = text_place(stacks, strtab_cstr(&stacks->session->texts, text), false);
	return (size_t)(entry_of_run(stacks, (size_t)base.nr + 1) - stacks->entries) + 1;
}

/* ---- names ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

void stacks_place_text(const struct stacks *stacks, const struct place *place, struct buf *out)
{
	if (!place->module) {
		struct slice text = strtab_slice(&stacks->session->texts, place->text);

		buf_add(out, text.at, text.size);
		return;
	}
	if (place->module->key.kind == MODULE_UNKNOWN || place->module->key.kind == MODULE_JIT)
		buf_string(out, "[unknown]");
	else
		buf_printf(out, "%s+0x%llx", base_name(place->module->key.path),
		           (unsigned long long)place->off);
}

/* The frames of one place, outermost first: ids in the folder. */
struct naming {
	uint32_t first; /* in ids */
	uint16_t nr;
	bool is_named, is_unresolved, is_kept;
};

struct fold {
	const struct stacks *stacks;
	struct symbolizer *symbolizer;
	const struct strtab *names;
	struct folder *folder;
	bool (*keep)(void *ctx, const char *name);
	void *ctx;
	struct naming *namings; /* by place */
	uint32_t *ids;
	size_t nr_ids, ids_capacity;
};

static void add_name(struct fold *fold, struct naming *naming, const struct buf *name,
                     const char *mark)
{
	struct buf marked = {0};

	buf_add(&marked, name->at, name->size);
	if (fold->stacks->options.annotate)
		buf_string(&marked, mark);
	MEM_GROW(fold->ids, fold->nr_ids, fold->ids_capacity);
	fold->ids[fold->nr_ids++] = folder_name(fold->folder, marked.at, marked.size);
	naming->nr++;
	if (fold->keep && !naming->is_kept)
		naming->is_kept = fold->keep(fold->ctx, buf_text(&marked));
	buf_release(&marked);
}

static void name_place(struct fold *fold, uint32_t id)
{
	const struct place *place = &fold->stacks->places[id];
	struct naming *naming = &fold->namings[id];
	struct symbol symbols[SYMBOLIZE_MAX];
	struct buf name = {0};
	bool is_jit = place->module && place->module->key.kind == MODULE_JIT;
	const char *mark = place->is_kernel ? "_[k]" : is_jit ? "_[j]" : "";
	size_t nr;

	naming->first = (uint32_t)fold->nr_ids;
	naming->is_named = true;
	if (!place->module || fold->stacks->options.no_symbols) {
		stacks_place_text(fold->stacks, place, &name);
		naming->is_unresolved =
		        slice_equals((struct slice){name.at, name.size}, "[unknown]");
		add_name(fold, naming, &name, naming->is_unresolved ? "" : mark);
		buf_release(&name);
		return;
	}
	nr = symbolize(fold->symbolizer, place->module, place->off, place->is_return, symbols);
	for (size_t i = nr; i-- > 0;) {
		struct slice text = strtab_slice(fold->names, symbols[i].name);

		buf_reset(&name);
		naming->is_unresolved |= !symbols[i].resolved;
		if (is_jit && !symbols[i].resolved) {
			/* nothing is mapped there and nobody claims to have made it */
			text = (struct slice){"[unknown]", 9};
			mark = "";
		}
		buf_add(&name, text.at, text.size);
		if (!symbols[i].resolved && fold->stacks->options.addresses)
			buf_printf(&name, "+0x%llx", (unsigned long long)place->off);
		add_name(fold, naming, &name, symbols[i].inlined ? "_[i]" : mark);
	}
	buf_release(&name);
}

static int compare_runs(const void *a, const void *b, void *ctx)
{
	const struct stacks *stacks = ctx;
	const struct stacks_entry *x = a, *y = b;
	const uint32_t *p = stacks->pool + x->first, *q = stacks->pool + y->first;
	uint32_t shared = MIN_OF(x->nr, y->nr);

	for (uint32_t i = 0; i < shared; i++)
		if (p[i] != q[i])
			return p[i] < q[i] ? -1 : 1;
	return (x->nr > y->nr) - (x->nr < y->nr);
}

/* Where the walk over the sorted stacks stands, by depth. */
struct step {
	uint32_t place, node; /* node: in the folder */
	bool is_unresolved, is_kept;
};

/* Brings the steps from the last stack to this one; only what differs is looked up. */
static const struct step *walk_to(struct fold *fold, struct step *steps, size_t *depth,
                                  const struct stacks_entry *entry)
{
	const uint32_t *run = fold->stacks->pool + entry->first;
	size_t at = 0;

	while (at < *depth && at < entry->nr && steps[at + 1].place == run[at])
		at++;
	for (; at < entry->nr; at++) {
		struct naming *naming = &fold->namings[run[at]];
		struct step *step = &steps[at + 1];

		if (!naming->is_named)
			name_place(fold, run[at]);
		*step = steps[at];
		step->place = run[at];
		step->is_unresolved |= naming->is_unresolved;
		step->is_kept |= naming->is_kept;
		for (uint16_t i = 0; i < naming->nr; i++)
			step->node = folder_child(fold->folder, step->node,
			                          fold->ids[naming->first + i]);
	}
	*depth = entry->nr;
	return &steps[entry->nr];
}

int stacks_fold(struct stacks *stacks, struct symbolizer *symbolizer, const struct strtab *names,
                bool (*keep)(void *ctx, const char *name), void *ctx, struct folder *folder,
                struct stacks_folded *folded, struct err *err)
{
	struct fold fold = {stacks, symbolizer, names, folder, keep, ctx, NULL, NULL, 0, 0};
	struct step *steps;
	size_t depth = 0, deepest = 0;
	int result = 0;

	*folded = (struct stacks_folded){0};
	/* neighbours then share most of their way from the root */
	if (stacks->nr_entries)
		qsort_r(stacks->entries, stacks->nr_entries, sizeof(*stacks->entries), compare_runs,
		        stacks);
	memset(stacks->entry_slots, 0, stacks->nr_entry_slots * sizeof(*stacks->entry_slots));
	for (size_t i = 0; i < stacks->nr_entries; i++)
		deepest = MAX_OF(deepest, (size_t)stacks->entries[i].nr);
	steps = mem_zalloc((deepest + 1) * sizeof(*steps));
	fold.namings = mem_zalloc(stacks->nr_places * sizeof(*fold.namings));
	for (size_t i = 0; i < stacks->nr_entries && result == 0; i++) {
		const struct stacks_entry *entry = &stacks->entries[i];
		const struct step *step = walk_to(&fold, steps, &depth, entry);

		if (keep && !step->is_kept) {
			folded->filtered += entry->weight;
			continue;
		}
		if (!folder_count(folder, step->node, entry->weight))
			result = err_set(err, "the sum of all counts reaches 2^64");
		folded->total += entry->weight;
		if (step->is_unresolved)
			folded->unresolved += entry->weight;
	}
	free(fold.namings);
	free(fold.ids);
	free(steps);
	return result;
}
