#include "share/compat.h"
#include "collapse/archive.h"

#include "share/mem.h"
#include "share/num.h"
#include "share/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#define LEVEL       9 /* of zstd: half the size of level 1, a few ms a member */
#define SUFFIX      ".folded.zst"
#define RANDOM_SIZE 7 /* ".XXXXXX", as share/output.c has it */

struct archive {
	char *dir;
	int dir_fd, lock_fd;
	struct archive_options options;
};

/* ---- names ---- */

static int digits(const char *text, size_t nr)
{
	int value = 0;

	for (size_t i = 0; i < nr; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		value = value * 10 + text[i] - '0';
	}
	return value;
}

/* "20261129T130500Z", whatever follows. */
static bool parse_stamp(const char *text, int64_t *moment)
{
	struct tm tm = {0};

	if (strlen(text) < 16 || text[8] != 'T' || text[15] != 'Z')
		return false;
	tm.tm_year = digits(text, 4) - 1900;
	tm.tm_mon = digits(text + 4, 2) - 1;
	tm.tm_mday = digits(text + 6, 2);
	tm.tm_hour = digits(text + 9, 2);
	tm.tm_min = digits(text + 11, 2);
	tm.tm_sec = digits(text + 13, 2);
	if (tm.tm_year < -1900 || tm.tm_mon < 0 || tm.tm_mon > 11 || tm.tm_mday < 1 ||
	    tm.tm_mday > 31 || tm.tm_hour < 0 || tm.tm_min < 0 || tm.tm_sec < 0)
		return false;
	*moment = timegm(&tm);
	return true;
}

/* Whose second part is "folded", however it is compressed. */
static bool is_member(const char *name, int64_t *start)
{
	const char *dot = strstr(name, ".folded");
	static const char *const ends[] = {"", ".zst", ".gz"};

	if (!dot || !parse_stamp(name, start) || name[16] != '-')
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (strcmp(dot + strlen(".folded"), ends[i]) == 0)
			return true;
	return false;
}

static bool is_leftover(const char *name)
{
	size_t size = strlen(name);
	char *whole;
	int64_t start;
	bool is;

	if (size <= RANDOM_SIZE || name[size - RANDOM_SIZE] != '.')
		return false;
	whole = mem_strndup(name, size - RANDOM_SIZE);
	is = is_member(whole, &start) && strstr(whole, SUFFIX);
	free(whole);
	return is;
}

/* ---- listing ---- */

static int compare_members(const void *a, const void *b)
{
	const struct archive_member *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return strcmp(x->path, y->path);
}

int archive_list(const char *dir, int64_t since, int64_t until, struct archive_list *list,
                 struct err *err)
{
	DIR *stream = opendir(dir);
	struct dirent *entry;

