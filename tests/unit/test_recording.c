/* test_recording.c - damaged recordings: cut at every byte, mutated at random. */
#include "share/compat.h"

#include "collapse/recording.h"
#include "share/mem.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define CORPUS "tests/fuzz/corpus/recording"

struct outcome {
	int result;
	uint64_t nr_samples;
	bool is_incomplete;
};

static struct outcome fold(const uint8_t *bytes, size_t size)
{
	struct recording_options options = {
	        .all_events = true,
	        .stacks = {.roots = {ROOT_COMM}, .nr_roots = 1, .no_symbols = true},
	};
	struct recording_report report = {0};
	struct folded_header header = {0};
	struct outcome outcome = {.result = -1};
	struct folder folder;
	char path[32];
	struct err err;
	struct input *in;
	int fd = memfd_create("recording", 0);

	cr_assert(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	in = input_open(path, 0, &err);
	close(fd);
	if (!in)
		return outcome;
	folder_init(&folder);
	outcome.result = recording_fold(in, &options, &folder, &header, &report, &err);
	outcome.nr_samples = report.nr_samples;
	outcome.is_incomplete = report.is_incomplete;
	if (outcome.result == 0)
		cr_assert(folder.total == weight_from_u64(report.nr_samples));
	folder_release(&folder);
	folded_header_release(&header);
	input_close(in);
	return outcome;
}

static size_t add(uint8_t *at, const void *bytes, size_t size)
{
	memcpy(at, bytes, size);
	return size;
}

/* A pipe-mode recording of nr samples of 24 bytes behind `begin` bytes. */
static size_t make_recording(uint8_t *at, unsigned nr, size_t *begin)
{
	const uint64_t head[2] = {0x32454c4946524550u, 16}; /* PERFILE2 */
	const uint32_t attr_header[2] = {PERFREC_HEADER_ATTR, (8 + 64) << 16};
	struct perf_event_attr attr = {
	        .type = PERF_TYPE_SOFTWARE,
	        .size = 64,
	        .sample_period = 1,
	        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME,
	};
	size_t size = add(at, head, sizeof(head));

	size += add(at + size, attr_header, sizeof(attr_header));
	size += add(at + size, &attr, 64);
	*begin = size;
	for (unsigned i = 0; i < nr; i++) {
		const uint32_t header[2] = {PERF_RECORD_SAMPLE, 24 << 16 | 2};
		const uint64_t fields[2] = {0x1000 + i, 100 + i};

		size += add(at + size, header, sizeof(header));
		size += add(at + size, fields, sizeof(fields));
	}
	return size;
}

Test(recording, cut_at_every_byte)
{
	enum { NR = 200 };
	static uint8_t bytes[200 + NR * 24];
	size_t begin, size = make_recording(bytes, NR, &begin);

	for (size_t cut = begin; cut <= size; cut++) {
		struct outcome outcome = fold(bytes, cut);

		cr_assert(outcome.result == 0, "cut at %zu", cut);
		cr_assert(outcome.nr_samples == (cut - begin) / 24, "cut at %zu: %llu samples", cut,
		          (unsigned long long)outcome.nr_samples);
		cr_assert(outcome.is_incomplete == ((cut - begin) % 24 != 0), "cut at %zu", cut);
	}
}

/* xorshift64, Marsaglia 2003 */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	return *state ^= *state << 17;
}

static size_t load(const char *name, uint8_t *to, size_t room)
{
	char path[512];
	FILE *file;
	size_t size;

	snprintf(path, sizeof(path), "%s/%s", CORPUS, name);
	file = fopen(path, "rb");
	cr_assert(file, "%s", path);
	size = fread(to, 1, room, file);
	fclose(file);
	return size;
}

/* NR_MUTATIONS in the environment asks for more. */
Test(recording, single_bytes_changed, .timeout = 3600)
{
	const char *wanted = getenv("NR_MUTATIONS");
	unsigned long nr = wanted ? strtoul(wanted, NULL, 10) : 6000, nr_done = 0;
	static uint8_t original[1 << 16], changed[1 << 16];
	uint64_t state = 88172645463325252u;
	struct dirent *entry;
	struct rusage usage;
	unsigned nr_files = 0;
	DIR *dir = opendir(CORPUS);

	cr_assert(dir, "%s", CORPUS);
	while ((entry = readdir(dir)))
		nr_files += entry->d_name[0] != '.';
	rewinddir(dir);
	while ((entry = readdir(dir))) {
		size_t size;

		if (entry->d_name[0] == '.')
			continue;
		size = load(entry->d_name, original, sizeof(original));
		for (unsigned long i = 0; i < nr / nr_files + 1; i++, nr_done++) {
			memcpy(changed, original, size);
			changed[next_random(&state) % size] = (uint8_t)next_random(&state);
			fold(changed, size);
		}
	}
	closedir(dir);
	cr_assert(nr_done >= nr);
	getrusage(RUSAGE_SELF, &usage);
	cr_assert(usage.ru_maxrss < 256 * 1024, "peak memory %ld KiB", usage.ru_maxrss);
}
