#!/bin/bash
# What perf script prints, in every layout, to folded stacks: cases that other
# tools got wrong (by number), then public files against the folds beside them.
. "$TOP/tests/lib/check.sh"

# folds NAME INPUT EXPECTED [OPTION]...: both texts as printf formats
folds() {
	local name=$1 got want
	printf "$2" >"$work/in"
	want=$(printf "$3")
	shift 3
	got=$(collapse --no-header "$@" "$work/in" 2>"$work/err")
	if [ "$got" = "$want" ]; then
		ok "$name"
	else
		not_ok "$name" "got:" "$got" "want:" "$want" "$(head -n 2 "$work/err")"
	fi
}
p='--count period'

folds "B1 comm that holds a number" \
	'pool 7 w  4242 [001] 10.000001: 1 cycles:\n\t4005d0 work+0x10 (/bin/app)\n\n' \
	'pool 7 w;work 1'
folds "B1 comm that holds a number keeps its thread" \
	'pool 7 w  4242 [001] 10.000001: 1 cycles:\n\t4005d0 work+0x10 (/bin/app)\n\n' \
	'pool 7 w;tid 4242;work 1' --by comm --by tid
folds "B1 comm that is a number" \
	'4242 4243 [001] 10.000001: 1 cycles:\n\t4005d0 work+0x10 (/bin/app)\n\n' '4242;work 1'
folds "B2 comm with blanks" \
	'V8 WorkerThre 4242/4243 [000] 10.100000: 5 cycles:\n\t1 a (/b)\n\n' 'V8 WorkerThre;a 5' $p
folds "B2 blanks and underscores stay apart" \
	'a b 1 [000] 10.100000: 5 cycles:\n\t1 a (/b)\n\na_b 1 [000] 10.100000: 5 cycles:\n\t1 a (/b)\n\n' \
	'a b;a 1\na_b;a 1'
folds "B3 comm padded on the left" \
	'     app  4242 [001] 10.100000: 1 cycles:\n\t1 a (/b)\n\n' 'app;a 1'
folds "B3 padded comm of hexadecimal digits" \
	'    cafe  4242 [001] 10.100000: 1 cycles:\n\t1 a (/b)\n    cafe  4242 [001] 10.200000: 1 cycles:\n\t1 b (/b)\n' \
	'cafe;a 1\ncafe;b 1'
folds "B4 comm with odd first characters" \
	'[ET_NET 0] 4242 [001] 10.100000: 1 cycles:\n\t1 a (/b)\n\n:4242  4242 [001] 10.100000: 1 cycles:\n\t1 a (/b)\n\n(sd-pam) 3 10.200000: 1 cycles:\n\t1 a (/b)\n\n' \
	'(sd-pam);a 1\n:4242;a 1\n[ET_NET 0];a 1'
folds "B5 semicolon in comm and symbol" \
	'app;x 4242 [001] 10.800000: 100 cycles:\n\t1 f;g (/b)\n\n' 'app:x;f:g 100' $p
folds "B6 no time" 'java 4242 cycles:\n\t1 a (/b)\n\n' 'java;a 1'
folds "B6 no time, with cpu and period" 'java 4242 [000] 77 cycles:\n\t1 a (/b)\n\n' 'java;a 77' $p
folds "B6 no ids" 'app 10.000000: 100 cycles:\n\t1 a (/b)\n\n' 'app;a 100' $p
folds "B6 no comm" '4242 [001] 10.000000: 100 cycles:\n\t1 a (/b)\n\n' 'a 100' $p
folds "B6 no event" 'app  4242 10.000000:\n\t1 a (/b)\n\n' 'app;a 1'
folds "B6 comm and pid only" 'app  4242 \n\t       1 a (/b)\n\n' 'app;a 1'
folds "B6 no header at all" '\t       1 a (/b)\n\t       2 main (/b)\n\n\t       1 a (/b)\n' 'a 1\nmain;a 1'
folds "B7 no module" 'app 4242 10.000000: 1 cycles:\n\t1 a+0x1\n\t2 main\n\n' 'app;main;a 1'
folds "addresses only" 'app 4242 10.000000: 1 cycles:\n\t           401b97\n\n' 'app;0x401b97 1'
folds "B9 no empty line at the end" 'app 4242 [001] 10.000000: 100 cycles:\n\t1 a (/b)\n' 'app;a 100' $p
folds "B9 no end of line at the end" 'app 4242 [001] 10.000000: 100 cycles:\n\t1 a (/b)' 'app;a 100' $p
folds "B10 frame on the line of the header" \
	'false 4242 10.500000: 34467 cycles:u:  ffff9aa3c8de a+0x1 (/b)\nfalse 4242 10.600000: 3 cycles:u:  ffff9aa3c8de b+0x1 (/b)\n' \
	'false;a 34467\nfalse;b 3' $p
