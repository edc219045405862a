#!/bin/bash
# The signal sampler: no perf events, the same stream.
. "$TOP/tests/lib/check.sh"

shares=$work/shares
gcc -O1 -g -o "$shares" "$TOP/samples/shares.c" -pthread
script() { timeout 300 perf script -i - "$@" 2>/dev/null; }
sampled() { collect -q --sampler signal -o "$work/data" "$@" 2>"$work/err"; }

# The time (sum of periods) of half, third and fifth within FUZZ percent of
# 50, 30 and 20; the program has no frame pointers.
shares_hold() {
	script -F comm,period,ip,sym <"$work/data" | awk -v fuzz="$1" '
	/^[^\t ]/ || /^ *shares/ { period = $2; next }
	$2 == "half" || $2 == "third" || $2 == "fifth" { time[$2] += period; total += period }
	$2 == "main" || $2 == "rounds" { whole += period }
	function holds(name, share) {
		printf "%s %.1f %%\n", name, 100 * time[name] / (total + .001)
		return time[name] > (share - fuzz / 100) * total && time[name] < (share + fuzz / 100) * total
	}
	END {
		print total / 1e9, "s,", whole / 1e9, "s whole"
		ok = holds("half", .5); ok = holds("third", .3) && ok; ok = holds("fifth", .2) && ok
		exit !(ok && total > 3e8 && whole > .9 * total)
	}'
}

sampled -F 999 -- "$shares" spin 1.5
check "spin: shares hold, stacks are whole without frame pointers" shares_hold 10
# (their timers expire at ticks, as do their turns on a busy CPU: less at random)
sampled -F 999 -- "$shares" threads 4
check "threads: shares hold" shares_hold 12
check "threads: each has its samples" \
	[ "$(script -G -F tid <"$work/data" | grep -E '^ *[0-9]+ *$' | sort -u | wc -l)" = 4 ]
sampled -F 999 -- "$shares" forks 1.5
check "forks: shares hold" shares_hold 10
check "forks: children are other processes" \
	[ "$(script -G -F pid <"$work/data" | grep -E '^ *[0-9]+ *$' | sort -u | wc -l)" -gt 2 ]
sampled -F 250 -- sh -c "'$shares' spin 0.5; '$shares' spin 0.5"
check "exec: programs of a script are sampled under their name" \
	[ "$(script -G -F pid,comm <"$work/data" | awk '/shares/ { print $2 }' | sort -u | wc -l)" = 2 ]
check "perf report reads it" timeout 300 perf report -i - --stdio <"$work/data"

# what is lost, counted by signals that stand for several, is still the time
sampled -F 999 -- "$shares" spin 1
check "time: periods add up to the time on the CPU" awk '
	/^ *[0-9]+ *$/ { sum += $1 } END { print sum / 1e9; exit !(sum > 0.9e9 && sum < 1.15e9) }
	' <(script -G -F period <"$work/data")

# ---- wall-clock time ----
sampled --wall -F 99 -- sleep 1
check "--wall: waiting is seen" awk '/nanosleep/ { nr++ } END { print nr; exit !(nr > 60) }' <(script <"$work/data")
check "--wall: the event is named" grep -q 'wall-clock:u' <(script -G -F event <"$work/data")

# ---- libraries loaded later ----
gcc -O1 -shared -fPIC -o "$work/plugin.so" -xc - <<'PLUGIN'
volatile unsigned long n;
void work_in_plugin(void) { for (long i = 0; i < 600000000; i++) n++; }
PLUGIN
gcc -O1 -o "$work/loader" -xc - -ldl <<'LOADER'
#include <dlfcn.h>
int main(int argc, char **argv)
{
	void (*work)(void) = (void (*)(void))dlsym(dlopen(argv[1], RTLD_NOW), "work_in_plugin");
	work();
	return argc - 2;
}
LOADER
sampled -F 250 -- "$work/loader" "$work/plugin.so"
check "dlopen: functions of a plugin are named" grep -q work_in_plugin <(script <"$work/data")

# ---- what cannot be sampled so ----
gcc -O1 -static -o "$work/static" -xc - <<<'int main(void) { return 0; }' 2>/dev/null
expect "static programs are refused" 2 "'$work/static' is statically linked: no library can be loaded" \
	collect --sampler signal -o "$work/x" -- "$work/static"
