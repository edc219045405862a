#!/bin/bash
# Recordings written by hand (tests/lib/Recording.pm): what each record and
# each field does to the stacks. Names carry the numbers of known faults.
. "$TOP/tests/lib/check.sh"

# make FILE PERL: a recording $r, written to FILE; $big and $pipe as in the environment
make_recording() {
	perl -I "$TOP/tests/lib" -MRecording -e "my \$r; $2; \$r->write('$1');" ||
		echo "cannot make $1" >&2
}

fold() { collapse --no-symbols --no-header --no-annotate "$@"; }

# folds NAME PERL [OPTION]... <<<EXPECTED: in both byte orders and both modes
folds() {
	local name=$1 perl=$2 expected big pipe
	shift 2
	expected=$(cat)
	for big in 0 1; do
		for pipe in 0 1; do
			make_recording "$work/r" "my %o = (big => $big, pipe => $pipe); $perl"
			fold "$@" "$work/r" >"$work/got" 2>"$work/err"
			[ "$(cat "$work/got")" = "$expected" ] && continue
			not_ok "$name" "big=$big pipe=$pipe: $(head -n 3 "$work/err")" \
				"$(/usr/bin/diff <(echo "$expected") "$work/got" | head -n 8)"
			return
		done
	done
	ok "$name"
}

A="\$r->mmap(10, 0x1000, 0x4000, 0, '/bin/a', 1);"
task="\$r->comm(10, 10, 'app', 1, exec => 1); $A"
new='$r = Recording->new(%o);'

folds "a sample with its chain; return addresses belong to the call before" "$new $task
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 5,
		chain => ['user', 0x1100, 0x1200, 0x1300])" \
	<<<'app;a+0x300;a+0x200;a+0x100 1'
folds "B70 the kernel's part stands above the user's" "$new $task
	\$r->sample(ip => 0xffffffff81000100, tid => [10, 10], time => 5, mode => 'kernel', chain =>
		['kernel', 0xffffffff81000100, 0xffffffff81000200, 'user', 0x1100, 0x1200])" \
	<<<'app;a+0x200;a+0x100;[kernel.kallsyms]+0xffffffff81000200;[kernel.kallsyms]+0xffffffff81000100 1'
folds "no chain: the sampled address alone" "
	\$r = Recording->new(%o, sample_type => 'IP TID TIME'); $task
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 5)" <<<'app;a+0x100 1'
folds "a sample that does not say where it ran is one of the user's" "$new $task
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 5, mode => 'unknown', chain => [0x1100, 0x1200]);
	\$r->sample(ip => 0x1300, tid => [10, 10], time => 6, mode => 'unknown')" <<-'END'
	app;a+0x200;a+0x100 1
	app;a+0x300 1
	END
folds "hypervisor and guests, with chains and without" "$new $task
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 5, mode => \$_, chain => [0x1100])
		for 'hypervisor', 'guest_user';
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 6, mode => 'guest_kernel', chain =>
		['guest_kernel', 0x1100, 'guest_user', 0x1200]);
	\$r->sample(ip => 0xffffffff81000100, tid => [10, 10], time => 6, mode => 'kernel', chain =>
		['hypervisor', 0x77, 'kernel', 0xffffffff81000100, 'user', 0x1100]);
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 7, mode => 'guest_user', chain => ['guest', 0x1200])" <<-'END'
	app;[guest user] 1
	app;[guest user];[guest kernel] 1
	app;[guest] 1
	app;[hypervisor] 1
	app;a+0x100;[kernel.kallsyms]+0xffffffff81000100;[hypervisor] 1
	END
folds "rubbish in the user's part that looks like a marker is none" "$new $task
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 5, chain => ['user', 0x1100, 'hypervisor', 0x1200]);
	\$r->sample(ip => 0x1300, tid => [10, 10], time => 6, chain => ['user', 0x1300, '18446744073709551600'])" <<-'END'
	app;a+0x200;a+0x100 1
	app;a+0x300 1
	END
folds "B17 no frames at all" "$new $task
	\$r->sample(tid => [10, 10], time => 5)" <<<'app;[no stack] 1'
folds "B50 guests are kept apart" "$new $task
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 5, mode => 'guest_kernel',
		chain => ['guest_kernel', 0xffffffff81000100])" <<<'app;[guest kernel] 1'
folds "B38 a chain as long as the limit has lost its root" "
	\$r = Recording->new(%o, no_event => 1);
	\$r->event(ids => [1], max_stack => 3); $task
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 5, chain => ['user', 0x1100, 0x1200, 0x1300])" \
	<<<'app;[truncated];a+0x300;a+0x200;a+0x100 1'

