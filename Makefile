# SPDX-License-Identifier: Apache-2.0
# The work is in scripts/; this file names it. `make` alone lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash
MAKEFLAGS += --no-print-directory

.PHONY: help setup build packages controller-package wheel release release-key module benchmark apk generate format lint test test-unit test-uml check check-one test-series test-docs-long mutants bench demo picture top-picture dashboard-pictures luci-pictures lab up up-demo down test-compose clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' Makefile

setup: ## install what is missing: Debian packages, .venv, Go, linters
	@scripts/setup.sh

build: ## build the agents, the traffic generator and the load generator into build/
	@scripts/setup.sh demo python-lab go
	@scripts/build.sh

packages: ## make the devices' packages in build/packages/: .ipk, .apk, .deb (some minutes the first time)
	@scripts/setup.sh demo python-lab go tools
	@scripts/packages.sh $(ARGS)

controller-package: ## make the controller's packages for Debian and Ubuntu in build/packages/ (ARGS=amd64)
	@scripts/setup.sh demo python-lab go tools
	@scripts/controller-package.sh $(ARGS)

wheel: ## make the controller's wheel for pipx and pip in build/packages/
	@scripts/setup.sh demo python-lab
	@scripts/wheel.sh $(ARGS)

release: ## make all packages, the wheel, a signed feed, checksums and a list of parts in build/release/ (RELEASE_KEY=DIR)
	@scripts/setup.sh demo python go tools
	@scripts/release.sh --key '$(RELEASE_KEY)' $(ARGS)

release-key: ## make the keys that sign a release in RELEASE_KEY=DIR, once
	@scripts/setup.sh demo go
	@scripts/release.sh --make-key '$(RELEASE_KEY)'

module: ## make the phone's module for Magisk and KernelSU in build/packages/
	@scripts/setup.sh demo python-lab go
	@scripts/module.sh $(ARGS)

benchmark: ## build airbound-benchmark into build/benchmark/
	@scripts/setup.sh test java
	@scripts/benchmark.sh

apk: ## build the benchmark's application for Android into build/packages/ (ARGS='--keystore FILE')
	@scripts/setup.sh test java
	@scripts/apk.sh $(ARGS)

generate: ## generate code from proto/, BPF programs, references of keys and metrics, dashboards, the error table
	@scripts/setup.sh
	@scripts/generate.sh
	@scripts/generate-bpf.sh
	@scripts/generate-configuration.sh
	@scripts/generate-dashboards.sh
	@.venv/bin/python -m airbound.metrics.reference docs/metrics.md
	@scripts/generate-error-table.sh

format: ## format Go, Python and proto in place
	@scripts/setup.sh
	@scripts/format.sh

lint: ## check style, types, import rules, contracts and generated code
	@scripts/setup.sh
	@scripts/test.sh lint

test: ## lint and run every test, the kernel and the cell included; SEED=2 draws other random inputs
	@scripts/setup.sh
	@scripts/test.sh

test-unit: ## run the tests that need no kernel
	@scripts/setup.sh
	@scripts/test.sh unit

test-uml: ## run the kernel's and the cell's tests in User Mode Linux
	@scripts/setup.sh
	@scripts/test.sh uml

check: ## run single steps of the tests, e.g. make check STEPS='lint/mypy controller/core'; without STEPS list them
	@scripts/test.sh steps $(STEPS)

check-one: ## run one test of pytest, e.g. make check-one TEST=controller/tests/pki/test_tokens.py
	@scripts/test.sh one '$(TEST)'

test-series: ## check the kernel series thoroughly, for who changes it (an hour and more)
	@scripts/setup.sh series python go tools
	@scripts/test.sh series

test-docs-long: ## run those commands of the documents that take long (hours; ARGS='-k containers' needs a Docker engine)
	@scripts/setup.sh
	@scripts/build.sh
	@.venv/bin/pytest docs -m hours $(ARGS)

mutants: ## change the code in small ways, see whether tests notice; e.g. MUTANTS=120 SEED=1 make mutants ARGS='go'
	@scripts/setup.sh test python go
	@scripts/mutants.sh $(ARGS)

demo: ## show what the bounds do: 10 phones on 802.11ac, n and g, a report in out/demo/
	@scripts/demo.sh

picture: demo ## draw the README's pictures again from a demo
	@scripts/setup.sh lab
	@scripts/picture.sh

top-picture: ## draw the live view's picture again, from a cell in virtual time
	@scripts/setup.sh python
	@.venv/bin/python controller/pictures/top.py docs/images/top.svg

dashboard-pictures: ## draw the dashboards' pictures again, from simulated agents (four minutes)
	@scripts/setup.sh test python
	@scripts/dashboard-pictures.sh

luci-pictures: ## draw the LuCI application's pictures again, LUCI_SOURCE=DIR is a checkout of LuCI
	@scripts/setup.sh test python
	@scripts/luci-pictures.sh

lab: ## run the lab, e.g. make lab ARGS='run --scenario uplink --terminals 5 --seconds 10'
	@scripts/setup.sh lab python-lab go
	@scripts/build.sh agents link traffic
	@.venv/bin/airbound-lab $(ARGS)

bench: ## what the controller costs: the core alone, and under load beside a raw gRPC server, and of two replicas (a quarter of an hour)
	@scripts/setup.sh test python go
	@scripts/bench.sh $(ARGS)

up: ## bring up controller, load balancer, Redis, Prometheus and Grafana with Docker Compose (docs/operate.md)
	@scripts/up.sh $(ARGS)

up-demo: ## the same, and a live cell of five phones to watch (its image takes a quarter of an hour the first time)
	@scripts/up.sh --demo $(ARGS)

down: ## stop what `make up` or `make up-demo` started; volumes stay
	@scripts/up.sh --down

test-compose: ## test docker-compose.yml on a real engine (some minutes)
	@scripts/setup.sh python
	@scripts/compose-test.sh $(ARGS)

clean: ## remove what was built here; caches outside the repository stay
	@rm -rf build out .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache tools/luci/node_modules
