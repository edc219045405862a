/* test_symtab.c - tables of functions from every source, and names as shown. */
#include "share/compat.h"

#include "collapse/names/demangle.h"
#include "collapse/names/jitdump.h"
#include "collapse/names/kallsyms.h"
#include "collapse/names/perfmap.h"
#include "collapse/names/ranges.h"
#include "collapse/names/symbolize.h"
#include "collapse/names/symtab.h"
#include "share/mem.h"

#include <criterion/criterion.h>

/* ---- ranges ---- */

struct want {
	uint64_t address;
	uint32_t value;
};

static void check_ranges(const char *label, const struct range *in, size_t nr,
                         const struct want *want, size_t nr_want)
{
	struct ranges ranges = {0};

	for (size_t i = 0; i < nr; i++)
		ranges_add(&ranges, in[i].start, in[i].end, in[i].value, in[i].priority);
	ranges_finish(&ranges);
	for (size_t i = 0; i < nr_want; i++)
		cr_assert(ranges_find(&ranges, want[i].address) == want[i].value,
		          "%s: at %llu: %u, not %u", label, (unsigned long long)want[i].address,
		          ranges_find(&ranges, want[i].address), want[i].value);
	ranges_release(&ranges);
}

Test(ranges, nested_and_overlapping)
{
	static const struct range nested[] = {
	        {100, 200, 0, 0}, {120, 140, 1, 1}, {130, 135, 2, 2}, {300, 400, 3, 0}};
	static const struct want in_nested[] = {
	        {99, RANGES_NONE},  {100, 0}, {119, 0},          {120, 1},
	        {131, 2},           {135, 1}, {140, 0},          {199, 0},
	        {200, RANGES_NONE}, {399, 3}, {400, RANGES_NONE}};
	/* the first outranks what begins inside of it and reaches over its end */
	static const struct range over[] = {{10, 20, 0, 9}, {15, 30, 1, 1}, {28, 29, 2, 0}};
	static const struct want in_over[] = {
	        {15, 0}, {19, 0}, {20, 1}, {28, 1}, {30, RANGES_NONE}};
	static const struct range ends[] = {{0, UINT64_MAX, 0, 0}, {5, 5, 1, 1}, {7, 3, 2, 2}};
	static const struct want in_ends[] = {{0, 0}, {5, 0}, {UINT64_MAX - 1, 0}};

	check_ranges("nested", nested, ARRAY_SIZE(nested), in_nested, ARRAY_SIZE(in_nested));
	check_ranges("over", over, ARRAY_SIZE(over), in_over, ARRAY_SIZE(in_over));
	check_ranges("ends", ends, ARRAY_SIZE(ends), in_ends, ARRAY_SIZE(in_ends));
	check_ranges("none", NULL, 0, in_nested, 1);
}

Test(ranges, appended)
{
	static const struct range in[] = {
	        {10, 0, 0, 0}, {20, 0, 1, 0}, {20, 0, 2, 0}, {30, 0, RANGES_NONE, 0}};
	static const struct want want[] = {{9, RANGES_NONE}, {10, 0}, {19, 0},
	                                   {20, 2},          {29, 2}, {30, RANGES_NONE}};
	struct ranges ranges = {0};

	for (size_t i = 0; i < ARRAY_SIZE(in); i++)
		ranges_append(&ranges, in[i].start, in[i].value);
	ranges_finish(&ranges);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		cr_assert(ranges_find(&ranges, want[i].address) == want[i].value, "at %llu",
		          (unsigned long long)want[i].address);
	ranges_release(&ranges);
}

