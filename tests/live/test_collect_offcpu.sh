#!/bin/bash
# Time off the CPU, recorded live: what the kernel says against what the
# program knows.
. "$TOP/tests/lib/check.sh"

if [ "$(id -u)" != 0 ] || ! can_sample; then
	skip "collect --off-cpu: needs the kernel half of events"
	exit 0
fi
gcc -O1 -o "$work/naps" -xc - <<'NAPS'
#include <pthread.h>
#include <stdio.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) static int await_condition(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
	struct timespec until;
	pthread_mutex_lock(&mutex);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (until.tv_nsec + 50000000) / 1000000000;
	until.tv_nsec = (until.tv_nsec + 50000000) % 1000000000;
	return pthread_cond_timedwait(&condition, &mutex, &until);
}
__attribute__((noinline)) static long await_timer(void)
{
	struct itimerspec in = {.it_value = {0, 50000000}};
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	long ticks;
	timerfd_settime(fd, 0, &in, 0);
	return read(fd, &ticks, sizeof(ticks)) + close(fd);
}
__attribute__((noinline)) static double nap(void)
{
	struct timespec pause = {0, 20000000}, before, after;
	clock_gettime(CLOCK_MONOTONIC, &before);
	nanosleep(&pause, 0);
	clock_gettime(CLOCK_MONOTONIC, &after);
	return (after.tv_sec - before.tv_sec) * 1e6 + (after.tv_nsec - before.tv_nsec) / 1e3;
}
int main(void)
{
	double slept = 0;
	for (int i = 0; i < 20; i++)
		slept += nap();
	if (await_condition() + await_timer() < 0)
		return 1;
	fprintf(stderr, "slept %.0f us\n", slept);
	return 0;
}
NAPS
collect -q --off-cpu -o "$work/data" -- "$work/naps" 2>"$work/said"
collapse -q --off-cpu "$work/data" >"$work/folded" 2>"$work/err"
slept=$(sed -n 's/^slept \([0-9]*\) us/\1/p' "$work/said")
check "off-CPU time of nap() is what the program measured, within 3 %" awk -v slept="$slept" '
	/;main;nap;.*nanosleep/ { sum += $NF }
	END { print sum, slept; exit !(slept > 0 && sum > .97 * slept && sum < 1.01 * slept) }' "$work/folded"
check "off-CPU stacks are whole through libc" \
	awk '!/^#/ && /nanosleep/ { nr++; if (/_start;.*;main;nap/) whole++ } END { exit !(nr > 0 && nr == whole) }' "$work/folded"
for call in await_condition:pthread_cond_timedwait await_timer:read; do
	check "the wait of ${call#*:} stands whole below main, with its 50 ms" awk -v by="${call%:*}" -v name="${call#*:}" '
		$0 ~ "_start;.*;main;" by ";.*" name { sum += $NF } END { print sum; exit !(sum > 49000 && sum < 150000) }' "$work/folded"
done
check "a histogram of naps of 20 ms has its middle there" awk '
	/^naps: / { sub(/.*p50 /, ""); p50 = $1 + 0 } $1 == 16384 || $1 == 32768 { nr += $5 }
	END { print p50, nr; exit !(p50 > 20000 && p50 < 50000 && nr >= 20) }' <(collapse -q --off-cpu --format histogram "$work/data")
timeout 300 perf script -i - -F comm,event,period,trace <"$work/data" >"$work/script" 2>/dev/null
check "perf script reads waits, their length and why" awk '
	/^naps.*offcpu-time: .*prev_state=S/ && $2 > 20000000 { nr++ } END { print nr; exit nr < 22 }' "$work/script"
collect -q --off-cpu --min-block 0 -o "$work/data" -- "$work/naps" 2>"$work/said"
slept=$(sed -n 's/^slept \([0-9]*\) us/\1/p' "$work/said")
check "with --min-block 0 perf script reads every switch" \
	grep -q 'PERF_RECORD_SWITCH IN' <(timeout 300 perf script -i - --show-switch-events <"$work/data" 2>/dev/null)
check "and collapse finds the same waits in them" awk -v slept="$slept" '
	/;main;nap;.*nanosleep/ { sum += $NF }
	END { print sum, slept; exit !(sum > .95 * slept && sum < 1.05 * slept) }' <(collapse -q --off-cpu "$work/data")
collect -q --off-cpu --min-block 10s -o "$work/data" -- "$work/naps" 2>/dev/null
collapse -q --off-cpu "$work/data" >"$work/folded"
check "what --min-block leaves out stands as a sum of its thread and in the header" awk '
	/^# short: [0-9]+ times, [0-9]+ us in all/ { told = $5 }
	/^naps;\[short waits\] / { sum = $NF }
	END { print told, sum; exit !(sum > 390000 && told >= int(sum)) }' "$work/folded"
