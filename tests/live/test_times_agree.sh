#!/bin/bash
# Times of the same recordings by perf sched timehist and perf trace -s.
. "$TOP/tests/lib/check.sh"

can_sample || { skip "times: perf events are not permitted here"; exit 0; }
command -v perf >/dev/null || { skip "times: no perf here to compare with"; exit 0; }

# ---- perf sched timehist ----
head -c 2097152 /dev/zero >"$work/file"
perf_record -m 4M -a -e sched:sched_switch -e sched:sched_waking -e sched:sched_wakeup_new \
	-o "$work/sched" "$BUILD/samples/waits" 2 "$work/file" >/dev/null 2>&1 || {
	skip "times: perf record cannot record sched:sched_switch here"
	exit 0
}
timeout 60 perf sched timehist -i "$work/sched" 2>/dev/null | sed 's/ *$//' >"$work/theirs"
collapse -q --timehist "$work/sched" >"$work/ours"
# tasks that had given up their ids have no name that both could know
check "timehist prints perf's lines" test \
	"$(/usr/bin/diff <(grep -v '\[-1' "$work/theirs") <(grep -v '\[-1' "$work/ours") | grep -c '^[<>]')" = 0
check "of which there are many" test "$(wc -l <"$work/ours")" -gt 500

# perf tells of a wait at the switch after it, under the name that the thread
# has by then, and no more knows who it is when that one is the last: what is
# before the first and after the last of these lines is left out on both sides
sum_of() { # FIELD THREAD
	awk -v f="$1" -v name="$2" 'index($0, " " name "[") && nr++ { split($0, part, "]"); split(part[3], v, " "); sum += v[f] } END { printf "%.0f", sum * 1000 }' "$work/theirs"
}
for thread in sleeper piper locker holder reader; do
	waited=$(sum_of 1 $thread)
	delayed=$(sum_of 2 $thread)
	between=$(awk -v name=$thread 'index($0, " " name "[") { if (!first) first = $1; last = $1 } END { print first "," last }' "$work/theirs")
	ours=$(collapse -q --off-cpu --comm $thread --time "$between" "$work/sched" | folded_sum)
	check "$thread waited $waited us by perf, $ours here" \
		awk -v a="$waited" -v b="$ours" 'BEGIN { d = a - b; exit !(d < a / 100 && d > -a / 100) }'
	ours=$(collapse -q --run-queue --format histogram-json --comm $thread --time "$between" "$work/sched" | sed -n 's/.*"sum": \([0-9.]*\).*/\1/p')
	check "$thread was kept from a CPU for $delayed us by perf, ${ours:-0} here" \
		awk -v a="$delayed" -v b="$ours" 'BEGIN { d = a - b; exit !(d < a / 100 + 20 && d > -a / 100 - 20) }'
done

# ---- perf trace -s ----
timeout 60 perf trace record -B -N -o "$work/calls" "$BUILD/samples/waits" 1 "$work/file" >/dev/null 2>&1 || {
	skip "times: perf trace cannot record here"
	exit 0
}
timeout 60 perf trace -s -i "$work/calls" >"$work/summary" 2>&1
collapse -q --no-symbols --latency raw_syscalls:sys_enter,raw_syscalls:sys_exit "$work/calls" >"$work/folded"
for call in clock_nanosleep read futex write; do
	theirs=$(awk -v call=$call '$1 == call { sum += $4 } END { printf "%.0f", sum * 1000 }' "$work/summary")
	ours=$(grep ";sys_${call}_\[k\] " "$work/folded" | folded_sum)
	check "$call took $theirs us by perf trace, $ours here" \
		awk -v a="$theirs" -v b="$ours" 'BEGIN { d = a - b; exit !(a > 0 && d < a / 100 + 2 && d > -a / 100 - 2) }'
done