folds "user chains that come in a record of their own" "$new $task
	\$r->sample(ip => 0xffffffff81000100, tid => [10, 10], time => \$_, mode => 'kernel', chain =>
		['kernel', 0xffffffff81000100, 'deferred', 77]) for 5, 6;
	\$r->sample(ip => 0xffffffff81000200, tid => [10, 10], time => 7, mode => 'kernel', chain =>
		['kernel', 0xffffffff81000200, 'deferred', 78]);
	\$r->deferred(77, ['user', 0x1100, 0x1200], 8);" <<-'END'
	app;[kernel.kallsyms]+0xffffffff81000200 1
	app;a+0x200;a+0x100;[kernel.kallsyms]+0xffffffff81000100 2
	END

# ---- processes and maps ----
folds "B51 a fork inherits maps and name; exec drops both; the id is used again" "$new
	\$r->comm(10, 10, 'a', 1); $A
	\$r->fork(11, 10, 11, 10, 2);
	\$r->sample(ip => 0x1100, tid => [11, 11], time => 3, chain => ['user', 0x1100]);
	\$r->comm(11, 11, 'b', 4, exec => 1);
	\$r->mmap(11, 0x1000, 0x1000, 0, '/bin/b', 4);
	\$r->sample(ip => 0x1100, tid => [11, 11], time => 5, chain => ['user', 0x1100]);
	\$r->sample(ip => 0x2100, tid => [11, 11], time => 5, chain => ['user', 0x2100]);
	\$r->exit(11, 11, 6);
	\$r->fork(11, 10, 11, 10, 7);
	\$r->sample(ip => 0x1100, tid => [11, 11], time => 8, chain => ['user', 0x1100]);" <<-'END'
	a;a+0x100 2
	b;[unknown] 1
	b;b+0x100 1
	END
folds "B52 maps over maps at time 0, in the order of the stream" "$new
	\$r->comm(10, 10, 'app', 0);
	\$r->mmap(10, 0x1000, 0x4000, 0, '/bin/a', 0);
	\$r->mmap(10, 0x2000, 0x1000, 0, '/bin/b', 0);
	\$r->sample(ip => \$_, tid => [10, 10], time => 3, chain => ['user', \$_])
		for 0x1800, 0x2800, 0x4800;" <<-'END'
	app;a+0x3800 1
	app;a+0x800 1
	app;b+0x800 1
	END
folds "B52 rounds out of order by a nanosecond" "$new
	\$r->comm(10, 10, 'app', 1); $A
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 21, chain => ['user', 0x1100]);
	\$r->round;
	\$r->mmap(10, 0x1000, 0x4000, 0, '/bin/b', 20);
	\$r->sample(ip => 0x1200, tid => [10, 10], time => 19, chain => ['user', 0x1200]);
	\$r->round;
	\$r->round;" <<-'END'
	app;a+0x200 1
	app;b+0x100 1
	END
folds "a task that ends is sampled behind the record of it, while it gives up its memory" "$new $task
	\$r->exit(10, 10, 2);
	\$r->sample(ip => 0xffffffff81000100, tid => [10, 10], time => 3, mode => 'kernel', chain =>
		['kernel', 0xffffffff81000100, 'user', 0x1200]);
	for my \$pid (100 .. 400) { \$r->comm(\$pid, \$pid, 'x', 4); \$r->mmap(\$pid, 0x1000, 0x4000, 0, '/bin/x', 4); \$r->exit(\$pid, \$pid, 5) }
	\$r->sample(ip => 0x1100, tid => [\$_, \$_], time => 6, chain => ['user', 0x1100]) for 10, 100, 400;
	\$r->fork(200, 1, 200, 1, 7); \$r->mmap(200, 0x1000, 0x4000, 0, '/bin/y', 7);
	\$r->comm(\$_, \$_, 'x', 8), \$r->exit(\$_, \$_, 8) for 401 .. 700;
	\$r->sample(ip => 0x1100, tid => [200, 200], time => 9, chain => ['user', 0x1100]);" <<-'END'
	app;[unknown] 1
	app;a+0x200;[kernel.kallsyms]+0xffffffff81000100 1
	x;[unknown] 1
	x;x+0x100 1
	x;y+0x100 1
	END
