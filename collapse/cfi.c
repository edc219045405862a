#include "share/compat.h"
#include "collapse/cfi.h"

#include "collapse/cursor.h"
#include "share/mem.h"

#include <dwarf.h>
#include <gelf.h>
#include <pthread.h>
#include <stdatomic.h>

#define SEGMENTS_MAX 64

/* _start is shorter than this on every libc */
#define ENTRY_SIZE 64

struct segment {
	uint64_t off, vaddr, size;
	bool executable;
};

typedef _Atomic(const struct cfi_rows *) rows_slot;

/* Functions of one section, sorted by start. */
struct index {
	struct cfi_section section;
	uint64_t base;     /* vaddr that starts count from */
	uint32_t *starts;  /* bytes after base */
	uint32_t *offsets; /* of the FDE in the section */
	rows_slot *rows;   /* NULL until the function was met */
	size_t nr;
};

struct cfi {
	Elf *elf, *debug;
	uint16_t machine;
	uint64_t entry;
	const uint8_t *file;
	size_t file_size;
	struct segment segments[SEGMENTS_MAX];
	size_t nr_segments;

	struct index eh_frame;
	struct index debug_frame; /* filled when .eh_frame first knows no answer */
	atomic_bool debug_frame_tried;

	pthread_mutex_t lock; /* guards what follows, and writing into the indexes */
	struct cfi_rule_set rules;
	struct arena arena;
	size_t nr_functions_read;
};

/* Stands for a function whose program is malformed. */
static const struct cfi_rows no_rows;

bool cfi_vaddr(const struct cfi *cfi, uint64_t off, uint64_t *vaddr)
{
	const struct segment *found = NULL;

	for (size_t i = 0; i < cfi->nr_segments; i++) {
		const struct segment *segment = &cfi->segments[i];

		if (off - segment->off < segment->size && (!found || segment->executable))
			found = segment;
	}
	if (!found)
		return false;
	*vaddr = off - found->off + found->vaddr;
	return true;
}

/* The file's bytes from vaddr to the end of its segment. */
static struct cursor bytes_at(const struct cfi *cfi, uint64_t vaddr)
{
	for (size_t i = 0; i < cfi->nr_segments; i++) {
		const struct segment *segment = &cfi->segments[i];
		uint64_t at = vaddr - segment->vaddr;

		if (at < segment->size)
			return cursor_of(cfi->file + segment->off + at,
			                 (size_t)(segment->size - at));
	}
	return (struct cursor){.bad = true};
}

struct code cfi_code(const struct cfi *cfi, uint64_t off)
{
	for (size_t i = 0; i < cfi->nr_segments; i++) {
		const struct segment *segment = &cfi->segments[i];

		if (segment->executable && off - segment->off < segment->size)
			return (struct code){cfi->file + segment->off, cfi->file + off,
			                     cfi->file + segment->off + segment->size};
	}
	return (struct code){0};
}

bool cfi_is_entry(const struct cfi *cfi, uint64_t vaddr)
{
	return vaddr - cfi->entry < ENTRY_SIZE;
}

uint16_t cfi_machine(const struct cfi *cfi)
{
	return cfi->machine;
}

static void segments_read(struct cfi *cfi)
{
	size_t nr = 0;
	GElf_Phdr phdr;

	if (elf_getphdrnum(cfi->elf, &nr) != 0)
		return;
	for (size_t i = 0; i < nr && cfi->nr_segments < SEGMENTS_MAX; i++) {
		if (!gelf_getphdr(cfi->elf, (int)i, &phdr) || phdr.p_type != PT_LOAD ||
		    phdr.p_offset >= cfi->file_size)
			continue;
		cfi->segments[cfi->nr_segments++] =
		        (struct segment){phdr.p_offset, phdr.p_vaddr,
		                         MIN_OF(phdr.p_filesz, cfi->file_size - phdr.p_offset),
		                         (phdr.p_flags & PF_X) != 0};
	}
}

