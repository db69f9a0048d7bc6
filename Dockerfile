# syntax=docker/dockerfile:1
# The image holds one static binary, certificates and nothing else: no shell, no package manager. It runs as nobody and
# needs no writable file system but the volume of the embedded store, which production does not use.
#
#   docker run --read-only --cap-drop ALL --security-opt no-new-privileges --env-file offramp.env offrampbot
#
# The toolchain is the one that go.mod names; both are raised together.
FROM golang:1.27.3-bookworm AS build
WORKDIR /src
ENV GOTOOLCHAIN=local GOCACHE=/go/build
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download && go mod verify
COPY . .
ARG VERSION=unknown
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/go/build \
    CGO_ENABLED=0 go build -trimpath -tags nomsgpack,timetzdata \
    -ldflags "-s -w -X main.version=${VERSION}" -o /offrampbot ./cmd/offrampbot
RUN mkdir -p /empty/data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /offrampbot /offrampbot
COPY --from=build --chown=65532:65532 /empty/data /data
USER 65532:65532
ENV DATA_DIR=/data
EXPOSE 8080
STOPSIGNAL SIGTERM
# Alive, not ready: a database that is away must not restart the process.
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=4 CMD ["/offrampbot", "probe"]
ENTRYPOINT ["/offrampbot"]
CMD ["serve"]
