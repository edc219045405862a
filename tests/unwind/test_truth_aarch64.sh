#!/bin/bash
# The same as test_truth.sh for aarch64, run by qemu instruction by
# instruction (truth_aarch64.c): plain, and with signed return addresses.
# shellcheck source=tests/lib/check.sh
. "$TOP/tests/lib/check.sh"
compiler=aarch64-linux-gnu-gcc
for program in $compiler qemu-aarch64; do
	command -v $program >/dev/null || { skip "unwind truth aarch64: no $program"; exit; }
done
[ "$MODE" = plain ] || { skip "unwind truth aarch64: single steps are too many for mode $MODE"; exit; }

try() { # NAME [FLAG]...
	local name=$1 main qemu
	shift
	$compiler "$@" -static -fomit-frame-pointer -DPLAIN_CALLS -DROUNDS=14 \
		"$TOP/samples/frames.c" -o "$work/frames" || { not_ok "$name"; return; }
	main=$(aarch64-linux-gnu-nm "$work/frames" | awk '$3 == "main" { print $1 }')
	rm -f "$work/socket"
	# the newest processor, which can sign addresses
	timeout 100 qemu-aarch64 -cpu max -g "$work/socket" "$work/frames" >/dev/null &
	qemu=$!
	check "truth aarch64 $name" timeout 100 "$BUILD/unwind/truth_aarch64" \
		"$work/socket" "$work/frames" "$main"
	kill $qemu 2>/dev/null
	wait $qemu 2>/dev/null
}

try "-O2" -O2
try "signed return addresses" -O2 -mbranch-protection=standard
