#!/bin/bash
# collect on this machine, its stream read back by perf.
. "$TOP/tests/lib/check.sh"

if ! can_sample; then
	skip "collect: this user may not sample here: $(collect -q --duration 0.1 -o /dev/null -- true 2>&1 | head -n 1)"
	exit 0
fi

# perf script prints the fields asked for; nr_samples counts them
nr_samples() { script -G -F tid <"$1" | grep -cE '^ *-?[0-9]+ *$'; }
script() { timeout 300 perf script -i - "$@" 2>"$work/script.err"; }
samples_said() { sed -nE 's/.*: ([0-9,]+) samples, .*/\1/p' "$1" | tr -d ,; }

# a program that spins in main;outer;middle;hot
cat >"$work/spin.c" <<'SPIN'
#include <time.h>
#define NOINLINE __attribute__((noinline))
volatile unsigned long sink;
NOINLINE void hot(void) { for (int i = 0; i < 1000000; i++) sink += i; }
NOINLINE void middle(void) { hot(); sink++; }
NOINLINE void outer(void) { middle(); sink++; }
int main(int argc, char **argv)
{
	double seconds = argc > 1 ? argv[1][0] - '0' : 1;
	while ((double)clock() / CLOCKS_PER_SEC < seconds)
		outer();
	return argc > 2 ? 3 : 0;
}
SPIN
gcc -O0 -o "$work/spin" "$work/spin.c"
# seconds on the clock of the samples
gcc -O1 -o "$work/clock" -xc - <<'CLOCK'
#include <stdio.h>
#include <time.h>
int main(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); printf("%ld.%09ld\n", (long)t.tv_sec, t.tv_nsec); return 0; }
CLOCK

# ---- the whole machine, with a known load ----
"$work/spin" 4 &
collect -F 999 -a --duration 1 --call-graph fp >"$work/all" 2>"$work/err"
check "system-wide: exit status" [ $? = 0 ]
script -F comm,ip,sym <"$work/all" >"$work/text"
check "system-wide: perf script is content" test ! -s "$work/script.err"
check "system-wide: the chain hot, middle, outer, main is there" awk '
	/^spin/ { nr++; chain = ""; spin = 1; next }
	/^[^\t ]/ { spin = 0 }
	/^$/ { if (spin && chain ~ /hot middle outer main/) whole++; next }
	{ chain = chain " " $2 }
	END { print whole + 0, "of", nr + 0; exit !(nr > 20 && whole > 0.9 * nr) }' "$work/text"
check "system-wide: perf report reads it" timeout 300 perf report -i - --stdio <"$work/all"
check "system-wide: as many samples as said" \
	[ "$(nr_samples "$work/all")" = "$(samples_said "$work/err")" ]
check "system-wide: process and thread names of what ran before" \
	grep -q "$(cat /proc/$$/comm)" <(script --show-task-events -F comm,tid <"$work/all")
wait

# ---- a command ----
expect "command: its exit status is told" 0 "spin' exited with status 3" \
	collect -F 499 -o "$work/command" -- "$work/spin" 1 x
check "command: nothing but the command was recorded" \
	[ "$(script -G -F comm <"$work/command" | awk 'NF { print $1 }' | sort -u)" = spin ]
check "command: sampled at the frequency asked for" awk -v nr="$(nr_samples "$work/command")" \
	'BEGIN { print nr; exit !(nr > 440 && nr < 560) }'
expect "command: that does not exist" 2 "cannot run '/no/such/program': No such file" \
	collect -o "$work/none" -- /no/such/program
check "command: output goes to stderr beside records" \
	grep -q hello <(collect -q -- echo hello 2>&1 >/dev/null)
collect -q -F 999 -o "$work/children" -- sh -c "'$work/spin' 1 & '$work/spin' 1; wait"
check "command: children are recorded" \
	[ "$(script -G -F pid,comm <"$work/children" | awk '/spin/ { print $2 }' | sort -u | wc -l)" = 2 ]

# ---- B71: the time limit ends a command ----
start=$(date +%s%N)
expect "B71 duration ends the recording and the command" 0 "was still running and was ended" \
	collect -o "$work/limit" --duration 300ms -- sleep 60
check "B71 duration: in time" [ $((($(date +%s%N) - start) / 1000000)) -lt 30000 ]

