# What a user or a contributor runs. `make` alone lists it.

SCALE  ?= 1
PREFIX ?= /usr/local
CARGO  ?= cargo

# rustup's place, and Debian's place for mariadbd, are not on every PATH.
export PATH := $(PATH):$(HOME)/.cargo/bin:/usr/sbin

TARGET := $(or $(CARGO_TARGET_DIR),target)
INRUSH := $(TARGET)/release/inrush
# The benchmarks, which inrush bench becomes; beside it.
BENCH  := $(INRUSH)-bench
# Quicker to build, slower to load: the profile in Cargo.toml.
DEMO   := $(TARGET)/demo/inrush
# Generated rows, and the servers of demo and benchmarks while they run.
ROWS   := $(abspath $(TARGET))/tpch
# Where the servers of make cluster are, and plugins that installed packages lack.
CLUSTER := $(abspath $(TARGET))/cluster
PLUGINS := $(abspath $(TARGET))/plugins

# Where readers of Parquet and Arrow are, for tests.
PYTHON := $(abspath $(TARGET))/python
# Microsoft's server of Azure Blob Storage for tests.
AZURITE := $(abspath $(TARGET))/azurite

# Tests wait for servers and disks more than half of the time.
THREADS ?= $(shell echo $$(( $$(nproc) * 5 / 2 )))

# Tests of the direct path that run on MySQL too, where it is or can be unpacked: some, and all of them.
MYSQL_SOME = crashes::kill::a_load_killed_at_any_step crashes::kill::a_replacement_killed_at_any_step \
	crashes::kill::a_server_killed_while_it_imports crashes::signals appended::a_load_killed \
	foreign_keys::a_load_killed foreign_keys::a_server_killed foreign_keys::tables_that_refer \
	replicated::loads_on_replicas_killed mysql_triggers::a_trigger_that_cannot mysql::built_tables mysql::shapes mysql::a_file_with_a_leased_extent mysql::rows_are_checked_and_compared
MYSQL_ALL  = appended:: auto_increment:: bad_file:: crashes::faults crashes::holder_lost crashes::kill \
	crashes::left_keys crashes::lost_rows crashes::panics crashes::put_aside crashes::signals exported_beside_writers:: \
	foreign_keys:: inspect:: meanwhile:: partitioned:: replicated:: replicated_several:: rights::names rights::intruders \
	several:: verified:: waits:: mysql::a_file_with_a_leased_extent mysql_triggers::
# Not on MySQL: partitions on other servers; tests of the library whose tables or numbers are MariaDB's.
MYSQL_NOT  = --skip shards:: \
	--skip partitioned::rows_are_added_to_one --skip partitioned::rows_with_keys_of_others \
	--skip partitioned::what_is_not_built
on_mysql = @if scripts/get-mariadb.sh $(SERVERS)/mysql mysql; then \
		INRUSH_TEST_MARIADBD=$(SERVERS)/mysql/bin/mysqld INRUSH_TEST_MYSQLD=$(SERVERS)/mysql/bin/mysqld \
			$(CARGO) test --locked --workspace --test main -- $(MYSQL_NOT) $(1); \
	else echo 'skipped, for MySQL cannot be had here: tests of the direct path on MySQL'; fi

# Of the soak: how long, or which case again; and on which servers.
MINUTES ?= 10
SEED    ?=
SERVERS := $(abspath $(TARGET))/servers
UNPACKED = $(foreach server,bullseye 11.4.5 trixie,$(wildcard $(SERVERS)/$(server)/bin/mariadbd)) $(wildcard $(SERVERS)/mysql/bin/mysqld)
SOAK_SERVERS ?= installed$(foreach server,$(UNPACKED),$(comma)$(server))
comma   := ,
space   := $(subst ,, )

# Of the packages: x86_64 or aarch64, and cargo's profile.
ARCH    ?= x86_64
PROFILE ?= release

