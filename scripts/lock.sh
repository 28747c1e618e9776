#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Resolves the Python dependencies again: tools/requirements.in and the three pyproject.toml files into
# tools/requirements.txt, tools/go-requirements.in into tools/go-requirements.txt, tools/mutants-requirements.in into
# tools/mutants-requirements.txt, all with hashes. What the images are made of, controller/requirements.txt,
# controller/openflow-requirements.txt (the same with os-ken), controller/build-requirements.txt,
# lab/live-requirements.txt and lab/requirements.txt, is a part of the first with the same versions.
#   lock.sh [--upgrade]    without --upgrade, versions already locked stay
# `lock.sh java` writes phone-agent/benchmark/artifacts.sha256 instead, by what Maven fetches for the pom.xml there.
# Needs only some `uv` (the virtualenv has one).

. "$(dirname "$0")/lib.sh"

if [[ ${1:-} == java ]]; then
	fetched=$(mktemp -d)
	trap 'report_failure; rm -rf "$fetched"' EXIT
	scripts/fetch-maven.sh "$fetched"
	scripts/fetch-maven.sh --list "$fetched" >phone-agent/benchmark/artifacts.sha256
	exit
fi

UV=$VENV/bin/uv
[[ -x $UV ]] || UV=uv
# A fixed Python version, and no address of any index in the result.
common=(--quiet --generate-hashes --python-version 3.11 --no-emit-index-url --no-emit-find-links
	--no-annotate --custom-compile-command scripts/lock.sh)
"$UV" pip compile "${common[@]}" "$@" --universal \
	--no-emit-package airbound --no-emit-package airbound-lab --no-emit-package airbound-dashboards \
	--extra cli --extra openflow {controller,lab,dashboards}/pyproject.toml tools/requirements.in -o tools/requirements.txt
"$UV" pip compile "${common[@]}" --universal --constraint tools/requirements.txt --extra cli \
	controller/pyproject.toml -o controller/requirements.txt
"$UV" pip compile "${common[@]}" --universal --constraint tools/requirements.txt --extra cli --extra openflow \
	controller/pyproject.toml -o controller/openflow-requirements.txt
"$UV" pip compile "${common[@]}" --universal --constraint tools/requirements.txt - \
	-o controller/build-requirements.txt <<<'setuptools>=77'
# Of the lab's dependencies a live cell has one.
"$UV" pip compile "${common[@]}" --universal --constraint tools/requirements.txt - \
	-o lab/live-requirements.txt < <(sed -n 's/^dependencies = .*"\(pydantic[^"]*\)".*/\1/p' lab/pyproject.toml)
# What `make demo` installs: the controller, the lab, and what their editable installs are built with.
"$UV" pip compile "${common[@]}" --universal --constraint tools/requirements.txt \
	--no-emit-package airbound --no-emit-package airbound-lab --extra openflow \
	{controller,lab}/pyproject.toml - -o lab/requirements.txt <<<'setuptools>=77'
"$UV" pip compile "${common[@]}" "$@" tools/go-requirements.in -o tools/go-requirements.txt
scripts/mutants.sh --lock "$@"
