# Everything here works on a fresh machine with python3 (and its venv module) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEV := $(VENV)/.dev
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt

# Python compiles what is imported, once; pip would compile everything on one core.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help help-all setup dev demo test test-slow test-properties test-browser screenshots test-spark test-spark-cluster test-yarn test-clients test-loaders test-indexes test-stores test-cluster test-manifests test-kubernetes manifests image image-base test-image cluster-up cluster-down test-install check fmt docs site clean \
  release mutants fuzz-fetch fuzz-parse fuzz-native soak-fetch soak-live polite-fetch truth-batch traps robots-gate nutch-import test-nutch nutch-fixtures replay compare-linkchecker kill-batch slow-hosts kill-live \
  kill-workers kill-cluster kill-executors bench bench-fetch bench-parse bench-batch bench-tables bench-links bench-live bench-export bench-search bench-search-docs bench-main-text bench-cluster bench-viewers nginx wrk

# After a target, "## text" describes it in help, "##@group text" only in help-all.
help: ## Show the everyday targets; make help-all shows all of them.
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

help-all: help
	@for group in "tests:Tests" "long:Long suites" "benchmarks:Benchmarks" "build:Documentation and builds"; do \
	  echo && echo "$${group#*:}"; \
	  sed -n "s/^\([a-z-]*\):.*##@$${group%%:*} \(.*\)/  make \1\t\2/p" $(MAKEFILE_LIST) | expand -t 28; \
	done

setup: $(READY) ## Create .venv with Scoter and what its users need.

