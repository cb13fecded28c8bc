# The one door: `make setup`, `make demo`, `make test`, `make check`, `make bench`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.hakiri-setup

# Compiled modules are kept, whatever the shell says: the tests start some thousand Pythons.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup demo test test-fast nightly check bench format schemas clean
.DEFAULT_GOAL := help

help:  ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

setup: $(STAMP)  ## Create .venv with everything, the `hakiri` command included

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Hakiri needs Python 3.11 or newer; call: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Setting up .venv (the first time takes a minute or two) ..." >&2
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --allow-existing --python $(PYTHON) $(VENV) && \
	  uv pip install --quiet --python $(BIN)/python -e '.[dev,java,postgres,sql]'; \
	else \
	  $(PYTHON) -m venv $(VENV) && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --use-pep517 --no-compile -e '.[dev,java,postgres,sql]'; \
	fi
	@touch $@

demo: $(STAMP)  ## Three sources, one store: plan, apply, compact, and ask
	@$(BIN)/python scripts/demo.py

check: $(STAMP)  ## Format, lint, types, and the architecture
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/pytest -q -n auto tests/architecture

test: $(STAMP)  ## All tests: fast ones first, then the proofs of the catalog, Spark, and real clusters
	@$(BIN)/pytest -q -n auto

test-fast: $(STAMP)  ## Only the fast tests
	@$(BIN)/pytest -q -n auto -m "not proof and not spark and not cluster"

nightly: $(STAMP)  ## Crashes and random examples, many more, every step of runs and compactions, a year of pulls, the archive
	@HAKIRI_CRASH_TRIES=20000 $(BIN)/pytest -q tests/pipelines/crashes tests/pipelines/crashes/nightly_steps.py
	@$(BIN)/pytest -q tests/engine/nightly_archive.py tests/engine/nightly_left_python.py
	@HAKIRI_EXAMPLES=1000 $(BIN)/pytest -q -n auto --timeout=1800 tests/core tests/manifest tests/sources tests/store -m "not spark and not cluster"
	@HAKIRI_MATRIX_EVERY=1 HAKIRI_YEAR_PULLS=35000 HAKIRI_HISTORIES=1500 HAKIRI_KILLS=500 $(BIN)/pytest -q --timeout=1800 \
	  tests/compaction/matrix tests/compaction/test_power.py tests/compaction/test_year.py tests/compaction/test_histories.py tests/compaction/test_storm.py

bench: $(STAMP)  ## Measure, and print ratios taken in this one run
	@$(BIN)/python -m bench

format: $(STAMP)  ## Put the code into shape
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

schemas: $(STAMP)  ## Write docs/schemas anew from the types
	@$(BIN)/python scripts/write_schemas.py

clean:  ## Remove .venv and everything that was made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis demo
