#!/bin/bash
# The threads of collect: one writes, others help to read the buffers. And
# those of collapse that look at a live stream ahead of time.
# shellcheck source=tests/lib/check.sh
. "$TOP/tests/lib/check.sh"
can_sample || { skip "collect threads: this user cannot sample here"; exit; }

# processes that come and go on every CPU, so that buffers of a page fill up
for i in $(seq "$(nproc)"); do
	timeout 60 sh -c 'while :; do /bin/true; done' &
done
trap "kill $(jobs -p | tr "\n" " ") 2>/dev/null; rm -rf \"$work\"" EXIT

quiet_run() { # [OPTION]... records with collect, folds; incomplete is fine, a complaint is not
	collect -F max -a -m 4K --call-graph dwarf,1024 --duration 0.5 "$@" >"$work/stream" 2>"$work/err"
	[ $? -le 1 ] || { cat "$work/err"; return 1; }
	grep -A20 'Sanitizer' "$work/err" && return 1
	collapse --threads 3 <"$work/stream" >"$work/folded" 2>"$work/err"
	[ $? -le 1 ] && ! grep -A20 'Sanitizer' "$work/err" && [ -s "$work/folded" ]
}
check "collect threads: several read, one writes" quiet_run
check "collect threads: the same, compressed" quiet_run -z
check "collect threads: the flight recorder" quiet_run --overwrite 300ms
