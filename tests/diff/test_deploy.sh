#!/bin/bash
# Two versions of a program, profiled for real: the slower function comes first
# and its interval holds what the program measured itself.
. "$TOP/tests/lib/check.sh"
cd "$TOP" || exit 2

if ! can_sample; then
	skip "diff of two deploys: perf events are not permitted here"
	exit 0
fi
for version in 1 2; do
	${CC:-gcc} -std=gnu17 -O2 -g -fno-omit-frame-pointer -DVERSION=$version -o "$work/shop$version" samples/deploy/shop.c || exit 2
done

# the interval is a 95 % one and misses the truth one time in twenty: three
# misses in a row are one in 8,000
for attempt in 1 2 3; do
	for run in 1 2 3; do
		for version in 1 2; do
			timeout 60 collect -q -F 1999 -e cpu-clock -o "$work/data" -- "$work/shop$version" 1 >"$work/v$version.$run.truth" &&
				collapse -q "$work/data" >"$work/v$version.$run.folded" 2>/dev/null || exit 2
		done
	done
	runs=(--before "$work"/v1.*.folded --after "$work"/v2.*.folded)
	diff --report csv "${runs[@]}" >"$work/report.csv"
	truth=$(awk '$1 == "price" { sum[FILENAME ~ /v2/] += $2 } END { print (sum[1] - sum[0]) / 3 }' "$work"/v*.truth)
	first=$(grep '^regressions' "$work/report.csv" | head -n 1)
	named=$(awk -F, -v t="$truth" '$2 == "\"price\"" { print "named"; if ($7 <= t && t <= $8) print "held" }' <<<"$first" | tr '\n' ' ')
	[ "$named" = 'named held ' ] && break
done
check "the slower function comes first" grep -q named <<<"$named"
check "its interval holds the truth ($truth points): $first" grep -q held <<<"$named"
check "what was inlined away is not called slower" \
	bash -c "! grep -q '^regressions,\"pad' '$work/report.csv'"
diff "${runs[@]}" >"$work/two.folded"
check "the difference can be drawn" bash -c "render '$work/two.folded' | xmllint --noout --huge -"
