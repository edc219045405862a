/*
 * canon.h - frame names in the form that two builds of one program share.
 *
 * Compilers, runtimes and the kernel put numbers into names that change from
 * build to build or boot to boot; before two profiles are matched by name
 * those parts are cut out or replaced by "*". Every rule can be switched off.
 * The marks of share/folded.h at the end of a name (_[k] and so on) stay
 * where they are, but for _[i] under the rule "inline".
 *
 * Invariant: the canonical form of a canonical form is itself.
 *
 * Also holds what the user knows better: renames by regular expression, which
 * happen before any rule.
 */
#ifndef DIFF_CANON_H
#define DIFF_CANON_H

#include "share/buf.h"
#include "share/compat.h"
#include "share/err.h"

enum canon_rule {
	CANON_HEX,
	CANON_RUST,
	CANON_CLONE,
	CANON_BPF,
	CANON_JAVA,
	CANON_THREAD,
	CANON_VERSION,
	CANON_INLINE,
	CANON_NR_RULES,
};

#define CANON_ALL ((1u << CANON_NR_RULES) - 1)

struct canon_rename;

struct canon {
	unsigned rules; /* bit set of enum canon_rule */
	bool strip_hex; /* each 0xDIGITS becomes "0x..." before all else, as difffolded.pl -s */
	struct canon_rename *renames; /* in order of the files */
	size_t nr_renames, capacity;
	struct buf scratch[2];
};

/* A zeroed struct canon has no rule on. */
void canon_release(struct canon *canon);

/*
 * Reads a list such as "hex,rust" (only these), "-thread,-java" (all but
 * these), "all" or "none". Returns 0 or -1.
 */
int canon_parse(struct canon *canon, const char *list, struct err *err);

/* The rules with an example each, for --canon=help. */
void canon_describe(struct buf *out);

/*
 * Adds the renames of a file: lines of "POSIX extended regular expression TAB
 * replacement", where \1 to \9 are what groups matched and & is itself; lines
 * that begin with "#" and empty ones are passed over. Every match in a name
 * is replaced. Returns 0 or -1.
 */
int canon_read_renames(struct canon *canon, const char *path, struct err *err);

/*
 * The name after the renames and strip_hex, borrowed until the next call and
 * equal to the argument where nothing changed it.
 */
struct slice canon_rename(struct canon *canon, struct slice name);

/*
 * The canonical form, borrowed until the next call. name: not in memory that
 * canon_rename() returned. is_root: the name stands first in its stack, where
 * process and thread names are.
 */
struct slice canon_name(struct canon *canon, struct slice name, bool is_root);

#endif