/* Any ranges: what the table says is what a search of all ranges says. */
Test(ranges, as_a_plain_search)
{
	uint64_t state = 1;

	for (int round = 0; round < 200; round++) {
		/* few close together, or so many that they are found by blocks */
		bool is_large = round % 4 == 0;
		uint64_t spread = is_large ? 700 : 64;
		size_t nr = is_large ? 200 : 40;
		struct range in[200];
		struct ranges ranges = {0};

		for (size_t i = 0; i < nr; i++) {
			state = hash_u64(state, i);
			in[i] = (struct range){5 + state % spread,
			                       5 + state % spread + state / 1024 % 20, (uint32_t)i,
			                       (uint32_t)(state >> 40) % 5};
			ranges_add(&ranges, in[i].start, in[i].end, in[i].value, in[i].priority);
		}
		ranges_finish(&ranges);
		for (uint64_t at = 0; at < spread + 30; at++) {
			const struct range *best = NULL;
			uint64_t start = 0, end = spread + 30;
			uint32_t value = ranges_narrow(&ranges, at, &start, &end);

			for (size_t i = 0; i < nr; i++)
				if (at >= in[i].start && at < in[i].end &&
				    (!best || in[i].priority > best->priority ||
				     (in[i].priority == best->priority &&
				      in[i].start >= best->start)))
					best = &in[i];
			cr_assert(ranges_find(&ranges, at) == (best ? best->value : RANGES_NONE),
			          "round %d at %llu", round, (unsigned long long)at);
			cr_assert(value == ranges_find(&ranges, at) && start <= at && at < end,
			          "round %d: around %llu", round, (unsigned long long)at);
			for (uint64_t same = start; same < end; same++)
				cr_assert(ranges_find(&ranges, same) == value,
				          "round %d: %llu is like %llu", round,
				          (unsigned long long)same, (unsigned long long)at);
		}
		ranges_release(&ranges);
	}
}

/* ---- texts ---- */

static struct symtab *map_of(const char *text)
{
	size_t size = strlen(text);
	char *copy = mem_alloc(size + 1);

	memcpy(copy, text, size);
	return perfmap_parse(copy, size);
}

static void check_name(const char *label, const struct symtab *symtab, uint64_t address,
                       const char *want)
{
	struct slice name = symtab_find(symtab, address);

	cr_assert(slice_equals(name, want), "%s: at %llx: '%.*s', not '%s'", label,
	          (unsigned long long)address, (int)name.size, name.at, want);
}

Test(perfmap, names)
{
	struct symtab *map = map_of("1000 20 LazyCompile:*foo bar /srv/a.js:1:2\n"
	                            "1020 20 Lcom/acme/A;::m\n"
	                            "1010 8 later one\n"
	                            "zz 20 not a line\n"
	                            "0x2000 10 with prefix\n"
	                            "3000 10 windows\r\n"
	                            "\n"
	                            "4000 10\n"
	                            "5000 10 half a li");

	check_name("blanks", map, 0x1000, "LazyCompile:*foo bar /srv/a.js:1:2");
	check_name("B53 the later entry wins", map, 0x1012, "later one");
	check_name("and only where it is", map, 0x1018, "LazyCompile:*foo bar /srv/a.js:1:2");
	check_name("any byte", map, 0x1020, "Lcom/acme/A;::m");
	check_name("prefix", map, 0x200f, "with prefix");
	check_name("end", map, 0x2010, "");
	check_name("carriage return", map, 0x3000, "windows");
	check_name("B53 half-written last line", map, 0x5000, "half a li");
	symtab_free(map);
	/* the same address twice: the last */
	map = map_of("1000 10 old\n1000 10 new\n");
	check_name("B53 reused", map, 0x1000, "new");
	symtab_free(map);
}

static struct symtab *kallsyms_of(const char *text, struct err *err)
{
	size_t size = strlen(text);
	char *copy = mem_alloc(size + 1);

	memcpy(copy, text, size);
	return kallsyms_parse(copy, size, err);
}

static const char list[] = "0000000000000000 A fixed_percpu_data\n"
                           "ffffffff81000000 T _stext\n"
                           "ffffffff81000000 T _text\n"
                           "ffffffff81000010 t helper\n"
                           "ffffffff81000020 T __do_sys_x\n"
                           "ffffffff81000020 T do_sys_x\n"
                           "ffffffff81000040 D some_data\n"
                           "ffffffffc0000100 t in_module\t[mod]\n"
                           "ffffffff81000050 D data_too\n"
                           "ffffffff81000050 W function_too\n"
                           "ffffffff81000050 t function_of_two\t[mod]\n"
                           "ffffffffc0000000 t first\t[mod]\n";

Test(kallsyms, names)
{
	struct err err = {0};
	struct symtab *symtab = kallsyms_of(list, &err);

	cr_assert(symtab != NULL);
	check_name("start", symtab, 0xffffffff8100000f, "_stext");
	check_name("local", symtab, 0xffffffff8100001f, "helper");
	check_name("fewer underscores", symtab, 0xffffffff81000020, "do_sys_x");
	check_name("data is no code", symtab, 0xffffffff81000044, "");
	check_name("data at the same place", symtab, 0xffffffff81000050, "function_of_two");
	check_name("unsorted, of a module", symtab, 0xffffffffc0000080, "first");
	check_name("a page for the last", symtab, 0xffffffffc0000fff, "in_module");
	check_name("and no more", symtab, 0xffffffffc0001000, "");
	check_name("absolute numbers are none", symtab, 8, "");
	cr_assert(symtab->text_address == 0xffffffff81000000);
	symtab_free(symtab);
}

