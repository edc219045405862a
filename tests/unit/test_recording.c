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

static size_t load(const char *folder, const char *name, uint8_t *to, size_t room)
{
	char path[512];
	FILE *file;
	size_t size;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "rb");
	if (!file)
		return 0;
	size = fread(to, 1, room, file);
	fclose(file);
	return size;
}

/*
 * Public recordings: of x86 and ARM in 32 and 64 bits, old and new writers,
 * files and pipes, compressed ones.
 */
static const char *const public[] = {
        "quipper-armv7.perf_3.14-3.8.data",
        "quipper-i686-3.4.data",
        "quipper-piped.target.throttled-3.4.data",
        "quipper-branch_stack_hw_index.data",
        "simpleperf-runtest_two_functions_arm64_perf.data",
        "derived-be-pipe-ctx_switch.data",
        "lpd-sleep.compressed.data",
        "lpd-sleep.compressed.pipe.data",
        "lpd-sleep.compressed2.pipe.data",
        "kdab-vector_static_gcc.zstd.data",
        "pdc-single-event-multi-process.data",
};

enum { ROOM = 4 << 20 };

static uint8_t *original, *changed;

/* Of public recording i; 0 where it is not at hand or too large. */
static size_t load_public(size_t i)
{
	const char *corpus = getenv("CORPUS");
	char folder[300];
	size_t size;

	if (!original) {
		original = mem_alloc(ROOM);
		changed = mem_alloc(ROOM);
	}
	if (!corpus)
		return 0;
	snprintf(folder, sizeof(folder), "%s/perf-data", corpus);
	size = load(folder, public[i], original, ROOM);
	return size < ROOM ? size : 0;
}

static unsigned long number_of(const char *name, unsigned long otherwise)
{
	const char *wanted = getenv(name);

	return wanted ? strtoul(wanted, NULL, 10) : otherwise;
}

/*
 * A recording cut short is told, gives no more samples than a longer piece,
 * and all of it gives the most. NR_CUTS in the environment asks for more: each
 * recording is cut at as many places, the half of them in its last 4 KiB;
 * 8192 covers every byte there.
 */
Test(recording, public_ones_cut, .timeout = 3600)
{
	unsigned long nr = number_of("NR_CUTS", 60);
	uint64_t state = 88172645463325252u;

	if (!getenv("CORPUS"))
		cr_skip_test("no public recordings: $CORPUS is not set");
	for (size_t i = 0; i < ARRAY_SIZE(public); i++) {
		size_t size = load_public(i), tail = MIN_OF(size, (size_t)4096);
		struct outcome whole;

		if (!size)
			continue;
		whole = fold(original, size);
		cr_assert(whole.result == 0, "%s", public[i]);
		for (unsigned long j = 0; j < nr; j++) {
			size_t cut = j % 2 ? next_random(&state) % size :
			                     size - 1 - (j / 2 * tail / (nr / 2 + 1)) % tail;
			struct outcome outcome = fold(original, cut);

			if (outcome.result != 0)
				continue;
			cr_assert(outcome.nr_samples <= whole.nr_samples, "%s cut at %zu",
			          public[i], cut);
			/* a stream may end between two records; a byte more is a cut then */
			cr_assert(outcome.is_incomplete || fold(original, cut + 1).is_incomplete,
			          "%s cut at %zu: nothing is said of it", public[i], cut);
		}
	}
	free(original);
	free(changed);
	original = changed = NULL;
}

static void check_memory(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
#ifndef __SANITIZE_ADDRESS__ /* which keeps what was freed for a while */
	cr_assert(usage.ru_maxrss < 256 * 1024, "peak memory %ld KiB", usage.ru_maxrss);
#endif
}

/* NR_MUTATIONS as below. */
Test(recording, public_ones_changed, .timeout = 3600)
{
	unsigned long nr = number_of("NR_MUTATIONS", 600) / ARRAY_SIZE(public) + 1;
	uint64_t state = 88172645463325252u;

	if (!getenv("CORPUS"))
		cr_skip_test("no public recordings: $CORPUS is not set");
	for (size_t i = 0; i < ARRAY_SIZE(public); i++) {
		size_t size = load_public(i);

		memcpy(changed, original, size);
		for (unsigned long j = 0; size && j < nr; j++) {
			size_t at = next_random(&state) % size;

			changed[at] = (uint8_t)next_random(&state);
			fold(changed, size);
			changed[at] = original[at];
		}
	}
	free(original);
	free(changed);
	original = changed = NULL;
	check_memory();
}

/* NR_MUTATIONS in the environment asks for more. */
Test(recording, single_bytes_changed, .timeout = 3600)
{
	unsigned long nr = number_of("NR_MUTATIONS", 6000), nr_done = 0;
	static uint8_t bytes[1 << 16], mutated[1 << 16];
	uint64_t state = 88172645463325252u;
	struct dirent *entry;
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
		size = load(CORPUS, entry->d_name, bytes, sizeof(bytes));
		cr_assert(size, "%s", entry->d_name);
		for (unsigned long i = 0; i < nr / nr_files + 1; i++, nr_done++) {
			memcpy(mutated, bytes, size);
			mutated[next_random(&state) % size] = (uint8_t)next_random(&state);
			fold(mutated, size);
		}
	}
	closedir(dir);
	cr_assert(nr_done >= nr);
	check_memory();
}
