/*
 * busy.c - a small make-believe server to look at with `make demo`.
 *
 * A few worker threads answer requests: each parses a query, searches an
 * index, fills a template, packs the reply and writes it away. The work is
 * real (nothing is thrown away by the compiler), deterministic, and ends
 * after the number of seconds given as the argument.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE  __attribute__((noinline))
#define NR_WORDS  4096
#define PAGE_SIZE 16384

struct request {
	uint64_t state; /* xorshift64: the request's randomness */
	char query[256];
	int terms[16];
	int nr_terms;
	char page[PAGE_SIZE];
	size_t page_size;
	unsigned char packed[PAGE_SIZE];
	size_t packed_size;
};

static char words[NR_WORDS][16];
static time_t deadline;
static int sink;

static uint64_t next_random(struct request *r)
{
	r->state ^= r->state << 13;
	r->state ^= r->state >> 7;
	r->state ^= r->state << 17;
	return r->state;
}

static int compare_words(const void *a, const void *b)
{
	return strcmp(a, b);
}

NOINLINE static void build_index(void)
{
	struct request r = {.state = 88172645463325252u};

	for (int i = 0; i < NR_WORDS; i++)
		snprintf(words[i], sizeof(words[i]), "w%llx",
		         (unsigned long long)next_random(&r) >> 24);
	qsort(words, NR_WORDS, sizeof(words[0]), compare_words);
}

NOINLINE static void read_query(struct request *r)
{
	size_t used = 0;

	while (used + 20 < sizeof(r->query))
		used += (size_t)snprintf(r->query + used, sizeof(r->query) - used, "%s+",
		                         words[next_random(r) % NR_WORDS]);
}

NOINLINE static int find_word(const char *word, size_t size)
{
	int low = 0, high = NR_WORDS - 1;

	while (low <= high) {
		int middle = (low + high) / 2;
		int order = strncmp(word, words[middle], size);

		if (order == 0)
			return middle;
		if (order < 0)
			high = middle - 1;
		else
			low = middle + 1;
	}
	return -1;
}

NOINLINE static void search(struct request *r)
{
	const char *word = r->query;

	for (int round = 0; round < 150; round++) {
		r->nr_terms = 0;
		for (word = r->query; *word && r->nr_terms < 16;) {
			size_t size = strcspn(word, "+");

			r->terms[r->nr_terms++] = find_word(word, size);
			word += size + (word[size] == '+');
		}
	}
}

NOINLINE static void fill_template(struct request *r)
{
	r->page_size = 0;
	for (int i = 0; i < 200; i++) {
		int term = r->terms[i % r->nr_terms];

		r->page_size += (size_t)snprintf(r->page + r->page_size, PAGE_SIZE - r->page_size,
		                                 "<li id=%d>%s, rank %.3f</li>\n", i,
		                                 term < 0 ? "" : words[term], 1.0 / (i + 1));
	}
}

/* Length of the match between two places of the page, at most 64. */
NOINLINE static size_t match_length(const char *a, const char *b, const char *end)
{
	size_t size = 0;

	while (size < 64 && b + size < end && a[size] == b[size])
		size++;
	return size;
}

NOINLINE static void pack(struct request *r)
{
	const char *end = r->page + r->page_size;

	r->packed_size = 0;
	for (const char *at = r->page; at < end;) {
		size_t best = 0;

		for (size_t back = 8; back < 128 && at - r->page >= (long)back; back += 12) {
			size_t size = match_length(at - back, at, end);

			if (size > best)
				best = size;
		}
		r->packed[r->packed_size++] = best > 3 ? (unsigned char)best : (unsigned char)*at;
		at += best > 3 ? best : 1;
	}
}

NOINLINE static void send_reply(struct request *r)
{
	for (size_t at = 0; at < r->packed_size; at += 32)
		if (write(sink, r->packed + at, 32) < 0)
			exit(1);
}

NOINLINE static void handle_request(struct request *r)
{
	read_query(r);
	search(r);
	fill_template(r);
	pack(r);
	send_reply(r);
}

static void *worker(void *arg)
{
	struct request *r = calloc(1, sizeof(*r));
	const struct timespec pause = {.tv_nsec = 1000 * 1000};

	if (!r)
		exit(1);
	r->state = 0x9e3779b97f4a7c15u + (uint64_t)(uintptr_t)arg;
	pthread_setname_np(pthread_self(), "worker");
	while (time(NULL) < deadline) {
		for (int i = 0; i < 20; i++)
			handle_request(r);
		nanosleep(&pause, NULL);
	}
	free(r);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	int seconds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 5;

	deadline = time(NULL) + seconds;
	sink = open("/dev/null", O_WRONLY);
	if (sink < 0)
		return 1;
	build_index();
	for (uintptr_t i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, worker, (void *)(i + 1)) != 0)
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