Test(kallsyms, B49_hidden_addresses_and_other_boots)
{
	struct module_key key = {.kind = MODULE_KERNEL, .path = "[kernel.kallsyms]"};
	struct err err = {0};
	struct symtab *symtab =
	        kallsyms_of("0000000000000000 T _text\n0000000000000000 T a\n", &err);

	cr_assert(symtab == NULL);
	cr_assert(strstr(err.text, "kptr_restrict") != NULL, "%s", err.text);
	symtab = kallsyms_of(list, &err);
	cr_assert(!kallsyms_is_recorded(symtab, &key, &err), "a recording that says nothing");
	key.text_address = 0xffffffff81000000;
	cr_assert(kallsyms_is_recorded(symtab, &key, &err));
	key.text_address = 0xffffffff9a000000;
	cr_assert(!kallsyms_is_recorded(symtab, &key, &err));
	cr_assert(strstr(err.text, "another boot") != NULL, "%s", err.text);
	key.text_address = 0xffffffff81000000;
	key.build_id = (struct build_id){4, {1, 2, 3, 4}};
	if (kallsyms_running_build_id().size)
		cr_assert(!kallsyms_is_recorded(symtab, &key, &err), "another build-id");
	symtab_free(symtab);
}

/* ---- demangling ---- */

Test(demangle, names)
{
	static const struct {
		const char *label, *name, *full, *brief;
	} rows[] = {
	        {"plain C", "main", "main", "main"},
	        {"C with underscore", "_start", "_start", "_start"},
	        {"overload", "_Z1fi", "f(int)", "f"},
	        {"an entry of the PLT", "_Z1fi@plt", "f(int)@plt", "f@plt"},
	        {"no return type", "_Z1fIiEiT_", "f<int>(int)", "f"},
	        {"B20 a parenthesis in template arguments", "_ZN3runIL4Mode1EE4stepEv",
	         "run<(Mode)1>::step()", "run::step"},
	        {"B21 operator->", "_ZNK1AptEv", "A::operator->() const", "A::operator->"},
	        {"B21 operator<", "_ZltRK1AS1_", "operator<(A const&, A const&)", "operator<"},
	        {"B21 operator()", "_ZN1AclEv", "A::operator()()", "A::operator()"},
	        {"operator<< with arguments", "_ZlsIcERSoS0_T_",
	         "operator<< <char>(std::ostream&, char)", "operator<<"},
	        {"anonymous namespace", "_ZN12_GLOBAL__N_113single_threadE",
	         "(anonymous namespace)::single_thread", "(anonymous namespace)::single_thread"},
	        {"lambda", "_ZZ1fvENKUlRiE_clES_", "f()::{lambda(int&)#1}::operator()(int&) const",
	         "f::{lambda(int&)#1}::operator()"},
	        {"clone", "_Z1fi.cold", "f(int) [clone .cold]", "f [clone .cold]"},
	        {"constructor", "_ZN3BarC2Ev", "Bar::Bar()", "Bar::Bar"},
	        {"ABI tag", "_ZN1A1fB5cxx11Ev", "A::f[abi:cxx11]()", "A::f[abi:cxx11]"},
	        {"B27 legacy Rust", "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
	         "core::fmt::Write::write_fmt", "core::fmt::Write::write_fmt"},
	        {"B27 legacy Rust, suffix",
	         "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE.llvm.123",
	         "core::fmt::Write::write_fmt [clone .llvm.123]", NULL},
	        {"B27 legacy Rust, dots of its own",
	         "_ZN66_$LT$$u5b$u8$u3b$$u20$4$u5d$$u20$as$u20$program..shapes..Named$GT$4name"
	         "17hf2bce71c2d19d3e7E.cold",
	         "<[u8; 4] as program::shapes::Named>::name [clone .cold]",
	         "<[u8; 4] as program::shapes::Named>::name [clone .cold]"},
	        {"B27 legacy Rust, an impl",
	         "_ZN4core3fmt52_$LT$impl$u20$core..fmt..Display$u20$for$u20$u32$GT$"
	         "3fmt17h0000000000000000E",
	         "core::fmt::<impl core::fmt::Display for u32>::fmt",
	         "core::fmt::<impl core::fmt::Display for u32>::fmt"},
	        {"B27 legacy Rust, a closure",
	         "_ZN4main28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE", "main::{{closure}}",
	         "main::{{closure}}"},
	        {"legacy Rust, a size too large", "_ZN9core17h0123456789abcdefE",
	         "_ZN9core17h0123456789abcdefE", "_ZN9core17h0123456789abcdefE"},
	        {"Mach-O's underscore", "__Z1fi", "f(int)", "f"},
	        {"a sign of template arguments", "_ZN1AIXltLi1ELi2EEE1fEv", "A<(1)<(2)>::f()",
	         "A::f"},
	        {"and a shift", "_ZN1AIXrsLi8ELi2EEE1fEv", "A<(8)>>(2)>::f()", "A::f"},
	        {"an operator as an argument", "_Z1fIXadL_ZltRK1AS2_EEEvv",
	         "f<&(operator<(A const&, A const&))>()", "f"},
	        {"operator- with arguments", "_ZN1AmiIlEEiT_", "A::operator-<long>(long)",
	         "A::operator-"},
	        {"operator> with arguments", "_ZN1AgtIlEEiT_", "A::operator><long>(long)",
	         "A::operator>"},
	        {"operator<=> with arguments", "_ZN1AssIiEEiT_", "A::operator<=><int>(int)",
	         "A::operator<=>"},
	        {"operator() with arguments", "_ZN1AclIiEEiT_", "A::operator()<int>(int)",
	         "A::operator()"},
	        {"operator new[]", "_ZN1AnaEm", "A::operator new[](unsigned long)",
	         "A::operator new[]"},
	        {"a literal's operator", "_Zli2_xy", "operator\"\" _x(unsigned long long)",
	         "operator\"\" _x"},
	        {"conversion to a function", "_ZN1AcvPFviEEv", "A::operator void (*)(int)()",
	         "A::operator void (*)(int)"},
	        {"and to another", "_ZN1AcvPFvvEEv", "A::operator void (*)()()",
	         "A::operator void (*)()"},
	        {"conversion to a template", "_ZNK1AcvSt6vectorIiSaIiEEEv",
	         "A::operator std::vector<int, std::allocator<int> >() const",
	         "A::operator std::vector<int, std::allocator<int> >"},
	        {"a function that returns one", "_Z1fIiEPFvT_Ei", "f<int>(int)", "f"},
	        {"a lambda within a template", "_ZZ1fIiET_S0_ENKUlvE_clEv",
	         "f<int>(int)::{lambda()#1}::operator()() const", "f::{lambda()#1}::operator()"},
	        {"several clones", "_Z1fv.isra.0.constprop.0",
	         "f() [clone .isra.0] [clone .constprop.0]",
	         "f [clone .isra.0] [clone .constprop.0]"},
	        {"B27 Rust v0", "_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar",
	         "mycrate::foo::bar"},
	        {"B27 Rust v0, trait", "_RNvXCs1234_7mycrateNtB2_1SNtB2_1T1m",
	         "<mycrate::S as mycrate::T>::m", "<mycrate::S as mycrate::T>::m"},
	        {"B27 Rust v0, a letter as an argument", "_RINvCs1234_1r1cKc3c_EB2_", "r::c::<'<'>",
	         "r::c"},
	        {"B26 Go", "net/http.(*Conn).serve", "net/http.(*Conn).serve",
	         "net/http.(*Conn).serve"},
	        {"D", "_D3foo3barFZv", "foo.bar()", "foo.bar"},
	        {"D, a template", "_D6shapes__T4PairTiZQi4stepMFZi",
	         "shapes.Pair!(int).Pair.step()", "shapes.Pair.Pair.step"},
	        {"D, return scope", "_D3foo3barFNkMAaZv", "foo.bar(scope return char[])",
	         "foo.bar"},
	        {"Swift", "$s4main3fooyyF", "$s4main3fooyyF", "$s4main3fooyyF"},
	        {"OCaml", "camlStdlib__List__map_355", "camlStdlib__List__map_355",
	         "camlStdlib__List__map_355"},
	        {"not really C++", "_Zq", "_Zq", "_Zq"},
	};
	struct buf text = {0};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct slice name = {rows[i].name, strlen(rows[i].name)};

		demangle(name, DEMANGLE_NONE, &text);
		cr_assert(strcmp(buf_text(&text), rows[i].name) == 0, "%s: none", rows[i].label);
		if (rows[i].full) {
			demangle(name, DEMANGLE_FULL, &text);
			cr_expect(strcmp(buf_text(&text), rows[i].full) == 0, "%s: '%s'",
			          rows[i].label, text.at);
		}
		if (rows[i].brief) {
			demangle(name, DEMANGLE_SHORT, &text);
			cr_expect(strcmp(buf_text(&text), rows[i].brief) == 0, "%s: '%s'",
			          rows[i].label, text.at);
		}
	}
	buf_release(&text);
}

