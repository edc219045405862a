/*
 * dwarf.h - units, entries and attributes of the debugging information of one
 * file, DWARF 2 to 5, 32-bit and 64-bit formats.
 *
 * Decides where a value stands and what it refers to; not what entries mean
 * (inlines.h) and not where files lie (debugfile.h, dwo.h).
 *
 * Why not libdw: it keeps an object for each entry it was asked about, cannot
 * unpack zstd in the versions that stable distributions have, and takes a file
 * at its word. Here nothing is kept but units and abbreviations, every read is
 * checked, and loops over what the file says draw on a budget.
 *
 * Little-endian files only; others give no units.
 *
 * Format: DWARF 5 (dwarfstd.org), section 7; DWARF 4 with the GNU extensions
 * for split files (gcc.gnu.org/wiki/DebugFission) and for shared ones
 * (DW_FORM_GNU_ref_alt, DW_FORM_GNU_strp_alt of dwz).
 */
#ifndef COLLAPSE_DWARF_H
#define COLLAPSE_DWARF_H

#include "collapse/records/cursor.h"
#include "collapse/names/elffile.h"
#include "collapse/names/ranges.h"
#include "share/buf.h"
#include "share/compat.h"

enum dwarf_class {
	DWARF_NONE, /* no such attribute */
	DWARF_ADDRESS,
	DWARF_ADDRESS_INDEX,
	DWARF_CONSTANT,
	DWARF_OFFSET,    /* into a section that the attribute implies */
	DWARF_LIST,      /* index of a list of ranges */
	DWARF_REF,       /* offset in .debug_info of the same file */
	DWARF_REF_ALT,   /* the same in the shared file */
	DWARF_TEXT,      /* text is in place */
	DWARF_STR,       /* offset in .debug_str */
	DWARF_LINE_STR,  /* offset in .debug_line_str */
	DWARF_STR_INDEX, /* index of an offset */
	DWARF_STR_ALT,   /* offset in .debug_str of the shared file */
	DWARF_OTHER,     /* blocks, signatures: of no use here */
};

struct dwarf_value {
	enum dwarf_class class;
	uint64_t u;
	const char *text; /* DWARF_TEXT; NUL-terminated */
};

struct dwarf_spec {
	uint16_t attribute, form;
	int32_t fixed_size; /* of the value; -1 where it varies */
	int64_t constant;   /* DW_FORM_implicit_const */
};

struct dwarf_abbrev {
	uint64_t code;
	uint16_t tag;
	bool has_children;
	bool has_code;      /* names a place of the program, or several */
	int32_t fixed_size; /* of the attributes of an entry; -1 where it varies */
	int32_t sibling_at; /* where in them a DW_AT_sibling of 4 bytes is; -1: nowhere certain */
	uint32_t first_spec, nr_specs;
};

/* The abbreviations of one or more units. */
struct dwarf_abbrevs {
	uint64_t off; /* with the next three: which */
	uint16_t version;
	uint8_t address_size, offset_size;
	struct dwarf_abbrev *at; /* by code */
	size_t nr, capacity;
	struct dwarf_spec *specs;
	size_t nr_specs, specs_capacity;
};

struct dwarf;

struct dwarf_unit {
	struct dwarf *dwarf;
	uint64_t off, first_die, end; /* in .debug_info; end is behind the unit */
	uint64_t abbrev_off, dwo_id;
	uint16_t version;
	uint8_t address_size, offset_size, type; /* DW_UT_... */
	bool is_root_read;
	const struct dwarf_abbrevs *abbrevs; /* NULL until needed, and where they are bad */

	/* of the root entry */
	uint16_t tag, language;
	uint64_t str_offsets_base, addr_base, rnglists_base, ranges_base;
	struct dwarf_value low_pc, high_pc, ranges, name, comp_dir, dwo_name, line_off;
	uint64_t base; /* low_pc as an address, or 0 */

	struct dwarf_unit *skeleton; /* of a split unit: has addresses and old ranges */
};

/* A section that may be large and is not always needed: got when first asked for. */
struct dwarf_lazy {
	struct elffile *file;
	struct elf_section *section; /* NULL once it was got */
	struct slice data;
};

