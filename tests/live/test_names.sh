#!/bin/bash
# Names of programs that are gone, replaced, or never were a file, recorded live.
. "$TOP/tests/lib/check.sh"

can_sample || { skip "live names: perf events are not permitted here"; exit 0; }
# a build-id that nobody has met, so that no cache of build-ids knows it
chain=$work/chain
gcc -O1 -fno-omit-frame-pointer -Wl,--build-id=0x$(head -c 20 /dev/urandom | od -An -v -tx1 | tr -d ' \n') \
	-o "$chain" "$TOP/samples/chain.c"
recorder() { timeout 100 collect -q -F 999 -p "$1" --call-graph fp --duration 0.6; }

cp "$chain" "$work/gone"
"$work/gone" 2 &
pid=$!
sleep 0.1
rm "$work/gone"
recorder $pid | collapse -q >"$work/folded"
check "B54 a deleted program that still runs has its names" \
	grep -qE '^gone;.*main;outer;middle(;hot)? ' "$work/folded"
kill $pid; wait $pid 2>/dev/null

cp "$chain" "$work/gone"
"$work/gone" 1 &
pid=$!
sleep 0.1
rm "$work/gone"
recorder $pid >"$work/data"
kill $pid; wait $pid 2>/dev/null
collapse -q "$work/data" >"$work/folded"
check "B54 when it has ended, it is named by its file" grep -qE '^gone;.*\[gone' "$work/folded"
check "B54 and nothing is guessed" bash -c "! grep -q 'main;outer' '$work/folded'"

cp "$chain" "$work/replaced"
"$work/replaced" 1 &
pid=$!
sleep 0.1
recorder $pid >"$work/data"
kill $pid; wait $pid 2>/dev/null
# another program in the same place
rm "$work/replaced"
cp "$BUILD/samples/busy" "$work/replaced"
collapse -q "$work/data" >"$work/folded"
check "B54 a replaced program has no names of the new one" \
	bash -c "grep -qE '^replaced;.*\[replaced' '$work/folded' && ! grep -qE 'handle_request|;main[; ]' '$work/folded'"

# in its mount namespace the path is a program, here it is a FIFO: whoever opened
# that for reading would let a writer through
mkdir "$work/there"
mkfifo "$work/there/piped"
if unshare -m true 2>/dev/null; then
	unshare -m sh -c 'mount -t tmpfs none "$1/there" && cp "$1/chain" "$1/there/piped" && exec "$1/there/piped" 9' - "$work" &
	pid=$!
	await grep -q piped /proc/$pid/comm
	# (another recorder on this machine may open it: not each time)
	for _ in 1 2 3; do
		rm -f "$work/was-opened"
		(: >"$work/there/piped"; : >"$work/was-opened") 2>/dev/null &
		writer=$!
		recorder $pid >"$work/data"
		[ -e "$work/was-opened" ] || break
	done
	check "a FIFO in the place of a program is not opened" test ! -e "$work/was-opened"
	check "and the program has its names all the same" grep -q '^piped;.*main;outer;middle' <(collapse -q "$work/data")
	kill $pid $writer 2>/dev/null; wait $pid $writer 2>/dev/null
else
	skip "a FIFO in the place of a program: no mount namespaces here"
fi

cat >"$work/clock.c" <<'C'
#include <time.h>
__attribute__((noinline)) static long ask(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_nsec;
}
int main(void)
{
	long sum = 0;
	for (int i = 0; i < 20000000; i++)
		sum += ask();
	return sum == 1;
}
C
gcc -O1 -g -fno-omit-frame-pointer -o "$work/clock" "$work/clock.c"
timeout 100 collect -q -F 999 --duration 1 -- "$work/clock" | collapse -q --no-inline >"$work/folded"
check "B55 the vdso has names, and its callers" \
	grep -qE '^clock;.*;main;ask;.*__vdso_clock_gettime' "$work/folded"
