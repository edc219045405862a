#include "share/compat.h"
#include "collapse/names/demangle.h"

#include "share/num.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>

struct collect {
	struct buf *to;
	jmp_buf too_long;
};

/* Some names of a few letters stand for gigabytes: leave when it gets too much. */
static void collect(const char *text, size_t size, void *ctx)
{
	struct collect *c = ctx;

	if (c->to->size + size > DEMANGLE_MAX_OUT)
		longjmp(c->too_long, 1);
	buf_add(c->to, text, size);
}

/*
 * Whether a type of a function (F) or of a trait object (D) binds more than 62
 * lifetimes: a number in base 62 of two digits and more (Rust reference, v0
 * mangling, "binder"). The library counts through them one by one, without
 * writing any where the path is not shown, and there may be 2^64.
 */
static bool binds_too_many(const char *text)
{
	for (const char *at = strchr(text, 'G'); at; at = strchr(at + 1, 'G')) {
		const char *end = at + 1;

		while (isalnum((unsigned char)*end))
			end++;
		if (at > text && (at[-1] == 'F' || at[-1] == 'D') && *end == '_' && end - at > 2)
			return true;
	}
	return false;
}

/* These: false where the name is not of this language. text ends in a NUL. */
static bool demangle_rust(const char *text, struct buf *to)
{
	struct collect c = {.to = to};

	buf_reset(to);
	if (binds_too_many(text) || setjmp(c.too_long))
		return false;
	return rust_demangle_callback(text, 0, collect, &c) && to->size;
}

static bool demangle_cxx(const char *text, struct buf *to)
{
	struct collect c = {.to = to};

	buf_reset(to);
	if (setjmp(c.too_long))
		return false;
	return cplus_demangle_v3_callback(text, DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP, collect,
	                                  &c) &&
	       to->size;
}

/* ---- Rust's older mangling ---- */

/* "17h", 16 hexadecimal digits, "E": what ends such a name. */
enum { LEGACY_HASH = 20 };

static bool is_legacy_hash(const char *at)
{
	return strncmp(at, "17h", 3) == 0 && strspn(at + 3, "0123456789abcdef") == 16 &&
	       at[LEGACY_HASH - 1] == 'E';
}

/*
 * Where the name of a Rust function ends and a suffix such as ".llvm.123"
 * begins; NULL where it is none. Names of the older mangling hold dots
 * themselves.
 */
static char *rust_end(char *text)
{
	if (text[1] == 'R')
		return text + strcspn(text, ".");
	for (char *at = strstr(text, "17h"); at; at = strstr(at + 1, "17h"))
		if (is_legacy_hash(at) && (!at[LEGACY_HASH] || at[LEGACY_HASH] == '.'))
			return at + LEGACY_HASH;
	return NULL;
}

/* "LT", "u7b": what stood between two "$"; false where it stands for nothing. */
static bool add_legacy_escape(struct slice escape, struct buf *to)
{
	static const struct {
		const char name[3];
		char stands_for;
	} escapes[] = {{"SP", '@'}, {"BP", '*'}, {"RF", '&'}, {"LT", '<'},
	               {"GT", '>'}, {"LP", '('}, {"RP", ')'}, {"C", ','}};
	uint64_t code = 0;

	for (size_t i = 0; i < ARRAY_SIZE(escapes); i++)
		if (escape.size == strlen(escapes[i].name) &&
		    memcmp(escape.at, escapes[i].name, escape.size) == 0) {
			buf_char(to, escapes[i].stands_for);
			return true;
		}
	if (escape.size != 3 || escape.at[0] != 'u' ||
	    num_parse_hex(escape.at + 1, 2, &code) != 0 || code < ' ' || code > '~')
		return false;
	buf_char(to, (char)code);
	return true;
}

static void add_legacy_part(struct slice part, struct buf *to)
{
	const char *at = part.at, *end = part.at + part.size;

	/* no identifier may begin with "$": "_" was put before it */
	at += part.size > 1 && at[0] == '_' && at[1] == '$';
	while (at < end) {
		const char *close = *at == '$' ? memchr(at + 1, '$', (size_t)(end - at - 1)) : NULL;

		if (close &&
		    add_legacy_escape((struct slice){at + 1, (size_t)(close - at - 1)}, to)) {
			at = close + 1;
		} else if (end - at > 1 && at[0] == '.' && at[1] == '.') {
			buf_string(to, "::");
			at += 2;
		} else {
			buf_char(to, *at++);
		}
	}
}

/*
 * "_ZN", parts with their sizes in front, the hash, "E" (rustc, compiler/
 * rustc_symbol_mangling/src/legacy.rs). Not through the library, which leaves
 * names alone whose hash has few different digits. text ends behind the "E".
 */
