# flame graph pipeline: collect, collapse, render, diff.
#
# `make help` lists the targets. Objects of each build mode live in their own
# folder, so that sanitizer and coverage builds never mix with plain ones.
# Sources are found by folder: TOOL/TOOL.c is a program, every other file of
# the folder and of those below it belongs to its library.

ifeq ($(origin CC),default)
CC := gcc
endif
CFLAGS ?= -O2 -g
PREFIX ?= /usr/local
PROGRAM_PREFIX ?= flame-
bindir ?= $(PREFIX)/bin
libdir ?= $(PREFIX)/lib
mandir ?= $(PREFIX)/share/man
INSTALL ?= install
PKG_CONFIG ?= pkg-config
V ?= 0
MODE ?= plain

TOOLS := collect collapse render diff
BUILD := build/$(MODE)
BIN := $(if $(filter plain,$(MODE)),bin,$(BUILD)/bin)
empty :=
space := $(empty) $(empty)
Q := $(if $(filter 0,$(V)),@,)

our_cflags := -std=gnu17 -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes \
	-Wvla -Wformat=2 -I. -I$(BUILD) -pthread -fno-omit-frame-pointer

# a package that is missing is named by pkg-config itself
packages := libdw libelf libzstd zlib libxml-2.0 libcjson liblzma gsl
ifeq ($(filter deps help clean distclean format,$(MAKECMDGOALS)),)
ifneq ($(shell $(PKG_CONFIG) --exists $(packages) && echo yes),yes)
ifeq ($(filter demo test,$(MAKECMDGOALS)),)
$(error packages are missing ($(shell $(PKG_CONFIG) --print-errors --exists $(packages) 2>&1 | grep -o "'[^']*'" | sort -u | tr '\n' ' ')); `make deps` installs them)
endif
endif
endif
package_cflags := $(shell $(PKG_CONFIG) --cflags $(packages) 2>/dev/null)

# collect depends on libc alone
libs_collect :=
libs_collapse = $(shell $(PKG_CONFIG) --libs libdw libelf libzstd zlib libxml-2.0 libcjson liblzma) -liberty -ldl -lm
libs_render = $(shell $(PKG_CONFIG) --libs libzstd zlib libcjson) -lm
libs_diff = $(shell $(PKG_CONFIG) --libs libzstd zlib libxml-2.0 libcjson gsl)
libs_all = $(libs_collapse) $(libs_diff)

sample_programs := $(patsubst samples/%.c,$(BUILD)/samples/%,$(wildcard samples/*.c))

.DEFAULT_GOAL := all
include tests/tests.mk

programs := $(TOOLS:%=$(BIN)/%)
share_objects := $(patsubst %.c,$(BUILD)/%.o,$(wildcard share/*.c))
# collect/preload is a library of its own, for other programs to load
objects_of = $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(1)/$(1).c collect/preload/%,$(wildcard $(1)/*.c $(1)/*/*.c)))

.PHONY: all
all: $(programs) ## build the four programs into bin/

$(BUILD)/libshare.a: $(share_objects)
	$(Q)rm -f $@; $(AR) rcs $@ $^

define tool_rules
$(BUILD)/lib$(1).a: $(call objects_of,$(1))
	$(Q)rm -f $$@; $(AR) rcs $$@ $$^
$(BIN)/$(1): $(BUILD)/$(1)/$(1).o $(BUILD)/lib$(1).a $(BUILD)/libshare.a
	@mkdir -p $$(@D)
	@echo "  LD      $$@"
	$(Q)$(CC) $(CFLAGS) $(mode_flags) $(LDFLAGS) -pthread -o $$@ $$^ $(LDLIBS) $$(libs_$(1))
endef
$(foreach tool,$(TOOLS),$(eval $(call tool_rules,$(tool))))

