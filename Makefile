# Needs git, make and Python 3.11 or newer; everything else is installed into .venv.
PYTHON ?= python3
export UV_COMPILE_BYTECODE = 1
BIN = .venv/bin
UV = $(BIN)/uv

.PHONY: setup run test check bench stress docs lock clean

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

run: setup
	@MOOT_HOME=$${MOOT_HOME:-$(CURDIR)/.moot} $(BIN)/moot run "Should a small team write tests before it writes code?" --format classic

test: setup check
	$(BIN)/pytest

check: setup
	$(BIN)/ruff check src tests bench
	$(BIN)/ruff format --check src tests bench
	$(BIN)/pyright
	$(BIN)/lint-imports

# In an environment of its own: the peers' dependencies stay out of the tests'.
bench: setup
	@test -x .venv-bench/bin/python || $(UV) venv -q -p $(BIN)/python .venv-bench
	@$(UV) pip install -q -p .venv-bench/bin/python --require-hashes -r bench/requirements.lock
	PYTHONPATH=src .venv-bench/bin/python -m bench.run

stress: setup
	MOOT_STRESS=1 $(BIN)/pytest tests/crash -s

docs: setup
	$(BIN)/python docs/make.py

lock:
	$(UV) pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 --group dev --all-extras pyproject.toml -o requirements.lock
	$(UV) pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 --group bench -c requirements.lock pyproject.toml -o bench/requirements.lock

clean:
	rm -rf .venv .venv-bench .pytest_cache .ruff_cache .hypothesis dist build
