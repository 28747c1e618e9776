# SPDX-License-Identifier: Apache-2.0
#
# Stands in for Prometheus' own image in scripts/compose-test.sh, where no registry can be reached.
ARG BASE=debian:bookworm-slim
FROM ${BASE}
RUN apt-get update -q && apt-get install -y -q --no-install-recommends prometheus wget && rm -rf /var/lib/apt/lists/*
ENTRYPOINT ["prometheus"]
