#!/bin/bash
# Each kind of event that this machine has, on a program whose shares are
# known; those it does not have, as the error a person gets.
. "$TOP/tests/lib/check.sh"

if ! can_sample; then
	skip "collect events: this user may not sample here"
	exit 0
fi
shares=$work/shares
gcc -O0 -g -o "$shares" "$TOP/samples/shares.c" -pthread
script() { timeout 300 perf script -i - "$@" 2>/dev/null; }

# The shares of half, third and fifth among the samples that have one of them,
# each within 4 standard errors of 50, 30 and 20 % (FUZZ more, in percent, for
# events that come in lumps).
shares_hold() {
	local recording=$1 least=$2 fuzz=${3:-0}
	script -F comm,ip,sym <"$recording" | awk -v least="$least" -v fuzz="$fuzz" '
	/^[^\t ]/ || /^ *[^ \t0-9a-f]/ { next }
	$2 == "half" || $2 == "third" || $2 == "fifth" { nr[$2]++; total++ }
	function holds(name, share,  error) {
		error = 4 * sqrt(share * (1 - share) / total) + fuzz / 100
		printf "%s %.1f %% of %d\n", name, 100 * nr[name] / total, total
		return nr[name] / total > share - error && nr[name] / total < share + error
	}
	END {
		if (total < least) { print total + 0, "samples"; exit 1 }
		ok = holds("half", .5); ok = holds("third", .3) && ok; ok = holds("fifth", .2) && ok
		exit !ok
	}'
}

# recorded NAME LEAST MODE FUZZ OPTION...: records shares MODE with the options
recorded() {
	local name=$1 least=$2 mode=$3 fuzz=$4
	shift 4
	collect -q --call-graph fp -o "$work/data" "$@" -- "$shares" "$mode" 0.7 2>"$work/err" || {
		not_ok "$name" "$(cat "$work/err")"
		return
	}
	check "$name: shares hold" shares_hold "$work/data" "$least" "$fuzz"
}

recorded "cpu-clock" 300 spin 0 -e cpu-clock -F 999
recorded "task-clock" 300 spin 0 -e task-clock -F 999
recorded "cpu-clock of threads" 300 threads 0 -e cpu-clock -F 999
recorded "cpu-clock of children" 300 forks 0 -e cpu-clock -F 999
recorded "cpu-clock in the kernel" 100 calls 4 -e cpu-clock -F 999
recorded "page-faults by count" 500 faults 0 -e page-faults -c 97
recorded "page-faults by frequency" 100 faults 4 -e page-faults -F 999
recorded "context-switches" 500 switches 2 -e context-switches -c 1
check "context-switches: a fixed count is one event a sample" \
	[ "$(script -F event,period -G <"$work/data" | head -n 1 | grep -o '[0-9]*' | head -n 1)" = 1 ]

# ---- probes ----
if [ -d /sys/bus/event_source/devices/uprobe ]; then
	# events of the name given; $2 of them exactly where it is not empty
	has_events() {
		script -G -F event <"$1" | awk -v name="$2" 'index($0, name) { nr++ } END { print nr + 0; exit !(nr > 100) }'
	}
	recorded "uprobe with whole stacks" 500 probes 0 -e "uprobe:$shares:unit+4"
	check "uprobe: named in the stream" has_events "$work/data" "uprobe:$shares:unit+4:"
	recorded "uretprobe" 500 probes 0 -e "uretprobe:$shares:unit"
	check "uretprobe: named in the stream" has_events "$work/data" "uretprobe:$shares:unit:"
	recorded "usdt" 500 probes 100 -e "usdt:$shares:shares:unit"
	check "usdt: named in the stream" has_events "$work/data" "usdt:$shares:shares:unit:"
	collect -q --call-graph fp -e "uprobe:$shares:half,uprobe:$shares:one_round" -o "$work/data" -- "$shares" probes 0.2
	check "uprobes count calls exactly" awk '
		index($0, ":half:") { half++ } index($0, ":one_round:") { round++ }
		END { print half, round; exit !(half == round && half > 10) }' <(script -G -F event <"$work/data")
	expect "uprobe of an unknown function" 64 "has no function 'haf'; did you mean 'half'?" \
		collect -e "uprobe:$shares:haf" -o "$work/x" -- true
	mkfifo "$work/fifo"
	expect "uprobe of what is no file: not opened, not waited for" 64 "'$work/fifo' is no regular file" \
		timeout 60 collect -e "uprobe:$work/fifo:main" -o "$work/x" -- true
	expect "usdt of an unknown probe" 64 "has no USDT probe 'shares:x'; it has 1 others, such as shares:unit" \
		collect -e "usdt:$shares:shares:x" -o "$work/x" -- true
	expect "uprobe of a file that is not there" 64 "cannot find '/no/such/file'" \
		collect -e "uprobe:/no/such/file:main" -o "$work/x" -- true
else
	skip "uprobes: this kernel has none"
fi
if [ ! -d /sys/bus/event_source/devices/kprobe ]; then
	expect "kprobe without kernel support" 64 "this kernel has no kprobes .built without CONFIG_KPROBE" \
		collect -e kprobe:do_sys_openat2 -o "$work/x" -- true