NATIVE := hatch_build.py $(wildcard src/scoter/*/*.[ch] src/scoter/*/*/*.[ch])

$(READY): pyproject.toml constraints.txt $(NATIVE)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) -e .
	@touch $@

dev: $(DEV) ## Add the tools for working on Scoter to .venv.

$(DEV): pyproject.toml constraints.txt $(NATIVE)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) -e '.[dev]'
	@touch $(READY) $@

demo: $(READY) ## Crawl a synthetic web in three rounds and show what was found.
	@$(BIN)/python examples/demo.py

# Temporary files in memory: many tests wait for the disk. Half as many workers again as cores: many wait for a clock.
# Files in their order: those with the longest tests come first, whatever their number of tests.
PYTEST := $(if $(wildcard /dev/shm/.),PYTEST_DEBUG_TEMPROOT=/dev/shm) $(BIN)/pytest -n $(shell echo $$(($$(nproc) * 3 / 2))) --dist loadfile --no-loadscope-reorder

test: $(DEV) ## Run the tests; make help-all lists those that need servers, a browser or much time.
	@$(PYTEST) -m "not browser and not spark and not spark_cluster and not slow and not clients and not indexes and not cluster and not stores and not image and not kubernetes"

test-slow: $(DEV) ##@tests Run the tests that start whole services, kill processes, fill disks or parse hostile content.
	@$(PYTEST) -m slow tests

test-properties: $(DEV) ##@tests Run the property tests with all their examples; make test tries a quarter of them.
	@$(PYTEST) -m "hypothesis and not slow and not spark and not cluster and not stores" --hypothesis-profile=thorough tests

test-browser: $(DEV) ##@tests Run the tests that need Chromium (installed with apt-get when run as root).
	@command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq chromium >/dev/null; }
	@$(PIP) -e '.[dev,browser]' axe-playwright-python
	@$(BIN)/pytest -m browser

screenshots: $(DEV) ##@build Take a picture of every view of the web interface, into build/screenshots (Chromium is installed with apt-get when run as root).
	@command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq chromium >/dev/null; }
	@$(PIP) -e '.[dev,browser]'
	@$(BIN)/python -m tests.ui.screenshots build/screenshots

# Programs that load a corpus have an environment of their own: Scoter does not depend on them.
LOADERS := build/loaders
$(LOADERS)/.ready:
	@test -x $(LOADERS)/bin/python || $(PYTHON) -m venv $(LOADERS)
	@$(LOADERS)/bin/python -m pip install --quiet --disable-pip-version-check 'datasets>=4,<6' 'pandas>=2.2,<4' 'polars>=1.20,<2'
	@touch $@

test-loaders: $(DEV) $(LOADERS)/.ready ##@tests Load a corpus with datasets, pandas and polars, which get an environment of their own.
	@$(BIN)/pytest -m "slow or not slow" tests/export/corpus/test_loading.py

SPARK_SHARE ?= 100
SPARK_SEED ?= 1
export SPARK_SHARE SPARK_SEED
test-spark: $(DEV) ##@tests Run SPARK_SHARE (100) percent of the engine contract and of all jobs on Spark in local mode, chosen by SPARK_SEED (Java is installed with apt-get when run as root).
	@command -v java >/dev/null || { apt-get update -qq && apt-get install -y -qq default-jre-headless >/dev/null; }
	@$(PIP) -e '.[dev,spark]'
	@JAVA_TOOL_OPTIONS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" $(BIN)/pytest -m spark --timeout 1200

test-spark-cluster: $(DEV) ##@tests Compare a crawl on a standalone Spark cluster with one on DuckDB.
	@command -v java >/dev/null || { apt-get update -qq && apt-get install -y -qq default-jre-headless >/dev/null; }
	@$(PIP) -e '.[dev,spark]'
	@$(BIN)/pytest -m spark_cluster --timeout 1200 tests/engine/test_standalone.py

YARN := build/servers/yarn
$(YARN)/.ready: tests/servers/yarn/pom.xml
	@command -v mvn >/dev/null || { apt-get update -qq && apt-get install -y -qq maven default-jdk-headless >/dev/null; }
	@mvn --quiet --batch-mode --file tests/servers/yarn dependency:copy-dependencies -DincludeScope=runtime
	@touch $@

test-yarn: $(DEV) $(YARN)/.ready ##@tests Compare a crawl on YARN (installed with Maven) with one on DuckDB; takes ten minutes.
	@$(PIP) -e '.[dev,spark]'
	@$(BIN)/pytest -m spark_cluster --timeout 1800 tests/engine/test_yarn.py

# The generators have an environment of their own, because their dependencies conflict with ours.
CLIENTS := build/clients
$(CLIENTS)/.ready:
	@command -v npm >/dev/null || { apt-get update -qq && apt-get install -y -qq npm >/dev/null; }
	@rm -rf $(CLIENTS) && $(PYTHON) -m venv $(CLIENTS)
	@$(CLIENTS)/bin/python -m pip install --quiet --disable-pip-version-check \
	  'datamodel-code-generator>=0.89,<0.90' 'openapi-python-client>=0.29,<0.30'
	@npm install --prefix $(CLIENTS) --silent --no-audit --no-fund --no-package-lock openapi-typescript@7 typescript@5
	@touch $@

test-clients: $(DEV) $(CLIENTS)/.ready ##@tests Generate clients from the OpenAPI document and use them (npm is installed with apt-get when run as root).
	@$(BIN)/pytest -m clients tests

# Servers for the tests of index writers, from Maven. Debian starts a RabbitMQ of its own unless told otherwise.
SERVERS := build/servers
$(SERVERS)/.ready: $(wildcard tests/servers/pom.xml tests/servers/*/pom.xml)
	@command -v mvn >/dev/null && command -v javac >/dev/null && test -d /usr/lib/rabbitmq || \
	  { apt-get update -qq && RUNLEVEL=1 apt-get install -y -qq default-jdk-headless maven rabbitmq-server >/dev/null; }
	@rm -rf $(SERVERS)
	@mvn --quiet --batch-mode --threads 3 --file tests/servers dependency:copy-dependencies
	@touch $@

test-indexes: $(DEV) $(SERVERS)/.ready ##@tests Run the index writers against OpenSearch, Solr, Kafka and RabbitMQ (installed with Maven, and apt-get when run as root).
	@$(BIN)/pytest -m indexes tests/contract

cluster-up: $(DEV) $(SERVERS)/.ready ##@tests Start Kafka and Cassandra for the tests of the cluster, unless they run (see tests/servers/cluster.py).
	@$(BIN)/python -m tests.servers.cluster up

