#!/bin/bash
# A CPU that goes offline while the machine is recorded, and comes back: the
# kernel takes its events away for good, so they have to be opened anew. Taking
# a real one away would disturb whoever else is here; what changes is the list
# of those online, as collect sees it.
# shellcheck source=tests/lib/check.sh
. "$TOP/tests/lib/check.sh"
can_sample || { skip "CPUs that come and go: this user cannot sample here"; exit; }
last=$(($(nproc --all) - 1))
[ -e "$BUILD/fault/inject.so" ] || { skip "CPUs that come and go: only the plain build has the library that shows another list"; exit; }
[ "$(cat /sys/devices/system/cpu/online)" = "0-$last" ] && [ $last -gt 0 ] ||
	{ skip "CPUs that come and go: this machine has one, or others are offline"; exit; }

cd "$work" || exit
without=0
[ $last = 1 ] || without=0-$((last - 1))
# shows what is seen from now on, atomically
online() { echo "$1" >next && mv next list; }
said() { # PATTERN: within a while
	for _ in $(seq 200); do grep -q "$1" err && return; sleep 0.05; done
	return 1
}
record() { # OPTION...: the last CPU goes, and is back
	online "0-$last"
	FAULT_PATH=/sys/devices/system/cpu/online FAULT_INSTEAD=$work/list LD_PRELOAD=$BUILD/fault/inject.so \
		collect -a -e cpu-clock "$@" >stream 2>err &
	await test -s stream
	sleep 1.2
	online $without
	said "CPU $last went offline" && sleep 1
	date +%s.%N >back
	online "0-$last"
	said "CPU $last is back" && sleep 1
	kill -INT $!
	wait $!
}
sums() {
	local said
	said=$(sed -nE 's/.*: ([0-9,]+) samples, .*/\1/p' err | tr -d ,)
	collapse -q stream >stacks
	[ $? -le 1 ] && echo "said $said, folded $(folded_sum <stacks)" &&
		[ "${said:-0}" -gt 0 ] && [ "$said" = "$(folded_sum <stacks)" ]
}
# of the last CPU: samples, none for most of a second, and then as many a second as before
interrupted() {
	collapse -q --samples stream | perl -ne '
		push @times, $1 if /\[0*'$last'\]\s+([0-9.]+):/;
		END {
			@times = sort { $a <=> $b } @times;
			($longest) = sort { $times[$b] - $times[$b - 1] <=> $times[$a] - $times[$a - 1] } 1 .. $#times;
			$before = ($longest - 1) / ($times[$longest - 1] - $times[0]);
			$after = ($#times - $longest) / ($times[-1] - $times[$longest]);
			printf "%d samples, %.0f a second, none for %.2f s, %.0f a second\n",
				$#times + 1, $before, $times[$longest] - $times[$longest - 1], $after;
			exit !($times[$longest] - $times[$longest - 1] > 0.8 && $after > 0 && $after < 1.5 * $before);
		}'
}

taskset -c $last perl -e 'my $end = time + 120; 1 while time < $end' &
load=$!
trap 'kill $load; rm -rf "$work"' EXIT
record -F 499
check "a CPU goes and comes back: recorded on" [ $? = 0 ]
check "a CPU goes and comes back: both are told" eval 'grep "CPU $last went offline" err && grep "CPU $last is back" err'
check "a CPU goes and comes back: each sample has a stack" sums
check "a CPU goes and comes back: its samples stop and go on" interrupted

# several events and stack copies: all of them have new ids from then on
record -F 299 -e cpu-clock,context-switches --call-graph dwarf
check "a CPU goes and comes back, two events: each sample has a stack" eval 'collapse -q --all-events stream >stacks; [ $? -le 1 ] &&
	[ "$(sed -nE "s/.*: ([0-9,]+) samples, .*/\1/p" err | tr -d ,)" = "$(folded_sum <stacks)" ]'

# one that nobody knew of at the start is told
online "0-$last"
FAULT_PATH=/sys/devices/system/cpu/online FAULT_INSTEAD=$work/list LD_PRELOAD=$BUILD/fault/inject.so \
	collect -a -e cpu-clock -F 99 >stream 2>err &
await test -s stream
sleep 1
online "0-$last,$((last + 1))"
said "CPU $((last + 1)) came online and is not recorded" && kill -INT $!
wait $!
check "a CPU that is new: told, exit status 1" [ $? = 1 ]
