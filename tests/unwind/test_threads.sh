#!/bin/bash
# Threads that share the rules find the same frames as one.
# shellcheck source=tests/lib/check.sh
. "$TOP/tests/lib/check.sh"
unwind=$BUILD/bench/unwind
[ -x "$unwind" ] || { skip "unwind threads: $unwind is not built"; exit; }
recorded=
for _ in 1 2 3; do
	perf_record -F 1999 --call-graph dwarf,16384 -m 4M -o "$work/data" \
		perl -e '$h{$_ % 999} .= sprintf "%d,", sqrt $_ for 1 .. 300000; @s = sort values %h' \
		>/dev/null 2>&1 && recorded=1 && break
done
[ -n "$recorded" ] || { skip "unwind threads: perf cannot record here"; exit; }
# a program that measures: at its end it gives nothing back
frames() { ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 timeout 100 "$unwind" --threads "$1" --passes 1 "$work/data" 2>"$work/log" | sed -n 's/^pass 0: \([0-9]*\) .*/\1/p'; }
one=$(frames 1)
check "unwind threads: one finds frames" [ "${one:-0}" -gt 100 ]
for nr in 2 5; do
	check "unwind threads: $nr find the same" [ "$(frames $nr)" = "$one" ]
	check "unwind threads: $nr, no complaint" [ ! -s "$work/log" ]
done

# collapse prints the same with any number of threads: one process, and many
# that come and go, so that maps change between the samples; by file, by pipe,
# compressed
same() { # FILE [OPTION]...
	local file=$1 nr
	shift
	collapse -q --threads 1 "$@" "$file" >"$work/one" 2>&1
	[ "$(wc -l <"$work/one")" -gt 20 ] || { cat "$work/one"; return 1; }
	for nr in 2 4; do
		collapse -q --threads $nr "$@" "$file" >"$work/more" 2>&1
		cmp "$work/one" "$work/more" || return 1
	done
}
same_by_pipe() { # FILE; what is told of build-ids behind the samples is the pipe's own matter
	local nr
	collapse -q --threads 1 <"$1" >"$work/one" 2>&1
	for nr in 1 2 4; do
		cat "$1" | collapse -q --threads $nr >"$work/more" 2>&1
		cmp "$work/one" "$work/more" || return 1
	done
}
cat >"$work/many.sh" <<'END'
for i in $(seq 60); do
	perl -e '$h{$_ % 99} .= sqrt $_ for 1 .. 4000; @s = sort values %h' &
	perl -e '@s = map { join ",", sort split //, $_ x 3 } 1 .. 3000'
done
wait
END
many() { # FILE [OPTION]... records $work/many.sh
	local file=$1
	shift
	for _ in 1 2 3; do
		perf_record -F 4999 --call-graph dwarf,8192 -m 4M "$@" -o "$file" sh "$work/many.sh" >/dev/null 2>&1 && return
	done
}
many "$work/many"
many "$work/packed" -z
# code made at run time: rules and names from a file that all threads read
if command -v node >/dev/null; then
	echo 'function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2); } let t = 0; for (let i = 0; i < 9; i++) t += f(26); console.log(t)' >"$work/jit.js"
	(cd "$work" && perf_record -k mono -F 1999 --call-graph dwarf,8192 -m 4M -o jit \
		node --perf-prof --perf-prof-unwinding-info jit.js >/dev/null 2>&1)
fi
for file in data many packed jit; do
	[ -s "$work/$file" ] || { skip "collapse threads: no recording '$file'"; continue; }
	check "collapse threads: $file, the same stacks" same "$work/$file"
	check "collapse threads: $file, the same by pipe" same_by_pipe "$work/$file"
	check "collapse threads: $file, the same counters" same "$work/$file" --input-check
	check "collapse threads: $file, the same without the kernel" same "$work/$file" --only user --by tid
done
