/*
 * unwind.c - measures unwinding alone: a recording's samples are kept, with
 * the maps of their moment, and walked several times over.
 *
 * usage: unwind [--threads N] [--passes N] [--strict] [--print] FILE
 * Prints frames per second of the first pass (rules are read) and of the
 * following ones, and why walks ended. --print gives the frames instead, a
 * line per sample: tid, time, places in the modules innermost first, the end.
 */
#include "share/compat.h"

#include "collapse/records/features.h"
#include "collapse/records/reorder.h"
#include "collapse/records/sample.h"
#include "collapse/records/session.h"
#include "collapse/unwind/unwind.h"
#include "share/mem.h"
#include "share/num.h"

#include <pthread.h>
#include <time.h>

struct kept {
	struct unwind_sample sample;
	int32_t tid;
	uint64_t time;
};

struct bench {
	struct session session;
	struct sample_scratch scratch;
	struct kept *kept;
	size_t nr, capacity;
	uint16_t machine;
};

static bool find(void *ctx, uint64_t ip, struct unwind_map *out)
{
	const struct map *map = maps_find(ctx, ip);

	if (!map)
		return false;
	*out = (struct unwind_map){map->start, map->end, map->pgoff, map->module, true};
	return true;
}

static void deliver(void *ctx, const struct record *record, struct event *event, uint64_t time)
{
	struct bench *bench = ctx;
	struct sample sample;
	struct thread *thread;
	uint64_t *regs;
	uint8_t *stack;

	if (record->type != PERF_RECORD_SAMPLE) {
		session_record(&bench->session, record);
		return;
	}
	if (!event ||
	    !sample_decode(bench->session.reader, event, record, &bench->scratch, &sample) ||
	    !sample.regs)
		return;
	thread = session_thread(&bench->session, sample.pid, sample.tid);
	regs = mem_alloc((size_t)__builtin_popcountll(sample.regs_mask) * 8);
	memcpy(regs, sample.regs, (size_t)__builtin_popcountll(sample.regs_mask) * 8);
	stack = mem_alloc(sample.stack_dyn_size + 1);
	memcpy(stack, sample.stack, sample.stack_dyn_size);
	MEM_GROW(bench->kept, bench->nr, bench->capacity);
	bench->kept[bench->nr++] =
	        (struct kept){.sample = {.machine = bench->machine,
	                                 .regs_abi = sample.regs_abi,
	                                 .regs_mask = sample.regs_mask,
	                                 .regs = regs,
	                                 .stack = stack,
	                                 .stack_size = sample.stack_dyn_size,
	                                 .stack_request = sample.stack_size,
	                                 .find = find,
	                                 .ctx = maps_share(thread->process->maps)},
	                      .tid = sample.tid,
	                      .time = time};
}

static int read_recording(struct bench *bench, const char *path, struct modules *modules,
                          struct err *err)
{
	struct input *in = input_open(path, 0, err);
	struct reader *reader = in ? reader_open(in, err) : NULL;
	struct reorder reorder;
	struct record record;

	if (!reader)
		return -1;
	bench->machine = features_machine(reader);
	session_init(&bench->session, reader, modules);
	reorder_init(&reorder, reader, deliver, bench);
	while (reader_next(reader, &record) == 1) {
		struct event *event;
		uint64_t time;

		if (record.type == PERFREC_FINISHED_ROUND) {
			reorder_round(&reorder);
			continue;
		}
		event = events_of_record(&reader->events, record.at, record.size, record.type,
		                         reader->swap, &time);
		reorder_add(&reorder, &record, event, time);
	}
	reorder_finish(&reorder);
	reorder_release(&reorder);
	return 0;
}

/* One thread's share of the samples: every nr_threads-th from `first`. */
struct share {
	const struct bench *bench;
	struct unwinder *unwinder;
	size_t first, step;
	uint64_t nr_frames;
	double cpu;
};

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *walk_all(void *arg)
{
	static _Thread_local struct unwind_frame frames[UNWIND_DEPTH_MAX];
	struct share *share = arg;
	double start = now(CLOCK_THREAD_CPUTIME_ID);
	struct unwind_result result;

	share->nr_frames = 0;
	for (size_t i = share->first; i < share->bench->nr; i += share->step) {
		share->nr_frames += unwind(share->unwinder, &share->bench->kept[i].sample, frames,
		                           UNWIND_DEPTH_MAX, &result);
		unwinder_count(share->unwinder, &result);
	}
	share->cpu = now(CLOCK_THREAD_CPUTIME_ID) - start;
	return NULL;
}

