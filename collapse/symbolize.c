#include "share/compat.h"
#include "collapse/symbolize.h"

#include "collapse/demangle.h"
#include "collapse/elffile.h"
#include "collapse/kallsyms.h"
#include "collapse/perfmap.h"
#include "collapse/symtab.h"
#include "share/buf.h"
#include "share/mem.h"

/* What the symbolizer keeps of one module, by module id. */
struct source {
	bool is_ready;
	bool is_shared; /* symtab belongs to another module */
};

struct symbolizer {
	struct modules *modules;
	struct symbolize_options options;
	struct source *sources;
	size_t nr_sources;
	struct symtab *kallsyms; /* of this machine or --kallsyms; NULL where none */
	bool kallsyms_tried;
	struct err kallsyms_err;
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
	for (size_t id = 0; id < symbolizer->nr_sources; id++) {
		struct module *module = modules_at(symbolizer->modules, id);

		if (symbolizer->sources[id].is_ready && !symbolizer->sources[id].is_shared)
			symtab_free(module->symtab);
		module->symtab = NULL;
	}
	free(symbolizer->sources);
	symtab_free(symbolizer->kallsyms);
	buf_release(&symbolizer->text);
	free(symbolizer);
}

/* ---- tables ---- */

static struct symtab *kallsyms_of(struct symbolizer *symbolizer)
{
	const char *path = symbolizer->options.kallsyms;

	if (!symbolizer->kallsyms_tried) {
		symbolizer->kallsyms_tried = true;
		symbolizer->kallsyms =
		        kallsyms_read(path ? path : "/proc/kallsyms", &symbolizer->kallsyms_err);
	}
	return symbolizer->kallsyms;
}

/* The kernel's own list, where it is of the recorded boot. */
static bool use_kallsyms(struct symbolizer *symbolizer, struct module *module)
{
	struct symtab *kallsyms = kallsyms_of(symbolizer);
	struct err err = symbolizer->kallsyms_err;

	/* a list that was named by hand is the right one unless it proves otherwise */
	if (!kallsyms || (symbolizer->options.kallsyms ?
	                          module->key.text_address && kallsyms->text_address &&
	                                  module->key.text_address != kallsyms->text_address &&
	                                  err_set(&err, "'%s' is of another boot",
	                                          symbolizer->options.kallsyms) :
	                          !kallsyms_is_recorded(kallsyms, &module->key, &err))) {
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
		return true;
	}
	return false;
}

/* Finds and reads what names the module, once. */
static void prepare(struct symbolizer *symbolizer, struct module *module)
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
			module->symtab = symtab_of_elf(module->elf);
		return;
	case MODULE_KERNEL:
		source->is_shared =
		        !symbolizer->options.vmlinux && use_kallsyms(symbolizer, module);
		if (!source->is_shared && module_elf(symbolizer->modules, module))
			module->symtab = symtab_of_elf(module->elf);
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

static struct symbol unresolved(struct symbolizer *symbolizer, const struct module *module,
                                uint64_t off)
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
	return (struct symbol){.name = strtab_id(symbolizer->options.names, text->at, text->size),
	                       .file = UINT32_MAX};
}

static uint32_t shown_name(struct symbolizer *symbolizer, struct slice name)
{
	demangle(name, symbolizer->options.demangle, &symbolizer->text);
	return strtab_id(symbolizer->options.names, symbolizer->text.at, symbolizer->text.size);
}

size_t symbolize(struct symbolizer *symbolizer, struct module *module, uint64_t off, bool is_return,
                 struct symbol out[SYMBOLIZE_MAX])
{
	uint64_t place = is_return && off ? off - 1 : off, address = place;
	struct slice name = {"", 0};

	out[0] = (struct symbol){.file = UINT32_MAX};
	if (!symbolizer->options.no_symbols) {
		prepare(symbolizer, module);
		if ((module->key.kind == MODULE_FILE || module->key.kind == MODULE_VDSO) &&
		    module->elf && !elffile_vaddr(module->elf, place, &address))
			address = UINT64_MAX;
		else if (module->key.kind == MODULE_KERNEL && module->elf)
			address = kernel_vaddr(module, module->elf, place);
		if (module->symtab)
			name = symtab_find(module->symtab, address);
	}
	if (!name.size) {
		out[0] = unresolved(symbolizer, module, place);
		return 1;
	}
	out[0].name = shown_name(symbolizer, name);
	out[0].resolved = true;
	return 1;
}
