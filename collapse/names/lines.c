#include "share/compat.h"
#include "collapse/names/lines.h"

#include "share/mem.h"

#include <dwarf.h>

/* A program emits at most a row a byte; more than this is no compiler's work. */
enum { MAX_ROWS = 1 << 26, MAX_FILES = 1 << 20, MAX_FORMATS = 64 };

struct row {
	uint32_t file, line;
};

struct lines {
	struct ranges ranges; /* values are indices into rows */
	struct row *rows;
	size_t nr_rows, rows_capacity;
	const char **files; /* by number, from 0; NULL where unknown */
	size_t nr_files, files_capacity;
	uint16_t version;
};

void lines_free(struct lines *lines)
{
	if (!lines)
		return;
	ranges_release(&lines->ranges);
	free(lines->rows);
	free(lines->files);
	free(lines);
}

static void add_file(struct lines *lines, const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	MEM_GROW(lines->files, lines->nr_files, lines->files_capacity);
	lines->files[lines->nr_files++] = slash && slash[1] ? slash + 1 : path;
}

/* What the header says of the program. */
struct header {
	uint8_t offset_size, address_size, min_instruction, max_ops, line_range, opcode_base;
	int8_t line_base;
	uint8_t operand_counts[256];
	struct cursor program;
};

static const char *inline_text(struct cursor *c)
{
	const uint8_t *end = memchr(c->at, '\0', cursor_left(c));
	const char *text = (const char *)c->at;

	cursor_skip(c, end ? (uint64_t)(end - c->at) + 1 : UINT64_MAX);
	return c->bad ? NULL : text;
}

/* Versions 2 to 4: folders, then files, each list ended by an empty name. */
static void read_old_files(struct lines *lines, struct cursor *c)
{
	const char *text;

	while ((text = inline_text(c)) && text[0])
		;
	add_file(lines, NULL); /* numbers begin at 1 */
	while ((text = inline_text(c)) && text[0] && lines->nr_files < MAX_FILES) {
		cursor_uleb(c);
		cursor_uleb(c);
		cursor_uleb(c);
		add_file(lines, text);
	}
}

/* Version 5: a description of the fields, then the entries. is_kept: of files. */
static void read_entries(struct lines *lines, const struct dwarf_unit *unit, struct cursor *c,
                         bool is_kept)
{
	struct dwarf_spec formats[MAX_FORMATS] = {0};
	size_t nr_formats = (size_t)cursor_uint(c, 1);
	uint64_t nr;

	if (nr_formats > MAX_FORMATS)
		c->bad = true;
	for (size_t i = 0; i < nr_formats && !c->bad; i++)
		formats[i] = dwarf_spec_read(unit, c);
	nr = cursor_uleb(c);
	/* entries without any field take no bytes, and could be any number */
	if (!nr_formats)
		return;
	for (uint64_t i = 0; i < nr && i < MAX_FILES && !c->bad; i++) {
		const uint8_t *begin = c->at;
		const char *path = NULL;

		for (size_t j = 0; j < nr_formats && !c->bad; j++) {
			struct dwarf_value value;

			dwarf_read(unit, c, &formats[j], &value);
			if (formats[j].attribute == DW_LNCT_path)
				path = dwarf_text(unit, &value);
		}
		/* nor may their fields: any number of them could follow */
		if (c->at == begin)
			c->bad = true;
		if (is_kept && !c->bad)
			add_file(lines, path);
	}
}

static bool read_header(struct lines *lines, const struct dwarf_unit *unit, struct header *h)
{
	struct slice section = dwarf_lazy(&unit->dwarf->line);
	struct dwarf_unit forms = *unit; /* lengths of forms are as this header says */
	struct cursor c;
	uint64_t length, header_length;

	if (unit->line_off.u >= section.size)
		return false;
	c = cursor_of((const uint8_t *)section.at + unit->line_off.u,
	              section.size - unit->line_off.u);
	h->offset_size = 4;
	length = cursor_uint(&c, 4);
	if (length == 0xffffffff) {
		h->offset_size = 8;
		length = cursor_uint(&c, 8);
	}
	if (c.bad || length > cursor_left(&c))
		return false;
	c.end = c.at + length;
	lines->version = (uint16_t)cursor_uint(&c, 2);
	if (lines->version < 2 || lines->version > 5)
		return false;
	h->address_size = unit->address_size;
	if (lines->version >= 5) {
		h->address_size = (uint8_t)cursor_uint(&c, 1);
		cursor_uint(&c, 1); /* segment selectors */
	}
	header_length = cursor_uint(&c, h->offset_size);
	if (c.bad || header_length > cursor_left(&c))
		return false;
	h->program = (struct cursor){c.at + header_length, c.end, false};
	h->min_instruction = (uint8_t)cursor_uint(&c, 1);
	h->max_ops = lines->version >= 4 ? (uint8_t)cursor_uint(&c, 1) : 1;
	cursor_uint(&c, 1); /* default_is_stmt */
	h->line_base = (int8_t)cursor_uint(&c, 1);
	h->line_range = (uint8_t)cursor_uint(&c, 1);
	h->opcode_base = (uint8_t)cursor_uint(&c, 1);
	for (unsigned i = 1; i < h->opcode_base; i++)
		h->operand_counts[i] = (uint8_t)cursor_uint(&c, 1);
	forms.offset_size = h->offset_size;
	forms.address_size = h->address_size;
	if (lines->version >= 5) {
		read_entries(lines, &forms, &c, false);
		read_entries(lines, &forms, &c, true);
	} else {
		read_old_files(lines, &c);
	}
	return h->line_range && h->opcode_base && (h->address_size == 8 || h->address_size == 4);
}