folds "B10 branch with flags" \
	'3109264/3109264 3363099.849998166:   1   branches:uH:   tr strt   404c03 f+0x383 (foo.so) =>  404c0d g+0x38d (foo.so)\n' 'f 1'
two='app 1 10.000000: 100 cycles:\n\t1 a (/b)\n\napp 1 10.100000: 7 instructions:\n\t1 b (/b)\n\n'
folds "B11 several events: the first" "$two" 'app;a 100' $p
folds "B11 several events: one by name" "$two" 'app;b 7' $p --event instructions
folds "B11 several events: all" "$two" 'cycles;app;a 100\ninstructions;app;b 7' $p --all-events
folds "B11 two kinds of core, one event" \
	'app 1 10.000000: 100 cpu_core/cycles/P:\n\t1 a (/b)\n\napp 1 10.100000: 7 cpu_atom/cycles/P:\n\t1 b (/b)\n\n' \
	'app;a 100\napp;b 7' $p
printf "$two" >"$work/two"
check "B11 what is left out is named" grep -q '^# left out: instructions (1 samples)' <(collapse -q "$work/two")
zero='app 1 10.000000: 0 cycles:\n\t1 a (/b)\n\napp 1 10.100000: 7 cycles:\n\t1 b (/b)\n\n'
folds "B13 a period of 0 is one sample" "$zero" 'app;a 1\napp;b 1'
folds "B13 a period of 0 weighs nothing" "$zero" 'app;b 7' $p
check "B14 unit: samples" grep -qx '# unit: samples' <(collapse -q "$work/two")
check "B14 unit: events" grep -qx '# unit: events' <(collapse -q --count period "$work/two")
src='app 1 10.000000: 1 cycles:\n\t1 a+0x2 (/b)\n  x.c:3 (inlined)\n\t2 main+0x2 (/b)\n  libc.so[27b25]\n\n'
folds "B15 source lines are no frames" "$src" 'app;main;a 1'
folds "B15 source lines on request" "$src" 'app;main:libc.so[27b25];a:x.c:3 1' --srcline
noise='instruction trace error type 1 time 4.5 cpu 0 pid 1 tid 1 ip 0 code 5: Lost trace data\napp 4242 [001] 10.600000: PERF_RECORD_LOST lost 500\napp 1 [001] 10.700000: PERF_RECORD_COMM: app:1/1\napp 1 [001] 10.000000: 1 cycles:\n\t1 a (/b)\n\n'
folds "B16 records and messages" "$noise" 'app;a 1'
printf "$noise" >"$work/noise"
expect "B16 what was lost is said" 1 'lost 500' collapse "$work/noise"
sed 's/lost 500/lost 1/' "$work/noise" >"$work/noise1"
expect "B16 one lost is one" 1 'lost 1 sample or record;' collapse "$work/noise1"
check "B16 what was lost is in the header" grep -qx '# lost: 500 records' <(collapse "$work/noise" 2>&1)
folds "B17 no frames" 'app 1 10.000000: 9 cycles:\n\napp 1 10.100000: 1 cycles:\n\napp 1 10.200000: 1 cycles:\n' 'app;[no stack] 11' $p
folds "empty line before the frames" 'app 1 10.000000: 9 cycles:\n\n\t1 a (/b)\n\n' 'app;a 9' $p
folds "B18 lines that end in CR LF" 'app 1 10.000000: 9 cycles:\r\n\t1 a (/b)\r\n\t2 main (/b)\r\n\r\n' 'app;main;a 9' $p
folds "B19 bytes that are not UTF-8" 'app 1 10.000000: 9 cycles:\n\t1 \255\377x (/b)\n\n' 'app;\xef\xbf\xbd\xef\xbf\xbdx 9' $p
folds "B20 B21 B23 B26 names stay whole" \
	'app 1 10.000000: 9 cycles:\n\t1 run<(Mode)1>::step(int) (/b)\n\t2 A::operator-> (/b)\n\t3 f::<[u8: 4]> (/b)\n\t4 main.Map[go.shape.int,(*T)].Get (/b)\n\n' \
	'app;main.Map[go.shape.int,(*T)].Get;f::<[u8: 4]>;A::operator->;run<(Mode)1>::step(int) 9' $p
