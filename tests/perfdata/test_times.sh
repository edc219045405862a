#!/bin/bash
# Recordings written by hand (tests/lib/Recording.pm): times off the CPU, in
# run queues and between two events, and the odd cases of each.
. "$TOP/tests/lib/check.sh"

# make FILE PERL: a recording $r, written to FILE
make_recording() {
	perl -I "$TOP/tests/lib" -MRecording -e "my \$r; $2; \$r->write('$1');" ||
		echo "cannot make $1" >&2
}
fold() { collapse -q --no-symbols --no-header "$@"; }

# folds NAME PERL [OPTION]... <<<EXPECTED
folds() {
	local name=$1 perl=$2 expected
	shift 2
	expected=$(cat)
	make_recording "$work/r" "$perl"
	fold "$@" "$work/r" >"$work/got" 2>"$work/err"
	if [ "$(cat "$work/got")" = "$expected" ]; then
		ok "$name"
	else
		not_ok "$name" "$(head -n 3 "$work/err")" "$(/usr/bin/diff <(echo "$expected") "$work/got" | head -n 8)"
	fi
}
# says NAME PATTERN [OPTION]...: the header of the last recording
says() {
	local name=$1 pattern=$2
	shift 2
	check "$name" grep -qE "$pattern" <(collapse -q --no-symbols "$@" "$work/r" 2>&1)
}

fields="'IDENTIFIER IP TID TIME CPU CALLCHAIN'"
task="\$r->comm(10, 10, 'app', 1, exec => 1, id => 1); \$r->mmap(10, 0x1000, 0x4000, 0, '/bin/a', 1);"
# samples of context-switches with the records that tell of returns
soft="\$r = Recording->new(sample_type => $fields, no_event => 1);
	\$r->event(name => 'cs', type => 1, config => 3, ids => [1]); $task
	sub off { my (\$tid, \$time, %o) = @_; \$r->sample(ip => 0x1100, tid => [10, \$tid],
		time => \$time, chain => ['user', 0x1100, 0x1200], %o) }"
# tracepoints, which tell both ends
hard="\$r = Recording->new(sample_type => 'IDENTIFIER IP TID TIME CPU CALLCHAIN RAW', no_event => 1);
	\$r->event(type => 2, config => 301, ids => [1]); \$r->event(type => 2, config => 302, ids => [2]);
	\$r->update_name(1, 'sched:sched_switch'); \$r->update_name(2, 'sched:sched_waking'); $task
	\$r->comm(20, 20, 'waker', 1);
	sub off { my (\$tid, \$state, \$next, \$time, %o) = @_; \$r->sample(ip => 0x1100, tid => [\$tid ? 10 : 0, \$tid],
		time => \$time, chain => ['user', 0x1100, 0x1200], raw => \$r->raw_switch(\$state, \$next), %o) }
	sub wake { my (\$by, \$tid, \$time, %o) = @_; \$r->sample(id => 2, ip => 0x1300, tid => [\$by, \$by],
		time => \$time, chain => ['user', 0x1300, 0x1400], raw => \$r->raw_waking(\$tid), %o) }"

# ---- off the CPU; times are in ns, weights in us ----
folds "a wait is from the switch to the return" "$soft
	off(10, 1000); \$r->switch('out', 10, 10, 1100); \$r->switch('in', 10, 10, 51000)" \
	--off-cpu <<<'app;a+0x200;a+0x100 50'
folds "a clock that is set back: no wait ends before it began, the next one counts" "$soft
	off(10, 5e9); \$r->switch('out', 10, 10, 5e9 + 100); \$r->round; \$r->switch('in', 10, 10, 2e9); \$r->round;
	off(10, 3e9); \$r->switch('out', 10, 10, 3e9 + 100); \$r->switch('in', 10, 10, 3e9 + 50000)" \
	--off-cpu <<<'app;a+0x200;a+0x100 50'
