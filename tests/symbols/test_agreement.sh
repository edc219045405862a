#!/bin/bash
# Names, inline chains and lines of every address of a program's text, for a
# matrix of compilers, options and linkers, beside llvm-symbolizer and
# eu-addr2line, and for some beside addr2line, which is slow. compare.pl lists
# what may differ.
. "$TOP/tests/lib/check.sh"
names_at=$BUILD/symbols/names_at
source=$TOP/tests/symbols/program.cc
compare=$TOP/tests/symbols/compare.pl
cd "$work" || exit 1

pcs() { # FILE: each address of its text sections
	objdump -h "$1" | awk '$2 ~ /^\.text/ { print $4, $3 }' |
		perl -ne '($a, $s) = split; printf "%x\n", hex($a) + $_ for 0 .. hex($s) - 1'
}

chains() { # TOOL FILE: of the addresses in pcs
	case $1 in
	llvm) sed 's/^/0x/' pcs | llvm-symbolizer --output-style=GNU --no-demangle -a -i -f -e "$2" | grep -v '^$' ;;
	binutils) addr2line -a -i -f -e "$2" <pcs ;;
	elfutils) sed 's/^/0x/' pcs | eu-addr2line -a -i -f -e "$2" ;;
	esac
}

agrees() { # TOOL FILE
	chains "$1" "$2" >theirs
	perl "$compare" pcs ours theirs $([ "$1" = llvm ] || echo referee)
}

variant() { # NAME TOOLS COMPILER OPTIONS...
	local name=$1 tools=$2 tool
	shift 2
	command -v "$1" >/dev/null || { skip "$name: no $1"; return; }
	if ! "$@" -w -o "$name" "$source" 2>err; then
		skip "$name: it does not build here: $(head -n 1 err | cut -c1-100)"
		return
	fi
	pcs "$name" >pcs
	"$names_at" -l -d none "$name" <pcs >ours
	chains llvm "$name" >referee
	check "$name: there is code to ask for" [ "$(wc -l <pcs)" -gt 800 ]
	for tool in ${tools//,/ }; do
		check "$name agrees with $tool" agrees "$tool" "$name"
	done
}

variant gcc-O0 llvm,elfutils g++ -g -O0
variant gcc-O1 llvm,elfutils,binutils g++ -g -O1
variant gcc-O2-dwarf4 llvm,elfutils,binutils g++ -gdwarf-4 -O2
variant gcc-O3-dwarf5 llvm,elfutils,binutils g++ -gdwarf-5 -O3
variant gcc-O2-dwarf2 llvm,elfutils g++ -gdwarf-2 -gstrict-dwarf -O2
variant gcc-O2-g1 llvm,elfutils g++ -g1 -O2
variant gcc-no-pie elfutils,binutils g++ -g -O2 -no-pie
variant gcc-lto llvm,elfutils g++ -g -O2 -flto
variant gcc-gold-sections llvm,elfutils g++ -g -O2 -ffunction-sections -fuse-ld=gold -Wl,--gc-sections
variant gcc-lld llvm,elfutils g++ -g -O2 -fuse-ld=lld
variant gcc-split-dwarf5 llvm,elfutils g++ -g -O2 -gsplit-dwarf
variant gcc-split-dwarf4 llvm,elfutils g++ -gdwarf-4 -O2 -gsplit-dwarf
variant clang-O0 llvm,elfutils clang++ -g -O0
variant clang-O2-dwarf4 llvm,elfutils,binutils clang++ -gdwarf-4 -O2
variant clang-O3-mold llvm,elfutils clang++ -g -O3 -fuse-ld=mold
variant clang-Os-lld llvm,elfutils clang++ -g -Os -fuse-ld=lld
variant clang-g1 llvm,elfutils clang++ -g1 -O2
variant clang-thin-lto llvm,elfutils clang++ -g -O2 -flto=thin -fuse-ld=lld -DNO_IFUNC
variant clang-split-dwarf5 llvm,elfutils clang++ -g -O2 -gsplit-dwarf
variant clang-split-dwarf4 llvm,elfutils clang++ -gdwarf-4 -O2 -gsplit-dwarf
variant gcc-type-units llvm,elfutils g++ -gdwarf-5 -O2 -fdebug-types-section
variant gcc-type-units-dwarf4 llvm,elfutils g++ -gdwarf-4 -O2 -fdebug-types-section
variant clang-O1-type-units llvm,elfutils clang++ -gdwarf-5 -O1 -fdebug-types-section
variant gcc-mold-zlib llvm,elfutils g++ -g -O2 -fuse-ld=mold -gz=zlib
variant clang-gold-zlib llvm,elfutils clang++ -gdwarf-4 -O2 -fuse-ld=gold -gz=zlib