folds "B21 inlined Java methods" \
	'java 1 10.000000: 9 cycles:\n\t1 La;::f->Lb;::g (/tmp/perf-1.map)\n\n' 'java;La:::f_[j];Lb:::g_[i] 9' $p
folds "B24 no tidying of names" \
	'java 1 10.000000: 9 cycles:\n\t1 LazyCompile:~foo /srv/a.js:1 (/tmp/perf-1.map)\n\n' 'java;LazyCompile:~foo /srv/a.js:1_[j] 9' $p
folds "B29 unknown symbols and modules" \
	'app 1 10.000000: 1 cycles:\n\t1 [unknown] ([kernel.kallsyms])\n\t2 [unknown] (/lib/php.so)\n\t3 [unknown] ([unknown])\n\t4 [unknown] (/tmp/perf-9.map)\n\t5 [unknown] (/bin/a (deleted))\n\n' \
	'app;[a (deleted)];[unknown];[unknown];[php.so];[kernel]_[k] 1'
folds "kernel, module and vdso" \
	'app 1 10.000000: 1 cycles:\n\tffffffff81000000 a+0x1 ([kernel.kallsyms])\n\tffffffffc1000000 b+0x1 ([nf_conntrack])\n\t    7fff00000000 c+0x1 ([vdso])\n\n' \
	'app;c;b_[k];a_[k] 1'
folds "an empty module" 'app 1 10.000000: 1 cycles:\n\t1 ()\n\n' 'app;[unknown] 1'
folds "clock events have a time" 'app 1 10.000000: 2500 cpu-clock:u:\n\t1 a (/b)\n\n' 'app;a 2.5' --count time
folds "events without their modifiers" 'app 1 10.000000: 2500 cpu-clock:u:\n\t1 a (/b)\n\n' 'app;a 1' --event cpu-clock
folds "inlined frames" \
	'app 1 10.000000: 1 cycles:\n\t1 a+0x1 (inlined)\n\t1 b+0x1 (/b)\n\n' 'app;b;a_[i] 1'
folds "inlined frames left out" \
	'app 1 10.000000: 1 cycles:\n\t1 a+0x1 (inlined)\n\t1 b+0x1 (/b)\n\n' 'app;b 1' --no-inline
folds "task that has exited" ':-1    -1 [001] 10.000000: 1 cycles:\n\tffffffff81000000 a ([kernel.kallsyms])\n\n' '[exited task];a_[k] 1'
folds "nanoseconds, offsets of modules, misc" \
	'app 1/2 [001] U 10.000000123: 1 cycles:\n\t1 a+0x2 (/b+0x1234)\n\n' 'app;pid 1;tid 2;a 1' --by comm --by pid --by tid
folds "event of two words" 'app 1 10.000000: raw 0x1a8: \n\t1 a (/b)\n\n' 'app;a 1' --event 'raw 0x1a8'
folds "trace fields" \
	'app 1 [000] 10.000000: sched:sched_switch: prev_comm=app prev_pid=1 ==> next_comm=b\n\t1 a (/b)\n\n' 'app;a 1'
folds "branches below the frames" \
	'app 1 [000] 10.000000: 1 cycles:\n\t1 a (/b)\n 0x4005d0/0x4005e0/P/-/-/0  0x1/0x2/M/-/-/0 \n\n' 'app;a 1'
# without time stamps; perf pads ids to 5 or 7 columns and periods to 10
folds "comm that ends in a number, id and period" \
	'foo 123 13695    2004008 cycles: \n\t1 a (/b)\n\n' 'foo 123;a 2004008' $p