collect -q --off-cpu -F 499 -o "$work/data" -- "$work/naps" 2>/dev/null
check "with -F: on-CPU samples as well" awk '
	/cpu-clock|cycles/ { on++ } /offcpu-time/ { off++ } END { print on + 0, off + 0; exit !(off >= 20) }
	' <(timeout 300 perf script -G -F event -i - <"$work/data" 2>/dev/null)

# ---- who ended a wait, and how long a thread then stood in the queue ----
collect -q --off-cpu -a -o "$work/data" -- "$BUILD/samples/waits" 2 /dev/null >"$work/truth" 2>/dev/null
# (a thread that stands in the queue for a CPU waits for nobody)
collapse -q --off-cpu --wakers --split state --comm piper "$work/data" | grep -v ';\[runnable\][; ]' >"$work/folded"
check "the pipe is waited for until the holder writes, whole stacks of both" awk '
	!/^#/ { all += $NF }
	/^piper;.*;wait_for_pipe;.*read.*;\[sleeping\];--;.*write_\[w\];.*hold_mutex_\[w\];run_\[w\];.*;holder_\[w\] / { sum += $NF }
	END { print sum, all; exit !(sum > 0.8 * all && sum > 1000000) }' "$work/folded"
check "the run queue is a part of that" awk -v off="$(folded_sum <"$work/folded")" '
	!/^#/ { sum += $NF } END { print sum, off; exit !(sum > 0 && sum < off) }' <(collapse -q --run-queue --comm piper "$work/data")

# ---- threads that move between CPUs; all that was on and off the CPU ----
gcc -O1 -pthread -o "$work/movers" -xc - <<'MOVERS'
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}
static void *move(void *arg)
{
	static double lived[4];
	double start = now();
	pthread_setname_np(pthread_self(), arg);
	for (int i = 0; now() - start < 1e6; i++) {
		cpu_set_t set;
		struct timespec pause = {0, i % 3 ? 2000000 : 20000};
		CPU_ZERO(&set);
		CPU_SET(i % sysconf(_SC_NPROCESSORS_ONLN), &set);
		sched_setaffinity(0, sizeof(set), &set);
		for (double until = now() + 300; now() < until;)
			;
		nanosleep(&pause, 0);
	}
	double *mine = &lived[((char *)arg)[5] - '0'];
	*mine = now() - start;
	return mine;
}
int main(void)
{
	static char *names[] = {"mover0", "mover1", "mover2", "mover3"};
	pthread_t threads[4];
	void *lived;
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], 0, move, names[i]);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &lived);
		printf("%s %.0f\n", names[i], *(double *)lived);
	}
	return 0;
}
MOVERS
lives() { # INPUT [OPTION]...: of each thread, all time on and off the CPU
	collapse -q --wall "$@" | awk '!/^#/ { split($0, f, ";"); sum[f[1]] += $NF } END { for (t in sum) print t, sum[t] }' | grep ^mover | sort
}
same_lives() { # within 1 %, and 4 ms at its begin before it has its name
	join "$work/lived" "$work/$1" | awk '{ d = $2 - $3; nr++; if (d > $2 / 100 + 4000 || d < -$2 / 100 - 4000) bad = 1; print } END { exit bad || nr != 4 }'
}
for block in 100us 0; do
	collect -q --off-cpu -F 499 --min-block $block -o "$work/data" -- "$work/movers" >"$work/lived" 2>/dev/null
	lives "$work/data" >"$work/sums"
	check "threads that move between CPUs: the time of each is its life (--min-block $block)" same_lives sums
done
collapse -q --off-cpu --min-block 100us "$work/data" | folded_sum >"$work/a"
collapse -q --off-cpu "$work/data" | folded_sum >"$work/b"
check "what collapse leaves out is not lost either" cmp "$work/a" "$work/b"

chmod 755 "$work"
cp "$BIN/collect" "$work/tool"
mkdir -m 777 "$work/own"
if setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=+perfmon --ambient-caps=+perfmon true 2>/dev/null; then
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=+perfmon --ambient-caps=+perfmon \
		"$work/tool" -q --off-cpu -o "$work/own/data" -- "$work/naps" 2>/dev/null
	check "a user who may sample the kernel has whole stacks without tracefs" awk '
		/_start;.*;main;nap/ { sum += $NF } END { print sum; exit !(sum > 390000) }' <(collapse -q --off-cpu "$work/own/data")
fi
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 2 ]; then
	expect "an ordinary user is told what it needs" 2 "with its kernel half is not permitted: kernel.perf_event_paranoid is" \
		setpriv --reuid=65534 --regid=65534 --clear-groups "$work/tool" --off-cpu -o /dev/null -- true
	expect "and what works without" 2 "samples the waits of a command by its clock: collect --wall -- COMMAND" \
		setpriv --reuid=65534 --regid=65534 --clear-groups "$work/tool" --off-cpu -o /dev/null -- true
fi