folds "what the record of the switch tells: asleep or ready" "$soft
	off(10, 1000); \$r->switch('out', 10, 10, 1100); \$r->switch('in', 10, 10, 3000);
	off(10, 4000); \$r->switch('out', 10, 10, 4100, preempt => 1); \$r->switch('in', 10, 10, 5000)" \
	--off-cpu --split state <<'X'
app;a+0x200;a+0x100;[runnable] 1
app;a+0x200;a+0x100;[sleeping] 2
X
folds "a thread that moves to another CPU" "$soft
	off(10, 1000, cpu => 0); \$r->switch('out', 10, 10, 1100, cpu => 0); \$r->switch('in', 10, 10, 9000, cpu => 3)" \
	--off-cpu <<<'app;a+0x200;a+0x100 8'
folds "a return at the very time of the switch: a wait of no length" "$soft
	off(10, 1000); \$r->switch('in', 10, 10, 1000); off(10, 2000); \$r->switch('in', 10, 10, 3000)" \
	--off-cpu <<<'app;a+0x200;a+0x100 1'
says "that counts" '^# waits: 2 counted' --off-cpu
folds "a switch without a return: it came with the switch before on that CPU" "$soft
	off(10, 1000, cpu => 0); off(11, 5000, cpu => 1); off(10, 7000, cpu => 1); \$r->switch('in', 10, 10, 9000);
	\$r->switch('in', 10, 11, 9000)" \
	--off-cpu --tid 10 <<<'app;a+0x200;a+0x100 6'
says "and that is told" ' 1 with a return that was not recorded' --off-cpu
folds "a switch without a return by its end counts up to there" "$soft
	off(10, 1000); off(11, 1500); \$r->switch('in', 10, 11, 4000)" --off-cpu --by tid <<'X'
tid 10;a+0x200;a+0x100 3
tid 11;a+0x200;a+0x100 2.5
X
says "and that is told" ' 1 of them not over at the end' --off-cpu
folds "an exit forgets the wait; an id given out again begins anew" "$soft
	off(10, 1000); \$r->exit(10, 10, 5000); off(10, 5100);
	\$r->fork(10, 20, 10, 20, 6000); \$r->comm(10, 10, 'next', 6001);
	off(10, 7000); \$r->switch('in', 10, 10, 9000)" --off-cpu <<'X'
next;[unknown];[unknown] 2
X
folds "a return without a switch is none" "$soft
	\$r->switch('in', 10, 10, 3000); off(10, 4000); \$r->switch('in', 10, 10, 5000)" \
	--off-cpu <<<'app;a+0x200;a+0x100 1'
folds "a switch that only a record tells of has no stack" "$soft
	\$r->switch('out', 10, 10, 1000); \$r->switch('in', 10, 10, 3000)" --off-cpu <<<'app;[no stack] 2'
folds "times asked for cut waits" "$soft
	off(10, 1000); \$r->switch('in', 10, 10, 9000); off(10, 9500); \$r->switch('in', 10, 10, 9900)" \
	--off-cpu --time 0.000003,0.000005 <<<'app;a+0x200;a+0x100 2'
says "and those outside do not count" '^# waits: 1 counted' --off-cpu --time 0.000003,0.000005
folds "shorter waits stand as a sum of their thread" "$soft
	off(10, 1000); \$r->switch('in', 10, 10, 2000); off(10, 3000); \$r->switch('in', 10, 10, 5000);
	off(10, 6000); \$r->switch('in', 10, 10, 16000)" --off-cpu --min-block 5us <<'X'
app;[short waits] 3
app;a+0x200;a+0x100 10
X
says "and in the header" '^# short: 2 times, 3 us in all' --off-cpu --min-block 5us

