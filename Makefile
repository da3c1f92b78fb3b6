# Every target sets up its environment; only Python 3.11+ (with venv), make and git must be installed.
# `make help` lists the targets.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.complete
# The demo uses the complete environment if it exists, otherwise a small one of its own.
DEMO   := $(if $(wildcard $(STAMP)),$(VENV),$(VENV)-demo)
ARGS   ?=
RESOLVE = $(VENV)-lock/bin/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11

.DEFAULT_GOAL := help
.PHONY: help venv demo test test-fast test-slow test-java test-versions test-node chaos judge fuzz soak lint bench bench-assignors generate alerts dashboards chart docs docs-site golden sbom release-check audit lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(STAMP) ## set up the complete environment in .venv (downloads about 870 MB)

# $(call announce,FOLDER,SIZE): prints what is set up, or an error if Python is too old.
define announce
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; $(PYTHON) is older. Try: make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "setting up $(1) (once): pip downloads about $(2), if it has not cached them ..."
endef
# $(call no_venv,FOLDER): prints why `python -m venv FOLDER` failed, and stops.
define no_venv
{ if $(PYTHON) -c 'import venv, ensurepip' 2>/dev/null; then echo "cannot create $(1): see the error above" >&2; \
  else echo "Python's venv module is missing. On Debian: apt-get install python3-venv" >&2; fi; exit 1; }
endef

# --no-deps: the lock lists all packages. Otherwise pip resolves requirements such as `coverage[toml]` again, and fails
# if a version newer than the lock's exists.
$(STAMP): requirements/dev.lock pyproject.toml
	$(call announce,$(VENV),870 MB)
	@$(PYTHON) -m venv $(VENV) || $(call no_venv,$(VENV))
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --only-binary :all: --no-binary pyspark -r requirements/dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

# $(PYTHON)'s own pip, if it has one, installs the packages: installing pip in the environment takes a quarter of the
# time.
$(VENV)-demo/.complete: requirements/demo.lock
	$(call announce,$(VENV)-demo,50 MB)
	@$(PYTHON) -m venv --without-pip $(VENV)-demo || $(call no_venv,$(VENV)-demo)
	@pip="$(PYTHON) -m pip --python $(VENV)-demo/bin/python"; $$pip --version >/dev/null 2>&1 || \
	  { pip="$(VENV)-demo/bin/python -m pip"; $(PYTHON) -m venv $(VENV)-demo; } || $(call no_venv,$(VENV)-demo); \
	  $$pip install --disable-pip-version-check --require-hashes --no-deps --only-binary :all: -r requirements/demo.lock
	@touch $@

demo: $(DEMO)/.complete ## show real rebalances on an embedded Kafka (ARGS="--seconds 60 --headless --check")
	@exec env PYTHONPATH="$(CURDIR)/agent" $(DEMO)/bin/python -P -m rebalance_agent.cli.main demo $(ARGS)

test: $(STAMP) ## run every test tier that a change must pass
	@$(BIN)/python tests/run.py $(ARGS)

test-fast: $(STAMP) ## quick check of a change in minutes, without coverage and Spark
	@$(BIN)/python tests/run.py --fast $(ARGS)

test-slow: $(STAMP) ## run the soak tests and more random examples (many minutes)
	@$(BIN)/python tests/run.py --tier slow $(ARGS)

test-java: $(STAMP) ## test the jar for Java consumers with old and new Kafka clients (minutes)
	@$(BIN)/python tests/run.py --tier java $(ARGS)

test-versions: $(STAMP) ## test the core on Kafka 4.4 and 4.3, and short on 4.1, 4.0 and 3.9 (many minutes)
	@$(BIN)/python tests/run.py --tier versions $(ARGS)

test-node: $(STAMP) ## test the chart on a real Kubernetes node (needs root on Linux; many minutes)
	@$(BIN)/python tests/run.py --tier node $(ARGS)

chaos: $(STAMP) ## inject faults into brokers, agents and gateways for 10 minutes and check every result (ARGS="--minutes 2 --seed 7", ARGS="--seats on")
	@$(BIN)/python -W ignore::DeprecationWarning tests/chaos $(ARGS)

judge: $(STAMP) ## check the bounds of stalls against unmodified consumers: 15 minutes, three brokers (ARGS="--minutes 4 --seed 7")
	@$(BIN)/python -W ignore::DeprecationWarning tests/judge $(ARGS)

fuzz: $(STAMP) ## fuzz every parser of external input (ARGS="--seconds 300 --target record")
	@$(BIN)/python tests/fuzz/run.py $(ARGS)

soak: $(STAMP) ## check that the observer does not grow with thousands of groups for hours (ARGS="--hours 2 --groups 2000")
	@$(BIN)/python tests/soak/run.py $(ARGS)

