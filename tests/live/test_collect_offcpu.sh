#!/bin/bash
# Time off the CPU, recorded live: what the kernel says against what the
# program knows.
. "$TOP/tests/lib/check.sh"

if [ "$(id -u)" != 0 ] || ! can_sample; then
	skip "collect --off-cpu: needs the kernel half of events"
	exit 0
fi
gcc -O1 -o "$work/naps" -xc - <<'NAPS'
#include <stdio.h>
#include <time.h>
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
timeout 60 perf script -i - -F comm,event,period,trace <"$work/data" >"$work/script" 2>/dev/null
check "perf script reads waits, their length and why" awk '
	/^naps.*offcpu-time: .*prev_state=S/ && $2 > 20000000 && $2 < 40000000 { nr++ } END { print nr; exit nr != 20 }' "$work/script"
collect -q --off-cpu --min-block 0 -o "$work/data" -- "$work/naps" 2>/dev/null
check "with --min-block 0 perf script reads every switch" \
	grep -q 'PERF_RECORD_SWITCH IN' <(timeout 60 perf script -i - --show-switch-events <"$work/data" 2>/dev/null)
check "and collapse finds the same waits in them" awk -v slept="$slept" '
	/;main;nap;.*nanosleep/ { sum += $NF }
	END { print sum, slept; exit !(sum > .95 * slept && sum < 1.05 * slept) }' <(collapse -q --off-cpu "$work/data")
collect -q --off-cpu --min-block 30ms -o "$work/data" -- "$work/naps" 2>/dev/null
collapse -q --off-cpu "$work/data" >"$work/folded"
check "what --min-block leaves out stands as a sum of its thread and in the header" awk '
	/^# short: 2[0-9] times, [0-9]+ us in all/ { told = $5 }
	/^naps;\[short waits\] / { sum = $NF }
	END { print told, sum; exit !(sum > 390000 && told >= int(sum)) }' "$work/folded"
collect -q --off-cpu -F 499 -o "$work/data" -- "$work/naps" 2>/dev/null
check "with -F: on-CPU samples as well" awk '
	/cpu-clock|cycles/ { on++ } /offcpu-time/ { off++ } END { print on + 0, off + 0; exit !(off >= 20) }
	' <(timeout 60 perf script -G -F event -i - <"$work/data" 2>/dev/null)
chmod 755 "$work"
cp "$BIN/collect" "$work/tool"
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 2 ]; then
	expect "an ordinary user is told what it needs" 2 "with its kernel half is not permitted: kernel.perf_event_paranoid is" \
		setpriv --reuid=65534 --regid=65534 --clear-groups "$work/tool" --off-cpu -o /dev/null -- true
fi
