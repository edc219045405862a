#include "share/compat.h"
#include "collapse/places.h"

#include "share/mem.h"

#define CACHE_SIZE 65536u /* entries; what is not met costs no memory */
#define BLOCK_BITS 8      /* of an offset, in which most belong to one function */

void places_init(struct places *places, struct session *session, struct symbolizer *symbolizer,
                 bool is_live)
{
	*places = (struct places){
	        .session = session, .symbolizer = symbolizer, .is_live = is_live, .nr_slots = 1024};
	places->slots = mem_zalloc(places->nr_slots * sizeof(*places->slots));
	places->cache = mem_zalloc(CACHE_SIZE * sizeof(*places->cache));
	places->text_unknown = strtab_cstr(&session->texts, "[unknown]");
}

void places_release(struct places *places)
{
	free(places->at);
	free(places->slots);
	free(places->cache);
	free(places->of_module);
	free(places->of_text);
	*places = (struct places){0};
}

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

static uint32_t *find_slot(const struct places *places, const struct place *place)
{
	size_t at = place_hash(place) & (places->nr_slots - 1);

	while (places->slots[at] && !place_equals(&places->at[places->slots[at] - 1], place))
		at = (at + 1) & (places->nr_slots - 1);
	return &places->slots[at];
}

uint32_t places_id(struct places *places, const struct place *place)
{
	uint32_t *slot = find_slot(places, place);

	if (*slot)
		return *slot - 1;
	/* a process that still runs can be asked for its files; later it may be too late */
	if (places->is_live && place->module && place->module->nr_samples++ == 0)
		module_elf(places->session->modules, place->module);
	MEM_GROW(places->at, places->nr, places->capacity);
	places->at[places->nr++] = *place;
	*slot = (uint32_t)places->nr;
	if (places->nr > places->nr_slots / 2) {
		places->nr_slots *= 2;
		free(places->slots);
		places->slots = mem_zalloc(places->nr_slots * sizeof(*places->slots));
		for (size_t i = 0; i < places->nr; i++)
			*find_slot(places, &places->at[i]) = (uint32_t)i + 1;
	}
	return (uint32_t)places->nr - 1;
}

/* The entry of a table by small numbers, made with zeros where it is new. */
static uint32_t *entry_of(uint32_t **table, size_t *nr, size_t at)
{
	size_t nr_old = *nr;

	if (at >= nr_old) {
		*nr = MAX_OF(at + 1, nr_old * 2);
		*table = mem_resize(*table, *nr, sizeof(**table));
		memset(*table + nr_old, 0, (*nr - nr_old) * sizeof(**table));
	}
	return *table + at;
}

uint32_t places_of_text(struct places *places, uint32_t text, bool is_kernel)
{
	const struct place place = {.text = text, .is_kernel = is_kernel};
	uint32_t *known;

	if (is_kernel)
		return places_id(places, &place);
	known = entry_of(&places->of_text, &places->nr_texts, text);
	if (!*known)
		*known = places_id(places, &place) + 1;
	return *known - 1;
}

/* Will names of the module be the same at the end of the recording as now? */
static bool is_settled(const struct places *places, const struct module *module)
{
	const struct reader *reader = places->session->reader;

	/* a running JIT goes on writing its map; names that the recording has are by address */
	if ((module->key.kind == MODULE_JIT && places->is_live) || reader->embedded.nr)
		return false;
	/* a stream may tell build-ids at its end: until then it may be another file */
	return !reader->is_pipe || module->key.build_id.size || module->key.kind == MODULE_JIT;
}

static bool is_kernel_code(const struct module *module)
{
	return module->key.kind == MODULE_KERNEL || module->key.kind == MODULE_KMOD;
}

/* Makes the place, and says from where to where the module is the same place. */
static uint32_t make_place(struct places *places, struct place *place, struct symbol_span *span)
{
	struct module *module = place->module;

	if (places->shows_offsets && module->key.kind == MODULE_JIT) {
		*span = (struct symbol_span){0, UINT64_MAX, false};
		return places_of_text(places, places->text_unknown, false);
	}
	if (!places->symbolizer || !is_settled(places, module) ||
	    !symbolize_span(places->symbolizer, module, place->off, span)) {
		*span = (struct symbol_span){place->off, place->off + 1, true};
		return places_id(places, place);
	}
	/* code that nobody claims to have made */
	if (!span->is_named && module->key.kind == MODULE_JIT)
		return places_of_text(places, places->text_unknown, false);
	/* what has no name has that of its module */
	place->off = span->is_named ? span->start : UINT64_MAX;
	return places_id(places, place);
}

/* off, is_return: see symbolize.h. */
static struct spot spot_in(const struct places *places, struct module *module, uint64_t off,
                           bool is_return)
{
	if (module->id < places->nr_modules && places->of_module[module->id])
		return (struct spot){.place = places->of_module[module->id] - 1};
	if (places->symbolizer)
		return (struct spot){.module = module, .off = off - (is_return && off)};
	return (struct spot){.module = module, .off = off, .is_return = is_return};
}

static uint32_t tag_of(const struct spot *spot)
{
	return (spot->module->id + 1) << 1 | spot->is_return;
}

