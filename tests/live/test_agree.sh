#!/bin/bash
# Recordings made here and now: collapse and perf script read the same bytes
# and must show the same stacks, sample by sample, address by address.
. "$TOP/tests/lib/check.sh"

can_sample || { skip "agreement with perf: perf events are not permitted here"; exit 0; }
if ! command -v perf >/dev/null; then
	skip "agreement with perf: perf is not installed"
	exit 0
fi
load() { "$BUILD/samples/${1%% *}" ${1#* }; }
compare() { "$TOP/tests/lib/compare-samples" "$@"; }
script() { timeout 300 perf script --no-inline -F "$1" -i "$2"; }

# agree NAME RECORDING [FIELDS]: no difference but those where perf prints no
# frame at all (an empty call chain: we show the sampled address); with
# allowed=N set, N in 1,000 samples may differ otherwise
agree() {
	local name=$1 file=$2 fields=${3:-comm,pid,tid,time,event,ip,sym,dso} nr others status
	script "$fields" "$file" >"$work/perf" 2>"$work/perf.err"
	status=$?
	if died $status; then
		skip "$name: perf script died of signal $((status - 128))"
		return 1
	fi
	collapse -q --samples --all-events --no-inline "$file" >"$work/ours" 2>"$work/ours.err"
	compare --show 1 --perf "$work/perf" --ours "$work/ours" >"$work/diff"
	nr=$(sed -nE 's/^samples ([0-9]+) .*/\1/p' "$work/diff")
	others=$(grep -E '^[a-z ]+: [0-9]+$' "$work/diff" | grep -v '^perf has no frames' |
		awk '{ sum += $NF } END { print sum + 0 }')
	if [ "$nr" -gt 0 ] && [ $((others * 1000)) -le $((nr * ${allowed:-0})) ]; then
		ok "$name: $nr samples"
	else
		not_ok "$name" "$(head -n 3 "$work/ours.err")" "$(cut -c1-150 "$work/diff" | head -n 50)"
	fi
	return 0
}

# ---- what perf record offers ----
while read -r program options; do
	rate='-F 2000'
	fields=
	build_ids=-B
	[ "$options" = -g ] && build_ids=
	case $options in
	*' -c '*) rate= ;;
	*--per-thread*) fields=comm,pid,tid,event,ip,sym,dso ;;
	esac
	rm -f "$work"/r "$work"/r.2*
	case $options in
	*'-o -'*) target= ;;
	*) target="-o $work/r" ;;
	esac
	# shellcheck disable=SC2086
	BUILD_IDS=$build_ids perf_record $rate $options $target -- "$BUILD/samples/"${program//_/ } \
		>"$work/stdout" 2>"$work/record.err" </dev/null
	status=$?
	if died $status; then
		skip "perf record $options: perf record died of signal $((status - 128))"
		continue
	fi
	[ -n "$target" ] || mv "$work/stdout" "$work/r"
	file=$(ls "$work"/r "$work"/r.2* 2>/dev/null | head -n 1)
	if [ -z "$file" ]; then
		not_ok "perf record $options" "made no recording" "$(head -n 3 "$work/record.err")"
		continue
	fi
	# other programs of the machine are without frame pointers, see below
	allowed=0
	case " $options " in *' -a '*) allowed=20 ;; esac
	# shellcheck disable=SC2086
	allowed=$allowed agree "perf record $options" "$file" $fields
