#include "share/compat.h"
#include "collapse/names/symbolize.h"

#include "collapse/names/demangle.h"
#include "collapse/names/elffile.h"
#include "collapse/names/inlines.h"
#include "collapse/names/kallsyms.h"
#include "collapse/names/perfmap.h"
#include "collapse/names/symtab.h"
#include "share/buf.h"
#include "share/guard.h"
#include "share/mem.h"

#include <pthread.h>
#include <stdatomic.h>

/* What the symbolizer keeps of one module, by module id. */
struct source {
	bool is_ready;
	bool is_shared; /* tables belong to another module */
};

/* The name to show for a text. */
struct shown {
	const char *text; /* NULL: an empty slot */
	uint32_t size, name;
};

struct symbolizer {
	struct modules *modules;
	struct symbolize_options options;
	struct source *sources;
	size_t nr_sources;
	struct symtab *kallsyms; /* of this machine or --kallsyms; NULL where none */
	bool kallsyms_tried;
	struct err kallsyms_err;
	pthread_t reading; /* the list, where is_reading: owns the two until joined */
	bool may_use_thread, is_reading;
	atomic_bool is_read; /* by that thread: joining it will not wait */
	struct shown *shown; /* open addressing */
	size_t nr_shown, nr_shown_slots;
	struct buf text;
};

struct symbolizer *symbolizer_new(struct modules *modules, const struct symbolize_options *options)
{
	struct symbolizer *symbolizer = mem_zalloc(sizeof(*symbolizer));

	symbolizer->modules = modules;
	symbolizer->options = *options;
	return symbolizer;
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	if (symbolizer->is_reading)
		pthread_join(symbolizer->reading, NULL);
	for (size_t id = 0; id < symbolizer->nr_sources; id++) {
		struct module *module = modules_at(symbolizer->modules, id);

		if (symbolizer->sources[id].is_ready && !symbolizer->sources[id].is_shared) {
			symtab_free(module->symtab);
			inlines_free(module->inlines);
		}
		module->symtab = NULL;
		module->inlines = NULL;
	}
	free(symbolizer->sources);
	free(symbolizer->shown);
	symtab_free(symbolizer->kallsyms);
	buf_release(&symbolizer->text);
	free(symbolizer);
}

/* ---- tables ---- */

static void *read_kallsyms(void *ctx)
{
	struct symbolizer *symbolizer = ctx;
	const char *path = symbolizer->options.kallsyms;

	symbolizer->kallsyms =
	        kallsyms_read(path ? path : "/proc/kallsyms", &symbolizer->kallsyms_err);
	atomic_store(&symbolizer->is_read, true);
	return NULL;
}

void symbolizer_use_thread(struct symbolizer *symbolizer)
{
	symbolizer->may_use_thread = true;
}

/* Is the list of the kernel being read, and not yet through? */
static bool is_list_awaited(struct symbolizer *symbolizer)
{
	if (symbolizer->may_use_thread && !symbolizer->kallsyms_tried &&
	    !symbolizer->options.vmlinux) {
		symbolizer->is_reading =
		        pthread_create(&symbolizer->reading, NULL, read_kallsyms, symbolizer) == 0;
		symbolizer->kallsyms_tried = symbolizer->is_reading;
	}
	return symbolizer->is_reading && !atomic_load(&symbolizer->is_read);
}

static struct symtab *kallsyms_of(struct symbolizer *symbolizer)
{
	if (symbolizer->is_reading) {
		pthread_join(symbolizer->reading, NULL);
		symbolizer->is_reading = false;
	}
	if (!symbolizer->kallsyms_tried) {
		symbolizer->kallsyms_tried = true;
		read_kallsyms(symbolizer);
	}
	return symbolizer->kallsyms;
}

/* The same kernel, which lies elsewhere after each boot: only its own text moves as one. */
static bool is_moved(const struct symbolizer *symbolizer, const struct symtab *kallsyms,
                     const struct module_key *key)
{
	struct build_id running;

	if (key->kind != MODULE_KERNEL || !key->text_address || !kallsyms->text_address)
		return false;
	/* a list that was named by hand is the right one */
	if (symbolizer->options.kallsyms)
		return true;
	running = kallsyms_running_build_id();
	return running.size && build_id_equals(&running, &key->build_id);
}

/* The kernel's own list, where it is of the recorded kernel. */
static bool use_kallsyms(struct symbolizer *symbolizer, struct module *module)
{
	const struct module_key *key = &module->key;
	struct symtab *kallsyms = kallsyms_of(symbolizer);
	struct err err = symbolizer->kallsyms_err;
	bool is_usable = false;

	if (kallsyms && symbolizer->options.kallsyms && !key->text_address)
		is_usable = true;
	else if (kallsyms)
		is_usable = is_moved(symbolizer, kallsyms, key) ||
		            kallsyms_is_recorded(kallsyms, key, &err);
	if (!is_usable) {
		module_set_why(symbolizer->modules, module, err.text);
		return false;
	}
	module->symtab = kallsyms;
	return true;
}