cp /bin/true "$work/others"
if [ "$(id -u)" = 0 ]; then
	for bit in u g; do
		chown 65534:65534 "$work/others"
		chmod $bit+s "$work/others"
		expect "programs that run with other rights are refused: $bit+s" 2 "'$work/others' runs with other rights than yours .setuid.: no library can" \
			collect --sampler signal -o "$work/x" -- "$work/others"
		chmod $bit-s "$work/others"
	done
fi
chown "$(id -u):$(id -g)" "$work/others"
chmod u+s "$work/others"
expect "setuid of one's own is no other right" 0 "samples" collect --sampler signal -o "$work/x" -- "$work/others"
gcc -O1 -o "$work/conflict" -xc - <<'CONFLICT'
#include <signal.h>
#include <time.h>
static void handler(int number) { (void)number; }
int main(void)
{
	struct sigaction action = {.sa_handler = handler};
	sigaction(SIGRTMAX - 3, &action, 0);
	while (clock() < CLOCKS_PER_SEC / 5)
		;
	return 0;
}
CONFLICT
expect "a program that uses the signal itself" 0 "1 processes use signal SIGRTMAX-3 themselves" \
	collect --sampler signal -o "$work/x" -- "$work/conflict"
expect "-a makes no sense with it" 64 "the signal sampler samples a command by time" \
	collect --sampler signal -a
expect "-c makes no sense with it" 2 "takes samples by time: use -F" \
	collect --sampler signal -c 5 -o "$work/x" -- true
gcc -O1 -o "$work/blocks" -xc - <<'BLOCKS'
#include <signal.h>
#include <time.h>
int main(void)
{
	volatile long n = 0;
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, 0);
	while (clock() < CLOCKS_PER_SEC / 2)
		for (int i = 0; i < 100000; i++)
			n++;
	return 0;
}
BLOCKS
sampled -F 250 -- "$work/blocks"
check "a program that blocks all signals is sampled" \
	[ "$(script -G -F tid <"$work/data" | grep -c .)" -gt 50 ]
expect "exit status of the command is told" 0 "'sh' exited with status 5" \
	collect --sampler signal -o "$work/x" -- sh -c 'exit 5'

# ---- chosen by itself where perf events are forbidden ----
gcc -o "$work/deny" -xc - <<'DENY'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter code[] = {
	        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
	        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, code};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 99;
	return argc > 1 ? execvp(argv[1], argv + 1) : 1;
}
DENY
expect "chosen by itself under a seccomp filter, said once" 0 \
	"seccomp filter refuses perf_event_open.*; sampling by signals instead" \
	"$work/deny" "$BIN/collect" -F 250 -o "$work/data" -- "$shares" spin 1
check "chosen by itself: shares hold" shares_hold 12
expect "not chosen when perf was asked for" 2 "seccomp filter refuses" \
	"$work/deny" "$BIN/collect" --sampler perf -o "$work/x" -- true

# ---- what it costs: CPU time of a spinning program, three runs each ----
cat >"$work/cost.c" <<'COST'
#include <stdio.h>
#include <time.h>
int main(void)
{
	volatile unsigned long n = 0;
	for (long i = 0; i < 500000000; i++)
		n += (unsigned long)i;
	fprintf(stderr, "cpu %ld\n", clock());
	return 0;
}
COST
gcc -O1 -o "$work/cost" "$work/cost.c"
least() { sort -n | head -n 1; }
for i in 1 2 3 4 5; do
	"$work/cost" 2>&1 | sed -n 's/^cpu //p' >>"$work/plain"
	collect -q --sampler signal -F 99 -o /dev/null -- "$work/cost" 2>&1 | sed -n 's/^cpu //p' >>"$work/slowed"
done
check "cost: a spinning program is slowed by less than 2 % at 99 Hz (shared machine)" \
	awk -v a="$(least <"$work/plain")" -v b="$(least <"$work/slowed")" 'BEGIN { printf "%.2f %%\n", 100 * (b / a - 1); exit !(a > 0 && b < a * 1.02) }'
echo "# plain $(least <"$work/plain") us, sampled $(least <"$work/slowed") us"