Test(demangle, short_keeps_what_is_a_name)
{
	static const char *const rows[][2] = {
	        {"std::_Function_handler<void (int&), f()::{lambda(int&)#1}>::_M_invoke(int)",
	         "std::_Function_handler::_M_invoke"},
	        {"A<(x->y)>::operator->*<int>(int) const", "A::operator->*"},
	        {"operator<< <char>(std::ostream&)", "operator<<"},
	        {"a::operator bool() const", "a::operator bool"},
	        {"alloc::vec::Vec<T>::push", "alloc::vec::Vec::push"},
	        {"core::ptr::drop_in_place::<[u8; 4]>", "core::ptr::drop_in_place"},
	        {"unbalanced<int", "unbalanced<int"},
	        {"f(int", "f(int"},
	        {"(anonymous namespace)::f(int)", "(anonymous namespace)::f"},
	        {"f(int) [clone .cold]", "f [clone .cold]"},
	        {"<A<(u8, i16)>>::f::<B<(u8)>>", "<A<(u8, i16)>>::f"},
	        {"f::<<A as B>::g::{closure#0}, !>", "f"},
	        {"x!(int, \"a<b(c\").x(int)", "x.x"},
	        {"f()::{lambda(g()::{lambda(A<int>)#1})#2}::operator()<int>(int)",
	         "f::{lambda(g()::{lambda(A<int>)#1})#2}::operator()"},
	        {"X<A::operator()<int>(int)::{lambda()#1}>::f()", "X::f"},
	        {"A::operator newer()", "A::operator newer"},
	        {"operators<int>::f()", "operators::f"},
	        {"f(int) const::{lambda()#1}::operator()() const", "f::{lambda()#1}::operator()"},
	};
	struct buf text = {0};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		demangle_shorten((struct slice){rows[i][0], strlen(rows[i][0])}, &text);
		cr_expect(strcmp(buf_text(&text), rows[i][1]) == 0, "'%s' gives '%s'", rows[i][0],
		          text.at);
	}
	buf_release(&text);
}