# ---- tracepoints: state, wakers, run queues ----
folds "states of sched_switch; the dead do not wait; nor does the idle task" "$hard
	off(10, 1, 11, 1000); off(11, 2, 12, 2000); off(12, 0x100, 10, 4000); off(10, 4, 11, 5000);
	off(11, 0x10, 12, 7000); off(12, 0x80, 0, 8000); off(0, 0, 12, 9000); off(12, 1, 10, 10000)" \
	--off-cpu --split state --by none <<'X'
a+0x200;a+0x100;[disk] 3
a+0x200;a+0x100;[runnable] 3
a+0x200;a+0x100;[sleeping] 4
a+0x200;a+0x100;[stopped] 5
X
folds "who ended a wait stands below --, upside down" "$hard
	off(10, 1, 0, 1000); wake(20, 10, 6000); off(0, 0, 10, 8000)" --off-cpu --wakers <<'X'
app;a+0x200;a+0x100;--;[unknown];[unknown];waker_[w] 7
X
folds "a filter is one of who waits, not of who wakes" "$hard
	off(10, 1, 0, 1000); wake(20, 10, 6000); off(0, 0, 10, 8000)" --off-cpu --wakers --comm app <<'X'
app;a+0x200;a+0x100;--;[unknown];[unknown];waker_[w] 7
X
folds "run queues: from the wakeup, by where the thread had waited; preemption is none" "$hard
	off(10, 1, 0, 1000); wake(20, 10, 6000); wake(20, 10, 7000); off(0, 0, 10, 9000);
	off(10, 0, 11, 10000); off(11, 1, 10, 30000)" --run-queue <<<'app;a+0x200;a+0x100 3'
folds "a thread woken before it was seen has no stack" "$hard
	wake(20, 10, 6000); off(0, 0, 10, 8000)" --run-queue <<<'app;[no stack] 2'
make_recording "$work/r" "$hard off(10, 1, 0, 1000500000); wake(20, 10, 1002000000); off(0, 0, 10, 1002500000);
	off(10, 1, 0, 1005500000); off(0, 0, 11, 1006000000); off(11, 0, 0, 1007000000)"
collapse -q --timehist "$work/r" >"$work/got"
check "timehist: time, CPU, thread, wait, delay and run time" /usr/bin/diff - "$work/got" <<'X'
           time    cpu  task name                       wait time  sch delay   run time
                        [tid/pid]                          (msec)     (msec)     (msec)
--------------- ------  ------------------------------  ---------  ---------  ---------
       1.000500 [0000]  app[10]                             0.000      0.000      0.000
       1.002500 [0000]  <idle>                              0.000      0.000      2.000
       1.005500 [0000]  app[10]                             2.000      0.500      3.000
       1.006000 [0000]  <idle>                              3.000      0.000      0.500
       1.007000 [0000]  app[11/10]                          0.000      0.000      1.000
X
make_recording "$work/r" "$soft off(10, 1000000); \$r->switch('in', 10, 10, 1003000); off(10, 1004000);
	\$r->switch('in', 10, 10, 1014000); off(10, 1020000); \$r->switch('in', 10, 10, 1020400)"
collapse -q --off-cpu --format histogram "$work/r" | sed '/^#/d' >"$work/got"
check "a histogram: buckets of powers of two, percentiles" /usr/bin/diff - "$work/got" <<'X'

app: 3 times, 13.4 us in all; p50 3.007, p95 10, p99 10, max 10 us
                      us : count      distribution
         0 -> 0          : 1          |****************************************|
         1 -> 1          : 0          |                                        |
         2 -> 3          : 1          |****************************************|
         4 -> 7          : 0          |                                        |
         8 -> 15         : 1          |****************************************|
X
check "the same as JSON" perl -MJSON::PP -e '
	my $h = decode_json(join "", <STDIN>)->{histograms}[0];
	my $sum = 0;
	$sum += $_->{count} for @{$h->{buckets}};
	exit !($h->{name} eq "app" && $h->{count} == 3 && $sum == 3 && $h->{sum} == 13.4 && $h->{max} == 10 &&
		$h->{buckets}[2]{from} == 2 && $h->{buckets}[2]{to} == 4)' <<<"$(collapse -q --off-cpu --format histogram-json "$work/r")"

