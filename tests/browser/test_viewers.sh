#!/bin/bash
# What --to writes of a recording, seen by those it is written for: speedscope's
# published schema and its own page in Chromium; the tables of a processed
# profile against each other.
source tests/lib/check.sh
source tests/browser/setup.sh "viewers"
cd "$work" || exit 1
collect -q -F 499 --duration 1 -o rec.data -- "$BUILD/samples/busy" >/dev/null 2>&1
if ! collapse -q rec.data >rec.folded 2>err; then
	skip "viewers: nothing could be recorded: $(head -n 1 err)"
	exit 0
fi
collapse -q --to speedscope -o rec.speedscope.json rec.data
collapse -q --to speedscope -o plain.speedscope.json rec.folded
collapse -q --srcline --to firefox -o rec.firefox.json rec.data
collapse -q --to firefox -o plain.firefox.json rec.folded
timeout 600 node "$here/viewers.mjs" "$browser" "$work" "$(folded_sum <rec.folded)"
