# Each target sets up all it needs and then does its job: `make demo` and `make test` work on a fresh clone.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# On two cores: the tests wait a quarter of their time, for a browser, a server or another process.
WORKERS ?= 3

.PHONY: install demo test test-long lint format types docs bench results tables release-check kills bill web web-check clean

install: $(VENV)/.tests web/node_modules/.installed  ## all that the tests, the checks and the page need

demo: $(VENV)/.package  ## train the slides' sentences and a masked-word model, and look inside
	$(BIN)/glassformer demo

# Compiled modules are kept whatever the environment says: the tests start the program some hundred times.
test: $(VENV)/.tests  ## the suite, five to eleven minutes on two cores
	PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q --junit-xml=runs/tests.xml

test-long: $(VENV)/.tests  ## the longer proofs; their last result is docs/results/long-proofs.json
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m long -n $(WORKERS) --dist worksteal -q --junit-xml=runs/long-proofs.xml; failed=$$?; \
	$(BIN)/python -m experiments.proofs long runs/long-proofs.xml && exit $$failed

lint: $(VENV)/.tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.tests
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.tests
	$(BIN)/mypy glassformer tests bench experiments manual

docs: $(VENV)/.tests  ## the documentation site, with its links checked: build/site/html/index.html
	$(BIN)/python -m manual

results: $(VENV)/.tests  ## the tables of docs/ from docs/results/*.json
	$(BIN)/python -m experiments.tables

tables: $(VENV)/.tests  ## the pages of docs/ that follow from the code: options, recipes, formulas, the picture of the rooms
	$(BIN)/python -m manual tables

bench: $(VENV)/.tests  ## ours against the named peers, in one run, as ratios
	$(BIN)/python -m bench

release-check: $(VENV)/.tests  ## build sdist and wheel, and try them in bare environments: docs/reference/platforms.md (half an hour)
	$(BIN)/python -m manual.release

kills: $(VENV)/.tests  ## the promise of docs/security/index.md: 1,000 kills, going on where the last run ended
	OMP_NUM_THREADS=1 $(BIN)/python -W ignore -m tests.kills --kills 1000

# RELEASED: the Python of an environment into which only the release was installed. The audit needs the network.
RELEASED ?= $(BIN)/python
bill: $(VENV)/.tests  ## a bill of materials (CycloneDX) and an audit for known weaknesses, in build/release
	$(PIP) install --constraint constraints.txt --editable '.[release]'
	$(BIN)/python -m tests.release.bill $(RELEASED) build/release

web: web/node_modules/.installed  ## build the page of the explorer into the package (Node.js 20 or newer)
	cd web && npm run --silent build

web-check: web/node_modules/.installed  ## types, lint, tests of the page, and that the committed build is what web/ builds to
	cd web && npm run --silent check

# Not `npm ci`: it refuses a lock without the other systems' builds of the tools, which not every registry has. The
# versions and checksums are the lock's.
web/node_modules/.installed: web/package.json web/package-lock.json
	cd web && npm install --no-save --no-fund --no-audit --loglevel=error
	@touch $@

$(VENV)/.package: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing glassformer and its packages into $(VENV) (some minutes the first time)" >&2
	$(PIP) install --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.tests: $(VENV)/.package
	@echo "installing what the tests need" >&2
	$(PIP) install --constraint constraints.txt --editable '.[dev]'
	@touch $@

clean:
	rm -rf web/node_modules web/out $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
