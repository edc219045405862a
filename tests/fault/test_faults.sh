#!/bin/bash
# The nth call of a libc function fails, for every n of a small run of each
# tool (up to MOST of them, spread evenly). Then a tool either copes and
# prints the very same output, or says one thing and exits 1 or 2; it never
# dies of a signal and leaves no file under its final name.
. "$TOP/tests/lib/check.sh"
[ "$MODE" = plain ] || { skip "faults: the injection library and sanitizers both replace malloc"; exit 0; }
MOST=${MOST:-60}
inject=$BUILD/fault/inject.so

# faults NAME CALL COMMAND: the command writes to stdout
faults() {
	local name=$1 call=$2 command=$3 total n step status bad=0 detail=
	FAULT_COUNT=$work/count FAULT_CALL=$call FAULT_NTH=0 LD_PRELOAD=$inject $command >"$work/good" 2>"$work/good.err"
	total=$(cat "$work/count" 2>/dev/null)
	[ -n "$total" ] || { not_ok "$name $call" "the counting run printed no count"; return; }
	[ "$total" -gt 0 ] || return
	step=$((total / MOST + 1))
	for ((n = 1; n <= total; n += step)); do
		FAULT_CALL=$call FAULT_NTH=$n LD_PRELOAD=$inject timeout 100 $command >"$work/got" 2>"$work/got.err"
		status=$?
		case $status in
		0) cmp -s "$work/good" "$work/got" || { bad=1; detail="call $n: exit 0 with another output"; } ;;
		1) [ -s "$work/got.err" ] || { bad=1; detail="call $n: exit 1 without a word"; } ;;
		2) [ "$(grep -c '^flame-' "$work/got.err")" -ge 1 ] || { bad=1; detail="call $n: exit 2 without a message"; } ;;
		*) bad=1; detail="call $n: status $status; $(tail -n 1 "$work/got.err")" ;;
		esac
		[ $bad = 0 ] || break
	done
	if [ $bad = 0 ]; then ok "$name: $call fails at any of $total calls"; else not_ok "$name: $call" "$detail"; fi
}

{
	for i in 1 2 3 4 5; do echo "main;outer;middle;hot$i $((i * 7))"; done
} >"$work/a.folded"
sed 's/hot3/cold3/' "$work/a.folded" >"$work/b.folded"
zstd -q "$work/b.folded" -o "$work/b.folded.zst"
gzip -k "$work/a.folded"
printf 'app 42 [001] 10.000001: 1 cycles:\n\t4005d0 work+0x10 (/bin/app)\n\t4005e0 main+0x20 (/bin/app)\n\n' >"$work/text"
cp "$TOP"/samples/*.data "$work/" 2>/dev/null

for call in malloc read write close mmap open pthread_create; do
	faults "render svg" $call "render $work/a.folded"
	faults "render gz" $call "render $work/a.folded.gz"
	faults "diff" $call "diff $work/a.folded $work/b.folded.zst"
	faults "diff report" $call "diff --report text $work/a.folded $work/b.folded"
	faults "collapse folded" $call "collapse $work/a.folded"
	faults "collapse text" $call "collapse $work/text"
	if can_sample; then
		[ -s "$work/rec.data" ] || collect -q -F 99 -o "$work/rec.data" -- true
		faults "collapse recording" $call "collapse $work/rec.data"
	fi
done

# no half a file under its final name
for tool in render diff collapse; do
	inputs="$work/a.folded"
	[ $tool = diff ] && inputs="$work/a.folded $work/b.folded"
	FAULT_CALL=write FAULT_NTH=1 LD_PRELOAD=$inject $tool -o "$work/final" $inputs 2>/dev/null
	check "$tool -o: a failed write leaves nothing behind" bash -c "test ! -e '$work/final' && test -z \"\$(ls $work/final.* 2>/dev/null)\""
done
