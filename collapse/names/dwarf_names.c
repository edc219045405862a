#include "share/compat.h"
#include "collapse/names/dwarf.h"

#include <dwarf.h>

/* References followed from one entry, and nesting of namespaces and types. */
enum { MAX_HOPS = 16, MAX_SCOPES = 64 };

const char *dwarf_function_name(struct dwarf_unit *unit, uint64_t off, struct dwarf_place *named)
{
	const char *plain = NULL;

	*named = (struct dwarf_place){0};
	for (int hop = 0; unit && hop < MAX_HOPS; hop++) {
		struct cursor c = dwarf_cursor(unit, off);
		uint64_t code;
		const struct dwarf_abbrev *abbrev = dwarf_entry(unit, &c, &code);
		struct dwarf_value value, own = {0}, next = {0};
		const char *name;

		if (!abbrev)
			break;
		*named = (struct dwarf_place){unit, off};
		for (uint32_t i = 0; i < abbrev->nr_specs && !c.bad; i++) {
			const struct dwarf_spec *spec =
			        &unit->abbrevs->specs[abbrev->first_spec + i];

			switch (spec->attribute) {
			case DW_AT_linkage_name:
			case DW_AT_MIPS_linkage_name:
				dwarf_read(unit, &c, spec, &value);
				name = dwarf_text(unit, &value);
				if (name && name[0]) {
					named->unit = NULL;
					return name;
				}
				break;
			case DW_AT_name:
				dwarf_read(unit, &c, spec, &own);
				break;
			case DW_AT_abstract_origin:
			case DW_AT_specification:
				dwarf_read(unit, &c, spec, &next);
				break;
			default:
				dwarf_skip_value(unit, &c, spec);
			}
		}
		name = plain ? NULL : dwarf_text(unit, &own);
		if (name && name[0])
			plain = name;
		if (next.class == DWARF_REF)
			unit = dwarf_unit_at(unit->dwarf, next.u);
		else if (next.class == DWARF_REF_ALT && unit->dwarf->alt)
			unit = dwarf_unit_at(unit->dwarf->alt, next.u);
		else
			break;
		off = next.u;
	}
	return plain;
}

bool dwarf_has_scopes(const struct dwarf_unit *unit)
{
	switch (unit->language) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case 0x2b: /* C++17, C++20 and C++23 (dwarfstd.org, language codes of DWARF 6) */
	case 0x2c:
	case 0x3a:
	case DW_LANG_Rust:
	case DW_LANG_D:
		return true;
	}
	return false;
}

/* Reads an entry's name and where its next sibling is (0 = not told). */
static const char *name_and_sibling(const struct dwarf_unit *unit, struct cursor *c,
                                    const struct dwarf_abbrev *abbrev, uint64_t *sibling)
{
	const char *name = NULL;

	*sibling = 0;
	for (uint32_t i = 0; i < abbrev->nr_specs && !c->bad; i++) {
		const struct dwarf_spec *spec = &unit->abbrevs->specs[abbrev->first_spec + i];
		struct dwarf_value value;

		dwarf_read(unit, c, spec, &value);
		if (spec->attribute == DW_AT_name)
			name = dwarf_text(unit, &value);
		else if (spec->attribute == DW_AT_sibling && value.class == DWARF_REF)
			*sibling = value.u;
	}
	return name;
}

void dwarf_add_scopes(struct dwarf_place place, struct buf *to)
{
	const struct dwarf_unit *unit = place.unit;
	const uint8_t *info = (const uint8_t *)unit->dwarf->info.at;
	struct cursor c = dwarf_cursor(unit, unit->first_die);
	struct {
		uint64_t off;
		uint16_t tag;
	} open[MAX_SCOPES] = {0}; /* (the analyzer loses sight of depth) */
	size_t depth = 0;

	if (!dwarf_has_scopes(unit))
		return;
	/* down to the entry, past what ends before it */
	while (!c.bad && cursor_left(&c) && (uint64_t)(c.at - info) < place.off) {
		uint64_t off = (uint64_t)(c.at - info), code, sibling = 0;
		const struct dwarf_abbrev *abbrev = dwarf_entry(unit, &c, &code);

		if (!unit->dwarf->scopes_left--) {
			unit->dwarf->scopes_left = 0;
			return;
		}
		if (!abbrev) {
			if (code || !depth)
				return;
			depth--;
			continue;
		}
		if (!abbrev->has_children) {
			dwarf_skip(unit, &c, abbrev);
			continue;
		}
		name_and_sibling(unit, &c, abbrev, &sibling);
		if (sibling > off && sibling <= place.off && info + sibling > c.at) {
			c.at = info + sibling;
			continue;
		}
		if (depth == MAX_SCOPES)
			return;
		open[depth].off = off;
		open[depth++].tag = abbrev->tag;
	}
	if (c.bad || (uint64_t)(c.at - info) != place.off)
		return;
	for (size_t i = 1; i < depth; i++) {
		const struct dwarf_abbrev *abbrev;
		const char *name;
		uint64_t code, sibling;

		if (open[i].tag == DW_TAG_lexical_block || open[i].tag == DW_TAG_inlined_subroutine)
			continue;
		c = dwarf_cursor(unit, open[i].off);
		abbrev = dwarf_entry(unit, &c, &code);
		name = abbrev ? name_and_sibling(unit, &c, abbrev, &sibling) : NULL;
		if (name && name[0])
			buf_printf(to, "%s::", name);
		else if (open[i].tag == DW_TAG_namespace)
			buf_string(to, "(anonymous namespace)::");
		else if (open[i].tag != DW_TAG_subprogram)
			buf_string(to, "{unnamed}::");
	}
}
