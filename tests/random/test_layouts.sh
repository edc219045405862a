#!/bin/bash
# Random layouts of samples against what was written: SEEDS of them, every tenth
# also as perf script reads it. A seed that fails can be run alone: layouts.pl SEED ...
. "$TOP/tests/lib/check.sh"
here=$TOP/tests/random
SEEDS=${SEEDS:-50}

# text of samples, as perf script and collapse --samples print it, to the lines of layouts.pl
canonical() {
	perl -wne '
		BEGIN { our ($head, @ips) }
		sub flush { print "$head:", join(" ", "", @ips), "\n" if defined $head; undef $head; @ips = () }
		if (m{^\s*(.*?)\s+(-?\d+)/(-?\d+)\s+(?:\[(\d+)\]\s+)?(?:\d+\.\d+:\s+)?(\d+)\s+(\S+?):\s*$}) {
			flush();
			$head = "$6 " . ($2 == -1 ? "- - -" : "$1 $2 $3") . " " . (defined $4 ? $4 + 0 : "-") . " $5";
		} elsif (/^\s+([0-9a-f]+)\b/) { push @ips, $1 }
		END { flush() }' | sort
}

bad= perf_bad= perf_runs=0
for ((seed = 1; seed <= SEEDS; seed++)); do
	"$here/layouts.pl" $seed "$work/rec" "$work/expected" >/dev/null || bad="$bad $seed"
	collapse -q --samples --no-symbols --all-events "$work/rec" 2>"$work/err" | canonical >"$work/got"
	cmp -s "$work/expected" "$work/got" || bad="$bad $seed"
	if command -v perf >/dev/null && [ $((seed % 10)) = 0 ]; then
		perf_runs=$((perf_runs + 1))
		common=" $("$here/layouts.pl" $seed "$work/rec" "$work/expected" perf) "
		fields=comm,pid,tid,time,period,event,ip
		case $common in
		*' CPU '*) fields=$fields,cpu ;;
		*) sed -Ei 's/ [0-9-]+ ([0-9]+):/ - \1:/' "$work/expected" ;;
		esac
		timeout 30 perf script --no-inline -F $fields -i "$work/rec" 2>"$work/err" </dev/null | canonical >"$work/perf"
		sort "$work/expected" | cmp -s - "$work/perf" || perf_bad="$perf_bad $seed"
	fi
done
check "layouts of samples: $SEEDS seeds${bad:+; wrong:$bad}" test -z "$bad"
if [ $perf_runs -gt 0 ]; then
	check "layouts as perf reads them: $perf_runs seeds${perf_bad:+; other:$perf_bad}" test -z "$perf_bad"
else
	skip "layouts as perf reads them: no perf here"
fi