folds "comm that ends in a number, id alone" 'foo 123 13695 cycles: \n\t1 a (/b)\n\n' 'foo 123;a 1'
folds "neither time nor event" 'foo 123 13695/13695    2004008 \n\t1 a (/b)\n\n' 'foo 123;a 2004008' $p
folds "ids alone are no frame" ' 1906 cycles: \n\t1 a (/b)\n\n 1906 cycles: \n\t1 c (/b)\n\n' 'a 1\nc 1'
folds "comm like a time stamp" \
	'1.000000:  1855 22558.778118:    2004008 cpu-clock: \n\t1 a (/b)\n\n' '1.000000:;a 1' --event cpu-clock
folds "comm like a comment" '#hash  1855 22558.778118: 1 cycles: \n\t1 a (/b)\n\n# hash  1855 22558.778118: 1 cycles: \n\t1 a (/b)\n\n' '# hash;a 1\n#hash;a 1'
folds "comm of hexadecimal digits, payload in brackets" \
	'deadbeef  9498 [000] raw_syscalls:sys_enter: NR 231 (0, ff)\n\t1 a (/b)\n\ndeadbeef  9498 [000] raw_syscalls:sys_enter: NR 60 (0, ff)\n\t1 a (/b)\n\n' 'deadbeef;a 2'
# without call chains the frame is on the line of the header, among other columns
folds "no chain, no time" \
	'        deadbeef 13769/13769 [000]    2004008 cpu-clock:      5567118df20f burn+0x3e (/bin/w)\n         foo 123   269/269   [000]          8 cpu-clock:  ffffffff821ef666 k+0x46 ([kernel.kallsyms])\n' \
	'deadbeef;burn 2004008\nfoo 123;k_[k] 8' $p
folds "no chain, no time, no event, no module" \
	'        cafe b a 13769/13769 [000]    2004008      5567118df20f burn+0x3e\n             foo   269/269   [000]          8  ffffffff821ef666 k+0x46\n' \
	'cafe b a;burn 2004008\nfoo;k 8' $p --from perf-script
folds "no chain: addresses of data, weights, registers, pages" \
	'             app   269 [000] 10.000000:          8 page-faults:     7f55a0001000 data+0x1 (/lib/d.so)        1e05080021 |OP N/A|LVL N/A               3     5567118df20f burn+0x3e (/bin/w) ABI:2    SP:0x7ffd546ce9e0               0 N/A 2M\n' 'app;burn 8' $p
folds "chain: an address of data is no frame" \
	'app   269 [000] 10.000000:          8 page-faults:     7f55a0001000 data+0x1 (/lib/d.so)\n\t    5567118df20f burn+0x3e (/bin/w)\n ABI:2    SP:0x7ffd546ce9e0    IP:0x5567118df20f\n       1e05080021 4K 4K\n\n' 'app;burn 8' $p
folds "no chain: trace fields before the frame" \
	'             app   269 [000] 10.000000: sched:sched_switch: prev_comm=app prev_pid=1 ==> next_comm=b next_prio=120  ffffffff821fb643 __schedule+0x23 ([kernel.kallsyms])\n' 'app;__schedule_[k] 1'
folds "branches as instructions are no frames" \
	'app 1 [000] 10.000000: 9 cycles: \n\t    7f0000000000 foo+0x1 (/bin/x)\n\tstd::f(int, char)+0x1:\n\t00007f0000000000\tinsn: 48 89 e5\n\t00007f0000000004\tjmp 0x7f00  # PRED 3 cycles [3]\n\n' 'app;foo 9' $p
folds "source lines tell what was inlined" \
	'app 1 [000] 10.000000: 9 cycles: \n\t1211 b+0x1\n  x.h:3 (inlined)\n\t1211 main+0x1 (/bin/x)\n  x.c:10\n\n' 'app;main;b_[i] 1'
folds "source code below frames" \
	'app 1 10.000000: 9 cycles: \n\t1211 b+0x1 (/b)\n\n|10       for (;;)\n|11       }\napp 1 10.000000: 9 cycles: \n\t1211 b+0x1 (/b)\n\n' 'app;b 2'
folds "records of several lines" \
	'app 1 [000] 0.000000: PERF_RECORD_NAMESPACES 7/7 - nr_namespaces: 7\n\t\t[0/net: 4/0xeffffff9, 1/uts: 4/0xeffffffe, \n\t\t 4/user: 4/0xeffffffd]\napp 1 10.000000: 9 cycles: \n\t1211 b+0x1 (/b)\n\n' 'app;b 1'