folds "a process that begins while /proc is read: its threads are told of twice, and one of them ends" "$new
	\$r->comm(1, 1, 'init', 0); \$r->fork(11, 1, 11, 1, 0, misc => 0x2000); \$r->comm(11, 11, 'a', 0);
	\$r->fork(11, 11, \$_, 11, 0) for 12, 13;
	\$r->fork(11, 1, 11, 1, 2); \$r->comm(11, 11, 'a', 3, exec => 1); \$r->mmap(11, 0x1000, 0x4000, 0, '/bin/a', 3);
	\$r->fork(11, 11, 12, 11, 4); \$r->fork(11, 11, 13, 11, 4);
	\$r->exit(11, 12, 5);
	\$r->sample(ip => 0x1100, tid => [11, \$_], time => 6, chain => ['user', 0x1100]) for 11, 13;
	\$r->exit(11, 11, 7);
	\$r->sample(ip => 0x1100, tid => [11, 13], time => 8, chain => ['user', 0x1100])" <<<'a;a+0x100 3'
folds "a thread that nothing told of lives longer than those that are known" "$new
	\$r->comm(11, 11, 'a', 1); \$r->mmap(11, 0x1000, 0x4000, 0, '/bin/a', 1);
	\$r->fork(11, 11, 12, 11, 2); \$r->fork(11, 1, 11, 1, 3, misc => 0); \$r->mmap(11, 0x1000, 0x4000, 0, '/bin/a', 3);
	\$r->fork(11, 11, 12, 11, 4); \$r->exit(11, 12, 5);
	\$r->sample(ip => 0x1100, tid => [11, 14], time => 6, chain => ['user', 0x1100])" <<<'a;a+0x100 1'
folds "the name of the moment" "$new \$r->comm(10, 10, 'one', 1); $A
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 5, chain => ['user', 0x1100]);
	\$r->comm(10, 10, 'two', 6);
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 7, chain => ['user', 0x1100]);" <<-'END'
	one;a+0x100 1
	two;a+0x100 1
	END
folds "a thread without a name has its leader's" "$new $task
	\$r->sample(ip => 0x1100, tid => [10, 15], time => 5, chain => ['user', 0x1100])" \
	<<<'app;a+0x100 1'
folds "nobody ever named it" "$new
	\$r->sample(ip => 0x1100, tid => [77, 77], time => 5, chain => ['user', 0x1100])" \
	<<<':77;[unknown] 1'
folds "a fork made up from /proc inherits no maps" "$new $task
	\$r->fork(11, 10, 11, 10, 2, misc => 0x2000);
	\$r->sample(ip => 0x1100, tid => [11, 11], time => 5, chain => ['user', 0x1100])" \
	<<<'app;[unknown] 1'
folds "B50 kernel modules, whatever their protection, and BPF programs" "$new
	\$r->comm(10, 10, 'app', 1);
	\$r->mmap(-1, 0xffffffff81000000, 0x1000000, 0xffffffff81000000, '[kernel.kallsyms]_text', 0, mode => 'kernel');
	\$r->mmap2(-1, 0xffffffffc0000000, 0x1000, 0, '/lib/modules/k/m.ko', 0, mode => 'kernel', prot => 0);
	\$r->ksymbol(0xffffffffc0100000, 0x100, 'bpf_prog_1234_f', 2);
	\$r->sample(ip => \$_, tid => [10, 10], time => 5, mode => 'kernel', chain => ['kernel', \$_])
		for 0xffffffff81000100, 0xffffffffc0000010, 0xffffffffc0100010;
	\$r->ksymbol(0xffffffffc0100000, 0x100, 'bpf_prog_1234_f', 6, gone => 1);
	\$r->sample(ip => 0xffffffffc0100010, tid => [10, 10], time => 7, mode => 'kernel',
		chain => ['kernel', 0xffffffffc0100010]);" <<-'END'
	app;[kernel.kallsyms]+0xffffffff81000100 1
	app;[kernel.kallsyms]+0xffffffffc0100010 1
	app;bpf_prog_1234_f 1
	app;m.ko+0xffffffffc0000010 1
	END

# ---- layouts ----
folds "every field of a sample" "
	\$r = Recording->new(%o, regs_intr => 3, branch => 1 << 17 | 1 << 19, read_format => 0x1f,
		sample_type => 'IDENTIFIER IP TID TIME ADDR ID STREAM_ID CPU PERIOD READ CALLCHAIN RAW ' .
			'BRANCH_STACK REGS_USER STACK_USER WEIGHT DATA_SRC TRANSACTION REGS_INTR ' .
			'PHYS_ADDR CGROUP DATA_PAGE_SIZE CODE_PAGE_SIZE AUX', regs => 7);
	\$r->comm(10, 10, 'app', 1); $A
	\$r->cgroup(33, '/box', 2);
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 5, read => [1, 8, 9, 4, 1, 0],
		chain => ['user', 0x1100, 0x1200], branches => [[1, 2], [3, 4]], regs => [1, 2, 3],
		stack => 'x' x 16, cgroup => 33, cpu => 2)" --by cgroup --by cpu --by tid \
	<<<'/box;cpu 2;tid 10;a+0x200;a+0x100 1'
