#include "share/compat.h"
#include "diff/canon.h"

#include "share/folded.h"
#include "share/input.h"
#include "share/mem.h"
#include "share/strtab.h"

#include <regex.h>

#define MAX_GROUPS 10

struct canon_rename {
	regex_t pattern;
	char *replacement;
};

static const struct {
	const char *name, *what, *from, *to;
} rules[CANON_NR_RULES] = {
        [CANON_HEX] = {"hex", "hexadecimal addresses", "[libc.so+0x29d90]", "[libc.so+0x*]"},
        [CANON_RUST] = {"rust", "hashes of Rust names", "core::fmt::write::h0123456789abcdef",
                        "core::fmt::write"},
        [CANON_CLONE] = {"clone", "clones made by compilers", "parse.isra.0.cold", "parse"},
        [CANON_BPF] = {"bpf", "tags of BPF programs", "bpf_prog_6deef7357e7b4530_sd_fw_egress",
                       "bpf_prog_*_sd_fw_egress"},
        [CANON_JAVA] = {"java", "numbered lambdas, proxies and accessors of the JVM",
                        "App$$Lambda$14/0x0000800000c03000.run", "App$$Lambda.run"},
        [CANON_THREAD] = {"thread", "numbered threads, in the root frame only",
                          "kworker/3:1-events", "kworker/*:*-events"},
        [CANON_VERSION] = {"version", "versions of modules and symbols", "[libssl-1.1.so.1.1]",
                           "[libssl.so]"},
        [CANON_INLINE] = {"inline", "the mark of inlined frames", "min_[i]", "min"},
};

void canon_release(struct canon *canon)
{
	for (size_t i = 0; i < canon->nr_renames; i++) {
		regfree(&canon->renames[i].pattern);
		free(canon->renames[i].replacement);
	}
	free(canon->renames);
	buf_release(&canon->scratch[0]);
	buf_release(&canon->scratch[1]);
	*canon = (struct canon){0};
}

/* ---- options ---- */

static int parse_rule(const char *word, size_t size, struct err *err)
{
	for (int i = 0; i < CANON_NR_RULES; i++)
		if (strlen(rules[i].name) == size && memcmp(rules[i].name, word, size) == 0)
			return i;
	return err_set(err, "no rule '%.*s' for names; --canon=help lists them", (int)size, word);
}

int canon_parse(struct canon *canon, const char *list, struct err *err)
{
	bool first = true;

	while (*list) {
		size_t size = strcspn(list, ",");
		bool off = *list == '-';
		int rule;

		if (size == 3 && memcmp(list, "all", 3) == 0) {
			canon->rules = CANON_ALL;
		} else if (size == 4 && memcmp(list, "none", 4) == 0) {
			canon->rules = 0;
		} else {
			rule = parse_rule(list + off, size - off, err);
			if (rule < 0)
				return -1;
			if (first)
				canon->rules = off ? CANON_ALL : 0;
			if (off)
				canon->rules &= ~(1u << rule);
			else
				canon->rules |= 1u << rule;
		}
		first = false;
		list += size + (list[size] == ',');
	}
	return first ? err_set(err, "--canon needs rules; --canon=help lists them") : 0;
}

void canon_describe(struct buf *out)
{
	buf_string(out,
	           "Names are matched in a canonical form; --canon=-RULE switches a rule off,\n"
	           "--canon=RULE,RULE leaves only these on, --canon=none none:\n\n");
	for (int i = 0; i < CANON_NR_RULES; i++)
		buf_printf(out, "  %-8s %s\n           %s -> %s\n", rules[i].name, rules[i].what,
		           rules[i].from, rules[i].to);
}

/* ---- renames ---- */

static int add_rename(struct canon *canon, struct slice line, struct err *err)
{
	const char *tab = memchr(line.at, '\t', line.size);
	struct canon_rename rename;
	char *pattern;
	int rc;

	if (!tab)
		return err_set(err, "no tab between pattern and replacement");
	pattern = mem_strndup(line.at, (size_t)(tab - line.at));
	rc = regcomp(&rename.pattern, pattern, REG_EXTENDED);
	free(pattern);
	if (rc) {
		char why[128];

		regerror(rc, &rename.pattern, why, sizeof(why));
		return err_set(err, "%s", why);
	}
	rename.replacement = mem_strndup(tab + 1, line.size - (size_t)(tab + 1 - line.at));
	MEM_GROW(canon->renames, canon->nr_renames, canon->capacity);
	canon->renames[canon->nr_renames++] = rename;
	return 0;
}

int canon_read_renames(struct canon *canon, const char *path, struct err *err)
{
	struct input *in = input_open(path, 0, err);
	struct slice line;
	int rc = -1;

	if (!in)
		return -1;
	while ((rc = input_line(in, &line, err)) > 0) {
		if (!line.size || *line.at == '#')
			continue;
		if (add_rename(canon, line, err) < 0) {
			rc = err_prefix(err, "'%s' line %llu", input_name(in),
			                (unsigned long long)input_line_number(in));
			break;
		}
	}
	input_close(in);
	return rc;
}

