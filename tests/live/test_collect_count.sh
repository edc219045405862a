#!/bin/bash
# Counting mode: values that are known, and the same as perf stat's.
. "$TOP/tests/lib/check.sh"

if ! can_sample; then
	skip "collect --count: this user may not use perf events here"
	exit 0
fi
gcc -O0 -o "$work/faults" -xc - <<'FAULTS'
#include <stdlib.h>
#include <sys/mman.h>
int main(int argc, char **argv)
{
	long nr = atol(argv[1]);
	char *pages = mmap(0, nr * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(pages, nr * 4096, MADV_NOHUGEPAGE);
	for (long i = 0; i < nr; i++)
		pages[i * 4096] = 1;
	return argc - 2;
}
FAULTS
# count EVENT COMMAND...: the value of one event
count() { collect --count --csv -e "$1" -- "${@:2}" 2>/dev/null | awk -F, 'NR == 1 { print $1 }'; }

few=$(count page-faults "$work/faults" 10) many=$(count page-faults "$work/faults" 5010)
check "page faults: 5,000 more pages, 5,000 more faults ($few, $many)" \
	[ $((many - few)) -ge 4990 -a $((many - few)) -le 5010 ]
perf=$(timeout 300 perf stat -x, -e page-faults -- "$work/faults" 5010 2>&1 | awk -F, '{ print $1 }')
check "page faults: as perf stat counts ($perf)" [ $((many - perf)) -ge -5 -a $((many - perf)) -le 5 ]
check "task-clock: of a spinning second" awk -v ms="$(count task-clock sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done')" \
	'BEGIN { exit !(ms > 20 && ms < 5000) }'
collect --count -r 3 -e page-faults,task-clock -o "$work/text" -- "$work/faults" 100
check "-r: says how many runs, and the deviation of time" \
	sh -c "grep -q '(3 runs)' '$work/text' && grep -q 'task-clock.*+-' '$work/text'"
check "-r: three runs of equal faults deviate by little" awk '
	/page-faults/ { few = !/\+-/; sub(/.*\+- */, ""); exit !(few || $1 + 0 < 5) }' "$work/text"
collect --count --csv -I 100 -a -e cpu-clock --duration 1 >"$work/intervals"
check "-I: prints each interval" [ "$(wc -l <"$work/intervals")" -ge 4 ]
check "-I: every CPU's clock runs all the time" awk -F, -v cpus="$(getconf _NPROCESSORS_ONLN)" '
	NR < 5 { sum += $2; ms = 1000 * $1 } END { print sum, ms; exit !(ms > 0 && sum > 0.95 * ms * cpus && sum < 1.2 * ms * cpus) }' "$work/intervals"
collect --count --json -e page-faults,cycles -- true >"$work/json"
check "--json: valid lines" node -e '
	const lines = require("fs").readFileSync(process.argv[1], "utf8").trim().split("\n").map(JSON.parse);
	if (lines.length != 2 || lines[0].event != "page-faults" || !(lines[0].value > 10)) process.exit(1);' "$work/json"
if collect -q -e cycles -o /dev/null -- true 2>&1 | grep -q 'needs hardware counters'; then
	collect --count -e cycles,page-faults -o "$work/text" -- true
	check "an event that is not there: not supported, and why" \
		sh -c "grep -q '<not supported> *cycles' '$work/text' && grep -q 'needs hardware counters' '$work/text'"
	expect "nothing can be counted" 2 "needs hardware counters" collect --count -e cycles -- true
fi
collect --count -e '{task-clock,page-faults}' -o "$work/text" -- "$work/faults" 1000
check "a group" awk '/page-faults/ { exit !($1 + 0 >= 1) }' "$work/text"
# read apart, each of them would have run a little longer than the one before
collect --count --csv -a -I 50 -e '{cpu-clock,page-faults,context-switches}' --duration 1 >"$work/text"
check "a group is read at once: all members ran for the same time" awk -F, '
	{ time[$1] = time[$1] " " $6; if (!seen[$6 "," $1]++) distinct[$1]++ }
	END { for (t in distinct) { nr++; print t, time[t]; bad += distinct[t] != 1 }; exit !(nr >= 3 && !bad) }' "$work/text"
sleep 5 &
pid=$!
check "-p with a duration" sh -c "collect --count -e task-clock -p $pid --duration 0.2 | grep -q 'task-clock'"
kill $pid
expect "the command's exit status is told" 0 "exited with status 1" \
	collect --count -e page-faults -- "$work/faults" 5 x
expect "-r without counting" 64 "belong to counting" collect -r 3 -- true
