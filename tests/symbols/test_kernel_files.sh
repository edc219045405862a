#!/bin/bash
# Names of kernel code from files: modules as they are and compressed, and an
# image by its build-id. KERNEL_MODULES: a folder of real modules to try,
# besides those of /lib/modules.
. "$TOP/tests/lib/check.sh"
cd "$work" || exit 1

# where the functions of a relocatable file land when it is loaded at BASE, as
# the kernel lays out executable sections (layout_sections() of
# kernel/module/main.c): "address name", from readelf alone
layout() { # FILE BASE
	{ readelf -SW "$1"; readelf -sW "$1"; } | perl -e 'no warnings "portable";
		my ($at, %start, %best) = hex $ARGV[0];
		while (<STDIN>) {
			if (/^\s*\[\s*(\d+)\] (\S*)\s+\S+\s+[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+) [0-9a-f]+\s+([A-Z]+)\s+\d+\s+\d+\s+(\d+)/) {
				my ($nr, $name, $size, $flags, $align) = ($1, $2, hex $3, $4, $5 || 1);
				next unless $flags =~ /A/ && $flags =~ /X/ && $name !~ /^\.init/;
				$at += ($align - $at % $align) % $align; # no division: it would go through a double
				$start{$nr} = $at;
				$at += $size;
			} elsif (/^\s*\d+: ([0-9a-f]+)\s+(\d+) FUNC\s+\S+\s+\S+\s+(\d+) (\S+)$/ && $2 && exists $start{$3}) {
				push @{$best{$start{$3} + hex $1}}, $4;
			}
		}
		printf "%x %s\n", $_, join "|", sort @{$best{$_}} for sort { $a <=> $b } keys %best' "$2"
}

base=ffffffffc0400000
# a recording with a sample at each function, in a module that lies at this path
record() { # PATH <layout
	cut -d' ' -f1 | perl -I"$TOP/tests/lib" -MRecording -e 'no warnings "portable";
		my $r = Recording->new(pipe => 1);
		$r->comm(7, 7, "job", 1);
		$r->mmap(-1, hex "ffffffff81000000", 0x1000000, hex "ffffffff81000000", "[kernel.kallsyms]_text", 0, mode => "kernel");
		$r->mmap(-1, hex $ARGV[0], 0x400000, 0, $ARGV[1], 0, mode => "kernel");
		my $time = 3;
		while (<STDIN>) { chomp; $r->sample(tid => [7, 7], time => $time++, ip => 1 + hex, mode => "kernel") }
		$r->round; $r->write("recording")' "$base" "$1"
}
# the names that come out are those of the layout, in its order
agree() { # LAYOUT
	collapse -q --samples recording | awk 'NF && $1 ~ /^[0-9a-f]+$/ { print $2 }' | sed 's/+0x.*//' >got
	paste -d' ' "$1" got | perl -ane 'my %ok = map { $_ => 1 } split /\|/, $F[1]; $n++; $ok{$F[2] // ""} or print and $bad++; END { print "$n functions\n"; exit($bad || !$n) }'
}

cat >driver.c <<'C'
#define IN(s) __attribute__((section(s), noinline, used))
__attribute__((noinline)) int driver_first(int x) { return x + 1; }
IN(".init.text") int driver_init(int x) { return x + 2; }
IN(".text.unlikely") int driver_cold(int x) { return x + 3; }
IN(".exit.text") int driver_exit(int x) { return driver_first(x) + 4; }
__attribute__((noinline, aligned(64))) int driver_last(int x) { return driver_cold(x) * 2; }
C
gcc -c -O1 -ffunction-sections -o driver.ko driver.c || exit 1
layout driver.ko $base >driver.want
check 'a module has functions in several sections' [ "$(wc -l <driver.want)" = 4 ]
record "$work/driver.ko" <driver.want
check 'B50 names of a module (.ko)' agree driver.want
for packed in 'xz xz --check=crc32' 'gz gzip' 'zst zstd -q'; do
	read -r suffix command <<<"$packed"
	command -v ${command%% *} >/dev/null || { skip "B50 names of a module (.ko.$suffix): no ${command%% *}"; continue; }
	$command -c <driver.ko >driver.ko.$suffix
	record "$work/driver.ko.$suffix" <driver.want
	check "B50 names of a module (.ko.$suffix)" agree driver.want
done
head -c 300 driver.ko.xz >cut.ko.xz
record "$work/cut.ko.xz" <driver.want
check 'a module that is cut off gives its own name' bash -c 'collapse -q --no-header recording | grep -q "^job;\[cut\]_\[k\] 4$"'

# the largest of real modules
found=0
for file in $(find ${KERNEL_MODULES:-/lib/modules} -name '*.ko*' -size +200k -printf "%s %p\n" | sort -rn | head -n 5 | cut -d" " -f2-); do
	found=1
	case $file in
	*.xz) xz -dc "$file" >plain ;;
	*.zst) zstd -qdc "$file" >plain ;;
	*.gz) gzip -dc "$file" >plain ;;
	*) cp "$file" plain ;;
	esac
	layout plain $base >real.want
	record "$file" <real.want
	check "B50 names of $(basename "$file"), $(wc -l <real.want) functions" agree real.want
done
[ $found = 1 ] || skip 'names of real modules: none in /lib/modules; KERNEL_MODULES names a folder of them'

# an image of another kernel, found by its build-id where the debug files are
id=00112233445566778899aabbccddeeff00112233
cat >image.c <<'C'
__attribute__((section(".text"))) int image_first(int x) { return x + 1; }
__attribute__((section(".text"), aligned(64))) int image_second(int x) { return x + 2; }
C
gcc -O1 -nostdlib -static -fno-pic -no-pie -fcf-protection=none -Wl,--build-id=0x$id -Wl,-Ttext=0xffffffff81000000 -Wl,-e,image_first -mcmodel=kernel -o image image.c 2>err || { skip "an image by its build-id: $(head -n 1 err)"; exit 0; }
mkdir -p debug/.build-id/${id:0:2}
cp image debug/.build-id/${id:0:2}/${id:2}.debug
record_image() { # BUILD-ID: of a kernel that lay 2 MB higher
	perl -I"$TOP/tests/lib" -MRecording -e 'no warnings "portable";
		my $r = Recording->new(pipe => 1);
		my $at = hex "ffffffff81200000";
		$r->comm(7, 7, "job", 1);
		$r->mmap2(-1, $at, 0x100000, $at, "[kernel.kallsyms]_text", 0, mode => "kernel", build_id => pack("H*", $ARGV[0]));
		$r->sample(tid => [7, 7], time => 3, ip => $at + 1, mode => "kernel");
		$r->sample(tid => [7, 7], time => 4, ip => $at + 65, mode => "kernel");
		$r->round; $r->write("recording")' "$1"
}
record_image $id
collapse -q --no-header --debug-dir "$work/debug" recording >got
check 'B49 an image by its build-id' grep -q 'job;image_first_\[k\] 1' got
check 'B49 moved to where that kernel lay' grep -q 'job;image_second_\[k\] 1' got
record_image ff112233445566778899aabbccddeeff00112233
collapse -q --no-header --debug-dir "$work/debug" recording >got
check 'B49 another build-id: no names' grep -q '^job;\[kernel\]_\[k\] 2' got
collapse --kallsyms <(sed 's/^[0-9a-f]*/0000000000000000/' /proc/kallsyms | head -n 100) --input-check recording >got 2>&1
check 'B49 why the kernel has no names: kptr_restrict is explained' grep -q 'kernel.kptr_restrict' got
