#include "share/compat.h"
#include "collapse/formats/textin.h"

#include "collapse/names/demangle.h"
#include "collapse/names/symtab.h"

#include "share/buf.h"

/* The parts of a frame line. */
struct parts {
	struct slice address, symbol; /* size 0: not there */
	struct slice module;          /* at NULL: not there; "()" is empty */
	bool inlined;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool ends_with(struct slice s, const char *tail)
{
	size_t size = strlen(tail);

	return s.size >= size && memcmp(s.at + s.size - size, tail, size) == 0;
}

static struct slice trim_end(struct slice s)
{
	while (s.size && is_blank(s.at[s.size - 1]))
		s.size--;
	return s;
}

/* "+0x1f" at the end of a symbol, or of a module where -F dsoff is on. */
static struct slice cut_offset(struct slice s)
{
	size_t at = s.size;

	while (at && (is_digit(s.at[at - 1]) || (s.at[at - 1] >= 'a' && s.at[at - 1] <= 'f')))
		at--;
	if (at < s.size && at >= 3 && memcmp(s.at + at - 3, "+0x", 3) == 0)
		s.size = at - 3;
	return s;
}

/* Where the bracket that the last ")" closes opens; SIZE_MAX without one. */
static size_t open_bracket(struct slice s)
{
	size_t depth = 0;

	if (!s.size || s.at[s.size - 1] != ')')
		return SIZE_MAX;
	for (size_t i = s.size; i-- > 0;) {
		depth += s.at[i] == ')';
		depth -= s.at[i] == '(';
		if (!depth)
			return i == 0 || is_blank(s.at[i - 1]) ? i : SIZE_MAX;
	}
	return SIZE_MAX;
}

static struct parts split(struct slice frame)
{
	struct parts parts = {0};
	const char *cut;
	size_t i = 0, open;

	while (i < frame.size && is_blank(frame.at[i]))
		i++;
	parts.address.at = frame.at + i;
	while (i < frame.size && !is_blank(frame.at[i]))
		i++;
	parts.address.size = (size_t)(frame.at + i - parts.address.at);
	while (i < frame.size && is_blank(frame.at[i]))
		i++;
	frame = trim_end((struct slice){frame.at + i, frame.size - i});
	open = open_bracket(frame);
	cut = open == SIZE_MAX ? memmem(frame.at, frame.size, " (/", 3) : NULL;
	if (cut) {
		/* the line was cut within the path */
		parts.module = (struct slice){cut + 2, frame.size - (size_t)(cut + 2 - frame.at)};
		frame.size = (size_t)(cut - frame.at);
	} else if (open != SIZE_MAX) {
		parts.module = (struct slice){frame.at + open + 1, frame.size - open - 2};
		frame.size = open;
		parts.inlined = slice_equals(parts.module, "inlined");
	}
	parts.symbol = cut_offset(trim_end(frame));
	parts.module = cut_offset(parts.module);
	return parts;
}

static struct slice base_of(struct slice path)
{
	const char *slash = path.size ? memrchr(path.at, '/', path.size) : NULL;

	/* "(deleted)" and the like stand behind a blank; no slash follows there */
	if (!slash || slash + 1 == path.at + path.size)
		return path;
	return (struct slice){slash + 1, path.size - (size_t)(slash + 1 - path.at)};
}

/* "/tmp/perf-123.map", below any root. */
static bool is_perf_map(struct slice module)
{
	struct slice base = base_of(module);
	size_t i = 5;

	if (!slice_starts(base, "perf-") || !ends_with(base, ".map"))
		return false;
	while (i < base.size && is_digit(base.at[i]))
		i++;
	return i > 5 && i + 4 == base.size;
}

/* Modules that perf prints in brackets although user code is in them. */
static bool is_kernel(struct slice module)
{
	static const char *const user[] = {"[unknown]", "[vdso]",     "[vdso32]",
	                                   "[vdsox32]", "[vsyscall]", "[heap]",
	                                   "[stack]",   "[anon",      "[uprobes]"};

	if (ends_with(module, "vmlinux") || ends_with(module, ".ko") ||
	    ends_with(module, ".ko.xz") || ends_with(module, ".ko.zst") ||
	    ends_with(module, ".ko.gz") || slice_starts(base_of(module), "vmlinux-"))
		return true;
	if (!module.size || module.at[0] != '[')
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(user); i++)
		if (slice_starts(module, user[i]))
			return false;
	return true;
}