done <<'END'
chain_0.1 -g
chain_0.1 --call-graph dwarf
chain_0.1 --call-graph dwarf,32768
chain_0.1 -a -g
chain_0.1 --per-thread -g
chain_0.1 -z -g
chain_0.1 -z --call-graph dwarf -o -
chain_0.1 -g -o -
chain_0.1 -g -T --sample-cpu
chain_0.1 -g --namespaces --all-cgroups
chain_0.1 -g -k mono
chain_0.1 -g --switch-events
chain_0.1 -g --phys-data
chain_0.1 -g -d
chain_0.1 -g -T
chain_0.1 -g --no-inherit --timestamp-boundary
chain_0.1 --call-graph dwarf -k CLOCK_MONOTONIC_RAW -T -d
chain_0.1 -g -s -W -I
chain_0.1 -g --user-regs=ip,sp
chain_0.1 -g --buildid-mmap
chain_0.1 -g --data-page-size --code-page-size
chain_0.1 -g --sample-identifier
chain_0.1 -g -e cpu-clock:u
chain_0.1 -g -e cpu-clock/max-stack=3/
chain_0.1 -e cpu-clock
chain_0.1 -g --kernel-callchains
chain_0.1 -g --overwrite --tail-synthesize
chain_1.1 -g --switch-output=1s
shares_forks_1 -g -e cpu-clock,page-faults
shares_forks_1 -g -e {cpu-clock,page-faults}
shares_forks_1 -g -e {cpu-clock,page-faults}:S
shares_forks_1 -g -e sched:sched_switch -c 1
shares_faults_1 -g -e page-faults -c 100
shares_forks_1 -g -e context-switches -c 1 -a
END

# ---- a program that runs already, whole and one of its threads ----
for options in -p -t; do
	"$BUILD/samples/chain" 3 &
	chain=$!
	sleep 0.1
	BUILD_IDS=-B perf_record -F 2000 -g $options $chain -o "$work/r" -- sleep 0.3 >/dev/null 2>"$work/record.err"
	status=$?
	kill $chain
	wait $chain 2>/dev/null
	if died $status; then
		skip "perf record $options: perf record died of signal $((status - 128))"
	else
		agree "perf record -g $options of a running program" "$work/r"
	fi
done
# without hardware there is no branch stack to record: perf says so, and writes nothing to read
if perf_record -b -o "$work/b" -- true >/dev/null 2>&1; then
	agree "perf record -b" "$work/b"
fi

# ---- a compile: hundreds of short processes ----
mkdir "$work/tree"
cp -r "$TOP"/{Makefile,share,collect,tests,samples} "$work/tree/" 2>/dev/null
timeout 60 collect -q -F 999 -a --call-graph fp -o "$work/make.data" -- \
	make -j2 -C "$work/tree" build/plain/libshare.a >/dev/null 2>&1
# perf 6.1 keeps the maps of the program before an exec where the new one maps
# nothing, so that garbage from code without frame pointers gets places there
if allowed=5 agree "a parallel make, recorded by collect (0.5 % may differ)" "$work/make.data"; then
	samples=$(grep -c cpu-clock "$work/perf")
	sum=$(collapse -q --no-header "$work/make.data" 2>/dev/null | folded_sum)
	check "the sum of counts is perf's number of samples: $sum of $samples" [ "$sum" = "$samples" ]
	processes=$(timeout 300 perf script -F pid -G -i "$work/make.data" | sort -u | wc -l)
	check "it had many processes: $processes" [ "$processes" -gt 10 ]
fi

# ---- one recording, each way in ----
perf_record -F 999 -g -o "$work/r" -- "$BUILD/samples/chain" 0.5 >/dev/null 2>&1
collapse "$work/r" >"$work/by-name"
collapse <"$work/r" >"$work/by-stdin"
cat "$work/r" | collapse >"$work/by-pipe"
gzip -c "$work/r" | collapse >"$work/by-gzip"
zstd -q -c "$work/r" | collapse - >"$work/by-zstd"
for way in stdin pipe gzip zstd; do
	check "the same folded lines by $way" cmp "$work/by-name" "$work/by-$way"
done
script comm,pid,tid,time,event,ip,sym,dso "$work/r" >"$work/text" 2>/dev/null
status=$?
if died $status; then
	skip "the same folded lines through perf script: it died of signal $((status - 128))"
else
	collapse --no-header --no-inline "$work/text" >"$work/by-text"
	collapse --no-header --no-inline "$work/r" >"$work/ours"
	check "the same folded lines through perf script" cmp "$work/ours" "$work/by-text"
fi

