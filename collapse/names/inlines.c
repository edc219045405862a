#include "share/compat.h"
#include "collapse/names/inlines.h"

#include "collapse/names/debugfile.h"
#include "collapse/names/dwarf.h"
#include "collapse/names/dwo.h"
#include "collapse/names/lines.h"
#include "share/buf.h"
#include "share/mem.h"
#include "share/strtab.h"

#include <dwarf.h>

/* Nesting of entries; compilers stay far below. */
enum { MAX_DEPTH = 4096 };

/* Bytes of entries that are read sooner than passed over: a table for each costs more. */
enum { WORTH_PASSING = 512 };

#define NO_SCOPE UINT32_MAX

/* A function, or a call that was inlined. */
struct scope {
	uint64_t off;    /* of the entry that names it: of a call, what was called */
	uint32_t parent; /* NO_SCOPE: a function of its own */
	uint32_t call_file, call_line;
	uint32_t name; /* index + 1; 0 until asked for */
	/* what lies in it and was passed over: from the unit's begin; size 0 where nothing */
	uint32_t inner_at, inner_size;
	struct ranges *inner; /* of what lies in it; NULL until read */
};

/* What an entry is called. */
struct name {
	const struct dwarf *dwarf; /* with off: which entry */
	uint64_t off;
	const char *text; /* never NULL */
	bool is_linkage, has_scopes;
};

/* What of a unit is passed over, by the siblings that entries name. */
enum left {
	LEFT_NOTHING,
	LEFT_CALLS,     /* what lies in inlined calls */
	LEFT_FUNCTIONS, /* and in functions and types */
};

/* What was read of one unit. */
struct unit_scopes {
	struct dwarf_unit *unit; /* the split one, where there is one */
	struct ranges ranges;    /* values are indices into scopes, also those of inner ones */
	struct scope *scopes;
	size_t nr, capacity;
	enum left left;
	struct lines *lines;      /* rows */
	struct lines *call_lines; /* names of files of a split unit; else NULL */
	bool lines_tried;
};

struct inlines {
	struct elffile *file;
	struct dwarf *dwarf;
	struct ranges units; /* values are indices of units */
	struct unit_scopes **scopes;
	struct dwo_files split;
	struct name *names;
	size_t nr_names, names_capacity;
	uint32_t *slots; /* index + 1 of names by entry; open addressing */
	size_t nr_slots;
	struct strtab full_names; /* made of plain ones and what encloses them */
	struct buf text;
};

/* ---- one unit ---- */

struct walk {
	struct inlines *inlines;
	struct unit_scopes *out;
	struct ranges *ranges;
	enum left left;
	uint32_t scope; /* that the ranges being read belong to */
	bool any;
};

static void add_range(void *ctx, uint64_t start, uint64_t end)
{
	struct walk *walk = ctx;

	/* what the linker dropped was given addresses that are no code: 0, 1, -1 */
	if (!elffile_is_code(walk->inlines->file, start))
		return;
	ranges_add(walk->ranges, start, end, walk->scope, walk->scope);
	walk->any = true;
}

/* The attributes that matter, of one entry. */
struct entry {
	struct dwarf_value low, high, ranges, origin;
	uint32_t call_file, call_line;
	uint64_t sibling; /* 0: not told */
};

static void read_entry(const struct dwarf_unit *unit, struct cursor *c,
                       const struct dwarf_abbrev *abbrev, struct entry *entry)
{
	const struct dwarf_spec *spec = &unit->abbrevs->specs[abbrev->first_spec];
	struct dwarf_value value;

	*entry = (struct entry){0};
	for (uint32_t i = 0; i < abbrev->nr_specs && !c->bad; i++, spec++) {
		switch (spec->attribute) {
		case DW_AT_low_pc:
			dwarf_read(unit, c, spec, &entry->low);
			break;
		case DW_AT_high_pc:
			dwarf_read(unit, c, spec, &entry->high);
			break;
		case DW_AT_ranges:
			dwarf_read(unit, c, spec, &entry->ranges);
			break;
		case DW_AT_abstract_origin:
			dwarf_read(unit, c, spec, &entry->origin);
			break;
		case DW_AT_sibling:
			dwarf_read(unit, c, spec, &value);
			entry->sibling = value.class == DWARF_REF ? value.u : 0;
			break;
		case DW_AT_call_file:
			dwarf_read(unit, c, spec, &value);
			entry->call_file = (uint32_t)value.u;
			break;
		case DW_AT_call_line:
			dwarf_read(unit, c, spec, &value);
			entry->call_line = (uint32_t)value.u;
			break;
		default:
			dwarf_skip_value(unit, c, spec);
		}
	}
}

