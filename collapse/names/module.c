#include "share/compat.h"
#include "collapse/names/module.h"

#include "collapse/names/debugfile.h"
#include "collapse/names/debuginfod.h"
#include "collapse/names/elffile.h"
#include "collapse/names/unpack.h"
#include "share/arena.h"
#include "share/below.h"
#include "share/buf.h"
#include "share/input.h"
#include "share/mem.h"
#include "share/num.h"
#include "share/strtab.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#define KMOD_MAX_SIZE ((uint64_t)256 << 20)

struct modules {
	struct module_options options;
	char *default_cache;
	struct module **at;
	size_t nr, capacity;
	uint32_t *slots; /* id + 1 by identity, open addressing */
	size_t nr_slots;
	struct elffile **files; /* all that are open; modules borrow them */
	size_t nr_files, files_capacity;
	struct arena texts;
};

static pthread_mutex_t files_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void modules_lock(void)
{
	pthread_mutex_lock(&files_lock);
}

void modules_unlock(void)
{
	pthread_mutex_unlock(&files_lock);
}

struct modules *modules_new(const struct module_options *options)
{
	struct modules *modules = mem_zalloc(sizeof(*modules));
	const char *home = getenv("HOME");

	modules->options = *options;
	if (!options->build_id_cache && home && home[0])
		modules->options.build_id_cache = modules->default_cache =
		        mem_printf("%s/.debug", home);
	return modules;
}

void modules_free(struct modules *modules)
{
	if (!modules)
		return;
	debuginfod_close();
	for (size_t i = 0; i < modules->nr_files; i++)
		elffile_close(modules->files[i]);
	for (size_t i = 0; i < modules->nr; i++)
		free(modules->at[i]);
	free(modules->files);
	free(modules->at);
	free(modules->slots);
	free(modules->default_cache);
	arena_release(&modules->texts);
	free(modules);
}

size_t modules_nr(const struct modules *modules)
{
	return modules->nr;
}

struct module *modules_at(const struct modules *modules, size_t id)
{
	return modules->at[id];
}

const struct module_options *modules_options(const struct modules *modules)
{
	return &modules->options;
}

/* ---- identity ---- */

static uint64_t key_hash(const struct module_key *key)
{
	uint64_t hash = hash_bytes(key->path, strlen(key->path));

	hash = hash_u64(hash, hash_bytes(key->build_id.bytes, key->build_id.size));
	hash = hash_u64(hash, key->inode);
	return hash_u64(hash, key->kind == MODULE_JIT ? (uint64_t)(uint32_t)key->pid : 0);
}

static bool key_equals(const struct module_key *a, const struct module_key *b)
{
	return a->kind == b->kind && strcmp(a->path, b->path) == 0 &&
	       a->build_id.size == b->build_id.size &&
	       memcmp(a->build_id.bytes, b->build_id.bytes, a->build_id.size) == 0 &&
	       a->device_major == b->device_major && a->device_minor == b->device_minor &&
	       a->inode == b->inode && a->inode_generation == b->inode_generation &&
	       (a->kind != MODULE_JIT || a->pid == b->pid);
}

static void grow_slots(struct modules *modules)
{
	modules->nr_slots = modules->nr_slots ? modules->nr_slots * 2 : 64;
	free(modules->slots);
	modules->slots = mem_zalloc(modules->nr_slots * sizeof(*modules->slots));
	for (size_t id = 0; id < modules->nr; id++) {
		size_t at = key_hash(&modules->at[id]->key) & (modules->nr_slots - 1);

		while (modules->slots[at])
			at = (at + 1) & (modules->nr_slots - 1);
		modules->slots[at] = (uint32_t)id + 1;
	}
}

static struct module *intern(struct modules *modules, const struct module_key *key)
{
	struct module *module;
	size_t at;

	if (modules->nr >= modules->nr_slots / 2)
		grow_slots(modules);
	at = key_hash(key) & (modules->nr_slots - 1);
	while (modules->slots[at]) {
		module = modules->at[modules->slots[at] - 1];
		if (key_equals(&module->key, key))
			return module;
		at = (at + 1) & (modules->nr_slots - 1);
	}
	module = mem_zalloc(sizeof(*module));
	module->id = (uint32_t)modules->nr;
	module->key = *key;
	module->key.path = arena_copy(&modules->texts, key->path, strlen(key->path));
	MEM_GROW(modules->at, modules->nr, modules->capacity);
	modules->at[modules->nr++] = module;
	modules->slots[at] = (uint32_t)modules->nr;
	return module;
}

