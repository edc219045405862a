#!/bin/bash
# What is recorded here, told right: events without samples, several inputs,
# build-ids that come late, waits of a whole machine.
. "$TOP/tests/lib/check.sh"

can_sample || { skip "inputs: perf events are not permitted here"; exit 0; }
field() { sed -n "s/^# $1: //p" "$2"; }

# ---- several inputs: what adds up, what is a share of all, what differs ----
for name in one two; do
	collect -q -F 499 -e cpu-clock -o "$work/$name" -- taskset -c 0 "$BUILD/samples/busy" 1 >/dev/null 2>&1
	collapse -q "$work/$name" >"$work/$name.folded"
done
# the second without any names at all
collapse -q --no-header "$work/two" >"$work/plain"
collapse -q "$work/one" "$work/two" >"$work/both"
check "several inputs: seconds add up" awk '
	/^# sampled:/ { seconds[++nr] = $3 }
	END { d = seconds[1] + seconds[2] - seconds[3]; print d, nr; exit !(seconds[1] > 0 && d < .02 && d > -.02) }' \
	"$work/one.folded" "$work/two.folded" "$work/both"
check "several inputs: losses add up" test "$(field lost "$work/both")" = "0 records"
check "several inputs: what differs is several" test "$(field command "$work/both")" = several
check "several inputs: one host is one host" test "$(field host "$work/both")" = "$(field host "$work/one.folded")"
share() { # the share of stacks with a frame in brackets that is no mark
	grep -v '^#' "$1" | awk '{ n = $NF; all += n; sub(/ [0-9.]+$/, "") }
		/(^|;)\[[^];]*\](_\[[a-z]\])?(;|$)/ && !/(^|;)\[(truncated|no stack|exited task)\](;|$)/ { some += n }
		END { printf "%.1f", some * 100 / all }'
}
check "several inputs: unresolved is the share of all: $(field unresolved "$work/both")" \
	test "$(field unresolved "$work/both")" = "$(share "$work/both") % of samples"
collapse -q "$work/one" "$work/plain" >"$work/mixed"
check "with folded stacks between, shares that are not known are not said" \
	test -z "$(field unresolved "$work/mixed")"

# ---- threads make it sooner, not different ----
for nr in 1 2; do
	collapse --threads $nr "$work/one" >"$work/threads.$nr" 2>&1
	collapse --threads $nr - <"$work/two" >>"$work/threads.$nr" 2>&1
done
check "one thread and two write the same bytes" cmp "$work/threads.1" "$work/threads.2"

# ---- a program whose symbols are gone ----
cp "$BUILD/samples/busy" "$work/stripped"
strip "$work/stripped"
collect -q -F 499 -e cpu-clock -o "$work/rec" -- "$work/stripped" 1 >/dev/null 2>&1
collapse -q "$work/rec" >"$work/folded"
check "unresolved counts stacks with code of a stripped program: $(field unresolved "$work/folded")" \
	test "$(field unresolved "$work/folded")" = "$(share "$work/folded") % of samples" -a \
	"$(awk -v s="$(share "$work/folded")" 'BEGIN { print (s > 50) }')" = 1

