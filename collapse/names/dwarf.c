#include "share/compat.h"
#include "collapse/names/dwarf.h"

#include "collapse/names/debugfile.h"
#include "share/mem.h"

#include <dwarf.h>

enum { MAX_ABBREVS = 1 << 20, MAX_TEXT = 1 << 16 };

/* ---- sections and units ---- */

static uint64_t offset_of(struct cursor *cursor, uint8_t offset_size)
{
	return cursor_uint(cursor, offset_size);
}

static uint64_t section_uint(struct slice section, uint64_t off, unsigned size, bool *ok)
{
	uint64_t value = 0;

	*ok = off <= section.size && size <= section.size - off;
	if (*ok)
		memcpy(&value, section.at + off, size);
	return value;
}

/* Fills in what stands before the first entry; false where no unit can follow. */
static bool read_header(struct dwarf *dwarf, uint64_t off, struct dwarf_unit *unit)
{
	struct cursor c = cursor_of((const uint8_t *)dwarf->info.at + off, dwarf->info.size - off);
	uint64_t length = cursor_uint(&c, 4);
	const uint8_t *after_length;

	*unit = (struct dwarf_unit){.dwarf = dwarf, .off = off, .offset_size = 4};
	if (length == 0xffffffff) {
		unit->offset_size = 8;
		length = cursor_uint(&c, 8);
	} else if (length >= 0xfffffff0) {
		return false;
	}
	after_length = c.at;
	if (c.bad || !length || length > cursor_left(&c))
		return false;
	unit->end = (uint64_t)(after_length - (const uint8_t *)dwarf->info.at) + length;
	c.end = after_length + length;
	unit->version = (uint16_t)cursor_uint(&c, 2);
	unit->type = DW_UT_compile;
	if (unit->version >= 5) {
		unit->type = (uint8_t)cursor_uint(&c, 1);
		unit->address_size = (uint8_t)cursor_uint(&c, 1);
		unit->abbrev_off = offset_of(&c, unit->offset_size);
		if (unit->type == DW_UT_skeleton || unit->type == DW_UT_split_compile)
			unit->dwo_id = cursor_uint(&c, 8);
	} else {
		unit->abbrev_off = offset_of(&c, unit->offset_size);
		unit->address_size = (uint8_t)cursor_uint(&c, 1);
	}
	unit->first_die = (uint64_t)(c.at - (const uint8_t *)dwarf->info.at);
	/* stepped over where the version or the kind is of no use */
	if (c.bad || unit->version < 2 || unit->version > 5 || unit->type == DW_UT_type ||
	    unit->type == DW_UT_split_type || (unit->address_size != 8 && unit->address_size != 4))
		unit->version = 0;
	return true;
}

static void read_units(struct dwarf *dwarf)
{
	uint64_t off = 0;
	struct dwarf_unit unit;

	while (off < dwarf->info.size && read_header(dwarf, off, &unit)) {
		off = unit.end;
		if (!unit.version)
			continue;
		MEM_GROW(dwarf->units, dwarf->nr_units, dwarf->units_capacity);
		dwarf->units[dwarf->nr_units++] = unit;
	}
}

struct dwarf_lazy dwarf_lazy_of(struct elffile *file, const char *name)
{
	return (struct dwarf_lazy){.file = file, .section = elffile_section(file, name)};
}

struct slice dwarf_lazy(struct dwarf_lazy *lazy)
{
	if (lazy->section) {
		lazy->data = elffile_data(lazy->file, lazy->section);
		lazy->section = NULL;
	}
	return lazy->data;
}

struct dwarf *dwarf_of_sections(const struct dwarf *sections)
{
	struct dwarf *dwarf = mem_alloc(sizeof(*dwarf));

