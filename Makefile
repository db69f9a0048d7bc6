# offrampbot. `make help` lists the targets; every target works from a fresh clone.
SHELL := /bin/bash
GO ?= go
TAGS ?= nomsgpack
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION)
GOLANGCI ?= github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
export TAGS

.DEFAULT_GOAL := help
.PHONY: help demo build test check lint generate verify-generated verify-fmt verify-tidy verify-imports \
	verify-fuzz verify-vulnerabilities verify-secrets sbom bench torture services services-stop image clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-24s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Run the bot with a simulated world: open the printed address in a browser
	$(GO) run -tags '$(TAGS)' ./cmd/offrampbot demo $(ARGS)

build: ## Build bin/offrampbot, static and stripped
	CGO_ENABLED=0 $(GO) build -trimpath -tags '$(TAGS),timetzdata' -ldflags '$(LDFLAGS)' -o bin/offrampbot ./cmd/offrampbot

test: ## Start MongoDB, Redis and anvil, run every test with the race detector, say what ran
	@scripts/test $(ARGS)

check: ## Format, modules, vet, lint, imports, generated files, fuzz smoke, vulnerabilities, secrets, bill of materials
	@scripts/check

lint: ## Install golangci-lint (minutes, once) and run it
	@$$(scripts/tool $(GOLANGCI)) run ./...

generate: ## Write generated docs and golden files again
	$(GO) test -tags '$(TAGS)' -count=1 -run '(?i)(golden|document)' $$(grep -rlE --include=*_test.go 'testkit\.(Golden|Updating)|flag\.Bool\("update"' . \
		| xargs -n1 dirname | sort -u) -update

verify-generated: ## Fail when a generated file is stale
	@scripts/check generated

verify-fmt: ## Fail when a file is not formatted
	@scripts/check fmt

verify-tidy: ## Fail when go.mod or go.sum is not tidy
	@scripts/check tidy

verify-imports: ## Fail when a package imports what its ring may not
	@scripts/check imports

verify-fuzz: ## Run each fuzz target for FUZZ_TIME (10s)
	@scripts/check fuzz

verify-vulnerabilities: ## Fail on a known vulnerability in a module that we reach
	@scripts/check vulnerabilities

verify-secrets: ## Fail on a secret in the tree
	@scripts/check secrets

sbom: ## Write the bill of materials of the binary to bin/sbom.cdx.json
	@scripts/sbom

bench: ## Measure the rows of DESIGN §17 beside their baselines; BENCH_ORDERS: how many orders the large store has
	@scripts/services start >/dev/null && eval "$$(scripts/services env)" && \
		$(GO) test -tags '$(TAGS),bench' -v -count=1 -timeout 60m -run '^TestBench_table$$' ./cmd/offrampbot

torture: ## Sell for minutes while processes are killed, servers stop and providers lie; prints kills and violations
	@eval "$$(scripts/services binaries)" && \
		$(GO) test -tags '$(TAGS),torture' -v -count=1 -timeout 40m -run '^TestTorture_' ./cmd/offrampbot
	@scripts/services start >/dev/null && eval "$$(scripts/services env)" && \
		$(GO) test -tags '$(TAGS)' -count=1 -timeout 30m -run '^TestModel_' ./services/offramp -trace-mongo 1

services: ## Start MongoDB, Redis and anvil for tests by hand; then `eval "$(scripts/services env)"`
	@scripts/services start

services-stop: ## Stop what `make services` started
	@scripts/services stop

image: ## Build the container image
	docker build --build-arg VERSION='$(VERSION)' -t offrampbot:$(VERSION) .

clean: ## Remove what was built
	rm -rf bin
