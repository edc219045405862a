#!/bin/bash
# The whole way through, and what happens when something on it gives way.
. "$TOP/tests/lib/check.sh"

can_sample || { skip "pipeline: perf events are not permitted here"; exit 0; }

# ---- one recording, the whole way ----
"$BUILD/samples/busy" 4 &
busy=$!
timeout 100 collect -q -F 499 -a --duration 2 -o "$work/rec.data"
check "record the machine" test -s "$work/rec.data"
kill $busy 2>/dev/null
wait $busy 2>/dev/null
collapse "$work/rec.data" >"$work/rec.folded" 2>"$work/collapse.err"
render "$work/rec.folded" >"$work/rec.svg"
check "the picture is XML" xmllint --noout --huge "$work/rec.svg"
check "the hot path is there" grep -q 'worker;.*handle_request;pack' "$work/rec.folded"
check "the picture names it" grep -q 'handle_request' "$work/rec.svg"

samples=$(timeout 300 perf script -i - -G -F comm,event <"$work/rec.data" 2>/dev/null | grep -c cpu-clock)
sum=$(folded_sum <"$work/rec.folded")
check "the sum is the number of samples: $sum of $samples" test "$sum" = "$samples"

pipe=$(timeout 60 collect -q -F 499 -a --duration 1 | collapse | render | head -c 400)
check "three processes and two pipes" grep -q '<svg' <<<"$pipe"

# ---- what gives way ----
for tool in collapse render diff; do
	inputs=$work/rec.folded
	[ $tool = diff ] && inputs="$work/rec.folded $work/rec.folded"
	# shellcheck disable=SC2086
	expect "$tool: a full disk is told" 2 "flame-$tool: cannot write to 'stdout': No space left" \
		bash -c "$tool $inputs >/dev/full"
	# shellcheck disable=SC2086
	expect "$tool: a reader that goes away ends it quietly" 0 '' \
		bash -c "$tool $inputs | true; test \${PIPESTATUS[0]} = 141 -o \${PIPESTATUS[0]} = 0"
	: >"$work/empty"
	# two empty sides are a defined, if dull, comparison
	expect "$tool: an empty input" $([ $tool = diff ] && echo 0 || echo 2) "flame-$tool: .*empty" "$tool" "$work/empty" $([ $tool = diff ] && echo "$work/empty")
	head -c 100000 /dev/urandom >"$work/random"
	expect "$tool: random bytes" 2 "flame-$tool: .*" "$tool" "$work/random" $([ $tool = diff ] && echo "$work/rec.folded")
	expect "$tool: no such file" 2 "flame-$tool: cannot open .*No such file" "$tool" "$work/none" $([ $tool = diff ] && echo "$work/rec.folded")
	expect "$tool: an unknown option is misuse" 64 "flame-$tool: unknown option '--frobnicate'" "$tool" --frobnicate
	expect "$tool --help" 0 '' "$tool" --help
	expect "$tool --version" 0 '' "$tool" --version
done
expect "collect: an unknown option is misuse" 64 "unknown option '--frobnicate'" collect --frobnicate
expect "collect: a full disk is told" 2 "flame-collect: .*No space left" \
	bash -c "collect -q -F 999 -a --duration 1 >/dev/full"
expect "collect: a reader that goes away leaves it incomplete" 1 "flame-collect: .*" \
	bash -c "timeout 100 collect -q -F 999 -a | head -c 100 >/dev/null; exit \${PIPESTATUS[0]}"

size=$(stat -c %s "$work/rec.data")
head -c $((size - 13)) "$work/rec.data" >"$work/cut.data"
collapse "$work/cut.data" >"$work/cut.folded" 2>"$work/cut.err"
check "a cut recording is incomplete" test $? = 1
check "and says so once" test "$(grep -c 'flame-collapse: .*cut' "$work/cut.err")" = 1
cut=$(folded_sum <"$work/cut.folded")
check "and keeps what was whole: $cut of $sum" test "$cut" -ge $((sum - 1)) -a "$cut" -gt 0

expect "render: a recording given by mistake is named" 2 "perf.data.*collapse" render "$work/rec.data"
expect "diff: a recording given by mistake is named" 2 "perf.data.*collapse" diff "$work/rec.data" "$work/rec.folded"

# ---- signals ----
collect -F 99 -a >"$work/int.data" 2>"$work/int.err" &
recorder=$!
await test -s "$work/int.data"
sleep 1
kill -INT $recorder
wait $recorder
check "SIGINT ends a recording cleanly" test $? = 0
check "with a summary" grep -qE 'samples' "$work/int.err"
check "that perf reads to the end" bash -c "timeout 300 perf script -i - <'$work/int.data' 2>&1 | grep -q cpu-clock"