static bool demangle_rust_legacy(const char *text, size_t size, struct buf *to)
{
	const char *at = text + 3, *end = text + size - LEGACY_HASH;

	buf_reset(to);
	if (size < 3 + LEGACY_HASH || memcmp(text, "_ZN", 3) != 0)
		return false;
	while (at < end) {
		size_t part = 0;

		while (at < end && isdigit((unsigned char)*at) && part < DEMANGLE_MAX_IN)
			part = part * 10 + (size_t)(*at++ - '0');
		if (!part || part > (size_t)(end - at))
			return false;
		buf_string(to, to->size ? "::" : "");
		add_legacy_part((struct slice){at, part}, to);
		at += part;
	}
	return to->size && to->size <= DEMANGLE_MAX_OUT;
}

/* ---- D ---- */

static bool demangle_d(char *text, struct buf *to)
{
	char *plain = dlang_demangle(text, 0);
	bool done;

	/* "return scope", which the library knows only the other way round */
	if (!plain && strstr(text, "NkM")) {
		for (char *at = text; (at = strstr(at, "NkM")) != NULL;)
			memcpy(at, "MNk", 3);
		plain = dlang_demangle(text, 0);
	}
	done = plain && strlen(plain) <= DEMANGLE_MAX_OUT;
	buf_reset(to);
	buf_string(to, done ? plain : "");
	free(plain);
	return done;
}

void demangle(struct slice name, enum symbolize_demangle how, struct buf *to)
{
	static const char plt[] = "@plt";
	bool done = false, is_plt = name.size > 6 && memcmp(name.at + name.size - 4, plt, 4) == 0;
	struct buf full = {0};
	char *text, *end;

	buf_reset(to);
	if (how == DEMANGLE_NONE || name.size < 3 || name.size > DEMANGLE_MAX_IN ||
	    name.at[0] != '_') {
		buf_add(to, name.at, name.size);
		return;
	}
	name.size -= is_plt ? 4 : 0;
	buf_add(&full, name.at, name.size);
	buf_char(&full, '\0');
	text = full.at;
	/* as Mach-O has it */
	text += strncmp(text, "__Z", 3) == 0;
	end = rust_end(text);
	if (end) {
		char first = *end;

		*end = '\0';
		done = text[1] == 'R' ? demangle_rust(text, to) :
		                        demangle_rust_legacy(text, (size_t)(end - text), to);
		*end = first;
		if (done && first)
			buf_printf(to, " [clone %s]", end);
	}
	if (!done && (text[1] == 'Z' || strncmp(text, "_GLOBAL_", 8) == 0))
		done = demangle_cxx(text, to);
	if (!done && text[1] == 'D')
		done = demangle_d(text, to);
	if (!done) {
		buf_reset(to);
		buf_add(to, name.at, name.size);
	} else if (how == DEMANGLE_SHORT) {
		buf_reset(&full);
		buf_add(&full, to->at, to->size);
		demangle_shorten((struct slice){full.at, full.size}, to);
	}
	buf_string(to, is_plt ? plt : "");
	buf_release(&full);
}

/* ---- the short form ---- */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (c & 0x80);
}

static bool begins_with(const char *at, const char *end, const char *text)
{
	size_t size = strlen(text);

	return (size_t)(end - at) >= size && memcmp(at, text, size) == 0;
}

/* The size of "operator" and its sign ("<<=", "->", "()"), or 0; is_first: nothing is before. */
static size_t operator_size(const char *at, const char *end, bool is_first)
{
	static const char keyword[] = "operator";
	/* each before those that it begins with */
	static const char *const signs[] = {
	        "()", "[]", "->*", "->",   "-=",     "--",   "-",         "<=>",     "<<=",
	        "<<", "<=", "<",   ">>=",  ">>",     ">=",   ">",         "++",      "+=",
	        "+",  "*=", "*",   "/=",   "/",      "%=",   "%",         "^=",      "^",
	        "&&", "&=", "&",   "||",   "|=",     "|",    "!=",        "!",       "==",
	        "=",  "~",  ",",   "\"\"", " new[]", " new", " delete[]", " delete", " co_await"};
	size_t size = sizeof(keyword) - 1;

	if (!begins_with(at, end, keyword) || (!is_first && is_word(at[-1])))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
		const char *behind = at + size + strlen(signs[i]);

		/* " newer" is a type to convert to */
		if (begins_with(at + size, end, signs[i]) &&
		    !(is_word(behind[-1]) && behind < end && is_word(*behind)))
			return (size_t)(behind - at);
	}
	return 0;
}

/* The place behind a text in quotation marks, or a letter ('<'); the same place where none is. */
static const char *behind_quoted(const char *at, const char *end)
{
	char quote = *at;
	const char *p = at + 1;

	if (quote == '\'' && end - at > 2 && at[1] != '\\')
		return at[2] == quote ? at + 3 : at; /* else a lifetime */
	while (p < end && *p != quote)
		p += *p == '\\' && p + 1 < end ? 2 : 1;
	return p < end ? p + 1 : at;
}

