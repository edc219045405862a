#!/bin/bash
# Recordings of other profilers, from real programs: for each row of the
# tables beside this script the sum of all counts, its unit and one stack. The sums were
# found by other means than our own, which the last column names.
. "$TOP/tests/lib/check.sh"
tables=("$TOP"/tests/corpus/*.tsv)

if [ ! -d "$CORPUS" ]; then
	skip "formats: $(cat "${tables[@]}" | grep -vc '^#') rows: no corpus in $CORPUS"
	exit 0
fi
while IFS=$'\t' read -r path options sum unit stack _; do
	case $path in '#'*) continue ;; esac
	name="corpus $path"
	[ "$options" = - ] && options= || name="$name $options"
	if [ ! -e "$CORPUS/$path" ]; then
		skip "$name: not in the corpus"
		continue
	fi
	eval "collapse -q $options '$CORPUS/$path'" >"$work/out" 2>"$work/err"
	status=$?
	got=$(folded_sum <"$work/out")
	got_unit=$(sed -n 's/^# unit: //p' "$work/out")
	got_unit=${got_unit:--}
	if [ $status -gt 1 ]; then
		not_ok "$name" "exit status $status: $(head -n 2 "$work/err")"
	elif [ "$got $got_unit" != "$sum $unit" ]; then
		not_ok "$name" "sum $got $got_unit, not $sum $unit"
	elif ! grep -qxF -e "$stack" "$work/out"; then
		not_ok "$name" "no line '$stack'"
	else
		ok "$name"
	fi
done < <(cat "${tables[@]}")
