#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Draws the README's pictures from what the demo measured.

. "$(dirname "$0")/lib.sh"

drawn=$(mktemp -d)
for name in phones-of-today-4ms phones-of-2013-4ms; do
	[[ -f out/demo/$name.json ]] || die "no out/demo/$name.json; run 'make demo'"
	"$VENV/bin/airbound-lab" plot "out/demo/$name.json" --directory "$drawn" >/dev/null
	mv "$drawn/totals.svg" "docs/images/$name.svg"
done
rm -r "$drawn"
ls docs/images
