/*
 * switches.c - a load of so many context switches a second.
 *
 * Two threads on one CPU hand a byte to and fro through two pipes; each time
 * one waits, the other runs. usage: switches RATE SECONDS [CPU]. Prints how
 * many round trips it made, two switches each, and the pauses between.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BURST 50 /* round trips between looks at the clock */

static int there[2], back[2];

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void *answer(void *arg)
{
	char c;

	(void)arg;
	pthread_setname_np(pthread_self(), "answerer");
	while (read(there[0], &c, 1) == 1)
		if (write(back[1], &c, 1) != 1)
			break;
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t rate = argc > 1 ? strtoull(argv[1], NULL, 10) : 50000;
	uint64_t seconds = argc > 2 ? strtoull(argv[2], NULL, 10) : 5;
	uint64_t start = now(), nr = 0, nr_pauses = 0;
	pthread_t thread;
	cpu_set_t cpus;
	char c = 'x';

	CPU_ZERO(&cpus);
	CPU_SET(argc > 3 ? (size_t)strtoul(argv[3], NULL, 10) : 0, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	if (pipe(there) < 0 || pipe(back) < 0 || pthread_create(&thread, NULL, answer, NULL) != 0)
		return 1;
	while (now() - start < seconds * 1000000000) {
		uint64_t due;

		for (int i = 0; i < BURST; i++, nr++)
			if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
				return 1;
		due = start + nr * 2000000000 / rate;
		if (due > now()) {
			struct timespec pause = {.tv_nsec = (long)(due - now()) % 1000000000};

			nanosleep(&pause, NULL);
			nr_pauses++;
		}
	}
	close(there[1]);
	pthread_join(thread, NULL);
	printf("%llu round trips, %llu pauses in %.3f s\n", (unsigned long long)nr,
	       (unsigned long long)nr_pauses, (double)(now() - start) / 1e9);
	return 0;
}
