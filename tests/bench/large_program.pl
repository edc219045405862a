#!/usr/bin/perl
# large_program.pl NUMBER - sources of a C++ program with much debugging
# information in the current folder: main.cc, and NUMBER files that instantiate
# the library's containers, algorithms and expressions with types of their own
# (10 MB of debugging information each with -g -O2).
use strict;
use warnings;

my $nr = shift // die "usage: large_program.pl NUMBER\n";
sub file {
	my ($name, $text) = @_;
	open my $f, '>', $name or die "$name: $!";
	print $f $text;
	close $f or die "$name: $!";
}
my $part = join '', <DATA>;
file("part$_.cc", $part =~ s/PART/part$_/gr) for 0 .. $nr - 1;
file('main.cc', "#include <cstdio>\n#include <cstdlib>\n" .
	join('', map { "namespace part$_ { long work(int rounds); }\n" } 0 .. $nr - 1) .
	"int main(int, char **argv)\n{\n\tlong sum = 0;\n\tfor (int i = atoi(argv[1]); i > 0; i--) {\n" .
	join('', map { "\t\tsum += part$_\::work(12);\n" } 0 .. $nr - 1) . "\t}\n\tprintf(\"%ld\\n\", sum);\n}\n");
__DATA__
#include <algorithm>
#include <deque>
#include <filesystem>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <numeric>
#include <random>
#include <ranges>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace PART
{
template <int N> struct key {
	int a, b;
	std::string text;
	bool operator<(const key &o) const { return a != o.a ? a < o.a : text < o.text; }
	bool operator==(const key &o) const = default;
};
struct hash {
	template <int N> std::size_t operator()(const key<N> &k) const { return std::hash<std::string>()(k.text) ^ (unsigned)k.a; }
};
template <int N> struct level {
	std::map<key<N>, std::vector<std::string>> tree;
	std::unordered_map<key<N>, std::deque<int>, hash> table;
	std::set<std::pair<int, key<N>>> set;
	std::variant<int, std::string, key<N>, std::vector<key<N>>> any;
	std::function<int(const key<N> &)> call;
	level<N - 1> next;
	long run(int x)
	{
		key<N> k{x % 101, N, "k" + std::to_string(x * N)};
		tree[k].push_back(k.text);
		table[k].push_back(x);
		set.emplace(x % 37, k);
		any = k;
		call = [x, this](const key<N> &o) { return o.a * x + (int)tree.size(); };
		std::vector<key<N>> all;
		for (auto &[a, b] : tree)
			all.push_back(a);
		std::sort(all.begin(), all.end(), [](const key<N> &a, const key<N> &b) { return b.text < a.text; });
		long sum = std::accumulate(all.begin(), all.end(), 0l, [this](long s, const key<N> &o) { return s + call(o); });
		for (int v : all | std::views::filter([](const key<N> &o) { return o.a & 1; }) | std::views::transform([](const key<N> &o) { return o.a; }))
			sum += v;
		sum += std::visit([](auto &v) -> long { if constexpr (requires { v.size(); }) return (long)v.size(); else return 1; }, any);
		if (tree.size() > 60) {
			tree.clear();
			table.clear();
			set.clear();
		}
		return sum + next.run(x + 1);
	}
};
template <> struct level<0> {
	long run(int x) { return x; }
};
long work(int rounds)
{
	level<16> top;
	std::regex re("(k[0-9]+|PART)+");
	long sum = 0;
	for (int i = 0; i < rounds; i++) {
		std::ostringstream s;
		sum += top.run(i);
		s << sum << ' ' << i;
		sum += std::regex_search("xx k12 " + s.str(), re);
	}
	return sum;
}
}
