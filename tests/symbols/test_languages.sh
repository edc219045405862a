#!/bin/bash
# Names of real programs of many languages, and those that the manual shows.
. "$TOP/tests/lib/check.sh"
names_at=$BUILD/symbols/names_at
cd "$work" || exit 1

# the three forms in the manual are what comes out
man_names=$(sed -n '/^none   /,/^\.Ed/p' "$TOP/collapse/collapse.1")
awk '$1 == "none" { print $2 }' <<<"$man_names" >symbols
awk '{ printf "\t.text\n\t.type \"%s\", @function\n\"%s\":\n\tnop\n\tnop\n\t.size \"%s\", 2\n", $1, $1, $1 }' symbols >names.s
gcc -shared -nostdlib -o names.so names.s || exit 1
nm names.so | grep -w t | awk 'NR == FNR { at[$3] = $1; next } { print at[$1] }' - symbols >pcs
for form in none full short; do
	"$names_at" -d $form names.so <pcs >got
	sed -n "s/^$form *//p" <<<"$man_names" >want
	check "names of the manual, $form" /usr/bin/diff want got
done
check 'the manual has names to show' [ "$(wc -l <symbols)" -ge 7 ]

# names FILE [OPTIONS]: of each function in it
names() {
	local file=$1
	shift
	nm "$file" | awk '$2 ~ /^[tTwW]$/ { print $1 }' | sort -u | "$names_at" "$@" "$file"
}
has() { # NAME PATTERN: a line of got is this
	if grep -qxE "$2" got; then ok "$1"; else not_ok "$1" "no line is $2" "$(grep -iE "${3:-step}" got | head -n 5)"; fi
}

if command -v rustc >/dev/null; then
	cat >program.rs <<'R'
mod shapes {
    pub struct Pair<T>(pub T, pub T);
    impl<T: Copy + std::ops::Add<Output = T>> Pair<T> {
        #[inline(never)]
        pub fn step(&self) -> T { self.0 + self.1 }
    }
    pub trait Named { fn name(&self) -> usize; }
    impl Named for [u8; 4] {
        #[inline(never)]
        fn name(&self) -> usize { self[0] as usize }
    }
}
use shapes::Named;
#[inline(never)]
fn apply<F: Fn(u32) -> u32>(f: F, x: u32) -> u32 { f(x) }
fn main() {
    let n = std::env::args().count() as u32;
    println!("{} {} {}", shapes::Pair(n, 2).step(), [n as u8, 0, 0, 0].name(), apply(|x| x * n, 7));
}
R
	for scheme in legacy v0; do
		options=-Csymbol-mangling-version=$scheme
		# before 1.90 the older one wants no flag, and is not stable
		rustc -g -Copt-level=1 "$options" -o rust program.rs 2>err || rustc -g -Copt-level=1 -Zunstable-options "$options" -o rust program.rs 2>err ||
			RUSTC_BOOTSTRAP=1 rustc -g -Copt-level=1 -Zunstable-options "$options" -o rust program.rs 2>err || {
			skip "Rust, $scheme: $(head -n 1 err)"
			continue
		}
		names rust -i >got
		has "B27 Rust, $scheme: a method of a generic type" '(program|rust)::shapes::Pair<T>::step|<(program|rust)::shapes::Pair<u32>>::step'
		has "B23 Rust, $scheme: a type with ; in it" '<\[u8; (4|_)\] as (program|rust)::shapes::Named>::name' name
		has "B27 Rust, $scheme: main" '(program|rust)::main' main
		if grep -qE '17h[0-9a-f]{16}|^_R' got; then not_ok "B27 Rust, $scheme: no hash is left" "$(grep -E '17h[0-9a-f]{16}|^_R' got | head -n 3)"; else ok "B27 Rust, $scheme: no hash is left"; fi
		names rust | grep ' < ' >got
		check "Rust, $scheme: inlined functions" grep -q '::.* < .*::' got
	done
else
	skip 'Rust: no rustc'
fi

if command -v go >/dev/null; then
	cat >program.go <<'G'
package main

import "fmt"

type Box[T any] struct{ v T }

