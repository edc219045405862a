#!/bin/bash
# Public recordings: each sample's stack against what perf script printed for
# it once (no symbols, so that addresses are compared).
. "$TOP/tests/lib/check.sh"

dir=$CORPUS/perf-data
if [ ! -d "$dir" ]; then
	skip "perf.data corpus: $dir is not there (1 group)"
	exit 0
fi

# the reasons behind the counts are in the same file
expected() {
	awk -F' [|] ' -v file="$1" '$1 == file { print $2 ": " $3 }' \
		"$TOP/tests/perfdata/corpus-differences"
}

for ref in "$dir"/*.ref-perf-script.txt.gz; do
	file=${ref%.ref-perf-script.txt.gz}
	name=$(basename "$file")
	collapse --no-symbols --all-events --samples "$file" >"$work/ours" 2>"$work/err"
	if [ $? -gt 1 ]; then
		not_ok "corpus $name" "$(head -n 3 "$work/err")"
		continue
	fi
	"$TOP/tests/lib/compare-samples" --show 1 --perf "$ref" --ours "$work/ours" >"$work/diff"
	if [ "$(grep -E '^(comm|perf has|ours has|perf stops|ours stops|differ|missing)[a-z ]*: [0-9]+$' "$work/diff")" = "$(expected "$name")" ]; then
		ok "corpus $name"
	else
		not_ok "corpus $name" "expected: $(expected "$name")" "$(head -n 40 "$work/diff")"
	fi
done

# files that perf 6.1 refuses or has no text for: counts of samples by an independent reader
while read -r name nr; do
	got=$(collapse --no-symbols --all-events --no-header "$dir/$name" 2>/dev/null | folded_sum)
	check "corpus $name: $nr samples" [ "$got" = "$nr" ]
done <<-'END'
	lpd-sleep.data 7
	lpd-sleep.compressed.data 8
	lpd-sleep.compressed2.pipe.data 7
	kdab-cpp-inlining.zstd.data 539
	simpleperf-sched_stat_runtime.data 2430
	simpleperf-test_vmlinux.data 1
	simpleperf-with_trace_offcpu.data 2369
END
expect "corpus: no samples is an error" 2 "no samples in" collapse "$dir/hotspot-true.v1.data"

# names that the recording itself carries (Android)
collapse -q --count period --no-header "$dir/simpleperf-with_jit_symbol.data" >"$work/android"
check "corpus: simpleperf's own symbols, JIT too" grep -q \
	'__start_thread;.*;art_quick_osr_stub;com.android.simpleperf.debuggable.MainActivity$1.run_\[j\] 17889729' "$work/android"
for file in simpleperf-runtest_two_functions_arm64_perf simpleperf-test_vmlinux simpleperf-two_process_perf; do
	collapse -q "$dir/$file.data" >"$work/android"
	check "corpus: every frame of $file has a name" grep -q '^# unresolved: 0.0 %' "$work/android"
done

# a file and the same bytes in the other order
for pair in quipper-singleprocess-3.4:derived-be-six-events kdab-vector_static_gcc.lbr:derived-be-lbr-callchain; do
	for file in ${pair/:/ }; do
		collapse --no-symbols --all-events --no-header "$dir/$file.data" >"$work/$file" 2>/dev/null
	done
	check "corpus: both byte orders fold alike (${pair#*:})" \
		cmp "$work/${pair%:*}" "$work/${pair#*:}"
done