/* A name of a few hundred letters that stands for more than memory can hold. */
Test(demangle, is_bounded)
{
	struct buf name = {0}, text = {0};

	buf_string(&name, "_Z1fSt4pairIiiE");
	for (int i = 0; i < 60; i++)
		buf_printf(&name, "St4pairIS%c_S%c_E", i % 2 ? '0' : '1', i % 2 ? '1' : '0');
	demangle((struct slice){name.at, name.size}, DEMANGLE_FULL, &text);
	cr_assert(text.size <= DEMANGLE_MAX_OUT);
	buf_reset(&name);
	for (int i = 0; i < 100000; i++)
		buf_string(&name, i ? "P" : "_Z1f");
	demangle((struct slice){name.at, name.size}, DEMANGLE_FULL, &text);
	cr_assert(text.size == name.size);
	buf_release(&name);
	buf_release(&text);
}

/* ---- this very program ---- */

Test(symbolize, own_function_and_labels)
{
	struct module_options options = {.live = true};
	struct strtab names = {0};
	struct symbolize_options how = {.names = &names};
	struct modules *modules = modules_new(&options);
	struct symbolizer *symbolizer = symbolizer_new(modules, &how);
	struct module_key key = {.kind = MODULE_FILE, .path = "/proc/self/exe", .pid = -1};
	struct module *module = modules_intern(modules, &key);
	static struct symbol out[SYMBOLIZE_MAX];
	const struct elffile *elf = module_elf(modules, module);
	uint64_t vaddr;

	cr_assert(elf != NULL);
	cr_assert(modules_intern(modules, &key) == module);
	/* an offset in no function: the ELF header */
	cr_assert(symbolize(symbolizer, module, 8, false, out) == 1);
	cr_assert(strcmp(strtab_text(&names, out[0].name), "[exe]") == 0);
	cr_assert(!out[0].resolved);
	for (uint64_t off = 0; off < elf->size; off += 4096)
		cr_assert(symbolize(symbolizer, module, off, true, out) >= 1);
	cr_assert(!elffile_vaddr(elf, UINT64_MAX, &vaddr));
	key = (struct module_key){.kind = MODULE_FILE, .path = "/gone (deleted)", .pid = -1};
	module = modules_intern(modules, &key);
	symbolize(symbolizer, module, 0x1000, false, out);
	cr_assert(strcmp(strtab_text(&names, out[0].name), "[gone]") == 0, "%s",
	          strtab_text(&names, out[0].name));
	cr_assert(strcmp(module_why(module), "not found") == 0, "%s", module_why(module));
	key = (struct module_key){.kind = MODULE_JIT, .path = "//anon", .pid = 999999999};
	symbolize(symbolizer, modules_intern(modules, &key), 0x1000, false, out);
	cr_assert(strcmp(strtab_text(&names, out[0].name), "[jit]") == 0);
	symbolizer_free(symbolizer);
	modules_free(modules);
	strtab_release(&names);
}

