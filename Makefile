# Needs git, make and Python 3.11 or newer; everything else is installed into .venv, and Chromium,
# for the tests of the page, by the system's package manager.
PYTHON ?= python3
export UV_COMPILE_BYTECODE = 1
BIN = .venv/bin
UV = $(BIN)/uv
# What runs on Postgres as it does on SQLite.
BOTH = tests/acceptance tests/integration/test_stations.py tests/integration/test_stalls.py tests/integration/test_leases.py tests/integration/test_wishes.py tests/integration/test_closing.py tests/crash/test_kill.py tests/crash/test_stop.py tests/crash/test_shutdown.py tests/crash/test_streams.py
# What of these make test runs on Postgres: what asks most of the database, the longest first. make stress runs all.
# Kills and stops on Postgres are tried by tests/crash/test_machines_*.py, which have one of their own.
ON_POSTGRES = $(addprefix tests/,integration/test_stalls.py integration/test_leases.py integration/test_wishes.py integration/test_closing.py acceptance/test_verbs.py integration/test_stations.py)
# What has full counts with MOOT_STRESS=1; of the other files, make stress runs what is marked stress.
FULL = $(wildcard tests/crash tests/simulation tests/unit tests/acceptance/test_openapi.py tests/browser/test_replay.py tests/browser/test_weight.py tests/integration/test_replay.py)
# What needs no process, browser or service but the databases of the contracts; and fewer schedules.
NEAR = tests/unit tests/contract tests/simulation/test_schedules.py
# Hundreds of processes start: what the first compiles, the others find. Of files, those of failures stay.
PYTEST = env -u PYTHONDONTWRITEBYTECODE $(BIN)/pytest -o tmp_path_retention_policy=failed
# A file stays with one worker: its tests share servers. The longest come first (tests/conftest.py).
SPREAD = --dist loadfile --no-loadscope-reorder
# Beside each other, for all cores; each says what failed, and the others still end.
BESIDE = $(MAKE) --no-print-directory --keep-going -j 3
NPM = PATH="$(CURDIR)/$(BIN):$$PATH" npm --prefix web

.PHONY: setup run serve web chromium faketime test quick check lint types page on-sqlite on-postgres near bench stress docs shots lock clean

setup: .venv/.ready

# uv comes from the lock too, so that even the installer is pinned by its hash.
.venv/.ready: requirements.lock pyproject.toml
	@echo "Setting up .venv ..."
	@$(PYTHON) -c 'import sys; sys.exit("moot needs Python 3.11 or newer; say which with PYTHON=..." if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@grep -A200 '^uv==' requirements.lock | awk 'NR>1 && /^[a-z]/{exit} {print}' > .venv/uv.lock
	@$(BIN)/python -m pip install -q --require-hashes -r .venv/uv.lock
	@$(UV) pip install -q -p $(BIN)/python --require-hashes -r requirements.lock
	@$(UV) pip install -q -p $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $@

# With the model that there is; with none, one is fetched once that this machine can run.
run: setup
	@export MOOT_HOME=$${MOOT_HOME:-$(CURDIR)/.moot}; $(BIN)/moot model fetch --if-needed && $(BIN)/moot run "Should a small team write tests before it writes code?" --format classic

serve: setup web
	@MOOT_HOME=$${MOOT_HOME:-$(CURDIR)/.moot} $(BIN)/moot serve

# The page, from web/ into src/moot/api/static; built when its sources are newer. Node is in .venv.
web: setup
	@$(BIN)/python hatch_build.py

# Chromium without its window, which takes a quarter of the time; the whole one where there is no such package.
chromium:
	@command -v chromium-headless-shell >/dev/null || { \
		echo "Installing Chromium ..."; \
		as_root=$$(test "$$(id -u)" = 0 || echo sudo); \
		$$as_root apt-get -qq update; \
		$$as_root apt-get -qq install -y chromium-headless-shell >/dev/null 2>&1 || command -v chromium >/dev/null || \
			$$as_root apt-get -qq install -y chromium >/dev/null; \
	} || { echo "The tests of the page need Chromium: install it, so that 'chromium' is found."; exit 1; }

faketime:
	@ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 || { \
		echo "Installing libfaketime ..."; \
		as_root=$$(test "$$(id -u)" = 0 || echo sudo); \
		$$as_root apt-get -qq update && $$as_root apt-get -qq install -y libfaketime >/dev/null; \
	} || { echo "The tests of wrong clocks need libfaketime: install it."; exit 1; }

# Everything but the long proofs, of which it runs one of each kind (make stress runs them all).
test: setup web chromium faketime
	@echo "Running the tests on SQLite, and the most demanding of them on Postgres ..."
	+@$(BESIDE) on-sqlite on-postgres

on-sqlite:
	$(PYTEST) -n 4 $(SPREAD)

on-postgres:
	@MOOT_TEST_DATABASE=postgres $(PYTEST) -n 1 $(SPREAD) $(ON_POSTGRES) > .venv/on-postgres 2>&1; code=$$?; \
		echo "On Postgres:"; cat .venv/on-postgres; exit $$code

# For whoever works on the code: what can be known in a minute.
quick: setup lint
	+@$(BESIDE) near types

near:
	MOOT_SCHEDULES=30 $(PYTEST) -n 3 $(SPREAD) $(NEAR)

# What needs no test: style, imports, and the types of both languages.
check: setup web lint types page

lint: setup
	$(BIN)/ruff check src tests bench hatch_build.py
	$(BIN)/ruff format --check src tests bench hatch_build.py
	$(BIN)/lint-imports

types: setup
	$(BIN)/pyright

page: setup web
	$(NPM) run --silent check

# In an environment of its own: the peers' dependencies stay out of the tests'.
bench: setup
	@test -x .venv-bench/bin/python || $(UV) venv -q -p $(BIN)/python .venv-bench
	@$(UV) pip install -q -p .venv-bench/bin/python --require-hashes -r bench/requirements.lock
	PYTHONPATH=src .venv-bench/bin/python -m bench.run

# The long proofs. A schedule that breaks a rule prints its seed; each guard of guards.toml is taken out.
stress: setup web chromium faketime
	$(BIN)/python -m moot.testing.simulation --seeds 10000
	$(BIN)/python -m tests.simulation.guards
	MOOT_STRESS=1 $(PYTEST) $(FULL) -s
	MOOT_STRESS=1 $(PYTEST) -m stress $(addprefix --ignore=,$(FULL)) -s
	MOOT_STRESS=1 MOOT_TEST_DATABASE=postgres $(PYTEST) $(BOTH) -s

docs: setup
	$(BIN)/python docs/make.py

shots: setup web chromium
	PYTHONPATH=. $(BIN)/python docs/shots.py

lock:
	$(UV) pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 --group dev --all-extras pyproject.toml -o requirements.lock
	$(UV) pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 --group bench --extra cluster -c requirements.lock pyproject.toml -o bench/requirements.lock
	$(NPM) run lock

clean:
	rm -rf .venv .venv-bench .pytest_cache .ruff_cache .hypothesis dist build web/node_modules src/moot/api/static
