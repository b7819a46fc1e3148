# Python ≥ 3.11 and the package registries are all this needs. Everything is installed into .venv, once.

PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup demo test chaos check format lint types contracts e2e e2e-full controlplane bench fmt lock clean

help: ## list what can be made
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/make \1@\2/p' Makefile | column -t -s @

setup: $(READY) ## install everything into .venv (the other targets do it by themselves)

$(READY): requirements-dev.lock pyproject.toml
	@test -n '$(PYTHON)' || { echo 'Python 3.11 or newer is needed; name it: make PYTHON=/path/to/python' >&2; exit 1; }
	@echo 'Setting up $(VENV) (once, about a minute) …'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r requirements-dev.lock
	@$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true # on all cores, which pip does not
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY) ## a cluster with Karpenter in one process (ARGS='--port 8081' and so on)
	@$(BIN)/karpenter demo --sample $(ARGS)

test: $(READY) ## run the tests (ARGS='-k taints' and so on)
	@$(BIN)/pytest --quiet --numprocesses auto --dist worksteal $(ARGS)

chaos: $(READY) ## a thousand small clusters to which everything happens that may (CHAOS_SEEDS=20 for fewer)
	@CHAOS_SEEDS=$${CHAOS_SEEDS:-1000} $(BIN)/pytest --quiet --numprocesses auto --dist worksteal tests/scenarios/test_chaos.py $(ARGS)

# Whole files go to each of two processes: they wait for half of their time.
IN_TWO := --numprocesses 2 --dist loadfile --no-loadscope-reorder

e2e: $(READY) controlplane ## the tests against a real control plane (needs Go, else skipped)
	@$(BIN)/pytest --quiet --timeout 300 $(IN_TWO) -m 'e2e and not full' tests/e2e $(ARGS)

e2e-full: $(READY) controlplane ## the long ones as well
	@$(BIN)/pytest --quiet --timeout 1800 $(IN_TWO) -m e2e tests/e2e $(ARGS)

controlplane: ## build that control plane (ten minutes, once; nobody else has to wait for the processor)
	@nice $(PYTHON) tests/e2e/build.py

check: format lint types contracts ## format, lint, types, import contracts (make -k check runs all four even if one fails)

format: $(READY)
	@$(BIN)/ruff format --check --quiet --output-format concise . || { echo 'make fmt formats these files' >&2; exit 1; }

lint: $(READY)
	@$(BIN)/ruff check --quiet --output-format concise .

types: $(READY)
	@$(BIN)/mypy

contracts: $(READY)
	@$(BIN)/lint-imports --no-logo importlinter.ini

bench: $(READY) ## time the solver, and without ARGS the embedded cluster too
	@$(BIN)/python benchmarks/run.py $(ARGS)
	@$(if $(ARGS),:,$(BIN)/python benchmarks/embedded.py)

fmt: $(READY) ## format, and mend what the linter can
	@$(BIN)/ruff check --fix --quiet . || true
	@$(BIN)/ruff format --quiet .

LOCK := build/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock' pyproject.toml

lock: ## choose the versions of all dependencies anew (ARGS=--upgrade for the newest)
	@$(PYTHON) -m venv build/lock
	@build/lock/bin/pip install --quiet --disable-pip-version-check uv
	@$(LOCK) $(ARGS) --output-file requirements.lock
	@$(LOCK) $(ARGS) --constraint requirements.lock --extra aws --group dev --output-file requirements-dev.lock

clean: ## remove .venv and everything built
	@rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
