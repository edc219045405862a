#!/bin/bash
# --follow NAME: processes of a name, those that run and those yet to come.
. "$TOP/tests/lib/check.sh"

if ! can_sample; then
	skip "collect --follow: this user may not sample here"
	exit 0
fi
script() { timeout 300 perf script -i - "$@" 2>/dev/null; }
chmod 755 "$work"
cd "$work" || exit 2
cp "$BIN/collect" tool
gcc -O0 -o fl-worker -xc - <<'WORKER'
/* fl-worker SECONDS [CHILD]: burns CPU time; with CHILD a child of the same name does, too */
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
volatile unsigned long sink;
__attribute__((noinline)) void hot(void) { for (int i = 0; i < 100000; i++) sink += i; }
int main(int argc, char **argv)
{
	/* by then it is recorded, also where it has to be looked for */
	while (argc > 2 && (double)clock() / CLOCKS_PER_SEC < 0.2)
		hot();
	if (argc > 2 && fork() == 0)
		execl(argv[0], argv[0], argv[1], NULL);
	while ((double)clock() / CLOCKS_PER_SEC < atof(argv[1]))
		hot();
	while (wait(0) > 0)
		;
	return 0;
}
WORKER
# pid and number of samples of each process in a recording
counts() { script -G -F pid,event <"$1" | awk '/task-clock/ { nr[$1]++ } END { for (pid in nr) print pid, nr[pid] }'; }

./tool -F 499 -e task-clock,page-faults --follow fl-worker --call-graph fp -o data 2>err &
recorder=$!
check "waits for the first" await grep -q "waiting for a process named 'fl-worker'" err
./fl-worker 0.4
./fl-worker 0.4 x
sh -c 'exec ./fl-worker 0.4' # takes the name later than its pid
sleep 3 &
for i in $(seq 40); do ./fl-worker 0; done
check "lets go of what has ended ($(ls /proc/$recorder/fd | wc -l) descriptors)" [ "$(ls /proc/$recorder/fd | wc -l)" -lt 60 ]
if [ "$(id -u)" = 0 ]; then
	check "keeps the capabilities to open more, and no others" \
		[ "$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/$recorder/status)" = 000000400008000e ]
fi
kill -INT $recorder
wait $recorder
check "records each of them, once, from its start on" awk '
	$2 > 20 { nr++; print; bad += $2 < 170 || $2 > 230 }
	END { exit !(nr == 4 && !bad) }' <(counts data)
check "nothing of others" [ "$(script -G -F comm <data | sort -u | tr -d ' \n' | sed 's/^sh//')" = fl-worker ]
check "late ones have their names and maps" awk '
	/task-clock/ { pid = $1 } /hot/ { seen[pid] = 1 }
	END { for (p in seen) nr++; print nr; exit nr < 4 }' <(script -F pid,event,ip,sym <data)
check "collapse reads as many" \
	[ "$(collapse -q --event task-clock data 2>/dev/null | folded_sum)" = "$(script -G -F event <data | grep -c task-clock)" ]

./fl-worker 1.5 &
sleep 0.2
./tool -q -F 499 -e task-clock --follow fl-worker --call-graph dwarf,8192 --duration 0.5 -o data
check "one that runs already, with stack copies" awk '
	/task-clock/ { all++ } /main\+/ { nr++ } END { print nr, "of", all; exit !(nr > 5 && nr > 0.9 * all) }' <(script <data)
wait
expect "none comes" 2 "no process named 'fl-nosuch' came" ./tool --follow fl-nosuch --duration 0.2 -o data
expect "groups read with each sample are refused" 64 "leave out :S" \
	./tool -e '{task-clock,page-faults}:S' --follow x -o data
expect "a whole machine has no need of it" 64 "records every process" ./tool -a --follow x -o data
if [ "$(id -u)" = 0 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 1 ]; then
	nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
	nobody ./tool -q -F 499 -e task-clock:u --follow fl-worker --duration 60 >data 2>err &
	recorder=$!
	sleep 0.3
	nobody ./fl-worker 0.8 x
	nobody ./fl-worker 0.8
	pkill -INT -P $recorder -x tool
	wait $recorder
	check "as an ordinary user: by looking through /proc" awk '
		{ nr++; print; bad += $2 < 150 || $2 > 450 } END { exit !(nr == 3 && !bad) }' <(counts data)
else
	skip "as an ordinary user: needs root, to become one"
fi
