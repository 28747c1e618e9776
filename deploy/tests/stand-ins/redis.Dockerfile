# SPDX-License-Identifier: Apache-2.0
#
# Stands in for the official image of Redis in scripts/compose-test.sh, where no registry can be reached.
ARG BASE=debian:bookworm-slim
FROM ${BASE}
RUN apt-get update -q && apt-get install -y -q --no-install-recommends redis-server && rm -rf /var/lib/apt/lists/*
WORKDIR /data
CMD ["redis-server"]