struct module *modules_intern(struct modules *modules, const struct module_key *key)
{
	struct module *module;

	modules_lock();
	module = intern(modules, key);
	modules_unlock();
	return module;
}

bool build_id_equals(const struct build_id *a, const struct build_id *b)
{
	static const uint8_t zeros[BUILD_ID_MAX];
	uint8_t size = MIN_OF(a->size, b->size);

	return size && memcmp(a->bytes, b->bytes, size) == 0 &&
	       memcmp(a->bytes + size, zeros, (size_t)(a->size - size)) == 0 &&
	       memcmp(b->bytes + size, zeros, (size_t)(b->size - size)) == 0;
}

char *build_id_path(const char *dir, const struct build_id *id, const char *suffix)
{
	char hex[2 * BUILD_ID_MAX + 1] = "";
	uint8_t size = id->size;

	while (size > 8 && !id->bytes[size - 1])
		size--;
	for (uint8_t i = 0; i < size; i++)
		snprintf(hex + 2 * i, 3, "%02x", id->bytes[i]);
	return mem_printf("%s/.build-id/%.2s/%s%s", dir, hex, size ? hex + 2 : "", suffix);
}

/* ---- finding the file ---- */

const char *module_why(const struct module *module)
{
	return module->why;
}

void module_set_why(struct modules *modules, struct module *module, const char *why)
{
	if (!module->why)
		module->why = arena_copy(&modules->texts, why, strlen(why));
}

/* A look for one module's file: what was found, or the best reason why not. */
struct search {
	struct modules *modules;
	struct module *module;
	struct elffile *found;
	struct err err;
	bool differs; /* a file was there, but another one */
};

/* A kernel module may be compressed. */
static struct elffile *open_kmod(const char *path, struct err *err)
{
	struct input *in = input_open(path, KMOD_MAX_SIZE, err);
	struct elffile *file = NULL;
	struct slice all, plain;
	uint8_t *copy;

	if (!in)
		return NULL;
	/* gzip and zstd are undone on the way */
	if (input_all(in, KMOD_MAX_SIZE, &all, err) == 0) {
		plain = all;
		if (unpack_kind_of(all) == UNPACK_XZ)
			plain = unpack_all(UNPACK_XZ, all, KMOD_MAX_SIZE);
		if (plain.size) {
			copy = mem_alloc(plain.size);
			memcpy(copy, plain.at, plain.size);
			file = elffile_of_memory(path, copy, plain.size, err);
		} else {
			err_set(err, "cannot be unpacked");
		}
		if (plain.at != all.at)
			unpack_release(plain);
	}
	input_close(in);
	return file;
}

/* Without a build-id, is this the file that was mapped, as far as its number tells? */
static bool may_be_mapped_file(const struct module_key *key, const char *path)
{
	struct stat st;

	if (!key->inode || stat(path, &st) != 0)
		return true;
	/* behind an overlay or on another machine the device differs, and tells nothing */
	return st.st_ino == key->inode || major(st.st_dev) != key->device_major ||
	       minor(st.st_dev) != key->device_minor;
}

static bool is_plain_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Tries a path, which it frees; true ends the search. */
static bool try_take(struct search *search, char *path)
{
	const struct module_key *key = &search->module->key;
	struct elffile *file = NULL;

	/* what is not there is the common case, and says nothing new */
	if (is_plain_file(path)) {
		file = key->kind == MODULE_KMOD ? open_kmod(path, &search->err) :
		                                  elffile_open(path, &search->err);
	} else if (!search->err.text[0]) {
		err_set(&search->err, "not found");
	}
	if (file && key->build_id.size ? !build_id_equals(&file->build_id, &key->build_id) :
	                                 file && !may_be_mapped_file(key, path)) {
		elffile_close(file);
		file = NULL;
		search->differs = true;
	}
	free(path);
	search->found = file;
	return file != NULL;
}

/* The same for a path of the recording, below a folder that it must not lead out of. */
static bool try_take_below(struct search *search, const char *root, const char *path)
{
	/* nothing is opened yet, so that a fifo or a device stays untouched */
	int fd = below_open(root, path, O_PATH);
	bool done;

	if (fd < 0)
		return false;
	done = try_take(search, mem_printf("/proc/self/fd/%d", fd));
	close(fd);
	if (done) {
		/* what belongs to it lies beside it */
		free(search->found->path);
		search->found->path = mem_printf("%s%s", root, path);
		search->found->root_size = strlen(root);
	}
	return done;
}

