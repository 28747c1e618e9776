#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Changes the code in small ways and looks whether a test notices; docs/decisions/0007-mutation-tests.md.
#   mutants.sh [TARGET [PATH...]] [OPTION...]    TARGET: python (the controller), lab, go; --help lists the options
#   mutants.sh --lock [--upgrade]                resolves tools/mutants-requirements.in again
# MUTANTS (120) of each target, drawn by SEED (1), by as many workers as JOBS says (as there are processors).

. "$(dirname "$0")/lib.sh"

lock() {
	local uv=$VENV/bin/uv
	[[ -x $uv ]] || uv=uv
	"$uv" pip compile --quiet --generate-hashes --python-version 3.11 --no-emit-index-url --no-emit-find-links \
		--no-annotate --custom-compile-command 'scripts/mutants.sh --lock' "$@" --universal \
		tools/mutants-requirements.in -o tools/mutants-requirements.txt
}

# A virtualenv of its own in the cache, by the content of the requirements and the version of Python.
install_mutator() { # HOME
	[[ -f $1/complete ]] && return
	rm -rf "$1"
	python3 -m venv "$1"
	"$1/bin/pip" install -q --disable-pip-version-check --require-hashes -r tools/mutants-requirements.txt
	touch "$1/complete"
}

if [[ ${1:-} == --lock ]]; then
	lock "${@:2}"
	exit
fi
use_tools
mutator=$CACHE_DIR/mutants/$(hash_of tools/mutants-requirements.txt)-$("$VENV/bin/python" -c \
	'import sys; print("py%d.%d" % sys.version_info[:2])')
step "mutation tool" install_mutator "$mutator"
PYTHONPATH=tools "$mutator/bin/python" -m mutants "$@"
