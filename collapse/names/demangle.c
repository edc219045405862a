#include "share/compat.h"
#include "collapse/names/demangle.h"

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

/* Both: false where the name is not of this language. text ends in a NUL. */
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

/*
 * Where the name of a Rust function ends and a suffix such as ".llvm.123"
 * begins; NULL where it is none. Names of the older mangling hold dots
 * themselves and end in "17h", 16 hexadecimal digits and "E".
 */
static char *rust_end(char *text)
{
	if (text[1] == 'R')
		return text + strcspn(text, ".");
	for (char *at = strstr(text, "17h"); at; at = strstr(at + 1, "17h"))
		if (strspn(at + 3, "0123456789abcdef") == 16 && at[19] == 'E' &&
		    (!at[20] || at[20] == '.'))
			return at + 20;
	return NULL;
}

void demangle(struct slice name, enum symbolize_demangle how, struct buf *to)
{
	static const char plt[] = "@plt";
	bool done = false, is_plt = name.size > 6 && memcmp(name.at + name.size - 4, plt, 4) == 0;
	struct buf full = {0};
	char *text, *end;

	buf_reset(to);
	if (how == DEMANGLE_NONE || name.size < 3 || name.size > DEMANGLE_MAX_IN ||
	    (name.at[0] != '_' && strncmp(name.at, "__Z", 3) != 0)) {
		buf_add(to, name.at, name.size);
		return;
	}
	name.size -= is_plt ? 4 : 0;
	buf_add(&full, name.at, name.size);
	buf_char(&full, '\0');
	text = full.at;
	end = rust_end(text);
	if (end) {
		char first = *end;

		*end = '\0';
		done = demangle_rust(text, to);
		*end = first;
		if (done && first)
			buf_printf(to, " [clone %s]", end);
	}
	if (!done && (text[1] == 'Z' || strncmp(text, "_GLOBAL_", 8) == 0))
		done = demangle_cxx(text, to);
	if (!done && text[1] == 'D') {
		char *d = dlang_demangle(text, 0);

		done = d && strlen(d) <= DEMANGLE_MAX_OUT;
		if (done) {
			buf_reset(to);
			buf_string(to, d);
		}
		free(d);
	}
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

/* The size of an operator's name at the start of the text ("<<=", "->", "()"), or 0. */
static size_t operator_size(const char *at, const char *end)
{
	static const char *const names[] = {"<=>", "<<=", ">>=", "->*", "<<", ">>",
	                                    "<=",  ">=",  "->",  "()",  "<",  ">"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t size = strlen(names[i]);

		if ((size_t)(end - at) >= size && memcmp(at, names[i], size) == 0)
			return size;
	}
	return 0;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (c & 0x80);
}

/* The place behind the bracket that closes the one at `at`, or NULL. */
static const char *behind_bracket(const char *at, const char *end)
{
	char open = *at, close = open == '<' ? '>' : ')';
	unsigned depth = 0;

	for (const char *p = at; p < end; p++) {
		if (open == '<' && *p == '(') {
			/* "->" and ">" in a parenthesis close nothing out here */
			unsigned inner = 0;

			for (; p < end; p++) {
				inner += *p == '(';
				inner -= *p == ')';
				if (!inner)
					break;
			}
			if (p == end)
				return NULL;
		} else if (open == '<' && *p == '-' && p + 1 < end && p[1] == '>') {
			p++;
		} else if (*p == open) {
			depth++;
		} else if (*p == close && !--depth) {
			return p + 1;
		}
	}
	return NULL;
}

/* The place behind " const &" and the like, which follow a parameter list. */
static const char *behind_qualifiers(const char *at, const char *end)
{
	static const char *const names[] = {" const", " volatile", " &&", " &", " noexcept"};

	for (size_t i = 0; i < ARRAY_SIZE(names);) {
		size_t size = strlen(names[i]);

		if ((size_t)(end - at) >= size && memcmp(at, names[i], size) == 0) {
			at += size;
			i = 0;
		} else {
			i++;
		}
	}
	return at;
}

void demangle_shorten(struct slice name, struct buf *to)
{
	static const char anonymous[] = "(anonymous", keyword[] = "operator";
	const char *at = name.at, *end = name.at + name.size;

	buf_reset(to);
	while (at < end) {
		const char *behind = NULL;
		size_t left = (size_t)(end - at);

		if (left > sizeof(keyword) && memcmp(at, keyword, sizeof(keyword) - 1) == 0 &&
		    (at == name.at || !is_word(at[-1]))) {
			size_t size = sizeof(keyword) - 1;

			size += operator_size(at + size, end);
			buf_add(to, at, size);
			at += size;
			/* "operator<< <char>": arguments of the template, set apart by a blank */
			behind = at < end && *at == ' ' ? at + 1 : at;
			behind =
			        behind < end && *behind == '<' ? behind_bracket(behind, end) : NULL;
			at = behind ? behind : at;
			continue;
		}
		if (*at == '{' || *at == '[') {
			/* "{lambda(int)#1}", "[abi:cxx11]", "[clone .cold]" are names */
			behind = memchr(at, *at == '{' ? '}' : ']', left);
			behind = behind ? behind + 1 : end;
			buf_add(to, at, (size_t)(behind - at));
			at = behind;
			continue;
		}
		if (*at == '(' && !(left >= sizeof(anonymous) - 1 &&
		                    memcmp(at, anonymous, sizeof(anonymous) - 1) == 0)) {
			behind = behind_bracket(at, end);
			if (behind) {
				at = behind_qualifiers(behind, end);
				continue;
			}
		} else if (*at == '(' || (*at == '<' && !to->size)) {
			/* "(anonymous namespace)", and Rust's "<T as Trait>::method" */
			behind = behind_bracket(at, end);
			if (behind) {
				buf_add(to, at, (size_t)(behind - at));
				at = behind;
				continue;
			}
		} else if (*at == '<' && (is_word(at[-1]) || at[-1] == ']' || at[-1] == ':')) {
			behind = behind_bracket(at, end);
			if (behind) {
				/* Rust writes f::<T> */
				if (to->size >= 2 && memcmp(to->at + to->size - 2, "::", 2) == 0)
					to->size -= 2;
				at = behind;
				continue;
			}
		}
		buf_char(to, *at++);
	}
	if (!to->size)
		buf_add(to, name.at, name.size);
}
