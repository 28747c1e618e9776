#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Draws the README's pictures, from what the demo measured. And who has the air when, from a trace of the medium, for
# docs/why-the-access-point-waits.md.

. "$(dirname "$0")/lib.sh"

LAB=$VENV/bin/airbound-lab
AIR=out/medium

trace_medium() {
	rm -rf "$AIR"
	"$LAB" run --phones 2013 --warmup-seconds 10 --modes cubic,cubic@aifsn=4,bdp,bdp@aifsn=4 \
		--medium-trace 10,20 --logs "$AIR"
}

draw_medium() {
	"$LAB" medium "$AIR"/{cubic,cubic@aifsn=4,bdp,bdp@aifsn=4}-1/medium.csv
	"$LAB" medium "$AIR"/{cubic,bdp,bdp@aifsn=4}-1/medium.csv --title "CUBIC without bounds" --title "CUBIC with bounds" \
		--title "Bounds, and the access point waits two slots longer" --out docs/images/who-has-the-air.svg >/dev/null
}

drawn=$(mktemp -d)
draw() { # RESULTS NAME
	"$LAB" plot "$1" --directory "$drawn" >/dev/null
	mv "$drawn/totals.svg" "docs/images/$2.svg"
}
for name in ten-phones-11ac-80 ten-phones-11n-20 phones-of-today-4ms phones-of-2013-4ms; do
	[[ -f out/demo/$name.json ]] || die "no out/demo/$name.json; run 'make demo'"
	draw "out/demo/$name.json" "$name"
done
rm -r "$drawn"
step "trace of the medium" trace_medium
step "picture of the medium" draw_medium
ls docs/images
