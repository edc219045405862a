#include "share/compat.h"
#include "collapse/records/tracing.h"

#include "share/buf.h"

static const char magic[] = "\x17\x08\x44"
                            "tracing";

/* Text with its NUL, which must be there. */
static struct slice take_text(struct perfrec_cursor *c)
{
	struct slice text = perfrec_text(c);

	perfrec_bytes(c, text.size + 1);
	return text;
}

/* So many bytes behind a u64 that says how many. */
static struct slice take_file(struct perfrec_cursor *c)
{
	uint64_t size = perfrec_u64(c);
	const uint8_t *at = perfrec_bytes(c, size);

	return (struct slice){at ? (const char *)at : "", at ? (size_t)size : 0};
}

/* The rest of the line that begins so; empty where none does. */
static struct slice field_of(struct slice file, const char *key)
{
	const char *at = file.at, *end = file.at + file.size;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		struct slice line = {at, (size_t)((newline ? newline : end) - at)};

		if (slice_starts(line, key))
			return (struct slice){at + strlen(key), line.size - strlen(key)};
		at += line.size + 1;
	}
	return (struct slice){"", 0};
}

static uint64_t number_of(struct slice digits)
{
	uint64_t number = 0;

	for (size_t i = 0; i < digits.size && digits.at[i] >= '0' && digits.at[i] <= '9'; i++)
		number = number * 10 + (uint64_t)(digits.at[i] - '0');
	return number;
}

void tracing_read(struct perfrec_cursor c,
                  void (*tell)(void *ctx, struct slice name, uint64_t number), void *ctx)
{
	const uint8_t *head = perfrec_bytes(&c, sizeof(magic) - 1);
	struct buf name = {0};
	uint32_t nr;

	c.end = c.at + MIN_OF((uint64_t)(c.end - c.at), TRACING_SIZE_MAX);
	if (!head || memcmp(head, magic, sizeof(magic) - 1) != 0)
		return;
	take_text(&c);        /* version */
	perfrec_bytes(&c, 2); /* byte order and size of a long, as in the recording */
	perfrec_u32(&c);      /* size of a page */
	for (int i = 0; i < 2; i++) {
		take_text(&c);
		take_file(&c);
	}
	for (nr = perfrec_u32(&c); nr && !c.bad; nr--)
		take_file(&c);
	for (nr = perfrec_u32(&c); nr && !c.bad; nr--) {
		struct slice system = take_text(&c);

		for (uint32_t left = perfrec_u32(&c); left && !c.bad; left--) {
			struct slice file = take_file(&c), event = field_of(file, "name: ");

			if (!event.size)
				continue;
			buf_reset(&name);
			buf_add(&name, system.at, system.size);
			buf_char(&name, ':');
			buf_add(&name, event.at, event.size);
			tell(ctx, (struct slice){name.at, name.size},
			     number_of(field_of(file, "ID: ")));
		}
	}
	buf_release(&name);
}