	*dwarf = *sections;
	dwarf->ranges_left = ((uint64_t)1 << 20) + dwarf->info.size / 4 + dwarf->ranges.size / 4 +
	                     dwarf->rnglists.size;
	dwarf->scopes_left = ((uint64_t)1 << 22) + 16 * dwarf->info.size;
	dwarf->abbrevs_left = ((uint64_t)1 << 16) + 8 * dwarf->abbrev.size;
	read_units(dwarf);
	if (dwarf->nr_units)
		return dwarf;
	dwarf_free(dwarf);
	return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): one level, a shared file shares with none */
struct dwarf *dwarf_new(struct elffile *file)
{
	struct dwarf sections = {.file = file};
	struct elffile *alt;
	struct dwarf *dwarf;

	if (file->is_big_endian || !elffile_section(file, ".debug_info"))
		return NULL;
	sections.info = elffile_section_data(file, ".debug_info");
	sections.abbrev = elffile_section_data(file, ".debug_abbrev");
	sections.str = dwarf_lazy_of(file, ".debug_str");
	sections.line_str = dwarf_lazy_of(file, ".debug_line_str");
	sections.line = dwarf_lazy_of(file, ".debug_line");
	sections.ranges = elffile_section_data(file, ".debug_ranges");
	sections.rnglists = elffile_section_data(file, ".debug_rnglists");
	sections.addr = elffile_section_data(file, ".debug_addr");
	sections.str_offsets = elffile_section_data(file, ".debug_str_offsets");
	dwarf = dwarf_of_sections(&sections);
	alt = dwarf ? debugfile_alt(file) : NULL;
	/* a shared file shares with none */
	if (alt && !elffile_section(alt, ".gnu_debugaltlink"))
		dwarf->alt = dwarf_new(alt);
	return dwarf;
}

/* NOLINTNEXTLINE(misc-no-recursion): the one level of dwarf_new */
void dwarf_free(struct dwarf *dwarf)
{
	if (!dwarf)
		return;
	for (size_t i = 0; i < dwarf->nr_abbrevs; i++) {
		free(dwarf->abbrevs[i]->at);
		free(dwarf->abbrevs[i]->specs);
		free(dwarf->abbrevs[i]);
	}
	if (!dwarf->is_split)
		dwarf_free(dwarf->alt);
	free(dwarf->abbrevs);
	free(dwarf->units);
	free(dwarf);
}

/* ---- abbreviations ---- */

/* Bytes of a form that is always the same; -1 where it depends on the value. */
static int form_size(const struct dwarf_unit *unit, uint16_t form)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_ref_sup4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return unit->address_size;
	case DW_FORM_ref_addr:
		/* DWARF 2 had an address there */
		return unit->version == 2 ? unit->address_size : unit->offset_size;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_sec_offset:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return unit->offset_size;
	}
	return -1;
}

static int by_code(const void *a, const void *b)
{
	const struct dwarf_abbrev *x = a, *y = b;

	return x->code < y->code ? -1 : x->code > y->code;
}

struct dwarf_spec dwarf_spec_read(const struct dwarf_unit *unit, struct cursor *cursor)
{
	struct dwarf_spec spec = {.attribute = (uint16_t)cursor_uleb(cursor)};

	spec.form = (uint16_t)cursor_uleb(cursor);
	spec.fixed_size = form_size(unit, spec.form);
	return spec;
}

static struct dwarf_abbrevs *read_abbrevs(const struct dwarf_unit *unit)
{
	struct slice section = unit->dwarf->abbrev;
	struct dwarf_abbrevs *abbrevs = mem_zalloc(sizeof(*abbrevs));
	struct cursor c = {0};
	bool in_order = true;

