#include "share/compat.h"
#include "collapse/names/jitdump.h"

#include "share/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAGIC = 0x4A695444, HEADER_SIZE = 40, PREFIX_SIZE = 16 };
enum { JIT_CODE_LOAD, JIT_CODE_MOVE, JIT_CODE_DEBUG_INFO, JIT_CODE_CLOSE, JIT_CODE_UNWINDING_INFO };
enum { FLAG_ARCH_TIMESTAMP = 1 };

/* Read in one piece; what is behind it comes with the next reading. */
#define MAX_PIECE ((size_t)1 << 30)

struct record_reader {
	const uint8_t *at, *end;
	bool swap, bad;
};

static uint64_t take(struct record_reader *r, unsigned size)
{
	uint64_t value = 0;

	if ((size_t)(r->end - r->at) < size) {
		r->bad = true;
		return 0;
	}
	memcpy(&value, r->at, size);
	r->at += size;
	if (r->swap)
		value = size == 4 ? __builtin_bswap32((uint32_t)value) : __builtin_bswap64(value);
	return value;
}

/* 40 bytes: magic, version, size of all of it, machine, pad, pid, time, flags. */
static bool read_header(struct jitdump *jitdump, const uint8_t *bytes, size_t size)
{
	struct record_reader r = {bytes, bytes + size, false, false};
	uint64_t magic = take(&r, 4), header_size, flags;

	jitdump->swap = r.swap = magic == __builtin_bswap32(MAGIC);
	if (magic != MAGIC && !r.swap)
		return false;
	take(&r, 4);
	header_size = take(&r, 4);
	jitdump->machine = (uint16_t)take(&r, 4);
	take(&r, 4);
	take(&r, 4);
	take(&r, 8);
	flags = take(&r, 8);
	if (r.bad || header_size < HEADER_SIZE || header_size > 65536)
		return false;
	jitdump->no_time = flags & FLAG_ARCH_TIMESTAMP;
	jitdump->offset = header_size;
	return true;
}

static void add_code(struct jitdump *jitdump, const struct jitdump_code *code, uint64_t size)
{
	if (!size || code->start > UINT64_MAX - size)
		return;
	MEM_GROW(jitdump->at, jitdump->nr, jitdump->capacity);
	jitdump->at[jitdump->nr] = *code;
	jitdump->at[jitdump->nr++].end = code->start + size;
	jitdump->is_sorted = false;
}

static void take_load(struct jitdump *jitdump, struct record_reader *r, uint64_t time)
{
	uint64_t address, size, index;
	const uint8_t *end;

	take(r, 4);
	take(r, 4);
	take(r, 8); /* vma */
	address = take(r, 8);
	size = take(r, 8);
	index = take(r, 8);
	end = r->bad ? NULL : memchr(r->at, '\0', (size_t)(r->end - r->at));
	if (end && end > r->at)
		add_code(jitdump,
		         &(struct jitdump_code){
		                 .start = address,
		                 .first_start = address,
		                 .time = time,
		                 .index = index,
		                 .name = arena_copy(&jitdump->names, r->at, (size_t)(end - r->at)),
		                 .unwinding = jitdump->unwinding,
		                 .lines = jitdump->lines},
		         size);
	jitdump->unwinding = jitdump->lines = (struct slice){0};
}

/* Kept as they are, and read when somebody asks for one; they stand before their code. */
static void take_lines(struct jitdump *jitdump, const struct record_reader *r)
{
	size_t size = (size_t)(r->end - r->at);

	jitdump->lines = (struct slice){arena_copy(&jitdump->names, r->at, size), size};
}

static void take_unwinding(struct jitdump *jitdump, struct record_reader *r)
{
	uint64_t size = take(r, 8), header_size = take(r, 8);

	take(r, 8); /* what of it the runtime itself has mapped */
	if (r->bad || size > (size_t)(r->end - r->at) || header_size > size)
		return;
	size -= header_size;
	jitdump->unwinding = (struct slice){arena_copy(&jitdump->names, r->at, size), size};
}

static void take_move(struct jitdump *jitdump, struct record_reader *r, uint64_t time)
{
	uint64_t from, to, size, index;

	take(r, 4);
	take(r, 4);
	take(r, 8);
	from = take(r, 8);
	to = take(r, 8);
	size = take(r, 8);
	index = take(r, 8);
	if (r->bad)
		return;
	/* the latest code of that number that was there; moves follow loads closely */
	for (size_t i = jitdump->nr; i-- > 0;)
		if (jitdump->at[i].index == index && jitdump->at[i].start == from) {
			struct jitdump_code moved = jitdump->at[i];

			moved.start = to;
			moved.time = time;
			moved.rows = NULL;
			moved.rows_tried = false;
			add_code(jitdump, &moved, size);
			return;
		}
}

