/* split.c - recursion over many small pieces of stack (-fsplit-stack). */
#include <stdio.h>
#include <string.h>

__attribute__((noinline)) long burn(long n)
{
	volatile long sum = 0;

	for (long i = 0; i < n; i++)
		sum += i * i;
	return sum;
}

__attribute__((noinline)) long deep(int n)
{
	char bytes[3000];

	memset(bytes, n, sizeof(bytes));
	return (n == 0 ? burn(300000) : deep(n - 1)) + bytes[n];
}

int main(void)
{
	long sum = 0;

	for (int i = 0; i < 60; i++)
		sum += deep(20);
	printf("%ld\n", sum);
	return 0;
}
