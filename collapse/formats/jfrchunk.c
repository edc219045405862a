#include "share/compat.h"
#include "collapse/formats/jfrchunk.h"

#include "share/mem.h"
#include "share/num.h"

#define MAX_NESTING 16 /* of structs in structs, and of metadata elements */

static uint64_t big_endian(struct jfr_cursor *c, size_t size)
{
	uint64_t v = 0;

	if ((size_t)(c->end - c->at) < size) {
		c->is_bad = true;
		c->at = c->end;
		return 0;
	}
	for (size_t i = 0; i < size; i++)
		v = v << 8 | *c->at++;
	return v;
}

uint64_t jfr_int(const struct jfr_chunk *chunk, struct jfr_cursor *c, enum jfr_kind kind)
{
	static const uint8_t sizes[] = {
	        [JFR_BYTE] = 1, [JFR_SHORT] = 2, [JFR_INT] = 4, [JFR_LONG] = 8};
	uint64_t v = 0;

	if (kind == JFR_BYTE || !chunk->is_compressed)
		return big_endian(c, sizes[kind]);
	for (unsigned i = 0; i < 9; i++) {
		uint8_t byte;

		if (c->at == c->end) {
			c->is_bad = true;
			return 0;
		}
		byte = *c->at++;
		if (i == 8)
			return v | (uint64_t)byte << 56;
		v |= (uint64_t)(byte & 0x7f) << 7 * i;
		if (byte < 0x80)
			break;
	}
	return v;
}

static void skip_bytes(struct jfr_cursor *c, uint64_t size)
{
	if (size > (uint64_t)(c->end - c->at)) {
		c->is_bad = true;
		c->at = c->end;
		return;
	}
	c->at += size;
}

/* ---- strings ---- */

enum { TEXT_NULL, TEXT_EMPTY, TEXT_POOL, TEXT_UTF8, TEXT_CHARS, TEXT_LATIN1 };

