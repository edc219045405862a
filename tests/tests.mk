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

mode_flags_plain :=
mode_flags_sanitize := -fsanitize=address,undefined -fno-sanitize-recover=all -O1
mode_flags_fuzz := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -O1
mode_flags_coverage := --coverage -O0
mode_flags_tsan := -fsanitize=thread -O1
mode_flags = $(mode_flags_$(MODE))

.PHONY: deps
deps: ## install the Debian packages that building and testing need
	tests/lib/deps

.PHONY: check test-programs
test-programs: all $(unit_tests) $(fuzz_targets)
check: test-programs ## run every test on what is installed
	tests/run --mode $(MODE) --bin $(BIN) --build $(BUILD)

.PHONY: test
test: ## install what is missing, build, and run every test
	tests/lib/deps
	$(MAKE) check

.PHONY: sanitize
sanitize: ## the suite under ASan, UBSan and LeakSanitizer
	$(MAKE) check MODE=sanitize
