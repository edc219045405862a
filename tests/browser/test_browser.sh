#!/bin/bash
# The picture in Debian's Chromium, driven by playwright-core: suite.mjs has
# the cases. Skips, loudly, only where no browser or no npm can be had.
source tests/lib/check.sh
source tests/browser/setup.sh "browser suite"
samples=$here/samples
render "$samples/small.folded" --title 'A <small> & "odd" one' >"$work/small.svg"
render --format=html "$samples/small.folded" >"$work/small.html"
render "$samples/two.folded" >"$work/two.svg"
render "$samples/odd.folded" >"$work/odd.svg"
render --minwidth 20 --search 'work' "$samples/small.folded" >"$work/search.svg"
printf 'm;a;b;a;c 3\nm;a;a;d 1\nm;a;b;x;b;a;b;e 2\n' | render >"$work/cycles.svg"
printf 'a;b 9007199254740993\na;c 1.5\n' | render >"$work/big.svg"
printf '# event: time off the CPU\n# unit: microseconds\npiper;read 1925012.186\npiper;[short waits] 591.3\npiper;x 0.001\n' | render >"$work/times.svg"
perl -e 'print join(";", map { "f$_" } 1 .. 10000), " 1\nshort 1\n"' | render >"$work/deep.svg"
perl "$here/make_large.pl" 50000 | render >"$work/large.svg"
timeout 900 node "$here/suite.mjs" "$browser" "$work"