# ---- waits that are told when they are over ----
folds "offcpu-time: the period is the wait; offcpu-waker before it; offcpu-short" "
	\$r = Recording->new(sample_type => 'IDENTIFIER IP TID TIME ADDR CPU PERIOD CALLCHAIN RAW', no_event => 1);
	\$r->event(type => 2, config => 301, ids => [1]); \$r->event(type => 2, config => 302, ids => [2]);
	\$r->event(type => 1, config => 9, ids => [3]);
	\$r->update_name(1, 'offcpu-time'); \$r->update_name(2, 'offcpu-waker'); \$r->update_name(3, 'offcpu-short'); $task
	\$r->sample(id => 2, ip => 0x1300, tid => [10, 12], time => 90000, period => 20000,
		chain => ['user', 0x1300], raw => \$r->raw_waking(10));
	\$r->sample(id => 1, ip => 0x1100, tid => [10, 10], time => 90000, period => 80000,
		chain => ['user', 0x1100, 0x1200], raw => \$r->raw_switch(1, 0));
	\$r->sample(id => 3, tid => [10, 10], time => 95000, addr => 7, period => 9000)" \
	--off-cpu --wakers --split state <<'X'
app;[short waits] 9
app;a+0x200;a+0x100;[sleeping];--;a+0x300_[w];app_[w] 80
X
says "and what was short is told" '^# short: 7 times, 9 us in all' --off-cpu
check "of these the run queue" test "$(fold --run-queue "$work/r")" = 'app;a+0x200;a+0x100 20'
expect "they do not tell of each switch" 2 'min-block 0' collapse --timehist "$work/r"

# ---- wall time ----
wall="\$r = Recording->new(sample_type => $fields, no_event => 1);
	\$r->event(type => 1, config => 3, ids => [1]); \$r->event(type => 1, config => 0, ids => [2]);
	\$r->fork(10, 10, 10, 10, 0); \$r->fork(10, 10, 12, 10, 0); $task
	sub off { my (\$tid, \$time, %o) = @_; \$r->sample(ip => 0x1100, tid => [10, \$tid],
		time => \$time, chain => ['user', 0x1100, 0x1200], %o) }"
folds "wall time: each thread its life, also one of which nothing is heard" "$wall
	\$r->comm(10, 12, 'mute', 2);
	\$r->switch('in', 10, 10, 1000); off(10, 2500, id => 2, chain => ['user', 0x1300]); off(10, 4000);
	\$r->switch('in', 10, 10, 9000); off(10, 10001, id => 2, chain => ['user', 0x1300])" --wall --by tid <<'X'
tid 10;[no stack] 0.999
tid 10;a+0x200;a+0x100 5
tid 10;a+0x300 4.001
tid 12;[no stack] 10
X

folds "waits told as a sum are no time on the CPU" "
	\$r = Recording->new(sample_type => 'IDENTIFIER IP TID TIME ADDR CPU PERIOD CALLCHAIN', no_event => 1);
	\$r->event(type => 1, config => 3, ids => [1]); \$r->event(type => 1, config => 0, ids => [2]);
	\$r->event(type => 1, config => 9, ids => [3]);
	\$r->update_name(1, 'offcpu-time'); \$r->update_name(2, 'cpu-clock'); \$r->update_name(3, 'offcpu-short'); $task
	sub on { \$r->sample(id => 2, ip => 0x1300, tid => [10, 10], time => shift, chain => ['user', 0x1300]) }
	on(1000); on(3000); \$r->sample(id => 3, tid => [10, 10], time => 4000, addr => 5, period => 3500); on(6000); on(9000)" \
	--wall <<'X'