test-cluster: cluster-up ##@tests Run the tests of the live service on several machines, with Kafka, Cassandra and Redis (installed with apt-get when run as root); stop these afterwards.
	@command -v redis-server >/dev/null || { apt-get update -qq && RUNLEVEL=1 apt-get install -y -qq redis-server >/dev/null; }
	@$(BIN)/pytest -n 2 -m "cluster and not image" tests/live tests/deploy; status=$$?; $(BIN)/python -m tests.servers.cluster down >/dev/null; exit $$status

# Only the schemas in these packages are used. The last Compose in Python has dependencies that conflict with ours.
SCHEMAS := build/schemas
$(SCHEMAS)/.ready:
	@rm -rf $(SCHEMAS)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --target $(SCHEMAS) \
	  kubernetes-validate==1.37.0 importlib-resources docker-compose==1.29.2
	@touch $@

test-manifests: $(DEV) $(SCHEMAS)/.ready ##@tests Validate the Compose file and the Kubernetes manifests against their schemas.
	@$(BIN)/pytest -m "not cluster and not image and not kubernetes" tests/deploy

HELM := build/tools/helm
$(HELM):
	@mkdir -p $(@D) && GOBIN=$(CURDIR)/$(@D) go install helm.sh/helm/v4/cmd/helm@v4.3.1

manifests: $(HELM) ##@build Render deploy/kubernetes/scoter.yaml from the Helm chart (built with Go) and deploy/helm/example.yaml.
	@$(HELM) lint --quiet --strict deploy/helm/scoter --values deploy/helm/example.yaml
	@{ echo "# Rendered by make manifests from the chart in deploy/helm: change it there. See docs/operations.md." && \
	  $(HELM) template scoter deploy/helm/scoter --values deploy/helm/example.yaml; } >$(HELM).yaml
	@mv $(HELM).yaml deploy/kubernetes/scoter.yaml

KUBERNETES := build/kubernetes/kube-apiserver
$(KUBERNETES): tests/servers/kubernetes/go.mod
	@mkdir -p $(@D) && cp $< $(@D)/ && cd $(@D) && go mod tidy && go build -o $(@F) k8s.io/kubernetes/cmd/$(@F)

test-kubernetes: $(DEV) $(HELM) $(KUBERNETES) ##@tests Apply the chart and the manifests to a real control plane (built with Go, eleven minutes of CPU time at first; etcd is installed with apt-get when run as root).
	@command -v etcd >/dev/null || { apt-get update -qq && RUNLEVEL=1 apt-get install -y -qq etcd-server >/dev/null; }
	@$(BIN)/pytest -m kubernetes tests/deploy

# BUILDAH_FORMAT: the format of podman and buildah by default has no health checks.
ENGINE ?= $(firstword $(foreach each,podman buildah docker,$(if $(shell command -v $(each)),$(each))))
IMAGE ?= scoter
EXTRAS ?= cluster
SUITE ?= bookworm
VERSION = $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' src/scoter/__init__.py)
comma := ,
image: $(READY) ##@build Build the container image IMAGE (scoter) on BASE (python:3.13-slim-bookworm) at DIGEST, with EXTRAS (cluster); CA: a file with the certificates of this network; ENGINE: podman, buildah or docker.
	@test -n "$(ENGINE)" || { echo "podman, buildah or docker is needed, for example: apt-get install podman" >&2; exit 2; }
	@rm -rf build/image && mkdir -p build/image && cp constraints.txt deploy/slim.sh build/image
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/image .
	@BUILDAH_FORMAT=docker $(ENGINE) build --file deploy/Containerfile --tag $(IMAGE) \
	  --tag $(IMAGE):$(VERSION) \
	  $(if $(BASE),--build-arg BASE=$(BASE)) $(if $(DIGEST),--build-arg DIGEST=$(DIGEST)) --build-arg EXTRAS=$(EXTRAS) \
	  --build-arg VERSION=$(VERSION) \
	  --build-arg REVISION=$$(git rev-parse HEAD 2>/dev/null) $(if $(CA),--secret id=ca$(comma)src=$(CA)) build/image

