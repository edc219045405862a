#!/bin/bash
# What a recording names is opened only as a regular ELF file.
. "$TOP/tests/lib/check.sh"
cd "$work" || exit 2
mkfifo fifo
ln -s loop loop
truncate -s 10G sparse
echo 'root:secret_of_root:1' >secret
for path in "$work/fifo" "$work/loop" "$work/sparse" "$work/secret" "$work" /etc/shadow /dev/zero /dev/tty /proc/self/mem /proc/kcore ../../etc/shadow; do
	perl -I"$TOP/tests/lib" -MRecording -we '
		my $r = Recording->new(pipe => 1);
		$r->comm(7, 7, "job", 1);
		$r->mmap2(7, 0x400000, 0x10000, 0, $ARGV[0], 2);
		$r->sample(tid => [7, 7], time => 3, ip => 0x400100, chain => ["user", 0x400200]);
		$r->round; $r->write("recording")' "$path"
	check "a mapping of ${path/#$work/.} gives no names, no wait, no memory" bash -c '
		(ulimit -t 5; timeout 60 collapse -q --no-header recording) >out 2>err
		rc=$?; [ $rc -le 1 ] && grep -q "^job;.* 1$" out && ! grep -qE "secret_of_root|root:" out err'
done

# a program for which the recording names a file, wherever that leads
gcc -x c -g -O0 -Wl,--build-id=none -o program - <<'C' || exit 1
__attribute__((noinline)) int secret_place(int x) { for (int i = 0; i < 1000; i++) x += i; return x; }
int main(void) { return secret_place(3); }
C
read -r vaddr <<<"$(nm program | awk '$3 == "secret_place" { print $1 }')"
record() { # PATH: a sample in secret_place of the file that is said to be there
	perl -I"$TOP/tests/lib" -MRecording -we '
		my $r = Recording->new(pipe => 1);
		$r->comm(7, 7, "job", 1);
		$r->mmap2(7, 0x400000, 0x10000, 0, $ARGV[0], 2);
		$r->sample(tid => [7, 7], time => 3, ip => 0x400000 + hex($ARGV[1]) + 4);
		$r->round; $r->write("recording")' "$1" "$vaddr"
}
mkdir -p root/dir outside root/same
cp program root/same/program
cp program outside/program
ln -s "$work/outside/program" root/dir/absolute
ln -s ../../outside/program root/dir/relative
ln -s ../outside root/out
ln -s /same/program root/dir/inside
mkfifo root/dir/fifo
# on this kernel, and as where there is no openat2
ln -s loop root/loop
ln -s "$(printf 'a/%.0s' {1..2000})" root/long
for before in '' "$BUILD/symbols/without_openat2"; do
	how=${before:+, path by path}
	named() { $before collapse -q --no-header "$@" recording | grep -q secret_place; }
	for path in /dir/absolute /dir/relative /out/program /../outside/program "/dir/../../outside/program" "$work/outside/program" /dir/fifo /loop /long /same/program/ /same/program/program; do
		record "$path"
		if named --symfs "$work/root"; then not_ok "--symfs is not left by ${path/#$work/.}$how"; else ok "--symfs is not left by ${path/#$work/.}$how"; fi
	done
	for path in /same/program /dir/inside /../same/program /dir/./../same//program; do
		record "$path"
		check "--symfs finds $path within$how" named --symfs "$work/root"
	done
done
named() { collapse -q --no-header "$@" recording | grep -q secret_place; }

# the debug file of a stripped program there
strip -o root/same/stripped program
objcopy --only-keep-debug program stripped.debug
objcopy --add-gnu-debuglink=stripped.debug root/same/stripped
record /same/stripped
not_named() { ! named "$@"; }
check 'a stripped program below --symfs has no names' not_named --symfs "$work/root"
check 'what it lacks is told' grep -q 'stripped: its debug symbols are not installed' <(collapse -q --input-check --symfs "$work/root" recording)
mkdir root/same/.debug
ln -s "$work/stripped.debug" root/same/.debug/stripped.debug
check 'a debug file beside it is none where a link leads out' not_named --symfs "$work/root"
mv root/same/.debug/stripped.debug link
cp stripped.debug root/same/.debug/
check 'a debug file beside it' named --symfs "$work/root"
mkdir -p root/usr/lib/debug/same
mv root/same/.debug/stripped.debug root/usr/lib/debug/same/
check 'a debug file in its own /usr/lib/debug' named --symfs "$work/root"

record "$work/outside/program"
check 'without --symfs the path is what it says' named

# the map of a JIT: only a regular file of the user, of root or of ours
perl -I"$TOP/tests/lib" -MRecording -we '
	my $r = Recording->new(pipe => 1);
	$r->comm(4194001, 4194001, "job", 1);
	$r->mmap2(4194001, 0x400000, 0x10000, 0, "//anon", 2);
	$r->sample(tid => [4194001, 4194001], time => 3, ip => 0x400100);
	$r->round; $r->write("recording")'
map=/tmp/perf-4194001.map
trap 'rm -rf "$work" "$map"' EXIT
in_map() { timeout 60 collapse -q --no-header recording | grep -q compiled_code; }
rm -rf "$map"
printf '400000 1000 compiled_code\n' >map
cp map "$map"
check 'B53 the map of a JIT names its code' in_map
if [ "$(id -u)" = 0 ]; then
	chown nobody "$map"
	if in_map; then not_ok 'a map of another user is refused'; else ok 'a map of another user is refused'; fi
	collapse -q --input-check recording >check.out 2>&1
	check 'a map of another user is refused, and told' grep -q 'belongs to another user' check.out
else
	skip 'a map of another user is refused: only root can make one'
fi
for kind in link fifo folder device; do
	rm -rf "$map"
	case $kind in
	link) ln -s "$work/map" "$map" ;;
	fifo) mkfifo "$map" ;;
	folder) mkdir "$map" ;;
	device) ln -s /dev/zero "$map" ;;
	esac
	collapse -q --no-header recording >out 2>err &
	pid=$!
	for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 $pid 2>/dev/null && sleep 0.3; done
	if kill $pid 2>/dev/null; then
		not_ok "a map that is a $kind is not waited for"
	elif grep -q compiled_code out; then
		not_ok "a map that is a $kind names nothing"
	else
		ok "a map that is a $kind names nothing"
	fi
done
