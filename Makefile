# `make help` lists the verbs. Everything that is built or downloaded for development lies in bin/, .tools/ and .cache/.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -X github.com/millstream/millstream/internal/app.version=$(VERSION)

# Narrow a run: make test PKG=./internal/wal/... RUN=TestReplay ARGS=-v
PKG ?= ./...
RUN ?=
ARGS ?=
TEST_TIMEOUT ?= 20m
FUZZTIME ?= 10m
GOTEST = go test -p 2 -timeout $(TEST_TIMEOUT) $(if $(RUN),-run '$(RUN)') $(ARGS)

.PHONY: help
help: ## list the verbs
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  %-15s %s\n", $$1, $$2}'

.PHONY: setup
setup: ## install what building and testing need (Debian packages; root or sudo)
	@tools/setup.sh test

.PHONY: build
build: ## build bin/millstream
	@tools/setup.sh build
	go build -ldflags '$(LDFLAGS)' -o bin/millstream ./cmd/millstream

.PHONY: run
run: build ## build and start a server on its defaults: data in ./data, http://127.0.0.1:5080
	bin/millstream

.PHONY: cluster
cluster: setup build .tools/versitygw ## run a cluster on this machine: PostgreSQL, S3, one process a role (CLUSTER_ROLES)
	go run ./test/localcluster -program bin/millstream $(if $(CLUSTER_ROLES),-roles '$(CLUSTER_ROLES)')

.PHONY: test
test: setup .tools/services .tools/versitygw ## run all tests, with a PostgreSQL and an S3 server of their own
	.tools/services $(GOTEST) $(PKG)
	$(if $(filter ./...,$(PKG)),cd test/clients/otel && $(GOTEST) ./...)

.PHONY: test-long
test-long: setup ## run the tests with millions of rows and gigabytes of log (half an hour, 30 GB of disk below TMPDIR)
	go test -p 1 -tags long -timeout 120m -count 1 -v -run '$(or $(RUN),Millions|Gigabytes|TenThousand)' $(ARGS) ./test/e2e ./test/query ./test/promql ./internal/compactor
	cd test/clients/otel && go test -tags long -timeout 20m -count 1 -v -run '$(or $(RUN),StockCollector)' $(ARGS) .

.PHONY: test-prometheus
test-prometheus: setup .tools/prometheus .tools/promtool ## compare with a real Prometheus and promtool (builds them, minutes; then a quarter of an hour)
	go test -tags peers -timeout 60m -count 1 $(if $(RUN),-run '$(RUN)') $(ARGS) ./test/clients/prometheus

.PHONY: test-race
test-race: setup .tools/services .tools/versitygw ## run all tests under the race detector
	.tools/services $(GOTEST) -race $(PKG)

.PHONY: lint
lint: .tools/golangci-lint ## check style and import rules
	.tools/golangci-lint run

.PHONY: fmt
fmt: .tools/golangci-lint ## format all Go files
	.tools/golangci-lint fmt

.PHONY: generate
generate: ## write generated files anew
	go generate ./...

.PHONY: verify
verify: generate ## fail when generated files or go.mod are not what they should be
	go mod verify
	git diff --exit-code -- docs go.mod go.sum

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (10m) each; PKG narrows
	tools/fuzz.sh '$(FUZZTIME)' $(PKG)

.PHONY: chaos
chaos: setup build .tools/services .tools/versitygw ## kill, cut and fill disks while rows flow, then count them
	.tools/services go test -p 1 -tags chaos -timeout 60m -count 1 $(if $(RUN),-run '$(RUN)') $(ARGS) ./test/chaos/...

.PHONY: bench
bench: ## run the Go benchmarks; PKG and ARGS narrow
	go test -p 1 -run '^$$' -bench . -benchmem $(ARGS) $(PKG)

.PHONY: bench-peers
bench-peers: build ## compare with other servers on the same rows (builds them first, minutes)
	go run ./test/bench/peers $(ARGS)

.PHONY: bench-growth
bench-growth: build ## measure what ten times the rows, 1,000 streams and 1,000 orgs cost (25 GB of disk, some minutes)
	go run ./test/bench/peers --growth $(ARGS)

.PHONY: bench-cluster
bench-cluster: setup build .tools/services .tools/versitygw ## measure what a router costs and what a second querier gives
	go test -tags long -timeout 30m -count 1 -v -run 'TestCostOfARouter|TestTwoQueriers' $(ARGS) ./test/cluster

.PHONY: bench-flood
bench-flood: build ## measure what an org that sends 20 times its rate costs nine others (11 minutes)
	go test -tags long -timeout 20m -count 1 -v -run '^TestFlood$$' $(ARGS) ./test/limits

.PHONY: bench-fairness
bench-fairness: setup build .tools/services .tools/versitygw ## measure what light orgs wait while another one floods the queriers (20 minutes)
	go test -tags long -timeout 50m -count 1 -v -run TestFairness $(ARGS) ./test/cluster

.PHONY: test-split
test-split: setup build .tools/services .tools/versitygw ## run the end-to-end suite against clusters of one process a role
	MILLSTREAM_TEST_MODE=split go test -timeout 40m -count 1 $(if $(RUN),-run '$(RUN)') $(ARGS) ./test/e2e

.PHONY: clean
clean: ## remove what make built (not ./data)
	rm -rf bin .tools .cache

# Tools. Servers and the linter have modules of their own, so that what they need stays out of go.mod.
.tools/versitygw: test/s3server/go.mod test/s3server/go.sum
	cd test/s3server && go build -o ../../$@ github.com/versity/versitygw/cmd/versitygw
	@touch $@

# Service discovery, which the tests do not use, is half of what Prometheus links.
.tools/prometheus .tools/promtool: .tools/%: test/promserver/go.mod test/promserver/go.sum
	cd test/promserver && go build -tags netgo,remove_all_sd -o ../../$@ github.com/prometheus/prometheus/cmd/$*
	@touch $@

.tools/services: $(wildcard test/services/*.go internal/testkit/pgtest/*.go internal/testkit/proctest/*.go)
	go build -o $@ ./test/services
	@touch $@

.tools/golangci-lint: tools/lint/go.mod tools/lint/go.sum
	cd tools/lint && go build -o ../../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@
