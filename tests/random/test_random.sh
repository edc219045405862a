#!/bin/bash
# Random inputs against models that share nothing with the programs: SEEDS of
# each kind. A seed that fails can be run alone: recording.pl SEED ..., folded.pl SEED ...
. "$TOP/tests/lib/check.sh"
here=$TOP/tests/random
SEEDS=${SEEDS:-100}
export LC_ALL=C

bad= perf_bad= perf_runs=0
for ((seed = 1; seed <= SEEDS; seed++)); do
	"$here/recording.pl" $seed "$work/rec" "$work/expected" || bad="$bad $seed"
	collapse -q --no-symbols --no-header "$work/rec" 2>"$work/err" | sort >"$work/got"
	sort "$work/expected" | cmp -s - "$work/got" || bad="$bad $seed"
	collapse -q --no-symbols --no-header <"$work/rec" 2>/dev/null | sort | cmp -s - "$work/got" || bad="$bad $seed(pipe)"
	# perf's own reading of the very same bytes: the files of each frame, by
	# stack; without execs, at which perf 6.1 keeps the maps of the old program
	if command -v perf >/dev/null && [ $((seed % 10)) = 0 ]; then
		perf_runs=$((perf_runs + 1))
		"$here/recording.pl" $seed "$work/rec" "$work/expected" no-exec
		collapse -q --no-symbols --no-header "$work/rec" >"$work/got"
		timeout 300 perf script --no-inline -F comm,event,ip,dso -i - <"$work/rec" 2>/dev/null |
			perl -wne 'sub flush { $n{join ";", $comm, reverse @f}++ if defined $comm && $event =~ /cpu-clock/; undef $comm; @f = () }
				if (/^\s*$/) { flush() }
				elsif (/^\t\s*([0-9a-f]+) .*\((.*)\)$/) { push @f, $2 =~ m{^\[unknown|^/tmp/perf-} ? "[unknown]" : $2 =~ s{.*/}{}r }
				elsif (/^\s*(.*?)\s+(cpu-clock|page-faults):/) { flush(); ($comm, $event) = ($1, $2) }
				END { flush(); print "$_ $n{$_}\n" for sort keys %n }' >"$work/perf"
		perl -wpe 's/\+0x[0-9a-f]+(_\[k\])?(?=[; ])//g' "$work/got" |
			perl -wne '/^(.*) (\d+)$/ and $n{$1} += $2; END { print "$_ $n{$_}\n" for sort keys %n }' >"$work/ours"
		# perf looks a return address up as it is, we look up the call before it:
		# they part only where a map begins at just that address
		differ=$(comm -3 "$work/perf" "$work/ours" | wc -l)
		[ "$differ" -le 4 ] && [ -s "$work/perf" ] || perf_bad="$perf_bad $seed"
	fi
done
check "recordings: $SEEDS seeds, by file and by pipe${bad:+; wrong:$bad}" test -z "$bad"
if [ $perf_runs -gt 0 ]; then
	check "recordings: as perf reads them, $perf_runs seeds${perf_bad:+; other:$perf_bad}" test -z "$perf_bad"
else
	skip "recordings as perf reads them: no perf here"
fi

# the tree of a JSON picture, flattened: `path total self`
flatten() {
	perl -MJSON::PP -we '
		binmode STDOUT; local $/; my $root = JSON::PP->new->utf8(0)->decode(<STDIN>);
		my @todo = map { [$_, ""] } @{$root->{children} // []};
		while (my $next = pop @todo) {
			my ($node, $path) = @$next;
			my $here = $path . $node->{name};
			my $self = $node->{value};
			for my $child (@{$node->{children} // []}) { $self -= $child->{value}; push @todo, [$child, "$here;"] }
			print "$here $node->{value} $self\n";
		}'
}
bad= tree_bad=
for ((seed = 1; seed <= SEEDS; seed++)); do
	"$here/folded.pl" $seed "$work/before" "$work/after" "$work/joined" "$work/tree"
	diff --normalize none --canon none --no-header "$work/before" "$work/after" 2>/dev/null | sort >"$work/got"
	grep -v ' 0 0$' "$work/joined" | sort | cmp -s - "$work/got" || bad="$bad $seed"
	render --format json "$work/after" 2>/dev/null | flatten | sort >"$work/got"
	sort "$work/tree" | cmp -s - "$work/got" || tree_bad="$tree_bad $seed"
done
check "diff: $SEEDS seeds${bad:+; wrong:$bad}" test -z "$bad"
check "render's tree: $SEEDS seeds${tree_bad:+; wrong:$tree_bad}" test -z "$tree_bad"