folds "B60 lost counts in the read format" "
	\$r = Recording->new(%o, sample_type => 'IP TID TIME READ CALLCHAIN', read_format => 0x14); $task
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 5, read => [7, 1, 99],
		chain => ['user', 0x1100, 0x1200])" <<<'app;a+0x200;a+0x100 1'
for size in 64 72 80 96 104 112 120 128 136 200; do
	folds "attributes of $size bytes" "\$r = Recording->new(%o, attr_size => $size); $task
		\$r->sample(ip => 0x1100, tid => [10, 10], time => 5, chain => ['user', 0x1100])" \
		<<<'app;a+0x100 1'
done
folds "records without sample_id_all" "\$r = Recording->new(%o, id_all => 0); $task
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 5, chain => ['user', 0x1100])" \
	<<<'app;a+0x100 1'
folds "branches that are a call stack stand for the user's part" "
	\$r = Recording->new(%o, sample_type => 'IP TID TIME CALLCHAIN BRANCH_STACK', branch => 1 << 11);
	$task
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 5, chain => ['user', 0x1100, 0x1999],
		branches => [[0x1210, 0x1100], [0x1310, 0x1200]])" <<<'app;a+0x310;a+0x210;a+0x100 1'

# ---- events ----
two="\$r = Recording->new(%o, no_event => 1, sample_type => 'IDENTIFIER IP TID TIME PERIOD');
	\$r->event(type => 0, config => 1, ids => [7, 8]);
	\$r->event(type => 1, config => 2, ids => [3]); $task
	\$r->sample(id => 3, ip => 0x1300, tid => [10, 10], time => 5);
	\$r->sample(id => 8, ip => 0x1800, tid => [10, 10], time => 6, period => 100);
	\$r->sample(id => 7, ip => 0x1700, tid => [10, 10], time => 7, period => 50);"
folds "B65 samples find their event by id; B11 unlike events are not added up" "$two" <<-'END'
	app;a+0x700 1
	app;a+0x800 1
	END
folds "a sample with id 0 is one of the first event, as perf has it" "$two
	\$r->sample(id => 0, ip => 0x1900, tid => [10, 10], time => 8);" <<-'END'
	app;a+0x700 1
	app;a+0x800 1
	app;a+0x900 1
	END
# Android: ids that come later, each for the samples behind it; names of events
folds "simpleperf's ids of recordings that were merged" "$two
	\$r->record(32774, 0, \$r->u64(2, 0, 20, 1, 7));
	\$r->sample(id => 20, ip => 0x1400, tid => [10, 10], time => 8);
	\$r->sample(id => 7, ip => 0x1500, tid => [10, 10], time => 9);
	\$r->record(32774, 0, \$r->u64(1, 0, 7));
	\$r->sample(id => 7, ip => 0x1600, tid => [10, 10], time => 10);" --all-events <<-'END'
	instructions;app;a+0x400 1
	instructions;app;a+0x600 1
	instructions;app;a+0x700 1
	instructions;app;a+0x800 1
	page-faults;app;a+0x300 1
	page-faults;app;a+0x500 1
	END
folds "simpleperf's names of events, where perf has none" "
	\$r = Recording->new(%o, no_event => 1, sample_type => 'IDENTIFIER IP TID TIME PERIOD');
	\$r->event(type => 2, config => 63, ids => [7]); \$r->event(type => 0, config => 0, ids => [8]); $task
	\$r->feature(129, qq{simpleperf_version\\0001.2\\000event_type_info\\000cpu-cycles,0,0\nx:y,2,6\nsched:a_b,2,63\\000});
	\$r->sample(id => 7, ip => 0x1300, tid => [10, 10], time => 5);
	\$r->sample(id => 8, ip => 0x1400, tid => [10, 10], time => 5);" --all-events <<-'END'
	cycles;app;a+0x400 1
	sched:a_b;app;a+0x300 1
	END