/* The scope of an entry with code of its own, or NO_SCOPE. */
static uint32_t add_scope(struct walk *walk, const struct entry *entry, uint64_t off,
                          uint32_t parent)
{
	struct unit_scopes *out = walk->out;

	if (out->nr >= NO_SCOPE - 1)
		return NO_SCOPE;
	walk->scope = (uint32_t)out->nr;
	walk->any = false;
	dwarf_ranges(out->unit, &entry->low, &entry->high, &entry->ranges, add_range, walk);
	if (!walk->any)
		return NO_SCOPE;
	MEM_GROW(out->scopes, out->nr, out->capacity);
	out->scopes[out->nr++] = (struct scope){.off = off,
	                                        .parent = parent,
	                                        .call_file = entry->call_file,
	                                        .call_line = entry->call_line};
	return walk->scope;
}

/* What has no functions among its children. */
static bool is_leaf(uint16_t tag)
{
	return tag == DW_TAG_enumeration_type || tag == DW_TAG_array_type ||
	       tag == DW_TAG_subroutine_type || tag == DW_TAG_call_site ||
	       tag == DW_TAG_GNU_call_site;
}

/* In what there may be functions that are not of the scope around it. */
static bool is_apart(uint16_t tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

/* An entry with code, which the cursor is behind; false where what lies in it is left for later. */
static bool walk_scope(struct walk *walk, struct cursor *c, const struct dwarf_abbrev *abbrev,
                       uint64_t off, uint32_t *scope)
{
	struct unit_scopes *out = walk->out;
	const uint8_t *info = (const uint8_t *)out->unit->dwarf->info.at;
	bool is_call = abbrev->tag == DW_TAG_inlined_subroutine;
	uint64_t inner_at;
	struct entry entry;
	uint32_t own;

	read_entry(out->unit, c, abbrev, &entry);
	/* many calls, one name */
	if (is_call && entry.origin.class == DWARF_REF)
		off = entry.origin.u;
	own = add_scope(walk, &entry, off, *scope);
	*scope = own == NO_SCOPE ? *scope : own;
	inner_at = (uint64_t)(c->at - info);
	/* what lies in a call without code of its own counts for what is around that */
	if (walk->left < (is_call ? LEFT_CALLS : LEFT_FUNCTIONS) || !abbrev->has_children ||
	    (is_call && own == NO_SCOPE) || entry.sibling < inner_at + WORTH_PASSING ||
	    entry.sibling >= (uint64_t)(c->end - info) ||
	    entry.sibling - out->unit->off > UINT32_MAX)
		return true;
	if (own != NO_SCOPE) {
		out->scopes[own].inner_at = (uint32_t)(inner_at - out->unit->off);
		out->scopes[own].inner_size = (uint32_t)(entry.sibling - inner_at);
	}
	c->at = info + entry.sibling;
	out->left = walk->left;
	return false;
}

/* Reads entries that follow each other, and what is in them. */
static void walk_entries(struct walk *walk, struct cursor c, uint32_t parent)
{
	struct unit_scopes *out = walk->out;
	const struct dwarf_unit *unit = out->unit;
	const uint8_t *info = (const uint8_t *)unit->dwarf->info.at;
	uint32_t scopes[MAX_DEPTH]; /* that children at each depth are in */
	size_t depth = 0;

	scopes[0] = parent;
	while (!c.bad && cursor_left(&c)) {
		uint64_t off = (uint64_t)(c.at - info), code;
		const struct dwarf_abbrev *abbrev = dwarf_entry(unit, &c, &code);
		uint32_t scope = scopes[depth];

		if (!abbrev) {
			if (code || !depth)
				break;
			depth--;
			continue;
		}
		if (abbrev->has_children && is_leaf(abbrev->tag) && dwarf_pass(unit, &c, abbrev))
			continue;
		if (abbrev->tag == DW_TAG_subprogram)
			scope = NO_SCOPE;
		if (abbrev->has_code && (abbrev->tag == DW_TAG_subprogram ||
		                         abbrev->tag == DW_TAG_inlined_subroutine)) {
			if (!walk_scope(walk, &c, abbrev, off, &scope))
				continue;
		} else if (walk->left == LEFT_FUNCTIONS && abbrev->has_children &&
		           is_apart(abbrev->tag) && dwarf_pass(unit, &c, abbrev)) {
			out->left = walk->left;
			continue;
		} else {
			dwarf_skip(unit, &c, abbrev);
		}
		if (abbrev->has_children) {
			if (++depth == MAX_DEPTH)
				break;
			scopes[depth] = scope;
		}
	}
	ranges_finish(walk->ranges);
}

static void release_scopes(struct unit_scopes *scopes)
{
	for (size_t i = 0; i < scopes->nr; i++) {
		if (scopes->scopes[i].inner)
			ranges_release(scopes->scopes[i].inner);
		free(scopes->scopes[i].inner);
	}
	ranges_release(&scopes->ranges);
	free(scopes->scopes);
	scopes->scopes = NULL;
	scopes->nr = scopes->capacity = 0;
}

static void read_unit(struct inlines *inlines, struct unit_scopes *scopes, enum left left)
{
	struct walk walk = {
	        .inlines = inlines, .out = scopes, .ranges = &scopes->ranges, .left = left};

	release_scopes(scopes);
	scopes->left = LEFT_NOTHING;
	walk_entries(&walk, dwarf_cursor(scopes->unit, scopes->unit->first_die), NO_SCOPE);
}

/* What lies in a scope and was passed over; NULL where nothing was. */
static const struct ranges *inner_ranges(struct inlines *inlines, struct unit_scopes *scopes,
                                         uint32_t index)
{
	struct scope *scope = &scopes->scopes[index];
	struct walk walk = {.inlines = inlines, .out = scopes, .left = scopes->left};
	struct cursor c;

	if (scope->inner || !scope->inner_size)
		return scope->inner;
	walk.ranges = scope->inner = mem_zalloc(sizeof(*scope->inner));
	c = dwarf_cursor(scopes->unit, scopes->unit->off + scope->inner_at);
	/* no entry is read twice, whatever the file says */
	c.end = c.at + scope->inner_size;
	walk_entries(&walk, c, index);
	return walk.ranges;
}

/* The innermost scope at an address, or NO_SCOPE; narrows [*start, *end) to where that counts. */
static uint32_t scope_at(struct inlines *inlines, struct unit_scopes *scopes, uint64_t vaddr,
                         uint64_t *start, uint64_t *end)
{
	const struct ranges *ranges = &scopes->ranges;
	uint32_t scope = NO_SCOPE, inner;

	/* in none: in a function that lies in another or in a type, as a lambda's, if at all */
	while (scopes->left && ranges_find(ranges, vaddr) == RANGES_NONE)
		read_unit(inlines, scopes, scopes->left - 1);
	for (size_t depth = 0; ranges && depth < MAX_DEPTH; depth++) {
		inner = ranges_narrow(ranges, vaddr, start, end);
		if (inner == RANGES_NONE)
			break;
		scope = inner;
		ranges = inner_ranges(inlines, scopes, scope);
	}
	return scope;
}

static struct unit_scopes *scopes_of(struct inlines *inlines, uint32_t index)
{
	struct dwarf_unit *unit = &inlines->dwarf->units[index], *split = NULL;
	struct unit_scopes *scopes;

	if (inlines->scopes[index])
		return inlines->scopes[index];
	scopes = inlines->scopes[index] = mem_zalloc(sizeof(*scopes));
	scopes->unit = unit;
	/* a unit that cannot be read has no functions */
	if (!dwarf_unit_ready(unit))
		return scopes;
	if (unit->dwo_id && unit->dwo_name.class != DWARF_NONE) {
		split = dwo_unit(&inlines->split, unit, inlines->file);
		if (!split && inlines->dwarf->file != inlines->file)
			split = dwo_unit(&inlines->split, unit, inlines->dwarf->file);
	}
	if (split)
		scopes->unit = split;
	read_unit(inlines, scopes, LEFT_FUNCTIONS);
	return scopes;
}

/* ---- all units ---- */

struct indexing {
	struct inlines *inlines;
	uint32_t unit;
};

static void add_unit_range(void *ctx, uint64_t start, uint64_t end)
{
	struct indexing *indexing = ctx;

	if (elffile_is_code(indexing->inlines->file, start))
		ranges_add(&indexing->inlines->units, start, end, indexing->unit, indexing->unit);
}

/* A unit that does not say where its code is: its functions do. */
static void index_by_functions(struct indexing *indexing)
{
	struct unit_scopes *scopes = scopes_of(indexing->inlines, indexing->unit);
	const struct ranges *ranges = &scopes->ranges;

	if (scopes->left)
		read_unit(indexing->inlines, scopes, LEFT_NOTHING);
	for (size_t i = 0; i + 1 < ranges->nr_flat; i++)
		if (ranges->values[i] != RANGES_NONE)
			add_unit_range(indexing, ranges->starts[i], ranges->starts[i + 1]);
}

/*
 * .debug_aranges says where units have code, without reading them (DWARF 5,
 * 6.1.2). Marks the units it speaks of; compilers that write none leave the
 * rest to be asked one by one.
 */
static void index_by_aranges(struct indexing *indexing, bool *is_indexed)
{
	struct dwarf *dwarf = indexing->inlines->dwarf;
	struct slice all = elffile_section_data(dwarf->file, ".debug_aranges");
	struct cursor c = cursor_of((const uint8_t *)all.at, all.size);

	while (cursor_left(&c) > 12) {
		const uint8_t *begin = c.at;
		uint64_t length = cursor_uint(&c, 4), off, version, size, align;
		struct dwarf_unit *unit;
		struct cursor set = c;

		/* the 64-bit format is left to the units themselves */
		if (length > cursor_left(&c) || !cursor_skip(&c, length))
			return;
		set.end = c.at;
		version = cursor_uint(&set, 2);
		off = cursor_uint(&set, 4);
		size = cursor_uint(&set, 1);
		unit = dwarf_unit_by_header(dwarf, off);
		if (version != 2 || (size != 8 && size != 4) || cursor_uint(&set, 1) || !unit)
			continue;
		align = (uint64_t)(set.at - begin) % (2 * size);
		cursor_skip(&set, align ? 2 * size - align : 0);
		indexing->unit = (uint32_t)(unit - dwarf->units);
		while (cursor_left(&set) >= 2 * size) {
			uint64_t start = cursor_uint(&set, (unsigned)size);
			uint64_t bytes = cursor_uint(&set, (unsigned)size);

			if (start <= UINT64_MAX - bytes)
				add_unit_range(indexing, start, start + bytes);
			is_indexed[indexing->unit] = true;
		}
	}
}

static void index_units(struct inlines *inlines)
{
	struct dwarf *dwarf = inlines->dwarf;
	struct indexing indexing = {.inlines = inlines};
	bool *is_indexed = mem_zalloc(dwarf->nr_units);

	index_by_aranges(&indexing, is_indexed);
	for (size_t i = 0; i < dwarf->nr_units && i < RANGES_NONE; i++) {
		struct dwarf_unit *unit = &dwarf->units[i];

		indexing.unit = (uint32_t)i;
		/* DWARF 2: see below */
		if (is_indexed[i] && unit->version > 2)
			continue;
		if (!dwarf_unit_ready(unit) || unit->tag == DW_TAG_partial_unit ||
		    unit->tag == DW_TAG_type_unit)
			continue;
		/* DWARF 2 has no ranges: a unit of several parts names one of them */
		if (!dwarf_ranges(unit, &unit->low_pc, &unit->high_pc, &unit->ranges,
		                  add_unit_range, &indexing) ||
		    unit->version == 2)
			index_by_functions(&indexing);
	}
	free(is_indexed);
	ranges_finish(&inlines->units);
}

struct inlines *inlines_new(struct elffile *file)
{
	struct elffile *debug = elffile_section(file, ".debug_info") ? file : debugfile_of(file);
	struct dwarf *dwarf = debug ? dwarf_new(debug) : NULL;
	struct inlines *inlines;

	if (!dwarf)
		return NULL;
	inlines = mem_zalloc(sizeof(*inlines));
	inlines->file = file;
	inlines->dwarf = dwarf;
	inlines->scopes = mem_zalloc(dwarf->nr_units * sizeof(struct unit_scopes *));
	index_units(inlines);
	return inlines;
}

void inlines_free(struct inlines *inlines)
{
	if (!inlines)
		return;
	for (size_t i = 0; i < inlines->dwarf->nr_units; i++) {
		struct unit_scopes *scopes = inlines->scopes[i];

		if (!scopes)
			continue;
		lines_free(scopes->lines);
		lines_free(scopes->call_lines);
		release_scopes(scopes);
		free(scopes);
	}
	free(inlines->scopes);
	free(inlines->names);
	free(inlines->slots);
	ranges_release(&inlines->units);
	dwo_release(&inlines->split);
	strtab_release(&inlines->full_names);
	buf_release(&inlines->text);
	dwarf_free(inlines->dwarf);
	free(inlines);
}

/* ---- lookup ---- */

static void load_lines(struct inlines *inlines, struct unit_scopes *scopes)
{
	struct dwarf_unit *unit = scopes->unit;

	if (scopes->lines_tried)
		return;
	scopes->lines_tried = true;
	scopes->lines = lines_new(unit->skeleton ? unit->skeleton : unit, inlines->file);
	if (unit->skeleton)
		scopes->call_lines = lines_new(unit, inlines->file);
}

static const char *call_file(const struct unit_scopes *scopes, uint32_t number)
{
	const struct lines *lines = scopes->call_lines ? scopes->call_lines : scopes->lines;

	return lines ? lines_file(lines, number) : NULL;
}

static size_t slot_of(const struct inlines *inlines, const struct dwarf *dwarf, uint64_t off)
{
	size_t at = hash_u64(off, (uintptr_t)dwarf) & (inlines->nr_slots - 1);

	while (inlines->slots[at]) {
		const struct name *name = &inlines->names[inlines->slots[at] - 1];

		if (name->off == off && name->dwarf == dwarf)
			break;
		at = (at + 1) & (inlines->nr_slots - 1);
	}
	return at;
}

static struct name read_name(struct inlines *inlines, struct dwarf_unit *unit, uint64_t off)
{
	struct dwarf_place named;
	struct name name = {.dwarf = unit->dwarf, .off = off};
	const char *text;

	if (off < unit->off || off >= unit->end)
		unit = dwarf_unit_at(unit->dwarf, off);
	text = unit ? dwarf_function_name(unit, off, &named) : NULL;
	name.is_linkage = text && !named.unit;
	if (text && named.unit) {
		name.has_scopes = dwarf_has_scopes(named.unit);
		buf_reset(&inlines->text);
		dwarf_add_scopes(named, &inlines->text);
		if (inlines->text.size) {
			buf_string(&inlines->text, text);
			text = strtab_text(&inlines->full_names,
			                   strtab_id(&inlines->full_names, inlines->text.at,
			                             inlines->text.size));
		}
	}
	name.text = text ? text : "";
	return name;
}

static const struct name *name_of(struct inlines *inlines, struct dwarf_unit *unit,
                                  struct scope *scope)
{
	size_t at;

	if (scope->name)
		return &inlines->names[scope->name - 1];
	if (inlines->nr_names >= inlines->nr_slots / 2) {
		inlines->nr_slots = inlines->nr_slots ? inlines->nr_slots * 2 : 256;
		free(inlines->slots);
		inlines->slots = mem_zalloc(inlines->nr_slots * sizeof(*inlines->slots));
		for (size_t i = 0; i < inlines->nr_names; i++)
			inlines->slots[slot_of(inlines, inlines->names[i].dwarf,
			                       inlines->names[i].off)] = (uint32_t)i + 1;
	}
	at = slot_of(inlines, unit->dwarf, scope->off);
	if (!inlines->slots[at]) {
		MEM_GROW(inlines->names, inlines->nr_names, inlines->names_capacity);
		inlines->names[inlines->nr_names++] = read_name(inlines, unit, scope->off);
		inlines->slots[at] = (uint32_t)inlines->nr_names;
	}
	scope->name = inlines->slots[at];
	return &inlines->names[scope->name - 1];
}

size_t inlines_find(struct inlines *inlines, uint64_t vaddr, bool lines, struct inlines_frame *out,
                    size_t max)
{
	uint32_t index = ranges_find(&inlines->units, vaddr), scope;
	uint64_t start = 0, end = UINT64_MAX; /* of no interest */
	struct unit_scopes *scopes;
	const char *file = NULL;
	uint32_t line = 0;
	size_t nr = 0;

	if (index == RANGES_NONE)
		return 0;
	scopes = scopes_of(inlines, index);
	if (lines) {
		load_lines(inlines, scopes);
		if (!scopes->lines || !lines_find(scopes->lines, vaddr, &file, &line))
			line = 0;
	}
	scope = scope_at(inlines, scopes, vaddr, &start, &end);
	/* without functions (an assembler's unit), the line alone */
	if (scope == RANGES_NONE && line && max)
		out[nr++] = (struct inlines_frame){.name = "", .file = file, .line = line};
	while (scope != NO_SCOPE && nr < max) {
		struct scope *s = &scopes->scopes[scope];
		const struct name *name = name_of(inlines, scopes->unit, s);

		out[nr++] = (struct inlines_frame){name->text, name->is_linkage, name->has_scopes,
		                                   file, line};
		file = lines ? call_file(scopes, s->call_file) : NULL;
		line = s->call_line;
		scope = s->parent;
	}
	return nr;
}

bool inlines_narrow(struct inlines *inlines, uint64_t vaddr, uint64_t *start, uint64_t *end)
{
	uint32_t index = ranges_narrow(&inlines->units, vaddr, start, end);

	return index != RANGES_NONE &&
	       scope_at(inlines, scopes_of(inlines, index), vaddr, start, end) != NO_SCOPE;
}
