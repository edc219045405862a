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

static inline unsigned hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	c |= 32;
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10) : 16;
}

struct symtab *kallsyms_parse(char *text_take, size_t size, struct err *err)
{
	struct symtab *symtab = symtab_new();
	struct ranges *ranges = &symtab->ranges;
	const char *end = text_take + size;
	bool any_address = false;
	size_t nr_functions = 0, nr_kept = 0;
	uint64_t stext = 0;

	symtab->owned = text_take;
	text_take[size] = '\0';
	symtab_add_text(symtab, (struct slice){text_take, size + 1});
	for (char *at = text_take, *next; at < end; at = next) {
		char *line_end = memchr(at, '\n', (size_t)(end - at)), *name;
		uint64_t address = 0;
		unsigned digit;
		char type;

		if (!line_end)
			line_end = text_take + size;
		next = line_end + 1;
		while (at < line_end && (digit = hex_digit(*at)) < 16) {
			address = address << 4 | digit;
			at++;
		}
		if (line_end - at < 4 || at[0] != ' ' || at[2] != ' ')
			continue;
		type = at[1];
		name = at + 3;
		for (at = name; at < line_end && *at != '\t' && *at != ' '; at++)
			;
		*at = '\0';
		if (!address)
			continue;
		any_address = true;
		/* per-cpu offsets and other absolute numbers are no places in the kernel */
		if (type == 'a' || type == 'A' || address < (uint64_t)1 << 63)
			continue;
		if (strchr("tTwW", type)) {
			nr_functions++;
			if (strcmp(name, "_text") == 0)
				symtab->text_address = address;
			else if (strcmp(name, "_stext") == 0)
				stext = address;
		}
		/* the end is the next symbol's start; data, too, ends a function */
		symtab_add(symtab, address, UINT64_MAX, strchr("tTwW", type) ? 0 : 1,
		           (uint32_t)(name - text_take),
		           strchr("wW", type) ? SYMTAB_WEAK :
		           type == 'T'        ? SYMTAB_GLOBAL :
		                                SYMTAB_LOCAL);
	}
	if (!symtab->text_address)
		symtab->text_address = stext;
	if (!nr_functions) {
		err_set(err,
		        any_address || !size ?
		                "the kernel's symbol list holds no functions" :
		                "the kernel hides addresses (kernel.kptr_restrict, or not root)");
		symtab_free(symtab);
		return NULL;
	}
	ranges_sort(ranges);
	for (size_t i = 0, next; i < ranges->nr; i = next) {
		uint64_t start = ranges->at[i].start, after;

		next = i + 1;
		while (next < ranges->nr && ranges->at[next].start == start)
			next++;
		/* behind the last symbol of the list a page is all that may be its own */
		after = next < ranges->nr ? ranges->at[next].start : (start | 4095) + 1;
		for (size_t j = i; j < next; j++)
			ranges->at[j].end = symtab->names[ranges->at[j].value].text ? start : after;
	}
	for (size_t i = 0; i < ranges->nr; i++)
		if (ranges->at[i].start < ranges->at[i].end)
			ranges->at[nr_kept++] = ranges->at[i];
	ranges->nr = nr_kept;
	symtab_finish(symtab);
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