folds "--event picks one" "$two" --event page-faults <<<'app;a+0x300 1'
folds "--all-events: each below its name" "$two" --all-events <<-'END'
	instructions;app;a+0x700 1
	instructions;app;a+0x800 1
	page-faults;app;a+0x300 1
	END
folds "B13 --count period" "$two" --count period <<-'END'
	app;a+0x700 50
	app;a+0x800 100
	END
make_recording "$work/two" "my %o = (pipe => 1); $two"
expect "an event that is not there" 2 "no event 'cylces' in .*: instructions, page-faults" \
	fold --event cylces "$work/two"
expect "what was left out is said" 0 "samples of other events are left out: 1 of 'page-faults'" fold "$work/two"
# the first event never happened, or later than the others
second="\$r = Recording->new(%o, no_event => 1, sample_type => 'IDENTIFIER IP TID TIME PERIOD');
	\$r->event(type => 1, config => 7, ids => [1]);
	\$r->event(type => 1, config => 2, ids => [2]);
	\$r->event(type => 1, config => 0, ids => [3], freq => 1, period => 1000); $task
	\$r->sample(id => 3, ip => 0x1300, tid => [10, 10], time => 5, period => 7000);
	\$r->sample(id => 2, ip => 0x1200, tid => [10, 10], time => 6, period => 4);
	\$r->sample(id => 3, ip => 0x1300, tid => [10, 10], time => 7, period => 7000);"
folds "an event without samples gives way to the next in the list" "$second" <<<'app;a+0x200 1'
folds "and so with --count period" "$second" --count period <<<'app;a+0x200 4'
make_recording "$work/r" "my %o = (pipe => 0); $second"
expect "and with --count time, which it does not tell" 2 "'page-faults' was recorded without a frequency" \
	fold --count time "$work/r"
expect "and with --samples" 0 "'page-faults' is folded: the first event of '.*' has no samples" \
	fold --samples "$work/r"
check "which prints it alone" test "$(grep -c page-faults "$work/.out") $(grep -c cpu-clock "$work/.out")" = '1 0'
late="${second/ids => \[1\]/ids => [1], freq => 1, period => 1000}
	\$r->sample(id => 1, ip => 0x1100, tid => [10, 10], time => 8, period => 9);"
folds "--count period: the first event counts, however late" "$late" --count period <<<'app;a+0x100 9'
folds "--count time: what others do not tell is no fault then" "$late" --count time <<<'app;a+0x100 1000'
folds "what another event counted is taken back, without CPUs too" "$late" <<<'app;a+0x100 1'
hybrid="\$r = Recording->new(%o, no_event => 1, sample_type => 'IDENTIFIER IP TID TIME');
	\$r->event(type => 0, config => 0x400000000, ids => [1]);
	\$r->event(type => 0, config => 0x800000000, ids => [2]); $task
	\$r->sample(id => \$_, ip => 0x1100, tid => [10, 10], time => 5) for 1, 2"
folds "B11 the halves of a hybrid pair are one event" "$hybrid" <<<'app;a+0x100 2'
folds "a group's leader samples for all its counters" "
	\$r = Recording->new(%o, no_event => 1, sample_type => 'IDENTIFIER IP TID TIME READ', read_format => 0xc);
	\$r->event(type => 0, config => 0, ids => [1]);
	\$r->event(type => 0, config => 1, ids => [2]); $task
	\$r->sample(id => 1, ip => 0x1100, tid => [10, 10], time => 5, read => [2, 100, 1, 10, 2]);
	\$r->sample(id => 1, ip => 0x1100, tid => [10, 10], time => 6, read => [2, 150, 1, 40, 2]);" \
	--all-events --count period <<-'END'
	cycles;app;a+0x100 150
	instructions;app;a+0x100 40
	END

# ---- filters and root frames ----
many="\$r = Recording->new(%o, sample_type => 'IP TID TIME CPU CALLCHAIN PERIOD');
	\$r->comm(10, 10, 'one', 1); $A
	\$r->comm(20, 20, 'two', 1);
	\$r->mmap(20, 0x1000, 0x4000, 0, '/bin/b', 1);
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 5e9, cpu => 0, chain => ['user', 0x1100]);
	\$r->sample(ip => 0x1200, tid => [10, 11], time => 6e9, cpu => 1, chain => ['user', 0x1200]);
	\$r->sample(ip => 0xffffffff81000100, tid => [20, 20], time => 7.25e9, cpu => 2, mode => 'kernel',
		period => 4, chain => ['kernel', 0xffffffff81000100, 'user', 0x1300]);"
