#!/bin/bash
# Text is folded by several threads, a large file is read ahead by one more:
# the same stacks come out.
# shellcheck source=tests/lib/check.sh
. "$TOP/tests/lib/check.sh"

# 34 MB in the layout of perf script: many stacks, several events and threads
perl -e '
	my ($size, $n) = (0, 0);
	while ($size < 34 << 20) {
		my $text = sprintf "worker-%d %d/%d [%03d] %d.%06d: %d %s:\n", $n % 7, 100 + $n % 5,
			100 + $n % 11, $n % 4, 1000 + $n / 1000, $n % 1000000, 1 + $n % 3,
			$n % 9 ? "cpu-clock" : "page-faults";
		$text .= sprintf "\t%16x f_%d+0x%x (/opt/app/lib%d.so)\n", 0x400000 + $_ * 16, ($n * $_) % 31, $_, $_ % 3
			for 1 .. 4 + $n % 13;
		print $text, "\n";
		$size += length($text) + 1;
		$n++;
	}' >"$work/text"

# bytes of the file, then the same through a pipe
same() { # [OPTION]...
	local nr
	collapse -q --no-header --threads 1 "$@" "$work/text" 2>&1 | sort >"$work/one"
	[ "$(wc -l <"$work/one")" -gt 100 ] || { head "$work/one"; return 1; }
	for nr in 2 5; do
		collapse -q --no-header --threads $nr "$@" "$work/text" 2>&1 | sort >"$work/more"
		cmp "$work/one" "$work/more" || { grep -v '^worker' "$work/more" | head -n 5; return 1; }
	done
	collapse -q --no-header --threads 3 "$@" <"$work/text" 2>&1 | sort | cmp "$work/one" - || return 1
	cat "$work/text" | collapse -q --no-header --threads 3 "$@" 2>&1 | sort | cmp "$work/one" -
}
check "text threads: the same stacks" same
check "text threads: the same with threads apart" same --by tid --addresses
check "text threads: the same of another event" same --event page-faults
