/*
 * frames.c - shapes of stack frames that compilers make, and ways to get from
 * one to the next: recursion, callbacks, tail calls, alloca, over-aligned
 * locals, large frames, varargs, string functions, longjmp, signal handlers
 * on both stacks, a context of its own. Runs a few ten thousand instructions,
 * so that a tracer can look at the stack after each.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline))

#ifndef ROUNDS
#define ROUNDS 45
#endif

static volatile int sink;
static jmp_buf out;

NOINLINE static int leaf(int n)
{
	volatile int red_zone[8];

	red_zone[n & 7] = n;
	return red_zone[n & 7] + 1;
}

NOINLINE static int recurse(int n)
{
	return n <= 0 ? leaf(n) : recurse(n - 1) + leaf(n);
}

NOINLINE static int tail_last(int n)
{
	return leaf(n) * 2;
}

/* becomes a jump */
NOINLINE static int tail(int n)
{
	leaf(n);
	return tail_last(n + 1);
}

NOINLINE static int with_alloca(int n)
{
	char *room = alloca((size_t)n * 24 + 1);

	memset(room, n, (size_t)n * 24 + 1);
	return leaf(room[n]) + recurse(2);
}

NOINLINE static int over_aligned(int n)
{
	_Alignas(64) volatile char line[64];

	line[n & 63] = (char)n;
	return leaf(line[n & 63]) + with_alloca(n);
}

NOINLINE static int large_frame(int n)
{
	volatile char page[3000];

	page[n] = (char)n;
	return leaf(page[n]) + (n ? large_frame(n - 1) : 0);
}

NOINLINE static int many_saved(int a, int b, int c, int d, int e, int f, int g, int h)
{
	int x = leaf(a), y = leaf(b), z = leaf(c), u = leaf(d), v = leaf(e);

	leaf(f);
	return x + y + z + u + v + leaf(g) + leaf(h) + a * b * c * d + x * y;
}

NOINLINE static int sum(int nr, ...)
{
	va_list list;
	int total = 0;

	va_start(list, nr);
	while (nr--)
		total += leaf(va_arg(list, int));
	va_end(list);
	return total;
}

static int compare(const void *a, const void *b)
{
	return leaf(*(const int *)a) - leaf(*(const int *)b);
}

NOINLINE static int library(void)
{
	int numbers[] = {5, 2, 9, 1, 7, 3};
	char text[100], copy[300];

	qsort(numbers, 6, sizeof(numbers[0]), compare);
	snprintf(text, sizeof(text), "%d %s %.3f", numbers[0], "text", 1.5);
	memset(copy, 0, sizeof(copy));
	memcpy(copy, text, strlen(text) + 1);
	return strcmp(text, copy) + (strchr(copy, 'x') != NULL) + atoi(copy);
}

/* the compiler moves the unlikely part elsewhere */
NOINLINE static int hot_and_cold(int n)
{
	if (__builtin_expect(n > 1000, 0)) {
		leaf(n);
		abort();
	}
	if (__builtin_expect(n == 3, 0))
		return sum(3, n, n + 1, n + 2) + many_saved(n, 2, 3, 4, 5, 6, 7, 8);
	return leaf(n);
}

NOINLINE static void jump_out(int n)
{
	if (n == 0)
		longjmp(out, 1);
	if (n < 100)
		jump_out(n - 1);
	leaf(n);
}

static void on_signal(int number)
{
	sink += recurse(number % 4);
}

NOINLINE static void signals(void)
{
	static char other_stack[32768];
	stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	sigaltstack(&stack, NULL);
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &action, NULL);
	raise(SIGUSR2);
}

static ucontext_t main_context, own_context;

static void in_own_context(void)
{
	sink += recurse(3);
}

NOINLINE static void contexts(void)
{
	static char own_stack[32768];

	getcontext(&own_context);
	own_context.uc_stack.ss_sp = own_stack;
	own_context.uc_stack.ss_size = sizeof(own_stack);
	own_context.uc_link = &main_context;
	makecontext(&own_context, in_own_context, 0);
	swapcontext(&main_context, &own_context);
}

int main(void)
{
	volatile int total = 0; /* lives across longjmp */

	for (int n = 0; n < ROUNDS; n++)
		total = total + recurse(n) + tail(n) + over_aligned(n) + hot_and_cold(n);
	total = total + large_frame(3) + library();
#ifndef PLAIN_CALLS /* all but what leaves a function by no return */
	if (setjmp(out) == 0)
		jump_out(4);
	signals();
	contexts();
#endif
	sink += total;
	return 0;
}
