#include "share/compat.h"
#include "collapse/names/kallsyms.h"

#include "collapse/names/elffile.h"
#include "share/buf.h"
#include "share/input.h"
#include "share/mem.h"

#define KALLSYMS_MAX_SIZE ((size_t)1 << 30)

/* Reads a whole file that has no size of its own (procfs, sysfs). */
static int read_all(const char *path, size_t limit, struct buf *to, struct err *err)
{
	struct input *in = input_open(path, limit, err);
	ssize_t got = -1;

	if (!in)
		return -1;
	do {
		buf_reserve(to, (size_t)1 << 20);
		got = input_read(in, to->at + to->size, to->capacity - to->size - 1, err);
		if (got > 0)
			to->size += (size_t)got;
	} while (got > 0 && to->size < limit);
	input_close(in);
	return got < 0 ? -1 : 0;
}

enum { NO_DIGIT = 16 };

/* Without jumps: letters and figures take turns as they like. */
static inline unsigned hex_digit(char c)
{
	unsigned figure = (unsigned)c - '0', letter = ((unsigned)c | 32) - 'a';

	letter = letter < 6 ? letter + 10 : NO_DIGIT;
	return figure < 10 ? figure : letter;
}

struct listed {
	uint64_t address;
	uint32_t name; /* offset in the text */
	uint32_t rank; /* enum symtab_rank; NO_CODE: data, which ends a function, too */
};

enum { NO_CODE = SYMTAB_LABEL };

static uint32_t rank_of(char type)
{
	switch (type) {
	case 'T':
		return SYMTAB_GLOBAL;
	case 't':
		return SYMTAB_LOCAL;
	case 'w':
	case 'W':
		return SYMTAB_WEAK;
	}
	return NO_CODE;
}

static int compare_listed(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

/* Of a sorted list: what is named reaches up to the next address. */
static void make_table(struct symtab *symtab, const char *text, const struct listed *at, size_t nr)
{
	for (size_t i = 0, next; i < nr; i = next) {
		const struct listed *best = &at[i];

		for (next = i + 1; next < nr && at[next].address == at[i].address; next++)
			if (next - i < SYMTAB_MAX_ALIASES &&
			    symtab_compare(text + best->name, best->rank, text + at[next].name,
			                   at[next].rank) <= 0)
				best = &at[next];
		if (best->rank == NO_CODE)
			ranges_append(&symtab->ranges, best->address, RANGES_NONE);
		else
			symtab_append(symtab, best->address, 0, best->name);
	}
	/* behind the last symbol of the list a page is all that may be its own */
	if (nr && (at[nr - 1].address | 4095) != UINT64_MAX)
		ranges_append(&symtab->ranges, (at[nr - 1].address | 4095) + 1, RANGES_NONE);
	ranges_finish(&symtab->ranges);
}

struct line {
	uint64_t address;
	char *name; /* ends in a NUL, in the place of what followed it */
	size_t name_size;
	char type;
};

/* "ffffffff81000000 T _stext\t[module]": false where it is none; what follows it, or NULL. */
static bool read_line(char *at, const char *end, struct line *line, char **next)
{
	unsigned digit;
	char behind;

	line->address = 0;
	while ((digit = hex_digit(*at)) != NO_DIGIT) {
		line->address = line->address << 4 | digit;
		at++;
	}
	if (end - at < 4 || at[0] != ' ' || at[1] == '\n' || at[2] != ' ' || at[3] == '\n') {
		at = memchr(at, '\n', (size_t)(end - at));
		*next = at ? at + 1 : NULL;
		return false;
	}
	line->type = at[1];
	line->name = at += 3;
	while ((unsigned char)*at > ' ' || (at < end && *at != '\n' && *at != '\t' && *at != ' '))
		at++;
	line->name_size = (size_t)(at - line->name);
	behind = *at;
	*at = '\0';
	if (behind != '\n')
		at = memchr(at, '\n', (size_t)(end - at));
	*next = at ? at + 1 : NULL;
	return true;
}

static bool is_named(const struct line *line, const char *name)
{
	return line->name_size == strlen(name) && memcmp(line->name, name, line->name_size) == 0;
}

struct symtab *kallsyms_parse(char *text_take, size_t size, struct err *err)
{
	struct symtab *symtab = symtab_new();
	const char *end = text_take + size;
	struct listed *listed = NULL;
	size_t nr = 0, capacity = 0, nr_functions = 0;
	bool any_address = false, is_sorted = true;
	uint64_t stext = 0;
	struct line line;

	symtab->owned = text_take;
	text_take[size] = '\0';
	symtab_add_text(symtab, (struct slice){text_take, size + 1});
	for (char *at = text_take; at && at < end;) {
		if (!read_line(at, end, &line, &at) || !line.address)
			continue;
		any_address = true;
		/* per-cpu offsets and other absolute numbers are no places in the kernel */
		if (line.type == 'a' || line.type == 'A' || line.address < (uint64_t)1 << 63)
			continue;
		MEM_GROW(listed, nr, capacity);
		listed[nr] = (struct listed){line.address, (uint32_t)(line.name - text_take),
		                             rank_of(line.type)};
		is_sorted &= !nr || listed[nr - 1].address <= line.address;
		if (listed[nr++].rank == NO_CODE)
			continue;
		nr_functions++;
		if (is_named(&line, "_text"))
			symtab->text_address = line.address;
		else if (is_named(&line, "_stext"))
			stext = line.address;
	}
	if (!symtab->text_address)
		symtab->text_address = stext;
	if (!is_sorted)
		qsort(listed, nr, sizeof(*listed), compare_listed);
	make_table(symtab, text_take, listed, nr);
	free(listed);
	if (!nr_functions) {
		err_set(err,
		        any_address || !size ?
		                "the kernel's symbol list holds no functions" :
		                "the kernel hides addresses (kernel.kptr_restrict, or not root)");
		symtab_free(symtab);
		return NULL;
	}
	return symtab;
}

struct symtab *kallsyms_read(const char *path, struct err *err)
{
	struct buf text = {0};

	if (read_all(path, KALLSYMS_MAX_SIZE, &text, err) != 0) {
		buf_release(&text);
		return NULL;
	}
	buf_reserve(&text, 1);
	return kallsyms_parse(text.at, text.size, err);
}

struct build_id kallsyms_running_build_id(void)
{
	struct build_id id = {0};
	struct buf notes = {0};
	struct err err;

	if (read_all("/sys/kernel/notes", 1 << 20, &notes, &err) == 0)
		id = elffile_notes_build_id((struct slice){notes.at, notes.size}, false);
	buf_release(&notes);
	return id;
}

bool kallsyms_is_recorded(const struct symtab *kallsyms, const struct module_key *key,
                          struct err *err)
{
	struct build_id running;

	/* the same kernel lies elsewhere after each boot */
	if (key->text_address && kallsyms->text_address &&
	    key->text_address != kallsyms->text_address) {
		err_set(err, "recorded in another boot");
		return false;
	}
	if (key->build_id.size) {
		running = kallsyms_running_build_id();
		if (running.size && !build_id_equals(&running, &key->build_id)) {
			err_set(err, "recorded with another kernel");
			return false;
		}
		if (running.size)
			return true;
	}
	if (key->text_address && kallsyms->text_address)
		return true;
	err_set(err, "the recording does not say which kernel it saw");
	return false;
}