static struct places_cached *cached_at(const struct places *places, const struct spot *spot)
{
	uint64_t block = places->symbolizer ? spot->off >> BLOCK_BITS : spot->off;

	/* neighbours stand side by side: code that runs is no random choice */
	return &places->cache[(block + tag_of(spot) * 0x9e3779b1u) & (CACHE_SIZE - 1)];
}

static bool is_of(const struct places_cached *cached, const struct spot *spot)
{
	return cached->tag == tag_of(spot) && spot->off - cached->start < cached->size;
}

static struct place place_of(const struct spot *spot)
{
	return (struct place){.module = spot->module,
	                      .off = spot->off,
	                      .is_return = spot->is_return,
	                      .is_kernel = is_kernel_code(spot->module)};
}

uint32_t places_of_spot(struct places *places, const struct spot *spot)
{
	struct places_cached *cached;
	struct symbol_span span;
	struct place place;

	if (!spot->module)
		return spot->place;
	cached = cached_at(places, spot);
	if (is_of(cached, spot))
		return cached->place;
	place = place_of(spot);
	cached->place = make_place(places, &place, &span);
	cached->tag = tag_of(spot);
	cached->start = span.start;
	cached->size = (uint32_t)MIN_OF(span.end - span.start, (uint64_t)UINT32_MAX);
	if (span.start == 0 && span.end == UINT64_MAX)
		*entry_of(&places->of_module, &places->nr_modules, spot->module->id) =
		        cached->place + 1;
	return cached->place;
}

void places_fetch(const struct places *places, const struct spot *spot)
{
	if (spot->module)
		__builtin_prefetch(cached_at(places, spot));
}

/* Where a place that is none of the cache is looked for first. */
static uint32_t *slot_of(const struct places *places, const struct spot *spot)
{
	struct place place = place_of(spot);

	return &places->slots[place_hash(&place) & (places->nr_slots - 1)];
}

void places_of_spots(struct places *places, struct spot *spots, size_t nr, uint32_t *out)
{
	size_t nr_left = 0;

	for (size_t i = 0; i < nr; i++) {
		const struct places_cached *cached;

		out[i] = spots[i].place;
		if (!spots[i].module)
			continue;
		cached = cached_at(places, &spots[i]);
		out[i] = cached->place;
		if (is_of(cached, &spots[i]))
			continue;
		if (!places->symbolizer)
			__builtin_prefetch(slot_of(places, &spots[i]), 1);
		spots[nr_left] = spots[i];
		spots[nr_left++].place = (uint32_t)i;
	}
	for (size_t i = 0; i < nr_left && !places->symbolizer; i++) {
		uint32_t id = *slot_of(places, &spots[i]);

		if (id)
			__builtin_prefetch(&places->at[id - 1]);
	}
	for (size_t i = 0; i < nr_left; i++)
		out[spots[i].place] = places_of_spot(places, &spots[i]);
}

/* What is mapped at the address, or NULL. */
static const struct map *map_at(struct places_mapped *last, const struct maps *maps,
                                uint64_t address)
{
	const struct map *map;

	if (last->version != maps->version || address < last->start || address >= last->end) {
		map = maps_bounds(maps, address, &last->start, &last->end);
		last->version = maps->version;
		last->map = map ? *map : (struct map){0};
	}
	return last->map.end ? &last->map : NULL;
}

struct spot places_spot_of_kernel(struct places *places, uint64_t ip, bool is_return)
{
	struct session *session = places->session;
	/* the call that a return address follows may be the last of its function */
	const struct map *map = map_at(&places->kernel, session->kernel, ip - is_return);

	if (map && !map->module)
		return (struct spot){.place = places_of_text(places, map->name, true)};
	return spot_in(places, map ? map->module : session_kernel_module(session), ip, is_return);
}

struct spot places_spot_of_user(struct places *places, struct process *process, uint64_t ip,
                                bool is_return)
{
	const struct map *map = map_at(&places->user, process->maps, ip - is_return);
	struct module *module;

	/* inside execve() the user's registers are still those of the old program */
	if (!map && process->replaced)
		map = maps_find(process->replaced, ip - is_return);
	module = map ? map->module : session_unknown_module(places->session, process);
	if (process->jitdump && module->key.kind == MODULE_JIT) {
		uint32_t text = session_jit_name(places->session, process, ip - is_return);

		if (text != UINT32_MAX)
			return (struct spot){.place = places_of_text(places, text, false)};
	}
	return spot_in(places, module, map ? ip - map->start + map->pgoff : ip, is_return);
}

const char *places_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

void places_describe(const struct places *places, const struct place *place, struct buf *out)
{
	if (!place->module) {
		struct slice text = strtab_slice(&places->session->texts, place->text);

		buf_add(out, text.at, text.size);
		return;
	}
	if (place->module->key.kind == MODULE_UNKNOWN || place->module->key.kind == MODULE_JIT)
		buf_string(out, "[unknown]");
	else
		buf_printf(out, "%s+0x%llx", places_base_name(place->module->key.path),
		           (unsigned long long)place->off);
}
