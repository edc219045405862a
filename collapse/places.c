#include "share/compat.h"
#include "collapse/places.h"

#include "share/mem.h"

void places_init(struct places *places, struct session *session, struct symbolizer *symbolizer,
                 bool is_live)
{
	*places = (struct places){
	        .session = session, .symbolizer = symbolizer, .is_live = is_live, .nr_slots = 1024};
	places->slots = mem_zalloc(places->nr_slots * sizeof(*places->slots));
	places->text_unknown = strtab_cstr(&session->texts, "[unknown]");
}

void places_release(struct places *places)
{
	free(places->at);
	free(places->slots);
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

uint32_t places_of_text(struct places *places, uint32_t text, bool is_kernel)
{
	const struct place place = {.text = text, .is_kernel = is_kernel};
	size_t nr = places->nr_texts;

	if (is_kernel)
		return places_id(places, &place);
	if (text >= nr) {
		places->nr_texts = MAX_OF((size_t)text + 1, nr * 2);
		places->of_text = mem_resize(places->of_text, places->nr_texts, sizeof(uint32_t));
		memset(places->of_text + nr, 0, (places->nr_texts - nr) * sizeof(uint32_t));
	}
	if (!places->of_text[text])
		places->of_text[text] = places_id(places, &place) + 1;
	return places->of_text[text] - 1;
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

/*
 * Makes the place and narrows *run, which comes as what is mapped (or not)
 * around the address, to where the place is the same.
 */
static void take_run(struct places *places, struct place *place, uint64_t ip,
                     struct places_run *run)
{
	const struct module *module = place->module;
	uint64_t off = place->off;
	struct symbol_span span;

	if (!places->symbolizer || !is_settled(places, module) ||
	    !symbolize_span(places->symbolizer, place->module, off, &span)) {
		*run = (struct places_run){ip, ip + 1, places_id(places, place)};
		return;
	}
	run->start = ip - MIN_OF(off - span.start, ip - run->start);
	run->end = ip + MIN_OF(span.end - off, run->end - ip);
	if (!span.is_named && module->key.kind == MODULE_JIT) {
		/* code that nobody claims to have made */
		run->place = places_of_text(places, places->text_unknown, false);
		return;
	}
	/* what has no name has that of its module */
	place->off = span.is_named ? span.start : UINT64_MAX;
	run->place = places_id(places, place);
}

static void take_text(struct places *places, uint32_t text, bool is_kernel, uint64_t ip,
                      struct places_run *run)
{
	*run = (struct places_run){ip, ip + 1, places_of_text(places, text, is_kernel)};
}

void places_of_kernel(struct places *places, uint64_t ip, bool is_return, struct places_run *run)
{
	struct session *session = places->session;
	/* the call that a return address follows may be the last of its function */
	const struct map *map =
	        maps_bounds(session->kernel, ip - is_return, &run->start, &run->end);
	struct place place = {.off = ip, .is_return = is_return, .is_kernel = true};

	if (map && !map->module) {
		take_text(places, map->name, true, ip, run);
		return;
	}
	place.module = map ? map->module : session_kernel_module(session);
	take_run(places, &place, ip, run);
}

void places_of_user(struct places *places, struct process *process, uint64_t ip, bool is_return,
                    struct places_run *run)
{
	const struct map *map = maps_bounds(process->maps, ip - is_return, &run->start, &run->end);
	struct place place = {.off = ip, .is_return = is_return};

	/* inside execve() the user's registers are still those of the old program */
	if (!map && process->replaced) {
		map = maps_find(process->replaced, ip - is_return);
		run->start = ip - is_return;
		run->end = run->start + 1;
	}

	if (map) {
		place.off = ip - map->start + map->pgoff;
		place.module = map->module;
	}
	if (process->jitdump && (!map || map->module->key.kind == MODULE_JIT)) {
		uint32_t text = session_jit_name(places->session, process, ip - is_return);

		if (text != UINT32_MAX) {
			take_text(places, text, false, ip, run);
			return;
		}
	}
	if (!map)
		place.module = session_unknown_module(places->session, process);
	take_run(places, &place, ip, run);
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
