#!/bin/bash
# Clocks that jump: that of the machine while intervals are written, and that
# of the recorder inside a recording. No sample is lost by it, none counts twice.
# shellcheck source=tests/lib/check.sh
. "$TOP/tests/lib/check.sh"
cd "$work" || exit 2
export TZ=UTC

# ---- the recorder's clock steps back by an hour and forth by a day ----
perl -I"$TOP/tests/lib" -MRecording -we '
	my $r = Recording->new(pipe => 1);
	my $time = 1e13;
	$r->comm(10, 10, "app", $time);
	for my $n (1 .. 600) {
		$time -= 3600e9 if $n == 200;
		$time += 86400e9 if $n == 400;
		$r->sample(tid => [10, 10], time => $time + 1, ip => 0x1000, chain => ["user", 0x1000 + 16 * ($n % 7)]);
		$time += 1e7;
		$r->round if $n % 50 == 0;
	}
	$r->write("recording")'
collapse -q --no-header recording >whole
check "a recording's clock steps: every sample is there" [ "$(folded_sum <whole)" = 600 ]
for every in 1s 60s; do
	collapse -q --every $every --archive steps-$every recording
	check "a recording's clock steps: every sample is in one interval of $every" eval \
		'[ $? -le 1 ] && collapse -q --no-header steps-'$every' | cmp - whole'
done

# ---- the machine's clock is set while intervals are written ----
if [ -e "$BUILD/fault/inject.so" ]; then
	cat >slowly.pl <<'END'
use strict;
use warnings;
use lib "$ENV{TOP}/tests/lib";
use Recording;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC sleep);
my $r = Recording->new(pipe => 1);
$| = 1;
print $r->bytes;
my $begin = clock_gettime(CLOCK_MONOTONIC);
my @offsets = (0, 0, 7200, 7200, -86400, -86400, 0);
for my $n (1 .. 70) {
	if ($n % 10 == 1) {
		open my $out, '>', "offset.new";
		print $out shift @offsets;
		close $out;
		rename "offset.new", "offset";
	}
	$r->{records} = '';
	$r->sample(tid => [10, 10], time => 1e9 * clock_gettime(CLOCK_MONOTONIC), ip => 0x1000, chain => ['user', 0x1000 + 16 * ($n % 7)]);
	$r->round;
	print $r->{records};
	sleep 0.1;
}
END
	echo 0 >offset
	perl slowly.pl | FAULT_CLOCK=$work/offset LD_PRELOAD=$BUILD/fault/inject.so collapse -q --every 1s --archive set 2>err
	check "the clock is set: written on" [ "${PIPESTATUS[1]}" -le 1 ]
	check "the clock is set: every sample is in one interval" [ "$(collapse -q set | folded_sum)" = 70 ]
	check "the clock is set: intervals of both times, none overwritten" eval \
		'ls set; [ $(ls set | cut -c1-8 | sort -u | wc -l) -ge 2 ] && [ $(ls set | wc -l) -ge 6 ]'
else
	skip "the clock is set: only the plain build has the library that sets it"
fi

# ---- what comes late is not a clock that was set ----
if can_sample; then
	perl -e 'my $end = time + 30; 1 while time < $end && getppid != 1' &
	busy=$!
	collect -q -F 199 -a -e cpu-clock --duration 7 2>/dev/null | { sleep 3; cat; } |
		collapse -q --every 1s --archive late 2>err
	kill $busy
	# names but for the first, which begins where the recording does
	seconds=$(ls late | sed -E 's/^(....)(..)(..)T(..)(..)(..)Z.*/\1-\2-\3 \4:\5:\6Z/' | date -f - +%s)
	check "a stream that is 3 s late: one interval for each second" awk '
		{ print } NR > 2 && $1 != before + 1 { bad = 1 } { before = $1 } END { exit bad || NR < 6 }' <<<"$seconds"
else
	skip "a stream that is late: this user cannot sample here"
fi