K=[kernel.kallsyms]+0xffffffff81000100
folds "--pid" "$many" --pid 20 <<<"two;b+0x300;$K 1"
folds "--tid" "$many" --tid 11,99 <<<'one;a+0x200 1'
folds "process ids above 2^22" "$new
	\$r->mmap(\$_, 0x1000, 0x4000, 0, '/bin/a', 1),
	\$r->sample(ip => 0x1100, tid => [\$_, \$_ + 1], time => 5) for 5000000, 1073741824" --by pid --pid 5000000,1073741824 <<-'END'
	pid 1073741824;a+0x100 1
	pid 5000000;a+0x100 1
	END
folds "--cpu" "$many" --cpu 0-1 <<-'END'
	one;a+0x100 1
	one;a+0x200 1
	END
folds "--comm" "$many" --comm two <<<"two;b+0x300;$K 1"
folds "--time" "$many" --time 5.5,7 <<<'one;a+0x200 1'
folds "--time open to the right" "$many" --time 7.25, <<<"two;b+0x300;$K 1"
folds "--symbol-filter" "$many" --symbol-filter '^b\+' <<<"two;b+0x300;$K 1"
folds "--only kernel" "$many" --only kernel <<<"two;$K 1"
folds "--only user" "$many" --only user <<-'END'
	one;a+0x100 1
	one;a+0x200 1
	two;b+0x300 1
	END
folds "--by none" "$many" --by none --pid 10 <<-'END'
	a+0x100 1
	a+0x200 1
	END
folds "--by pid --by comm --by tid, in this order" "$many" --by pid --by comm --by tid --cpu 1 \
	<<<'pid 10;one;tid 11;a+0x200 1'
folds "--by host" "$many \$r->feature(3, \$r->string('box'));" --by host --cpu 1 <<<'box;a+0x200 1'
folds "--count period" "$many" --count period --pid 20 <<<"two;b+0x300;$K 4"
make_recording "$work/r" "my %o = (pipe => 1); $many"
expect "filters that leave nothing" 2 'the filters leave out all 3' fold --pid 99 "$work/r"
expect "--count time without a frequency" 2 'use --count samples' \
	fold --count time "$work/two" --event instructions
expect "a list that is none" 64 "'--cpu 1-' is no list of numbers" fold --cpu 1- "$work/r"
expect "a time that is none" 64 "is not FROM,TO" fold --time 5 "$work/r"
expect "a regular expression that is none" 64 "symbol-filter" fold --symbol-filter '(' "$work/r"
expect "unlike events of two files" 2 "counts 'instructions' and '.*' counts 'cpu-clock'" \
	fold "$work/r" "$work/two"
fold "$work/r" "$work/r" >"$work/twice"
check "two files are added up" grep -qx 'one;a+0x100 2' "$work/twice"
collapse --no-symbols --input-check=json "$work/r" >"$work/json"
check "--input-check=json is JSON" python3 -c "import json; d = json.load(open('$work/json')); \
	assert d['samples'] == 3 and d['events'][0]['event'] == 'cpu-clock', d"
collapse --no-symbols --input-check "$work/r" >"$work/text"
check "--input-check tells the modules" grep -qE '^ +1 +\[kernel.kallsyms\]' "$work/text"

# ---- losses, cuts, foreign things ----
make_recording "$work/r" "my %o = (pipe => 1); $new $task
	\$r->lost(5, 2); \$r->lost_samples(7, 3); \$r->throttle(4);
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 5, chain => ['user', 0x1100])"
expect "losses are counted and end with status 1" 1 "lost 12 " fold "$work/r"
collapse --no-symbols "$work/r" >"$work/out" 2>/dev/null
check "losses stand in the header" grep -qx '# lost: 12 records' "$work/out"
check "throttling stands in the header" grep -qx '# throttled: 1 times' "$work/out"
# perf record 6.1 sums up at the end what the kernel has told already
sums="\$r = Recording->new(%o, read_format => 0x14); $task
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 5, chain => ['user', 0x1100]);
	\$r->lost(15, 6); \$r->lost(2, 7); \$r->lost_samples(3, 8);"