folds "time of day, guests, build-ids" \
	'VM: 4321 VCPU:001 app 1 [000] 2026-01-02 10:00:00.123456 10.000000: 9 cycles: \n\t1 b+0x1 (/b <0123456789abcdef>)\n\n' 'app;b 1'
printf 'app 1 10.000000: 9 cycles: \n\tffff k ([kernel.kallsyms])\n\tb6 (cookie) ([unknown])\n\napp 1 10.000000: DEFERRED CALLCHAIN [cookie: b6]\n\t7f00 m (/l)\n\n' >"$work/deferred"
check "deferred user frames: a sample counts once" \
	test "$(collapse --no-header "$work/deferred" 2>/dev/null)" = 'app;[truncated];k_[k] 1'
expect "deferred user frames: what is left out is said" 1 'left out: 1; .*merge-callchains' collapse "$work/deferred"
printf '\n0x108@perf.data [0x50]: event: 69\n.\n. ... raw event: size 80 bytes\n.  0000:  45 00 00 00\n' >"$work/dump"
expect "a dump of records is named" 2 'as perf prints with -D' collapse "$work/dump"
recursive='app 1 10.000000: 3 cycles:\n\t1 b (/b)\n\t1 a (/b)\n\t1 a (/b)\n\t1 a (/b)\n\napp 1 10.000000: 2 cycles:\n\t1 b (/b)\n\t1 a (/b)\n\t1 b (/b)\n\t1 a (/b)\n\n'
folds "B39 recursion folded, direct" "$recursive" 'app;a;b 3\napp;a;b;a;b 2' $p --fold-recursion direct
folds "B39 recursion folded, cycles" "$recursive" 'app;a;b 5' $p --fold-recursion cycles
folds "compat: names cut, comm with underscores" \
	'V8 W 1 10.000000: 9 cycles:\n\t1 f(int) (/b)\n\t2 net/http.(*C).Do (/b)\n\t3 [unknown] (/x/y.so)\n\n' 'V8_W;[y.so];net/http.(*C).Do;f 9' --compat flamegraph
folds "compat: pid has no argument" 'app 1/2 10.000000: 9 cycles:\n\t1 f (/b)\n\n' 'app-1;f 9' --compat flamegraph --pid
folds "compat: tid has no argument" 'app 1/2 10.000000: 9 cycles:\n\t1 f (/b)\n\n' 'app-1/2;f 9' --tid --compat=flamegraph

# bad input
printf 'hello\nworld\n' >"$work/words"
expect "words are no perf script" 2 'no (samples|format)|none|in no format' collapse --from perf-script "$work/words"
printf 'app 1 10.000000: 1 cycles:\n\t1 a (/b)\n\nwhat is this\n' >"$work/mixed"
expect "a line that is neither is quoted with its place" 1 "line 4: .*'what is this'" collapse "$work/mixed"
{ printf 'app 1 10.000000: 1 cycles:\n'; for i in $(seq 1 20000); do printf '\t1 a%d (/b)\n' $((i % 7)); done; printf '\n'; } >"$work/deep"
check "20,000 frames" test "$(collapse --no-header "$work/deep" | tr ';' '\n' | wc -l)" = 20001
{ printf 'app 1 10.000000: 1 cycles:\n\t1 '; head -c 3000000 /dev/zero | tr '\0' x; printf ' (/b)\n\n'; } >"$work/long"
check "a name of 3 MB" test "$(collapse --no-header "$work/long" | wc -c)" = 3000007
folds "a NUL byte in a name" 'app 1 10.000000: 1 cycles:\n\t1 a\0b (/b)\n\n' 'app;a b 1'
folds "a period beyond 2^64" 'app 1 10.000000: 99999999999999999999999 cycles:\n\t1 a (/b)\n\n' 'app;a 1' $p

expect "a filter that the text cannot serve is refused" 2 "'--cpu' works on perf.data recordings only" collapse --cpu 0 "$work/two"

