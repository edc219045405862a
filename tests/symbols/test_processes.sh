#!/bin/bash
# Names in recordings of real processes: linkers that shift addresses, files
# that are gone or replaced, other mount namespaces, the kernel, the vdso.
. "$TOP/tests/lib/check.sh"
cd "$work" || exit 1

if ! can_sample; then
	skip 'names of processes: perf events are not permitted here'
	exit 0
fi

cat >chain.c <<'C'
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
volatile unsigned long sum;
__attribute__((noinline)) void hot(int n) { for (int i = 0; i < n * 1000; i++) sum += i % 7; }
__attribute__((noinline)) void middle(int n) { hot(n); sum++; }
__attribute__((noinline)) void clocks(void) { struct timespec t; for (int i = 0; i < 3000; i++) clock_gettime(CLOCK_MONOTONIC, &t); }
__attribute__((noinline)) void calls(void) { for (int i = 0; i < 300; i++) getppid(); }
int main(int argc, char **argv)
{
	double until = argc > 1 ? atof(argv[1]) : 0.5;
	clock_t begin = clock();
	while ((double)(clock() - begin) / CLOCKS_PER_SEC < until) { middle(50); clocks(); calls(); }
	return 0;
}
C
flags='-g -O0 -fno-omit-frame-pointer -Wl,--build-id'

has() { grep -qE "$2" "$1" || { head -n 4 "$1" | cut -c1-300; false; }; }
lacks() { ! has "$1" "$2" >/dev/null; }

for how in '-fuse-ld=lld' '-fuse-ld=mold' '-fuse-ld=gold' '-no-pie' '-static' ''; do
	# shellcheck disable=SC2086
	gcc $flags $how -o chain chain.c 2>/dev/null || { skip "B46 B48 chain ($how): does not link here"; continue; }
	collect -q -F 997 --call-graph fp -o data -- ./chain >/dev/null 2>&1
	collapse data >folded 2>/dev/null
	check "B46 B48 names of a program (gcc $how)" has folded '^chain;.*main;middle;hot(_\[k\]|;| )'
done
check 'B55 the vdso has names' has folded ';__vdso_clock_gettime( |;|_)'
check 'kernel frames have names' has folded ';.*getppid_\[k\]|syscall_64_\[k\]|sys_getppid'

gcc $flags -o chain chain.c

# the file is gone, and another one is in its place, while the process lives
cp chain gone
./gone 60 & pid=$!
sleep 0.1
rm gone
printf '%s\n' 'int main(void) { return 0; }' | gcc -x c -o gone - -Wl,--build-id
collect -q -F 499 --call-graph fp --duration 0.4 -p $pid 2>/dev/null | collapse >folded 2>/dev/null
check 'B54 a replaced file: names while the process lives' has folded 'main;middle;hot'
collect -q -F 499 --call-graph fp --duration 0.4 -p $pid -o data >/dev/null 2>&1
kill $pid
wait $pid 2>/dev/null
collapse data >folded 2>/dev/null
check 'B54 a file with another build-id is refused' lacks folded ';hot'
check 'B54 and its frames carry the name of the module' has folded '\[gone\]'

# a file that only the process's own mount namespace has
mkdir inner
if unshare -m true 2>/dev/null; then
	cp chain chain.copy
	unshare -m sh -c 'mount -t tmpfs none inner && cp chain.copy inner/boxed && exec inner/boxed 60' &
	pid=$!
	sleep 0.4
	collect -q -F 499 --call-graph fp --duration 0.4 -p $pid 2>/dev/null | collapse >folded 2>/dev/null
	kill $pid
	wait $pid 2>/dev/null
	check 'a file of another mount namespace' has folded 'main;middle;hot'
else
	skip 'a file of another mount namespace: unshare is not permitted'
fi

# moved to another root
./chain 0.1
collect -q -F 997 --call-graph fp -o data -- ./chain >/dev/null 2>&1
mkdir -p "root$work"
mv chain "root$work/chain"
collapse data >folded 2>/dev/null
check 'a file that is not there any more: the module' has folded '\[chain\]'
collapse --symfs "$work/root" data >folded 2>/dev/null
check '--symfs finds it below another root' has folded 'main;middle;hot'

# lists of the kernel's symbols that are not those of the recorded boot
perl -pe 's/^ffffffff[89ab]\w*/sprintf "%x", hex($&) + 0x200000/e' /proc/kallsyms >shifted 2>/dev/null
collapse --no-header data >plain 2>/dev/null
collapse --no-header --kallsyms shifted data >folded 2>/dev/null
check 'B49 the list of another boot is moved to where the kernel lay' cmp plain folded
check 'B49 and it names the kernel' has folded '[a-z]_\[k\]'
sed 's/^[0-9a-f]*/0000000000000000/' /proc/kallsyms >zeros
collapse --kallsyms zeros data >folded 2>/dev/null
check 'B49 hidden addresses name nothing' has folded '\[kernel\]_\[k\]'
check 'B49 and no kernel function is guessed' lacks folded '[a-z]_\[k\]'