/* The address in the file's own numbers of what the kernel had at ip. */
static uint64_t kernel_vaddr(const struct module *module, const struct elffile *file, uint64_t ip)
{
	struct elf_section *text = elffile_section(file, ".text");

	if (!module->key.text_address || !text)
		return ip;
	return ip - module->key.text_address + text->vaddr;
}

/* Another module with the same file, or of the same process, has its tables already? */
static bool share_tables(struct symbolizer *symbolizer, struct module *module)
{
	for (size_t id = 0; id < symbolizer->nr_sources; id++) {
		const struct module *other = modules_at(symbolizer->modules, id);

		if (!symbolizer->sources[id].is_ready || other == module || !other->symtab ||
		    other->key.kind != module->key.kind || other->elf != module->elf ||
		    (module->key.kind == MODULE_JIT && other->key.pid != module->key.pid))
			continue;
		module->symtab = other->symtab;
		module->inlines = other->inlines;
		return true;
	}
	return false;
}

/* Both tables of a file of user space, or of the kernel's. */
static void read_tables(struct symbolizer *symbolizer, struct module *module)
{
	module->symtab = symtab_of_elf(module->elf);
	if (!symbolizer->options.no_inlines || symbolizer->options.srcline)
		module->inlines = inlines_new(module->elf);
}

void symbolizer_prepare(struct symbolizer *symbolizer, struct module *module)
{
	struct source *source;
	struct err err = {0};

	if (module->id >= symbolizer->nr_sources) {
		size_t nr = modules_nr(symbolizer->modules);

		symbolizer->sources =
		        mem_resize(symbolizer->sources, nr, sizeof(*symbolizer->sources));
		memset(symbolizer->sources + symbolizer->nr_sources, 0,
		       (nr - symbolizer->nr_sources) * sizeof(*symbolizer->sources));
		symbolizer->nr_sources = nr;
	}
	source = &symbolizer->sources[module->id];
	if (source->is_ready)
		return;
	source->is_ready = true;
	switch (module->key.kind) {
	case MODULE_FILE:
	case MODULE_VDSO:
		if (!module_elf(symbolizer->modules, module))
			return;
		source->is_shared = share_tables(symbolizer, module);
		if (!source->is_shared)
			read_tables(symbolizer, module);
		return;
	case MODULE_KERNEL:
		source->is_shared =
		        !symbolizer->options.vmlinux && use_kallsyms(symbolizer, module);
		if (!source->is_shared && module_elf(symbolizer->modules, module))
			read_tables(symbolizer, module);
		return;
	case MODULE_KMOD:
		source->is_shared = use_kallsyms(symbolizer, module);
		if (!source->is_shared && module->key.text_address &&
		    module_elf(symbolizer->modules, module))
			module->symtab = symtab_of_kmod(module->elf, module->key.text_address);
		return;
	case MODULE_JIT:
		source->is_shared = share_tables(symbolizer, module);
		if (source->is_shared)
			return;
		module->symtab = perfmap_read(module->key.pid,
		                              modules_options(symbolizer->modules)->live, &err);
		if (!module->symtab)
			module_set_why(symbolizer->modules, module, err.text);
		return;
	case MODULE_UNKNOWN:
		module_set_why(symbolizer->modules, module, "nothing is mapped there");
		return;
	}
}

/* ---- names ---- */

/* "[libc.so.6]", "[kernel]", "[ext4]", "[jit]", "[unknown]"; in symbolizer->text. */
static void module_label(struct symbolizer *symbolizer, const struct module *module)
{
	const char *base = strrchr(module->key.path, '/');
	size_t size;

	base = base ? base + 1 : module->key.path;
	size = strlen(base);
	buf_reset(&symbolizer->text);
	switch (module->key.kind) {
	case MODULE_KERNEL:
		buf_string(&symbolizer->text, "[kernel]");
		return;
	case MODULE_JIT:
		/* without a path: a place where nothing was mapped, as far as is known */
		buf_string(&symbolizer->text, base[0] ? "[jit]" : "[unknown]");
		return;
	case MODULE_UNKNOWN:
		buf_string(&symbolizer->text, "[unknown]");
		return;
	case MODULE_KMOD:
		/* "ext4.ko.xz" */
		for (const char *dot = strstr(base, ".ko"); dot; dot = NULL)
			size = (size_t)(dot - base);
		break;
	case MODULE_FILE:
		if (size > 10 && strcmp(base + size - 10, " (deleted)") == 0)
			size -= 10;
		break;
	case MODULE_VDSO:
		break;
	}
	if (!size)
		buf_string(&symbolizer->text, "[unknown]");
	else if (base[0] == '[')
		buf_add(&symbolizer->text, base, size);
	else
		buf_printf(&symbolizer->text, "[%.*s]", (int)MIN_OF(size, (size_t)4096), base);
}

