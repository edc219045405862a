#include "share/compat.h"
#include "share/svgdata.h"

#include "share/mem.h"
#include "share/num.h"

static const char digits[] = SVGDATA_DIGITS;

_Static_assert(sizeof(digits) - 1 == SVGDATA_LAST + SVGDATA_MORE, "every digit has a value");

void svgdata_number(struct buf *out, weight_fx value)
{
	uint64_t small;

	for (; value >> 64; value = (value - SVGDATA_LAST) / SVGDATA_MORE)
		buf_char(out, digits[SVGDATA_LAST + (value - SVGDATA_LAST) % SVGDATA_MORE]);
	for (small = (uint64_t)value; small >= SVGDATA_LAST; small /= SVGDATA_MORE) {
		small -= SVGDATA_LAST;
		buf_char(out, digits[SVGDATA_LAST + small % SVGDATA_MORE]);
	}
	buf_char(out, digits[small]);
}

/* ---- reader ---- */

struct block {
	struct buf text; /* without the escapes */
	struct slice rest;
	int nr_columns;
	int decimals; /* of 10^-k, which numbers count */
	bool reverse;
	struct slice *names;
	size_t nr_names;
};

/* Decodes what xmlout writes: the five named entities and numeric ones. */
static void unescape(struct slice in, struct buf *out)
{
	static const struct {
		const char *entity;
		char c;
	} named[] = {{"&amp;", '&'},   {"&lt;", '<'},   {"&gt;", '>'}, {"&quot;", '"'},
	             {"&apos;", '\''}, {"&#39;", '\''}, {"&#34;", '"'}};

	while (in.size) {
		const char *amp = memchr(in.at, '&', in.size);
		size_t plain = amp ? (size_t)(amp - in.at) : in.size, skip = 1, i;

		buf_add(out, in.at, plain);
		in = (struct slice){in.at + plain, in.size - plain};
		if (!in.size)
			break;
		for (i = 0; i < ARRAY_SIZE(named); i++)
			if (slice_starts(in, named[i].entity))
				break;
		buf_char(out, i < ARRAY_SIZE(named) ? named[i].c : '&');
		if (i < ARRAY_SIZE(named))
			skip = strlen(named[i].entity);
		in = (struct slice){in.at + skip, in.size - skip};
	}
}

static int find_block(struct slice picture, struct block *block, struct err *err)
{
	static const char mark[] = "id=\"" SVGDATA_ID "\"";
	const char *end = picture.at + picture.size;
	const char *at = memmem(picture.at, picture.size, mark, sizeof(mark) - 1);
	const char *close;

	if (at)
		at = memchr(at, '>', (size_t)(end - at));
	if (!at)
		return err_set(err, "it carries no data of ours; flame-collapse reads pictures "
		                    "of other tools");
	at++;
	close = memchr(at, '<', (size_t)(end - at));
	if (!close)
		return err_set(err, "its data ends early");
	unescape((struct slice){at, (size_t)(close - at)}, &block->text);
	block->rest = (struct slice){buf_text(&block->text), block->text.size};
	return 0;
}

static bool next_line(struct block *block, struct slice *line)
{
	const char *newline = memchr(block->rest.at, '\n', block->rest.size);

	if (!newline)
		return false;
	*line = (struct slice){block->rest.at, (size_t)(newline - block->rest.at)};
	block->rest.at += line->size + 1;
	block->rest.size -= line->size + 1;
	return true;
}

/* "names 12": the number, which cannot exceed the bytes that are left. */
static int read_count(const struct block *block, struct slice line, const char *word, size_t *count)
{
	size_t size = strlen(word);
	uint64_t value;

	if (!slice_starts(line, word) ||
	    num_parse_u64(line.at + size, line.size - size, &value) < 0 || value > block->rest.size)
		return -1;
	*count = value;
	return 0;
}

static void read_key(struct block *block, struct slice line, struct buf *out)
{
	uint64_t value;

	if (slice_starts(line, "h.")) {
		const char *equals = memchr(line.at, '=', line.size);
		char last = line.at[line.size - 1];
		const char *quote = last >= '0' && last <= '9' ? "\"" : "";

		if (!equals)
			return;
		buf_string(out, "# ");
		buf_add(out, line.at + 2, (size_t)(equals - line.at) - 2);
		buf_printf(out, ": %s%.*s%s\n", quote, (int)(line.at + line.size - equals - 1),
		           equals + 1, quote);
	} else if (slice_equals(line, "columns=2")) {
		block->nr_columns = 2;
	} else if (slice_equals(line, "reverse=1")) {
		block->reverse = true;
	} else if (slice_starts(line, "scale=") &&
	           num_parse_u64(line.at + 6, line.size - 6, &value) == 0 && value <= 9) {
		block->decimals = (int)value;
	}
}

