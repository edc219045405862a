#!/bin/bash
# Times of the same recordings by perf sched timehist and perf trace -s.
. "$TOP/tests/lib/check.sh"

can_sample || { skip "times: perf events are not permitted here"; exit 0; }
command -v perf >/dev/null || { skip "times: no perf here to compare with"; exit 0; }

# ---- perf sched timehist ----
head -c 2097152 /dev/zero >"$work/file"
perf_record -m 16M -a -e sched:sched_switch -e sched:sched_waking -e sched:sched_wakeup_new \
	-o "$work/sched" sh -c 'echo $$; exec "$@"' - "$BUILD/samples/waits" 2 "$work/file" >"$work/out" 2>/dev/null || {
	skip "times: perf record cannot record sched:sched_switch here"
	exit 0
}
# others on this machine may run the same program
pid=$(head -n 1 "$work/out")
timeout 300 perf sched timehist -i "$work/sched" >"$work/told" 2>/dev/null
if died $?; then
	skip "times: perf sched dies of its own recording"
	exit 0
fi
sed 's/ *$//' "$work/told" >"$work/theirs"
collapse -q --timehist "$work/sched" >"$work/ours" 2>"$work/said"
if grep -q 'recorder lost' "$work/said"; then
	skip "times: perf record lost some here: $(cat "$work/said")"
	exit 0
fi
# tasks that had given up their ids have no name that both could know
grep -v '\[-1' "$work/theirs" >"$work/theirs.named"
grep -v '\[-1' "$work/ours" >"$work/ours.named"
check "timehist prints perf's lines" /usr/bin/diff "$work/theirs.named" "$work/ours.named"
check "of which there are many" test "$(wc -l <"$work/ours")" -gt 500

# perf tells of a wait at the switch after it, under the name that the thread
# has by then, and no more knows who it is when that one is the last: what is
# before the first and after the last of these lines is left out on both sides.
# perf cuts each line's time down to whole microseconds: of a sum of N lines up
# to N us are missing, however short the waits are (and 1 us at each end).
lines_of() { grep -E " $1\[[0-9]+/$pid\]" "$work/theirs"; }
sum_of() { # FIELD THREAD: microseconds, and the number of lines
	lines_of "$2" | awk -v f="$1" 'nr++ { split($0, part, "]"); split(part[3], v, " "); sum += v[f] } END { printf "%.0f %d\n", sum * 1000, nr }'
}
is_cut_sum() { # THEIRS LINES OURS
	awk -v theirs="$1" -v nr="$2" -v ours="$3" 'BEGIN { cut = ours - theirs; exit !(nr > 0 && cut >= -2 && cut <= nr + 2) }'
}
for thread in sleeper piper locker holder reader; do
	read -r waited nr < <(sum_of 1 $thread)
	read -r delayed nr < <(sum_of 2 $thread)
	between=$(lines_of $thread | awk '{ if (!first) first = $1; last = $1 } END { print first "," last }')
	ours=$(collapse -q --off-cpu --pid $pid --comm $thread --time "$between" "$work/sched" | folded_sum)
	check "$thread waited $waited us by perf, $ours here, in $nr waits" is_cut_sum $waited $nr $ours
	ours=$(collapse -q --run-queue --format histogram-json --pid $pid --comm $thread --time "$between" "$work/sched" | sed -n 's/.*"sum": \([0-9.]*\).*/\1/p')
	check "$thread was kept from a CPU for $delayed us by perf, ${ours:-0} here, in $nr waits" \
		is_cut_sum $delayed $nr ${ours:-0}
done

# ---- perf trace -s ----
timeout 60 perf trace record -B -N -m 4M -o "$work/calls" "$BUILD/samples/waits" 1 "$work/file" >/dev/null 2>&1 || {
	skip "times: perf trace cannot record here"
	exit 0
}
timeout 300 perf trace -s -i "$work/calls" >"$work/summary" 2>&1
if died $?; then
	skip "times: perf trace dies of its own recording"
	exit 0
fi
collapse -q --no-symbols --latency raw_syscalls:sys_enter,raw_syscalls:sys_exit "$work/calls" >"$work/folded" 2>"$work/said"
if grep -q 'recorder lost' "$work/said"; then
	skip "times: perf trace record lost some here: $(cat "$work/said")"
	exit 0
fi
for call in clock_nanosleep read futex write; do
	theirs=$(awk -v call=$call '$1 == call { sum += $4 } END { printf "%.0f", sum * 1000 }' "$work/summary")
	ours=$(grep ";sys_${call}_\[k\] " "$work/folded" | folded_sum)
	check "$call took $theirs us by perf trace, $ours here" \
		awk -v a="$theirs" -v b="$ours" 'BEGIN { d = a - b; exit !(a > 0 && d < a / 100 + 2 && d > -a / 100 - 2) }'
done
