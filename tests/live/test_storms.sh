#!/bin/bash
# Storms: signals without end, processes of 2 ms, thousands of threads, a
# target that ends while it is looked at.
# shellcheck source=tests/lib/check.sh
. "$TOP/tests/lib/check.sh"
PROCESSES=${PROCESSES:-5000} THREADS=${THREADS:-10000}

# storm PID [COMMAND]: signals that mean nothing, until the process ends
storm() { perl -e 'while (kill "WINCH", $ARGV[0]) { kill $_, $ARGV[0] for qw(CHLD CONT URG); select undef, undef, undef, 0.0002 }' "$1"; }

# ---- signals, while a stream is slow to come ----
perl -e 'print "a;b;c$_ ", $_ + 1, "\n" for 1 .. 20000' >"$work/folded"
slowly() { head -c 150000 "$work/folded"; sleep 0.3; tail -c +150001 "$work/folded"; }
through() { # TOOL [OPTION]...
	"$@" "$work/folded" >"$work/want" || return 1
	slowly | { exec "$@" >"$work/got" 2>"$work/err"; } &
	storm $!
	wait $! && [ ! -s "$work/err" ] && cmp "$work/want" "$work/got"
}
check "signals: collapse reads on" through collapse -q --from folded --no-header
check "signals: render reads on" through render --format json

can_sample || { skip "storms under collect: this user cannot sample here"; exit; }

# sums SAMPLES: the stacks hold just as many
sums() {
	local said
	said=$(sed -nE 's/.*: ([0-9,]+) samples, .*/\1/p' "$work/err" | tr -d ,)
	collapse -q "$work/stream" >"$work/stacks" 2>"$work/fold-err"
	[ $? -le 1 ] || { cat "$work/fold-err"; return 1; }
	echo "said ${said:-nothing}, folded $(folded_sum <"$work/stacks")"
	[ "${said:-0}" -gt 0 ] && [ "$said" = "$(folded_sum <"$work/stacks")" ]
}
collect -F 999 -e cpu-clock --duration 1 -o "$work/stream" -- perl -e '1 while 1' 2>"$work/err" &
storm $!
wait $!
check "signals: collect records its second" [ $? = 0 ]
check "signals: and each sample of it" sums

# ---- processes of 2 ms ----
cat >"$work/fork.pl" <<'END'
use Time::HiRes "time";
for (1 .. $ARGV[0]) {
	my $pid = fork;
	if (!$pid) { my $until = time + 0.002; 1 while time < $until; exit }
	waitpid -1, 0 if $_ > 4;
}
1 while wait != -1
END
for option in "" -a; do
	what="$PROCESSES processes of 2 ms, collect ${option:+$option }-- COMMAND"
	collect -F 1999 -e cpu-clock $option -o "$work/stream" -- perl "$work/fork.pl" "$PROCESSES" 2>"$work/err"
	check "$what: recorded" [ $? -le 1 ]
	check "$what: nothing else is said" sh -c "! grep -vE ': [0-9,]+ samples, |were lost|one thread does not keep up' '$work/err'"
	check "$what: each sample has a stack" sums
done

# ---- thousands of threads, which end while they are attached to ----
cat >"$work/threads.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *rest(void *arg)
{
	usleep((useconds_t)(size_t)arg);
	return 0;
}

/* threads NUMBER SECONDS [stay]: they end one after the other during a second */
int main(int argc, char **argv)
{
	int nr = atoi(argv[1]), began = 0;
	size_t us = (size_t)(atof(argv[2]) * 1e6);
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 16384);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < nr; i++)
		began += pthread_create(&thread, &attr, rest, (void *)(us + (size_t)i * 100)) == 0;
	printf("%d\n", began);
	fflush(stdout);
	for (size_t i = 0; argc > 3 || i < us / 50; i++)
		usleep(0);
	return 0;
}
END
if cc -O1 -pthread -o "$work/threads" "$work/threads.c" 2>/dev/null; then
	# two descriptors each, and what this user may open is limited
	limit=$(ulimit -Hn)
	[ "$limit" != unlimited ] && [ $((limit / 4)) -lt "$THREADS" ] && attached=$((limit / 4)) || attached=$THREADS
	"$work/threads" "$attached" 2 stay >"$work/began" &
	target=$!
	for _ in $(seq 100); do [ -s "$work/began" ] && break; sleep 0.05; done
	collect -F 99 -e cpu-clock -C 0 -p $target --duration 3 -o "$work/stream" 2>"$work/err"
	status=$?
	kill $target 2>/dev/null
	began=$(cat "$work/began")
	check "$began threads that end while they are attached to: exit $status $(grep -v samples "$work/err" | head -n 1)" [ $status -le 1 ]
	# threads that all had ended by then are no samples, but told
	check "$began threads: collapse reads what became of them" eval \
		'! collapse -q "$work/stream" 2>&1 >/dev/null | grep -vE "no samples in|lost"'
	collect -F 999 -e cpu-clock -a -o "$work/stream" -- "$work/threads" "$THREADS" 0.5 >/dev/null 2>"$work/err"
	check "$THREADS threads begun while recording" [ $? -le 1 ]
	check "$THREADS threads: each sample has a stack" sums
else
	skip "thousands of threads: no C compiler"
fi
