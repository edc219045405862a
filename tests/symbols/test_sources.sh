#!/bin/bash
# The same answers from wherever the information is: in the file, compressed,
# in a separate file, shared between files, embedded, split and packed. And no
# answer from a file that is not the right one.
. "$TOP/tests/lib/check.sh"
names_at=$BUILD/symbols/names_at
source=$TOP/tests/symbols/program.cc
cd "$work" || exit 1

pcs() {
	objdump -h "$1" | awk '$2 ~ /^\.text/ { print $4, $3 }' |
		perl -ne '($a, $s) = split; for ($i = 0; $i < hex($s); $i += 3) { printf "%x\n", hex($a) + $i }'
}
names() { "$names_at" -D "$work/debug" "$@" <pcs; }
# the module's own name, where nothing is known, is that of the file
plain() { sed -E 's/\[[a-z0-9.-]+\]/[module]/g'; }

same() { # NAME FILE: as the reference
	names -l "$2" 2>err | plain >got
	if cmp -s want got; then
		ok "$1"
	else
		not_ok "$1" "$(cat err)" "$(/usr/bin/diff want got | head -n 6)"
	fi
}
lacks() { # NAME FILE PATTERN
	names "$2" >got
	if [ "$(wc -l <got)" != "$(wc -l <pcs)" ] || grep -q "$3" got; then
		not_ok "$1" "has $3"
	else
		ok "$1"
	fi
}
has() { # NAME FILE PATTERN
	names "$2" >got
	if grep -q "$3" got; then ok "$1"; else not_ok "$1" "has no $3"; fi
}

g++ -w -g -O2 -Wl,--build-id -o whole "$source" || exit 1
pcs whole >pcs
names -l whole | plain >want
check 'the reference has inlined functions' grep -q 'innermost.* < .*middle' want

for method in zlib zlib-gnu zstd; do
	if objcopy --compress-debug-sections=$method whole "packed-$method" 2>/dev/null; then
		same "B56 sections compressed by $method" "packed-$method"
	else
		skip "B56 sections compressed by $method: objcopy has it not"
	fi
done

# a separate file, by name and CRC
objcopy --only-keep-debug whole app.debug
strip -o app whole
objcopy --remove-section .note.gnu.build-id app
objcopy --remove-section .note.gnu.build-id app.debug
objcopy --add-gnu-debuglink=app.debug app
same 'B56 debuglink beside the program' app
mkdir .debug && mv app.debug .debug/
same 'B56 debuglink in .debug' app
mkdir -p "debug$work" && mv .debug/app.debug "debug$work/"
same 'B56 debuglink below the debug folder' app
printf x >>"debug$work/app.debug"
lacks 'B56 a debuglink whose CRC differs is refused' app innermost
rm -r debug

# by build-id
strip -o byid whole
id=$(readelf -n whole | sed -n 's/.*Build ID: //p')
mkdir -p "debug/.build-id/${id:0:2}"
objcopy --only-keep-debug whole "debug/.build-id/${id:0:2}/${id:2}.debug"
same 'B56 a debug file by build-id' byid
g++ -w -g -O1 -Wl,--build-id -o other "$source"
objcopy --only-keep-debug other "debug/.build-id/${id:0:2}/${id:2}.debug"
lacks 'B56 a debug file of another build-id is refused' byid innermost
rm -r debug

# xz-compressed symbols inside of the stripped program
strip -o mini whole
nm whole | awk '$2 ~ /[tT]/ { print $3 }' | sort -u >keep
objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols=keep whole mini.symbols
if xz mini.symbols; then
	objcopy --add-section .gnu_debugdata=mini.symbols.xz mini
	has 'B56 .gnu_debugdata names local functions' mini '^middle(int)$'
	strip -o bare whole
	lacks 'without it they have none' bare '^middle(int)$'
fi
has 'B28 versions of dynamic symbols are stripped' whole '^main'
lacks 'B28 no version is left' whole '@@'

# one file shared by two (dwz)
if command -v dwz >/dev/null; then
	cp whole first
	sed 's/middle/centre/g' "$source" >second.cc
	g++ -w -g -O2 -Wl,--build-id -o second second.cc
	if dwz -m shared.dwz first second 2>err && readelf -S first | grep -q gnu_debugaltlink; then
		same 'B56 a shared file (dwz)' first
		mv shared.dwz hidden
		cp second shared.dwz
		names first >/dev/null && ok 'B56 a wrong shared file does no harm'
	else
		skip "B56 a shared file (dwz): $(head -n 1 err)"
	fi
else
	skip 'B56 a shared file (dwz): no dwz'
fi