/* The file behind a mapping of a live process whose name or number is the recorded one. */
static bool try_map_files(struct search *search)
{
	const struct module_key *key = &search->module->key;
	char *path = mem_printf("/proc/%d/maps", (int)key->pid);
	struct err err = {0};
	struct input *in = input_open(path, 0, &err);
	struct slice line;
	char *link = NULL;

	free(path);
	if (!in)
		return false;
	while (!link && input_line(in, &line, &err) > 0) {
		char text[512], range[64];
		uint64_t inode;
		int name = 0;

		/* "start-end perms offset major:minor inode   path" (proc(5)) */
		snprintf(text, sizeof(text), "%.*s", (int)MIN_OF(line.size, sizeof(text) - 1),
		         line.at);
		if (sscanf(text, "%63s %*s %*s %*s %" SCNu64 " %n", range, &inode, &name) < 2 ||
		    !name || !inode)
			continue;
		if (strcmp(text + name, key->path) == 0 || (key->inode && inode == key->inode))
			link = mem_printf("/proc/%d/map_files/%s", (int)key->pid, range);
	}
	input_close(in);
	return link && try_take(search, link);
}

/* The recorded path without the kernel's mark of a file that was removed. */
static char *path_of(const struct module_key *key)
{
	static const char mark[] = " (deleted)";
	size_t size = strlen(key->path), mark_size = sizeof(mark) - 1;

	if (size > mark_size && strcmp(key->path + size - mark_size, mark) == 0)
		size -= mark_size;
	return mem_strndup(key->path, size);
}

static bool find_by_build_id(struct search *search)
{
	static const char *const in_cache[] = {"/elf", "/kallsyms.elf", "", "/debug"};
	static const char *const in_debug[] = {"", ".debug"};
	const struct module_options *options = &search->modules->options;
	const struct build_id *id = &search->module->key.build_id;
	const char *const *dirs = debugfile_dirs(options);

	if (!id->size)
		return false;
	for (size_t i = 0; options->build_id_cache && i < ARRAY_SIZE(in_cache); i++)
		if (try_take(search, build_id_path(options->build_id_cache, id, in_cache[i])))
			return true;
	for (; *dirs; dirs++)
		for (size_t i = 0; i < ARRAY_SIZE(in_debug); i++)
			if (try_take(search, build_id_path(*dirs, id, in_debug[i])))
				return true;
	return false;
}

static bool find_file(struct search *search)
{
	const struct module_options *options = &search->modules->options;
	const struct module_key *key = &search->module->key;
	char *path = path_of(key);
	bool was_removed = strcmp(path, key->path) != 0;
	bool done = false;

	if (path[0] == '/') {
		/* a file put in place of a removed one is another, unless its id says not */
		bool is_meant = !was_removed || key->build_id.size;

		if (options->symfs)
			done = try_take_below(search, options->symfs, path);
		else if (is_meant)
			done = try_take(search, mem_strdup(path));
		if (!done && !options->symfs && options->live && key->pid > 0) {
			char root[32];

			snprintf(root, sizeof(root), "/proc/%d/root", (int)key->pid);
			done = (is_meant && try_take_below(search, root, path)) ||
			       try_map_files(search);
		}
	}
	free(path);
	if (done || find_by_build_id(search))
		return true;
	path = debuginfod_path(options, &key->build_id, key->path, false);
	return path && try_take(search, path);
}

static bool find_vmlinux(struct search *search)
{
	static const char *const places[] = {"%s/boot/vmlinux-%s", "%s/lib/modules/%s/vmlinux"};
	const char *const *dirs = debugfile_dirs(&search->modules->options);
	struct utsname name;

	/* without a build-id nothing tells one kernel's file from another's */
	if (!search->module->key.build_id.size) {
		err_set(&search->err, "the recording has no build-id of the kernel");
		return false;
	}
	if (find_by_build_id(search))
		return true;
	if (uname(&name) != 0)
		return false;
	if (try_take(search, mem_printf("/boot/vmlinux-%s", name.release)) ||
	    try_take(search, mem_printf("/lib/modules/%s/build/vmlinux", name.release)))
		return true;
	for (; *dirs; dirs++)
		for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
			char path[4096];

			snprintf(path, sizeof(path),
			         i ? "%s/lib/modules/%s/vmlinux" : "%s/boot/vmlinux-%s", *dirs,
			         name.release);
			if (try_take(search, mem_strdup(path)))
				return true;
		}
	return false;
}