.PHONY: help demo cluster cluster-stop engines test test-more test-python bench soak soak-servers fuzz fuzz-sanitized miri build dist \
	dist-test install clean

help:
	@echo 'make demo            load TPC-H lineitem (SCALE=1: 6 million rows) and compare with LOAD DATA'
	@echo 'make cluster         a server with Spider and four that have its partitions (make cluster-stop stops them)'
	@echo 'make engines         loads and exports on TiDB and Vitess: TIDB=tidb-server VITESS=folder MYSQLD=mysqld (TIDB_SOURCE, VITESS_SOURCE: sources)'
	@echo 'make test            format, lints and all tests'
	@echo 'make test-more       foreign keys under load, a race for names, random job files, backups; CI runs both'
	@echo 'make test-python     the Python package alone, on each Python that is here, after make test'
	@echo 'make bench           rows/s and MB/s of each stage, then of the whole load (SCALE=1)'
	@echo 'make soak            random tables by LOAD DATA and by Inrush, with kills (MINUTES=10; SEED=n: case n again)'
	@echo 'make soak-servers    unpack MariaDB 10.5, 11.4 and 11.8 for make soak, and MySQL; installs nothing'
	@echo 'make fuzz            parsers and readers fed with damaged input (MINUTES=10 in all)'
	@echo 'make fuzz-sanitized  archives under libFuzzer and AddressSanitizer, the C code of zstd and xz included (MINUTES=10)'
	@echo 'make miri            conversions and scanners under Miri; wants the nightly compiler'
	@echo 'make build           the inrush program, in $(INRUSH), and its benchmarks beside it'
	@echo 'make dist            packages for glibc 2.28 and newer: .deb, .rpm, wheel, tarball (ARCH=aarch64 for ARM)'
	@echo 'make dist-test       install them on a clean Debian 12 and load rows; build and run the image; wants root'
	@echo 'make install         build, then copy both to PREFIX/bin (PREFIX=$(PREFIX))'
	@echo 'make clean           remove what was built and generated'

# Scale 1 has 0.8 GB of text, 1.1 GB a finished table, and a server with a log of 4 GB.
demo:
	@scripts/setup.sh 16 demo
	@test -x $(DEMO) || echo 'Building inrush for the demo: about 4 minutes on two cores, the first time.'
	@$(CARGO) build --locked --profile demo -p inrush -p inrush-bench
	@INRUSH=$(DEMO) SCALE=$(SCALE) DEMO_DIR=$(ROWS) scripts/demo.sh

# A head with Spider and four shards, on ports of 127.0.0.1 that are free; make cluster-stop stops them.
cluster:
	@scripts/setup.sh 4 cluster
	@$(MAKE) --no-print-directory build
	@INRUSH_PLUGIN_DIR="$$(test -e $(PLUGINS)/ha_spider.so && echo $(PLUGINS))" \
		$(INRUSH) sandbox start --shards 4 --sandbox $(CLUSTER)

cluster-stop:
	@$(INRUSH) sandbox stop --sandbox $(CLUSTER)

engines: build
	@INRUSH=$(INRUSH) TIDB="$(TIDB)" VITESS="$(VITESS)" MYSQLD="$(MYSQLD)" scripts/engines.py $(CASES)

test:
	@scripts/setup.sh 8 test
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	@CARGO="$(CARGO)" RUST_TEST_THREADS=$(THREADS) scripts/test.sh
	@if ! command -v cargo-deny >/dev/null; then \
		echo 'not checked, for cargo-deny is not installed: advisories, sources, licences as texts (deny.toml)'; \
	elif ! $(CARGO) deny --locked -L error check licenses bans sources; then exit 1; \
	elif $(CARGO) deny --locked fetch db 2>/dev/null; then $(CARGO) deny --locked -L error check advisories; \
	else echo 'not checked, for they cannot be fetched: advisories (cargo deny check advisories)'; fi