/* "[libc.so.6]", "[kernel]", "[unknown]". */
static void add_unknown(struct buf *name, struct slice module, struct slice address)
{
	struct slice base = base_of(module);

	if (!module.at)
		buf_printf(name, "0x%.*s", (int)address.size, address.at);
	else if (slice_starts(module, "[kernel.") || slice_starts(module, "[guest.kernel."))
		buf_string(name, module.at[1] == 'k' ? "[kernel]" : "[guest kernel]");
	else if (!module.size || slice_starts(module, "[unknown]") ||
	         slice_starts(module, "//anon") || is_perf_map(module))
		buf_string(name, "[unknown]");
	else if (base.at[0] == '[')
		buf_add(name, base.at, base.size);
	else
		buf_printf(name, "[%.*s]", (int)base.size, base.at);
}

static size_t add_name(struct folder *folder, struct buf *name, const char *mark,
                       struct slice srcline, uint32_t *names, size_t nr)
{
	if (srcline.size) {
		buf_char(name, ':');
		buf_add(name, srcline.at, srcline.size);
	}
	buf_string(name, mark);
	names[nr] = folder_name(folder, name->at, name->size);
	return nr + 1;
}

/* The text below a frame that -F srcline prints: "  spin.c:6 (inlined)". */
static struct slice clean_srcline(struct slice s)
{
	s = trim_end(s);
	while (s.size && is_blank(*s.at)) {
		s.at++;
		s.size--;
	}
	if (ends_with(s, "(inlined)"))
		s.size -= 9;
	return trim_end(s);
}

/*
 * "write@@GLIBC_2.2.5" without the version of the symbol; "write@plt" stays.
 * The recording's own symbols are named without it too.
 */
static struct slice cut_version(struct slice symbol)
{
	const char *at = symbol.size > 1 ? memchr(symbol.at + 1, '@', symbol.size - 1) : NULL;
	const char *end = symbol.at + symbol.size, *c;

	if (!at)
		return symbol;
	c = at + 1 < end && at[1] == '@' ? at + 2 : at + 1;
	if (c == end || *c < 'A' || *c > 'Z')
		return symbol;
	while (c < end && (is_digit(*c) || (*c >= 'A' && *c <= 'Z') || (*c >= 'a' && *c <= 'z') ||
	                   *c == '_' || *c == '.'))
		c++;
	return c == end ? (struct slice){symbol.at, (size_t)(at - symbol.at)} : symbol;
}

