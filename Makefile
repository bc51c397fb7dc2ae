# Everything here works on a fresh machine with python3 (and its venv module) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help setup demo test check fmt bench docs clean \
  test-browser test-spark fuzz-fetch fuzz-parse soak-fetch polite-fetch bench-fetch bench-parse truth-batch kill-batch \
  kill-live kill-fetchers soak-live bench-live bench-tables bench-batch compiled test-compiled test-service

help: ## Show this list.
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

setup: $(READY) ## Create .venv with Scoter and all it needs.

$(READY): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(READY) ## Crawl a synthetic web in three rounds and look at what was found.
	@$(BIN)/python examples/demo.py

test: check ## Run every check and test.
	@$(BIN)/pytest -m "not browser and not spark and not service" -n auto --dist loadfile

test-service: $(READY) ## Run the tests that start a whole live service, and kill, starve or flood it.
	@$(BIN)/pytest -m service -n auto --dist loadfile tests

test-browser: $(READY) ## Run the tests that need Chromium, which root gets from Debian's packages.
	@command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq chromium >/dev/null; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,browser]'
	@$(BIN)/pytest -m browser

test-spark: $(READY) ## Run the engine's contract and every job on Spark in local mode; root gets Java from Debian's packages.
	@command -v java >/dev/null || { apt-get update -qq && apt-get install -y -qq default-jre-headless >/dev/null; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,spark]'
	@$(BIN)/pytest -m spark

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

# A release's wheel, unpacked: the modules that every page goes through are compiled in it. It is built from a copy, since
# the build hook puts its files beside the sources.
COMPILED := $(CURDIR)/build/compiled
compiled: $(COMPILED)/.ready ## Build what a release ships, with the hot paths compiled, into build/compiled.