lost() { # NAME NUMBER PERL
	make_recording "$work/r" "my %o = (pipe => 1); $3"
	check "$1" grep -qx "# lost: $2 records" <(collapse -q --no-symbols "$work/r")
}
lost "sums of lost records are no further ones" 20 "$sums \$r->lost_samples(10, 0); \$r->lost_samples(7, 0)"
lost "but for what was lost behind the last record that told" 25 "$sums \$r->lost_samples(12, 0); \$r->lost_samples(10, 0)"
lost "without such sums all are" 27 "${sums/read_format => 0x14/read_format => 4} \$r->lost_samples(7, 0)"
lost "what a filter of the recorder dropped is not lost" 20 "$sums \$r->record(13, 0x8000, \$r->u64(99) . \$r->trailer(0))"
make_recording "$work/r" "my %o = (pipe => 1); $new $task
	\$r->record(10, 2 | 0x1000, \$r->u32(10, 10) . \$r->u64(0x8000, 0x1000, 0) . \$r->u32(0, 0) . \$r->u64(0, 0) .
		\$r->u32(5, 2) . \$r->text('/bin/b') . \$r->trailer(2));
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 5, chain => ['user', 0x1100])"
expect "maps that the recorder gave up reading are told" 0 'of 1 process the recorder did not read all maps' \
	fold "$work/r"
make_recording "$work/r" "my %o = (pipe => 1); $new \$r->record(76, 0, \$r->u64(1) . \$r->u32(0, 0) . \$r->u64(5, 6, 7))"
expect "counts of perf stat are no samples" 2 'perf stat wrote it' fold "$work/r"
folds "B60 a chain longer than its record is one bad record" "$new $task
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 5, chain => ['user', 0x1100], nr_chain => 1 << 40);
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 6, chain => ['user', 0x1100])" \
	<<<'app;a+0x100 1'
make_recording "$work/r" "my %o = (pipe => 1); $new $task
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 5, chain => ['user', 0x1100], nr_chain => 1 << 40);
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 6, chain => ['user', 0x1100])"
expect "bad records are counted" 1 "^flame-collapse: 1 record" fold "$work/r"
folds "unknown types are stepped over by size" "$new $task
	\$r->record(200, 0, 'x' x 40);
	\$r->record(71, 0, \$r->u64(24, 0, 0) . \$r->u32(0, 0, 0, 0)); \$r->raw('y' x 24);
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 5, chain => ['user', 0x1100])" \
	<<<'app;a+0x100 1'
for old in old_magic "old_magic => 1, old_header"; do
	folds "B64 a file of Linux 2.6.3x ($old)" "
		\$r = Recording->new(%o, pipe => 0, $old => 1, attr_size => 64, id_all => 0); $task
		\$r->record(65, 0, \$r->u64(0) . 'cycles' . \"\\0\" x 58);
		\$r->sample(ip => 0x1100, tid => [10, 10], time => 5, chain => ['user', 0x1100])" \
		<<<'app;a+0x100 1'
done
folds "names of tracepoints as Linux before 3.11 has them" "
	\$r = Recording->new(%o, no_event => 1, sample_type => 'ID IP TID TIME', types => { 63 => 'sched:a_b', 64 => 'x:y' });
	\$r->event(type => 2, config => 63, ids => [7]); \$r->event(type => 0, config => 64, ids => [8]); $task
	if (\$o{pipe}) { \$r->record(65, 0, \$r->u64(\$_->[0]) . pack 'a64', \$_->[1]) for [62, 'no'], [63, 'sched:a_b'] }
	\$r->sample(id => 7, ip => 0x1300, tid => [10, 10], time => 5)" --all-events <<<'sched:a_b;app;a+0x300 1'
folds "B62 a pipe header with more in it than is known" "
	\$r = Recording->new(%o, extra => \$o{pipe} ? 'moremore' : ''); $task
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 5, chain => ['user', 0x1100])" \
	<<<'app;a+0x100 1'
make_recording "$work/r" "my %o = (pipe => 0, data_size => 0); $new $task
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 5, chain => ['user', 0x1100])"
expect "B64 a file that its recorder never closed" 1 "was not closed by its recorder" fold "$work/r"
check "B64 and its samples are there" grep -qx 'app;a+0x100 1' "$work/.out"
: >"$work/empty"
expect "B64 an empty file" 2 "'.*/empty' is empty" collapse "$work/empty"
head -c 12 "$work/r" >"$work/stub"
expect "B64 a header cut short" 2 "cut off inside its header" collapse "$work/stub"
head -c 60 "$work/r" >"$work/stub"
expect "B64 a file header cut short" 2 "cut off" collapse "$work/stub"

make_recording "$work/r" "my %o = (pipe => 1); $new $task
	\$r->record(11, 0, \$r->u64(0, 4096, 0) . \$r->trailer(4)) for 1 .. 3;
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 5, chain => ['user', 0x1100])"
expect "traces of the processor are counted, and it is said that they are left out" 0 \
	"3 pieces of a processor's trace .* left out" fold "$work/r"