static void add_char(struct buf *buf, uint32_t c)
{
	if (c < 0x80) {
		buf_char(buf, (char)c);
	} else if (c < 0x800) {
		buf_char(buf, (char)(0xc0 | c >> 6));
		buf_char(buf, (char)(0x80 | (c & 0x3f)));
	} else {
		buf_char(buf, (char)(0xe0 | (c >> 12 & 0xf)));
		buf_char(buf, (char)(0x80 | (c >> 6 & 0x3f)));
		buf_char(buf, (char)(0x80 | (c & 0x3f)));
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): two levels at most */
static struct slice text_at(struct jfr_chunk *chunk, struct jfr_cursor *c, struct buf *buf,
                            int depth)
{
	uint64_t encoding = jfr_int(chunk, c, JFR_BYTE), size;
	const char *at;

	switch (encoding) {
	case TEXT_POOL: {
		uint64_t id = jfr_int(chunk, c, JFR_LONG);
		struct jfr_cursor place;

		for (size_t i = 0; i < chunk->nr_classes && depth < 2; i++)
			if (chunk->classes[i].kind == JFR_STRING &&
			    jfr_constant(chunk, &chunk->classes[i], id, &place))
				return text_at(chunk, &place, buf, depth + 1);
		return (struct slice){0};
	}
	case TEXT_UTF8:
		size = jfr_int(chunk, c, JFR_INT);
		at = (const char *)c->at;
		skip_bytes(c, size);
		return c->is_bad ? (struct slice){0} : (struct slice){at, size};
	case TEXT_CHARS:
	case TEXT_LATIN1:
		size = jfr_int(chunk, c, JFR_INT);
		buf_reset(buf);
		for (; size && !c->is_bad && c->at < c->end; size--)
			add_char(buf,
			         (uint32_t)jfr_int(chunk, c,
			                           encoding == TEXT_CHARS ? JFR_SHORT : JFR_BYTE));
		c->is_bad |= size > 0;
		return (struct slice){buf->at, buf->size};
	case TEXT_NULL:
	case TEXT_EMPTY:
		return (struct slice){0};
	default:
		c->is_bad = true;
		return (struct slice){0};
	}
}

struct slice jfr_text(struct jfr_chunk *chunk, struct jfr_cursor *c, struct buf *buf)
{
	return text_at(chunk, c, buf, 0);
}

/* ---- values ---- */

const struct jfr_class *jfr_class_by_id(const struct jfr_chunk *chunk, uint64_t id)
{
	uint32_t index = idmap_get(&chunk->class_ids, id);

	return index == UINT32_MAX ? NULL : &chunk->classes[index];
}

static void skip_value(struct jfr_chunk *chunk, const struct jfr_class *class, struct jfr_cursor *c,
                       int depth);

/* NOLINTNEXTLINE(misc-no-recursion): see skip_value */
static void skip_field(struct jfr_chunk *chunk, const struct jfr_field *field, struct jfr_cursor *c,
                       int depth)
{
	const struct jfr_class *class = jfr_class_by_id(chunk, field->type);
	uint64_t nr = field->is_array ? jfr_int(chunk, c, JFR_INT) : 1;

	if (!class && !field->is_pool)
		c->is_bad = true;
	for (; nr && !c->is_bad; nr--) {
		if (!chunk->steps_left)
			c->is_bad = true;
		else if (field->is_pool)
			jfr_int(chunk, c, JFR_LONG);
		else
			skip_value(chunk, class, c, depth + 1);
		chunk->steps_left -= chunk->steps_left > 0;
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): types in types, as deep as MAX_NESTING */
static void skip_value(struct jfr_chunk *chunk, const struct jfr_class *class, struct jfr_cursor *c,
                       int depth)
{
	struct buf buf = {0};

	switch (class->kind) {
	case JFR_STRUCT:
		if (depth > MAX_NESTING || !chunk->steps_left) {
			c->is_bad = true;
			break;
		}
		for (size_t i = 0; i < class->nr_fields && !c->is_bad; i++)
			skip_field(chunk, &chunk->fields[class->first_field + i], c, depth);
		break;
	case JFR_FLOAT:
		skip_bytes(c, 4);
		break;
	case JFR_DOUBLE:
		skip_bytes(c, 8);
		break;
	case JFR_STRING:
		switch (c->at < c->end ? *c->at : TEXT_NULL) {
		case TEXT_POOL: /* looking it up is not needed for stepping over */
			c->at++;
			jfr_int(chunk, c, JFR_LONG);
			break;
		default:
			jfr_text(chunk, c, &buf);
		}
		break;
	default:
		jfr_int(chunk, c, class->kind);
	}
	buf_release(&buf);
}

void jfr_skip(struct jfr_chunk *chunk, const struct jfr_class *class, struct jfr_cursor *c)
{
	skip_value(chunk, class, c, 0);
}

bool jfr_find(struct jfr_chunk *chunk, const struct jfr_class *class, const char *name,
              struct jfr_cursor *c, const struct jfr_field **field)
{
	for (size_t i = 0; i < class->nr_fields && !c->is_bad; i++) {
		*field = &chunk->fields[class->first_field + i];
		if (slice_equals((*field)->name, name))
			return true;
		skip_field(chunk, *field, c, 0);
	}
	return false;
}

bool jfr_constant(const struct jfr_chunk *chunk, const struct jfr_class *class, uint64_t id,
                  struct jfr_cursor *c)
{
	uint32_t place = idmap_get(&class->pool, id);

	if (place == UINT32_MAX)
		return false;
	*c = (struct jfr_cursor){chunk->start + chunk->places[place], chunk->end, false};
	return true;
}

int64_t jfr_number(struct jfr_chunk *chunk, const struct jfr_class *class, const char *name,
                   struct jfr_cursor value, int64_t fallback)
{
	const struct jfr_field *field;
	const struct jfr_class *type;
	uint64_t v;

	if (!jfr_find(chunk, class, name, &value, &field) || field->is_pool || field->is_array)
		return fallback;
	type = jfr_class_by_id(chunk, field->type);
	if (!type || type->kind < JFR_BYTE || type->kind > JFR_LONG)
		return fallback;
	v = jfr_int(chunk, &value, type->kind);
	return value.is_bad ? fallback : (int64_t)v;
}

bool jfr_follow(struct jfr_chunk *chunk, const struct jfr_class *class, const char *name,
                struct jfr_cursor value, const struct jfr_class **to, struct jfr_cursor *place,
                uint64_t *id)
{
	const struct jfr_field *field;

	if (!jfr_find(chunk, class, name, &value, &field) || !field->is_pool || field->is_array)
		return false;
	*to = jfr_class_by_id(chunk, field->type);
	*id = jfr_int(chunk, &value, JFR_LONG);
	return *to && !value.is_bad && jfr_constant(chunk, *to, *id, place);
}

/* ---- metadata ---- */

static enum jfr_kind kind_of(struct slice name)
{
	static const struct {
		const char *name;
		enum jfr_kind kind;
	} kinds[] = {
	        {"boolean", JFR_BYTE}, {"byte", JFR_BYTE},     {"char", JFR_SHORT},
	        {"short", JFR_SHORT},  {"int", JFR_INT},       {"long", JFR_LONG},
	        {"float", JFR_FLOAT},  {"double", JFR_DOUBLE}, {"java.lang.String", JFR_STRING},
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (slice_equals(name, kinds[i].name))
			return kinds[i].kind;
	return JFR_STRUCT;
}

struct metadata {
	struct jfr_chunk *chunk;
	struct jfr_cursor *cursor;
	struct slice *strings;
	size_t nr;
};

static struct slice next_string(struct metadata *m)
{
	uint64_t index = jfr_int(m->chunk, m->cursor, JFR_INT);

	if (index < m->nr)
		return m->strings[index];
	m->cursor->is_bad = true;
	return (struct slice){"", 0};
}

/* One element without its children: classes and fields are kept. Returns the number of children. */
static uint64_t take_element(struct metadata *m)
{
	struct jfr_chunk *chunk = m->chunk;
	struct slice element = next_string(m), name = {"", 0};
	uint64_t nr = jfr_int(chunk, m->cursor, JFR_INT), id = 0, type = 0;
	struct jfr_field field = {0};

	for (; nr && !m->cursor->is_bad; nr--) {
		struct slice key = next_string(m), value = next_string(m);

		if (slice_equals(key, "name"))
			name = value;
		else if (slice_equals(key, "id"))
			m->cursor->is_bad |= num_parse_u64(value.at, value.size, &id) != 0;
		else if (slice_equals(key, "class"))
			m->cursor->is_bad |= num_parse_u64(value.at, value.size, &type) != 0;
		else if (slice_equals(key, "constantPool"))
			field.is_pool = slice_equals(value, "true");
		else if (slice_equals(key, "dimension"))
			field.is_array = !slice_equals(value, "0");
	}
	if (slice_equals(element, "class")) {
		MEM_GROW(chunk->classes, chunk->nr_classes, chunk->classes_capacity);
		idmap_set(&chunk->class_ids, id, (uint32_t)chunk->nr_classes);
		chunk->classes[chunk->nr_classes++] =
		        (struct jfr_class){id, name, kind_of(name), chunk->nr_fields, 0, {0}};
	} else if (slice_equals(element, "field") && chunk->nr_classes) {
		MEM_GROW(chunk->fields, chunk->nr_fields, chunk->fields_capacity);
		field.name = name;
		field.type = type;
		chunk->fields[chunk->nr_fields++] = field;
		chunk->classes[chunk->nr_classes - 1].nr_fields++;
	}
	return jfr_int(chunk, m->cursor, JFR_INT);
}

static int read_metadata(struct jfr_chunk *chunk, uint64_t offset, struct err *err)
{
	struct jfr_cursor c = {chunk->start + offset, chunk->end, false};
	struct metadata m = {.chunk = chunk, .cursor = &c};
	uint64_t pending[MAX_NESTING], nr_strings; /* children still to come, by level */
	struct buf buf = {0};
	size_t capacity = 0, depth = 0;

	jfr_int(chunk, &c, JFR_INT);  /* size */
	jfr_int(chunk, &c, JFR_LONG); /* type: 0 */
	jfr_int(chunk, &c, JFR_LONG); /* start */
	jfr_int(chunk, &c, JFR_LONG); /* duration */
	jfr_int(chunk, &c, JFR_LONG); /* id */
	nr_strings = jfr_int(chunk, &c, JFR_INT);
	for (; nr_strings && !c.is_bad; nr_strings--) {
		struct slice text = jfr_text(chunk, &c, &buf);

		MEM_GROW(m.strings, m.nr, capacity);
		m.strings[m.nr++] = (struct slice){
		        arena_copy(&chunk->texts, text.size ? text.at : "", text.size), text.size};
	}
	pending[0] = 1;
	depth = 1;
	while (depth && !c.is_bad) {
		if (!pending[depth - 1]) {
			depth--;
			continue;
		}
		pending[depth - 1]--;
		if (depth == MAX_NESTING)
			c.is_bad = true;
		else
			pending[depth++] = take_element(&m);
	}
	free(m.strings);
	buf_release(&buf);
	return c.is_bad ? err_set(err, "the metadata of a chunk is damaged") : 0;
}

/* ---- constant pools ---- */

static bool read_pool(struct jfr_chunk *chunk, struct jfr_cursor *c)
{
	uint32_t index = idmap_get(&chunk->class_ids, jfr_int(chunk, c, JFR_LONG));
	uint64_t nr = jfr_int(chunk, c, JFR_INT);
	struct jfr_class *class;

	if (index == UINT32_MAX)
		return false;
	class = &chunk->classes[index];
	for (; nr && !c->is_bad; nr--) {
		uint64_t id = jfr_int(chunk, c, JFR_LONG);

		MEM_GROW(chunk->places, chunk->nr_places, chunk->places_capacity);
		chunk->places[chunk->nr_places] = (size_t)(c->at - chunk->start);
		jfr_skip(chunk, class, c);
		if (!c->is_bad)
			idmap_set(&class->pool, id, (uint32_t)chunk->nr_places++);
	}
	return !c->is_bad;
}

/* Checkpoints form a chain backwards: each tells its distance to the one before. */
static int read_pools(struct jfr_chunk *chunk, uint64_t offset, struct err *err)
{
	uint64_t size = (uint64_t)(chunk->end - chunk->start);
	int64_t delta = 1;

	while (delta && offset && offset < size) {
		struct jfr_cursor c = {chunk->start + offset, chunk->end, false};
		uint64_t nr;

		jfr_int(chunk, &c, JFR_INT);
		if (jfr_int(chunk, &c, JFR_LONG) != 1)
			return err_set(err,
			               "no constant pool where a chunk says that there is one");
		jfr_int(chunk, &c, JFR_LONG);
		jfr_int(chunk, &c, JFR_LONG);
		delta = (int64_t)jfr_int(chunk, &c, JFR_LONG);
		jfr_int(chunk, &c, JFR_BYTE);
		for (nr = jfr_int(chunk, &c, JFR_INT); nr && !c.is_bad; nr--)
			if (!read_pool(chunk, &c))
				return err_set(err, "a constant pool is damaged");
		if (delta > 0 && delta != INT64_MAX) /* only backwards: no circles */
			break;
		offset += (uint64_t)delta;
	}
	return 0;
}

/* ---- chunk ---- */

int jfr_chunk_open(struct jfr_chunk *chunk, struct slice bytes, size_t *size, struct err *err)
{
	struct jfr_cursor c = {(const uint8_t *)bytes.at,
	                       (const uint8_t *)bytes.at + MIN_OF(bytes.size, JFR_HEADER_SIZE),
	                       false};
	uint64_t major, minor, chunk_size, pools, metadata;

	*chunk = (struct jfr_chunk){0};
	*size = 0;
	if (bytes.size < JFR_HEADER_SIZE || !slice_starts(bytes, JFR_MAGIC))
		return err_set(err,
		               "the file is cut, or holds something else, where a chunk of JFR "
		               "should begin");
	c.at += 4;
	major = big_endian(&c, 2);
	minor = big_endian(&c, 2);
	if (!major)
		return err_set(err,
		               "this is JFR of version 0.%llu, written by a JVM before JDK 9; "
		               "versions 1 and 2 are read: record with JDK 8u262 or later, or see "
		               "this one with JDK Mission Control",
		               (unsigned long long)minor);
	if (major > 2)
		return err_set(err, "this is JFR of version %llu.%llu; versions 1 and 2 are read",
		               (unsigned long long)major, (unsigned long long)minor);
	chunk_size = big_endian(&c, 8);
	pools = big_endian(&c, 8);
	metadata = big_endian(&c, 8);
	big_endian(&c, 8);
	big_endian(&c, 8);
	big_endian(&c, 8);
	chunk->ticks_per_second = big_endian(&c, 8);
	chunk->is_compressed = big_endian(&c, 4) & 1;
	if (chunk_size < JFR_HEADER_SIZE || chunk_size > bytes.size || metadata >= chunk_size ||
	    pools >= chunk_size)
		return err_set(err, "a chunk of JFR is cut, or its header is damaged");
	*size = (size_t)chunk_size;
	chunk->start = (const uint8_t *)bytes.at;
	chunk->end = chunk->start + chunk_size;
	chunk->steps_left = chunk_size * 16 + 1000000;
	if (read_metadata(chunk, metadata, err) || read_pools(chunk, pools, err))
		return -1;
	return 0;
}

void jfr_chunk_close(struct jfr_chunk *chunk)
{
	for (size_t i = 0; i < chunk->nr_classes; i++)
		idmap_release(&chunk->classes[i].pool);
	free(chunk->classes);
	free(chunk->fields);
	free(chunk->places);
	idmap_release(&chunk->class_ids);
	arena_release(&chunk->texts);
	*chunk = (struct jfr_chunk){0};
}

bool jfr_next_event(const struct jfr_chunk *chunk, struct jfr_cursor *events, uint64_t *type,
                    struct jfr_cursor *event)
{
	const uint8_t *start;
	uint64_t size;

	if (!events->at)
		*events = (struct jfr_cursor){chunk->start + JFR_HEADER_SIZE, chunk->end, false};
	if (events->at == events->end)
		return false;
	start = events->at;
	size = jfr_int(chunk, events, JFR_INT);
	if (events->is_bad || size < 2 || size > (uint64_t)(events->end - start)) {
		events->is_bad = true;
		return false;
	}
	*event = (struct jfr_cursor){events->at, start + size, false};
	*type = jfr_int(chunk, event, JFR_LONG);
	events->at = start + size;
	return true;
}
