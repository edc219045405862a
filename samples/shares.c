/*
 * shares.c - a program whose shares are known, to test recordings against.
 *
 * usage: shares MODE SECONDS (of CPU time, all threads and children together)
 *
 * A round is always 5 units in half(), 3 in third(), 2 in fifth(): a unit is
 * a fixed amount of work, counted exactly, so that 50, 30 and 20 % of
 * whatever is sampled belong to them. MODE says what a unit is:
 *     spin     a loop              threads   the same in 4 threads
 *     forks    the same in child processes, one a round
 *     calls    system calls        faults    page faults
 *     switches context switches (yielding to a second thread on one CPU)
 *     probes   one hit of the USDT probe shares:unit and of the function unit()
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define NR_PAGES 64

static volatile unsigned long sink;
static void (*unit_of_mode)(void);
static double seconds; /* of each thread's CPU time */
static char *pages;

static double cpu_time(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* ---- units ---- */

static void spin(void)
{
	for (int i = 0; i < 20000; i++)
		sink += (unsigned long)i;
}

static void call(void)
{
	for (int i = 0; i < 10; i++)
		syscall(SYS_getppid);
}

static void fault(void)
{
	for (int i = 0; i < NR_PAGES; i++)
		pages[i * 4096] = 1;
	madvise(pages, NR_PAGES * 4096, MADV_DONTNEED);
}

static void yield(void)
{
	sched_yield();
}

/*
 * A USDT probe as <sys/sdt.h> of systemtap writes it: a nop, and a note with
 * its address, a base to tell prelinking by, no semaphore, provider, name,
 * arguments.
 */
NOINLINE static void unit(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
	__asm__ volatile("990: nop\n"
	                 ".pushsection .note.stapsdt,\"?\",\"note\"\n"
	                 ".balign 4\n"
	                 ".4byte 992f-991f, 994f-993f, 3\n"
	                 "991: .asciz \"stapsdt\"\n"
	                 "992: .balign 4\n"
	                 "993: .8byte 990b, _.stapsdt.base, 0\n"
	                 ".asciz \"shares\"\n"
	                 ".asciz \"unit\"\n"
	                 ".asciz \"\"\n"
	                 "994: .balign 4\n"
	                 ".popsection\n"
	                 ".ifndef _.stapsdt.base\n"
	                 ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
	                 ".weak _.stapsdt.base\n"
	                 ".hidden _.stapsdt.base\n"
	                 "_.stapsdt.base: .space 1\n"
	                 ".size _.stapsdt.base, 1\n"
	                 ".popsection\n"
	                 ".endif\n");
#endif
	sink++;
}

/* ---- shares ---- */

NOINLINE static void half(void)
{
	for (int i = 0; i < 5; i++)
		unit_of_mode();
	sink++;
}

NOINLINE static void third(void)
{
	for (int i = 0; i < 3; i++)
		unit_of_mode();
	sink++;
}

NOINLINE static void fifth(void)
{
	for (int i = 0; i < 2; i++)
		unit_of_mode();
	sink++;
}

NOINLINE static void one_round(void)
{
	half();
	third();
	fifth();
	sink++;
}

static void *rounds(void *arg)
{
	while (cpu_time(CLOCK_THREAD_CPUTIME_ID) < seconds)
		for (int i = 0; i < 10; i++)
			one_round();
	return arg;
}

static void in_threads(int nr)
{
	pthread_t threads[4];

	seconds /= nr;
	for (int i = 0; i < nr; i++)
		pthread_create(&threads[i], NULL, rounds, NULL);
	for (int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
}

static void in_children(void)
{
	struct rusage children = {0};

	while ((double)children.ru_utime.tv_sec + (double)children.ru_utime.tv_usec / 1e6 <
	       seconds) {
		pid_t child = fork();

		if (child == 0) {
			for (int i = 0; i < 500; i++)
				one_round();
			_exit(0);
		}
		if (child > 0)
			waitpid(child, NULL, 0);
		getrusage(RUSAGE_CHILDREN, &children);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "spin";

	seconds = argc > 2 ? strtod(argv[2], NULL) : 1;
	unit_of_mode = spin;
	if (strcmp(mode, "threads") == 0) {
		in_threads(4);
	} else if (strcmp(mode, "forks") == 0) {
		in_children();
	} else if (strcmp(mode, "switches") == 0) {
		cpu_set_t one;

		CPU_ZERO(&one);
		CPU_SET(0, &one);
		sched_setaffinity(0, sizeof(one), &one);
		unit_of_mode = yield;
		in_threads(2);
	} else {
		if (strcmp(mode, "calls") == 0)
			unit_of_mode = call;
		if (strcmp(mode, "probes") == 0)
			unit_of_mode = unit;
		if (strcmp(mode, "faults") == 0) {
			unit_of_mode = fault;
			pages = mmap(NULL, NR_PAGES * 4096, PROT_READ | PROT_WRITE,
			             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			if (pages == MAP_FAILED)
				return 1;
		}
		rounds(NULL);
	}
	return 0;
}