static void add_replacement(struct buf *out, const char *replacement, const char *at,
                            const regmatch_t *groups)
{
	for (const char *p = replacement; *p; p++) {
		int group = -1;

		if (*p == '&') {
			group = 0;
		} else if (*p == '\\' && p[1]) {
			p++;
			if (*p >= '0' && *p <= '9')
				group = *p - '0';
		}
		if (group < 0)
			buf_char(out, *p);
		else if (groups[group].rm_so >= 0)
			buf_add(out, at + groups[group].rm_so,
			        (size_t)(groups[group].rm_eo - groups[group].rm_so));
	}
}

/*
 * Writes text with every match replaced, as sed's s///g does: an empty match
 * right behind another one does not count. False, and nothing of use, where
 * there is none.
 */
static bool replace_all(const struct canon_rename *rename, const char *text, struct buf *out)
{
	regmatch_t groups[MAX_GROUPS];
	bool any = false, behind_match = false;

	buf_reset(out);
	while (regexec(&rename->pattern, text, MAX_GROUPS, groups, any ? REG_NOTBOL : 0) == 0) {
		bool empty = groups[0].rm_so == groups[0].rm_eo;

		any = true;
		buf_add(out, text, (size_t)groups[0].rm_so);
		if (!(empty && behind_match && groups[0].rm_so == 0))
			add_replacement(out, rename->replacement, text, groups);
		text += groups[0].rm_eo;
		behind_match = !empty;
		if (empty) {
			if (!*text)
				break;
			buf_char(out, *text++);
		}
	}
	buf_string(out, text);
	return any;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static size_t count_hex(const char *at, const char *end)
{
	const char *p = at;

	while (p < end && is_hex(*p))
		p++;
	return (size_t)(p - at);
}

static size_t count_digits(const char *at, const char *end)
{
	const char *p = at;

	while (p < end && is_digit(*p))
		p++;
	return (size_t)(p - at);
}

/* Copies text with the digits behind each "0x" replaced. */
static void replace_hex(struct slice text, const char *by, struct buf *out)
{
	const char *p = text.at, *end = text.at + text.size;

	buf_reset(out);
	while (p < end) {
		size_t digits = 0;

		if (*p == '0' && p + 1 < end && p[1] == 'x')
			digits = count_hex(p + 2, end);
		if (digits) {
			buf_string(out, "0x");
			buf_string(out, by);
			p += 2 + digits;
		} else {
			buf_char(out, *p++);
		}
	}
}

/* A changed name must still be one frame: what a rename may do to it is undone here. */
static struct slice legal_frame(struct buf *text, struct buf *scratch)
{
	buf_reset(scratch);
	folded_clean(scratch, text->at, text->size);
	return (struct slice){scratch->at, scratch->size};
}

struct slice canon_rename(struct canon *canon, struct slice name)
{
	int next = 0;
	bool any = false;

	if (canon->strip_hex && memmem(name.at, name.size, "0x", 2)) {
		replace_hex(name, "...", &canon->scratch[next]);
		name = (struct slice){canon->scratch[next].at, canon->scratch[next].size};
		next = !next;
	}
	if (!canon->nr_renames)
		return name;
	buf_reset(&canon->scratch[next]);
	buf_add(&canon->scratch[next], name.at, name.size);
	for (size_t i = 0; i < canon->nr_renames; i++)
		if (replace_all(&canon->renames[i], buf_text(&canon->scratch[next]),
		                &canon->scratch[!next])) {
			next = !next;
			any = true;
		}
	return any ? legal_frame(&canon->scratch[next], &canon->scratch[!next]) : name;
}

/* ---- rules ----
 *
 * Each takes the text in buf and changes it in place; none makes it longer
 * but by the one byte of a "*".
 */

static void cut(struct buf *buf, size_t at, size_t size)
{
	memmove(buf->at + at, buf->at + at + size, buf->size - at - size);
	buf->size -= size;
}

/* Also a whole name of 8 digits or more, as tools print an address without a symbol. */
static void rule_hex(struct buf *buf, struct buf *scratch)
{
	if (buf->size >= 8 && count_hex(buf->at, buf->at + buf->size) == buf->size) {
		bool any_digit = false;

		for (size_t i = 0; i < buf->size; i++)
			any_digit |= is_digit(buf->at[i]);
		if (any_digit) {
			buf_reset(buf);
			buf_string(buf, "0x*");
			return;
		}
	}
	if (memmem(buf->at, buf->size, "0x", 2)) {
		struct buf swap;

		replace_hex((struct slice){buf->at, buf->size}, "*", scratch);
		swap = *buf;
		*buf = *scratch;
		*scratch = swap;
	}
}

/*
 * Legacy mangling ends in "::h" and 16 digits (RFC 2603, "legacy" scheme);
 * v0 symbols carry the crate's disambiguator in brackets behind its name.
 */
static void rule_rust(struct buf *buf)
{
	if (buf->size > 19 && memcmp(buf->at + buf->size - 19, "::h", 3) == 0 &&
	    count_hex(buf->at + buf->size - 16, buf->at + buf->size) == 16)
		buf->size -= 19;
	for (size_t i = 1; i < buf->size; i++) {
		size_t digits;

		if (buf->at[i] != '[' || !is_word(buf->at[i - 1]))
			continue;
		digits = count_hex(buf->at + i + 1, buf->at + buf->size);
		if (digits >= 8 && digits <= 16 && i + 1 + digits < buf->size &&
		    buf->at[i + 1 + digits] == ']')
			cut(buf, i, digits + 2);
	}
}

/*
 * Suffixes of GCC's clones (clone_function_name in cgraphclones.cc, GCC 13)
 * and LLVM's promoted or split functions; libiberty prints them behind
 * demangled names as " [clone .isra.0]".
 */
static bool cut_clone(struct buf *buf)
{
	static const char *const suffixes[] = {".isra",     ".constprop", ".part",      ".cold",
	                                       ".lto_priv", ".llvm",      ".localalias"};
	size_t end = buf->size, number;
	bool bracket = buf->size && buf->at[buf->size - 1] == ']';

	end -= bracket;
	number = end;
	while (number && is_digit(buf->at[number - 1]))
		number--;
	if (number < end && number && buf->at[number - 1] == '.')
		end = number - 1;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		static const char clone[] = " [clone ";
		size_t size = strlen(suffixes[i]), start = end - size;

		if (end <= size || memcmp(buf->at + start, suffixes[i], size) != 0)
			continue;
		if (bracket) {
			size = sizeof(clone) - 1;
			if (start <= size || memcmp(buf->at + start - size, clone, size) != 0)
				return false;
			start -= size;
		}
		buf->size = start;
		return true;
	}
	return false;
}