static size_t plain_names(struct folder *folder, const struct format_options *options,
                          struct slice frame, struct slice srcline,
                          uint32_t names[TEXTIN_NAMES_MAX])
{
	struct parts parts = split(frame);
	const bool is_jit = is_perf_map(parts.module);
	const char *mark = is_kernel(parts.module) ? "_[k]" : is_jit ? "_[j]" : "";
	struct slice left = is_jit ? parts.symbol : symtab_cut_alias(cut_version(parts.symbol));
	struct buf name = {0};
	size_t nr = 0;

	/* with -F srcline the mark is there */
	parts.inlined = parts.inlined || ends_with(srcline, " (inlined)");
	if (parts.inlined && !options->inlines)
		return 0;
	if (parts.inlined)
		mark = "_[i]";
	srcline = options->srcline ? clean_srcline(srcline) : (struct slice){NULL, 0};
	/* in place of user frames that are in a record of their own */
	if (slice_equals(left, "(cookie)") && slice_equals(parts.module, "[unknown]")) {
		names[0] = folder_name(folder, "[truncated]", 11);
		return 1;
	}
	if (!left.size || slice_equals(left, "[unknown]")) {
		add_unknown(&name, parts.module, parts.address);
		if (options->addresses && parts.module.size)
			buf_printf(&name, "+0x%.*s", (int)parts.address.size, parts.address.at);
		if (is_jit)
			mark = "";
		nr = add_name(folder, &name, options->annotate ? mark : "", srcline, names, 0);
		buf_release(&name);
		return nr;
	}
	/* maps of Java methods name what was inlined there: outer->inner */
	while (left.size && nr < TEXTIN_NAMES_MAX) {
		const char *arrow = is_jit ? memmem(left.at, left.size, "->", 2) : NULL;
		size_t size = arrow ? (size_t)(arrow - left.at) : left.size;

		buf_reset(&name);
		if (options->shorten && !is_jit)
			demangle_shorten((struct slice){left.at, size}, &name);
		else
			buf_add(&name, left.at, size);
		if (size && (nr == 0 || options->inlines))
			nr = add_name(folder, &name,
			              !options->annotate ? "" :
			              nr                 ? "_[i]" :
			                                   mark,
			              srcline, names, nr);
		left.at += arrow ? size + 2 : size;
		left.size -= arrow ? size + 2 : size;
	}
	buf_release(&name);
	return nr;
}

/* ---- as stackcollapse-perf.pl names them ---- */

/*
 * The pattern blanks, word, blanks, name, " (", module, ")" as perl matches
 * it: each part takes as much as it can and gives back what the rest needs.
 */
static bool split_compat(struct slice frame, struct parts *parts)
{
	const char *end = frame.at + frame.size, *at = frame.at, *open, *close;

	while (at < end && is_blank(*at))
		at++;
	parts->address.at = at;
	while (at < end && (is_digit(*at) || (*at >= 'a' && *at <= 'z') ||
	                    (*at >= 'A' && *at <= 'Z') || *at == '_'))
		at++;
	parts->address.size = (size_t)(at - parts->address.at);
	close = memrchr(at, ')', (size_t)(end - at));
	if (!parts->address.size || !close)
		return false;
	for (open = close; open > at; open--)
		if (open[-1] == ' ' && *open == '(')
			break;
	/* the name has one byte at least, be it the last of the address */
	open--;
	if (open < at || open < parts->address.at + 2)
		return false;
	while (at < open - 1 && is_blank(*at))
		at++;
	at = MIN_OF(at, open - 1);
	parts->address.size = MIN_OF(parts->address.size, (size_t)(at - parts->address.at));
	parts->symbol = (struct slice){at, (size_t)(open - at)};
	parts->module = (struct slice){open + 2, (size_t)(close - open - 2)};
	return true;
}

/* /\.\(.*\)\./: a method of Go, "net/http.(*Client).Do". */
static bool is_go_method(const struct buf *name)
{
	const char *open = memmem(name->at, name->size, ".(", 2);

	return open && memmem(open + 2, name->size - (size_t)(open + 2 - name->at), ").", 2);
}

static void tidy(struct buf *name, bool is_java)
{
	static const char anonymous[] = "(anonymous namespace)";
	size_t size = 0;

	if (!is_go_method(name)) {
		for (size_t i = 0; i < name->size; i++) {
			if (name->at[i] != '(' ||
			    (name->size - i >= strlen(anonymous) &&
			     memcmp(name->at + i, anonymous, strlen(anonymous)) == 0))
				continue;
			name->size = i;
			break;
		}
	}
	for (size_t i = 0; i < name->size; i++)
		if (name->at[i] != '"' && name->at[i] != '\'')
			name->at[size++] = name->at[i];
	name->size = size;
	if (is_java && size && name->at[0] == 'L' && memchr(name->at, '/', size))
		memmove(name->at, name->at + 1, --name->size);
}

