# The image of the Action.
#
#   build  compiles the binary
#   slim   the binary, certificates and a /tmp, nothing else: for assemblies that
#          are already synthesized
#   full   Node.js, git and the docker client with buildx around it, for apps that
#          the Action synthesizes and images that it builds
#
# full stands last, so it is what `image: Dockerfile` in action.yml builds and
# runs. What changes with every commit is copied last, so that the layers below
# it are built once.

FROM --platform=${BUILDPLATFORM:-linux/amd64} golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev TARGETOS TARGETARCH
# The same source gives the same bytes: no paths, no build ids, no VCS stamp, no
# time of building. `release` leaves the sandbox out; `timetzdata` puts the time
# zones in. Nothing is inlined in the AWS services' packages, which wait for the
# network: that makes them an eighth smaller.
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build \
	-trimpath -buildvcs=false -tags release,timetzdata \
	-gcflags=github.com/aws/aws-sdk-go-v2/service/...=-l \
	-ldflags "-s -w -buildid= -X main.version=$VERSION" \
	-o /image/cdkd-action ./cmd/action
RUN mkdir -p /image/etc/ssl/certs && \
	cp /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ && \
	mkdir -m 1777 /image/tmp && \
	ln -s cdkd-action /image/cdkd-action-post && \
	find /image -exec touch --no-dereference --date=@0 {} +

# No shell and no init: the binary is process 1, because that is the one process
# a cancelled job's signals reach. No USER: the runner's files belong to others.
FROM scratch AS slim
COPY --from=build /image /
ENTRYPOINT ["/cdkd-action"]

FROM docker:28-cli AS docker

FROM node:24-bookworm-slim AS full
RUN apt-get update && \
	apt-get install --yes --no-install-recommends ca-certificates git && \
	rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/*
# A checkout belongs to the runner's user, and git minds who is not that user.
RUN git config --system --add safe.directory '*'
COPY --from=docker /usr/local/bin/docker /usr/local/bin/docker
COPY --from=docker /usr/local/libexec/docker/cli-plugins/docker-buildx /usr/local/libexec/docker/cli-plugins/docker-buildx
RUN ln -s /cdkd-action /usr/local/bin/cdkd-action && ln -s cdkd-action /cdkd-action-post
COPY --from=build /image/cdkd-action /cdkd-action
ENTRYPOINT ["/cdkd-action"]