# ---- processes and threads ----
"$work/spin" 9 &
pid=$!
collect -q -F 499 -p $pid --duration 1 -o "$work/pid"
check "-p: only that process" [ "$(script -G -F pid <"$work/pid" | awk 'NF' | sort -u | tr -d ' ')" = $pid ]
start=$(date +%s)
(sleep 2; kill $pid) &
expect "-p: ends when the process ends" 0 "samples" collect -F 99 -p $pid -o "$work/pid" --duration 60
check "-p: ends in time" [ $(($(date +%s) - start)) -lt 55 ]
expect "-p: of a process that is gone" 64 "there is no process $pid" collect -p $pid -o "$work/x"

"$work/spin" 9 &
pid=$!
collect -q -F 499 -t $pid --duration 0.8 -o "$work/tid"
check "-t: only that thread" [ "$(script -G -F tid <"$work/tid" | awk 'NF' | sort -u | tr -d ' ')" = $pid ]
kill $pid
collect -q -F 999 -a --only kernel --call-graph none --duration 0.5 -o "$work/half"
check "--only kernel: no sample of user space" awk '
	NF { nr++; user += $1 !~ /^ffff/ } END { print nr, user; exit !(nr && !user) }' <(script -F ip <"$work/half")
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$work" "$work/spin"
	setpriv --reuid=61234 --clear-groups "$work/spin" 9 & # one that nobody else takes
	theirs=$!
	await grep -q spin /proc/$theirs/comm
	collect -q -F 499 -u 61234 --duration 0.8 -o "$work/user"
	check "-u: only that user's processes" [ "$(script -G -F pid <"$work/user" | awk 'NF' | sort -u | tr -d ' ')" = $theirs ]
	kill $theirs
	expect "-u: nobody of that name" 64 "no user 'flame-nosuch' in /etc/passwd" collect -u flame-nosuch -o "$work/x"
fi
wait

# ---- CPUs ----
collect -q -F 999 -C 0 --duration 0.5 -o "$work/cpu"
check "-C: only that CPU" [ "$(script -G -F cpu <"$work/cpu" | grep -o '\[[0-9]*\]' | sort -u)" = "[000]" ]
expect "-C: a CPU that is not there" 64 "CPU 4095 is not online" collect -C 4095 -o "$work/x"

# ---- what stops a recording ----
collect -F 999 -a --call-graph fp >"$work/interrupted" 2>"$work/err" &
pid=$!
await test -s "$work/interrupted"
sleep 0.5
kill -INT $pid
wait $pid
check "SIGINT: ends with status 0" [ $? = 0 ]
check "SIGINT: everything was flushed" \
	[ "$(nr_samples "$work/interrupted")" = "$(samples_said "$work/err")" ]
expect "a full disk" 2 "cannot write to 'stdout': No space left on device" \
	sh -c 'collect -F 999 -a --duration 0.3 >/dev/full'
expect "a reader that goes away" 1 "reader of the records has gone away" \
	bash -c 'collect -F 999 -a --duration 3 | true; exit ${PIPESTATUS[0]}'
check "a terminal is refused" \
	grep -q "records are not for a terminal" <(command script -qec "collect -a --duration 0.1" /dev/null)

# ---- events ----
collect -q -e task-clock -F 499 -e page-faults -o "$work/two" -- "$work/spin" 1
check "two events: each under its name" \
	[ "$(script -G -F event <"$work/two" | grep -o '[a-z-]*:' | sort -u | tr -d '\n')" = "page-faults:task-clock:" ]
collect -q -e "{task-clock,context-switches}" -F 499 -o "$work/group" -- "$work/spin" 1
check "a group is read by perf" [ "$(script -G -F event <"$work/group" | grep -c task-clock)" -gt 100 ]
collect -q -e '{task-clock,page-faults}:S' -F 499 --call-graph dwarf,32768 -o "$work/group" -- "$work/spin" 1
check "a group read with each sample: its leader alone samples" awk '
	$1 ~ /task-clock|page-faults/ { nr[$1]++ } END { for (e in nr) print e, nr[e]; exit !(nr["task-clock:"] > 100) }
	' <(script -G -F event <"$work/group")