	*abbrevs = (struct dwarf_abbrevs){.off = unit->abbrev_off,
	                                  .version = unit->version,
	                                  .address_size = unit->address_size,
	                                  .offset_size = unit->offset_size};
	if (unit->abbrev_off < section.size)
		c = cursor_of((const uint8_t *)section.at + unit->abbrev_off,
		              section.size - unit->abbrev_off);
	while (c.at && !c.bad && abbrevs->nr < MAX_ABBREVS) {
		const uint8_t *begin = c.at;
		struct dwarf_abbrev abbrev = {.code = cursor_uleb(&c)};

		if (!abbrev.code)
			break;
		abbrev.tag = (uint16_t)cursor_uleb(&c);
		abbrev.has_children = cursor_uint(&c, 1) != 0;
		abbrev.first_spec = (uint32_t)abbrevs->nr_specs;
		abbrev.sibling_at = -1;
		while (!c.bad) {
			struct dwarf_spec spec = dwarf_spec_read(unit, &c);

			if (spec.form == DW_FORM_implicit_const)
				spec.constant = cursor_sleb(&c);
			if ((!spec.attribute && !spec.form) || c.bad || abbrev.nr_specs >= 4096)
				break;
			MEM_GROW(abbrevs->specs, abbrevs->nr_specs, abbrevs->specs_capacity);
			abbrevs->specs[abbrevs->nr_specs++] = spec;
			abbrev.nr_specs++;
			abbrev.has_code |=
			        spec.attribute == DW_AT_low_pc || spec.attribute == DW_AT_ranges;
			if (spec.attribute == DW_AT_sibling && spec.form == DW_FORM_ref4)
				abbrev.sibling_at = abbrev.fixed_size;
			abbrev.fixed_size = spec.fixed_size < 0 || abbrev.fixed_size < 0 ?
			                            -1 :
			                            abbrev.fixed_size + spec.fixed_size;
		}
		MEM_GROW(abbrevs->at, abbrevs->nr, abbrevs->capacity);
		abbrevs->at[abbrevs->nr++] = abbrev;
		in_order &= abbrev.code == abbrevs->nr;
		unit->dwarf->abbrevs_left -=
		        MIN_OF((uint64_t)(c.at - begin), unit->dwarf->abbrevs_left);
		if (!unit->dwarf->abbrevs_left)
			break;
	}
	if (!in_order)
		qsort(abbrevs->at, abbrevs->nr, sizeof(*abbrevs->at), by_code);
	return abbrevs;
}

static const struct dwarf_abbrevs *find_abbrevs(struct dwarf_unit *unit)
{
	struct dwarf *dwarf = unit->dwarf;
	struct dwarf_abbrevs *abbrevs;

	/* the last few: units that share theirs follow each other */
	for (size_t i = dwarf->nr_abbrevs; i-- > 0 && dwarf->nr_abbrevs - i <= 4;) {
		abbrevs = dwarf->abbrevs[i];
		if (abbrevs->off == unit->abbrev_off && abbrevs->version == unit->version &&
		    abbrevs->address_size == unit->address_size &&
		    abbrevs->offset_size == unit->offset_size)
			return abbrevs;
	}
	if (!dwarf->abbrevs_left)
		return NULL;
	abbrevs = read_abbrevs(unit);
	MEM_GROW(dwarf->abbrevs, dwarf->nr_abbrevs, dwarf->abbrevs_capacity);
	dwarf->abbrevs[dwarf->nr_abbrevs++] = abbrevs;
	return abbrevs;
}

static const struct dwarf_abbrev *abbrev_by_code(const struct dwarf_abbrevs *abbrevs, uint64_t code)
{
	struct dwarf_abbrev want = {.code = code};

	/* compilers number them from 1 */
	if (LIKELY(code && code <= abbrevs->nr && abbrevs->at[code - 1].code == code))
		return &abbrevs->at[code - 1];
	return abbrevs->nr ? bsearch(&want, abbrevs->at, abbrevs->nr, sizeof(want), by_code) : NULL;
}

/* ---- entries ---- */

struct cursor dwarf_cursor(const struct dwarf_unit *unit, uint64_t off)
{
	const uint8_t *info = (const uint8_t *)unit->dwarf->info.at;

	if (off < unit->first_die || off > unit->end)
		return (struct cursor){info, info, true};
	return cursor_of(info + off, unit->end - off);
}

