// SPDX-License-Identifier: Apache-2.0

package events

// Places notices that the base station is another one.
type Places struct {
	last  string
	known bool
}

// Read takes over what was read of the place; empty if there is none now. It returns whether the phone has arrived: not
// at the first reading, since the phone may have been there before, and not by leaving.
func (p *Places) Read(place string) (arrived bool) {
	arrived = p.known && place != "" && place != p.last
	if place != "" || !p.known {
		p.last = place
	}
	p.known = true
	return arrived
}
