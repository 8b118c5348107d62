# Three commands matter: `make serve` starts the local cluster, `make check` runs the tests that need
# no JVM, `make test` runs every test.
PYTHON ?= python3
BIN := .venv/bin
PYTEST ?= $(BIN)/python -m pytest
# Python compiles what it imports; pip would compile every file of every package first.
# PySpark has no wheel, so pip builds one of 400 MB and unpacks it. Wheels that pip builds are not
# compressed here: that takes half of the time.
INSTALL := DIST_EXTRA_CONFIG='$(CURDIR)/.ci/wheels.cfg' $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

# Without cached bytecode every worker compiles all tests, and every process that a test starts all
# of fakemq: half a minute in all.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help serve setup quick check test suite check-wheel check-lowest check-release release wheel oldest-pyspark collection lint scenarios bench campaign soak fuzz attack differ docs clean

help:
	@echo "make serve   start the local cluster (name server 127.0.0.1:9876)"
	@echo "make quick   ruff, and the tests that take under a second, in two and a half minutes"
	@echo "make check   lint, and every test that needs no JVM, in six minutes"
	@echo "make test    lint, and every test, those against real RocketMQ included"
	@echo "make wheel   build a wheel in dist/; its hot modules are compiled where there is a C compiler"
	@echo "make check-wheel  build a wheel and run a share of the tests on it; ARGS='-n 3' runs all tests"
	@echo "make check-lowest  run a share of the tests with the oldest versions of all dependencies"
	@echo "make check-release  build source archive and wheel, try each outside the checkout"
	@echo "make release  the same, and tag the version of pyproject.toml"
	@echo "make setup   make the development environment (.venv with all extras)"
	@echo "make lint    ruff and mypy"
	@echo "make docs    build the documentation site in build/site; a wrong link is an error"
	@echo "make scenarios   what real RocketMQ needs hours for, in seconds, by recordings; ARGS='--runs 100'"
	@echo "make fuzz    search for inputs on which parsers fail, one minute each; ARGS='sql --seconds 600 --keep'"
	@echo "make attack  attack servers, stores and disks from outside; ARGS='requests --count 100000 --seed 7'"
	@echo "make differ  random requests on real RocketMQ and on the fake, compared; ARGS='--sequences 20000 --seed 7'"
	@echo "make campaign  500 simulated runs of 10 virtual minutes with faults, of each release; ARGS='--seeds 500:900'"
	@echo "make soak    an hour of mixed Java traffic with restarts in ten minutes; ARGS='--minutes 2'"
	@echo "             ARGS='--hours 24': a day of cluster time with attackers, without Java, in ten minutes"
	@echo "make bench   measure beside real RocketMQ, half an hour; ARGS='--quick traffic --only 16', ARGS=suite"

# A stamp says what was installed, so that a second run costs nothing.
.venv/.runtime: pyproject.toml setup.py
	$(PYTHON) -m venv .venv
	$(INSTALL) -e '.[acl,tls]'
	@touch $@

.venv/.development: pyproject.toml setup.py | .venv/.runtime
	$(INSTALL) -e '.[dev]'
	@$(INSTALL) --only-binary atheris -e '.[fuzz]' \
		|| echo "no wheel of atheris for this Python: the fuzz corpus is replayed, nothing is explored"
	@touch $@ .venv/.runtime

serve: .venv/.runtime
	exec $(BIN)/python -m fakemq $(ARGS)

setup: .venv/.development

# The oldest PySpark that will do, beside the environment, which has the newest;
# tests/spark/test_oldest_pyspark.py runs tests with it.
OLDEST_PYSPARK := 4.2.0

.venv/.oldest-pyspark-$(OLDEST_PYSPARK): | .venv/.development
	rm -rf .venv/oldest-pyspark .venv/.oldest-pyspark-*
	$(INSTALL) \
		--target .venv/oldest-pyspark pyspark==$(OLDEST_PYSPARK)
	@touch $@

oldest-pyspark: setup .venv/.oldest-pyspark-$(OLDEST_PYSPARK)

# While you write: no mypy, none of the tests that are marked as slow, and none of the folders that
# repeat a mechanism many times (attacks, simulations, recordings) or start pytest itself.
QUICK := tests --ignore tests/bench --ignore tests/sim --ignore tests/attack --ignore tests/fixtures
quick: setup
	$(BIN)/ruff check .
	$(PYTEST) -n auto -m "not jvm and not slow" $(QUICK) $(ARGS)

# Only tests/, and the recordings replayed on the fake: no JVM, no Spark, no Go.
check: lint
	$(PYTEST) -n auto -m "not jvm" $(ARGS)

# `make -j3 test` reads the sources while the tests run: mypy has one core for a minute.
test: lint suite

suite: oldest-pyspark collection
	$(PYTEST) -n auto $(ARGS)

# pytest compiles the assertions of every test file. All workers would do it at once, each for itself.
collection: setup
	@mkdir -p .cache
	@$(PYTEST) --collect-only -q >.cache/collection.log 2>&1 || { tail -n 100 .cache/collection.log; exit 1; }

# An editable install and `make serve` never compile: a binary beside edited sources would be stale.
wheel: setup
	rm -rf build
	FAKEMQ_COMPILE=$${FAKEMQ_COMPILE-auto} $(BIN)/python -m build --wheel --no-isolation $(ARGS)

check-wheel: setup
	$(BIN)/python -m tests.on_wheel $(ARGS)

check-lowest: setup
	$(BIN)/python -m tests.on_lowest $(ARGS)

check-release: setup
	$(BIN)/python -m tests.release --check

release: setup
	$(BIN)/python -m tests.release

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

scenarios: setup
	$(BIN)/python -m conformance --minutes $(ARGS)

# The variable silences an advertisement of the theme.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet $(ARGS)

campaign: .venv/.runtime
	$(BIN)/python -m fakemq replay --seeds 0:500 $(ARGS)
	$(BIN)/python -m fakemq replay --seeds 0:500 --reference 5.5.0 $(ARGS)
	$(BIN)/python -m fakemq replay --seeds 0:500 --grpc $(ARGS)
	$(BIN)/python -m fakemq replay --seeds 0:500 --controllers $(ARGS)

fuzz: setup
	$(BIN)/python -m tests.fuzz $(ARGS)

attack: setup
	$(BIN)/python -m tests.attack $(ARGS)

differ: setup
	$(BIN)/python -m conformance.differ $(ARGS)

.venv/.bench: pyproject.toml setup.py | .venv/.development
	$(INSTALL) -e '.[bench]'
	@touch $@

# WHEEL=dist/….whl measures what that installs, such as compiled modules, instead of the checkout.
bench: setup .venv/.bench
ifdef WHEEL
	rm -rf build/bench/wheel
	$(INSTALL) --no-deps --target build/bench/wheel $(WHEEL)
	PYTHONPATH=$(CURDIR)/build/bench/wheel:$(CURDIR) $(BIN)/python -P -m bench $(ARGS)
else
	$(BIN)/python -m bench $(ARGS)
endif

soak: setup .venv/.bench
	$(BIN)/python -m bench.soak $(ARGS)

clean:
	rm -rf .venv .cache build dist *.egg-info
