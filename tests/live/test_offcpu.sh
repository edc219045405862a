#!/bin/bash
# Time off the CPU, against a program that measured its own waits.
. "$TOP/tests/lib/check.sh"

can_sample || { skip "off-CPU: perf events are not permitted here"; exit 0; }
command -v perf >/dev/null || { skip "off-CPU: no perf here to record with"; exit 0; }

head -c 8388608 /dev/zero >"$work/file"
# what is lost of switches is waits that never end: then once more
for try in 1 2 3; do
	perf_record -m 4M -e cpu-clock/freq=997/ -e context-switches/period=1/ --switch-events \
		-g -o "$work/rec" "$BUILD/samples/waits" 3 "$work/file" >"$work/truth" 2>/dev/null ||
		{ skip "off-CPU: perf record cannot sample context switches here"; exit 0; }
	collapse -q --off-cpu "$work/rec" >"$work/off"
	grep -qE '^# lost: "?0 ' "$work/off" && break
	[ $try -lt 3 ] || { skip "off-CPU: perf lost records on this busy machine, three times"; exit 0; }
done
collapse -q --off-cpu --split state "$work/rec" >"$work/states"
collapse -q --wall "$work/rec" >"$work/wall"

# within 2 points of the thread's life, which is 3 s; being ready and waiting
# for a CPU is no wait of the program's own
while read -r name waited _; do
	ours=$(awk -v name="$name;" 'index($0, name) == 1 && !/\[runnable\]/ { sum += $NF } END { printf "%d", sum }' "$work/states")
	check "$name waited $waited us by its own clock, $ours us here" \
		awk -v a="$waited" -v b="$ours" 'BEGIN { d = a - b; exit !(d < 60000 && d > -60000) }'
done < <(grep -E '^(sleeper|piper|locker|holder) ' "$work/truth")

# reading is waiting and copying: of both together the program knows the time
read_us=$(sed -n 's/^reader \([0-9]*\) .*/\1/p' "$work/truth")
ours=$(collapse -q --wall "$work/rec" | grep -E '^reader;.*;read[;_ ]' | folded_sum)
check "reader read for $read_us us by its own clock, $ours us here" \
	awk -v a="$read_us" -v b="$ours" 'BEGIN { d = a - b; exit !(d < 60000 && d > -60000) }'

check "the unit is said" grep -q '^# unit: microseconds' "$work/off"
check "states are on top" bash -c "! grep -v '^#' '$work/states' | grep -vE ';\[(sleeping|runnable|disk|stopped)\] [0-9.]+\$'"
check "the sums are the same with and without states" test \
	"$(folded_sum <"$work/off")" = "$(folded_sum <"$work/states")"
check "sleeping stacks end in the scheduler" grep -qE '^sleeper;.*nanosleep.*_\[k\];schedule_\[k\];\[sleeping\]' "$work/states"

# wall time: each thread's sum is its life; 20 ms are for ending
awk '!/^#/ { split($0, frame, ";"); sum[frame[1]] += $NF } END { for (t in sum) print t, sum[t] }' "$work/wall" >"$work/lives"
check "the time of each thread is its life, within 1 %" awk '
	NR == FNR { lived[$1] = $3; next }
	$1 in lived { told++; d = $NF - lived[$1]; print $1, $NF, lived[$1]; bad += d > lived[$1] / 100 + 20000 || d < -lived[$1] / 100 - 20000 }
	END { exit !(told == 5 && !bad) }' "$work/truth" "$work/lives"

expect "a recording without switches is refused with the remedy" 2 "collect --off-cpu" \
	bash -c "timeout 100 perf record -q -B -N -e cpu-clock -g -o '$work/on' true 2>/dev/null; collapse --off-cpu '$work/on'"

# ---- two programs on one CPU: each waits half of its life for it ----
# (ahead of everything else on it, where that is permitted; where others are
# there all the same, they share what is left of it; the second begins a while
# after the first)
perf_record -m 4M -e context-switches/period=1/ --switch-events -g -o "$work/two" -- \
	taskset -c 0 $(chrt -r 1 true 2>/dev/null && echo chrt -r 1) bash -c 'for i in 1 2; do timeout 3 bash -c "while :; do :; done" & done; wait' 2>/dev/null
collapse -q --off-cpu --split state --by tid "$work/two" |
	awk '/\[runnable\]/ { split($0, frame, ";"); sum[frame[1]] += $NF } END { for (t in sum) if (sum[t] > 800000) print sum[t] }' >"$work/halves"
check "two busy programs on one CPU are runnable for half of their life: $(tr '\n' ' ' <"$work/halves")" \
	awk '$1 < 2900000 { nr++; ran[nr] = 3000000 - $1 }
		END { exit !(NR == 2 && nr == 2 && ran[1] < 1.3 * ran[2] && ran[2] < 1.3 * ran[1]) }' "$work/halves"