static int read_head(struct block *block, struct buf *out)
{
	struct slice line;

	if (!next_line(block, &line) || !slice_equals(line, SVGDATA_ID " 1"))
		return -1;
	while (next_line(block, &line) && !slice_starts(line, "names "))
		if (line.size)
			read_key(block, line, out);
	if (read_count(block, line, "names ", &block->nr_names) < 0)
		return -1;
	block->names = mem_alloc((block->nr_names + 1) * sizeof(*block->names));
	for (size_t i = 0; i < block->nr_names; i++) {
		const char *blank;

		if (!next_line(block, &line) || !(blank = memchr(line.at, ' ', line.size)))
			return -1;
		block->names[i] =
		        (struct slice){blank + 1, (size_t)(line.at + line.size - blank - 1)};
	}
	return 0;
}

/* False at the end, at a byte that is no digit and where 128 bits do not do. */
static bool read_number(struct slice *rest, weight_fx *value)
{
	weight_fx unit = 1, offset = 0;

	for (;; rest->at++, rest->size--) {
		const char *at = rest->size && *rest->at ? strchr(digits, *rest->at) : NULL;
		unsigned digit = at ? (unsigned)(at - digits) : 0;

		if (!at || unit >> 100)
			return false;
		if (digit < SVGDATA_LAST) {
			*value = offset + digit * unit;
			rest->at++;
			rest->size--;
			return true;
		}
		/* 62 + r, and 24 times what follows */
		offset += digit * unit;
		unit *= SVGDATA_MORE;
	}
}

static void write_stack(const struct block *block, const uint32_t *path, size_t depth,
                        const weight_fx *self, struct buf *out)
{
	weight_fx unit = WEIGHT_ONE;
	char number[WEIGHT_TEXT];

	for (int i = 0; i < block->decimals; i++)
		unit /= 10;
	for (size_t i = 0; i < depth; i++) {
		struct slice name = block->names[path[block->reverse ? depth - 1 - i : i]];

		if (i)
			buf_char(out, ';');
		buf_add(out, name.at, name.size);
	}
	for (int c = 0; c < block->nr_columns; c++) {
		buf_char(out, ' ');
		buf_add(out, number, weight_format(number, self[c] * unit));
	}
	buf_char(out, '\n');
}

static int read_frames(struct block *block, struct buf *out, struct err *err)
{
	const weight_fx most = (weight_fx)WEIGHT_ONE << 64;
	struct slice line;
	size_t nr_frames, depth = 0, capacity = 0;
	uint32_t *path = NULL; /* name ids, the child of the root of all first */
	int rc = -1;

	if (!next_line(block, &line) || read_count(block, line, "frames ", &nr_frames) < 0)
		return -1;
	for (size_t i = 0; i < nr_frames; i++) {
		weight_fx name, self[2] = {0, 0}, up = 0;
		bool any = false;

		if (i) {
			MEM_GROW(path, depth, capacity);
			if (!read_number(&block->rest, &name) || name >= block->nr_names)
				goto done;
			path[depth++] = (uint32_t)name;
		}
		for (int c = 0; c < block->nr_columns; c++) {
			if (!read_number(&block->rest, &self[c]) || self[c] >= most)
				goto done;
			any |= self[c] != 0;
		}
		if ((any || block->nr_columns == 2 || i + 1 == nr_frames) &&
		    !read_number(&block->rest, &up))
			goto done;
		if (any && depth)
			write_stack(block, path, depth, self, out);
		if (out->size > SVGDATA_MAX_FOLDED) {
			rc = err_set(err, "its data is more than %zu bytes of stacks",
			             SVGDATA_MAX_FOLDED);
			goto done;
		}
		if (up > depth && i + 1 < nr_frames)
			goto done;
		depth -= (size_t)MIN_OF(up, depth);
	}
	rc = 0;
done:
	free(path);
	return rc;
}

int svgdata_to_folded(struct slice picture, struct buf *out, struct err *err)
{
	struct block block = {.nr_columns = 1};
	int rc;

	*err = (struct err){0};
	rc = find_block(picture, &block, err);
	if (rc == 0)
		rc = read_head(&block, out);
	if (rc == 0) {
		if (block.nr_columns == 2)
			buf_string(out, "# columns: before after\n");
		rc = read_frames(&block, out, err);
	}
	if (rc < 0 && !*err->text)
		err_set(err, "its data is damaged near byte %zu",
		        block.text.size - block.rest.size);
	buf_release(&block.text);
	free(block.names);
	return rc;
}
