#!/bin/bash
# Other profilers, run here and now: what collapse makes of their output against
# what their own reports say.
. "$TOP/tests/lib/check.sh"
cd "$work" || exit 1

cat >prog.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
volatile unsigned sink;
int odd(int n);
__attribute__((noinline)) void burn(int n) { for (int i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) int even(int n) { burn(3000); return n ? odd(n - 1) : 1; }
__attribute__((noinline)) int odd(int n) { burn(1000); return n ? even(n - 1) : 0; }
__attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__attribute__((noinline)) void *keep(int n) { return malloc(n); }
int main(int argc, char **argv)
{
	int scale = argc > 1 ? atoi(argv[1]) : 1;
	void *kept[20];
	for (int i = 0; i < 20; i++) kept[i] = keep(1000 * i + 1);
	for (int i = 0; i < 20; i++) free(kept[i]);
	for (int i = 0; i < scale; i++) even(20), burn(5000), fib(15);
	return printf("%u\n", sink) < 0;
}
END

# the sum of what stands on stacks that end in FUNCTION
self() { awk -v f="$1" '!/^#/ { n = $NF; sub(/ [0-9.]+$/, ""); k = split($0, a, ";"); if (a[k] == f) sum += n } END { printf "%d\n", sum }'; }

# same NAME OURS THEIRS
same() { if [ -n "$3" ] && [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "ours: $2" "theirs: $3"; fi; }

has() { command -v "$1" >/dev/null || { skip "$2: no $1"; false; }; }

if has valgrind "callgrind and massif" && gcc -g -O1 -o prog prog.c; then
	timeout 60 valgrind -q --tool=callgrind --cache-sim=yes --dump-instr=yes --collect-jumps=yes \
		--callgrind-out-file=calls ./prog 3 >/dev/null 2>&1
	collapse -q calls >calls.folded
	collapse -q --value Dw calls >writes.folded
	callgrind_annotate --threshold=100 --show-percs=no --auto=no --show=Ir,Dw calls >calls.report
	total() { awk -v c="$1" '/PROGRAM TOTALS/ { gsub(",", ""); print $c }' calls.report; }
	line() { awk -v f=":$1" -v c="$2" '{ gsub(",", "") } index($3, f) && index($3, f) + length(f) > length($3) { sum += $c } END { print sum }' calls.report; }
	same "callgrind: instructions" "$(folded_sum <calls.folded)" "$(total 1)"
	same "callgrind: data writes" "$(folded_sum <writes.folded)" "$(total 2)"
	for function in burn even odd; do
		same "callgrind: instructions of $function" "$(self $function <calls.folded)" "$(line $function 1)"
		same "callgrind: data writes of $function" "$(self $function <writes.folded)" "$(line $function 2)"
	done
	timeout 60 valgrind -q --tool=massif --massif-out-file=heap ./prog >/dev/null 2>&1
	peak=$(grep -B6 'heap_tree=peak' heap | sed -n 's/^snapshot=//p')
	same "massif: bytes at the peak" "$(collapse -q heap | folded_sum)" \
		"$(ms_print heap | awk -v n="$peak" '$1 == n { gsub(",", ""); print $4; exit }')"
	check "massif: the peak by its stacks" grep -qE ';main;keep [0-9]+$|^main;keep [0-9]+$' <(collapse -q heap)
fi

if has gprof gprof && gcc -g -O1 -pg -static -no-pie -o prof prog.c 2>/dev/null; then
	./prof 1500 >/dev/null
	gprof -b ./prof gmon.out >graph.txt
	gprof -b -p ./prof gmon.out >flat.txt
	sum=$(awk '/^$/ && n { exit } $1 ~ /^[0-9.]+$/ { n++; sum += $3 } END { printf "%.0f\n", sum * 1e6 }' flat.txt)
	same "gprof: the call graph" "$(collapse -q graph.txt | folded_sum)" "$sum"
	same "gprof: the flat profile" "$(collapse -q flat.txt | folded_sum)" "$sum"
	same "gprof: one function" "$(collapse -q graph.txt | self burn)" \
		"$(awk '$NF == "burn" { printf "%.0f\n", $3 * 1e6; exit }' flat.txt)"
fi

if has node "node --prof"; then
	cat >prog.js <<'END'
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
let kept = [];
for (let i = 0; i < 400000; i++) { kept.push({ i, s: 'x' + i }); if (kept.length > 50000) kept = []; }
console.log(fib(32), kept.length);
END
	node --prof --logfile=ticks.log --no-logfile-per-isolate prog.js >/dev/null 2>&1
	node --prof-process ticks.log >ticks.report 2>/dev/null
	same "node --prof: ticks" "$(collapse -q ticks.log | folded_sum)" "$(sed -n 's/.*(\([0-9]*\) ticks.*/\1/p' ticks.report)"
	same "node --prof: ticks in fib" "$(collapse -q ticks.log | self fib)" \
		"$(awk '/^ \[C\+\+\]/ { exit } $4 ~ /^(JS|LazyCompile|Function):$/ && $5 ~ /fib$/ { sum += $1 } END { print sum + 0 }' ticks.report)"
	same "node --prof: collections" "$(collapse -q ticks.log | self '(garbage collector)')" \
		"$(awk '$4 == "GC" { print $1; exit }' ticks.report)"
fi

if has php Xdebug && php -d zend_extension=xdebug -m 2>/dev/null | grep -qi '^xdebug$'; then
	echo '<?php function f($n) { return $n < 2 ? 1 : f($n - 1) + f($n - 2); } function g() { return array_map(fn($x) => f($x), range(1, 12)); }
		echo array_sum(g()), "\n"; register_shutdown_function("bye"); function bye() { usleep(2000); }' >prog.php
	php -d xdebug.mode=trace,profile -d xdebug.start_with_request=yes -d xdebug.trace_format=1 -d xdebug.use_compression=0 \
		-d xdebug.output_dir=. -d xdebug.trace_output_name=trace -d xdebug.profiler_output_name=cachegrind.out prog.php >/dev/null 2>&1
	if [ -s trace.xt ]; then
		same "Xdebug: time with a call open" "$(collapse -q trace.xt | folded_sum)" \
			"$(awk -F'\t' '$3 == "0" || $3 == "1" || ($1 == "" && NF > 4) { if (d > 0) s += $4 - t; t = $4
				d = $3 == "0" ? $1 : $3 == "1" ? $1 - 1 : 0 } END { printf "%.0f\n", s * 1e6 }' trace.xt)"
		same "Xdebug: calls" "$(collapse -q --value calls trace.xt | folded_sum)" "$(awk -F'\t' '$3 == "0"' trace.xt | wc -l)"
		same "Xdebug: its callgrind file" "$(collapse -q cachegrind.out | folded_sum)" \
			"$(callgrind_annotate --show-percs=no cachegrind.out 2>/dev/null | awk '/PROGRAM TOTALS/ { gsub(",", ""); print $1 }')0"
	else
		skip "Xdebug: it wrote no trace"
	fi
else
	skip "Xdebug: not installed"
fi

if has uftrace uftrace && gcc -g -O1 -pg -o traced prog.c; then
	uftrace record -d data ./traced >/dev/null 2>&1
	if [ -s data/task.txt ]; then
		uftrace dump -d data >dump.txt 2>/dev/null
		uftrace report --no-event -f self -d data >uftrace.report 2>/dev/null
		in_report() { awk -v f="$1" '$NF == f { unit = $2 == "us" ? 1e3 : $2 == "ms" ? 1e6 : 1e9; printf "%.0f %.0f\n", $1 * unit, unit / 1e3 }' uftrace.report; }
		for function in fib burn keep; do
			read -r theirs digit < <(in_report $function)
			ours=$(collapse -q data | self $function)
			same "uftrace: nanoseconds of $function" "$((ours / digit))" "$((theirs / digit))"
		done
		same "uftrace: its dump" "$(collapse -q dump.txt | folded_sum)" "$(collapse -q data | folded_sum)"
	else
		skip "uftrace: it cannot record here"
	fi
fi
