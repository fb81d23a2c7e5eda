# SPDX-License-Identifier: GPL-2.0
# Everything is built in build/; kernels are built in a cache outside the tree
# (see scripts/lib.sh). `make help` lists what there is.

# kbuild reads Kbuild, never this file.
KDIR	?= /lib/modules/$(shell uname -r)/build
PREFIX	?= /usr/local
DESTDIR	?=
SECONDS	?= 60
MAKEFLAGS += --no-print-directory

.PHONY: modules tools try bench bench-user fuzz precision scale results check check-debug lint install uninstall clean distclean help
.DEFAULT_GOAL := modules

modules: ## build the modules for the kernel in KDIR (default: the running one)
	@scripts/build-kdir $(KDIR)

tools: ## build cogctl, libcogwheel and user-space tests in build/; needs no kernel
	@scripts/setup tools
	@mkdir -p build
	@flock build/.lock-tools $(MAKE) -C lib O=$(CURDIR)/build
	@flock build/.lock-tools $(MAKE) -C tools O=$(CURDIR)/build
	@flock build/.lock-tools $(MAKE) -C samples/server O=$(CURDIR)/build

try: ## in a guest: load the module, play a scenario, print a short benchmark
	@scripts/try

bench: ## the whole benchmark, in a guest: a table, and build/bench.csv
	@scripts/bench

scale: ## do two CPUs do twice the work of one? in an emulated machine: build/scale.csv
	@scripts/scale

precision: ## measure how late timers fire, in a guest in virtual time: a plot, and build/precision.svg
	@scripts/precision uml

results: ## bench, with ten million timers and two CPUs too, into Documentation/results.txt: hours
	@scripts/results

bench-user: ## the kinds alone, in user space: no locks, no kernel
	@scripts/setup tools
	@$(MAKE) -C selftests/user O=$(CURDIR)/build bench-user

check: ## every test, on every kernel
	@scripts/check

check-debug: ## the long ones: every checker on, in emulated machines of two and four CPUs
	@scripts/check kernel-qemu-debug kernel-uml-debug device-all device-storm bench-debug

fuzz: ## fuzz the kinds, guided by coverage, for SECONDS=N (60)
	@scripts/setup fuzz
	@$(MAKE) -C selftests/user O=$(CURDIR)/build fuzz SECONDS=$(SECONDS)

lint: ## what kernel people's own tools say about the sources
	@scripts/lint

install: ## install the modules for KDIR, cogctl, libcogwheel, man pages, udev rule
	@scripts/install $(KDIR) "$(DESTDIR)" "$(PREFIX)"

uninstall: ## remove what install put there
	@scripts/uninstall $(KDIR) "$(DESTDIR)" "$(PREFIX)"

clean: ## remove build/
	rm -rf build

distclean: clean ## and the cache with its kernels
	@scripts/clean-cache

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo '  KDIR=DIR    the kernel headers to build against'
	@echo '  SECONDS=N   how long make fuzz takes'
	@echo '  COGWHEEL_CACHE=DIR  where kernels are kept (~/.cache/cogwheel)'
	@echo '  PREFIX=DIR  where install puts cogctl ($(PREFIX)); DESTDIR goes before it'
