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
frames() { timeout 100 "$unwind" --threads "$1" --passes 1 "$work/data" 2>"$work/log" | sed -n 's/^pass 0: \([0-9]*\) .*/\1/p'; }
one=$(frames 1)
check "unwind threads: one finds frames" [ "${one:-0}" -gt 100 ]
for nr in 2 5; do
	check "unwind threads: $nr find the same" [ "$(frames $nr)" = "$one" ]
	check "unwind threads: $nr, no complaint" [ ! -s "$work/log" ]
done
