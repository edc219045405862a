#include "share/compat.h"
#include "collapse/records/embedded.h"

#include "collapse/names/demangle.h"
#include "collapse/formats/proto.h"
#include "share/mem.h"

enum { KIND_KERNEL, KIND_KERNEL_MODULE, KIND_ELF, KIND_DEX, KIND_SYMBOL_MAP };

void embedded_release(struct embedded *embedded)
{
	for (size_t i = 0; i < embedded->nr; i++)
		free(embedded->files[i].symbols);
	free(embedded->files);
	arena_release(&embedded->texts);
	*embedded = (struct embedded){0};
}

static int compare_symbols(const void *a, const void *b)
{
	const struct embedded_symbol *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void add_file(struct embedded *embedded, struct embedded_file *file)
{
	if (file->nr)
		qsort(file->symbols, file->nr, sizeof(*file->symbols), compare_symbols);
	MEM_GROW(embedded->files, embedded->nr, embedded->capacity);
	embedded->files[embedded->nr++] = *file;
	embedded->is_sorted = false;
}

static const char *copy(struct embedded *embedded, struct slice text)
{
	return arena_copy(&embedded->texts, text.at, strnlen(text.at, text.size));
}

/* Text with its NUL, which must be there. */
static struct slice take_text(struct perfrec_cursor *c)
{
	struct slice text = perfrec_text(c);

	perfrec_bytes(c, text.size + 1);
	return text;
}

static void read_file(struct embedded *embedded, struct perfrec_cursor c)
{
	struct embedded_file file = {.path = copy(embedded, take_text(&c))};
	uint32_t nr;
	size_t capacity = 0;

	file.kind = perfrec_u32(&c);
	file.vaddr = perfrec_u64(&c);
	nr = perfrec_u32(&c);
	for (uint32_t i = 0; i < nr && !c.bad; i++) {
		struct embedded_symbol symbol = {.start = perfrec_u64(&c)};

		symbol.size = perfrec_u32(&c);
		symbol.name = copy(embedded, take_text(&c));
		if (c.bad)
			break;
		MEM_GROW(file.symbols, file.nr, capacity);
		file.symbols[file.nr++] = symbol;
	}
	if (file.kind == KIND_DEX) {
		nr = perfrec_u32(&c);
		perfrec_bytes(&c, (uint64_t)nr * 8);
	}
	if ((file.kind == KIND_ELF || file.kind == KIND_KERNEL_MODULE) && !c.bad &&
	    c.end - c.at >= 8) {
		file.offset = perfrec_u64(&c);
		file.has_offset = file.offset != UINT64_MAX;
	}
	add_file(embedded, &file);
}

/* FileFeature.Symbol: 1 vaddr, 2 len, 3 name. */
static struct embedded_symbol proto_symbol(struct embedded *embedded, struct slice bytes)
{
	struct embedded_symbol symbol = {.name = ""};
	struct proto proto = proto_of(bytes);
	struct proto_field field;

	while (proto_next(&proto, &field)) {
		if (field.number == 1)
			symbol.start = field.value;
		else if (field.number == 2)
			symbol.size = field.value;
		else if (field.number == 3 && field.wire == 2)
			symbol.name = copy(embedded, field.bytes);
	}
	return symbol;
}

/*
 * FileFeature: 1 path, 2 type, 3 min_vaddr, 4 symbols, 6 ElfFile, 7
 * KernelModule (both: 1 the offset that belongs to min_vaddr).
 */
static void read_proto_file(struct embedded *embedded, struct slice bytes)
{
	struct embedded_file file = {.path = ""};
	struct proto proto = proto_of(bytes);
	struct proto_field field, inner;
	size_t capacity = 0;

	while (proto_next(&proto, &field)) {
		if (field.number == 1 && field.wire == 2) {
			file.path = copy(embedded, field.bytes);
		} else if (field.number == 2) {
			file.kind = (uint32_t)field.value;
		} else if (field.number == 3) {
			file.vaddr = field.value;
		} else if (field.number == 4 && field.wire == 2) {
			MEM_GROW(file.symbols, file.nr, capacity);
			file.symbols[file.nr++] = proto_symbol(embedded, field.bytes);
		} else if ((field.number == 6 || field.number == 7) && field.wire == 2) {
			struct proto sub = proto_of(field.bytes);

			/* an offset of 0 is not written */
			file.has_offset = true;
			while (proto_next(&sub, &inner))
				if (inner.number == 1)
					file.offset = inner.value;
		}
	}
	add_file(embedded, &file);
}

void embedded_read(struct embedded *embedded, struct perfrec_cursor c, bool is_proto)
{
	while (c.end - c.at >= 4) {
		uint32_t size = perfrec_u32(&c);
		const uint8_t *at = perfrec_bytes(&c, size);

		if (!at)
			return;
		if (is_proto)
			read_proto_file(embedded, (struct slice){(const char *)at, size});
		else
			read_file(embedded, (struct perfrec_cursor){at, at + size, c.swap, false});
	}
}

static int compare_files(const void *a, const void *b)
{
	const struct embedded_file *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static uint64_t symbol_address(const struct embedded_file *file, const struct module *module,
                               uint64_t off)
{
	switch (file->kind) {
	case KIND_KERNEL_MODULE:
		off -= module->key.text_address;
		return file->has_offset ? off - file->offset + file->vaddr : off + file->vaddr;
	case KIND_ELF:
		/* older writers: the lowest executable page is the start of the map */
		return file->has_offset ? off - file->offset + file->vaddr : off;
	}
	return off;
}

const char *embedded_find(struct embedded *embedded, const struct module *module, uint64_t off,
                          bool is_return)
{
	const struct embedded_file key = {.path = module->key.path};
	const struct embedded_file *file;
	size_t low = 0, high;
	uint64_t address;

	if (!embedded->nr)
		return NULL;
	if (!embedded->is_sorted)
		qsort(embedded->files, embedded->nr, sizeof(*embedded->files), compare_files);
	embedded->is_sorted = true;
	file = bsearch(&key, embedded->files, embedded->nr, sizeof(*file), compare_files);
	if (!file)
		return NULL;
	address = symbol_address(file, module, off - is_return);
	for (high = file->nr; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (file->symbols[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address - file->symbols[low - 1].start >= file->symbols[low - 1].size)
		return NULL;
	return file->symbols[low - 1].name;
}

bool embedded_name(struct embedded *embedded, const struct module *module, uint64_t off,
                   bool is_return, enum symbolize_demangle how, struct buf *name)
{
	const char *mangled = embedded_find(embedded, module, off, is_return);

	if (!mangled || !mangled[0])
		return false;
	demangle((struct slice){mangled, strlen(mangled)}, how, name);
	return true;
}