/* The registers of 6.2.2 that matter here. */
struct machine {
	uint64_t address;
	uint32_t file, line;
	bool has_row; /* one that waits for its end */
	uint64_t row_start;
	struct row row;
	bool is_dead; /* the sequence is of code that the linker dropped */
};

static void emit_row(struct lines *lines, struct machine *m, bool is_end)
{
	if (m->has_row && !m->is_dead && m->address > m->row_start && lines->nr_rows < MAX_ROWS) {
		MEM_GROW(lines->rows, lines->nr_rows, lines->rows_capacity);
		lines->rows[lines->nr_rows] = m->row;
		ranges_add(&lines->ranges, m->row_start, m->address, (uint32_t)lines->nr_rows,
		           (uint32_t)lines->nr_rows);
		lines->nr_rows++;
	}
	m->has_row = !is_end;
	m->row_start = m->address;
	m->row = (struct row){m->file, m->line};
}

static void extended(struct lines *lines, struct header *h, struct machine *m,
                     const struct elffile *program)
{
	struct cursor *c = &h->program;
	uint64_t size = cursor_uleb(c);
	const uint8_t *begin = c->at;

	if (c->bad || size > cursor_left(c)) {
		c->bad = true;
		return;
	}
	switch (size ? cursor_uint(c, 1) : 0) {
	case DW_LNE_end_sequence:
		emit_row(lines, m, true);
		*m = (struct machine){.file = 1, .line = 1};
		break;
	case DW_LNE_set_address:
		m->address = cursor_uint(c, h->address_size);
		m->is_dead = !elffile_is_code(program, m->address);
		break;
	}
	c->at = begin + size;
}

static void standard(struct lines *lines, struct header *h, struct machine *m, uint8_t opcode)
{
	struct cursor *c = &h->program;

	switch (opcode) {
	case DW_LNS_copy:
		emit_row(lines, m, false);
		return;
	case DW_LNS_advance_pc:
		m->address += cursor_uleb(c) * h->min_instruction;
		return;
	case DW_LNS_advance_line:
		m->line += (uint32_t)cursor_sleb(c);
		return;
	case DW_LNS_set_file:
		m->file = (uint32_t)cursor_uleb(c);
		return;
	case DW_LNS_const_add_pc:
		m->address +=
		        (uint64_t)((255 - h->opcode_base) / h->line_range) * h->min_instruction;
		return;
	case DW_LNS_fixed_advance_pc:
		m->address += cursor_uint(c, 2);
		return;
	}
	for (unsigned i = 0; i < h->operand_counts[opcode]; i++)
		cursor_uleb(c);
}

static void run(struct lines *lines, struct header *h, const struct elffile *program)
{
	struct machine m = {.file = 1, .line = 1};

	while (cursor_left(&h->program) && !h->program.bad) {
		uint8_t opcode = (uint8_t)cursor_uint(&h->program, 1);

		if (opcode >= h->opcode_base) {
			unsigned step = (unsigned)(opcode - h->opcode_base);

			m.address += (uint64_t)(step / h->line_range) * h->min_instruction;
			m.line += (uint32_t)(h->line_base + (int)(step % h->line_range));
			emit_row(lines, &m, false);
		} else if (opcode == 0) {
			extended(lines, h, &m, program);
		} else {
			standard(lines, h, &m, opcode);
		}
	}
	ranges_finish(&lines->ranges);
}

struct lines *lines_new(const struct dwarf_unit *unit, const struct elffile *program)
{
	struct header header = {0};
	struct lines *lines;

	if (unit->line_off.class != DWARF_OFFSET && unit->line_off.class != DWARF_CONSTANT)
		return NULL;
	lines = mem_zalloc(sizeof(*lines));
	if (!read_header(lines, unit, &header)) {
		lines_free(lines);
		return NULL;
	}
	/* a split unit has names only: its rows are in the file it was split from */
	run(lines, &header, program);
	return lines;
}

bool lines_find(const struct lines *lines, uint64_t vaddr, const char **file, uint32_t *line)
{
	uint32_t index = ranges_find(&lines->ranges, vaddr);

	if (index == RANGES_NONE)
		return false;
	*file = lines_file(lines, lines->rows[index].file);
	*line = lines->rows[index].line;
	return true;
}

const char *lines_file(const struct lines *lines, uint64_t number)
{
	return number < lines->nr_files ? lines->files[number] : NULL;
}
