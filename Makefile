# The environment is made by the second command of the README; everything here runs inside it.
PYTHON := .venv/bin/python
COMPILE := .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --custom-compile-command "make lock" $(LOCK_FLAGS)

.DEFAULT_GOAL := help
.PHONY: help demo test versions check long fix states bench-storage bench-worker bench-http bench-schedules bench-webhooks bench-messages bench-growth bench-pages bench-rivals \
	chaos chaos-counts chaos-schedules chaos-webhooks lock clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

demo: ## run the demo on an embedded SQLite file
	.venv/bin/tenure demo

test: ## run every check, then every test
	$(PYTHON) -m tests

versions: ## run the stores' tests on every PostgreSQL from 13 to 18, fetching those that are not here
	$(PYTHON) -m tests versions

check: ## run the checks alone: format, lint, types, import contracts
	$(PYTHON) -m tests check

long: ## run the tests that take more time the more they are to find
	TENURE_POWER_CUTS=1000 $(PYTHON) -m pytest tests/storage/faults/test_power_cut.py
	TENURE_MODEL_EXAMPLES=200 $(PYTHON) -m pytest tests/model
	TENURE_TEST_WHOLE=1 $(PYTHON) -m pytest tests/bench tests/browser tests/chaos/test_short.py tests/chaos/test_schedules.py tests/chaos/test_webhooks.py tests/chaos/test_messages.py \
		tests/storage/contract/test_limits_crowded.py tests/storage/contract/test_migrate_killed.py \
		tests/storage/postgres/claims/test_many_keys.py tests/examples tests/relay tests/storage/touched tests/surfaces tests/telemetry tests/testing tests/worker \
		--deselect tests/surfaces/http/docs/test_document.py
	TENURE_TEST_WHOLE=1 TENURE_TEST_EXAMPLES=100 $(PYTHON) -m pytest --timeout 2400 tests/surfaces/http/docs/test_document.py
	TENURE_TEST_COLLISIONS=400 $(PYTHON) -m pytest tests/storage/races/test_collisions.py

fix: ## format the code and repair what the linter can
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

states: ## rewrite the files that are generated from the code and the tests
	$(PYTHON) -m tools.states
	$(PYTHON) -m tools.catalogue
	$(PYTHON) -m tools.commands
	$(PYTHON) -m tools.settings
	$(PYTHON) -m tools.python_reference
	$(PYTHON) -m tools.calls
	$(PYTHON) -m tools.figures
	$(PYTHON) -m tools.code_map
	$(PYTHON) -m tools.requirements

bench-storage: ## measure the storage layer, about ten minutes (BENCH_FLAGS=--quick for a short run)
	$(PYTHON) -m bench.storage $(BENCH_FLAGS)

bench-worker: ## measure the worker, about seven minutes (BENCH_FLAGS=--quick, too)
	$(PYTHON) -m bench.worker $(BENCH_FLAGS)

bench-http: ## measure the HTTP server, about four minutes (BENCH_FLAGS=--quick, too)
	$(PYTHON) -m bench.http $(BENCH_FLAGS)

bench-schedules: ## measure schedules: ten thousand due at once, about twelve minutes (BENCH_FLAGS=--quick, too)
	$(PYTHON) -m bench.schedules $(BENCH_FLAGS)

bench-messages: ## measure a drain that messages lead, beside one without, about two minutes (BENCH_FLAGS=--quick, too)
	$(PYTHON) -m bench.messages $(BENCH_FLAGS)

bench-webhooks: ## measure webhooks: how fast they are sent, what a drain pays, about six minutes (BENCH_FLAGS=--quick, too)
	$(PYTHON) -m bench.webhooks $(BENCH_FLAGS)

bench-growth: ## measure whether speed stays while things grow; hours and 40 GB (BENCH_FLAGS=--quick, or sizes)
	$(PYTHON) -m bench.growth $(BENCH_FLAGS)

bench-pages: ## measure the dashboard over a million jobs, about six minutes (BENCH_FLAGS=--quick, too)
	$(PYTHON) -m bench.pages $(BENCH_FLAGS)

bench-rivals: ## measure beside ten rivals, about 25 minutes (BENCH_FLAGS=--setup once, to install them)
	$(PYTHON) -m bench.rivals $(BENCH_FLAGS)

chaos: ## break running workers and databases by random seeds, MINUTES=10 unless told otherwise (CHAOS_FLAGS)
	$(PYTHON) -m chaos --minutes $(or $(MINUTES),10) $(CHAOS_FLAGS)

chaos-counts: ## the same until every fault has struck as often as it must, half an hour; CHAOS_RESULTS=FILE keeps it
	$(PYTHON) -m chaos --counts $(if $(CHAOS_RESULTS),--results $(CHAOS_RESULTS)) $(CHAOS_FLAGS)

chaos-schedules: ## 200 schedules fire by the second while what fires them is killed and frozen (CHAOS_FLAGS)
	$(PYTHON) -m chaos.schedules $(CHAOS_FLAGS)

chaos-webhooks: ## 2,000 jobs are told of while receivers misbehave and what sends is killed (CHAOS_FLAGS)
	$(PYTHON) -m chaos.webhooks $(CHAOS_FLAGS)

lock: ## bring both locks in line with pyproject.toml (LOCK_FLAGS=--upgrade for newer versions)
	$(COMPILE) --extra dev --output-file requirements-dev.lock pyproject.toml
	$(COMPILE) --extra postgres --extra fast --constraints requirements-dev.lock \
		--output-file requirements.lock pyproject.toml

clean: ## remove caches and build results, keep the environment
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests tools bench chaos -name __pycache__ -type d -prune -exec rm -rf {} +