# Tests that take minutes each; what was built for make test serves them: cargo would build the dependencies of one
# package (-p) anew, with fewer features.
test-more: export RUST_TEST_THREADS = $(THREADS)
test-more:
	@scripts/setup.sh 8 test
	INRUSH_TEST_KILLS=2 INRUSH_LINES=10 $(CARGO) test --locked --workspace --test main -- \
		left_keys:: oracle::
	INRUSH_CASES=9999 $(CARGO) test --locked --workspace --test main -- values_are_stored_exactly
	$(CARGO) test --locked --workspace --test main -- --ignored \
		traps:: incremental_backups:: untested:: related:: disturbed:: flushed::
	$(call on_mysql,$(MYSQL_SOME))
	@if [ -x $(SERVERS)/mysql/bin/mysqld ]; then SOAK_CASES=10 SOAK_SEED=100 SOAK_SERVERS=$(SERVERS)/mysql/bin/mysqld \
		SOAK_DIR='$(abspath $(TARGET))/soak-failed' $(CARGO) test --locked -q --workspace --test soak; fi
	@if python3 -m venv $(PYTHON) && $(PYTHON)/bin/pip install -q pyarrow duckdb polars; then \
		INRUSH_TEST_PYTHON=$(PYTHON)/bin/python $(CARGO) test --locked --workspace --test main -- read_exports; \
	else echo 'skipped, for Python packages cannot be had here: pyarrow, DuckDB and polars read exports'; fi
	@if python3 -m venv $(PYTHON) && $(PYTHON)/bin/pip install -q 'moto[server]'; then \
		INRUSH_TEST_PYTHON=$(PYTHON)/bin/python $(CARGO) test --locked --workspace --test main -- cloud:: object_store; \
	else echo 'skipped, for the Python package moto cannot be had here: loads from and exports to object stores'; fi
	@if npm install --silent --no-audit --no-fund --prefix $(AZURITE) azurite@3.37.0; then \
		INRUSH_TEST_AZURITE=$(AZURITE)/node_modules/.bin/azurite-blob \
			$(CARGO) test --locked --workspace --test main -- cloud::azure; \
	else echo 'skipped, for the package azurite of npm cannot be had here: loads from and exports to Azure'; fi
	$(MAKE) --no-print-directory test-python
	@if [ "$$(id -u)" != 0 ]; then echo 'skipped, for only root can unpack a clean Debian: packages are installed there'; \
	elif scripts/setup.sh 4 dist-test && sh -c '. packaging/common.sh && clean_debian "$$work/base"'; then \
		packaging/build.sh x86_64 debug && $(MAKE) --no-print-directory dist-test; \
	else echo 'skipped, for Debian 12 cannot be had here: packages are installed there'; fi

# The Python package on each Python that is here, with the program that make test built.
test-python:
	$(CARGO) build --locked --workspace --lib --tests
	scripts/python-tests.sh $(TARGET)/debug/inrush

bench:
	@scripts/setup.sh 16
	@$(MAKE) --no-print-directory build
	$(CARGO) bench --locked -p inrush-bench --bench stages -- --scale $(SCALE) --data-dir $(ROWS)
	$(CARGO) bench --locked -p inrush-sources --bench main -- dump
	$(INRUSH) bench tproch --schema dbgen --scale $(SCALE) --data-dir $(ROWS)
	$(INRUSH) bench replay --dumps plain --scale $(SCALE) --data-dir $(ROWS)

