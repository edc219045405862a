/*
 * elfsyms.h - where functions and USDT probes of an ELF file lie, as file
 * offsets: what uprobes take. libc only; the file is hostile input.
 *
 * Sources: elf(5); the "stapsdt" notes of <sys/sdt.h> (systemtap): type 3,
 * pc, base and semaphore as addresses, then provider, name and arguments as
 * text; .stapsdt.base tells by how much the file was moved after linking.
 */
#ifndef COLLECT_ELFSYMS_H
#define COLLECT_ELFSYMS_H

#include "share/compat.h"
#include "share/err.h"

struct elfsyms {
	const uint8_t *at; /* the file, mapped */
	size_t size;
	bool is_64;
	bool borrowed; /* at is the caller's memory */
};

/* Both check the ELF header. Only the byte order of this machine is taken. */
int elfsyms_open(struct elfsyms *elf, const char *path, struct err *err);
int elfsyms_from_memory(struct elfsyms *elf, const uint8_t *at, size_t size, struct err *err);
void elfsyms_close(struct elfsyms *elf);

/*
 * Calls visit for each defined function of .symtab and .dynsym until it
 * returns true; the name is NUL-terminated and lives with elf.
 */
void elfsyms_each(const struct elfsyms *elf,
                  bool (*visit)(const char *name, uint64_t vaddr, void *arg), void *arg);

/* The file offset of a function. 0 or -1. */
int elfsyms_function(const struct elfsyms *elf, const char *name, uint64_t *offset);

/* The file offset of an address as linked; -1 where no segment of the file holds it. */
int elfsyms_offset(const struct elfsyms *elf, uint64_t vaddr, uint64_t *offset);

/* Whether the dynamic linker loads it (PT_INTERP). */
bool elfsyms_is_dynamic(const struct elfsyms *elf);

/* The file offset of the entry point. 0 or -1. */
int elfsyms_entry(const struct elfsyms *elf, uint64_t *offset);

struct elfsyms_usdt {
	const char *provider, *name;
	uint64_t offset;    /* of the probed instruction */
	uint64_t semaphore; /* file offset of its counter, or 0 */
};

/* Calls visit for each probe until it returns true. */
void elfsyms_each_usdt(const struct elfsyms *elf,
                       bool (*visit)(const struct elfsyms_usdt *probe, void *arg), void *arg);

#endif