/* Whole records from jitdump->offset on, which is where bytes begin. */
static void read_records(struct jitdump *jitdump, const uint8_t *bytes, size_t size)
{
	size_t at = 0;
	size_t moves_left = 1 << 16; /* each looks back through what was loaded */

	while (size - at >= PREFIX_SIZE) {
		struct record_reader r = {bytes + at, bytes + size, jitdump->swap, false};
		uint64_t id = take(&r, 4), total = take(&r, 4), time = take(&r, 8);

		if (total < PREFIX_SIZE) {
			jitdump->is_bad = true;
			break;
		}
		if (total > size - at)
			break;
		r.end = bytes + at + total;
		if (id == JIT_CODE_LOAD)
			take_load(jitdump, &r, time);
		else if (id == JIT_CODE_MOVE && moves_left && moves_left--)
			take_move(jitdump, &r, time);
		else if (id == JIT_CODE_DEBUG_INFO)
			take_lines(jitdump, &r);
		else if (id == JIT_CODE_UNWINDING_INFO)
			take_unwinding(jitdump, &r);
		jitdump->newest = MAX_OF(jitdump->newest, time);
		at += total;
	}
	jitdump->offset += at;
}

/* Reads on, where the file has grown. */
static void read_on(struct jitdump *jitdump)
{
	int fd = jitdump->path && !jitdump->is_bad ?
	                 open(jitdump->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) :
	                 -1;
	struct stat st;
	uint8_t *bytes;
	size_t want, size = 0;
	ssize_t got;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size > jitdump->offset) {
		want = (size_t)MIN_OF((uint64_t)st.st_size - jitdump->offset, (uint64_t)MAX_PIECE);
		bytes = mem_alloc(want);
		while (size < want && (got = pread(fd, bytes + size, want - size,
		                                   (off_t)(jitdump->offset + size))) > 0)
			size += (size_t)got;
		read_records(jitdump, bytes, size);
		free(bytes);
	}
	close(fd);
}

struct jitdump *jitdump_parse(const void *bytes, size_t size)
{
	struct jitdump *jitdump = mem_zalloc(sizeof(*jitdump));

	if (!read_header(jitdump, bytes, size)) {
		jitdump_free(jitdump);
		return NULL;
	}
	if (size > jitdump->offset)
		read_records(jitdump, (const uint8_t *)bytes + jitdump->offset,
		             size - jitdump->offset);
	return jitdump;
}

struct jitdump *jitdump_open(const char *path, const uid_t *uid, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
	struct jitdump *jitdump = NULL;
	uint8_t header[HEADER_SIZE];
	struct stat st;

	if (fd < 0) {
		err->code = errno;
		err_set(err, "cannot open '%s'", path);
		return NULL;
	}
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		err_set(err, "'%s' is not a regular file", path);
	else if (st.st_uid != geteuid() && st.st_uid != 0 && !(uid && st.st_uid == *uid))
		err_set(err, "'%s' belongs to another user", path);
	else if (pread(fd, header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	         !(jitdump = jitdump_parse(header, sizeof(header))))
		err_set(err, "'%s' is no jitdump file", path);
	close(fd);
	if (jitdump) {
		jitdump->path = mem_strdup(path);
		read_on(jitdump);
	}
	return jitdump;
}

void jitdump_free(struct jitdump *jitdump)
{
	if (!jitdump)
		return;
	free(jitdump->path);
	free(jitdump->at);
	arena_release(&jitdump->names);
	cfi_rule_set_release(&jitdump->rules);
	arena_release(&jitdump->rows);
	free(jitdump);
}

static int by_start(const void *a, const void *b)
{
	const struct jitdump_code *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->time < y->time ? -1 : x->time > y->time;
}

static void sort_codes(struct jitdump *jitdump)
{
	uint64_t max_end = 0;

	if (jitdump->is_sorted)
		return;
	if (jitdump->nr)
		qsort(jitdump->at, jitdump->nr, sizeof(*jitdump->at), by_start);
	for (size_t i = 0; i < jitdump->nr; i++) {
		max_end = MAX_OF(max_end, jitdump->at[i].end);
		jitdump->at[i].max_end = max_end;
	}
	jitdump->is_sorted = true;
}

/* More code than this over one address is no JIT's work. */
enum { MAX_LOOK_BACK = 4096 };

static struct jitdump_code *find(struct jitdump *jitdump, uint64_t address, uint64_t time)
{
	struct jitdump_code *best = NULL, *first = NULL;
	size_t low = 0, high;

	if (time > jitdump->newest)
		read_on(jitdump);
	sort_codes(jitdump);
	high = jitdump->nr;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (jitdump->at[middle].start > address)
			high = middle;
		else
			low = middle + 1;
	}
	for (size_t i = low, left = MAX_LOOK_BACK; i-- > 0 && left--;) {
		struct jitdump_code *code = &jitdump->at[i];

		if (code->max_end <= address)
			break;
		if (code->end <= address)
			continue;
		if ((jitdump->no_time || code->time <= time) && (!best || code->time > best->time))
			best = code;
		if (!first || code->time < first->time)
			first = code;
	}
	/* code is announced after it was made, and may have run before: the first there was */
	return best ? best : first;
}