# Linux 6.18 sets the bit for build-ids in records of those who did not ask for them
make_recording "$work/r" "my %o = (pipe => 1); $new \$r->comm(10, 10, 'app', 1);
	\$r->record(10, 2 | 0x4000, \$r->u32(10, 10) . \$r->u64(0x1000, 0x4000, 0) . \$r->u32(8, 1) .
		\$r->u64(77, 0) . \$r->u32(5, 2) . \$r->text('$BUILD/samples/chain') . \$r->trailer(1));
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 5, chain => ['user', 0x1100])"
collapse --input-check "$work/r" >"$work/said" 2>&1
check "device and inode are not taken for a build-id, whatever the record's bit says" \
	grep -qE '/samples/chain( +replaced since)?' <(grep -v 'build-id' "$work/said")

# ---- kernel names: of the kernel that was recorded, or none ----
kernel() { # _TEXT [MMAP2 OPTIONS]: one sample 0x150 behind _text
	cat <<-END
	my %o = (pipe => 1); $new \$r->comm(10, 10, 'app', 1);
	\$r->mmap2(-1, $1, 0x1000000, $1, '[kernel.kallsyms]_text', 0, mode => 'kernel', $2);
	\$r->sample(ip => $1 + 0x150, tid => [10, 10], time => 5, mode => 'kernel', chain => ['kernel', $1 + 0x150]);
	END
}
names() { collapse -q --no-header --no-annotate "$@"; }
printf '%s\n' 'ffffffff81000000 T _text' 'ffffffff81000100 T f' 'ffffffff81000200 T g' >"$work/kallsyms"
make_recording "$work/r" "$(kernel 0xffffffff81000000)"
check "kernel names from a file" grep -qx 'app;f 1' <(names --kallsyms "$work/kallsyms" "$work/r")
make_recording "$work/r" "$(kernel 0xffffffff9a000000)"
check "B49 a kernel that was placed elsewhere (KASLR)" \
	grep -qx 'app;f 1' <(names --kallsyms "$work/kallsyms" "$work/r")
make_recording "$work/r" "$(kernel 0xffffffff9a000000 | sed 's/kallsyms\]_text/kallsyms._text]/')"
check "B49 the same as Linux 2.6.34 has it" \
	grep -qx 'app;f 1' <(names --kallsyms "$work/kallsyms" "$work/r")
printf '0000000000000000 t x\n%.0s' 1 2 3 >"$work/zeros"
check "B49 addresses of zero are no data" \
	grep -qx 'app;\[kernel\] 1' <(names --kallsyms "$work/zeros" "$work/r")
printf '%s\n' '(null) t x' '(null) T _text' >"$work/null"
check "B49 nor are those that say (null)" \
	grep -qx 'app;\[kernel\] 1' <(names --kallsyms "$work/null" "$work/r")
make_recording "$work/r" "$(kernel 0xffffffff81000000 "build_id => 'another kernel here!'")"
check "B49 this machine's names are not for another kernel" \
	grep -qx 'app;\[kernel\] 1' <(names "$work/r")
make_recording "$work/r" "my %o = (pipe => 1); $new $task
	\$r->sample(ip => 0x1100, tid => [10, 10], time => 5, chain => ['user', 0x1100]) for 1 .. 10"
expect "B66 frames without names are told" 0 '100 % of the samples .* no name' collapse "$work/r"

# ---- compressed ----
compressed() { # TYPE PIECES: one zstd stream over the records, in so many pieces
	cat <<-END
	$new $task \$r->begin_inner;
	\$r->sample(ip => 0x1100 + \$_, tid => [10, 10], time => 5 + \$_, chain => ['user', 0x1100]) for 1 .. 9;
	my \$plain = \$r->end_inner;
	open my \$out, '>', '$work/plain'; print \$out \$plain; close \$out;
	my \$coded = \`zstd -q -c '$work/plain'\`;
	my \$step = int(length(\$coded) / $2) + 1;
	while (length \$coded) {
		my \$piece = substr \$coded, 0, \$step, '';
		if ($1 == 81) { \$r->record(81, 0, \$piece) }
		else { my \$size = length \$piece; \$piece .= "\\0" while length(\$piece) % 8;
			\$r->record(83, 0, \$r->u64(\$size) . \$piece) }
	}
	END
}
for type in 81 83; do
	for pieces in 1 2 7; do
		folds "B61 compressed records of type $type in $pieces pieces" "$(compressed $type $pieces)" \
			<<<'app;a+0x100 9'
	done
done