# Failed cases say how to have them again; their files stay.
soak:
	@scripts/setup.sh 8 test
	@SOAK_MINUTES='$(if $(SEED),,$(MINUTES))' SOAK_SEED='$(SEED)' SOAK_SERVERS='$(subst $(space),,$(SOAK_SERVERS))' \
		SOAK_DIR='$(abspath $(TARGET))/soak-failed' $(CARGO) test --locked -q -p inrush --test soak
	$(CARGO) test --locked -q -p inrush --test main -- --ignored
	INRUSH_SEED=$$(date +%s) $(CARGO) test --locked -q -p inrush-load --test main -- --ignored
	INRUSH_SEED=$$(date +%s) INRUSH_CASES=300 $(CARGO) test --locked -q -p inrush-load --test main -- columnar::
	$(CARGO) test --locked -q -p inrush-testkit --features models --test models
	INRUSH_SEED=$$(date +%s) INRUSH_MODEL_RUNS=$$(( $(MINUTES) * 50 )) \
		INRUSH_STAND_IN_ROUNDS=$$(( ($(MINUTES) + 9) / 10 )) INRUSH_FRESH=$$(( ($(MINUTES) + 4) / 5 )) \
		INRUSH_AGED=$$(( ($(MINUTES) + 4) / 5 )) INRUSH_HOSTILE_RUNS=$$(( $(MINUTES) * 20 )) $(CARGO) test --locked -q \
		-p inrush-load -p inrush-replay -p inrush-server --lib --test main -- \
		modelled stand_in fresh aged hostile nonsense --nocapture
	INRUSH_SEED=$$(date +%s) INRUSH_FRESH=$$(( ($(MINUTES) + 4) / 5 )) INRUSH_TEST_FAULTS=all INRUSH_LINES=$(MINUTES) \
		INRUSH_TEST_KILLS=all INRUSH_VARIABLES=$$(( $(MINUTES) * 20 )) INRUSH_TEST_CUTS=$$(( $(MINUTES) * 50 )) \
		$(CARGO) test --locked -q -p inrush --test main -- \
		fresh:: power:: power_cuts:: oracle:: killed:: variables:: --nocapture
	$(call on_mysql,$(MYSQL_ALL))
	@if [ -x $(SERVERS)/mysql/bin/mysqld ]; then INRUSH_SEED=$$(date +%s) INRUSH_DAMAGES=$$(( $(MINUTES) * 100 )) \
		INRUSH_TEST_MYSQLD=$(SERVERS)/mysql/bin/mysqld $(CARGO) test --locked -q -p inrush --test main -- \
		damaged:: --nocapture; fi
	scripts/sanitized.sh $$(( ($(MINUTES) + 9) / 10 ))

# On stable; for libFuzzer see CONTRIBUTING.md.
fuzz:
	INRUSH_SEED=$$(date +%s) INRUSH_FUZZ_SECONDS=$$(( $(MINUTES) * 60 / 12 )) $(CARGO) test --locked -q --profile fuzz \
		-p inrush-fuzz --test damaged -- --test-threads 1 --nocapture

# On stable too; builds for some minutes the first time.
fuzz-sanitized:
	scripts/sanitized.sh $(MINUTES)

miri:
	@scripts/miri.sh

# One that cannot be had is named, and the others are unpacked.
soak-servers:
	@for server in bullseye 11.4.5 trixie mysql; do \
		scripts/get-mariadb.sh $(SERVERS)/$$server $$server || echo "skipped: $$server cannot be had here"; \
	done

build:
	@scripts/setup.sh 4 build
	$(CARGO) build --locked --release -p inrush -p inrush-bench
	@scripts/split-debug.sh $(INRUSH)
	@scripts/split-debug.sh $(BENCH)

dist:
	@scripts/setup.sh 6 dist-$(ARCH)
	@packaging/build.sh $(ARCH) $(PROFILE)

dist-test:
	@scripts/setup.sh 4 dist-test
	@packaging/test.sh
	@packaging/image.sh

# No dependency on build: `sudo make install` must not build as root.
install:
	@if ! test -x $(INRUSH) -a -x $(BENCH); then \
		if [ -n "$$SUDO_USER" ]; then \
			echo '$(INRUSH) is missing: run make build without sudo; if CARGO_TARGET_DIR names another folder, sudo make install CARGO_TARGET_DIR=DIR' >&2; exit 1; \
		fi; $(MAKE) --no-print-directory build; \
	fi
	install -D -m 755 -t $(DESTDIR)$(PREFIX)/bin $(INRUSH) $(BENCH)

clean:
	$(CARGO) clean
