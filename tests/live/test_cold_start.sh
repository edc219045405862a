#!/bin/bash
# A small recording is a matter of an instant: what collapse costs above reading
# the file, and the kernel's list of symbols where kernel code was sampled.
. "$TOP/tests/lib/check.sh"

can_sample || { skip "cold start: perf events are not permitted here"; exit 0; }

# milliseconds of CPU time, the least of five
cost() {
	local TIMEFORMAT='%U %S' least= user system now
	for _ in 1 2 3 4 5; do
		read -r user system < <({ time "$@" >/dev/null 2>"$work/err"; } 2>&1)
		now=$(awk -v u="$user" -v s="$system" 'BEGIN { print int((u + s) * 1000) }')
		[ -n "$least" ] && [ "$least" -le "$now" ] || least=$now
	done
	echo "$least"
}

# 50 ms here; three times that where the machine is slow or busy
limit=150
[ "$MODE" = plain ] || limit=1500
for event in cpu-clock:u cpu-clock; do
	collect -q -F 99 -e $event --call-graph fp -o "$work/r" -- "$BUILD/samples/chain" 1 >/dev/null 2>&1
	files=("$work/r")
	[ "$event" = cpu-clock ] && files+=(/proc/kallsyms)
	reading=$(cost cat "${files[@]}")
	ours=$(cost collapse -q "$work/r")
	check "1 s of a small program, $event: $ours ms, reading alone $reading ms" \
		[ $((ours - reading)) -lt $limit ]
	check "and its stacks are there, $event" grep -q 'main;outer;middle;hot' <(collapse -q "$work/r")
done