# ---- build-ids that come behind the maps: the file was written over since ----
if command -v perf >/dev/null; then
	cp "$BUILD/samples/busy" "$work/changed"
	timeout 100 perf record -q -F 499 -e cpu-clock -g -o - -- "$work/changed" 1 2>/dev/null >"$work/late"
	# PERF_RECORD_HEADER_BUILD_ID (tools/perf/util/event.h): pid, 20 bytes of
	# build-id and 4 of padding, the path
	perl -e '($id, $path) = @ARGV; $path .= "\0" x (8 - length($path) % 8);
		print pack("LSSlH40x4a*", 67, 2, 36 + length $path, -1, $id, $path)' \
		"$(readelf -n "$work/changed" | sed -n 's/^ *Build ID: //p')" "$work/changed" >>"$work/late"
	cat "$BUILD/samples/chain" >"$work/changed"
	HOME=$work collapse --input-check "$work/late" >"$work/said" 2>&1
	check "a late build-id: another file in its place is refused" \
		grep -qE '^ *[0-9,]+ +0 +.*/changed +build-id differs' "$work/said"
	cp "$BUILD/samples/busy" "$work/changed"
	HOME=$work collapse --input-check "$work/late" >"$work/said" 2>&1
	check "a late build-id: the same file is taken" \
		awk '/^ .*\/changed/ { exit !($1 == $2 && $1 != "0" && NF == 3) }' "$work/said"

	# ---- the first event never happened ----
	timeout 100 perf record -q -B -e alignment-faults -e cpu-clock -g -o "$work/rec" -- "$BUILD/samples/busy" 1 >/dev/null 2>&1
	expect "an event without samples: the next is folded, and said" 0 \
		"'cpu-clock' is folded: the first event of '.*' has no samples" \
		bash -c "collapse '$work/rec' >'$work/folded'"
	check "the header names it" test "$(field event "$work/folded")" = cpu-clock
	check "all its samples are there" test "$(folded_sum <"$work/folded")" = \
		"$(collapse -q --event cpu-clock "$work/rec" | folded_sum)"
	# the first comes late: what was counted of the other is not added up
	timeout 100 perf record -q -B -e major-faults -e cpu-clock -e context-switches/period=1/ -g -o "$work/rec" -- \
		bash -c 'for i in 1 2 3 4 5 6 7 8 9; do :; done; sleep 0.1' >/dev/null 2>&1
	for first in $(collapse -q --input-check "$work/rec" | awk '/^events:/ { on = 1; getline; next } !NF { on = 0 } on && $4 + 0 > 0 || on && $3 + 0 > 0 { print $1; exit }'); do
		collapse -q "$work/rec" >"$work/folded"
		check "of events with samples the first, alone: $first" test \
			"$(folded_sum <"$work/folded")" = "$(collapse -q --event "$first" "$work/rec" | folded_sum)"
	done
else
	skip "late build-ids, events without samples: no perf here"
fi

# ---- waits of the whole machine, whole stacks, from one command ----
if [ "$(id -u)" = 0 ]; then
	head -c 8388608 /dev/zero >"$work/file"
	# what is lost of switches is waits that never end: then once more
	for try in 1 2 3; do
		collect -q --off-cpu -a -m 16M -o "$work/rec" -- sh -c "echo \$\$ >'$work/pid'; exec '$BUILD/samples/waits' 3 '$work/file' >'$work/truth'"
		collapse -q --off-cpu --split state --pid "$(cat "$work/pid")" "$work/rec" >"$work/states"
		[ "$(field lost "$work/states")" != "0 records" ] || break
	done
	if [ "$(field lost "$work/states")" = "0 records" ]; then
		while read -r name waited _; do
			ours=$(awk -v name="$name;" 'index($0, name) == 1 && !/\[runnable\]/ { sum += $NF } END { printf "%d", sum }' "$work/states")
			# 2 points of the thread's 3 s
			check "off-CPU of the machine: $name waited $waited us by its own clock, $ours us here" \
				awk -v a="$waited" -v b="$ours" 'BEGIN { d = a - b; exit !(a > 0 && d < 60000 && d > -60000) }'
		done < <(grep -E '^(sleeper|piper|locker|holder) ' "$work/truth")
		check "off-CPU of the machine: stacks are whole from the thread's start through libc" awk '
			/^(sleeper|piper|locker|holder);/ { if (!/\[sleeping\] /) next; all += $NF; if (/;start_thread;run;/) whole += $NF }
			END { print whole, all; exit !(all > 0 && whole > .98 * all) }' "$work/states"
	else
		skip "off-CPU of the machine: records were lost on this busy machine, three times"
	fi
else
	skip "off-CPU of the machine: needs root"
fi
