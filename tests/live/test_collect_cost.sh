#!/bin/bash
# What recording costs, beside perf record in the same run, and that nothing
# is lost: CPU time of the recorder, time to the first sample, loss.
. "$TOP/tests/lib/check.sh"

if [ "$(id -u)" != 0 ] || ! can_sample; then
	skip "collect cost: needs to record the whole machine"
	exit 0
fi
if [ "$MODE" != plain ]; then
	skip "collect cost: means something in plain builds only"
	exit 0
fi
gcc -O1 -o "$work/load" -xc - <<'LOAD'
#include <stdlib.h>
#include <unistd.h>
static volatile unsigned long n;
__attribute__((noinline)) static void work(int depth) { if (depth) work(depth - 1); for (int i = 0; i < 50; i++) n += i; }
int main(int argc, char **argv) { alarm(atoi(argv[argc - 1])); for (;;) work(20); }
LOAD
gcc -O1 -o "$work/clock" -xc - <<'CLOCK'
#include <stdio.h>
#include <time.h>
int main(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); printf("%ld.%09ld\n", (long)t.tv_sec, t.tv_nsec); return 0; }
CLOCK
load() { for i in $(seq "$(nproc)"); do "$work/load" "$1" & done 2>/dev/null; }

# cpu COMMAND...: user and system time in ms, records through a pipe as always
cpu() {
	local times
	times=$( { TIMEFORMAT='%U %S'; time "$@" 2>/dev/null >/dev/null; } 2>&1)
	echo "$times" | awk '{ printf "%d\n", 1000 * ($1 + $2) }'
}
through_pipe() { "$@" | cat >"$work/stream"; }
least() { sort -n | head -n 1; }

load 16
for i in 1 2; do
	cpu through_pipe collect -q -F 99 -a --duration 2 >>"$work/ours"
	cpu through_pipe collect -q -F 99 -a --call-graph fp --duration 2 >>"$work/ours.fp"
	cpu through_pipe timeout 100 perf record -q -F 99 -a -g -o - -- sleep 2 >>"$work/perf"
done
ours=$(least <"$work/ours") fp=$(least <"$work/ours.fp") perf=$(least <"$work/perf")
echo "# 99 Hz, 2 s, whole machine: collect $ours ms, collect --call-graph fp $fp ms, perf record -g $perf ms"
check "99 Hz: at most half of perf record's CPU time, frame pointers" [ $((2 * fp)) -le "$perf" ]
check "99 Hz: at most half of perf record's CPU time, with stack copies" [ $((2 * ours)) -le "$perf" ]

# ---- nothing lost at 4,000 Hz for 5 s under load ----
load 7
collect -F 4000 -a --duration 5 >"$work/stream" 2>"$work/err"
check "4,000 Hz for 5 s under load of every CPU: nothing lost" grep -q ' 0 lost' "$work/err"
check "4,000 Hz: most samples were taken" awk -v cpus="$(nproc)" '
	/samples,/ { gsub(",", ""); for (i = 1; i < NF; i++) if ($(i + 1) == "samples") nr = $i }
	END { print nr; exit !(nr > 15000 * cpus) }' "$work/err"

# ---- what is lost is counted, and everybody agrees ----
cat >"$work/count.pl" <<'COUNT'
# samples and lost records of a stream in pipe mode, by its record headers alone
binmode STDIN;
read STDIN, my $header, 16;
my ($samples, $lost) = (0, 0);
while (read(STDIN, $header, 8) == 8) {
	my ($type, $misc, $size) = unpack 'LSS', $header;
	my $body = '';
	read STDIN, $body, $size - 8 if $size > 8;
	$samples++ if $type == 9;
	$lost += (unpack 'QQ', $body)[1] if $type == 2;
	$lost += unpack 'Q', $body if $type == 13;
}
print "$samples $lost\n";
COUNT
load 11
collect -F max -a --duration 10 >"$work/stream" 2>"$work/err"
said=$(sed -nE 's/.*: ([0-9,]+) samples, ([0-9,]+) lost, .*/\1 \2/p' "$work/err" | tr -d ,)
told=$(perl "$work/count.pl" <"$work/stream")
folded=$(collapse -q "$work/stream" 2>/dev/null | awk '/^# lost:/ { gsub("\"", ""); lost = $3 } !/^#/ { sum += $NF } END { printf "%d %d\n", sum, lost }')
check "highest frequency for 10 s: samples and losses as collect says ($said) are those of the stream ($told)" [ "$said" = "$told" ]
check "highest frequency for 10 s: and those of collapse ($folded)" [ "$said" = "$folded" ]
load 4
collect -F max -a -m 4K --call-graph dwarf,1024 --duration 1 >"$work/stream" 2>"$work/err"
said=$(sed -nE 's/.* ([0-9,]+) lost, .*/\1/p' "$work/err" | tr -d ,)
told=$(timeout 300 perf script -D -i - <"$work/stream" 2>/dev/null | tr -d '\000' |
	sed -nE 's/.*PERF_RECORD_LOST: .* lost:([0-9]+).*/\1/p' | awk '{ sum += $1 } END { printf "%d\n", sum }')
folded=$(collapse -q "$work/stream" 2>/dev/null | sed -nE 's/^# lost: "?([0-9]+).*/\1/p')
check "loss: several threads read where one does not keep up" grep -q 'one thread does not keep up: [0-9]* read the buffers' "$work/err"
check "loss: several threads read, and nothing is out of order" \
	sh -c "! timeout 300 perf script -G -F tid -i - <'$work/stream' 2>&1 | grep -qi 'out of order'"
check "loss: small buffers at the highest frequency do lose ($said)" [ "${said:-0}" -gt 0 ]
check "loss: the stream tells as many ($told)" [ "$said" = "$told" ]
check "loss: collapse carries it forward ($folded)" [ "$said" = "$folded" ]

# ---- the first sample, with 500 processes to tell of ----
for i in $(seq 500); do sleep 30 & done
wait_ids=$(jobs -p)
first_sample() { # STREAM-WRITER...: how long it took, in ms
	local start=$("$work/clock")
	"$@" 2>/dev/null >"$work/stream"
	timeout 300 perf script -G -F time -i - <"$work/stream" 2>/dev/null | awk -v start="$start" '
		{ sub(":", ""); if (!least || $1 < least) least = $1 }
		END { printf "%d\n", 1000 * (least - start) }'
}
for i in 1 2 3; do
	first_sample collect -q -F 999 -a --call-graph fp --duration 0.3 >>"$work/first"
	first_sample timeout 60 perf record -q -B -N -k mono -F 999 -a -g -o - -- sleep 0.3 >>"$work/first.perf"
done
ours=$(least <"$work/first") perf=$(least <"$work/first.perf")
kill $wait_ids 2>/dev/null
wait 2>/dev/null
echo "# first sample, on a machine of 500 more processes, best of 3: collect $ours ms, perf record $perf ms"
check "first sample: in at most a quarter of perf record's time" [ $((4 * ours)) -le "$perf" ]
