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
		(ulimit -t 5; timeout 10 collapse -q --no-header recording) >out 2>err
		rc=$?; [ $rc -le 1 ] && grep -q "^job;.* 1$" out && ! grep -qE "secret_of_root|root:" out err'
done
