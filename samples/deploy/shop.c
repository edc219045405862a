/*
 * shop.c - a service in two versions, to compare: serves made-up requests for
 * some seconds of CPU time and prints what share of it each part took.
 *
 * usage: shop [SECONDS]
 *
 * Built with VERSION=1 or 2. Version 2 prices each basket with twice as many
 * rounds (the regression), and lets the compiler inline pad() (which
 * then is gone as a function, though not as work).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifndef VERSION
#define VERSION 1
#endif

#define PRICE_ROUNDS (VERSION == 1 ? 100000 : 200000)
#define OUTLINE      __attribute__((noinline))
#if VERSION == 1
#define PAD OUTLINE
#else
#define PAD static inline __attribute__((always_inline))
#endif

enum part { PARSE, PRICE, SHOW, SEAL, NR_PARTS };

static const char *const names[] = {"parse", "price", "show", "seal"};
static uint64_t spent_ns[NR_PARTS];
static uint32_t basket[256];
static volatile uint64_t nr_served;

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

OUTLINE uint32_t parse(uint32_t request)
{
	for (int i = 0; i < 150000; i++) {
		request = request * 1664525 + 1013904223;
		basket[request >> 24] = request;
	}
	return request;
}

OUTLINE uint32_t price(uint32_t seed)
{
	uint32_t sum = seed;

	for (int i = 0; i < PRICE_ROUNDS; i++)
		sum = (sum ^ basket[i & 255]) * 2654435761u;
	return sum;
}

PAD uint32_t pad(uint32_t value)
{
	for (int i = 0; i < 40; i++)
		value = (value ^ value >> 15) * 2246822519u;
	return value;
}

OUTLINE uint32_t show(uint32_t seed)
{
	for (int i = 0; i < 80000; i++) {
		seed = (seed ^ basket[i & 255]) * 3266489917u;
		if (i % 250 == 0)
			seed = pad(seed);
	}
	return seed;
}

OUTLINE uint32_t seal(uint32_t seed)
{
	for (int i = 0; i < 90000; i++)
		seed = (seed << 5 | seed >> 27) + basket[i & 255];
	return seed;
}

OUTLINE uint32_t timed(enum part part, uint32_t (*call)(uint32_t), uint32_t seed)
{
	uint64_t start = cpu_ns();

	seed = call(seed);
	spent_ns[part] += cpu_ns() - start;
	return seed;
}

OUTLINE uint32_t serve(uint32_t request)
{
	request = timed(PARSE, parse, request);
	request = timed(PRICE, price, request);
	request = timed(SHOW, show, request);
	request = timed(SEAL, seal, request);
	nr_served++; /* so that the last call is no tail call, which hides its caller */
	return request;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 3;
	volatile uint32_t request = 1;
	uint64_t all;

	while ((all = cpu_ns()) < (uint64_t)(seconds * 1e9))
		request = serve(request);
	for (int part = 0; part < NR_PARTS; part++)
		printf("%s %.4f\n", names[part], 100. * (double)spent_ns[part] / (double)all);
	return 0;
}