check "a group read with each sample: collapse counts its member as perf stat does" awk \
	-v folded="$(collapse -q --event page-faults --count=period "$work/group" 2>/dev/null | folded_sum)" \
	-v counted="$(collect --count --csv -e page-faults -- "$work/spin" 1 2>/dev/null | cut -d, -f 1)" \
	'BEGIN { print folded, counted; exit !(folded > 0.8 * counted && folded <= counted + 5) }'
check "a group read with each sample: stack copies are cut to what was used" \
	[ $(($(stat -c %s "$work/group") / $(nr_samples "$work/group"))) -lt 20000 ]
collect -q -e '{task-clock,page-faults}:S' -F 499 -o "$work/group" -- sh -c "'$work/spin' 1; true" 2>"$work/err"
check "a group read with each sample: in children too, or it is said" sh -c \
	"grep -q 'they are left out' '$work/err' || [ $(script -G -F comm <"$work/group" | grep -c spin) -gt 100 ]"
collect -q -e cpu-clock:u -F 999 -o "$work/user" -- "$work/spin" 1
check "modifier u: no kernel addresses" \
	[ "$(script -F ip <"$work/user" | grep -c ffffffff)" = 0 ]
collect -F 999 -o "$work/fallback" -- "$work/spin" 1 2>"$work/err"
if grep -q "no hardware counters" "$work/err"; then
	check "B68 no cycles: cpu-clock, named in the stream" \
		[ "$(script -G -F event <"$work/fallback" | grep -o 'cpu-clock' | sort -u)" = cpu-clock ]
	expect "hardware event that is not there" 2 "needs hardware counters, which this machine does not" \
		collect -e instructions -o "$work/x" -- true
	expect "lbr without branch records" 2 "lbr and -b need a processor" \
		collect --call-graph lbr -o "$work/x" -- true
else
	skip "B68 no cycles: this machine has hardware counters"
fi
collect -q -F 999 -o "$work/dwarf" --call-graph dwarf -- "$work/spin" 1
check "dwarf: perf unwinds to main" awk '/main\+/ { nr++ } END { exit !(nr > 300) }' <(script <"$work/dwarf")

# ---- delay, switches, control groups, a flight recorder ----
collect -q -F 499 -D 400ms --call-graph fp -o "$work/delay" -- "$work/spin" 1
check "-D: the first sample comes that long after the start" awk '
	{ for (i = 1; i <= NF && $i !~ /^[0-9]+\.[0-9]+:$/; i++) continue; time = $i + 0 }
	/PERF_RECORD_COMM exec: spin/ { start = time }
	!/PERF_RECORD/ && time { first = first ? first : time; nr++ }
	END { print first - start, nr; exit !(start && first - start > 0.38 && nr > 20) }
	' <(script --show-task-events -G -F comm,tid,time,event <"$work/delay")
check "-D: frames are named although the maps came before" grep -q outer <(script -F comm,ip,sym <"$work/delay")
collect -F 499 -a --call-graph fp --switch-on SIGUSR1 >"$work/switched" 2>"$work/err" &
pid=$!
await test -s "$work/switched"
sleep 0.5
on=$("$work/clock")
kill -USR1 $pid
sleep 0.5
kill -USR1 $pid
sleep 1
off=$("$work/clock")
kill -INT $pid
wait $pid
check "--switch-on: samples only in between" awk -v on="$on" -v off="$off" '
	NF { time = $1 + 0; nr++; early += time < on; late += time > off - 0.3 }
	END { print nr, early, late; exit !(nr > 20 && !early && !late) }' <(script -G -F time <"$work/switched")
"$work/spin" 4 &
spinner=$!
collect -F 199 -a --call-graph fp --overwrite 1 --duration 4 -o "$work/flight" 2>"$work/err"
wait $spinner
check "--overwrite: only the newest samples are kept" awk -v nr="$(nr_samples "$work/flight")" -v all="$(samples_said "$work/err")" \
	'BEGIN { print nr, "of", all; exit !(nr > 0 && nr < 0.75 * all) }'
check "--overwrite: perf reads it, names and all" grep -q outer <(script -F comm,ip,sym <"$work/flight")
collect -F 199 -a --call-graph fp --overwrite 30 >"$work/flight" 2>"$work/err" &
pid=$!
# what comes while it starts is written, and then no more
size=-1
for _ in $(seq 30); do
	before=$size size=$(stat -c %s "$work/flight")
	[ "$size" -gt 0 ] && [ "$size" = "$before" ] && break
	sleep 1