lint: $(STAMP) ## run ruff, mypy --strict and the import contracts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@PYTHONPATH=agent $(BIN)/lint-imports --no-cache

bench: $(STAMP) ## measure speed and memory, compared with a bare loop in the same run (bench/README.md)
	@$(BIN)/python -W ignore::DeprecationWarning -m bench $(ARGS)

bench-assignors: $(STAMP) ## compare the speed of our assignors with Kafka's, franz-go's, kafka-python's and aiokafka's
	@$(BIN)/python -W ignore::DeprecationWarning -m bench assignors $(ARGS)

# Sequential, also with -j: the chart copies files of the alerts and boards.
generate: $(STAMP) ## write all generated files: alerts, dashboards, chart, docs, golden
	@$(MAKE) --no-print-directory alerts
	@$(MAKE) --no-print-directory dashboards
	@$(MAKE) --no-print-directory chart
	@$(MAKE) --no-print-directory docs
	@$(MAKE) --no-print-directory golden

alerts: $(STAMP) ## write the alerts' rules and their documentation
	@$(BIN)/python -m alerts

dashboards: $(STAMP) ## write the boards' JSON
	@$(BIN)/python -m dashboards

chart: $(STAMP) ## write the chart's schema, rules and README (after alerts and dashboards)
	@$(BIN)/python -m helm
	@docs=$$(PYTHONPATH=tests $(BIN)/python -c 'from support.cluster.kube_tools import build; print(build("helm-docs"))') && "$$docs" \
	  --log-level=warning --sort-values-order=file --chart-search-root=helm/rebalance-agent

docs: $(STAMP) ## write the generated pages, tables and pictures of docs/
	@$(BIN)/python -m docs.developers.writers
	@$(BIN)/python docs/developers/pictures/draw.py
	@$(BIN)/python docs/developers/pictures/draw_trace.py

docs-site: ## build the documentation as a site into dist/site, and check its links (installs only the site's packages)
	@tools=$$(PYTHONPATH=agent:tests $(PYTHON) -m supply.programs site) && echo "building the site takes about a minute ..." >&2 && \
	  "$$tools" -m docs.developers.site $(ARGS)

golden: $(STAMP) ## write the golden outputs that need no broker; read the difference (CONTRIBUTING.md)
	@PYTHONPATH=agent $(BIN)/python tests/golden/make_decode_output.py
	@REBALANCE_AGENT_GOLDEN=write $(BIN)/python -m pytest -q tests/golden

sbom: $(STAMP) ## write the bill of materials of the wheel (CycloneDX: package, version, hash) into dist/
	@$(BIN)/python tests/supply sbom $(ARGS)

release-check: $(STAMP) ## build and check what a release contains, without publishing (ARGS="build install")
	@$(BIN)/python tests/supply/release $(ARGS)

audit: $(STAMP) ## find known vulnerabilities of the packages in requirements/*.lock (ARGS="--vulnerability-service osv")
	@$(BIN)/python tests/supply audit $(ARGS)

lock: ## resolve requirements/*.lock (with hashes, without addresses)
	@$(PYTHON) -m venv $(VENV)-lock && $(VENV)-lock/bin/python -m pip install --quiet uv
	@$(RESOLVE) --extra agent --extra demo --extra testing --extra kafka-python --extra aiokafka --extra confluent --extra watch --extra otel --extra aws --extra azure --extra gcp --extra pipeline --group dev \
	  pyproject.toml -o requirements/dev.lock
	@$(RESOLVE) -c requirements/dev.lock --extra demo pyproject.toml -o requirements/demo.lock
	@$(RESOLVE) -c requirements/dev.lock requirements/build.in -o requirements/build.lock
	@$(RESOLVE) -c requirements/dev.lock --extra agent --extra gateway --extra otel pyproject.toml -o requirements/agent.lock
	@$(RESOLVE) -c requirements/dev.lock --extra agent --extra gateway --extra otel --extra aws --extra azure --extra gcp pyproject.toml -o requirements/cloud.lock
	@$(RESOLVE) -c requirements/dev.lock --extra agent --extra gateway --extra aws --extra azure --extra gcp --extra pipeline pyproject.toml -o requirements/pipeline.lock
	@$(RESOLVE) requirements/audit.in -o requirements/audit.lock
	@$(RESOLVE) requirements/site.in -o requirements/site.lock
	@$(RESOLVE) requirements/release.in -o requirements/release.lock
	@rm -rf $(VENV)-lock

clean: ## remove the environments and caches of this checkout (not the downloads in the user's cache)
	@rm -rf $(VENV) $(VENV)-demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