const struct dwarf_abbrev *dwarf_entry(const struct dwarf_unit *unit, struct cursor *cursor,
                                       uint64_t *code)
{
	*code = cursor_uleb(cursor);
	if (!*code || cursor->bad)
		return NULL;
	return abbrev_by_code(unit->abbrevs, *code);
}

static struct dwarf_value of_class(enum dwarf_class class, uint64_t u)
{
	return (struct dwarf_value){.class = class, .u = u};
}

void dwarf_read(const struct dwarf_unit *unit, struct cursor *c, const struct dwarf_spec *spec,
                struct dwarf_value *value)
{
	uint16_t form = spec->form;
	const uint8_t *text;
	int size;

	if (form == DW_FORM_indirect) {
		form = (uint16_t)cursor_uleb(c);
		if (form == DW_FORM_indirect || form == DW_FORM_implicit_const)
			c->bad = true;
	}
	*value = of_class(DWARF_OTHER, 0);
	size = form == spec->form ? spec->fixed_size : form_size(unit, form);
	switch (form) {
	case DW_FORM_addr:
		*value = of_class(DWARF_ADDRESS, cursor_uint(c, (unsigned)size));
		return;
	case DW_FORM_addrx:
	case DW_FORM_GNU_addr_index:
		*value = of_class(DWARF_ADDRESS_INDEX, cursor_uleb(c));
		return;
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
		*value = of_class(DWARF_ADDRESS_INDEX, cursor_uint(c, (unsigned)size));
		return;
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
		*value = of_class(DWARF_CONSTANT, cursor_uint(c, (unsigned)size));
		return;
	case DW_FORM_udata:
		*value = of_class(DWARF_CONSTANT, cursor_uleb(c));
		return;
	case DW_FORM_sdata:
		*value = of_class(DWARF_CONSTANT, (uint64_t)cursor_sleb(c));
		return;
	case DW_FORM_implicit_const:
		*value = of_class(DWARF_CONSTANT, (uint64_t)spec->constant);
		return;
	case DW_FORM_sec_offset:
		*value = of_class(DWARF_OFFSET, cursor_uint(c, (unsigned)size));
		return;
	case DW_FORM_rnglistx:
		*value = of_class(DWARF_LIST, cursor_uleb(c));
		return;
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
		*value = of_class(DWARF_REF, unit->off + cursor_uint(c, (unsigned)size));
		return;
	case DW_FORM_ref_udata:
		*value = of_class(DWARF_REF, unit->off + cursor_uleb(c));
		return;
	case DW_FORM_ref_addr:
		*value = of_class(DWARF_REF, cursor_uint(c, (unsigned)size));
		return;
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		*value = of_class(DWARF_REF_ALT, cursor_uint(c, (unsigned)size));
		return;
	case DW_FORM_string:
		text = memchr(c->at, '\0', cursor_left(c));
		*value = of_class(DWARF_TEXT, 0);
		value->text = (const char *)c->at;
		cursor_skip(c, text ? (uint64_t)(text - c->at) + 1 : UINT64_MAX);
		if (c->bad)
			value->text = NULL;
		return;
	case DW_FORM_strp:
		*value = of_class(DWARF_STR, cursor_uint(c, (unsigned)size));
		return;
	case DW_FORM_line_strp:
		*value = of_class(DWARF_LINE_STR, cursor_uint(c, (unsigned)size));
		return;
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_strp_sup:
		*value = of_class(DWARF_STR_ALT, cursor_uint(c, (unsigned)size));
		return;
	case DW_FORM_strx:
	case DW_FORM_GNU_str_index:
		*value = of_class(DWARF_STR_INDEX, cursor_uleb(c));
		return;
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
		*value = of_class(DWARF_STR_INDEX, cursor_uint(c, (unsigned)size));
		return;
	case DW_FORM_loclistx:
		cursor_uleb(c);
		return;
	case DW_FORM_block1:
		cursor_skip(c, cursor_uint(c, 1));
		return;
	case DW_FORM_block2:
		cursor_skip(c, cursor_uint(c, 2));
		return;
	case DW_FORM_block4:
		cursor_skip(c, cursor_uint(c, 4));
		return;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		cursor_skip(c, cursor_uleb(c));
		return;
	}
	/* flags, signatures, 16 bytes; anything else cannot be stepped over */
	if (size < 0)
		c->bad = true;
	else
		cursor_skip(c, (uint64_t)size);
}