# what the signal sampler loads into programs; libc alone
sampler := $(BIN)/libcollect-signal.so
all: $(sampler)
$(sampler): collect/preload/sampler.c collect/sigring.h share/compat.h
	@mkdir -p $(@D)
	@echo "  LD      $@"
	$(Q)$(CC) $(our_cflags) $(CPPFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -shared -o $@ $< $(LDFLAGS)

# one file that runs on any Linux of the same processor
.PHONY: static
static: bin/collect-static ## build collect as one static file, to copy to a server
$(BUILD)/static/library.o: collect/library.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(our_cflags) $(CPPFLAGS) $(CFLAGS) -DSTATIC_PROGRAM -c -o $@ $<
bin/collect-static: $(BUILD)/collect/collect.o $(BUILD)/static/library.o $(BUILD)/libcollect.a $(BUILD)/libshare.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -static -o $@ $^ $(LDLIBS)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) $(our_cflags) $(package_cflags) $(CPPFLAGS) $(CFLAGS) $(mode_flags) -MMD -MP -c -o $@ $<

# text files that programs carry: FILE.js -> BUILD/FILE.js.inc, a C array body
$(BUILD)/%.inc: %
	@mkdir -p $(@D)
	$(Q)od -An -v -tx1 $< | sed 's/\([0-9a-f][0-9a-f]\)/0x\1,/g' >$@
$(BUILD)/render/source.o: $(patsubst %,$(BUILD)/%.inc,$(wildcard render/*.js render/*.css))

-include $(shell test -d $(BUILD) && find $(BUILD) -name '*.d')

# programs that are looked at: built with frame pointers, so that every call
# graph mode has a whole stack to show
$(BUILD)/samples/%: samples/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 -O2 -g -Wall -Wextra -fno-omit-frame-pointer -pthread -o $@ $<

.PHONY: demo
demo: ## set up, record this machine for 5 s, draw flame.svg
	@tests/lib/deps
	@$(MAKE) --no-print-directory all $(BUILD)/samples/busy
	@samples/demo $(BUILD)/samples/busy

# the picture in the README
samples/busy.svg: samples/busy.folded.gz $(BIN)/render
	$(Q)$(BIN)/render --title 'A small server: where its threads spend their time' $< >$@

# two deploys of one program: same name, other folder
shop := $(BUILD)/samples/v1/shop $(BUILD)/samples/v2/shop
$(BUILD)/samples/v%/shop: samples/deploy/shop.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 -O2 -g -Wall -Wextra -fno-omit-frame-pointer -DVERSION=$* -o $@ $<

.PHONY: demo-diff
demo-diff: ## profile two versions of a program three times each, report what got slower
	@tests/lib/deps
	@$(MAKE) --no-print-directory all $(shop)
	@samples/deploy/demo $(shop) $(BUILD)/deploy

.PHONY: install uninstall
install: all ## install programs and manual pages (PREFIX, DESTDIR, PROGRAM_PREFIX)
	$(INSTALL) -d $(DESTDIR)$(bindir) $(DESTDIR)$(libdir) $(DESTDIR)$(mandir)/man1
	$(INSTALL) -m 755 $(sampler) $(DESTDIR)$(libdir)/libcollect-signal.so
	for t in $(TOOLS); do \
		$(INSTALL) -m 755 bin/$$t $(DESTDIR)$(bindir)/$(PROGRAM_PREFIX)$$t && \
		$(INSTALL) -m 644 $$t/$$t.1 $(DESTDIR)$(mandir)/man1/$(PROGRAM_PREFIX)$$t.1 || exit 1; \
	done

uninstall: ## remove what install put there
	rm -f $(DESTDIR)$(libdir)/libcollect-signal.so
	for t in $(TOOLS); do \
		rm -f $(DESTDIR)$(bindir)/$(PROGRAM_PREFIX)$$t $(DESTDIR)$(mandir)/man1/$(PROGRAM_PREFIX)$$t.1; \
	done

.PHONY: clean distclean help
clean: ## remove what was built
	rm -rf build bin flame.svg
distclean: clean ## also remove what the tests fetched
	rm -rf tests/browser/node_modules

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' Makefile tests/tests.mk | sed 's/:.*## /\t/' | \
		awk -F'\t' '{printf "  %-14s %s\n", $$1, $$2}'
