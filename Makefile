# Everything a developer or CI runs. `make` alone lists it.
#
# Needs Go, a C compiler (for the race detector), git and GNU make. What else a
# target needs it builds or says.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# The steps share two processors and one test cluster: one after the other they
# end sooner, and their output stays readable.
.NOTPARALLEL:
MAKEFLAGS += --no-builtin-rules --no-print-directory

# VERSION and COMMIT end up in `aks-oneshot version` and in the image's labels.
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
VERSION ?= $(shell git describe --tags --match 'v*' --dirty 2>/dev/null || echo v0.0.0-dev)

# The same flags in the Dockerfile: the same source gives the same bytes.
GO_BUILD := CGO_ENABLED=0 go build -trimpath -buildvcs=false
LDFLAGS  := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)

# -shuffle=on prints the seed; give it back with TESTFLAGS=-shuffle=SEED.
TESTFLAGS ?=
GO_TEST_FLAGS := -race -shuffle=on -timeout 20m $(TESTFLAGS)

# How long each fuzz target runs in `make fuzz`.
FUZZTIME ?= 10s

IMAGE ?= aks-oneshot:dev

##@ Build

.PHONY: build
build: ## build the stripped static binary bin/aks-oneshot
	$(GO_BUILD) -ldflags '$(LDFLAGS)' -o bin/aks-oneshot ./cmd/action

.PHONY: image
image: ## build and check the container image $(IMAGE)
	docker build --network host \
		--build-arg VERSION='$(VERSION)' --build-arg COMMIT='$(COMMIT)' $(IMAGE_FLAGS) \
		--tag '$(IMAGE)' .
	@hack/check-image "$(IMAGE)"

.PHONY: clean
clean: ## remove what was built in the tree (the caches outside it stay)
	rm -rf bin

##@ Check

.PHONY: test
# Left out: `make bench`, and the figures of `make accept-execution` that come
# from it. They are medians of many runs and waits of a minute, and mean nothing
# on a machine that does something else; and only they build kubelogin, which is
# hundreds of modules. All that accept-execution asserts about behaviour (vectors,
# crash matrix, end to end) is in these tests. `make fuzz` is left out too, but the
# fuzz targets' seeds and finds run as tests.
#
# Of `make accept-credentials` these tests have all that is about behaviour: the
# chains, tokens of 20 s beside a Job of 2 minutes, the order of requests, every
# failure with its text, the scan for secrets. Left out are its times: those of
# the way to the first request, in delays, for the same reason, and size and
# start of the binary beside those of a commit from before, which a checkout
# without history does not have.
#
# Of `make accept-stores` these tests have every kind of thing that it shows: the
# peers, each failure of a store, 50 races, forged records, the answers that are
# waited for before a dispatch. Left out for their time is what of its two matrices
# repeats: of the crash matrix over the stores a sample is played, and a runner that
# is lost at any other moment than right after its create is run again in one way
# for each store, not in four (ONESHOT_MATRIX=full plays all of both, in an hour);
# and for the reason above the times in delays.
test: test-unit test-peers test-cluster test-e2e ## run every test, those on a real Kubernetes control plane among them

.PHONY: test-unit
test-unit: ## run the tests that need nothing but Go
	@hack/step 'tests of the action' go test $(GO_TEST_FLAGS) ./...
	@hack/step 'tests of the tools' go -C tools test $(GO_TEST_FLAGS) ./...

.PHONY: test-peers
test-peers: ## test the shared stores against azurite, the official clients and act
	@hack/step 'packages for Node.js' hack/npm test/peers/node >/dev/null
	@hack/step 'tests against azurite and the official clients' go -C test/peers test $(GO_TEST_FLAGS) ./...
	@hack/step 'tests against the server of act' go -C test/peers/act test $(GO_TEST_FLAGS) ./...

.PHONY: test-cluster
test-cluster: ## run the tests of the test cluster itself
	@hack/step 'programs of the test cluster' go -C test/cluster run ./cmd/cluster build
	@hack/step 'tests of the test cluster' go -C test/cluster test -p 1 $(GO_TEST_FLAGS) ./...

.PHONY: test-e2e
# -p 1: the packages start a cluster each, and one at a time is what two
# processors can give their deadlines to.
test-e2e: ## run the built binary against a real control plane
	@hack/step 'end-to-end tests' go -C test/e2e test -p 1 $(GO_TEST_FLAGS) ./...

.PHONY: vectors
vectors: ## replay the reference's vectors (ONESHOT_VECTORS=FOLDER for others)
	@go test -count=1 ./internal/conformance -run TestVectors -v

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (10s)
	@hack/fuzz $(FUZZTIME)

.PHONY: lint
# The cheap ones first: building golangci-lint the first time takes minutes.
lint: lint-text lint-mod lint-vet lint-actions lint-setup lint-go ## run every static check

.PHONY: lint-text
lint-text: ## check formatting, forbidden words and shell scripts
	@hack/step 'gofmt' hack/check-format
	@hack/step 'words' hack/check-words
	@hack/step 'shell scripts' hack/check-shell

.PHONY: lint-mod
lint-mod: ## check that go.mod and go.sum are tidy and the modules unaltered
	@hack/step 'go mod tidy' hack/each-module --all go mod tidy -diff

.PHONY: lint-vet
lint-vet: ## run go vet
	@hack/step 'go vet' hack/each-module go vet ./...

.PHONY: lint-actions
lint-actions: ## check action.yml, the workflows, and those shown in the README
	@hack/step 'workflows' hack/check-actions

.PHONY: lint-setup
lint-setup: ## check the files in docs/setup
	@hack/step 'setup files' hack/check-setup

.PHONY: lint-go
lint-go: ## run golangci-lint over every module
	@hack/step 'golangci-lint' hack/check-go

##@ See it work

.PHONY: demo
demo: ## show four runs of the action on a real control plane
	go -C test/e2e run ./cmd/demo

.PHONY: bench
# A relative BENCH_OUT is meant from here, not from the folder that go goes to.
bench: ## measure the action beside kubectl and kubelogin (BENCH_OUT=FILE: JSON too)
	BENCH_OUT='$(if $(BENCH_OUT),$(abspath $(BENCH_OUT)))' go -C test/e2e run ./cmd/bench

.PHONY: accept-execution
accept-execution: ## show and check every figure the execution promises
	go -C test/e2e run ./cmd/accept

.PHONY: accept-credentials
accept-credentials: ## show and check every figure of signing in to Azure
	go -C test/e2e run ./cmd/accept -suite=credentials

.PHONY: accept-stores
accept-stores: ## show and check every figure of records that outlive the runner
	go -C test/e2e run ./cmd/accept -suite=stores

.PHONY: cluster-up
cluster-up: ## start a test cluster: eval "$$(make -s cluster-up)"
	@go -C test/cluster run ./cmd/cluster up

.PHONY: cluster-down
cluster-down: ## stop the test cluster and remove all of it
	@go -C test/cluster run ./cmd/cluster down

.PHONY: help
help: ## list the targets
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z0-9-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST)) | sed 's/\$$\$$/$$/g; s/\$$(IMAGE)/$(IMAGE)/'
