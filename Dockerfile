# The image of the Action.
#
#   build  compiles the binary
#   node   Node.js, git and the docker client beside it, for jobs that also
#          synthesize: `container: image: …` and then `npx cdk synth`
#   slim   the binary, certificates and a /tmp; nothing else
#
# slim stands last, so it is what `image: Dockerfile` in action.yml builds and
# runs: this version deploys assemblies that are already synthesized, and a
# workflow that runs the Action from a branch should not wait for anything more.

FROM --platform=${BUILDPLATFORM:-linux/amd64} golang:1.26-bookworm AS build
WORKDIR /src
COPY . .
ARG VERSION=dev TARGETOS TARGETARCH
# The same source gives the same bytes: no paths, no build ids, no VCS stamp.
# `release` leaves the sandbox out; `timetzdata` puts the time zones in.
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build \
	-trimpath -buildvcs=false -tags release,timetzdata \
	-ldflags "-s -w -buildid= -X main.version=$VERSION" \
	-o /image/cdkd-action ./cmd/action
RUN mkdir -p /image/etc/ssl/certs && \
	cp /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ && \
	mkdir -m 1777 /image/tmp

FROM docker:28-cli AS docker

FROM node:24-bookworm-slim AS node
RUN apt-get update && \
	apt-get install --yes --no-install-recommends ca-certificates git && \
	rm -rf /var/lib/apt/lists/*
COPY --from=docker /usr/local/bin/docker /usr/local/bin/docker
COPY --from=build /image/cdkd-action /usr/local/bin/cdkd-action
ENTRYPOINT ["/usr/local/bin/cdkd-action"]

# No shell and no init: the binary is process 1, because that is the one process
# a cancelled job's signals reach. No USER: the runner's files belong to others.
FROM scratch AS slim
COPY --from=build /image /
ENTRYPOINT ["/cdkd-action"]