image-base: ##@build Make a base image scoter-base of Debian's packages (SUITE: bookworm), where no registry can be reached: make image BASE=scoter-base.
	@command -v mmdebstrap >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends mmdebstrap >/dev/null; }
	@mkdir -p build && mmdebstrap --quiet --variant=apt --include=usr-is-merged,python3-venv,ca-certificates,tzdata \
	  --hook-dir=/usr/share/mmdebstrap/hooks/maybe-merged-usr --dpkgopt='path-exclude=/usr/share/doc/*' \
	  --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/man/*' $(SUITE) build/image-base.tar
	@$(ENGINE) import build/image-base.tar scoter-base

test-image: image cluster-up ##@tests Build the image (options as in make image) and run the service, its roles, the web interface and a crawl in it, with podman or docker.
	@IMAGE=$(IMAGE) $(BIN)/pytest -m image tests/deploy; status=$$?; $(BIN)/python -m tests.servers.cluster down >/dev/null; exit $$status

cluster-down: $(DEV) ##@tests Stop these servers and remove their data.
	@$(BIN)/python -m tests.servers.cluster down

# An S3 server in Go, beside moto. Without Go, the tests run on moto alone.
VERSITYGW := build/versitygw/versitygw
$(VERSITYGW):
	@mkdir -p $(@D)
	@command -v go >/dev/null && GOBIN=$(CURDIR)/$(@D) go install github.com/versity/versitygw/cmd/versitygw@v1.8.0 2>/dev/null || \
	  echo "Go is not available: the tests leave versitygw out"

test-stores: $(DEV) $(VERSITYGW) ##@tests Run crawls in object stores on two S3 servers, with faults, kills and suspended processes.
	@$(PYTEST) -m stores tests/stores

check: $(DEV) ## Run the linters, the type checker and the import contracts.
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --quiet --check
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-cache >/dev/null || $(BIN)/lint-imports --no-cache

fmt: $(DEV) ## Format the code.
	@$(BIN)/ruff check --quiet --fix
	@$(BIN)/ruff format --quiet

bench: $(DEV) nginx ##@benchmarks Measure the hot paths and a small crawl; fails when a target is missed; needs nginx.
	@$(BIN)/python -m benchmarks

# Pythons come from this machine, or from Debian's releases, unpacked into build/roots when run as root.
release: $(DEV) ## Build an sdist and wheels into dist/, install each in CPython 3.11, 3.13 and 3.14 and run the demo (REQUIRE=1: fail if a Python is missing).
	@command -v gcc >/dev/null || { apt-get update -qq && apt-get install -y -qq gcc libc6-dev >/dev/null; }
	@command -v mmdebstrap >/dev/null && command -v bwrap >/dev/null || test "$$(id -u)" != 0 || \
	  { apt-get update -qq && apt-get install -y -qq --no-install-recommends mmdebstrap bubblewrap >/dev/null; }
	@$(BIN)/python -m release $(if $(REQUIRE),--require)

docs: $(DEV) ## Generate the docs pages and the man page that come from the code.
	@$(BIN)/python -m scoter.config.docs docs/settings.md
	@$(BIN)/python -m scoter.cli.manual docs
	@$(BIN)/python -m scoter.cli.counterparts tests/nutch/data docs/nutch-counterparts.md

# The renderer of the OpenAPI documents, and what the search needs in pages opened from files.
SITE_TOOLS := build/site-tools
$(SITE_TOOLS)/.ready:
	@command -v npm >/dev/null || { apt-get update -qq && apt-get install -y -qq npm >/dev/null; }
	@npm install --prefix $(SITE_TOOLS) --silent --no-audit --no-fund --no-package-lock --ignore-scripts swagger-ui-dist@5.35.0 iframe-worker@1.0.4
	@touch $@

site: $(DEV) $(SITE_TOOLS)/.ready ##@build Build the documentation as a site that works offline, with search, into build/site; broken links are errors (npm is installed with apt-get when run as root).
	@$(PIP) -e '.[dev,site]'
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "build/site/index.html"

MUTANTS ?= 40
MUTANT_SEED ?= 1
mutants: $(DEV) ##@long Mutate the source in MUTANTS (40) places chosen by MUTANT_SEED; the nearest tests must catch 90 %.
	@$(BIN)/python -m tests.long.mutants --mutants $(MUTANTS) --seed $(MUTANT_SEED)

test-install: ##@tests Install with pip into an empty environment, remove what is not needed, and crawl.
	@rm -rf build/install && $(PYTHON) -m venv build/install
	@build/install/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt .
	@build/install/bin/scoter --version
	@deploy/slim.sh build/install
	@build/install/bin/python -B examples/demo.py >/dev/null

FUZZ_SECONDS ?= 60
fuzz-fetch: $(DEV) ##@long Fuzz the response path for FUZZ_SECONDS (60), starting at FUZZ_SEED (random).
	@$(BIN)/python -m tests.long.fuzz_fetch --seconds $(FUZZ_SECONDS) $(if $(FUZZ_SEED),--seed $(FUZZ_SEED))

soak-fetch: $(DEV) ##@long Fetch with 300 concurrent requests for SOAK_MINUTES (10): flat memory, nothing lost.
	@$(BIN)/python -m tests.long.soak_fetch

fuzz-parse: $(DEV) ##@long Fuzz the parsers with random and damaged documents for FUZZ_SECONDS (60), starting at FUZZ_SEED (random).
	@$(BIN)/python -m tests.long.fuzz_parse --seconds $(FUZZ_SECONDS) $(if $(FUZZ_SEED),--seed $(FUZZ_SEED))

fuzz-native: $(DEV) ##@long Fuzz the modules in C with AddressSanitizer for FUZZ_SECONDS (60), from FUZZ_SEED (random): they must find what those in Python find.
	@$(BIN)/python -m tests.long.fuzz_native --seconds $(FUZZ_SECONDS) $(if $(FUZZ_SEED),--seed $(FUZZ_SEED))

polite-fetch: $(DEV) ##@long Fetch from 200 hosts for POLITE_SECONDS (120) per run and check the delays in the server's log.
	@$(BIN)/python -m tests.long.polite_fetch

BENCH_VENV := .venv-bench
SCRAPY := $(BENCH_VENV)/.ready

$(SCRAPY):
	@test -x $(BENCH_VENV)/bin/python || $(PYTHON) -m venv $(BENCH_VENV)
	@$(BENCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check 'scrapy>=2.13,<3' 'beautifulsoup4>=4.13,<5'
	@touch $@

nginx:
	@command -v nginx >/dev/null || test -x /usr/sbin/nginx || \
	  { test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -y -qq nginx-light >/dev/null; } || \
	  { echo "nginx is needed: apt-get install nginx-light" >&2; exit 2; }

wrk:
	@command -v wrk >/dev/null || \
	  { test "$$(id -u)" = 0 && apt-get install -y -qq wrk >/dev/null; } || \
	  { echo "wrk is needed: apt-get install wrk" >&2; exit 2; }

bench-fetch: $(DEV) $(SCRAPY) nginx ##@benchmarks Measure the CPU cost of fetching a page, next to Scrapy; needs nginx.
	@$(BIN)/python -m benchmarks.fetch --scrapy $(BENCH_VENV)/bin/python

bench-parse: $(DEV) $(SCRAPY) ##@benchmarks Measure the CPU cost of parsing a page, next to selectolax, parsel and BeautifulSoup.
	@$(BIN)/python benchmarks/bench_parse.py --peers $(BENCH_VENV)/bin/python

KILLS ?= 40
# LinkChecker has an environment of its own, as it has a licence of its own; nothing here depends on it.
LINKCHECKER := build/linkchecker
$(LINKCHECKER)/.ready:
	@rm -rf $(LINKCHECKER) && $(PYTHON) -m venv $(LINKCHECKER)
	@$(LINKCHECKER)/bin/python -m pip install --quiet --disable-pip-version-check 'LinkChecker>=10.6,<11'
	@touch $@

compare-linkchecker: $(DEV) $(LINKCHECKER)/.ready ##@long Compare the report on a site's health with LinkChecker, on a faulty site and on Python's documentation (installed with apt-get when run as root); takes some minutes.
	@test -d /usr/share/doc/python3.11/html || { apt-get update -qq && apt-get install -y -qq python3.11-doc >/dev/null; }
	@$(BIN)/python -m tests.long.compare_linkchecker

kill-batch: $(DEV) ##@long Kill a crawl KILLS (40) times at random moments and compare it with an undisturbed one.
	@$(BIN)/python -m tests.long.kill_batch --kills $(KILLS)

slow-hosts: $(DEV) ##@benchmarks Measure a crawl in which a twentieth of the hosts have 30 times the usual delay.
	@$(BIN)/python -m tests.long.slow_hosts

LIVE_KILLS ?= 30
kill-live: $(DEV) ##@long Kill and stop processes of a live service LIVE_KILLS (30) times under load; nothing may be lost or doubled.
	@$(BIN)/python -m tests.long.kill_live --kills $(LIVE_KILLS)

EXECUTOR_EVENTS ?= 12
CLUSTER_EVENTS ?= 40
TAKE_OVER ?= 10
kill-cluster: cluster-up ##@long Kill, stop and cut off roles, Kafka and Cassandra CLUSTER_EVENTS (40) times under load, time take-overs, restart all roles; nothing may be lost or doubled.
	@$(BIN)/python -m tests.long.kill_cluster --events $(CLUSTER_EVENTS) --take-over $(TAKE_OVER) $(if $(CLUSTER_SEED),--seed $(CLUSTER_SEED)); status=$$?; $(BIN)/python -m tests.servers.cluster down >/dev/null; exit $$status

soak-live: $(DEV) ##@long Run a live service under mixed load for SOAK_MINUTES (10): nothing lost, flat memory, clean shutdown.
	@$(BIN)/python -m tests.long.soak_live

kill-workers: $(DEV) ##@long Kill and stop workers of the live service; no domain may be asked too often.
	@$(BIN)/python -m tests.long.kill_workers

kill-executors: $(DEV) ##@long Fetch on a Spark cluster while executors are killed, suspended and cut off; needs root.
	@command -v java >/dev/null || { apt-get update -qq && apt-get install -y -qq default-jre-headless >/dev/null; }
	@command -v ip >/dev/null || { apt-get update -qq && apt-get install -y -qq iproute2 >/dev/null; }
	@$(PIP) -e '.[dev,spark]'
	@$(BIN)/python -m tests.long.kill_executors --events $(EXECUTOR_EVENTS) $(if $(EXECUTOR_SEED),--seed $(EXECUTOR_SEED))

truth-batch: $(DEV) ##@long Crawl three synthetic webs with faults to the end; every URL must end in its true status.
	@$(BIN)/python -m tests.long.batch_truth --hosts 8 --pages 96 --seeds 2 3
	@$(BIN)/python -m tests.long.batch_truth --hosts 20 --pages 400 --seeds 4

traps: $(DEV) ##@long Crawl sites with endless calendars, loops and session ids; 95 % of the requests must be for real pages.
	@$(BIN)/python -m tests.long.traps

# Real files from the source distribution of Protego, and a Go port of Google's parser, where Go is installed.
ROBOTS := build/robots
$(ROBOTS)/.ready:
	@rm -rf $(ROBOTS) && mkdir -p $(ROBOTS)
	@$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary protego --dest $(ROBOTS) protego==0.7.0
	@tar -xzf $(ROBOTS)/protego-0.7.0.tar.gz -C $(ROBOTS) --strip-components 1
	@touch $@

GOOGLE_ROBOTS := build/google-robots/google-robots
$(GOOGLE_ROBOTS): tests/long/google_robots/main.go tests/long/google_robots/go.mod
	@rm -rf $(@D) && mkdir -p build && cp -r tests/long/google_robots $(@D)
	@command -v go >/dev/null && cd $(@D) && go build -mod=mod -o google-robots . 2>/dev/null || \
	  echo "Go is not available: the gate leaves Google's parser out"

robots-gate: $(DEV) $(ROBOTS)/.ready $(GOOGLE_ROBOTS) ##@long Read 4,231 real robots.txt files: no Crawl-delay longer than Protego's, nothing fetched that Google's parser refuses.
	@$(BIN)/python -m tests.long.robots_gate --files $(ROBOTS)/tests/test_data --google $(GOOGLE_ROBOTS)

NUTCH_PAGES ?= 20000
nutch-import: $(DEV) ##@long Import crawls written with Nutch's own classes and compare every field; needs Maven and a JDK.
	@command -v mvn >/dev/null || { apt-get update -qq && apt-get install -y -qq maven default-jdk-headless >/dev/null; }
	@$(BIN)/python -m tests.long.nutch_import --jars build/nutch --large $(NUTCH_PAGES)

test-nutch: $(DEV) ##@tests Crawl one site with Nutch's own jobs and with Scoter, and compare the results; needs Maven and a JDK.
	@command -v mvn >/dev/null || { apt-get update -qq && apt-get install -y -qq maven default-jdk-headless >/dev/null; }
	@$(BIN)/python -m tests.long.nutch_site --jars build/nutch-site

nutch-fixtures: $(DEV) ##@build Write the small crawls in examples/nutch-releases with the classes of Nutch 1.15 to 1.22; needs Maven and a JDK.
	@$(BIN)/python -m tests.long.nutch_import --jars build/nutch --fixtures

REPLAY_VENV := .venv-replay
$(REPLAY_VENV)/.ready:
	@test -x $(REPLAY_VENV)/bin/python || $(PYTHON) -m venv $(REPLAY_VENV)
	@$(REPLAY_VENV)/bin/python -m pip install --quiet --disable-pip-version-check 'pywb>=2.9,<3' 'cdxj-indexer>=1.5,<2' 'wacz>=0.6,<0.7'
	@touch $@

replay: $(DEV) $(REPLAY_VENV)/.ready ##@long Replay every page of a crawl with pywb from our index; compare the keys with cdxj-indexer's; validate WACZ exports.
	@$(BIN)/python -m tests.long.replay --tools $(REPLAY_VENV)/bin

ROWS ?= 10000000
ROUNDS ?= 30
bench-tables: $(DEV) ##@benchmarks Measure the jobs over a crawldb of ROWS (10 million) URLs, and ROUNDS (30) small updates of it.
	@$(BIN)/python -m benchmarks.batch_tables --rows $(ROWS)
	@$(BIN)/python -m benchmarks.table_rounds --rows $(ROWS) --rounds $(ROUNDS)

NODES ?= 10000000
LINKS ?= 100000000
NETWORKIT := $(BENCH_VENV)/.networkit
$(NETWORKIT):
	@test -x $(BENCH_VENV)/bin/python || $(PYTHON) -m venv $(BENCH_VENV)
	@$(BENCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check 'networkit>=11,<12'
	@touch $@

bench-links: $(DEV) $(NETWORKIT) ##@benchmarks Measure a link graph of NODES (10 million) and LINKS (100 million): build, PageRank, update; next to networkit.
	@$(BIN)/python -m benchmarks.links --nodes $(NODES) --links $(LINKS) --peer $(BENCH_VENV)/bin/python

# Colly, a peer of the crawl benchmark, is built where Go is installed.
COLLY := build/colly/colly-crawl
$(COLLY): benchmarks/batch/colly/main.go benchmarks/batch/colly/go.mod
	@rm -rf build/colly && mkdir -p build && cp -r benchmarks/batch/colly build/colly
	@command -v go >/dev/null && cd build/colly && go mod tidy 2>/dev/null && go build -o colly-crawl . || \
	  echo "Go or Colly is not available: the benchmark leaves Colly out"

PEERS = --scrapy $(BENCH_VENV)/bin/python --colly $(COLLY)
bench-batch: $(DEV) $(SCRAPY) $(COLLY) nginx ##@benchmarks Measure crawls of realistic pages, native and pure, next to a bare loop, Scrapy, Colly and wget2; TLS, many hosts, small rounds; jobs over ROWS URLs; memory.
	@$(BIN)/python -m benchmarks.batch $(PEERS)
	@$(BIN)/python -m benchmarks.batch --large $(PEERS)
	@$(BIN)/python -m benchmarks.batch.network
	@$(BIN)/python -m benchmarks.batch.small
	@$(BIN)/python -m benchmarks.batch.memory
	@$(BIN)/python -m benchmarks.batch_tables --rows $(ROWS)

VIEWED_PAGES ?= 40000
bench-viewers: $(DEV) ##@benchmarks Measure what five open viewers of the web interface cost a crawl of VIEWED_PAGES (40,000) pages.
	@$(BIN)/python -m benchmarks.viewers --pages $(VIEWED_PAGES)

# Each in an environment of its own: datatrove needs an old trafilatura.
CORPUS_PEERS := build/datatrove/.ready build/trafilatura/.ready
build/datatrove/.ready: PACKAGES = 'datatrove[io,processing]>=0.10,<0.11' spacy lxml-html-clean
build/trafilatura/.ready: PACKAGES = 'trafilatura>=2.0,<3' warcio lxml-html-clean
$(CORPUS_PEERS):
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check $(PACKAGES)
	@touch $@

EXPORT_PAGES ?= 40000
CORPUS_PAGES ?= 600
bench-export: $(DEV) $(CORPUS_PEERS) build/main_text/documentation.jsonl ##@benchmarks Measure exports of EXPORT_PAGES (40,000) pages next to a bare loop, and a corpus of CORPUS_PAGES (600) of documentation next to datatrove and trafilatura.
	@$(BIN)/python -m benchmarks.export --pages $(EXPORT_PAGES)
	@$(BIN)/python -m benchmarks.corpus --pages $(CORPUS_PAGES) --datatrove build/datatrove/bin/python --trafilatura build/trafilatura/bin/python

SEARCH_PAGES ?= 200000
bench-search: $(DEV) ##@benchmarks Measure search on SEARCH_PAGES (200,000) pages: recall and rank next to SQLite FTS5, cost next to plain tantivy.
	@$(BIN)/python -m benchmarks.search --pages $(SEARCH_PAGES)

MAIN_TEXT := build/main_text
$(MAIN_TEXT)/documentation.jsonl: $(DEV) benchmarks/main_text/documentation.py benchmarks/main_text/articles.py
	@$(BIN)/python -m benchmarks.main_text.gather --into $(MAIN_TEXT)

bench-main-text: $(MAIN_TEXT)/documentation.jsonl ##@benchmarks Measure main text on documentation and articles, next to other extractors (pages come from apt-get, go and pip).
	@$(BIN)/python -m benchmarks.main_text --data $(MAIN_TEXT)

bench-search-docs: $(DEV) ##@benchmarks Measure search on documentation of Debian packages next to pagefind, SQLite FTS5 and tantivy; needs apt and npm.
	@$(BIN)/python -m benchmarks.search.documentation --failures

BENCH_SECONDS ?= 120
bench-live: $(DEV) nginx wrk ##@benchmarks Measure the live service: messages for BENCH_SECONDS (120), lookups, memory; needs nginx and wrk.
	@$(BIN)/python -m benchmarks.live --seconds $(BENCH_SECONDS)

bench-cluster: cluster-up ##@benchmarks Measure the live service on Kafka and Cassandra next to the embedded one.
	@$(BIN)/python -m benchmarks.cluster; status=$$?; $(BIN)/python -m tests.servers.cluster down >/dev/null; exit $$status

clean: ## Remove everything the other targets made.
	rm -rf build dist $(VENV) $(BENCH_VENV) $(REPLAY_VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
