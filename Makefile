# whichdo: `make demo` and `make test` work on a fresh machine with python3, make and git.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# One worker a core; what a worker has not begun, an idle one takes over.
PARALLEL := -n logical --maxprocesses 8 --dist worksteal

# Where bytecode is not kept, every process compiles the package and every test file anew: a third of `make check`.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: costs scale spark demo dist installed check quick test style types coverage setup bench families earning joint confounded estimates \
        robustness checking bounds reproduction tutorials docs soak clean

demo: $(VENV)/.demo-ready
	@$(BIN)/whichdo demo

# A wheel in dist/, to install where there is no clone.
dist: $(VENV)/.demo-ready
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

# The wheel in a clean environment, with nothing but what it asks for: the README's ten lines run there.
installed: dist
	rm -rf dist/clean && $(PYTHON) -m venv dist/clean
	dist/clean/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt "$$(ls -t dist/*.whl | head -1)[plots]"
	sed -n '/^```python$$/,/^```$$/p' README.md | grep -v '^```' | dist/clean/bin/python -
	rm -rf dist/clean

# For every edit: style, then types beside the tests that are not marked slow, with few repetitions.
check: style
	@$(MAKE) --no-print-directory -j 2 types quick

quick: setup
	WHICHDO_QUICK=1 $(BIN)/pytest -q $(PARALLEL) -m "not slow"

# What the tests of `make check` cost, for tests/costs.py: which of them are left to `make test`.
costs: setup
	WHICHDO_QUICK=1 WHICHDO_COSTS=1 $(BIN)/pytest -q $(PARALLEL) -m "not slow"

# Before every merge: everything, the soak tests at about a twentieth of their counts.
test: style types
	$(BIN)/pytest -q $(PARALLEL)

style: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: setup
	$(BIN)/mypy

# Which lines the tests run, outside compiled kernels; the lines they miss are named.  Fewer than 95% fails.
coverage: setup
	$(BIN)/pytest -q $(PARALLEL) --cov --cov-report=term-missing:skip-covered --cov-fail-under=95
	@rm -f .coverage.*  # of processes that were killed

setup: $(VENV)/.ready

bench: setup
	$(BIN)/python -m benchmarks

# Warm halving against every rival on every family of instances; writes docs/families.md.
families: setup
	$(BIN)/python -m benchmarks.families --write

# Causal Thompson sampling against every rival; writes docs/earning.md.
earning: setup
	$(BIN)/python -m benchmarks.earning

# Both where several nodes are set at once, beside policies over possibly optimal arms; writes docs/joint.md.
joint: setup
	$(BIN)/python -m benchmarks.joint --write

# SRM-ALG where rows mislead, beside a policy that conditions; writes docs/confounded.md and its figure.
confounded: setup
	$(BIN)/python -m benchmarks.confounded

# Rules that make conditionals of counts, compared; writes docs/estimates.md.
estimates: setup
	$(BIN)/python -m benchmarks.estimates

# Ours with a wrong graph or old logs, for several doubts; writes docs/robustness.md.
robustness: setup
	$(BIN)/python -m benchmarks.robustness

# How often checks accuse right graphs and find wrong ones; writes docs/check-power.md.
checking: setup
	$(BIN)/python -m benchmarks.checking

# How wide bounds are, how often they hold, and what policies save by them; writes docs/bounds.md.
bounds: setup
	$(BIN)/python -m benchmarks.bounding

# All nine experiments at full size; writes docs/reproduction.md and its figures.
reproduction: setup
	$(BIN)/python -m benchmarks.reproduction

# Counting in DuckDB and PostgreSQL, up to 10^8 rows; writes the figures of docs/scale.md.
scale: setup
	$(BIN)/python -m benchmarks.scale

# Counting in Spark: the conformance tests with 200 random problems, then its speed; the last result is in docs/scale.md.
# By hand only: it wants a Java runtime and half a gigabyte.
spark: setup
	@command -v java >/dev/null || [ -x "$$JAVA_HOME/bin/java" ] || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends default-jre-headless; } \
	  || { echo "Spark needs a Java runtime: install Debian's default-jre-headless, or set JAVA_HOME."; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[spark]'
	$(BIN)/python -m benchmarks.spark

# The notebooks of docs/tutorials/, run in place with what they show.
tutorials: setup
	$(BIN)/python -m benchmarks.tutorials

# The documentation site in dist/docs, offline; a warning, a broken link or an address that is loaded from elsewhere fails.
docs: setup
	$(BIN)/python -m benchmarks.pages

# The crash, fuzz and statistics tests at the counts that are promised; last result in docs/soak.md.
soak: setup
	WHICHDO_SOAK=1 $(BIN)/pytest -q $(PARALLEL) -m soak

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# The demo needs the package alone; everything else needs all extras and the development tools.
$(VENV)/.demo-ready: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/.ready: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,docs,peers,plots,postgres,cluster,models,warehouse]'
	@touch $@ $(VENV)/.demo-ready

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .coverage