# public files, byte for byte as stackcollapse-perf.pl printed them
if [ -d "$CORPUS/perf-script" ]; then
	cd "$CORPUS" || exit 2
	unpack() { case $1 in *.gz) zcat "$1" ;; *) cat "$1" ;; esac; }
	# samples and frames that script loses and this tool keeps
	kept='inferno-empty-line|inferno-invalid-empty-line|corner_case_process_names|flamescope-perf.test01'
	for ref in perf-script/*.ref-stackcollapse-perf.folded* perf-script/*.ref-default.folded local/layout-*.ref.folded local/spin-*.data.ref.folded; do
		input=${ref%.ref*}
		[ -e "$input.ref-perf-script.txt" ] && input=$input.ref-perf-script.txt
		# a byte order mark is no part of a comm
		unpack "$ref" | sed 's/\xef\xbb\xbf//' | LC_ALL=C sort >"$work/ref"
		collapse --compat flamegraph "$input" >"$work/got" 2>/dev/null
		if [[ $ref =~ $kept ]]; then
			check "compat $(basename "$ref"): no less" \
				test "$(folded_sum <"$work/got")" -ge "$(folded_sum <"$work/ref")"
		else
			check "compat $(basename "$ref")" cmp "$work/ref" <(LC_ALL=C sort "$work/got")
		fi
	done
	# with options; these lack the last sample of four files, which has no
	# empty line behind it, and two were made before JVM names lost their L
	for ref in perf-script/perf-*.expected-*.folded; do
		option=${ref##*.expected-}
		collapse --compat flamegraph "--${option%.folded}" "${ref%.expected-*}" >"$work/all" 2>/dev/null
		sed '/^java/s/;L\([a-zA-Z0-9_$]*\/\)/;\1/g' "$ref" >"$work/ref"
		sed '/^java/s/;L\([a-zA-Z0-9_$]*\/\)/;\1/g' "$work/all" >"$work/got"
		case $ref in
		*iperf* | *java-stacks-01* | *mirageos* | *vertx*)
			check "compat $(basename "$ref"): one sample more" perl -e '
				my (%n, $left);
				for my $side (0, 1) {
					open my $f, "<", $ARGV[$side] or die;
					while (<$f>) { /^(.*) (\d+)$/ and $n{$1} += $side ? $2 : -$2 }
				}
				my @left = grep { $_ } values %n;
				exit !("@left" eq "1")' "$work/ref" "$work/got" ;;
		*) check "compat $(basename "$ref")" cmp <(LC_ALL=C sort "$work/ref") <(LC_ALL=C sort "$work/got") ;;
		esac
	done
	# one recording in all layouts: 115 samples, the same stacks wherever names are printed
	for file in local/layout-{default,no-event-no-period,pid-cpu-symoff,ns-header,fp-srcline}.txt; do
		check "$(basename "$file") folds as the default layout" \
			cmp <(collapse --no-header local/layout-default.txt) <(collapse --no-header "$file")
	done
	check "layout-comm-pid-ip.txt: 115 samples" test "$(collapse local/layout-comm-pid-ip.txt | folded_sum)" = 115
	# samples by their header lines; several events: those of the first
	while read -r file want; do
		check "$file: $want samples" test "$(collapse "perf-script/$file" 2>/dev/null | folded_sum)" = "$want"
	done <<-'TABLE'
		cpuprofilify-node.txt 62
		example-perf-stacks.txt.gz 1315
		fxprof-gzip.perf.txt.gz 420
		fxprof-test.perf.txt.gz 72
		gprof2dot-glxgears.txt 1401
		magic-trace-btree_rebalance_decode_error.txt 47
		magic-trace-ocaml_exceptions.txt 27
		magic-trace-simple_gogo.txt 61
		magic-trace-c_demo_sampling.txt 530
		ms-perf.data.txt 102
		perfview-corner_case_process_names.txt 6
		perfview-one_wakeup.txt 2
		perfview-mixed_switches.txt 4
		simpleperf-display_bitmaps.header.txt 525
		speedscope-forks.txt 561
		speedscope-system-wide.txt 556
		thlorenz-node-large.txt 304
		perf-vertx-stacks-01.txt 286
	TABLE
	for file in perf-script/thlorenz-node-large.txt perf-script/gprof2dot-glxgears.txt; do
		check "$(basename "$file"): threads and pipes change nothing" \
			cmp <(collapse -q --threads 1 "$file") <(cat "$file" | collapse -q --threads 3)
	done
else
	skip "public perf script text: no corpus at $CORPUS (48 files)"
fi
