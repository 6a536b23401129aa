# `make` alone lists the commands. Each one sets up what it needs by itself: .venv, dashboard/node_modules.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN_READY := $(VENV)/.run-ready
READY := $(VENV)/.ready
NODE_READY := dashboard/node_modules/.ready
# Where the tools of the tests are installed already, the page is built with them; else only what building it takes.
BUILD_READY := $(or $(wildcard $(NODE_READY)),dashboard/node_modules/.build-ready)
WEB := src/hybrid_scheduler/web/index.html
PAGES := $(shell find dashboard/src dashboard/public -type f 2>/dev/null) dashboard/index.html dashboard/vite.config.ts

# What is installed is compiled when it is first imported, and kept: else each of some hundred processes does it again.
unexport PYTHONDONTWRITEBYTECODE

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-10s %s\n", $$1, $$2}' Makefile

$(RUN_READY): pyproject.toml constraints.txt scripts/install.py
	@$(PYTHON) scripts/install.py $(VENV) rl
	@touch $@

$(READY): $(RUN_READY)
	@$(PYTHON) scripts/install.py $(VENV) dev
	@touch $@

define INSTALL_PAGES
@node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null || \
  { echo "Node 20 or newer is needed to build the dashboard: https://nodejs.org"; exit 1; }
@echo "installing the dashboard's packages …"
@cd dashboard && npm ci --no-audit --no-fund --no-update-notifier --loglevel=error
endef

$(NODE_READY): dashboard/package.json dashboard/package-lock.json
	$(INSTALL_PAGES)
	@touch $@

dashboard/node_modules/.build-ready: dashboard/package.json dashboard/package-lock.json
	$(INSTALL_PAGES) --omit=dev
	@touch $@

$(WEB): $(BUILD_READY) $(PAGES)
	@echo "building the dashboard …"
	@cd dashboard && npm run --silent bundle -- --logLevel=warn

setup: $(READY) $(WEB) ## set up everything (the other commands do it by themselves)

# Installing and building wait for the network and one core most of the time: both at once.
run: ## start the live race and print the address of its page
	@$(MAKE) --no-print-directory -j2 $(RUN_READY) $(WEB)
	@$(BIN)/hms serve

# pip takes minutes and one core: meanwhile the other one sets up, checks and builds the dashboard. A browser and what the
# package's tests start wait much of the time: side by side they take the cores that the others leave.
test: ## run every test
	@$(MAKE) --no-print-directory -j2 $(READY) test-dashboard
	@$(MAKE) --no-print-directory $(WEB)
	@$(MAKE) --no-print-directory -j2 test-python test-browser

test-dashboard: $(NODE_READY) ## types and components of the dashboard
	@cd dashboard && npm run --silent check && npm run --silent test

test-python: $(READY) $(WEB) ## the package
	@$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

coverage: $(READY) $(WEB) ## the tests of the package again, and which lines of it they run (90 % at least)
	@$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder -q --cov --cov-report=term

# The page is built by a make of its own: it sees that the tools of the tests are there, and leaves them.
test-browser: $(READY) $(NODE_READY) ## the dashboard in a real browser, against a real server
	@$(MAKE) --no-print-directory $(WEB)
	@cd dashboard && node scripts/chromium.mjs && npm run --silent e2e

lint: $(READY) $(NODE_READY) ## check style and types, and ask for known weaknesses
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@cd dashboard && npm run --silent check
	@$(BIN)/python -m scripts.dependencies audit --tell

wheel: $(READY) $(WEB) ## build a wheel with the dashboard inside, into dist/
	@$(BIN)/python -m hatchling build -t wheel

sdist: $(READY) $(WEB) ## build the source archive, into dist/
	@$(BIN)/python -m hatchling build -t sdist

dashboard: $(WEB) ## build the dashboard into the package

types: $(READY) $(NODE_READY) ## write the dashboard's types from the API's own description
	@$(BIN)/python dashboard/scripts/schemas.py && cd dashboard && npm run --silent types

bench: $(READY) $(NODE_READY) ## measure speed against other tools, as ratios in one run
	@$(MAKE) --no-print-directory $(WEB)
	@$(BIN)/python -m benchmarks

soak: $(READY) ## ten minutes at full speed with 200 clients while all around fails and the server is killed
	@$(BIN)/python -m benchmarks.soak

results: $(READY) ## run every experiment for ten seeds (hours; goes on after an interruption), write RESULTS.md
	@$(BIN)/python -m docs.results

docs: $(READY) ## write the tables that the docs take from the code
	@$(BIN)/python docs/tables.py

site: $(READY) ## build the documentation into site/, warnings are errors
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "site/index.html"

models: $(READY) ## train the models that come with the package, for the default cluster
	@$(BIN)/python -m scripts.models

screenshots: $(READY) $(NODE_READY) ## take the pictures of the docs from a running dashboard
	@$(MAKE) --no-print-directory $(WEB)
	@cd dashboard && node scripts/chromium.mjs && cd .. && $(BIN)/python -m scripts.screenshots

audit: $(READY) $(NODE_READY) ## ask for known weaknesses in what is installed
	@$(BIN)/python -m scripts.dependencies audit

sbom: $(READY) $(NODE_READY) ## list what is installed as CycloneDX, in sbom/
	@$(BIN)/python -m scripts.dependencies sbom

lock: $(READY) ## write the installed versions to constraints.txt
	@$(BIN)/python -m pip freeze --exclude-editable | grep -v '@' | sed 's/+cpu$$//' > constraints.txt

clean: ## remove .venv, node_modules, caches and what was built
	@rm -rf $(VENV) dashboard/node_modules src/hybrid_scheduler/web benchmarks/build site sbom .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help setup run test test-dashboard test-python test-browser coverage lint wheel sdist dashboard types bench soak results docs site models screenshots audit sbom lock clean