/* The tag is a hash of the program's instructions (bpf_get_prog_name, kernel 6.1). */
static void rule_bpf(struct buf *buf)
{
	static const char prefix[] = "bpf_prog_";
	size_t size = sizeof(prefix) - 1;

	if (buf->size > size + 17 && memcmp(buf->at, prefix, size) == 0 &&
	    count_hex(buf->at + size, buf->at + buf->size) == 16 && buf->at[size + 16] == '_') {
		buf->at[size] = '*';
		cut(buf, size + 1, 15);
	}
}

/* Cuts what follows `stem` up to the end of its number: "$14/0x0000", "+0x00", "12". */
static void cut_numbers_behind(struct buf *buf, const char *stem)
{
	size_t size = strlen(stem), at = 0;

	while (at + size < buf->size) {
		const char *found = memmem(buf->at + at, buf->size - at, stem, size);
		const char *p, *end = buf->at + buf->size;

		if (!found)
			return;
		p = found + size;
		at = (size_t)(p - buf->at);
		while (p < end) {
			const char *q = p + (*p == '$' || *p == '/' || *p == '+' || *p == '.');

			/* "0x*" is what the rule "hex" left */
			if (end - q > 2 && q[0] == '0' && q[1] == 'x' &&
			    (q[2] == '*' || is_hex(q[2])))
				q += q[2] == '*' ? 3 : 2 + count_hex(q + 2, end);
			else if (count_digits(q, end))
				q += count_digits(q, end);
			else
				break;
			p = q;
		}
		cut(buf, at, (size_t)(p - buf->at) - at);
	}
}

/* `lambda$name$3`: javac numbers the lambdas of a class. */
static void cut_lambda_number(struct buf *buf)
{
	const char *found = memmem(buf->at, buf->size, "lambda$", 7);
	const char *p, *end = buf->at + buf->size;

	if (!found)
		return;
	for (p = found + 7; p < end && (is_word(*p) || *p == '$'); p++) {
		size_t digits = *p == '$' ? count_digits(p + 1, end) : 0;

		if (digits && (p + 1 + digits == end || !is_word(p[1 + digits]))) {
			cut(buf, (size_t)(p - buf->at), digits + 1);
			return;
		}
	}
}

static void rule_java(struct buf *buf)
{
	static const char *const stems[] = {"$$Lambda",
	                                    "$Proxy",
	                                    "LambdaForm$MH",
	                                    "LambdaForm$DMH",
	                                    "LambdaForm$BMH",
	                                    "GeneratedMethodAccessor",
	                                    "GeneratedConstructorAccessor",
	                                    "GeneratedSerializationConstructorAccessor"};

	for (size_t i = 0; i < ARRAY_SIZE(stems); i++)
		cut_numbers_behind(buf, stems[i]);
	cut_lambda_number(buf);
}