/* The size of a sign of an expression inside of brackets: "(1)<(2)", "(8)>>(2)", "->", or 0. */
static size_t sign_size(const char *at, const char *end)
{
	char next = at + 1 < end ? at[1] : '\0';

	if (*at == '<')
		return at[-1] != ')' ? 0 : next == '<' ? 2 : 1;
	if (at[-1] == '-' || next == '=')
		return 1;
	return end - at > 2 && at[-1] == ')' && next == '>' && at[2] == '(' ? 2 : 0;
}

/* The place behind the bracket that closes the one at `at`, or NULL. */
static const char *behind_bracket(const char *at, const char *end)
{
	char open[256];
	size_t depth = 0, skipped = 0, sign;
	const char *named = at; /* behind an operator: what opens there are arguments */

	for (const char *p = at; p < end; p += skipped) {
		skipped = 1;
		switch (*p) {
		case '"':
		case '\'':
			skipped = MAX_OF((size_t)(behind_quoted(p, end) - p), (size_t)1);
			break;
		case 'o':
			skipped = MAX_OF(operator_size(p, end, false), (size_t)1);
			named = skipped > 1 ? p + skipped : named;
			break;
		case '<':
			sign = p != named ? sign_size(p, end) : 0;
			if (sign) {
				skipped = sign;
				break;
			}
			/* fall through */
		case '(':
		case '[':
		case '{':
			if (depth == sizeof(open))
				return NULL;
			open[depth++] = *p == '(' ? ')' : (char)(*p + 2);
			break;
		case '>':
			sign = sign_size(p, end);
			if (sign) {
				skipped = sign;
				break;
			}
			if (open[depth - 1] != '>')
				break;
			/* fall through */
		case ')':
		case ']':
		case '}':
			/* a "<" that was none */
			while (depth && open[depth - 1] == '>' && *p != '>')
				depth--;
			if (!depth || open[depth - 1] != *p)
				return NULL;
			if (!--depth)
				return p + 1;
			break;
		}
	}
	return NULL;
}

/* The place behind " const &" and the like, which follow a parameter list. */
static const char *behind_qualifiers(const char *at, const char *end)
{
	static const char *const names[] = {" const",    " volatile", " &&",    " &",
	                                    " noexcept", " shared",   " inout", " immutable"};

	for (size_t i = 0; i < ARRAY_SIZE(names);) {
		if (begins_with(at, end, names[i])) {
			at += strlen(names[i]);
			i = 0;
		} else {
			i++;
		}
	}
	return at;
}

/*
 * Of "operator TYPE()": the place behind the type, which is the function's
 * name and whole. A type may have an empty list of its own: "void (*)()".
 */
static const char *behind_conversion(const char *at, const char *end)
{
	for (const char *behind; at < end; at = behind) {
		behind = *at == '(' || *at == '<' ? behind_bracket(at, end) : at + 1;
		if (!behind)
			return end;
		if (begins_with(at, end, "()") &&
		    !begins_with(behind_qualifiers(behind, end), end, "("))
			return at;
	}
	return end;
}

void demangle_shorten(struct slice name, struct buf *to)
{
	const char *at = name.at, *end = name.at + name.size, *behind;

	buf_reset(to);
	while (at < end) {
		size_t size = *at == 'o' ? operator_size(at, end, at == name.at) : 0;
		bool is_kept = true;

		behind = NULL;
		if (size) {
			buf_add(to, at, size);
			at += size;
			/* "operator<< <char>": arguments of the template, set apart by a blank */
			behind = at < end && *at == ' ' ? at + 1 : at;
			behind =
			        behind < end && *behind == '<' ? behind_bracket(behind, end) : NULL;
			at = behind ? behind : at;
			continue;
		}
		if (begins_with(at, end, "operator ") && (at == name.at || !is_word(at[-1]))) {
			behind = behind_conversion(at + 9, end);
		} else if (*at == '{' || *at == '[' || begins_with(at, end, "(anonymous") ||
		           (*at == '<' && (!to->size || begins_with(at, end, "<impl ")))) {
			/* "{lambda(int)#1}", "[abi:cxx11]" and Rust's "<T as Trait>" are names */
			behind = behind_bracket(at, end);
		} else if (*at == '(') {
			behind = behind_bracket(at, end);
			behind = behind ? behind_qualifiers(behind, end) : NULL;
			is_kept = false;
			/* D's "f!(int)" */
			to->size -= behind && to->size && to->at[to->size - 1] == '!';
		} else if (*at == '<' && (is_word(at[-1]) || at[-1] == ']' || at[-1] == ':')) {
			behind = behind_bracket(at, end);
			is_kept = false;
			/* Rust's f::<T> */
			to->size -= behind && to->size >= 2 &&
			                            memcmp(to->at + to->size - 2, "::", 2) == 0 ?
			                    2 :
			                    0;
		}
		if (!behind) {
			buf_char(to, *at++);
			continue;
		}
		if (is_kept)
			buf_add(to, at, (size_t)(behind - at));
		at = behind;
	}
	if (!to->size)
		buf_add(to, name.at, name.size);
}