static const char *compat_mark(const struct format_options *options, struct slice module,
                               const struct buf *name, size_t nr)
{
	bool is_marked;

	if (nr)
		return memmem(name->at, name->size, "_[i]", 4) ? "" : "_[i]";
	if (options->compat_kernel &&
	    ((module.size && module.at[0] == '[') || ends_with(module, "vmlinux")) &&
	    !memmem(module.at, module.size, "unknown", 7))
		return "_[k]";
	is_marked = name->size && memmem(name->at, name->size, "_[j]", 4);
	for (const char *at = module.at, *end = module.at + module.size;
	     options->compat_jit && !is_marked &&
	     (at = memmem(at, (size_t)(end - at), "/tmp/perf-", 10));) {
		const char *digits = at += 10;

		while (at < end && is_digit(*at))
			at++;
		if (at > digits && end - at >= 4 && memcmp(at, ".map", 4) == 0)
			return "_[j]";
	}
	return "";
}

/* Source lines lose "[...]" and outer blanks. */
static void add_compat_srcline(struct buf *name, struct slice s)
{
	struct buf line = {0};
	const char *at, *end;

	buf_reserve(&line, s.size + 1);
	for (size_t i = 0; i < s.size; i++) {
		const char *close = s.at[i] == '[' ? memchr(s.at + i, ']', s.size - i) : NULL;

		if (close)
			i = (size_t)(close - s.at);
		else
			buf_char(&line, s.at[i]);
	}
	at = line.at;
	end = line.at + line.size;
	while (at < end && is_blank(*at))
		at++;
	while (at < end && is_blank(end[-1]))
		end--;
	if (at < end) {
		buf_char(name, ':');
		buf_add(name, at, (size_t)(end - at));
	}
	buf_release(&line);
}

static size_t compat_names(struct folder *folder, const struct format_options *options,
                           struct slice frame, struct slice srcline, struct slice comm,
                           uint32_t names[TEXTIN_NAMES_MAX])
{
	struct parts parts;
	struct slice left;
	struct buf name = {0};
	size_t nr = 0;

	if (!split_compat(frame, &parts))
		return plain_names(folder, options, frame, srcline, names);
	left = cut_offset(parts.symbol);
	if (left.size && left.at[0] == '(')
		return 0;
	buf_reserve(&name, 1);
	while (left.size && nr < TEXTIN_NAMES_MAX) {
		const char *arrow = memmem(left.at, left.size, "->", 2);
		size_t size = arrow ? (size_t)(arrow - left.at) : left.size;
		struct slice base = base_of(parts.module);
		bool is_unknown = false;
		const char *mark;

		buf_reset(&name);
		if (size == 9 && memcmp(left.at, "[unknown]", 9) == 0) {
			is_unknown = slice_equals(parts.module, "[unknown]");
			if (is_unknown)
				base = (struct slice){"unknown", 7};
			buf_printf(&name, "[%.*s", (int)base.size, base.at);
			if (options->addresses)
				buf_printf(&name, " <%.*s>", (int)parts.address.size,
				           parts.address.at);
			buf_char(&name, ']');
		} else {
			buf_add(&name, left.at, size);
		}
		tidy(&name, slice_starts(comm, "java"));
		mark = compat_mark(options, parts.module, &name, nr);
		buf_string(&name, mark);
		if (options->srcline && !is_unknown)
			add_compat_srcline(&name, srcline);
		/* an empty name stays one there: ";;" */
		names[nr++] = name.size ? folder_name(folder, name.at, name.size) :
		                          strtab_id(&folder->names, "", 0);
		left.at += arrow ? size + 2 : size;
		left.size -= arrow ? size + 2 : size;
	}
	buf_release(&name);
	return nr;
}

size_t textin_names(struct folder *folder, const struct format_options *options, struct slice frame,
                    struct slice srcline, struct slice comm, uint32_t names[TEXTIN_NAMES_MAX])
{
	if (options->flamegraph_compat)
		return compat_names(folder, options, frame, srcline, comm, names);
	return plain_names(folder, options, frame, srcline, names);
}
