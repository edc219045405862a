#!/bin/bash
# What collect says and does where less is permitted: as an ordinary user at
# each perf_event_paranoid, in namespaces, under a system call filter, with
# small limits.
. "$TOP/tests/lib/check.sh"

if [ "$(id -u)" != 0 ] || ! can_sample; then
	skip "collect permissions: needs root, to become somebody else"
	exit 0
fi
paranoid=/proc/sys/kernel/perf_event_paranoid
# it is one for the whole machine: not two of these tests at once
exec 9<$paranoid
flock 9
before=$(cat $paranoid)
trap 'echo $before >$paranoid; rm -rf "$work"' EXIT

# an ordinary user reaches neither the checkout nor root's temporary folder
chmod 755 "$work"
cp "$BIN/collect" "$work/tool"
cp "$BIN/libcollect-signal.so" "$work"
gcc -O1 -o "$work/spin" -xc - <<'SPIN'
#include <time.h>
int main(void) { volatile long n = 0; while (clock() < CLOCKS_PER_SEC * 6 / 10) for (int i = 0; i < 1000000; i++) n++; return 0; }
SPIN
nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
tool=$work/tool
script() { timeout 300 perf script -i - "$@" 2>/dev/null; }
nr_samples() { script -G -F tid <"$1" | grep -cE '^ *-?[0-9]+ *$'; }

cd "$work" || exit 2
for level in 2 3 1 0 -1; do
	echo $level >$paranoid || { skip "paranoid $level: cannot be set"; continue; }
	nobody "$tool" -F 499 -- "$work/spin" >data 2>err
	check "paranoid $level: own command is sampled" [ "$(nr_samples data)" -gt 200 ]
	if [ $level -ge 2 ]; then
		check "paranoid $level: user half only, and said" \
			grep -q "perf_event_paranoid forbids the kernel half" err
		check "paranoid $level: the name tells it" grep -q 'cpu-clock:u\|cycles:u' <(script -G -F event <data)
	else
		check "paranoid $level: nothing is missing" sh -c '! grep -q forbids err'
	fi
	if [ $level -ge 1 ]; then
		expect "paranoid $level: whole machine" 2 \
			"on all processes is not permitted: kernel.perf_event_paranoid is $level and this needs 0 or less .*sysctl" \
			nobody "$tool" -a --duration 0.1 -o /dev/null
	else
		expect "paranoid $level: whole machine" 0 samples \
			nobody "$tool" -a --duration 0.3 -o /dev/null
	fi
	expect "paranoid $level: another user's process" 2 "target belongs to another user|of this task is not permitted" \
		nobody "$tool" -p 1 --duration 0.1 -o /dev/null
done
echo 2 >$paranoid
expect "uprobes are root's" 2 "probes change the code of others" nobody "$tool" -e "uprobe:$work/spin:main" -o /dev/null -- true

# ---- limits ----
expect "B67 ulimit -l: smaller rings, said" 0 "locked-memory limit leaves [0-9]+ kB of buffer for each CPU instead of" \
	nobody sh -c "ulimit -l 64; exec '$tool' -F 999 -o /dev/null -- '$work/spin'"
check "B67 ulimit -l: nothing lost all the same" grep -q ' 0 lost' "$work/.err"
expect "ulimit -n: the file limit is named" 2 "need more open files than the limit of 7; raise it" \
	sh -c "ulimit -n 7; exec '$tool' -p 1 -e cpu-clock,task-clock,page-faults -o /dev/null --duration 0.1"
expect "ulimit -S -n: raised to the hard limit" 0 samples \
	sh -c "ulimit -S -n 7; exec '$tool' -a -e cpu-clock,task-clock,page-faults -o /dev/null --duration 0.1"

# ---- namespaces and filters ----
if unshare -Urpfm --mount-proc true 2>/dev/null; then
	expect "user namespace: its root is nobody here" 2 "this user namespace's root has no rights" \
		unshare -Urpfm --mount-proc "$tool" -a --duration 0.1 -o /dev/null
	unshare -Urpfm --mount-proc "$tool" -F 499 -- "$work/spin" >data 2>err
	check "user namespace: own command is sampled" [ "$(nr_samples data)" -gt 200 ]
else
	skip "user namespaces: not permitted here"
fi
gcc -o deny -xc - <<'DENY'
/* runs a command under a filter that refuses perf_event_open, as containers do */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter code[] = {
	        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
	        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)atoi(argv[1])),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, code};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 99;
	return execvp(argv[2], argv + 2);
}
DENY
for errno in 1 38; do
	expect "seccomp filter with errno $errno: named" 2 "a seccomp filter refuses perf_event_open, as container" \
		./deny $errno "$tool" -a --duration 0.1 -o /dev/null
	expect "seccomp filter with errno $errno: as an ordinary user" 2 "a seccomp filter refuses perf_event_open" \
		nobody ./deny $errno "$tool" -o /dev/null -e cpu-clock:u -p $$
done

# ---- capabilities are given up once everything is open ----
# gives_up WANTED COMMAND...: what each thread of it can still do, once each, comes
# to be that, while it runs; then it is ended
gives_up() {
	local wanted=$1 got pid
	shift
	"$@" >/dev/null 2>&1 &
	for _ in $(seq 200); do
		pid=$(pgrep -P $! -x tool || echo $!)
		got=$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/"$pid"/task/*/status 2>/dev/null | sort -u | tr '\n' ' ')
		[ "$got" != "$wanted " ] || break
		sleep 0.05
	done
	echo "$got"
	kill -INT $! && wait $!
	[ "$got" = "$wanted " ]
}
check "capabilities: to open the events of a CPU that comes back, and no others, while the machine is recorded" \
	gives_up "0000000000000000 0000004000000000" "$tool" -q -F 99 -a
check "capabilities: to name a file at the end, and no others, with -o" \
	gives_up "0000000000000000 000000400000000a" "$tool" -q -F 99 -a -o data
mkdir theirs && chown 65534 theirs && chmod 700 theirs
expect "capabilities: a file in somebody else's folder gets its name" 0 samples \
	"$tool" -F 99 -a --duration 0.2 -o theirs/data
check "capabilities: it is there" test -s theirs/data
check "capabilities: none with the signal sampler" gives_up 0000000000000000 "$tool" -q --sampler signal -F 99 -- sleep 30
check "capabilities: none while counting" gives_up 0000000000000000 "$tool" --count -e task-clock -- sleep 30
check "capabilities: the command keeps its own" [ "$("$tool" -q -o data -- grep CapEff /proc/self/status)" = "$(grep CapEff /proc/self/status)" ]

# ---- the diagnosis ----
nobody "$tool" --check >table 2>err
check "--check: as an ordinary user" test ! -s err
check "--check: whole machine is refused with the reason" \
	grep -qE '^whole machine .-a. +no: .*perf_event_paranoid is 2 and this needs 0' table
check "--check: own process is granted" grep -qE '^own process, user half +yes' table
check "--check: as root the whole machine is granted" grep -qE '^whole machine .-a. +yes' <("$tool" --check)
check "--check: sees a filter" grep -qE '^system call filter +seccomp filter is active' <(./deny 1 "$tool" --check)
check "--list: by pattern" [ "$("$tool" --list 'cpu-c[lx]ock' | wc -l)" = 1 ]
expect "--list: nothing matches" 2 "no event of this machine matches 'xyz'" "$tool" --list xyz
