#include "share/compat.h"
#include "collapse/unwind/cfi.h"

#include "collapse/records/cursor.h"
#include "collapse/names/debugfile.h"
#include "share/mem.h"

#include <dwarf.h>
#include <elf.h>
#include <pthread.h>
#include <stdatomic.h>

/* _start is shorter than this on every libc */
#define ENTRY_SIZE 64

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
	struct elffile *file;
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
	return elffile_vaddr(cfi->file, off, vaddr);
}

struct code cfi_code(const struct cfi *cfi, uint64_t off)
{
	const struct elffile *file = cfi->file;

	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct elf_segment *segment = &file->segments[i];
		uint64_t size =
		        MIN_OF(segment->file_size, file->size - MIN_OF(segment->off, file->size));

		if (segment->type == PT_LOAD && (segment->flags & PF_X) &&
		    off - segment->off < size)
			return (struct code){file->bytes + segment->off, file->bytes + off,
			                     file->bytes + segment->off + size};
	}
	return (struct code){0};
}

bool cfi_is_entry(const struct cfi *cfi, uint64_t vaddr)
{
	return cfi->file->entry && vaddr - cfi->file->entry < ENTRY_SIZE;
}

uint16_t cfi_machine(const struct cfi *cfi)
{
	return cfi->file->machine;
}

static bool section_open(struct cfi_section *section, struct elffile *file, const char *name)
{
	struct elf_section *found = elffile_section(file, name);
	struct slice data = found ? elffile_data(file, found) : (struct slice){0};

	if (data.size == 0 || data.size > UINT32_MAX)
		return false;
	section->data = (const uint8_t *)data.at;
	section->size = data.size;
	section->vaddr = found->vaddr;
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
	const struct elffile *file = cfi->file;
	struct cfi_section *section = &cfi->eh_frame.section;
	const struct elf_segment *segment = file->segments;
	struct cfi_section hdr = {.machine = file->machine};
	struct cursor cursor;
	struct slice bytes;
	uint64_t version, eh_frame, nr;
	uint8_t ptr_encoding, count_encoding, table_encoding;

	while (segment < file->segments + file->nr_segments && segment->type != PT_GNU_EH_FRAME)
		segment++;
	if (segment == file->segments + file->nr_segments)
		return false;
	bytes = elffile_at_vaddr(file, segment->vaddr);
	hdr.data = (const uint8_t *)bytes.at;
	hdr.size = bytes.size;
	hdr.vaddr = segment->vaddr;
	cursor = cursor_of(hdr.data, MIN_OF(hdr.size, segment->file_size));
	version = cursor_uint(&cursor, 1);
	ptr_encoding = (uint8_t)cursor_uint(&cursor, 1);
	count_encoding = (uint8_t)cursor_uint(&cursor, 1);
	table_encoding = (uint8_t)cursor_uint(&cursor, 1);
	if (version != 1 || !cfi_pointer(&cursor, ptr_encoding, &hdr, hdr.vaddr, &eh_frame))
		return false;
	bytes = elffile_at_vaddr(file, eh_frame);
	if (bytes.size == 0 || bytes.size > UINT32_MAX)
		return false;
	section->data = (const uint8_t *)bytes.at;
	section->size = bytes.size;
	section->vaddr = eh_frame;
	return table_encoding == (DW_EH_PE_datarel | DW_EH_PE_sdata4) &&
	       count_encoding != DW_EH_PE_omit &&
	       cfi_pointer(&cursor, count_encoding, &hdr, hdr.vaddr, &nr) &&
	       index_from_table(&cfi->eh_frame, cursor, nr, hdr.vaddr);
}

static void eh_frame_open(struct cfi *cfi)
{
	struct cfi_section *section = &cfi->eh_frame.section;

	section->machine = cfi->file->machine;
	if (eh_frame_by_segment(cfi))
		return;
	/* a section header knows where .eh_frame ends; a segment alone knows more than enough */
	if (section_open(section, cfi->file, ".eh_frame") || section->data)
		index_from_scan(&cfi->eh_frame);
}

static void debug_frame_open(struct cfi *cfi)
{
	struct cfi_section *section = &cfi->debug_frame.section;
	struct elffile *debug;

	section->machine = cfi->file->machine;
	section->is_debug = true;
	if (!section_open(section, cfi->file, ".debug_frame")) {
		debug = debugfile_of(cfi->file);
		if (!debug || !section_open(section, debug, ".debug_frame"))
			return;
	}
	index_from_scan(&cfi->debug_frame);
}

struct cfi *cfi_new(struct elffile *file)
{
	struct cfi *cfi;

	if (file->is_big_endian || file->is_64 == (file->machine == EM_386))
		return NULL;
	cfi = mem_zalloc(sizeof(*cfi));
	cfi->file = file;
	pthread_mutex_init(&cfi->lock, NULL);
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
		const struct cfi_rule *rule = cfi_rows_find(rows_of(cfi, index, i), vaddr);

		if (rule)
			return rule;
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
			modules_lock();
			debug_frame_open(cfi);
			modules_unlock();
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