static bool section_find(Elf *elf, const char *name, Elf_Scn **found, GElf_Shdr *shdr)
{
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings) != 0)
		return false;
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		const char *its;

		if (!gelf_getshdr(scn, shdr) || shdr->sh_type == SHT_NOBITS)
			continue;
		its = elf_strptr(elf, strings, shdr->sh_name);
		if (its && strcmp(its, name) == 0) {
			*found = scn;
			return true;
		}
	}
	return false;
}

static bool section_open(struct cfi_section *section, Elf *elf, const char *name)
{
	GElf_Shdr shdr;
	Elf_Scn *scn;
	Elf_Data *data;

	if (!section_find(elf, name, &scn, &shdr))
		return false;
	if (strncmp(name, ".z", 2) == 0)
		elf_compress_gnu(scn, 0, 0);
	else if (shdr.sh_flags & SHF_COMPRESSED)
		elf_compress(scn, 0, 0);
	data = elf_getdata(scn, NULL);
	if (!data || !data->d_buf || data->d_size == 0 || data->d_size > UINT32_MAX)
		return false;
	section->data = data->d_buf;
	section->size = data->d_size;
	section->vaddr = shdr.sh_addr;
	return true;
}

static void index_alloc(struct index *index, size_t nr)
{
	index->starts = mem_alloc(nr * sizeof(*index->starts));
	index->offsets = mem_alloc(nr * sizeof(*index->offsets));
	index->rows = mem_zalloc(nr * sizeof(*index->rows));
	index->nr = nr;
}

static void index_release(struct index *index)
{
	free(index->starts);
	free(index->offsets);
	free(index->rows);
	index->starts = index->offsets = NULL;
	index->rows = NULL;
	index->nr = 0;
}

/*
 * Takes the linker's search table: pairs of signed 32-bit numbers, both
 * relative to the table's section. false where it is of another form or not
 * in order.
 */
static bool index_from_table(struct index *index, struct cursor table, uint64_t nr,
                             uint64_t hdr_vaddr)
{
	int64_t section = (int64_t)(index->section.vaddr - hdr_vaddr), first = 0, last = INT64_MIN;

	if (nr == 0 || nr > cursor_left(&table) / 8)
		return false;
	index_alloc(index, nr);
	for (size_t i = 0; i < nr; i++) {
		int64_t start = cursor_int(&table, 4), offset = cursor_int(&table, 4) - section;

		if (i == 0)
			first = start;
		if (start < last || offset < 0 || (uint64_t)offset >= index->section.size) {
			index_release(index);
			return false;
		}
		index->starts[i] = (uint32_t)(start - first);
		index->offsets[i] = (uint32_t)offset;
		last = start;
	}
	index->base = hdr_vaddr + (uint64_t)first;
	return true;
}

struct found_fde {
	uint64_t start;
	uint32_t offset;
};