# split files, as they are and packed
split() { # VERSION COMPILER PACKER...
	local version=$1 compiler=$2
	shift 2
	mkdir "split$version"
	(cd "split$version" && $compiler -w -gdwarf-$version -O2 -gsplit-dwarf -o whole "$source" &&
		$compiler -w -gdwarf-$version -O2 -o reference "$source") || return
	pcs split$version/reference >pcs
	names -l split$version/reference | plain >want
	same "B56 split, DWARF $version" split$version/whole
	# packers have been seen to loop
	if (cd split$version && timeout 10 "$@" -e whole -o whole.dwp 2>/dev/null); then
		rm -f split$version/*.dwo
		same "B56 split and packed, DWARF $version" split$version/whole
	else
		skip "B56 split and packed, DWARF $version: $1 fails"
	fi
	rm -f split$version/*.dw[op]
	lacks "B56 without its split files, DWARF $version: no inlined functions" split$version/whole ' < '
}
split 4 g++ dwp
split 5 clang++ llvm-dwp

# stubs: the linker's, of functions of libraries and of an IFUNC of the program itself
cat >stubs.c <<'C'
#include <stdio.h>
#include <stdlib.h>
static int one(int x) { return x + 1; }
static int (*choose(void))(int) { return one; }
int chosen(int) __attribute__((ifunc("choose")));
int main(void) { puts("x"); free(malloc(3)); return chosen(2); }
C
stubs() { # PREFIX OPTIONS...: of a compiler and its objdump
	local prefix=$1 what
	shift
	what="stubs are name@plt ($prefix$*)"
	command -v "${prefix}gcc" >/dev/null || { skip "$what: no ${prefix}gcc"; return; }
	"${prefix}gcc" -w -O0 "$@" -o stubs stubs.c 2>/dev/null || { skip "$what: does not link"; return; }
	"${prefix}objdump" -d --no-show-raw-insn -j .plt -j .plt.sec -j .plt.got -j .iplt stubs 2>/dev/null |
		sed -nE 's/^0*([0-9a-f]*) <(puts|free|malloc|\*ABS\*[^@]*)[@$]plt>:$/\1 \2@plt/p' | sed 's/ [*].*@/ chosen@/' | sort -k2 >stubs.want
	cut -d' ' -f1 stubs.want >pcs
	[ "$(wc -l <pcs)" -ge 3 ] || { skip "$what: objdump sees other stubs"; return; }
	names stubs | paste -d' ' pcs - >stubs.got
	if cmp -s stubs.want stubs.got; then ok "$what"; else not_ok "$what" "$(/usr/bin/diff stubs.want stubs.got)"; fi
}
for options in '' '-fcf-protection=none' '-Wl,-z,ibtplt' '-fuse-ld=lld' '-fuse-ld=mold' '-fuse-ld=gold' '-Wl,-z,now' '-no-pie' '-m32' '-m32 -no-pie'; do
	stubs '' $options
done
for options in '' '-mbranch-protection=standard -Wl,-z,force-bti' '-mbranch-protection=pac-ret -Wl,-z,pac-plt'; do
	stubs aarch64-linux-gnu- $options
done
if gcc -w -O0 -fuse-ld=mold -o stubs stubs.c 2>/dev/null; then
	nm stubs | sed -n 's/^0*\([0-9a-f]*\) . \(.*\)[$]plt$/\1 \2@plt/p' | sort -k2 >stubs.want
	strip stubs
	cut -d' ' -f1 stubs.want >pcs
	check "stubs are name@plt without mold's symbols too" cmp -s stubs.want <(names stubs | paste -d' ' pcs -)
fi
if gcc -w -O0 -static -o stubs stubs.c 2>/dev/null; then
	objdump -d --no-show-raw-insn -j .plt stubs | sed -n 's/^ *\([0-9a-f]*\):.*jmp .*/\1/p' >pcs
	names stubs | sort >stubs.got
	check 'stubs of a static program: each has a name' [ "$(wc -l <pcs)" = "$(grep -c '@plt$' stubs.got)" ]
	check 'and they are those of its IFUNCs' [ "$(grep -cxE '(chosen|strlen|memset)@plt' stubs.got)" = 3 ]
fi

# a file that becomes shorter while it is read: that module alone loses its names
if [ "$MODE" = sanitize ]; then
	skip "a file cut while it is mapped: stdbuf and the sanitizer both want to be loaded first"
else
	shrink() { # NEW SIZE: sets first, later and status
		g++ -w -g -O2 -Wl,--build-id -o shrinking "$source"
		# its last page is not full
		truncate -s $((($(stat -c %s shrinking) | 4095) + 2000)) shrinking
		pcs shrinking >pcs
		at=$(nm shrinking | awk '$3 == "main" { print $1 }')
		coproc asked { stdbuf -oL "$names_at" -i -l shrinking 2>&1; }
		asked_pid=$!
		echo "$at" >&"${asked[1]}"
		read -r -t 20 first <&"${asked[0]}"
		truncate -s "$1" shrinking
		cat pcs >&"${asked[1]}"
		exec {out}<&"${asked[0]}"
		eval "exec ${asked[1]}>&-"
		later=$(sort -u <&$out)
		wait $asked_pid
		status=$?
	}
	shrink 1000
	check 'a file cut while it is mapped: names until then' [ "${first%% *}" = main ]
	check 'a file cut while it is mapped: then the module, and the run goes on' [ "$status $later" = "0 [shrinking]
files that became shorter: 1" ]
	shrink -100
	check 'a file cut within its last page is told' grep -qx 'files that became shorter: 1' <<<"$later"
fi

# a server, here a folder: asked only where it was wanted
if can_sample; then
	g++ -w -g -O0 -Wl,--build-id -o served "$source"
	id=$(readelf -n served | sed -n 's/.*Build ID: //p')
	mkdir -p "server/buildid/$id"
	objcopy --only-keep-debug served "server/buildid/$id/debuginfo"
	strip -s served
	cat >spin.sh <<'SH'
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do ./served 1 2 3 4 5 6 7 8 >/dev/null; done
SH
	collect -q -F 4999 --call-graph fp -o served.data -- sh spin.sh >/dev/null 2>&1
	export DEBUGINFOD_CACHE_PATH=$work/cache
	if ldconfig -p | grep -q libdebuginfod.so.1; then
		# what the library keeps to its end has no owner once it is unloaded
		export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
		DEBUGINFOD_URLS="file://$work/server" collapse --debuginfod=0 served.data >folded 2>/dev/null
		if grep -q 'middle' folded; then not_ok 'debuginfod: not asked with 0 seconds'; else ok 'debuginfod: not asked with 0 seconds'; fi
		DEBUGINFOD_URLS="file://$work/server" collapse --debuginfod served.data >folded 2>err
		check 'debuginfod: names from a server' grep -q 'served;.*main;.*middle' folded

		# by HTTP: the program with the most samples first, and an end to waiting
		cat >server.pl <<'PL'
use strict;
use warnings;
use IO::Socket::INET;
my $slow = shift;
my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 5, ReuseAddr => 1) or die;
open my $port, '>', 'port.new' or die;
print $port $server->sockport;
close $port;
rename 'port.new', 'port';
while (my $client = $server->accept) {
	next if fork;
	my ($path) = <$client> =~ m{^GET /(buildid/[0-9a-f]+/\w+) };
	while (<$client> =~ /\S/) { }
	open my $log, '>>', 'asked';
	syswrite $log, "$path\n";
	sleep 12 if $slow && $path =~ /$slow/;
	if (open my $file, '<', "server/$path") {
		local $/;
		my $all = <$file>;
		print $client "HTTP/1.1 200 OK\r\nContent-Length: ", length $all, "\r\nConnection: close\r\n\r\n$all";
	} else {
		print $client "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
	}
	exit;
}
PL
		serve() { # PATTERN OF SLOW IDS
			rm -rf port asked cache
			timeout 60 perl server.pl "$1" 2>/dev/null &
			server=$!
			for _ in 1 2 3 4 5 6 7 8 9 10; do [ -f port ] && break; sleep 0.1; done
			export DEBUGINFOD_URLS=http://127.0.0.1:$(cat port)
		}
		g++ -w -g -O0 -Wl,--build-id=0x1234567890123456789012345678901234567890 -o colder "$source"
		mkdir -p server/buildid/1234567890123456789012345678901234567890
		objcopy --only-keep-debug colder server/buildid/1234567890123456789012345678901234567890/debuginfo
		strip -s colder
		sed 's/.*/.\/colder 1 2 3 >\/dev\/null; .\/colder 1 2 3 >\/dev\/null; &/' spin.sh >both.sh
		collect -q -F 4999 --call-graph fp -o both.data -- sh both.sh >/dev/null 2>&1
		serve ''
		collapse --debuginfod both.data >folded 2>err
		kill $server
		check 'debuginfod: names by HTTP' grep -q 'served;.*main;.*middle' folded
		check 'debuginfod: it says what it waits for' grep -q "asking a debuginfod server for '.*/served'" err
		check 'debuginfod: the hottest module is asked for first' [ "$(grep -nm1 "$id/debuginfo" asked | cut -d: -f1)" -lt "$(grep -nm1 1234567890 asked | cut -d: -f1)" ]
		serve "$id"
		SECONDS=0
		collapse --debuginfod=2 both.data >folded 2>err
		check 'debuginfod: a server that does not answer is left in time' [ $SECONDS -lt 10 ]
		kill $server
		check 'debuginfod: and what was not got is told' grep -q 'files were not got from debuginfod servers in the time' err
		check 'debuginfod: its frames have the name of the module' grep -q 'served;.*\[served\]' folded
	else
		skip 'debuginfod: no libdebuginfod'
	fi
else
	skip 'debuginfod: perf events are not permitted here'
fi