void dwarf_skip_value(const struct dwarf_unit *unit, struct cursor *cursor,
                      const struct dwarf_spec *spec)
{
	struct dwarf_value value;

	if (LIKELY(spec->fixed_size >= 0))
		cursor_skip(cursor, (uint64_t)spec->fixed_size);
	else if (spec->form == DW_FORM_exprloc)
		cursor_skip(cursor, cursor_uleb(cursor));
	else
		dwarf_read(unit, cursor, spec, &value);
}

void dwarf_skip(const struct dwarf_unit *unit, struct cursor *cursor,
                const struct dwarf_abbrev *abbrev)
{
	const struct dwarf_spec *spec = &unit->abbrevs->specs[abbrev->first_spec];

	if (abbrev->fixed_size >= 0) {
		cursor_skip(cursor, (uint64_t)abbrev->fixed_size);
		return;
	}
	for (uint32_t i = 0; i < abbrev->nr_specs && !cursor->bad; i++)
		dwarf_skip_value(unit, cursor, spec++);
}

bool dwarf_pass(const struct dwarf_unit *unit, struct cursor *cursor,
                const struct dwarf_abbrev *abbrev)
{
	const uint8_t *unit_at = (const uint8_t *)unit->dwarf->info.at + unit->off;
	uint32_t to;

	if (abbrev->sibling_at < 0 || cursor_left(cursor) < (size_t)abbrev->sibling_at + sizeof(to))
		return false;
	memcpy(&to, cursor->at + abbrev->sibling_at, sizeof(to));
	if (to <= cursor->at - unit_at || to >= cursor->end - unit_at)
		return false;
	cursor->at = unit_at + to;
	return true;
}

/* ---- values ---- */

static const char *text_at(struct slice section, uint64_t off)
{
	if (off >= section.size ||
	    !memchr(section.at + off, '\0', MIN_OF(section.size - off, (size_t)MAX_TEXT)))
		return NULL;
	return section.at + off;
}

const char *dwarf_text(const struct dwarf_unit *unit, const struct dwarf_value *value)
{
	struct dwarf *dwarf = unit->dwarf;
	uint64_t at;
	bool ok;

	switch (value->class) {
	case DWARF_TEXT:
		return value->text;
	case DWARF_STR:
		return text_at(dwarf_lazy(&dwarf->str), value->u);
	case DWARF_LINE_STR:
		return text_at(dwarf_lazy(&dwarf->line_str), value->u);
	case DWARF_STR_ALT:
		return dwarf->alt ? text_at(dwarf_lazy(&dwarf->alt->str), value->u) : NULL;
	case DWARF_STR_INDEX:
		if (value->u > UINT32_MAX)
			return NULL;
		at = section_uint(dwarf->str_offsets,
		                  unit->str_offsets_base + value->u * unit->offset_size,
		                  unit->offset_size, &ok);
		return ok ? text_at(dwarf_lazy(&dwarf->str), at) : NULL;
	default:
		return NULL;
	}
}

/* Split units keep their addresses in the file they were split from. */
static const struct dwarf_unit *with_addresses(const struct dwarf_unit *unit)
{
	return unit->skeleton ? unit->skeleton : unit;
}

bool dwarf_address(const struct dwarf_unit *unit, const struct dwarf_value *value, uint64_t *at)
{
	const struct dwarf_unit *owner = with_addresses(unit);
	bool ok;

	if (value->class == DWARF_ADDRESS) {
		*at = value->u;
		return true;
	}
	if (value->class != DWARF_ADDRESS_INDEX || value->u > UINT32_MAX)
		return false;
	*at = section_uint(owner->dwarf->addr, owner->addr_base + value->u * owner->address_size,
	                   owner->address_size, &ok);
	return ok;
}