# both_ways NAME RECORDING PERCENT OPTIONS: so much of the weight, at least, has
# the same stack in the text as in the recording; the sums are equal. The rest
# is told in collapse(1), TEXT OF PERF SCRIPT.
both_ways() {
	local name=$1 file=$2 least=$3 options=$4 percent
	timeout 300 perf script --no-inline -i "$file" >"$work/text" 2>/dev/null
	status=$?
	died $status && { skip "$name: perf script died of signal $((status - 128))"; return; }
	# shellcheck disable=SC2086
	collapse -q --no-header --no-inline $options "$file" >"$work/ours"
	# shellcheck disable=SC2086
	collapse -q --no-header --no-inline $options "$work/text" >"$work/by-text"
	percent=$(awk '{ n = $NF; sub(/ [0-9]+$/, "") }
		NR == FNR { ours[$0] = n; all += n; next }
		{ theirs += n; same += n < ours[$0] ? n : ours[$0] }
		END { print all == theirs && all ? int(100 * same / all) : "sums differ: " all " " theirs }' \
		"$work/ours" "$work/by-text")
	if [ "$percent" -ge "$least" ] 2>/dev/null; then
		ok "$name: $percent % in the same stacks by both ways"
	else
		not_ok "$name: $percent, not $least % in the same stacks" \
			"$(command -p diff "$work/ours" "$work/by-text" | cut -c1-200 | head -n 8)"
	fi
}
perf_record -F 1500 -g -o "$work/c" -- gzip -c "$BIN/collapse" >/dev/null 2>&1
both_ways "C, frame pointers" "$work/c" 95
perf_record -F 500 --call-graph dwarf -o "$work/c" -- ls -lR /usr/lib >/dev/null 2>&1
both_ways "C, stack copies" "$work/c" 95
python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null)
if [ -n "$python" ]; then
	perf_record -F 500 --call-graph dwarf -o "$work/c" -- "$python" -Sc 'for i in range(900000): str(i)' >/dev/null 2>&1
	both_ways "Python" "$work/c" 80
fi
cat >"$work/sort.cc" <<'END'
#include <algorithm>
#include <map>
#include <string>
#include <vector>
template <class T> struct store {
	std::map<std::string, std::vector<T>> values;
	__attribute__((noinline)) void add(const std::string &key, T value) { values[key].push_back(value); }
	__attribute__((noinline)) void sort(bool (*less)(T, T)) { for (auto &v : values) std::sort(v.second.begin(), v.second.end(), less); }
};
static bool less(double a, double b) { return a < b; }
int main()
{
	store<double> s;
	unsigned x = 1;
	for (int i = 0; i < 300000; i++, x = x * 1664525 + 1013904223) s.add(std::to_string(x >> 20), x);
	s.sort(less);
}
END
if g++ -O1 -g -o "$work/sort" "$work/sort.cc" 2>/dev/null; then
	perf_record -F 1500 --call-graph dwarf,4096 -o "$work/c" -- "$work/sort" >/dev/null 2>&1
	both_ways "C++ without parameters" "$work/c" 80 '--demangle short'
fi
perf_record -F 999 -g -o - -- "$BUILD/samples/chain" 0.5 2>/dev/null | tee "$work/p" |
	collapse >"$work/live"
collapse "$work/p" >"$work/later"
check "the same folded lines live and later" cmp "$work/live" "$work/later"

# ---- a known program ----
share() { # of the samples on CPU 1, those below main;outer;middle;hot or in it
	awk '/^#/ { next } { all += $NF } /main;outer;middle(;hot)?( |;.*_\[k\] )/ { mine += $NF }
		END { print int(100 * mine / all) }'
}
# (a real-time class, so that other load on the machine takes little part; what
# is left of it can only lower the share: the best of three; it runs for as long
# as the others take to start)
for mode in fp auto; do
	percent=0
	for _ in 1 2 3; do
		chrt -f 1 taskset -c 1 "$BUILD/samples/chain" 60 &
		chain=$!
		sleep 0.2
		timeout 100 collect -q -F 999 -a --call-graph $mode --duration 1 | collapse -q --cpu 1 >"$work/folded"
		kill $chain 2>/dev/null
		wait $chain 2>/dev/null
		now=$(share <"$work/folded")
		[ "$now" -le "$percent" ] || percent=$now
		[ "$percent" -le 90 ] || break
	done
	check "collect | collapse, $mode: $percent % of its CPU in main;outer;middle;hot" \
		[ "$percent" -gt 90 ]
done
