/*
 * archive.h - a folder of folded profiles, one file for each interval.
 *
 * Members are named YYYYMMDDTHHMMSSZ-HOST.folded.zst after the UTC second at
 * which they begin (with "-2", "-3" behind the host where a clock was set back
 * or an interval is shorter than a second) and compressed by zstd with a
 * checksum. A member appears whole or not at all: it is written under a name
 * with six more characters, flushed to the disk, renamed. What a writer that
 * was killed left under such a name goes away when the next one starts.
 *
 * One writer at a time: it holds a lock on the file ".lock" in the folder.
 * Other files in the folder are left alone.
 */
#ifndef COLLAPSE_ARCHIVE_H
#define COLLAPSE_ARCHIVE_H

#include "collapse/folder.h"
#include "share/compat.h"
#include "share/err.h"
#include "share/folded.h"

/* ---- writing ---- */

struct archive_options {
	uint64_t keep_s;   /* remove members that began longer ago; 0 = keep all */
	uint64_t max_size; /* bytes of all members, above which the oldest go; 0 = no limit */
};

struct archive;

/*
 * Makes the folder where it is missing, takes the lock, clears up. NULL where
 * the folder cannot be written to or another writer holds it.
 */
struct archive *archive_open(const char *dir, const struct archive_options *options,
                             struct err *err);
void archive_close(struct archive *archive);

/*
 * Writes one member; start: seconds since 1970. Then removes what the options
 * let go, never this one. Returns 0 or -1; nothing that was archived is harmed
 * by a failure, and the caller may try again with more in the folder.
 */
int archive_add(struct archive *archive, int64_t start, const char *host,
                const struct folded_header *header, const struct folder *folder, struct err *err);

/* ---- reading ---- */

struct archive_member {
	char *path; /* owned */
	int64_t start;
	uint64_t size;
};

struct archive_list {
	struct archive_member *members; /* the oldest first; those of one second by name */
	size_t nr, capacity;
};

/* The members that begin at `since` or later and before `until`. Returns 0 or -1. */
int archive_list(const char *dir, int64_t since, int64_t until, struct archive_list *list,
                 struct err *err);
void archive_list_release(struct archive_list *list);

/*
 * A moment: "2h" (that long ago), "10:00" or "10:00:30" (today, local time),
 * "2026-11-29", "2026-11-29T10:00" with or without seconds, and "Z" behind it
 * for UTC, or the form of member names. now: seconds since 1970. Returns 0 or
 * -1.
 */
int archive_parse_time(const char *text, int64_t now, int64_t *moment);

#endif
