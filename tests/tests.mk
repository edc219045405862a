# Targets that test, check and measure. Included by the Makefile.

.SECONDARY:

libs_of_tools = $(TOOLS:%=$(BUILD)/lib%.a) $(BUILD)/libshare.a

unit_tests := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/test_*.c))

$(BUILD)/unit/%: $(BUILD)/tests/unit/%.o $(libs_of_tools)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(mode_flags) $(LDFLAGS) -pthread -o $@ $< -Wl,--start-group $(libs_of_tools) -Wl,--end-group $(libs_all) -lcriterion

# Each fuzz target also links to a plain driver that replays its corpus.
fuzz_targets := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
fuzz_driver = $(if $(filter fuzz,$(MODE)),-fsanitize=fuzzer,$(BUILD)/tests/fuzz/driver.o)

$(BUILD)/fuzz/%: $(BUILD)/tests/fuzz/%.o $(libs_of_tools) $(if $(filter fuzz,$(MODE)),,$(BUILD)/tests/fuzz/driver.o)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(mode_flags) $(LDFLAGS) -pthread -o $@ $< $(fuzz_driver) -Wl,--start-group $(libs_of_tools) -Wl,--end-group $(libs_all)

$(BUILD)/fault/inject.so: tests/fault/inject.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(our_cflags) -O2 -fPIC -shared -o $@ $< -ldl

# programs that test scripts run
helper_programs := $(BUILD)/symbols/names_at $(BUILD)/unwind/truth $(BUILD)/unwind/truth_aarch64 \
	$(BUILD)/symbols/without_openat2 $(BUILD)/bench/unwind

$(helper_programs): $(BUILD)/%: $(BUILD)/tests/%.o $(libs_of_tools)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(mode_flags) $(LDFLAGS) -pthread -o $@ $< -Wl,--start-group $(libs_of_tools) -Wl,--end-group $(libs_all)

mode_flags_plain :=
mode_flags_sanitize := -fsanitize=address,undefined -fno-sanitize-recover=all -O1
mode_flags_fuzz := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -O1
mode_flags_lint := -fanalyzer
mode_flags_coverage := --coverage -O0
mode_flags_tsan := -fsanitize=thread -O1
mode_flags = $(mode_flags_$(MODE))

.PHONY: deps
deps: ## install the Debian packages that building and testing need
	tests/lib/deps

.PHONY: check test-programs
test-programs: all $(unit_tests) $(fuzz_targets) $(helper_programs) $(sample_programs) \
	$(if $(filter plain,$(MODE)),$(BUILD)/fault/inject.so)
check: test-programs ## run every test on what is installed (WITHOUT='live/ browser/': all but these)
	tests/run --mode $(MODE) --bin $(BIN) --build $(BUILD) $(WITHOUT:%=--without %)

.PHONY: test
test: ## install what is missing, build, and run every test
	tests/lib/deps
	$(MAKE) check

.PHONY: sanitize
sanitize: ## the suite under ASan, UBSan and LeakSanitizer (WITHOUT= as above)
	$(MAKE) check MODE=sanitize

.PHONY: valgrind
valgrind: all ## the golden cases of each tool under valgrind
	@mkdir -p build/valgrind/bin
	@for tool in $(TOOLS); do ln -sf $(CURDIR)/tests/lib/under_valgrind build/valgrind/bin/$$tool; done
	tests/run --mode valgrind --bin build/valgrind/bin --build build/valgrind golden/

.PHONY: tsan coverage fuzz golden-update
tsan: ## the threaded paths under ThreadSanitizer
	$(MAKE) all build/tsan/bench/unwind MODE=tsan
	tests/run --mode tsan --bin build/tsan/bin --build build/tsan threads

coverage: ## run the suite instrumented, print line coverage by file
	$(MAKE) check MODE=coverage || true
	tests/lib/coverage build/coverage

FUZZ_SECONDS ?= 60
fuzz: ## run each fuzz target FUZZ_SECONDS long, keep what it finds
	$(MAKE) MODE=fuzz CC=clang $(patsubst tests/fuzz/%.c,build/fuzz/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
	FUZZ_SECONDS=$(FUZZ_SECONDS) tests/lib/fuzz

golden-update: all ## rewrite the golden files from what the tools print now
	GOLDEN_UPDATE=1 tests/run --bin $(BIN) --build $(BUILD) golden/

.PHONY: check-fleet
check-fleet: all ## many machines: ClickHouse table, loader and queries, 10 million rows (installs the server)
	samples/fleet/check

MINUTES ?= 20
.PHONY: soak
soak: all ## collect into an archive for MINUTES under a wearing load, then judge sizes, gaps and sums
	tests/soak/run $(MINUTES)

.PHONY: bench bench-save
bench: all $(BUILD)/bench/measure $(BUILD)/bench/unwind ## costs of every tool beside a yardstick, in one table
	tests/bench/run $(BENCH)

bench-save: all $(BUILD)/bench/measure $(BUILD)/bench/unwind ## the same, with a dated line kept per row
	tests/bench/run --save tests/bench/history.tsv $(BENCH)

$(BUILD)/bench/measure: $(BUILD)/tests/bench/measure.o
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $<

# ---- checks that need no run ----

c_files := $(wildcard */*.c */*.h collapse/*/*.c collapse/*/*.h collect/*/*.c tests/*/*.c tests/*/*.h samples/*.c samples/*/*.c)

.PHONY: lint format check-headers check-layers check-manuals
# The analyzer of gcc 12 does not see that a NULL goes with a size of 0, nor
# that memory which is there on one path was needed on that path only: what it
# says of NULL is printed, not an error.
lint: check-headers check-layers check-manuals tidy ## warnings as errors, gcc's analyzer, clang-tidy, layers, headers, format
	$(MAKE) all MODE=lint CFLAGS='-O2 -g -Werror -Wno-error=analyzer-null-dereference -Wno-error=analyzer-null-argument'
	@clang-format --dry-run -Werror $(c_files)

# One file a run: with more, clang-tidy 14 takes a va_list for uninitialized.
.PHONY: tidy
tidy: ## clang-tidy on the four tools; .clang-tidy says why a check is off
	@echo $(filter-out tests/% samples/%,$(filter %.c,$(c_files))) | tr ' ' '\n' | \
		xargs -P $$(nproc) -I {} sh -c 'clang-tidy --quiet {} -- $(our_cflags) $(package_cflags) 2>/dev/null'

format: ## let clang-format decide
	clang-format -i $(c_files)

check-headers: ## each header compiles alone
	@for header in $(wildcard $(addsuffix /*.h,share $(TOOLS)) collapse/*/*.h); do \
		echo "#include \"$$header\"" | $(CC) $(our_cflags) $(package_cflags) -Werror -fsyntax-only -x c - || exit 1; \
	done

check-layers: ## tools include share/ and themselves only, share/ itself only
	@! grep -nE '#include "($(subst $(space),|,$(TOOLS)))/' share/*.[ch]
	@for tool in $(TOOLS); do \
		! grep -nE '#include "($(subst $(space),|,$(TOOLS)))/' $$tool/*.[ch] $$tool/*/*.[ch] 2>/dev/null | grep -v "#include \"$$tool/" || exit 1; \
	done

check-manuals: all ## every option of --help stands in the manual page, and no other
	tests/lib/manuals