static uint32_t unresolved(struct symbolizer *symbolizer, const struct module *module, uint64_t off)
{
	struct buf *text = &symbolizer->text;

	module_label(symbolizer, module);
	if (symbolizer->options.no_symbols) {
		/* "[libc.so.6]" becomes "libc.so.6+0x123" */
		buf_text(text);
		memmove(text->at, text->at + 1, text->size - 1);
		text->size -= 2;
		buf_printf(text, "+0x%llx", (unsigned long long)off);
	}
	return strtab_id(symbolizer->options.names, text->at, text->size);
}

static void grow_shown(struct symbolizer *symbolizer)
{
	size_t nr_old = symbolizer->nr_shown_slots, at;
	struct shown *old = symbolizer->shown;

	symbolizer->nr_shown_slots = nr_old ? nr_old * 2 : 1024;
	symbolizer->shown = mem_zalloc(symbolizer->nr_shown_slots * sizeof(*old));
	for (size_t i = 0; i < nr_old; i++) {
		if (!old[i].text)
			continue;
		at = hash_u64((uintptr_t)old[i].text, old[i].size) &
		     (symbolizer->nr_shown_slots - 1);
		while (symbolizer->shown[at].text)
			at = (at + 1) & (symbolizer->nr_shown_slots - 1);
		symbolizer->shown[at] = old[i];
	}
	free(old);
}

/* What a text is, which decides how it is shown. */
enum name_kind {
	NAME_LINKAGE,
	NAME_SCOPED, /* as people read it, with scopes, arguments and parameters */
	NAME_PLAIN,
};

/* The shown form of a name, remembered by where its text is: texts are not copied. */
static uint32_t shown_name(struct symbolizer *symbolizer, struct slice name, enum name_kind kind)
{
	struct shown *slot;
	size_t at;

	if (symbolizer->nr_shown >= symbolizer->nr_shown_slots / 2)
		grow_shown(symbolizer);
	at = hash_u64((uintptr_t)name.at, name.size) & (symbolizer->nr_shown_slots - 1);
	while (symbolizer->shown[at].text &&
	       (symbolizer->shown[at].text != name.at || symbolizer->shown[at].size != name.size))
		at = (at + 1) & (symbolizer->nr_shown_slots - 1);
	slot = &symbolizer->shown[at];
	if (slot->text)
		return slot->name;
	if (kind == NAME_SCOPED && symbolizer->options.demangle == DEMANGLE_SHORT)
		demangle_shorten(name, &symbolizer->text);
	else
		demangle(name, kind == NAME_LINKAGE ? symbolizer->options.demangle : DEMANGLE_NONE,
		         &symbolizer->text);
	*slot = (struct shown){
	        name.at, (uint32_t)name.size,
	        strtab_id(symbolizer->options.names, symbolizer->text.at, symbolizer->text.size)};
	symbolizer->nr_shown++;
	return slot->name;
}

/* The address that the module's tables know a place by; false where it is none. */
static bool address_of(const struct symbolizer *symbolizer, const struct module *module,
                       uint64_t place, uint64_t *address)
{
	const struct symtab *symtab = module->symtab;

	*address = place;
	/* of the kernel's own list nothing is known before it is joined, see kallsyms_of() */
	if (module->key.kind == MODULE_KERNEL && symtab && symtab == symbolizer->kallsyms &&
	    module->key.text_address && symtab->text_address) {
		*address = place - module->key.text_address + symtab->text_address;
		return true;
	}
	if (module->key.kind == MODULE_FILE || module->key.kind == MODULE_VDSO)
		return module->elf && elffile_vaddr(module->elf, place, address);
	if (module->key.kind == MODULE_KERNEL && module->elf)
		*address = kernel_vaddr(module, module->elf, place);
	return true;
}

/*
 * The functions that the debugging information has there; their number. What
 * the last is called is left open where a symbol says it.
 */