	*list = (struct archive_list){0};
	if (!stream)
		return err_sys(err, "cannot read the archive '%s'", dir);
	while ((entry = readdir(stream))) {
		struct archive_member member;
		struct stat st;

		if (!is_member(entry->d_name, &member.start) || member.start < since ||
		    member.start >= until || fstatat(dirfd(stream), entry->d_name, &st, 0) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		member.path = mem_printf("%s/%s", dir, entry->d_name);
		member.size = (uint64_t)st.st_size;
		MEM_GROW(list->members, list->nr, list->capacity);
		list->members[list->nr++] = member;
	}
	closedir(stream);
	if (list->nr)
		qsort(list->members, list->nr, sizeof(*list->members), compare_members);
	return 0;
}

void archive_list_release(struct archive_list *list)
{
	for (size_t i = 0; i < list->nr; i++)
		free(list->members[i].path);
	free(list->members);
	*list = (struct archive_list){0};
}

/* ---- moments ---- */

int archive_parse_time(const char *text, int64_t now, int64_t *moment)
{
	static const char *const dates[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S",
	                                    "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d"};
	static const char *const times[] = {"%H:%M:%S", "%H:%M"};
	time_t today = (time_t)now;
	uint64_t ago;

	if (parse_stamp(text, moment))
		return text[16] ? -1 : 0;
	if (strchr("smhd", text[strlen(text) - !!*text]) && num_parse_duration(text, &ago) == 0) {
		*moment = now - (int64_t)(ago / 1000000000);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(dates) + ARRAY_SIZE(times); i++) {
		bool is_date = i < ARRAY_SIZE(dates);
		struct tm tm = {0};
		const char *end;

		if (!is_date)
			localtime_r(&today, &tm);
		tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
		end = strptime(text, is_date ? dates[i] : times[i - ARRAY_SIZE(dates)], &tm);
		if (!end || (*end && strcmp(end, "Z") != 0))
			continue;
		if (*end && !is_date) {
			struct tm utc;
			int hour = tm.tm_hour, minute = tm.tm_min, second = tm.tm_sec;

			gmtime_r(&today, &utc);
			tm = utc;
			tm.tm_hour = hour;
			tm.tm_min = minute;
			tm.tm_sec = second;
		}
		tm.tm_isdst = -1;
		*moment = *end ? timegm(&tm) : mktime(&tm);
		return 0;
	}
	return -1;
}

/* ---- the writer ---- */

static void remove_leftovers(const struct archive *archive)
{
	DIR *stream = opendir(archive->dir);
	struct dirent *entry;

	while (stream && (entry = readdir(stream)))
		if (is_leftover(entry->d_name))
			unlinkat(archive->dir_fd, entry->d_name, 0);
	if (stream)
		closedir(stream);
}

static int take_lock(struct archive *archive, struct err *err)
{
	archive->lock_fd = openat(archive->dir_fd, ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (archive->lock_fd < 0)
		return err_sys(err, "cannot write to the archive '%s'", archive->dir);
	if (flock(archive->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		return err_set(err,
		               "another collapse writes to the archive '%s'; give this one a "
		               "folder of its own",
		               archive->dir);
	return err_sys(err, "cannot lock the archive '%s'", archive->dir);
}

struct archive *archive_open(const char *dir, const struct archive_options *options,
                             struct err *err)
{
	struct archive *archive = mem_zalloc(sizeof(*archive));

	*archive = (struct archive){mem_strdup(dir), -1, -1, *options};
	if (mkdir(dir, 0777) < 0 && errno != EEXIST) {
		err_sys(err, "cannot make the archive '%s'", dir);
		goto fail;
	}
	archive->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (archive->dir_fd < 0) {
		err_sys(err, "cannot open the archive '%s'", dir);
		goto fail;
	}
	if (take_lock(archive, err) < 0)
		goto fail;
	remove_leftovers(archive);
	return archive;
fail:
	archive_close(archive);
	return NULL;
}

void archive_close(struct archive *archive)
{
	if (!archive)
		return;
	if (archive->lock_fd >= 0)
		close(archive->lock_fd);
	if (archive->dir_fd >= 0)
		close(archive->dir_fd);
	free(archive->dir);
	free(archive);
}

/* Letters, digits, "." and "_" of the host's name; anything else becomes "_". */
static char *member_path(const struct archive *archive, int64_t start, const char *host)
{
	char stamp[32], *path, *clean = mem_strdup(host && *host ? host : "unknown");
	time_t time = (time_t)start;
	struct tm tm;

	gmtime_r(&time, &tm);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &tm);
	for (char *p = clean; *p; p++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-",
		            *p))
			*p = '_';
	path = mem_printf("%s/%s-%s%s", archive->dir, stamp, clean, SUFFIX);
	for (unsigned nr = 2; access(path, F_OK) == 0; nr++) {
		free(path);
		path = mem_printf("%s/%s-%s-%u%s", archive->dir, stamp, clean, nr, SUFFIX);
	}
	free(clean);
	return path;
}

/* The folded text of one member in memory; the caller unmaps it. */
static int folded_text(const struct folded_header *header, const struct folder *folder,
                       struct slice *text, struct err *err)
{
	struct output out = {.fd = memfd_create("interval", MFD_CLOEXEC)};
	struct stat st;
	int rc = -1;
	void *map;

	if (out.fd < 0)
		return err_sys(err, "cannot hold an interval in memory");
	folded_header_write(header, &out);
	folder_write(folder, &out);
	output_flush(&out);
	if (out.failure || fstat(out.fd, &st) < 0) {
		errno = out.failure ? out.failure : errno;
		err_sys(err, "cannot hold an interval in memory");
	} else if (st.st_size == 0) {
		*text = (struct slice){NULL, 0};
		rc = 0;
	} else {
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, out.fd, 0);
		if (map == MAP_FAILED) {
			err_sys(err, "cannot hold an interval in memory");
		} else {
			*text = (struct slice){map, (size_t)st.st_size};
			rc = 0;
		}
	}
	close(out.fd);
	buf_release(&out.buf);
	return rc;
}

static int compress(struct slice text, struct buf *out, struct err *err)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();
	size_t size;

	ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	buf_reserve(out, ZSTD_compressBound(text.size));
	size = ZSTD_compress2(context, out->at, ZSTD_compressBound(text.size), text.at, text.size);
	ZSTD_freeCCtx(context);
	if (ZSTD_isError(size))
		return err_set(err, "cannot compress: %s", ZSTD_getErrorName(size));
	out->size = size;
	return 0;
}

static int write_durably(const struct archive *archive, const char *path, const struct buf *bytes,
                         struct err *err)
{
	struct output out;

	if (output_open(&out, path, err) < 0)
		return -1;
	output_add(&out, bytes->at, bytes->size);
	output_flush(&out);
	/* the name must not get to the disk before the bytes */
	if (!out.failure && fsync(out.fd) < 0)
		out.failure = errno;
	if (output_close(&out, err) < 0)
		return -1;
	fsync(archive->dir_fd);
	return 0;
}

/* Members that the options let go; `newest` stays. */
static void remove_old(const struct archive *archive, const char *newest)
{
	struct archive_list list;
	struct err ignored;
	uint64_t sum = 0;
	int64_t now = (int64_t)time(NULL);

	if ((!archive->options.keep_s && !archive->options.max_size) ||
	    archive_list(archive->dir, INT64_MIN, INT64_MAX, &list, &ignored) < 0)
		return;
	for (size_t i = 0; i < list.nr; i++)
		sum += list.members[i].size;
	for (size_t i = 0; i < list.nr; i++) {
		const struct archive_member *member = &list.members[i];
		bool is_old = archive->options.keep_s &&
		              member->start < now - (int64_t)archive->options.keep_s;
		bool is_large = archive->options.max_size && sum > archive->options.max_size;

		if ((!is_old && !is_large) || strcmp(member->path, newest) == 0)
			continue;
		if (unlink(member->path) == 0)
			sum -= member->size;
	}
	archive_list_release(&list);
}

int archive_add(struct archive *archive, int64_t start, const char *host,
                const struct folded_header *header, const struct folder *folder, struct err *err)
{
	struct buf bytes = {0};
	struct slice text = {0};
	char *path;
	int rc;

	if (folded_text(header, folder, &text, err) < 0)
		return -1;
	rc = compress(text, &bytes, err);
	if (text.size)
		munmap((void *)text.at, text.size);
	path = member_path(archive, start, host);
	if (rc == 0)
		rc = write_durably(archive, path, &bytes, err);
	if (rc == 0)
		remove_old(archive, path);
	free(path);
	buf_release(&bytes);
	return rc;
}
