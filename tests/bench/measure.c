/*
 * measure.c - runs a shell line several times and prints the medians of its
 * CPU time (user + system, children included), wall time and peak memory.
 *
 * usage: measure RUNS 'SHELL LINE'
 * prints: CPU_SECONDS WALL_SECONDS PEAK_KIB STATUS
 *
 * Peak memory is that of the largest single process of the line, as wait4(2)
 * reports it (ru_maxrss, KiB).
 */
#include "share/compat.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_RUNS 99

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *values, int nr)
{
	qsort(values, (size_t)nr, sizeof(*values), compare);
	return nr % 2 ? values[nr / 2] : (values[nr / 2 - 1] + values[nr / 2]) / 2;
}

int main(int argc, char **argv)
{
	double cpu[MAX_RUNS], wall[MAX_RUNS], peak[MAX_RUNS];
	int nr = argc == 3 ? (int)strtol(argv[1], NULL, 10) : 0;
	int status = 0;

	if (nr < 1 || nr > MAX_RUNS) {
		fprintf(stderr, "usage: measure RUNS 'SHELL LINE'\n");
		return 64;
	}
	for (int i = 0; i < nr; i++) {
		double start = now();
		struct rusage usage;
		/* vfork: the child must not carry this program's pages into its peak */
		pid_t pid = vfork();

		if (pid == 0) {
			execl("/bin/bash", "bash", "-c", argv[2], (char *)NULL);
			_exit(127);
		}
		if (pid < 0 || wait4(pid, &status, 0, &usage) < 0)
			return 2;
		wall[i] = now() - start;
		cpu[i] = seconds(usage.ru_utime) + seconds(usage.ru_stime);
		peak[i] = (double)usage.ru_maxrss;
	}
	printf("%.4f %.4f %.0f %d\n", median(cpu, nr), median(wall, nr), median(peak, nr),
	       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	return 0;
}