struct dwarf {
	struct elffile *file; /* borrowed */
	struct slice info, abbrev, ranges, rnglists, addr, str_offsets;
	struct dwarf_lazy str, line_str, line;
	bool is_split;     /* the sections of a .dwo or .dwp */
	struct dwarf *alt; /* the shared file; NULL where there is none */
	struct dwarf_unit *units;
	size_t nr_units, units_capacity;
	struct dwarf_abbrevs **abbrevs;
	size_t nr_abbrevs, abbrevs_capacity;

	/*
	 * How much may still be done of what a file can ask for again and
	 * again, by pointing to the same bytes from many places: ranges read,
	 * entries passed in search of scopes, bytes of abbreviations. In
	 * proportion to the sections; an honest file stays far below.
	 */
	uint64_t ranges_left, scopes_left, abbrevs_left;
};

struct dwarf_lazy dwarf_lazy_of(struct elffile *file, const char *name);
struct slice dwarf_lazy(struct dwarf_lazy *lazy);

/* NULL where the file has no units. Sections stay those of the file. */
struct dwarf *dwarf_new(struct elffile *file);

/* The sections are given; for split files. */
struct dwarf *dwarf_of_sections(const struct dwarf *sections);
void dwarf_free(struct dwarf *dwarf);

/* Reads the root entry and the abbreviations, once; false where they are bad. */
bool dwarf_unit_ready(struct dwarf_unit *unit);

/* The unit whose header is at this offset, or NULL. */
struct dwarf_unit *dwarf_unit_by_header(struct dwarf *dwarf, uint64_t off);

/* The unit that holds this offset of .debug_info, ready; or NULL. */
struct dwarf_unit *dwarf_unit_at(struct dwarf *dwarf, uint64_t off);

/* The entry's abbreviation; NULL for the end of siblings (*code 0) or nonsense. */
const struct dwarf_abbrev *dwarf_entry(const struct dwarf_unit *unit, struct cursor *cursor,
                                       uint64_t *code);

/* Reads the next attribute of an entry, or steps over it, or over all that are left. */
void dwarf_read(const struct dwarf_unit *unit, struct cursor *cursor, const struct dwarf_spec *spec,
                struct dwarf_value *value);
void dwarf_skip_value(const struct dwarf_unit *unit, struct cursor *cursor,
                      const struct dwarf_spec *spec);
void dwarf_skip(const struct dwarf_unit *unit, struct cursor *cursor,
                const struct dwarf_abbrev *abbrev);

/* Steps over an entry and all of its children where it says how far; else nothing is done. */
bool dwarf_pass(const struct dwarf_unit *unit, struct cursor *cursor,
                const struct dwarf_abbrev *abbrev);

/* Reads which attribute is written how, the beginning of all descriptions of that. */
struct dwarf_spec dwarf_spec_read(const struct dwarf_unit *unit, struct cursor *cursor);

/* A cursor on [off, end of unit). */
struct cursor dwarf_cursor(const struct dwarf_unit *unit, uint64_t off);

/* NULL where the value is no text, or lies outside of its section. */
const char *dwarf_text(const struct dwarf_unit *unit, const struct dwarf_value *value);

/* false where the value is no address. */
bool dwarf_address(const struct dwarf_unit *unit, const struct dwarf_value *value, uint64_t *at);

/*
 * Calls add for each range of addresses of an entry, from its three
 * attributes. Returns false where it has none.
 */
bool dwarf_ranges(const struct dwarf_unit *unit, const struct dwarf_value *low,
                  const struct dwarf_value *high, const struct dwarf_value *ranges,
                  void (*add)(void *ctx, uint64_t start, uint64_t end), void *ctx);

/* Where an entry is. */
struct dwarf_place {
	struct dwarf_unit *unit;
	uint64_t off;
};

/*
 * The name of a function's entry: the linkage name, its own or of the entry
 * it stands for (abstract origin, specification), else the plain name. NULL
 * where there is none. *named says which entry a plain name stands for: its
 * surroundings are those of the source; its unit is NULL with a linkage name.
 */
const char *dwarf_function_name(struct dwarf_unit *unit, uint64_t off, struct dwarf_place *named);

/*
 * Does the language of the unit, ready, write names as C++, Rust or D do: with
 * what encloses them, arguments of templates and parameters?
 */
bool dwarf_has_scopes(const struct dwarf_unit *unit);

/*
 * What encloses an entry in the source, outermost first, each followed by
 * "::": namespaces, types, functions. Only for languages that write names so;
 * nothing is added for others, or where the budget is spent.
 */
void dwarf_add_scopes(struct dwarf_place place, struct buf *to);

#endif
