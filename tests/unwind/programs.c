/*
 * programs.c - what makes stacks odd: alloca and frames aligned further than
 * the machine asks for, tail calls, a stack of its own for a coroutine, a
 * signal handler on a stack of its own, functions of libc written by hand.
 * Each part calls burn() or libc for as long as samples need.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <ucontext.h>
#endif

#define ALONE __attribute__((noinline))

ALONE long burn(long n)
{
	volatile long sum = 0;

	for (long i = 0; i < n; i++)
		sum += i * i;
	return sum;
}

ALONE long in_alloca(int n)
{
	char *p = alloca((size_t)n);

	memset(p, n, (size_t)n);
	return burn(400000) + p[n / 2];
}

ALONE long over_aligned(int n)
{
	char bytes[256] __attribute__((aligned(128)));

	memset(bytes, n, sizeof(bytes));
	return in_alloca(n + bytes[3]) + bytes[n % 256];
}

ALONE long tail_last(long n)
{
	return burn(n + 400000);
}

ALONE long tail_first(long n)
{
	return tail_last(n * 2);
}

ALONE long before_tail(long n)
{
	return tail_first(n) + 1;
}

ALONE size_t in_libc(const char *text, size_t size)
{
	size_t sum = 0;

	for (int i = 0; i < 4000; i++)
		sum += strlen(text + i % 7) + (memchr(text, 'b', size) != NULL);
	return sum;
}

ALONE void handler(int number)
{
	volatile long result = burn(400000 + number);

	(void)result;
}

ALONE int interrupted(void)
{
	return raise(SIGUSR1) + 1;
}

#ifdef __GLIBC__
static ucontext_t home, other;

ALONE void coroutine(void)
{
	for (;;) {
		burn(400000);
		swapcontext(&other, &home);
	}
}

ALONE void resume(void)
{
	static char stack[65536];

	if (!other.uc_stack.ss_sp) {
		getcontext(&other);
		other.uc_stack.ss_sp = stack;
		other.uc_stack.ss_size = sizeof(stack);
		makecontext(&other, coroutine, 0);
	}
	swapcontext(&home, &other);
}
#else
static void resume(void)
{
}
#endif

int main(void)
{
	static char alternate[65536];
	stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	size_t size = 65536;
	char *text = malloc(size + 1);
	long sum = 0;

	memset(text, 'a', size);
	text[size] = '\0';
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 60; i++) {
		sum += over_aligned(100 + i % 20) + before_tail(i) + interrupted();
		sum += (long)in_libc(text, size);
		resume();
	}
	printf("%ld\n", sum);
	free(text);
	return 0;
}