/* '-' and '_' are the same in names of modules. */
static bool is_module_name(struct slice file, struct slice name)
{
	if (file.size < name.size + 3 || memcmp(file.at + name.size, ".ko", 3) != 0)
		return false;
	for (size_t i = 0; i < name.size; i++)
		if (file.at[i] != name.at[i] &&
		    !(strchr("-_", file.at[i]) && strchr("-_", name.at[i])))
			return false;
	return true;
}

static bool find_kmod(struct search *search)
{
	const struct module_key *key = &search->module->key;
	struct slice name = {key->path, strlen(key->path)}, line;
	struct utsname kernel;
	struct err err = {0};
	struct input *in;
	char *deps;

	if (key->path[0] != '[')
		return find_file(search);
	if (name.size < 3 || uname(&kernel) != 0)
		return false;
	name.at++;
	name.size -= 2;
	/* "kernel/fs/ext4/ext4.ko.xz: needed..." (depmod(8)) */
	deps = mem_printf("/lib/modules/%s/modules.dep", kernel.release);
	in = input_open(deps, 0, &err);
	free(deps);
	if (!in) {
		err_set(&search->err, "not found");
		return find_by_build_id(search);
	}
	while (!search->found && input_line(in, &line, &err) > 0) {
		const char *colon = memchr(line.at, ':', line.size), *base;

		if (!colon)
			continue;
		base = memrchr(line.at, '/', (size_t)(colon - line.at));
		base = base ? base + 1 : line.at;
		if (is_module_name((struct slice){base, (size_t)(colon - base)}, name))
			try_take(search, mem_printf("/lib/modules/%s/%.*s", kernel.release,
			                            (int)(colon - line.at), line.at));
	}
	input_close(in);
	return search->found || find_by_build_id(search);
}

static bool find_vdso(struct search *search)
{
	const struct module_key *key = &search->module->key;
	struct elffile *file = elffile_vdso(&search->err);

	if (file && key->build_id.size && !build_id_equals(&file->build_id, &key->build_id)) {
		elffile_close(file);
		file = NULL;
		search->differs = true;
	}
	search->found = file;
	return file || find_by_build_id(search);
}

/* One struct elffile for each build-id, whatever its paths are. */
static struct elffile *keep(struct modules *modules, struct elffile *file)
{
	for (size_t i = 0; i < modules->nr_files; i++) {
		struct elffile *has = modules->files[i];

		if (has->size == file->size && build_id_equals(&has->build_id, &file->build_id)) {
			elffile_close(file);
			return has;
		}
	}
	file->options = &modules->options;
	MEM_GROW(modules->files, modules->nr_files, modules->files_capacity);
	modules->files[modules->nr_files++] = file;
	return file;
}

static void open_elf(struct modules *modules, struct module *module)
{
	struct search search = {.modules = modules, .module = module};

	switch (module->key.kind) {
	case MODULE_FILE:
		find_file(&search);
		break;
	case MODULE_VDSO:
		find_vdso(&search);
		break;
	case MODULE_KERNEL:
		find_vmlinux(&search);
		break;
	case MODULE_KMOD:
		find_kmod(&search);
		break;
	case MODULE_JIT:
		err_set(&search.err, "code made at run time");
		break;
	case MODULE_UNKNOWN:
		err_set(&search.err, "nothing is mapped there");
		break;
	}
	if (search.found)
		module->elf = keep(modules, search.found);
	else
		module_set_why(modules, module,
		               search.differs     ? module->key.build_id.size ? "build-id differs" :
		                                                                "replaced since" :
		               search.err.text[0] ? search.err.text :
		                                    "not found");
}

struct elffile *module_elf(struct modules *modules, struct module *module)
{
	modules_lock();
	if (!module->elf_tried) {
		module->elf_tried = true;
		open_elf(modules, module);
	}
	modules_unlock();
	return module->elf;
}

void module_set_build_id(struct module *module, const struct build_id *id)
{
	if (module->key.build_id.size || module->symtab || module->inlines)
		return;
	module->key.build_id = *id;
	if (module->elf && build_id_equals(&module->elf->build_id, id))
		return;
	module->elf = NULL;
	module->why = NULL;
	module->elf_tried = false;
}