$(COMPILED)/.ready: $(READY) $(shell find src -name '*.py')
	@command -v gcc >/dev/null || { apt-get update -qq && apt-get install -y -qq gcc libc6-dev >/dev/null; }
	@rm -rf build/tree $(COMPILED) && mkdir -p build/tree
	@cp -r src pyproject.toml README.md LICENSE build/tree/
	@HATCH_BUILD_HOOK_ENABLE_MYPYC=true $(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --no-deps --no-build-isolation --target $(COMPILED) build/tree
	@touch $@

test-compiled: $(COMPILED)/.ready ## Run the tests of what is compiled, and of a crawl and a service with it.
	@PYTHONPATH=$(COMPILED) $(BIN)/pytest -m "not browser and not spark" -n auto --dist loadfile \
	  tests/core tests/fetch tests/store tests/parse tests/batch/test_fetch_job.py tests/live/fetching/test_fetchers.py tests/live/content \
	  tests/web/service/test_service.py

docs: $(READY) ## Write the docs pages that are generated from the code.
	@$(BIN)/python -m scoter.config.docs docs/settings.md

FUZZ_SECONDS ?= 60
fuzz-fetch: $(READY) ## Fuzz the response path for FUZZ_SECONDS (60).
	@$(BIN)/python -m tests.long.fuzz_fetch --seconds $(FUZZ_SECONDS)

soak-fetch: $(READY) ## Fetch at 300 concurrent for SOAK_MINUTES (10), with flat memory and nothing lost.
	@$(BIN)/python -m tests.long.soak_fetch

fuzz-parse: $(READY) ## Fuzz the parsers with random and damaged documents for FUZZ_SECONDS (60), from FUZZ_SEED on (any).
	@$(BIN)/python -m tests.long.fuzz_parse --seconds $(FUZZ_SECONDS) $(if $(FUZZ_SEED),--seed $(FUZZ_SEED))

polite-fetch: $(READY) ## Fetch from 200 hosts for POLITE_SECONDS (120) a run, and read the ledger.
	@$(BIN)/python -m tests.long.polite_fetch

BENCH_VENV := .venv-bench
SCRAPY := $(BENCH_VENV)/.ready

$(SCRAPY):
	@test -x $(BENCH_VENV)/bin/python || $(PYTHON) -m venv $(BENCH_VENV)
	@$(BENCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check 'scrapy>=2.13,<3' 'beautifulsoup4>=4.13,<5'
	@touch $@

.PHONY: nginx
nginx:
	@command -v nginx >/dev/null || test -x /usr/sbin/nginx || \
	  { test "$$(id -u)" = 0 && apt-get install -y -qq nginx-light >/dev/null; } || \
	  { echo "nginx is needed: apt-get install nginx-light" >&2; exit 2; }

.PHONY: wrk
wrk:
	@command -v wrk >/dev/null || \
	  { test "$$(id -u)" = 0 && apt-get install -y -qq wrk >/dev/null; } || \
	  { echo "wrk is needed: apt-get install wrk" >&2; exit 2; }

bench-fetch: $(COMPILED)/.ready $(SCRAPY) nginx ## Measure what a fetched page costs, beside Scrapy; needs nginx.
	@PYTHONPATH=$(COMPILED) $(BIN)/python -m benchmarks.fetch --scrapy $(BENCH_VENV)/bin/python

bench-parse: $(COMPILED)/.ready $(SCRAPY) ## Measure what reading a page costs, beside bare selectolax, parsel and BeautifulSoup.
	@PYTHONPATH=$(COMPILED) $(BIN)/python benchmarks/bench_parse.py --peers $(BENCH_VENV)/bin/python

KILLS ?= 40
kill-batch: $(READY) ## Kill a crawl KILLS (40) times at random moments, and compare with one that nobody disturbed.
	@$(BIN)/python -m tests.long.kill_batch --kills $(KILLS)

BLOWS ?= 30
kill-live: $(READY) ## Kill and stop processes of a live service BLOWS (30) times under load; nothing may be lost or doubled.
	@$(BIN)/python -m tests.long.kill_live --kills $(BLOWS)

soak-live: $(READY) ## Run a live service under all kinds of load for SOAK_MINUTES (10): nothing lost, flat memory, a clean end.
	@$(BIN)/python -m tests.long.soak_live

kill-fetchers: $(READY) ## Kill and stop fetching processes of the live service; no domain may feel it.
	@$(BIN)/python -m tests.long.kill_fetchers

truth-batch: $(READY) ## Crawl three webs with faults to the end; every URL must have the status that is true.
	@$(BIN)/python -m tests.long.batch_truth --hosts 8 --pages 96 --seeds 2 3
	@$(BIN)/python -m tests.long.batch_truth --hosts 20 --pages 400 --seeds 4

ROWS ?= 10000000
bench-tables: $(READY) ## Measure the jobs over a crawldb of ROWS (10 million) URLs.
	@$(BIN)/python -m benchmarks.batch_tables --rows $(ROWS)

bench-batch: $(COMPILED)/.ready $(SCRAPY) nginx ## Measure whole crawls beside Scrapy, jobs over 10 million URLs, and the memory of a fetch.
	@PYTHONPATH=$(COMPILED) $(BIN)/python -m benchmarks.batch --scrapy $(BENCH_VENV)/bin/python
	@PYTHONPATH=$(COMPILED) $(BIN)/python -m benchmarks.batch.memory
	@PYTHONPATH=$(COMPILED) $(BIN)/python -m benchmarks.batch_tables --rows $(ROWS)

BENCH_SECONDS ?= 120
bench-live: $(COMPILED)/.ready nginx wrk ## Measure the live service: messages for BENCH_SECONDS (120), lookups, memory; needs nginx and wrk.
	@PYTHONPATH=$(COMPILED) $(BIN)/python -m benchmarks.live --seconds $(BENCH_SECONDS)

clean: ## Remove what the other targets made.
	rm -rf build $(VENV) $(BENCH_VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