/* ---- ranges ---- */

struct range_reading {
	const struct dwarf_unit *unit;
	void (*add)(void *ctx, uint64_t start, uint64_t end);
	void *ctx;
	uint64_t base;
};

static bool spend(uint64_t *left)
{
	if (!*left)
		return false;
	--*left;
	return true;
}

/* DWARF 4, 2.17.3: pairs of addresses; the highest address selects a new base. */
static void read_old_ranges(struct range_reading *r, uint64_t off)
{
	struct slice section = with_addresses(r->unit)->dwarf->ranges;
	uint8_t size = r->unit->address_size;
	uint64_t highest = size == 8 ? UINT64_MAX : UINT32_MAX;
	struct cursor c;

	if (off >= section.size)
		return;
	c = cursor_of((const uint8_t *)section.at + off, section.size - off);
	while (spend(&r->unit->dwarf->ranges_left)) {
		uint64_t start = cursor_uint(&c, size), end = cursor_uint(&c, size);

		if (c.bad || (!start && !end))
			return;
		if (start == highest)
			r->base = end;
		else
			r->add(r->ctx, r->base + start, r->base + end);
	}
}

static uint64_t indexed_address(const struct dwarf_unit *unit, struct cursor *c)
{
	struct dwarf_value value = of_class(DWARF_ADDRESS_INDEX, cursor_uleb(c));
	uint64_t at = 0;

	if (!dwarf_address(unit, &value, &at))
		c->bad = true;
	return at;
}

/* DWARF 5, 7.25. */
static void read_new_ranges(struct range_reading *r, uint64_t off)
{
	struct slice section = r->unit->dwarf->rnglists;
	uint8_t size = r->unit->address_size;
	struct cursor c;

	if (off >= section.size)
		return;
	c = cursor_of((const uint8_t *)section.at + off, section.size - off);
	while (spend(&r->unit->dwarf->ranges_left)) {
		uint64_t start = 0, end = 0;
		uint8_t kind = (uint8_t)cursor_uint(&c, 1);

		switch (kind) {
		case DW_RLE_base_addressx:
			r->base = indexed_address(r->unit, &c);
			break;
		case DW_RLE_base_address:
			r->base = cursor_uint(&c, size);
			break;
		case DW_RLE_startx_endx:
			start = indexed_address(r->unit, &c);
			end = indexed_address(r->unit, &c);
			break;
		case DW_RLE_startx_length:
			start = indexed_address(r->unit, &c);
			end = start + cursor_uleb(&c);
			break;
		case DW_RLE_offset_pair:
			start = r->base + cursor_uleb(&c);
			end = r->base + cursor_uleb(&c);
			break;
		case DW_RLE_start_end:
			start = cursor_uint(&c, size);
			end = cursor_uint(&c, size);
			break;
		case DW_RLE_start_length:
			start = cursor_uint(&c, size);
			end = start + cursor_uleb(&c);
			break;
		default: /* DW_RLE_end_of_list, or nonsense */
			return;
		}
		if (c.bad)
			return;
		if (start < end)
			r->add(r->ctx, start, end);
	}
}

bool dwarf_ranges(const struct dwarf_unit *unit, const struct dwarf_value *low,
                  const struct dwarf_value *high, const struct dwarf_value *ranges,
                  void (*add)(void *ctx, uint64_t start, uint64_t end), void *ctx)
{
	struct range_reading r = {unit, add, ctx, with_addresses(unit)->base};
	uint64_t start, end, off;
	bool ok;

	if (ranges->class == DWARF_LIST) {
		off = section_uint(unit->dwarf->rnglists,
		                   unit->rnglists_base + ranges->u * unit->offset_size,
		                   unit->offset_size, &ok);
		if (ok && ranges->u <= UINT32_MAX)
			read_new_ranges(&r, unit->rnglists_base + off);
		return true;
	}
	if (ranges->class == DWARF_OFFSET || ranges->class == DWARF_CONSTANT) {
		if (unit->version >= 5)
			read_new_ranges(&r, ranges->u);
		else
			read_old_ranges(&r, ranges->u + with_addresses(unit)->ranges_base);
		return true;
	}
	if (!dwarf_address(unit, low, &start))
		return false;
	if (high->class == DWARF_CONSTANT)
		end = start + high->u;
	else if (!dwarf_address(unit, high, &end))
		return false;
	if (start < end)
		add(ctx, start, end);
	return true;
}