/* Digits behind a separator or the word "thread", and the u of unbound kworkers. */
static void rule_thread(struct buf *buf)
{
	bool is_kworker = buf->size > 8 && memcmp(buf->at, "kworker/", 8) == 0;

	for (size_t i = 1; i < buf->size; i++) {
		size_t digits = count_digits(buf->at + i, buf->at + buf->size);

		if (!digits)
			continue;
		if (strchr("-/:#_ ", buf->at[i - 1]) || (is_kworker && buf->at[i - 1] == 'u') ||
		    (i >= 6 && strncasecmp(buf->at + i - 6, "thread", 6) == 0)) {
			buf->at[i] = '*';
			cut(buf, i + 1, digits - 1);
		} else {
			i += digits - 1;
		}
	}
}

/* Cuts "-1.2" before and ".1.2" behind the extension `so`, `jar` or `dylib`. */
static void cut_module_version(struct buf *buf, const char *extension)
{
	size_t size = strlen(extension), at = 0;

	while (at + size <= buf->size) {
		const char *end = buf->at + buf->size;
		const char *found = memmem(buf->at + at, buf->size - at, extension, size);
		size_t dot, start, behind;

		if (!found)
			return;
		dot = (size_t)(found - buf->at);
		at = dot + size;
		if (at < buf->size && is_word(buf->at[at]))
			continue;
		behind = 0;
		while (at + behind < buf->size && buf->at[at + behind] == '.' &&
		       count_digits(buf->at + at + behind + 1, end))
			behind += 1 + count_digits(buf->at + at + behind + 1, end);
		cut(buf, at, behind);
		start = dot;
		while (start && (is_digit(buf->at[start - 1]) || buf->at[start - 1] == '.'))
			start--;
		if (start && start < dot && (buf->at[start - 1] == '-') &&
		    is_digit(buf->at[start])) {
			cut(buf, start - 1, dot - start + 1);
			at -= dot - start + 1;
		}
	}
}

/* Modules, and the version that the linker ties to a symbol: memcpy@@GLIBC_2.14. */
static void rule_version(struct buf *buf)
{
	const char *sign = memchr(buf->at, '@', buf->size);
	const char *end = buf->at + buf->size;

	if (sign && sign > buf->at) {
		const char *p = sign + 1 + (sign + 1 < end && sign[1] == '@');

		if (p < end && *p >= 'A' && *p <= 'Z') {
			while (p < end && (is_word(*p) || *p == '.'))
				p++;
			if (p == end)
				buf->size = (size_t)(sign - buf->at);
		}
	}
	cut_module_version(buf, ".so");
	cut_module_version(buf, ".jar");
	cut_module_version(buf, ".dylib");
}

static size_t mark_size(const struct buf *name)
{
	const char *tail = name->at + name->size - 4;

	return name->size > 4 && tail[0] == '_' && tail[1] == '[' && tail[3] == ']' &&
	                       strchr("kijw", tail[2]) ?
	               4 :
	               0;
}

static bool is_on(const struct canon *canon, enum canon_rule rule)
{
	return canon->rules & 1u << rule;
}

/* Applies the rules once to the name without its mark. */
static void apply_rules(struct canon *canon, struct buf *buf, bool is_root)
{
	size_t mark;
	char kept[4];

	while ((mark = mark_size(buf)) && buf->at[buf->size - 2] == 'i' &&
	       is_on(canon, CANON_INLINE))
		buf->size -= mark;
	buf->size -= mark;
	memcpy(kept, buf->at + buf->size, mark);
	if (is_on(canon, CANON_HEX))
		rule_hex(buf, &canon->scratch[1]);
	if (is_on(canon, CANON_CLONE))
		while (cut_clone(buf))
			;
	if (is_on(canon, CANON_RUST))
		rule_rust(buf);
	if (is_on(canon, CANON_BPF))
		rule_bpf(buf);
	if (is_on(canon, CANON_JAVA))
		rule_java(buf);
	if (is_on(canon, CANON_VERSION))
		rule_version(buf);
	if (is_on(canon, CANON_THREAD) && is_root)
		rule_thread(buf);
	buf_add(buf, kept, mark);
}

struct slice canon_name(struct canon *canon, struct slice name, bool is_root)
{
	struct buf *buf = &canon->scratch[0];
	uint64_t before;

	buf_reset(buf);
	buf_add(buf, name.at, name.size);
	/* one rule may lay bare what another looks for */
	do {
		before = hash_bytes(buf->at, buf->size);
		apply_rules(canon, buf, is_root);
	} while (hash_bytes(buf->at, buf->size) != before);
	return (struct slice){buf->at, buf->size};
}