Test(symbolize, B55_vdso)
{
	struct module_options options = {0};
	struct strtab names = {0};
	struct symbolize_options how = {.names = &names};
	struct modules *modules = modules_new(&options);
	struct symbolizer *symbolizer = symbolizer_new(modules, &how);
	struct module_key key = {.kind = MODULE_VDSO, .path = "[vdso]", .pid = 1};
	struct module *module = modules_intern(modules, &key), *other;
	static struct symbol out[SYMBOLIZE_MAX];
	bool found = false;

	for (uint64_t off = 0; off < 16384 && !found; off += 4) {
		symbolize(symbolizer, module, off, false, out);
		found = strstr(strtab_text(&names, out[0].name), "vdso_clock_gettime") != NULL;
	}
	cr_assert(found);
	key.build_id = (struct build_id){4, {1, 2, 3, 4}};
	other = modules_intern(modules, &key);
	cr_assert(module_elf(modules, other) == NULL);
	cr_assert(strcmp(module_why(other), "build-id differs") == 0);
	symbolizer_free(symbolizer);
	modules_free(modules);
	strtab_release(&names);
}

/* ---- jitdump ---- */

static void put(struct buf *to, uint64_t value, unsigned size)
{
	buf_add(to, &value, size);
}

static void put_header(struct buf *to)
{
	put(to, 0x4A695444, 4);
	put(to, 1, 4);
	put(to, 40, 4);
	put(to, 62, 4);
	put(to, 0, 4);
	put(to, 4242, 4);
	put(to, 0, 8);
	put(to, 0, 8);
}

static void put_load(struct buf *to, uint64_t time, uint64_t address, uint64_t size, uint64_t index,
                     const char *name)
{
	put(to, 0, 4);
	put(to, 16 + 40 + strlen(name) + 1 + size, 4);
	put(to, time, 8);
	put(to, 4242, 4);
	put(to, 4242, 4);
	put(to, address, 8);
	put(to, address, 8);
	put(to, size, 8);
	put(to, index, 8);
	buf_add(to, name, strlen(name) + 1);
	for (uint64_t i = 0; i < size; i++)
		buf_char(to, '\x90');
}

static void put_move(struct buf *to, uint64_t time, uint64_t from, uint64_t address, uint64_t size,
                     uint64_t index)
{
	put(to, 1, 4);
	put(to, 16 + 48, 4);
	put(to, time, 8);
	put(to, 4242, 4);
	put(to, 4242, 4);
	put(to, address, 8);
	put(to, from, 8);
	put(to, address, 8);
	put(to, size, 8);
	put(to, index, 8);
}

/*
 * .eh_frame of code of that size, as if it lay behind it: the CFA is rsp + 8,
 * from the fourth byte on rsp + cfa. LSB 5.0 Core, 10.6.1.
 */
