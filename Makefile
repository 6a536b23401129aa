# `make` alone lists the commands. Each one sets up .venv by itself.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-8s %s\n", $$1, $$2}' Makefile

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

setup: $(READY) ## set up .venv (the other commands do it by themselves)

run: $(READY) ## start the live race and print the address of its page
	@$(BIN)/hms serve

test: $(READY) ## run every test
	@$(BIN)/python -m pytest -n auto

lint: $(READY) ## check style, types and the shape of the imports
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(READY) ## measure speed against other tools, as ratios in one run
	@$(BIN)/python -m benchmarks

docs: $(READY) ## write the tables that the docs take from the code
	@$(BIN)/python docs/tables.py

lock: $(READY) ## write the installed versions to constraints.txt
	@$(BIN)/python -m pip freeze --exclude-editable | grep -v '@' | sed 's/+cpu$$//' > constraints.txt

clean: ## remove .venv, caches and compiled benchmarks
	@rm -rf $(VENV) benchmarks/build .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help setup run test lint bench docs lock clean