done
check "--overwrite: nothing is written before it is asked for" [ "$size" = "$before" ]
kill -USR2 $pid
for _ in $(seq 100); do grep -q 'wrote what was kept' "$work/err" && break; sleep 0.1; done
check "--overwrite: SIGUSR2 writes what was kept" [ "$(nr_samples "$work/flight")" -gt 50 ]
kill -INT $pid
wait $pid
check "--overwrite: and the end the rest, nothing twice" \
	[ "$(nr_samples "$work/flight")" = "$(samples_said "$work/err")" ]
if [ "$(id -u)" = 0 ]; then
	mkdir "$work/cgroup"
	if mount -t cgroup2 none "$work/cgroup" 2>/dev/null; then
		mkdir "$work/cgroup/flame-test"
		"$work/spin" 9 &
		pid=$!
		echo $pid >"$work/cgroup/flame-test/cgroup.procs"
		collect -q -F 499 -G flame-test --duration 0.7 --call-graph fp -o "$work/members"
		check "-G: only members" [ "$(script -G -F comm <"$work/members" | sort -u | tr -d ' \n')" = spin ]
		mkdir "$work/cgroup/flame-test/docker-0123456789abcdef.scope"
		echo $pid >"$work/cgroup/flame-test/docker-0123456789abcdef.scope/cgroup.procs"
		collect -q -F 499 -G 0123456789ab --duration 0.4 --call-graph fp -o "$work/members"
		check "-G: by the id of a container" [ "$(script -G -F comm <"$work/members" | sort -u | tr -d ' \n')" = spin ]
		echo $pid >"$work/cgroup/flame-test/cgroup.procs"
		rmdir "$work/cgroup/flame-test/docker-0123456789abcdef.scope"
		expect "-G: no such group" 64 "no control group 'nosuch' below" collect -G nosuch -o "$work/x"
		collect -q -F 499 -a --call-graph fp -o "$work/all" -- sh -c "
			mkdir '$work/cgroup/flame-new' && echo \$\$ >'$work/cgroup/flame-new/cgroup.procs' && exec '$work/spin' 1"
		kill $pid
		wait $pid 2>/dev/null
		rmdir "$work/cgroup/flame-test" "$work/cgroup/flame-new"
		collapse -q --by cgroup "$work/all" >"$work/folded" 2>/dev/null
		check "control groups: one that there was before, by name" grep -q '^/flame-test;.*hot' "$work/folded"
		check "control groups: one made meanwhile, by name" grep -q '^/flame-new;.*hot' "$work/folded"
		check "control groups: no sample without a name" sh -c "! grep -q 'unknown cgroup' '$work/folded'"
		umount "$work/cgroup"
	else
		skip "-G: control groups cannot be mounted here"
	fi
fi
if collect -q --namespaces -F 99 -a -o "$work/all" -- sh -c "echo \$\$ >'$work/child'; exec unshare -n true" 2>/dev/null; then
	script --show-namespace-events <"$work/all" | sed -n 's/.*NAMESPACES \([0-9]*\)\/.*/\1/p' >"$work/pids"
	check "--namespaces: of what ran before, and of what starts" awk -v self=$$ -v child="$(cat "$work/child")" '
		$1 == self { before = 1 } $1 == child { after = 1 } END { exit !(before && after) }' "$work/pids"
else
	skip "--namespaces: not permitted here"
fi
check "a terminal shows progress" grep -q 'samples, .* lost, .* MB' \
	<(command script -qec "collect -a -F 99 --duration 1.2 -o /dev/null" /dev/null)

# ---- compressed records ----
collect -q -z -F 999 --call-graph dwarf -o "$work/small" -- "$work/spin" 1
collect -q -F 999 --call-graph dwarf -o "$work/large" -- "$work/spin" 1
check "-z: smaller by half at least" [ $(($(stat -c %s "$work/small") * 2)) -lt "$(stat -c %s "$work/large")" ]
check "-z: perf script reads as many samples" awk -v nr="$(nr_samples "$work/small")" 'BEGIN { print nr; exit !(nr > 800) }'
check "-z: collapse reads as many" \
	[ "$(collapse -q "$work/small" 2>/dev/null | folded_sum)" = "$(nr_samples "$work/small")" ]
expect "-z: levels are checked" 64 "'99' is no level from 1 to 19" collect --compress=99 -o "$work/x" -- true