//go:noinline
func (b *Box[T]) Get() T { return b.v }

type Conn struct{ n int }

func (c *Conn) add(x int) int { c.n += x; return c.n }

//go:noinline
func step(x int, c *Conn) int { return func() int { return x + 1 }() + c.add(x) }

func main() { b := Box[int]{3}; fmt.Println(step(b.Get(), &Conn{2})) }
G
	if HOME=$work GOFLAGS= GO111MODULE=off GOCACHE=$work/cache go build -o go program.go 2>err; then
		names go -i >got
		has 'B26 Go: a method' 'fmt\.\(\*pp\)\.printArg' printArg
		has 'B26 Go: a method of a generic type, whole' 'main\.\(\*Box\[(go\.shape\.int_0|\.\.\.|go\.shape\.int)\]\)\.Get' Get
		has 'Go: a function' 'main\.step'
		nm -S go | awk '$4 == "main.step" { print $1, $2 }' |
			perl -ne 'my ($a, $s) = map { hex } split; printf "%x\n", $a + $_ for 0 .. $s - 1' | "$names_at" -d short go >got
		has 'Go: an inlined method stays whole in the short form' 'main\.\(\*Conn\)\.add < main\.step' add
	else
		skip "Go: it does not build here: $(head -n 1 err)"
	fi
else
	skip 'Go: no go'
fi

if command -v gnatmake >/dev/null; then
	cat >program.adb <<'A'
with Ada.Text_IO;
procedure Program is
   package Shapes is
      function Step (X : Integer) return Integer;
   end Shapes;
   package body Shapes is
      function Step (X : Integer) return Integer is
      begin
         return X + 1;
      end Step;
   end Shapes;
begin
   Ada.Text_IO.Put_Line (Integer'Image (Shapes.Step (3)));
end Program;
A
	if gnatmake -q -g -O0 -o ada program.adb 2>err; then
		names ada -i >got
		has 'Ada: names are left readable' 'program__shapes__step(\.[0-9]+)?|_ada_program' program
	else
		skip "Ada: it does not build here: $(head -n 1 err)"
	fi
else
	skip 'Ada: no gnatmake'
fi

cat >shapes.d <<'D'
module shapes;
import std.stdio;
struct Pair(T) { T a, b; pragma(inline, false) T step() { return cast(T)(a + b); } }
pragma(inline, false) int outer(int x, string s) { return x + cast(int)s.length; }
void main(string[] args) { auto p = Pair!int(1, 2); writeln(p.step(), outer(3, args[0])); }
D
for compiler in gdc ldc2; do
	command -v $compiler >/dev/null || { skip "D: no $compiler"; continue; }
	case $compiler in
	gdc) gdc -g -O0 -o d shapes.d 2>err ;;
	ldc2) ldc2 -g -O0 -of=d shapes.d 2>err ;;
	esac || { skip "D: it does not build with $compiler: $(head -n 1 err)"; continue; }
	names d -i >got
	has "D by $compiler: a function" 'shapes\.outer\(int, immutable\(char\)\[\]\)' outer
	has "D by $compiler: a method of a template" 'shapes\.Pair!\(int\)\.Pair\.step\(\)'
done

if command -v ocamlfind >/dev/null || command -v ocamlopt >/dev/null; then
	printf '%s\n' 'let rec step x = if x > 100 then x else step (x + 3)' 'let () = print_int (step (Array.length Sys.argv))' >shapes.ml
	if ocamlopt -g -o ocaml shapes.ml 2>err; then
		names ocaml -i >got
		has 'OCaml: names are left readable' 'camlShapes__step_[0-9]+'
	else
		skip "OCaml: it does not build here: $(head -n 1 err)"
	fi
else
	skip 'OCaml: no ocamlopt'
fi

# no compiler of Swift is packaged: a name that it makes
printf '\t.text\n\t.type "%s", @function\n"%s":\n\tnop\n\t.size "%s", 1\n' '$s4main5ShapeV4stepyS2iF'{,,} >swift.s
gcc -shared -nostdlib -o swift.so swift.s
names swift.so >got
has 'Swift: a name stands as it is' '\$s4main5ShapeV4stepyS2iF'