app;[short waits] 3.5
app;a+0x300 4.5
X

# ---- two events of one thread ----
calls="\$r = Recording->new(sample_type => 'IDENTIFIER IP TID TIME CPU CALLCHAIN RAW', no_event => 1);
	\$r->event(type => 2, config => 401, ids => [1]); \$r->event(type => 2, config => 402, ids => [2]);
	\$r->update_name(1, ENTER); \$r->update_name(2, LEAVE); $task
	sub enter { my (\$tid, \$nr, \$time) = @_; \$r->sample(ip => 0x1100, tid => [10, \$tid], time => \$time,
		chain => ['user', 0x1100, 0x1200], raw => \$r->raw_syscall(\$nr)) }
	sub leave { my (\$tid, \$nr, \$time) = @_; \$r->sample(id => 2, ip => 0x1100, tid => [10, \$tid], time => \$time,
		chain => ['user', 0x1100], raw => \$r->raw_syscall(\$nr)) }"
raw="sub ENTER { 'raw_syscalls:sys_enter' } sub LEAVE { 'raw_syscalls:sys_exit' } $calls"
pair='--latency=raw_syscalls:sys_enter,raw_syscalls:sys_exit'
folds "system calls by name, matched by thread" "$raw
	enter(10, 0, 1000); enter(11, 230, 2000); leave(10, 0, 4000); leave(11, 230, 9000)" $pair <<'X'
app;a+0x200;a+0x100;sys_clock_nanosleep_[k] 7
app;a+0x200;a+0x100;sys_read_[k] 3
X
folds "calls are events too, and one of no known name has its number" "$raw
	enter(10, 0, 1000); enter(10, 0, 2000); enter(10, 999, 3000)" --event raw_syscalls:sys_enter <<'X'
app;a+0x200;a+0x100;sys_999_[k] 1
app;a+0x200;a+0x100;sys_read_[k] 2
X
folds "a lost end, a lost begin, an exit, the end of the recording: left out" "$raw
	leave(10, 0, 500); enter(10, 0, 1000); enter(10, 1, 2000); leave(10, 1, 3000); enter(10, 3, 4000); leave(10, 5, 5000);
	enter(11, 1, 6000); \$r->exit(10, 11, 7000); enter(12, 1, 7000)" $pair <<<'app;a+0x200;a+0x100;sys_write_[k] 1'
says "and counted" '^# calls: 1 counted; left out: 2 without a begin, 2 without an end, 2 not over at the end' $pair
probes="sub ENTER { 'uprobe:/bin/a,b:f' } sub LEAVE { 'uretprobe:/bin/a,b:f' } $calls"
pair='--latency=uprobe:/bin/a,b:f,uretprobe:/bin/a,b:f'
folds "calls within calls: each its own time" "$probes
	enter(10, 0, 1000); enter(10, 0, 3000); leave(10, 0, 6000); leave(10, 0, 9000)" $pair <<<'app;a+0x200;a+0x100 8'
check "and the histogram the whole of each" grep -q 'app: 2 times, 11 us in all' <(collapse -q $pair --format histogram "$work/r")
folds "deeper than is kept: the outermost are given up" "$probes
	enter(10, 0, 1000 + \$_) for 1 .. 70; leave(10, 0, 2000 + \$_) for 1 .. 70" $pair <<<'app;a+0x200;a+0x100 1.057'
says "and counted" ' 6 without a begin, 6 without an end' $pair
expect "one event alone is refused" 64 'not the names of two events' collapse --latency=raw_syscalls:sys_enter "$work/r"
expect "events that are not there are named" 2 "no event 'x:y'" collapse "--latency=uprobe:/bin/a,b:f,x:y" "$work/r"
expect "times do not mix" 64 'measure unlike times' collapse --off-cpu --run-queue "$work/r"
expect "a histogram of what" 64 'needs a time to show' collapse --format histogram "$work/r"
