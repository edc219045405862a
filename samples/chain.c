/*
 * chain.c - spins in main;outer;middle;hot for so many seconds of CPU time.
 *
 * usage: chain SECONDS
 *
 * Built with frame pointers and without inlining or tail calls between the
 * four, so that every way of recording stacks has the same answer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile unsigned long sink;

NOINLINE static void hot(void)
{
	/* on the stack: gcc gives a leaf without anything there no frame */
	volatile unsigned long sum = 0;

	for (int i = 0; i < 100000; i++)
		sum += (unsigned long)i;
	sink += sum;
}

NOINLINE static void middle(void)
{
	hot();
	sink++;
}

NOINLINE static void outer(void)
{
	middle();
	sink++;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;

	while ((double)clock() / CLOCKS_PER_SEC < seconds)
		outer();
	return 0;
}
