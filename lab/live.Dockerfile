# SPDX-License-Identifier: Apache-2.0
#
# The image of a live cell (`airbound-lab live`, docs/decisions/0018): the lab's Linux 6.12, which is built here, both
# agents, the link, and what of the lab's Python a live cell runs. Built from the root of the repository:
#   docker build -f lab/live.Dockerfile -t airbound-live .
# Arguments as in controller/Dockerfile. The kernel takes some ten minutes, and is built anew only if something in
# kernel/ or lab/kernel/ changes.
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS kernel
ARG DEBIAN_MIRROR=
COPY deploy/images/debian-packages.sh /usr/local/sbin/debian-packages
RUN debian-packages bc bison flex gcc libc6-dev libelf-dev libssl-dev linux-source-6.12 make patch perl rsync xz-utils
WORKDIR /airbound
COPY kernel/configs/airbound.config kernel/configs/kunit.config kernel/configs/
COPY kernel/patches/6.12 kernel/patches/6.12
COPY kernel/tests/um kernel/tests/um
COPY lab/kernel/build.sh lab/kernel/lab.config lab/kernel/
COPY lab/kernel/6.12/lab.config lab/kernel/6.12/
COPY lab/kernel/6.12/patches lab/kernel/6.12/patches
COPY lab/kernel/src lab/kernel/src
RUN linux=$(AIRBOUND_CACHE=/tmp/build lab/kernel/build.sh --line 6.12) && mv "$linux" /linux && rm -rf /tmp/build

FROM ${BASE} AS programs
ARG DEBIAN_MIRROR=
ARG PIP_INDEX_URL=
COPY deploy/images/debian-packages.sh /usr/local/sbin/debian-packages
RUN debian-packages ca-certificates python3 python3-venv
WORKDIR /airbound
COPY scripts/lib.sh scripts/setup.sh scripts/
COPY tools/go-requirements.txt tools/
COPY go.mod go.sum ./
RUN python3 -m venv .venv && scripts/setup.sh go \
	&& bash -c '. scripts/lib.sh; use_go; go mod download'
COPY scripts/build.sh scripts/
COPY controller/pyproject.toml controller/
COPY internal internal
COPY proto proto
COPY ap-firmware ap-firmware
COPY phone-agent phone-agent
COPY lab/link lab/link
RUN scripts/build.sh agents link && rm -rf ~/.cache/go-build

FROM ${BASE} AS python
ARG DEBIAN_MIRROR=
ARG PIP_INDEX_URL=
COPY deploy/images/debian-packages.sh /usr/local/sbin/debian-packages
RUN debian-packages binutils ca-certificates python3 python3-venv
WORKDIR /src
COPY lab/live-requirements.txt ./
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_QUIET=1
RUN python3 -m venv /opt/airbound \
	&& /opt/airbound/bin/pip install --require-hashes --only-binary :all: -r live-requirements.txt \
	&& /opt/airbound/bin/pip check \
	&& /opt/airbound/bin/pip uninstall -y pip setuptools \
	&& find /opt/airbound -name '*.so' -exec strip --strip-unneeded {} +

FROM ${BASE}
ARG DEBIAN_MIRROR=
COPY deploy/images/debian-packages.sh /usr/local/sbin/debian-packages
# The guest has the files of this image: its tools are these.
RUN debian-packages hostapd iproute2 iw python3 wpasupplicant \
	&& rm -rf /usr/lib/python3.11/lib2to3 /usr/lib/python3.11/pydoc_data /usr/lib/python3.11/test \
	&& useradd --system --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin --uid 902 live \
	&& install -d -o 902 -g 902 -m 700 /var/lib/airbound/live
COPY --from=kernel /linux /usr/local/lib/airbound/linux
COPY --from=programs /airbound/build/airbound-ap /airbound/build/airbound-phone /airbound/build/airbound-link /airbound/build/
COPY --from=python /opt/airbound /opt/airbound
COPY lab/airbound_lab /airbound/lab/airbound_lab
ENV PATH=/opt/airbound/bin:/usr/local/bin:/usr/bin:/bin PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=/airbound/lab \
	AIRBOUND_LAB_KERNEL=/usr/local/lib/airbound/linux
# With its bytecode: each start and each health check would compile it, since nothing can be written here.
RUN python -m compileall -q /airbound/lab
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG CREATED=unknown
LABEL org.opencontainers.image.title="Airbound live cell" \
	org.opencontainers.image.description="A Wi-Fi cell in real time, for a controller outside of it" \
	org.opencontainers.image.licenses="Apache-2.0 AND GPL-2.0-only" \
	org.opencontainers.image.base.name="debian:bookworm-slim" \
	org.opencontainers.image.version="${VERSION}" \
	org.opencontainers.image.revision="${REVISION}" \
	org.opencontainers.image.created="${CREATED}"
USER 902:902
HEALTHCHECK --interval=5s --timeout=5s --start-period=120s \
	CMD ["python", "-m", "airbound_lab.live.check", "/var/lib/airbound/live"]
ENTRYPOINT ["python", "-m", "airbound_lab", "live", "--state", "/var/lib/airbound/live"]
CMD ["--help"]
