# SPDX-License-Identifier: BSD-2-Clause
#
# Targets are sentences; `make help` lists them. meson and ninja do the work
# and can be used directly: `meson setup build && ninja -C build`.

B ?= build
T ?= 60
S ?=
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)

.DEFAULT_GOAL := all
.PHONY: all run check check-guest check-peer help fmt bench bench-ring \
	prove model fuzz guest coverage clean install deps deps-build

# $(call script,path): stop with a sentence when the script is not there.
script = @test -x $(1) || { \
	echo "make $@: nothing to run, $(1) does not exist yet" >&2; exit 1; }

# all: build viaductd and viaduct in build/
all: deps-build $(B)/build.ninja
	@ninja -C $(B) -j $(JOBS)

$(B)/build.ninja:
	@meson setup --prefix=$(PREFIX) $(B)

deps-build:
	@tools/install-deps build

# run: show the main job: guests on a switch talk to each other and the host
run: all
	@tools/install-deps run
	@test -x $(B)/viaduct || { \
		echo "make run: $(B)/viaduct is not built yet" >&2; exit 1; }
	@$(B)/viaduct demo

# check: run every test suite (S="static gcc": some); the last line counts
check:
	@tools/install-deps build check prove guest
	$(call script,tools/check)
	@tools/check $(S)

# check-guest: run the whole matrix of real Linux guests in QEMU (long)
check-guest: all
	@tools/install-deps guest
	@tests/guest/check all

# check-peer: run other programs' virtio ends against ours
check-peer: all
	$(call script,tests/peer/run)
	@tools/install-deps guest
	@tests/peer/run

# bench: measure the whole way of a packet
bench: all
	$(call script,bench/run)
	@bench/run

# bench-ring: measure take and give, nanoseconds and instructions a chain
bench-ring: all
	$(call script,bench/ring)
	@tools/install-deps check
	@bench/ring

# prove: prove with Frama-C that no ring content makes take or give err
prove:
	$(call script,tests/proof/prove)
	@tools/install-deps prove
	@tests/proof/prove

# model: check with spin that no wake-up is ever lost
model:
	$(call script,tests/model/run)
	@tools/install-deps prove
	@tests/model/run

# fuzz: fuzz every parser for T seconds each (T=60)
fuzz:
	$(call script,tests/fuzz/run)
	@tools/install-deps build check
	@tests/fuzz/run $(T)

# guest: boot two Linux guests on viaductd and enter one of them
guest: all
	@tools/install-deps guest
	@tests/guest/enter

# coverage: print and demand the coverage of src/ring and src/mem
coverage:
	$(call script,tools/coverage)
	@tools/install-deps build check
	@tools/coverage

# fmt: format the sources
fmt:
	@tools/install-deps fmt
	@git ls-files '*.c' '*.h' | xargs -r clang-format -i

# deps: install everything that any target needs
deps:
	@tools/install-deps all

# install: install the programs, the library and its headers (PREFIX=)
install: all
	@meson configure $(B) --prefix=$(PREFIX)
	@meson install -C $(B)

# clean: remove everything that was built
clean:
	rm -rf build build-*

# help: print this list
help:
	@sed -n 's/^# \([a-z][a-z-]*\): \(.*\)/make \1|\2/p' Makefile | \
		awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'
