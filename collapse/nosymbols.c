/*
 * nosymbols.c - module.h and symbolize.h without any file behind them: modules
 * are told apart, places are named by their module. Goes when module.c and
 * symbolize.c come.
 */
#include "share/compat.h"
#include "collapse/symbolize.h"

#include "share/mem.h"

struct modules {
	struct module **at;
	size_t nr, capacity;
};

struct modules *modules_new(const struct module_options *options)
{
	(void)options;
	return mem_zalloc(sizeof(struct modules));
}

void modules_free(struct modules *modules)
{
	for (size_t i = 0; modules && i < modules->nr; i++) {
		free((char *)modules->at[i]->key.path);
		free(modules->at[i]);
	}
	if (modules)
		free(modules->at);
	free(modules);
}

static bool is_same(const struct module_key *a, const struct module_key *b)
{
	return a->kind == b->kind && strcmp(a->path, b->path) == 0 && a->inode == b->inode &&
	       (a->kind != MODULE_JIT || a->pid == b->pid) &&
	       a->build_id.size == b->build_id.size &&
	       memcmp(a->build_id.bytes, b->build_id.bytes, a->build_id.size) == 0;
}

struct module *modules_intern(struct modules *modules, const struct module_key *key)
{
	struct module *module;

	for (size_t i = 0; i < modules->nr; i++)
		if (is_same(&modules->at[i]->key, key))
			return modules->at[i];
	module = mem_zalloc(sizeof(*module));
	module->key = *key;
	module->key.path = mem_strdup(key->path);
	module->id = (uint32_t)modules->nr;
	MEM_GROW(modules->at, modules->nr, modules->capacity);
	modules->at[modules->nr++] = module;
	return module;
}

size_t modules_nr(const struct modules *modules)
{
	return modules->nr;
}

struct module *modules_at(const struct modules *modules, size_t id)
{
	return modules->at[id];
}

struct elffile *module_elf(struct modules *modules, struct module *module)
{
	(void)modules;
	module->elf_tried = true;
	return NULL;
}

struct symbolizer {
	struct strtab *names;
};

struct symbolizer *symbolizer_new(struct modules *modules, const struct symbolize_options *options)
{
	struct symbolizer *symbolizer = mem_zalloc(sizeof(*symbolizer));

	(void)modules;
	symbolizer->names = options->names;
	return symbolizer;
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	free(symbolizer);
}

size_t symbolize(struct symbolizer *symbolizer, struct module *module, uint64_t off, bool is_return,
                 struct symbol out[SYMBOLIZE_MAX])
{
	const char *slash = strrchr(module->key.path, '/');
	char *name = mem_printf("[%s]", slash ? slash + 1 : module->key.path);

	(void)off;
	(void)is_return;
	out[0] = (struct symbol){.name = strtab_cstr(symbolizer->names, name), .file = UINT32_MAX};
	free(name);
	return 1;
}
