/* test_canon.c - canonical names: each rule, alone and switched off. */
#include "share/compat.h"

#include "diff/canon.h"

#include <criterion/criterion.h>
#include <unistd.h>

/* A rule of its own changes "from" to "to"; all rules but it leave "from" alone. */
Test(canon, B45_rows)
{
	static const struct {
		const char *rule, *from, *to;
		bool root;
	} rows[] = {
	        {"hex", "0x7f12ab", "0x*", false},
	        {"hex", "[libc.so+0x29d90]", "[libc.so+0x*]", false},
	        {"hex", "7f12ab34cd56", "0x*", false},
	        {"hex", "sub_0xBEEF_[k]", "sub_0x*_[k]", false},
	        {"rust", "core::fmt::write::h0123456789abcdef", "core::fmt::write", false},
	        {"rust", "<alloc[5d82a0e9a4be9d37]::vec::Vec<u8>>::push",
	         "<alloc::vec::Vec<u8>>::push", false},
	        {"clone", "parse.isra.0", "parse", false},
	        {"clone", "parse.constprop.12", "parse", false},
	        {"clone", "parse.part.3", "parse", false},
	        {"clone", "parse.cold", "parse", false},
	        {"clone", "parse.lto_priv.0", "parse", false},
	        {"clone", "parse.llvm.8423470234", "parse", false},
	        {"clone", "parse.isra.0.part.1.cold.7", "parse", false},
	        {"clone", "tcp_ack.isra.0_[k]", "tcp_ack_[k]", false},
	        {"clone", "f(int) [clone .isra.0] [clone .cold]", "f(int)", false},
	        {"bpf", "bpf_prog_6deef7357e7b4530_sd_fw_egress", "bpf_prog_*_sd_fw_egress", false},
	        {"java", "App$$Lambda$14.run", "App$$Lambda.run", false},
	        {"java", "com.sun.proxy.$Proxy12.get", "com.sun.proxy.$Proxy.get", false},
	        {"java", "App.lambda$main$3", "App.lambda$main", false},
	        {"java", "sun.reflect.GeneratedMethodAccessor7.invoke",
	         "sun.reflect.GeneratedMethodAccessor.invoke", false},
	        {"thread", "worker-17", "worker-*", true},
	        {"thread", "kworker/3:1", "kworker/*:*", true},
	        {"thread", "kworker/u8:2-events", "kworker/u*:*-events", true},
	        {"thread", "ksoftirqd/32", "ksoftirqd/*", true},
	        {"thread", "C2 CompilerThread0", "C2 CompilerThread*", true},
	        {"thread", "GC Thread#5", "GC Thread#*", true},
	        {"version", "libssl.so.1.1", "libssl.so", false},
	        {"version", "[libc-2.31.so]", "[libc.so]", false},
	        {"version", "guava-31.1.jar", "guava.jar", false},
	        {"version", "memcpy@@GLIBC_2.14", "memcpy", false},
	        {"inline", "min_[i]", "min", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct slice from = {rows[i].from, strlen(rows[i].from)}, got;
		struct canon alone = {0}, others = {0};
		char off[32];
		struct err err;

		cr_assert_eq(canon_parse(&alone, rows[i].rule, &err), 0);
		snprintf(off, sizeof(off), "-%s", rows[i].rule);
		cr_assert_eq(canon_parse(&others, off, &err), 0);
		got = canon_name(&alone, from, rows[i].root);
		cr_assert(slice_equals(got, rows[i].to), "%s: %s became %.*s", rows[i].rule,
		          rows[i].from, (int)got.size, got.at);
		got = canon_name(&others, from, rows[i].root);
		cr_assert(slice_equals(got, rows[i].from), "without %s: %s became %.*s",
		          rows[i].rule, rows[i].from, (int)got.size, got.at);
		canon_release(&alone);
		canon_release(&others);
	}
}

Test(canon, B45_several_rules_meet)
{
	static const struct {
		const char *from, *to;
	} rows[] = {
	        {"core::fmt::write::h0123456789abcdef.llvm.99", "core::fmt::write"},
	        {"App$$Lambda$14/0x0000800000c03000.run", "App$$Lambda.run"},
	        {"App$$Lambda+0x00007f3c.run", "App$$Lambda.run"},
	        {"sort.isra.0_[i]", "sort"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct canon canon = {.rules = CANON_ALL};
		struct slice got =
		        canon_name(&canon, (struct slice){rows[i].from, strlen(rows[i].from)}, 0);

		cr_assert(slice_equals(got, rows[i].to), "%s became %.*s", rows[i].from,
		          (int)got.size, got.at);
		canon_release(&canon);
	}
}

/* What looks near to a rule's mark but is a name of its own. */
Test(canon, names_that_stay)
{
	static const struct {
		const char *name;
		bool root;
	} rows[] = {
	        {"main", false},
	        {"python3.11", true},
	        {"x264", true},
	        {"deadbeef", false},
	        {".cold", false},
	        {"foo@plt", false},
	        {"worker-17", false},
	        {"std::map<int, 0>", false},
	        {"vfs_read_[k]", false},
	        {"md5sum", true},
	        {"::h0123456789abcdef", false},
	        {"_[i]", false},
	        {"a[12]", false},
	        {"libfoo.source", false},
	        {"bpf_prog_6deef7357e7b4530", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct canon canon = {.rules = CANON_ALL};
		struct slice got = canon_name(
		        &canon, (struct slice){rows[i].name, strlen(rows[i].name)}, rows[i].root);

		cr_assert(slice_equals(got, rows[i].name), "%s became %.*s", rows[i].name,
		          (int)got.size, got.at);
		canon_release(&canon);
	}
}

Test(canon, lists)
{
	static const struct {
		const char *list;
		unsigned rules;
		int rc;
	} rows[] = {
	        {"all", CANON_ALL, 0},
	        {"none", 0, 0},
	        {"hex,rust", 1u << CANON_HEX | 1u << CANON_RUST, 0},
	        {"-hex", CANON_ALL & ~(1u << CANON_HEX), 0},
	        {"none,hex", 1u << CANON_HEX, 0},
	        {"-hex,-java", CANON_ALL & ~(1u << CANON_HEX | 1u << CANON_JAVA), 0},
	        {"hexx", 0, -1},
	        {"", 0, -1},
	        {"--hex", 0, -1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct canon canon = {0};
		struct err err;

		cr_assert_eq(canon_parse(&canon, rows[i].list, &err), rows[i].rc, "%s",
		             rows[i].list);
		if (!rows[i].rc)
			cr_assert_eq(canon.rules, rows[i].rules, "%s", rows[i].list);
		canon_release(&canon);
	}
}

Test(canon, renames)
{
	static const char file[] = "# old names\n"
	                           "^shop_v[0-9]+_(.*)$\tshop_\\1\n"
	                           "\n"
	                           "tail$\ta;b\n"
	                           "x*\t-\n";
	static const struct {
		const char *from, *to;
	} rows[] = {
	        {"shop_v12_pay", "-s-h-o-p-_-p-a-y-"},
	        {"xx", "-"},
	        {"detail", "-d-e-a-:-b-"},
	};
	char path[] = "/tmp/renames-XXXXXX";
	int fd = mkstemp(path);
	struct canon canon = {0};
	struct err err;

	cr_assert(fd >= 0 && write(fd, file, strlen(file)) == (ssize_t)strlen(file));
	cr_assert_eq(canon_read_renames(&canon, path, &err), 0, "%s", err.text);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct slice got =
		        canon_rename(&canon, (struct slice){rows[i].from, strlen(rows[i].from)});

		cr_expect(slice_equals(got, rows[i].to), "%s became %.*s", rows[i].from,
		          (int)got.size, got.at);
	}
	canon_release(&canon);
	cr_assert_eq(ftruncate(fd, 0), 0);
	cr_assert(pwrite(fd, "a(\tb\n", 5, 0) == 5);
	cr_assert_eq(canon_read_renames(&canon, path, &err), -1);
	cr_assert(strstr(err.text, "line 1"), "%s", err.text);
	canon_release(&canon);
	close(fd);
	unlink(path);
}

Test(canon, strip_hex_as_difffolded_does)
{
	struct canon canon = {.strip_hex = true};
	const char *name = "f+0x1aF_0xg_10x22";
	struct slice got = canon_rename(&canon, (struct slice){name, strlen(name)});

	cr_assert(slice_equals(got, "f+0x..._0xg_10x..."), "%.*s", (int)got.size, got.at);
	canon_release(&canon);
}