static void put_unwinding(struct buf *to, uint64_t size, uint8_t cfa)
{
	static const uint8_t cie[] = {20,   0,   0, 0, 0,    0,  0, 0,    1,
	                              'z',  'R', 0, 1, 0x78, 16, 1, 0x1b, /* pcrel, sdata4 */
	                              0x0c, 7,   8,                       /* def_cfa rsp + 8 */
	                              0x90, 1,                            /* RA at CFA - 8 */
	                              0,    0};
	const uint64_t fde = sizeof(cie), where = (size + 7) / 8 * 8;

	put(to, 4, 4);
	put(to, 16 + 24 + fde + 24 + 8, 4);
	put(to, 0, 8);
	put(to, fde + 24 + 8, 8);
	put(to, 8, 8);
	put(to, 0, 8);
	buf_add(to, cie, sizeof(cie));
	put(to, 20, 4);
	put(to, fde + 4, 4);                        /* back to the CIE */
	put(to, (uint32_t) - (where + fde + 8), 4); /* where the code begins */
	put(to, size, 4);
	put(to, 0, 1);
	put(to, 0x44, 1); /* advance 4 */
	put(to, 0x0e, 1); /* def_cfa_offset */
	put(to, cfa, 1);
	put(to, 0, 4);
	put(to, 0, 8); /* a header of 8 bytes */
}

static void check_rule(struct jitdump *jitdump, uint64_t address, int32_t cfa)
{
	const struct cfi_rule *rule = jitdump_rule(jitdump, address, UINT64_MAX);

	cr_assert(rule ? rule->cfa.kind == CFI_IS_CFA && rule->cfa.reg == 7 && rule->cfa.n == cfa &&
	                          rule->ra.kind == CFI_AT_CFA && rule->ra.n == -8 :
	                 cfa == 0,
	          "%llx: %d", (unsigned long long)address, rule ? rule->cfa.n : 0);
}

Test(jitdump, code_brings_its_unwinding_information)
{
	struct buf dump = {0};
	struct jitdump *jitdump;

	put_header(&dump);
	put_unwinding(&dump, 0x21, 40);
	put_load(&dump, 100, 0x1000, 0x21, 1, "with");
	put_load(&dump, 100, 0x2000, 0x20, 2, "without");
	put_unwinding(&dump, 0x30, 56);
	put_load(&dump, 100, 0x3000, 0x30, 3, "moves");
	put_move(&dump, 200, 0x3000, 0x5000, 0x30, 3);
	/* more than the record holds */
	put(&dump, 4, 4);
	put(&dump, 16 + 24, 4);
	put(&dump, 0, 8);
	put(&dump, 1000, 8);
	put(&dump, 8, 8);
	put(&dump, 0, 8);
	put_load(&dump, 300, 0x6000, 0x20, 4, "cut off");
	jitdump = jitdump_parse(dump.at, dump.size);
	cr_assert(jitdump != NULL);
	check_rule(jitdump, 0x1000, 8);
	check_rule(jitdump, 0x1003, 8);
	check_rule(jitdump, 0x1004, 40);
	check_rule(jitdump, 0x1020, 40);
	check_rule(jitdump, 0x1021, 0);
	check_rule(jitdump, 0x2010, 0);
	check_rule(jitdump, 0x5002, 8);
	check_rule(jitdump, 0x502f, 56);
	check_rule(jitdump, 0x6000, 0);
	jitdump_free(jitdump);
	buf_release(&dump);
}

/* pairs of address and line, then 0 */
static void put_lines(struct buf *to, uint64_t address, const char *file, const uint64_t *pairs)
{
	size_t nr = 0, at = to->size;
	uint32_t size;

	put(to, 2, 4);
	put(to, 0, 4);
	put(to, 50, 8);
	put(to, address, 8);
	while (pairs[2 * nr])
		nr++;
	put(to, nr, 8);
	for (size_t i = 0; i < nr; i++) {
		put(to, pairs[2 * i], 8);
		put(to, pairs[2 * i + 1], 4);
		put(to, 0, 4);
		buf_add(to, i ? "\xff" : file, strlen(i ? "\xff" : file) + 1);
	}
	size = (uint32_t)(to->size - at);
	memcpy(to->at + at + 4, &size, 4);
}

static uint32_t jit_line(struct jitdump *jitdump, uint64_t address, uint64_t time)
{
	const char *file = NULL;
	const struct jitdump_code *code = jitdump_find(jitdump, address, time);
	uint32_t line = jitdump_line(jitdump, code, address, &file);

	cr_expect(!line || strcmp(file, "/src/a.js") == 0, "%s", file);
	return line;
}

