#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes the controller's wheel, airbound-VERSION-py3-none-any.whl, which pipx and pip install: the controller, the
# operators' commands, and with its extra `cli` also `airbound top` and `airbound completion`.
#   wheel.sh [--output DIR]        build/packages/ is the default; prints the path of the wheel
# The same sources give the same bytes, whatever the umask is and was at the checkout.

. "$(dirname "$0")/lib.sh"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct -- controller 2>/dev/null || true)}
SOURCE_DATE_EPOCH=$(source_date_epoch)
export SOURCE_DATE_EPOCH

output=build/packages
if [[ ${1:-} == --output ]]; then
	output=$(path_of "${2:?DIR is missing}")
	shift 2
fi
[[ $# -eq 0 ]] || die "wheel: unexpected argument '$1'"
[[ -x $VENV/bin/pip ]] || die "no virtualenv at .venv; run 'make setup'"
umask 022
mkdir -p "$output"
work=$(mktemp -d)
trap 'report_failure; rm -rf "$work"' EXIT

# A copy: setuptools writes beside the sources. An archive of zip has the files' modes.
git ls-files -z controller/airbound controller/pyproject.toml controller/README.md |
	xargs -0 cp --parents -t "$work"
cp LICENSES/Apache-2.0.txt "$work/controller/LICENSE"
chmod -R u=rwX,go=rX "$work/controller"
"$VENV/bin/pip" wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation -w "$work/wheel" \
	"$work/controller"
wheel=$(echo "$work"/wheel/airbound-*.whl)
put "$wheel" "$output/${wheel##*/}"
realpath "$output/${wheel##*/}"