/* ---- the root entry ---- */

bool dwarf_unit_ready(struct dwarf_unit *unit)
{
	struct cursor c;
	const struct dwarf_abbrev *abbrev;
	struct dwarf_value value;
	uint64_t code;

	if (unit->is_root_read)
		return unit->abbrevs != NULL;
	unit->is_root_read = true;
	unit->abbrevs = find_abbrevs(unit);
	if (!unit->abbrevs)
		return false;
	c = dwarf_cursor(unit, unit->first_die);
	abbrev = dwarf_entry(unit, &c, &code);
	if (!abbrev) {
		unit->abbrevs = NULL;
		return false;
	}
	unit->tag = abbrev->tag;
	/* what is not said is behind the table's header (DWARF 5, 7.26 to 7.28) */
	if (unit->version >= 5) {
		unit->str_offsets_base = unit->offset_size == 4 ? 8 : 16;
		unit->addr_base = unit->offset_size == 4 ? 8 : 16;
		unit->rnglists_base = unit->offset_size == 4 ? 12 : 20;
	}
	for (uint32_t i = 0; i < abbrev->nr_specs && !c.bad; i++) {
		const struct dwarf_spec *spec = &unit->abbrevs->specs[abbrev->first_spec + i];

		dwarf_read(unit, &c, spec, &value);
		switch (spec->attribute) {
		case DW_AT_name:
			unit->name = value;
			break;
		case DW_AT_comp_dir:
			unit->comp_dir = value;
			break;
		case DW_AT_language:
			unit->language = (uint16_t)value.u;
			break;
		case DW_AT_low_pc:
			unit->low_pc = value;
			break;
		case DW_AT_high_pc:
			unit->high_pc = value;
			break;
		case DW_AT_ranges:
			unit->ranges = value;
			break;
		case DW_AT_stmt_list:
			unit->line_off = value;
			break;
		case DW_AT_str_offsets_base:
			unit->str_offsets_base = value.u;
			break;
		case DW_AT_addr_base:
		case DW_AT_GNU_addr_base:
			unit->addr_base = value.u;
			break;
		case DW_AT_rnglists_base:
			unit->rnglists_base = value.u;
			break;
		case DW_AT_GNU_ranges_base:
			unit->ranges_base = value.u;
			break;
		case DW_AT_dwo_name:
		case DW_AT_GNU_dwo_name:
			unit->dwo_name = value;
			break;
		case DW_AT_GNU_dwo_id:
			unit->dwo_id = value.u;
			break;
		}
	}
	if (!dwarf_address(unit, &unit->low_pc, &unit->base))
		unit->base = 0;
	return true;
}

/* Index of the first unit that ends behind the offset. */
static size_t unit_before(const struct dwarf *dwarf, uint64_t off)
{
	size_t low = 0, high = dwarf->nr_units;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (dwarf->units[middle].end > off)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

struct dwarf_unit *dwarf_unit_by_header(struct dwarf *dwarf, uint64_t off)
{
	size_t i = unit_before(dwarf, off);

	return i < dwarf->nr_units && dwarf->units[i].off == off ? &dwarf->units[i] : NULL;
}

struct dwarf_unit *dwarf_unit_at(struct dwarf *dwarf, uint64_t off)
{
	size_t low = unit_before(dwarf, off);

	if (low == dwarf->nr_units || dwarf->units[low].first_die > off ||
	    !dwarf_unit_ready(&dwarf->units[low]))
		return NULL;
	return &dwarf->units[low];
}
