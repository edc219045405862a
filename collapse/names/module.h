/*
 * module.h - the things code comes from: ELF files, the kernel, the vdso,
 * JIT regions. One struct module per identity, found or made when a mapping
 * is met, opened only when somebody asks for its contents.
 *
 * Decides: which file on this machine holds a module's bytes (never one
 * whose build-id differs from the recorded one), and the translation of file
 * offsets into the addresses of its ELF (vaddr). Does not know names or
 * unwinding rules: symtab, inlines and cfi hang theirs on the module.
 *
 * Three kinds of address, never mixed: `ip` (as sampled), `off` (ip - map
 * start + map pgoff, an offset in the file), `vaddr` (as linked). For kernel
 * and JIT modules off is the ip itself.
 */
#ifndef COLLAPSE_MODULE_H
#define COLLAPSE_MODULE_H

#include "share/compat.h"
#include "share/err.h"

enum module_kind {
	MODULE_FILE,    /* an ELF file mapped by a process */
	MODULE_VDSO,    /* "[vdso]" */
	MODULE_KERNEL,  /* "[kernel.kallsyms]" or guest kernel: off = ip */
	MODULE_KMOD,    /* a kernel module: off = ip */
	MODULE_JIT,     /* anonymous executable memory of one process: off = ip */
	MODULE_UNKNOWN, /* nothing is mapped there: off = ip */
};

#define BUILD_ID_MAX 20

struct build_id {
	uint8_t size; /* 0 = unknown */
	uint8_t bytes[BUILD_ID_MAX];
};

/* What tells modules apart. */
struct module_key {
	enum module_kind kind;
	const char *path; /* as recorded; "" where there is none */
	struct build_id build_id;
	uint32_t device_major, device_minor; /* with inode: 0 = unknown */
	uint64_t inode, inode_generation;
	int32_t pid;           /* a process that has it mapped (for /proc/PID/root), or -1;
	                          part of the identity for MODULE_JIT only */
	uint64_t text_address; /* MODULE_KERNEL: where the recorded kernel had _text (or
	                          _stext), MODULE_KMOD: where its map began; 0 = unknown;
	                          no part of the identity */
};

struct elffile;
struct symtab;
struct inlines;
struct cfi;

struct module {
	uint32_t id;           /* counts from 0 */
	struct module_key key; /* path is owned by the table */
	uint64_t nr_samples;   /* frames attributed so far; kept by the caller */

	const char *why; /* for module_why(); owned by the table */

	/* filled lazily, each by the file of its name; NULL until then */
	struct elffile *elf; /* modules of the same build-id share one */
	struct symtab *symtab;
	struct inlines *inlines;
	struct cfi *cfi;
	bool elf_tried, symtab_tried, inlines_tried, cfi_tried;
};

/* Where to look for files, besides the path itself. Borrowed strings. */
struct module_options {
	const char *symfs;             /* prefix for every recorded path, or NULL */
	const char *const *debug_dirs; /* NULL-terminated; NULL = the system's */
	const char *build_id_cache;    /* NULL = $HOME/.debug */
	unsigned debuginfod_seconds;   /* that servers may take in all; 0 = do not ask */
	/*
	 * Called when a server is asked for the file of that name (-1, -1), again
	 * and again while it is waited for, and behind it (NULL). NULL = not wanted.
	 */
	void (*progress)(const char *name, long done, long all);
	bool live; /* processes of the recording may still run here */
};

struct modules;

/*
 * Files are not for two threads at once: whoever opens one, or asks it for a
 * section, while other threads may do so, holds this lock. It is taken again
 * by its holder where need be (modules_intern() and module_elf() do).
 */
void modules_lock(void);
void modules_unlock(void);

struct modules *modules_new(const struct module_options *options);
void modules_free(struct modules *modules);

/* The module with this identity. Pointers stay valid until modules_free(). */
struct module *modules_intern(struct modules *modules, const struct module_key *key);

size_t modules_nr(const struct modules *modules);
struct module *modules_at(const struct modules *modules, size_t id);

/*
 * The bytes of the module, opened and its build-id checked on the first call.
 * NULL where there is no usable file; module_why() then says why in a phrase
 * ("not found", "build-id differs", "not an ELF file", ...).
 */
struct elffile *module_elf(struct modules *modules, struct module *module);
const char *module_why(const struct module *module); /* NULL where nothing went wrong */

/*
 * For build-ids that a stream tells behind its maps, before names were looked
 * up: a file that was found without it and has another one is given up.
 * Modules that have a build-id keep theirs.
 */
void module_set_build_id(struct module *module, const struct build_id *id);

/* Says why the module has no names; the first word on it stays. */
void module_set_why(struct modules *modules, struct module *module, const char *why);

const struct module_options *modules_options(const struct modules *modules);

/* Zeros at the end do not count: recorders pad to BUILD_ID_MAX. */
bool build_id_equals(const struct build_id *a, const struct build_id *b);

/* "DIR/.build-id/ab/cdef...SUFFIX"; the caller frees. */
char *build_id_path(const char *dir, const struct build_id *id, const char *suffix);

#endif