else
	collect -q -e kprobe:do_sys_openat2 -o "$work/data" -- cat /etc/passwd
	check "kprobe" grep -q kprobe: <(script -G -F event <"$work/data")
fi

# ---- breakpoints ----
gcc -O0 -no-pie -o "$work/static" -xc - <<'SPIN'
volatile int watched;
int main(void) { for (int i = 0; i < 500; i++) watched = i; return 0; }
SPIN
address=$(nm "$work/static" | awk '$3 == "watched" { print $1 }')
if collect -q --call-graph fp -e "mem:0x$address:w" -o "$work/data" -- "$work/static" >"$work/err" 2>&1; then
	check "breakpoint: every write" \
		[ "$(script -F sym,ip <"$work/data" | grep -c '[0-9a-f] main$')" = 500 ]
	collect -q --call-graph fp -e "mem:0x$address:w" -c 50 -o "$work/data" -- "$work/static"
	check "breakpoint: every 50th write" \
		[ "$(script -F sym,ip <"$work/data" | grep -c '[0-9a-f] main$')" = 10 ]
else
	skip "breakpoint: $(head -n 1 "$work/err")"
fi
expect "breakpoint without an address" 64 "address of a breakpoint is hexadecimal" collect -e mem:x:rw -- true

# ---- tracepoints ----
if [ "$(id -u)" = 0 ]; then
	recorded "tracepoint" 1000 calls 1 -e syscalls:sys_enter_getppid
	check "tracepoint: named in the stream" \
		grep -q syscalls:sys_enter_getppid: <(script -G -F event <"$work/data")
	collect -q -e sched:sched_switch --filter 'prev_comm == "shares"' -a -o "$work/data" -- "$shares" switches 0.2
	check "tracepoint with a filter" \
		[ "$(script -G -F comm <"$work/data" | grep -v ':-1' | sort -u | tr -d ' \n')" = shares ]
	expect "a filter that the kernel refuses" 2 "refuses the filter 'nonsense == 0' of event 'sched:sched_switch'" \
		collect -e sched:sched_switch --filter 'nonsense == 0' -o "$work/x" -- true
	collect -q --call-graph fp -e 'syscalls:sys_enter_get*id' -o "$work/data" -- "$shares" calls 0.2
	check "tracepoints by pattern" grep -q sys_enter_getppid <(script -G -F event <"$work/data")
	expect "a misspelt tracepoint" 64 "no tracepoint 'sched:sched_swich'; did you mean 'sched:sched_switch'" \
		collect -e sched:sched_swich -- true
else
	skip "tracepoints: not root"
fi

# ---- names of libpfm4 ----
if ldconfig -p | grep -q 'libpfm\.so\.4'; then
	recorded "libpfm4: its name of cpu-clock" 300 spin 0 -e perf::PERF_COUNT_SW_CPU_CLOCK -F 999
	check "libpfm4: named in the stream" grep -q perf::PERF_COUNT_SW_CPU_CLOCK: <(script -G -F event <"$work/data")
	export LIBPFM_FORCE_PMU=skl # a processor of which the names are known
	check "libpfm4: events and unit masks are listed with a description" \
		grep -q '^skl::INST_RETIRED:ANY_P  *[A-Z]' <(collect --list 'skl::INST_*')
	expect "libpfm4: an unknown unit mask" 64 "'skl::INST_RETIRED:NOSUCH': libpfm4 says: invalid" \
		collect -e skl::INST_RETIRED:NOSUCH -- true
	expect "libpfm4: a misspelt name" 64 "unknown event 'INST_RETIRD'; did you mean 'INST_RETIRED'" \
		collect -e INST_RETIRD -- true
	unset LIBPFM_FORCE_PMU
else
	skip "libpfm4: the library is not here"
fi
check "collect is linked with libc alone" \
	[ "$(readelf -d "$BIN/collect" | sed -nE 's/.*NEEDED.*\[(.*)\]/\1/p' | grep -vE '^lib(c|m|pthread|dl|asan|ubsan|tsan|gcc_s|rt)\.so')" = "" ]

# ---- what people mistype ----
expect "a misspelt event" 64 "unknown event 'cpu-clok'; did you mean 'cpu-clock'" collect -e cpu-clok -- true
expect "an unknown modifier" 64 "unknown modifiers 'z' of event 'cpu-clock'" collect -e cpu-clock:z -- true
expect "an unknown PMU" 64 "this machine has no PMU 'nopmu'" collect -e nopmu/x=1/ -- true
[ ! -d /sys/bus/event_source/devices/msr ] ||
	expect "an event that can only be counted" 2 "can probably be counted only, not sampled; use --count" \
		collect -e msr/tsc/ -o "$work/x" -- true
expect "an open group" 64 "lacks its closing brace" collect -e '{cpu-clock' -- true
expect "filter without tracepoint" 64 "follows no tracepoint" collect -e cpu-clock --filter x -- true
expect "a frequency beyond the limit" 2 "is beyond kernel.perf_event_max_sample_rate" \
	collect -F 10000000 -e cpu-clock -o "$work/x" -- true
