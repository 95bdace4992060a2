# Two commands: `make` builds the site, the student release and a graded sample class; `make test` tests everything.
# README.md gives the plain commands behind each target.

PYTHON ?= python3
VENV ?= .venv
PORT ?= 8000

BIN := $(abspath $(VENV))/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PY := $(BIN)/python
READY := $(VENV)/.ready
SITE := _build/html/index.html
ADDRESS := _build/address
RELEASE := _build/release.stamp

ASSIGNMENTS := $(notdir $(wildcard solutions/*))
CODE := $(shell find src -name '*.py' -not -path '*/figures/*' 2>/dev/null)
PAGES := _config.yml _toc.yml $(shell find book src/refcells -type f -not -name '*.pyc' 2>/dev/null) $(wildcard exercises/*/*.ipynb solutions/*/*.py solutions/*/*.yml)

# The tools by name, wherever the environment is.
export PATH := $(BIN):$(PATH)
# A target that failed half-way is made again.
.DELETE_ON_ERROR:
# The release is made before the site, which offers its notebooks.
.NOTPARALLEL:
.PHONY: all site pdf release grade handout test lint serve bench experiments grader-report grading-report bench-grading site-report lock clean

all: release site grade
	@echo "site         $(abspath $(SITE))"
	@echo "release      $(abspath exercises)"

$(READY): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "make: no '$(PYTHON)' here; install Python 3.11 or newer, or name one: make PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and "make: $(PYTHON) is Python %d.%d; 3.11 or newer is needed: make PYTHON=/path/to/python" % v[:2])'
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@

# Pages name the site's address: with another SITE_URL they are made again.
ifneq ($(strip $(SITE_URL)),$(strip $(shell cat $(ADDRESS) 2>/dev/null)))
$(SITE): always
always:
endif

site: $(SITE)
$(SITE): $(READY) $(PAGES)
	@$(PY) book/_ext/browser_python.py
	jupyter-book build . -W --keep-going
	@touch $@ && echo "$(SITE_URL)" > $(ADDRESS)

# The book printed by Chromium; what the site's build ran is not run again.
pdf: $(SITE)
	jupyter-book build . --builder singlehtml -W --keep-going
	$(PY) -m classroom.pdf

release: $(RELEASE)
$(RELEASE): $(READY) $(CODE) $(wildcard solutions/*/*.py book/starters/*.py) autotests.yml nbgrader_config.py _config.yml
	jupytext --quiet --to ipynb solutions/*/*.py
	for a in $(ASSIGNMENTS); do nbgrader generate_assignment $$a --force || exit 1; done
	$(PY) -m classroom.verify $(ASSIGNMENTS)
	@$(PY) -m classroom.starter
	@mkdir -p _build && touch $@

grade: $(RELEASE)
	$(PY) -m classroom.sample

# What a class gets: notebooks, the student's part of the package, the guide; no solution, no catalogue, no reference.
handout: $(RELEASE)
	$(PY) -m classroom.handout

test: $(READY) $(SITE)
	$(PY) -m pytest -n 2 --dist loadfile

lint: $(READY)
	ruff check . && ruff format --check .
	mypy

serve: $(SITE)
	$(PY) -m classroom.serve --port $(PORT)

bench: $(READY)
	$(PY) benchmarks/cells.py

# Grading beside stock nbgrader, the class growing, the model of a cluster: about three quarters of an hour, kept in book/data. Add names to
# run some: make bench-grading NAMES=throughput
bench-grading: $(RELEASE)
	$(PY) benchmarks/grading.py $(NAMES)

# Runs that take minutes, kept as data in book/data. Add names to run some: make experiments NAMES=lstm-remember-first
experiments: $(READY)
	$(PY) -m refcells.experiments $(NAMES)

# Tests of the tests: takes about ten minutes an assignment, and writes book/grading_report/ when a figure changes. Add names
# to measure some: make grader-report NAMES=lstm
grader-report: $(RELEASE)
	$(PY) -m classroom.report $(NAMES)

# What the grading withstands: attacks, odd notebooks, throughput, kills; an hour. Add names to run some:
# make grading-report NAMES="attacks odd"
grading-report: $(RELEASE)
	$(PY) -m classroom.grading_report $(NAMES)

# What the site weighs, what axe-core and Lighthouse find, links and alt text: tests/site/site_report.py. Takes half
# an hour. Parts and pages by name: make site-report REPORT="--only axe --pages book/lstm"
site-report: $(SITE)
	$(PY) tests/site/site_report.py $(REPORT)

# Write constraints.txt anew from the newest versions that pyproject.toml allows. Use the oldest Python that is promised, 3.11.0
# or Debian's 3.11.2 (make lock PYTHON=/usr/bin/python3): a later one may pin what they cannot install.
lock:
	$(PYTHON) -m venv --clear _build/lock && _build/lock/bin/python -m pip install --quiet ".[dev]"
	_build/lock/bin/python -m pip freeze --exclude learning-to-remember | sed 's/+cpu$$//' > constraints.txt

# What can be made again. Never a class's submissions, grades or feedback.
clean:
	rm -rf _build .pytest_cache .mypy_cache .ruff_cache solutions/*/*.ipynb