static void pass(struct share *shares, size_t nr, unsigned number)
{
	double wall = now(CLOCK_MONOTONIC), cpu = 0;
	uint64_t nr_frames = 0;
	pthread_t *threads = mem_alloc(nr * sizeof(*threads));

	for (size_t i = 0; i < nr; i++)
		if (pthread_create(&threads[i], NULL, walk_all, &shares[i]) != 0)
			exit(EXIT_FAILED);
	for (size_t i = 0; i < nr; i++) {
		pthread_join(threads[i], NULL);
		nr_frames += shares[i].nr_frames;
		cpu += shares[i].cpu;
	}
	wall = now(CLOCK_MONOTONIC) - wall;
	printf("pass %u: %ju frames, %.4f s CPU, %.4f s wall, %.2f million frames per CPU second\n",
	       number, (uintmax_t)nr_frames, cpu, wall, (double)nr_frames / cpu / 1e6);
	free(threads);
}

static void print_frames(const struct bench *bench, struct unwinder *unwinder)
{
	static struct unwind_frame frames[UNWIND_DEPTH_MAX];

	for (size_t i = 0; i < bench->nr; i++) {
		struct unwind_result result;
		size_t nr =
		        unwind(unwinder, &bench->kept[i].sample, frames, UNWIND_DEPTH_MAX, &result);

		printf("%d %ju", bench->kept[i].tid, (uintmax_t)bench->kept[i].time);
		for (size_t j = 0; j < nr; j++)
			printf(" %jx", (uintmax_t)(frames[j].off - frames[j].is_return));
		printf(" %s\n", unwind_end_text(result.end));
	}
}

static void print_counts(const struct bench *bench, const struct share *shares, size_t nr)
{
	const struct modules *modules = bench->session.modules;
	struct unwind_counts sum = {0};

	for (size_t i = 0; i < nr; i++) {
		const struct unwind_counts *counts = unwinder_totals(shares[i].unwinder);

		for (unsigned j = 0; j < UNWIND_NR_ENDS; j++)
			sum.ends[j] += counts->ends[j];
		for (unsigned j = 0; j < UNWIND_NR_STEPS; j++)
			sum.steps[j] += counts->steps[j];
	}
	for (unsigned j = 0; j < UNWIND_NR_STEPS; j++)
		if (sum.steps[j])
			printf("frames by %s: %ju\n", unwind_step_text(j), (uintmax_t)sum.steps[j]);
	for (unsigned j = 0; j < UNWIND_NR_ENDS; j++) {
		if (!sum.ends[j])
			continue;
		printf("%s: %ju\n", unwind_end_text(j), (uintmax_t)sum.ends[j]);
		for (size_t id = 0; id < modules_nr(modules); id++) {
			const struct module *module = modules_at((struct modules *)modules, id);
			uint64_t its = unwinder_module_counts(shares[0].unwinder, module).ends[j];

			if (its)
				printf("\t%s: %ju\n", module->key.path, (uintmax_t)its);
		}
	}
}

int main(int argc, char **argv)
{
	struct unwind_options options = {0};
	size_t nr_threads = 1, nr_passes = 4;
	bool print = false;
	struct modules *modules = modules_new(&(struct module_options){0});
	struct unwind_rules *rules;
	struct share *shares;
	struct bench bench = {0};
	struct err err;

	for (int i = 1; i < argc - 1; i++) {
		if (strcmp(argv[i], "--strict") == 0)
			options.strict = true;
		else if (strcmp(argv[i], "--print") == 0)
			print = true;
		else if (strcmp(argv[i], "--threads") == 0)
			nr_threads = strtoul(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--passes") == 0)
			nr_passes = strtoul(argv[++i], NULL, 10);
		else
			return EXIT_MISUSE;
	}
	if (argc < 2 || nr_threads == 0)
		return EXIT_MISUSE;
	if (read_recording(&bench, argv[argc - 1], modules, &err) != 0) {
		fprintf(stderr, "%s\n", err.text);
		return EXIT_FAILED;
	}
	rules = unwind_rules_new(modules, &options);
	shares = mem_zalloc(nr_threads * sizeof(*shares));
	for (size_t i = 0; i < nr_threads; i++)
		shares[i] = (struct share){.bench = &bench,
		                           .unwinder = unwinder_new(rules),
		                           .first = i,
		                           .step = nr_threads};
	if (print) {
		print_frames(&bench, shares[0].unwinder);
		return EXIT_COMPLETE;
	}
	printf("%zu samples\n", bench.nr);
	for (size_t i = 0; i < nr_passes; i++) {
		pass(shares, nr_threads, (unsigned)i);
		if (i == 0)
			print_counts(&bench, shares, nr_threads);
	}
	return EXIT_COMPLETE;
}