Test(jitdump, lines)
{
	static const uint64_t plain[] = {0x1000, 10, 0x1010, 11, 0x1018, 12, 0},
	                      shifted[] = {0x2040, 20, 0x2050, 21, 0}, outside[] = {0x9000, 1, 0};
	struct buf dump = {0};
	struct jitdump *jitdump;

	put_header(&dump);
	put_lines(&dump, 0x1000, "/src/a.js", plain);
	put_load(&dump, 100, 0x1000, 0x20, 1, "f");
	put_lines(&dump, 0x2000, "/src/a.js", shifted);
	put_load(&dump, 100, 0x2000, 0x20, 2, "as V8 does");
	put_load(&dump, 100, 0x3000, 0x20, 3, "without");
	put_lines(&dump, 0x4000, "/src/a.js", outside);
	put_load(&dump, 100, 0x4000, 0x20, 4, "lines of something else");
	put_lines(&dump, 0x5000, "\x04\x11", (const uint64_t[]){0x5000, 1, 0});
	put_load(&dump, 100, 0x5000, 0x20, 5, "no file name");
	put_move(&dump, 300, 0x1000, 0x6000, 0x20, 1);
	jitdump = jitdump_parse(dump.at, dump.size);
	cr_assert(jitdump != NULL);
	cr_expect_eq(jit_line(jitdump, 0x1000, 150), 10);
	cr_expect_eq(jit_line(jitdump, 0x100f, 150), 10);
	cr_expect_eq(jit_line(jitdump, 0x1017, 150), 11);
	cr_expect_eq(jit_line(jitdump, 0x101f, 150), 12);
	cr_expect_eq(jit_line(jitdump, 0x2004, 150), 20);
	cr_expect_eq(jit_line(jitdump, 0x2010, 150), 21);
	cr_expect_eq(jit_line(jitdump, 0x3000, 150), 0);
	cr_expect_eq(jit_line(jitdump, 0x4000, 150), 0);
	cr_expect_eq(jit_line(jitdump, 0x5000, 150), 0);
	cr_expect_eq(jit_line(jitdump, 0x6011, 350), 11, "lines move with the code");
	jitdump_free(jitdump);
	buf_release(&dump);
}

static void check_jit(struct jitdump *jitdump, uint64_t address, uint64_t time, const char *want)
{
	const struct jitdump_code *code = jitdump_find(jitdump, address, time);

	cr_assert(code ? want && strcmp(code->name, want) == 0 : !want, "%llx at %llu: %s",
	          (unsigned long long)address, (unsigned long long)time,
	          code ? code->name : "nothing");
}

Test(jitdump, B53_right_over_time)
{
	struct buf dump = {0};
	struct jitdump *jitdump;

	put_header(&dump);
	put_load(&dump, 100, 0x1000, 0x20, 1, "old");
	put_load(&dump, 100, 0x2000, 0x20, 2, "moves away");
	put_load(&dump, 200, 0x1000, 0x20, 3, "new");
	put_move(&dump, 300, 0x2000, 0x3000, 0x20, 2);
	put_load(&dump, 400, 0x0ff0, 0x100, 4, "over all");
	/* lines of code, and a last record that was cut off */
	put(&dump, 2, 4);
	put(&dump, 32, 4);
	put(&dump, 450, 8);
	put(&dump, 0, 8);
	put(&dump, 0, 8);
	put(&dump, 0, 4);
	put(&dump, 100, 4);
	jitdump = jitdump_parse(dump.at, dump.size);
	cr_assert(jitdump != NULL);
	cr_assert(!jitdump->is_bad);
	check_jit(jitdump, 0x1000, 150, "old");
	check_jit(jitdump, 0x101f, 250, "new");
	check_jit(jitdump, 0x1010, 450, "over all");
	check_jit(jitdump, 0x1020, 150, "over all");
	check_jit(jitdump, 0x2000, 350, "moves away");
	check_jit(jitdump, 0x3010, 350, "moves away");
	check_jit(jitdump, 0x3020, 350, NULL);
	/* sampled before it was announced */
	check_jit(jitdump, 0x1000, 50, "old");
	jitdump_free(jitdump);
	cr_assert(jitdump_parse("not a dump, but as long as a header would be", 44) == NULL);
	cr_assert(jitdump_parse("x", 1) == NULL);
	buf_release(&dump);
}