static size_t by_inlines(struct symbolizer *symbolizer, struct module *module, uint64_t address,
                         bool has_symbol, struct symbol out[SYMBOLIZE_MAX])
{
	struct inlines_frame frames[SYMBOLIZE_MAX];
	bool srcline = symbolizer->options.srcline;
	size_t nr = inlines_find(module->inlines, address, srcline, frames, ARRAY_SIZE(frames));
	size_t first = 0;

	/* lines, but none of the inlined functions: the place is in the innermost one's file */
	if (nr && symbolizer->options.no_inlines) {
		frames[nr - 1].file = frames[0].file;
		frames[nr - 1].line = frames[0].line;
		first = nr - 1;
	}
	for (size_t i = first; i < nr; i++) {
		struct slice name = {frames[i].name, strlen(frames[i].name)};

		out[i - first] = (struct symbol){.file = UINT32_MAX, .inlined = i + 1 < nr};
		if (name.size && !(has_symbol && i + 1 == nr)) {
			out[i - first].name = shown_name(symbolizer, name,
			                                 frames[i].is_linkage ? NAME_LINKAGE :
			                                 frames[i].has_scopes ? NAME_SCOPED :
			                                                        NAME_PLAIN);
			out[i - first].resolved = true;
		}
		if (frames[i].file && frames[i].line) {
			out[i - first].file =
			        strtab_cstr(symbolizer->options.names, frames[i].file);
			out[i - first].line = frames[i].line;
		}
	}
	return nr - first;
}

/* The functions at a place by the tables of its module; their number, which may be 0. */
static size_t look_up(struct symbolizer *symbolizer, struct module *module, uint64_t place,
                      struct symbol out[SYMBOLIZE_MAX])
{
	struct slice name = {"", 0};
	uint64_t address;
	size_t nr = 0;

	symbolizer_prepare(symbolizer, module);
	if (!address_of(symbolizer, module, place, &address))
		return 0;
	if (module->symtab)
		name = symtab_find(module->symtab, address);
	if (module->inlines)
		nr = by_inlines(symbolizer, module, address, name.size != 0, out);
	if (name.size) {
		/* the linker's name says more: ".cold", a local constructor's class */
		if (!nr)
			out[nr++] = (struct symbol){.file = UINT32_MAX};
		out[nr - 1].name = shown_name(symbolizer, name, NAME_LINKAGE);
		out[nr - 1].resolved = true;
	}
	return nr;
}

size_t symbolize(struct symbolizer *symbolizer, struct module *module, uint64_t off, bool is_return,
                 struct symbol out[SYMBOLIZE_MAX])
{
	uint64_t place = is_return && off ? off - 1 : off;
	unsigned nr_cut = guard_nr_cut();
	size_t nr = 0;

	if (!symbolizer->options.no_symbols && !(module->elf && module->elf->is_cut))
		nr = look_up(symbolizer, module, place, out);
	/* what was read of a file that lost its end cannot be told from the truth */
	if (UNLIKELY(guard_nr_cut() != nr_cut)) {
		if (module->elf)
			module->elf->is_cut = true;
		module_set_why(symbolizer->modules, module, "it became shorter while it was read");
		nr = 0;
	}
	if (!nr)
		out[nr++] = (struct symbol){.file = UINT32_MAX};
	for (size_t i = 0; i < nr; i++)
		if (!out[i].resolved)
			out[i].name = unresolved(symbolizer, module, place);
	return nr;
}

static bool is_address_of(const struct symbolizer *symbolizer, const struct module *module,
                          uint64_t place, uint64_t address)
{
	uint64_t there;

	return address_of(symbolizer, module, place, &there) && there == address;
}

/* symbolize_span() with the tables that are there now. */
static bool find_span(struct symbolizer *symbolizer, struct module *module, uint64_t place,
                      struct symbol_span *span)
{
	uint64_t address, start = 0, end = UINT64_MAX, before, after;

	symbolizer_prepare(symbolizer, module);
	*span = (struct symbol_span){0, UINT64_MAX, false};
	if (!module->symtab && !module->inlines)
		return true;
	if (!address_of(symbolizer, module, place, &address))
		return false;
	if (module->inlines)
		span->is_named = inlines_narrow(module->inlines, address, &start, &end);
	if (module->symtab)
		span->is_named |= ranges_narrow(&module->symtab->ranges, address, &start, &end) !=
		                  RANGES_NONE;
	before = MIN_OF(address - start, place);
	after = MIN_OF(end - address, UINT64_MAX - place);
	/* an end may lie in another segment of the file, which is mapped another way */
	if (!is_address_of(symbolizer, module, place - before, address - before))
		before = 0;
	if (!is_address_of(symbolizer, module, place + after - 1, address + after - 1))
		after = 1;
	span->start = place - before;
	span->end = place + after;
	return true;
}

bool symbolize_span(struct symbolizer *symbolizer, struct module *module, uint64_t place,
                    struct symbol_span *span)
{
	bool is_kernel = module->key.kind == MODULE_KERNEL || module->key.kind == MODULE_KMOD;
	bool is_found;

	if (symbolizer->options.srcline || symbolizer->options.no_symbols)
		return false;
	if (is_kernel && is_list_awaited(symbolizer))
		return false;
	/* samples may be unwound meanwhile */
	modules_lock();
	is_found = find_span(symbolizer, module, place, span);
	modules_unlock();
	return is_found;
}