static int by_start(const void *a, const void *b)
{
	const struct found_fde *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static void index_from_scan(struct index *index)
{
	struct found_fde *found = NULL;
	size_t nr = 0, capacity = 0;
	struct cfi_fde fde;

	for (size_t at = 0; cfi_fde_read(&index->section, at, &fde); at = fde.next) {
		if (!fde.is_fde)
			continue;
		MEM_GROW(found, nr, capacity);
		found[nr++] = (struct found_fde){fde.start, (uint32_t)at};
	}
	if (nr > 0) {
		qsort(found, nr, sizeof(*found), by_start);
		index_alloc(index, nr);
		index->base = found[0].start;
		/* what is 4 GiB and more from the first is no code of this file */
		for (index->nr = 0; index->nr < nr; index->nr++) {
			uint64_t start = found[index->nr].start - index->base;

			if (start > UINT32_MAX)
				break;
			index->starts[index->nr] = (uint32_t)start;
			index->offsets[index->nr] = found[index->nr].offset;
		}
	}
	free(found);
}

/* .eh_frame as the program headers know it, which works without section headers. */
static bool eh_frame_by_segment(struct cfi *cfi)
{
	struct cfi_section *section = &cfi->eh_frame.section;
	struct cfi_section hdr = {.machine = cfi->machine};
	struct cursor cursor, bytes;
	uint64_t version, eh_frame, nr;
	uint8_t ptr_encoding, count_encoding, table_encoding;
	size_t nr_phdr = 0;
	GElf_Phdr phdr;

	if (elf_getphdrnum(cfi->elf, &nr_phdr) != 0)
		return false;
	for (size_t i = 0;; i++) {
		if (i == nr_phdr || !gelf_getphdr(cfi->elf, (int)i, &phdr))
			return false;
		if (phdr.p_type == PT_GNU_EH_FRAME)
			break;
	}
	if (phdr.p_offset >= cfi->file_size)
		return false;
	hdr.data = cfi->file + phdr.p_offset;
	hdr.size = MIN_OF(phdr.p_filesz, cfi->file_size - phdr.p_offset);
	hdr.vaddr = phdr.p_vaddr;
	cursor = cursor_of(hdr.data, hdr.size);
	version = cursor_uint(&cursor, 1);
	ptr_encoding = (uint8_t)cursor_uint(&cursor, 1);
	count_encoding = (uint8_t)cursor_uint(&cursor, 1);
	table_encoding = (uint8_t)cursor_uint(&cursor, 1);
	if (version != 1 || !cfi_pointer(&cursor, ptr_encoding, &hdr, hdr.vaddr, &eh_frame))
		return false;
	bytes = bytes_at(cfi, eh_frame);
	if (bytes.bad || cursor_left(&bytes) > UINT32_MAX)
		return false;
	section->data = bytes.at;
	section->size = cursor_left(&bytes);
	section->vaddr = eh_frame;
	return table_encoding == (DW_EH_PE_datarel | DW_EH_PE_sdata4) &&
	       count_encoding != DW_EH_PE_omit &&
	       cfi_pointer(&cursor, count_encoding, &hdr, hdr.vaddr, &nr) &&
	       index_from_table(&cfi->eh_frame, cursor, nr, hdr.vaddr);
}

static void eh_frame_open(struct cfi *cfi)
{
	struct cfi_section *section = &cfi->eh_frame.section;

	section->machine = cfi->machine;
	if (eh_frame_by_segment(cfi))
		return;
	/* a section header knows where .eh_frame ends; a segment alone knows more than enough */
	if (section_open(section, cfi->elf, ".eh_frame") || section->data)
		index_from_scan(&cfi->eh_frame);
}

static void debug_frame_open(struct cfi *cfi)
{
	static const char *const names[] = {".debug_frame", ".zdebug_frame"};
	struct cfi_section *section = &cfi->debug_frame.section;
	Elf *files[] = {cfi->elf, cfi->debug};

	section->machine = cfi->machine;
	section->is_debug = true;
	for (size_t i = 0; i < ARRAY_SIZE(files) && !section->data; i++)
		for (size_t j = 0; files[i] && j < ARRAY_SIZE(names) && !section->data; j++)
			section_open(section, files[i], names[j]);
	if (section->data)
		index_from_scan(&cfi->debug_frame);
}

struct cfi *cfi_new(Elf *elf, Elf *debug)
{
	GElf_Ehdr ehdr;
	struct cfi *cfi;

	if (!gelf_getehdr(elf, &ehdr) || ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
	    ehdr.e_ident[EI_DATA] != ELFDATA2LSB)
		return NULL;
	cfi = mem_zalloc(sizeof(*cfi));
	cfi->elf = elf;
	cfi->debug = debug;
	cfi->machine = ehdr.e_machine;
	cfi->entry = ehdr.e_entry ? ehdr.e_entry : UINT64_MAX;
	cfi->file = (const uint8_t *)elf_rawfile(elf, &cfi->file_size);
	if (!cfi->file)
		cfi->file_size = 0;
	pthread_mutex_init(&cfi->lock, NULL);
	segments_read(cfi);
	eh_frame_open(cfi);
	return cfi;
}

void cfi_free(struct cfi *cfi)
{
	if (!cfi)
		return;
	index_release(&cfi->eh_frame);
	index_release(&cfi->debug_frame);
	cfi_rule_set_release(&cfi->rules);
	arena_release(&cfi->arena);
	pthread_mutex_destroy(&cfi->lock);
	free(cfi);
}

static const struct cfi_rows *rows_of(struct cfi *cfi, struct index *index, size_t at)
{
	const struct cfi_rows *rows = atomic_load_explicit(&index->rows[at], memory_order_acquire);

	if (rows)
		return rows;
	pthread_mutex_lock(&cfi->lock);
	rows = atomic_load_explicit(&index->rows[at], memory_order_relaxed);
	if (!rows) {
		rows = cfi_program_run(&index->section, index->offsets[at], &cfi->rules,
		                       &cfi->arena);
		if (!rows)
			rows = &no_rows;
		atomic_store_explicit(&index->rows[at], rows, memory_order_release);
		cfi->nr_functions_read++;
	}
	pthread_mutex_unlock(&cfi->lock);
	return rows;
}

/* The last of nr sorted values that is not above `value`; nr > 0 and the first is not. */
static size_t last_not_above(const uint32_t *sorted, size_t nr, uint32_t value)
{
	size_t low = 0;

	while (nr > 1) {
		size_t half = nr / 2;

		low = sorted[low + half] <= value ? low + half : low;
		nr -= half;
	}
	return low;
}

static const struct cfi_rule *row_find(const struct cfi_rows *rows, uint32_t at)
{
	size_t low = 0;

	for (size_t nr = rows->nr; nr > 1;) {
		size_t half = nr / 2;

		low = rows->at[low + half].start <= at ? low + half : low;
		nr -= half;
	}
	return rows->at[low].rule;
}

static const struct cfi_rule *index_find(struct cfi *cfi, struct index *index, uint64_t vaddr)
{
	/* entries that cover nothing may stand before the one that counts */
	enum { TRIES = 4 };
	uint64_t at = vaddr - index->base;
	size_t i;

	if (index->nr == 0 || vaddr < index->base || at > UINT32_MAX)
		return NULL;
	i = last_not_above(index->starts, index->nr, (uint32_t)at);
	for (unsigned tries = 0; tries < TRIES; tries++) {
		const struct cfi_rows *rows = rows_of(cfi, index, i);

		if (vaddr - rows->start < rows->size)
			return row_find(rows, (uint32_t)(vaddr - rows->start));
		if (i-- == 0)
			break;
	}
	return NULL;
}

const struct cfi_rule *cfi_rule_at(struct cfi *cfi, uint64_t vaddr)
{
	const struct cfi_rule *rule = index_find(cfi, &cfi->eh_frame, vaddr);

	if (rule)
		return rule;
	if (!atomic_load_explicit(&cfi->debug_frame_tried, memory_order_acquire)) {
		pthread_mutex_lock(&cfi->lock);
		if (!atomic_load_explicit(&cfi->debug_frame_tried, memory_order_relaxed)) {
			debug_frame_open(cfi);
			atomic_store_explicit(&cfi->debug_frame_tried, true, memory_order_release);
		}
		pthread_mutex_unlock(&cfi->lock);
	}
	return index_find(cfi, &cfi->debug_frame, vaddr);
}

struct cfi_stats cfi_stats(struct cfi *cfi)
{
	size_t nr_fdes = cfi->eh_frame.nr + cfi->debug_frame.nr;
	struct cfi_stats stats;

	pthread_mutex_lock(&cfi->lock);
	stats = (struct cfi_stats){
	        .nr_fdes = nr_fdes,
	        .nr_functions_read = cfi->nr_functions_read,
	        .nr_rules = cfi->rules.nr,
	        .memory_size = sizeof(*cfi) + nr_fdes * (8 + sizeof(rows_slot)) +
	                       cfi->arena.total_size + cfi->rules.arena.total_size +
	                       cfi->rules.nr_slots * sizeof(*cfi->rules.slots),
	};
	pthread_mutex_unlock(&cfi->lock);
	return stats;
}
