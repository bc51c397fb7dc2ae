# Everything here works on a fresh machine with python3 (and its venv module) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help setup demo test check fmt bench docs clean

help: ## Show this list.
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

setup: $(READY) ## Create .venv with Scoter and all it needs.

$(READY): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(READY) ## Start a synthetic web and show what the checkers say of it.
	@$(BIN)/python examples/demo.py

test: check ## Run every check and test.
	@$(BIN)/pytest

check: $(READY) ## Run the linters, the type checker and the import contracts.
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --quiet --check
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-cache >/dev/null || $(BIN)/lint-imports --no-cache

fmt: $(READY) ## Format the code.
	@$(BIN)/ruff check --quiet --fix
	@$(BIN)/ruff format --quiet

bench: $(READY) ## Measure the hot paths; fails when a target is missed.
	@$(BIN)/python -m benchmarks

docs: $(READY) ## Write the docs pages that are generated from the code.
	@$(BIN)/python -m scoter.config.docs docs/settings.md

clean: ## Remove what the other targets made.
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