const struct jitdump_code *jitdump_find(struct jitdump *jitdump, uint64_t address, uint64_t time)
{
	return find(jitdump, address, time);
}

/* The rows of the entry that covers the code; there is one for each code. */
static const struct cfi_rows *read_rows(struct jitdump *jitdump, const struct jitdump_code *code)
{
	const struct cfi_section section = {
	        .data = (const uint8_t *)code->unwinding.at,
	        .size = code->unwinding.size,
	        .vaddr = code->start + ((code->end - code->start + 7) & ~(uint64_t)7),
	        .machine = jitdump->machine,
	};
	struct cfi_fde fde;

	for (size_t at = 0; cfi_fde_read(&section, at, &fde); at = fde.next)
		if (fde.is_fde && fde.start < code->end && fde.start + fde.size > code->start)
			return cfi_program_run(&section, at, &jitdump->rules, &jitdump->rows);
	return NULL;
}

const struct cfi_rule *jitdump_rule(struct jitdump *jitdump, uint64_t address, uint64_t time)
{
	struct jitdump_code *code = find(jitdump, address, time);

	if (!code || !code->unwinding.size)
		return NULL;
	if (!code->rows_tried) {
		code->rows_tried = true;
		code->rows = read_rows(jitdump, code);
	}
	return code->rows ? cfi_rows_find(code->rows, address) : NULL;
}

/* No text that people could read, which V8 11 writes: freed memory in the place of names. */
static bool is_file_name(const char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name < ' ' || *name == 0x7f)
			return false;
	return true;
}

/*
 * Behind the address of the code and the number of entries, each is an
 * address, line, discriminator and the file's name, "\xff" for the one before.
 * V8 counts its addresses from the 64 bytes of an ELF header on
 * (src/diagnostics/perf-jit.cc, kElfHeaderSize).
 */
uint32_t jitdump_line(const struct jitdump *jitdump, const struct jitdump_code *code,
                      uint64_t address, const char **file)
{
	enum { V8_SHIFT = 64 };
	struct record_reader r = {.swap = jitdump->swap};
	uint64_t off = address - code->start, shift = 0, best = 0, base, nr;
	const char *name = NULL;
	uint32_t found = 0;

	if (!code->lines.size)
		return 0;
	r.at = (const uint8_t *)code->lines.at;
	r.end = r.at + code->lines.size;
	base = take(&r, 8);
	nr = take(&r, 8);
	if (base != code->first_start)
		return 0;
	for (uint64_t i = 0; i < nr; i++) {
		uint64_t at = take(&r, 8) - base;
		uint32_t line = (uint32_t)take(&r, 4);
		const char *text;

		take(&r, 4);
		text = (const char *)r.at;
		if (r.bad || !memchr(text, '\0', (size_t)(r.end - r.at)))
			return 0;
		r.at += strlen(text) + 1;
		if (i == 0 && at == V8_SHIFT)
			shift = V8_SHIFT;
		if (at < shift || at - shift >= code->end - code->start)
			return 0;
		at -= shift;
		if (strcmp(text, "\xff") != 0)
			name = text;
		if (!name || !is_file_name(name))
			return 0;
		if (at <= off && at >= best) {
			best = at;
			found = line;
			*file = name;
		}
	}
	return found;
}
