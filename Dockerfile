# The image of the action.
#
# Its bases are tags, and a tag can be moved: whoever builds this gets what they
# point at that day. To publish an image, pin both by their digests, which
# `docker buildx imagetools inspect golang:1.26` and the like print:
#   make image IMAGE_FLAGS='--build-arg GO_IMAGE=golang:1.26@sha256:… \
#     --build-arg BASE_IMAGE=debian:12-slim@sha256:…'
# The arguments can also name other bases, where that registry is not at hand.
ARG GO_IMAGE=golang:1.26
ARG BASE_IMAGE=debian:12-slim

FROM ${GO_IMAGE} AS build
WORKDIR /src
COPY . .
ARG VERSION=v0.0.0-dev
ARG COMMIT=unknown
# With a vendor folder (`go mod vendor`) nothing is downloaded here.
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false \
      -ldflags "-s -w -X main.version=${VERSION} -X main.commit=${COMMIT}" \
      -o /out/aks-oneshot ./cmd/action

# Not distroless: Azure Pipelines' container jobs need bash, glibc and useradd,
# the Kubernetes mode of GitHub's runner controller needs sh, env, tail, tar and
# find. Both also need an image without an ENTRYPOINT; action.yml names the
# program. The user stays root: the runner's mounts belong to another one.
FROM ${BASE_IMAGE}
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/aks-oneshot /usr/local/bin/aks-oneshot
CMD ["aks-oneshot", "help"]
ARG VERSION=v0.0.0-dev
ARG COMMIT=unknown
LABEL org.opencontainers.image.title="aks-oneshot" \
      org.opencontainers.image.description="Runs one Kubernetes Job on an AKS cluster at most once" \
      org.opencontainers.image.source="https://github.com/aks-oneshot/aks-oneshot" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}"
