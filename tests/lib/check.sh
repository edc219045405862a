# check.sh - what test scripts share; source it first.
#
# Sets work to a temporary folder that goes away at the end, puts the tools on
# PATH, and gives functions that print the lines tests/run counts.

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH=$BIN:$PATH

ok() { echo "ok $*"; }
not_ok() { echo "not ok $1"; shift; [ $# = 0 ] || printf '    %s\n' "$@"; }
skip() { echo "skip $*"; }

# check NAME COMMAND...: passes when the command succeeds; shows its output otherwise
check() {
	local name=$1
	shift
	if "$@" >"$work/.check" 2>&1; then
		ok "$name"
	else
		not_ok "$name" "failed: $*"
		head -n 12 "$work/.check" | cut -c1-300 | sed 's/^/    /'
	fi
}

# expect NAME STATUS PATTERN COMMAND...: the exit status and a line of stderr
# that matches (an extended regular expression; '' = stderr is empty)
expect() {
	local name=$1 status=$2 pattern=$3 got
	shift 3
	"$@" >"$work/.out" 2>"$work/.err" </dev/null
	got=$?
	if [ "$got" != "$status" ]; then
		not_ok "$name" "exit status $got, not $status: $*" "$(head -n 3 "$work/.err")"
	elif [ -z "$pattern" ] && [ -s "$work/.err" ]; then
		not_ok "$name" "stderr is not empty: $(head -n 3 "$work/.err")"
	elif [ -n "$pattern" ] && ! grep -qE "$pattern" "$work/.err"; then
		not_ok "$name" "no line of stderr matches '$pattern':" "$(head -n 3 "$work/.err")"
	else
		ok "$name"
	fi
}

# await COMMAND...: until it succeeds; gives up after a time that no machine needs
await() {
	local end=$((SECONDS + 60))
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

# the sum of the counts of folded text on stdin
folded_sum() { awk '!/^#/ { sum += $NF } END { printf "%.0f\n", sum }'; }

# perf record, without its collecting and caching of build-ids; BUILD_IDS=
# (empty) keeps the collecting.
#
# While somebody else records with build-ids in the mmap records, Linux 6.1
# leaves their mark in the records of all others (perf_event_mmap_output
# restores size and type, not misc), and perf 6.1 overruns its buffer by them
# when it reads them, which -B avoids in perf record: status 134.
perf_record() { timeout 200 perf record -q -N ${BUILD_IDS--B} "$@"; }

# died STATUS: was it a signal? (124: only out of time)
died() { [ "$1" -ge 128 ]; }

# can this machine and user sample at all? prints why not
can_sample() { timeout 60 collect -q -F 99 --duration 0.1 -o /dev/null -- true >/dev/null 2>&1; }
