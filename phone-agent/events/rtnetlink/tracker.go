// SPDX-License-Identifier: Apache-2.0

package rtnetlink

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/airbound/airbound/phone-agent/events"
)

// Most links and addresses that are followed; a phone has some twenty of each.
const (
	linksMax     = 256
	addressesMax = 1024
)

var errTooMany = errors.New("too many links or addresses to follow them all")

type link struct {
	name, kind string
	up         bool
}

type ownAddress struct {
	index   uint32
	address netip.Addr
}

// Tracker is the state of the links and addresses of a phone. The zero value knows none.
type Tracker struct {
	links     map[uint32]link
	addresses map[ownAddress]struct{}
	isKnown   bool
}

// List takes over all that there is now. It returns what is new since the last list; of the first, nothing is.
func (t *Tracker) List(all []Change) ([]events.Report, error) {
	before := *t
	t.links, t.addresses, t.isKnown = make(map[uint32]link), make(map[ownAddress]struct{}), true
	var reports []events.Report
	var refused error
	// Links first: addresses have their names.
	for _, isAddress := range []bool{false, true} {
		for _, change := range all {
			if change.Address.IsValid() != isAddress {
				continue
			}
			key := ownAddress{change.Index, change.Address}
			_, wasThere := before.addresses[key]
			isOld := !before.isKnown || before.links[change.Index].up && !isAddress || wasThere && isAddress
			report, isArrival, err := t.Observe(change)
			if err != nil {
				refused = err
			}
			if isArrival && !isOld {
				reports = append(reports, report)
			}
		}
	}
	return reports, refused
}

// Observe takes a change over. It returns whether that shows an arrival.
func (t *Tracker) Observe(change Change) (events.Report, bool, error) {
	if t.links == nil {
		t.links, t.addresses = make(map[uint32]link), make(map[ownAddress]struct{})
	}
	if change.Address.IsValid() {
		return t.observeAddress(change)
	}
	if change.Gone || change.Loopback {
		delete(t.links, change.Index)
		return events.Report{}, false, nil
	}
	before, isKnown := t.links[change.Index]
	if !isKnown && len(t.links) >= linksMax {
		return events.Report{}, false, errTooMany
	}
	now := link{name: change.Name, kind: change.Kind, up: change.Up}
	// Some messages have less than others.
	if now.name == "" {
		now.name = before.name
	}
	if now.kind == "" {
		now.kind = before.kind
	}
	t.links[change.Index] = now
	if !now.up || before.up || !isUplink(now) {
		return events.Report{}, false, nil
	}
	return events.Report{Kind: events.LinkUp, Interface: now.name}, true, nil
}

func (t *Tracker) observeAddress(change Change) (events.Report, bool, error) {
	key := ownAddress{change.Index, change.Address}
	if change.Gone || !change.Usable {
		delete(t.addresses, key)
		return events.Report{}, false, nil
	}
	if _, isKnown := t.addresses[key]; isKnown {
		return events.Report{}, false, nil // Its lifetime is another one.
	}
	if len(t.addresses) >= addressesMax {
		return events.Report{}, false, errTooMany
	}
	t.addresses[key] = struct{}{}
	if on, isKnown := t.links[change.Index]; isKnown && isUplink(on) {
		return events.Report{Kind: events.Address, Interface: on.name}, true, nil
	}
	return events.Report{}, false, nil
}

// isUplink leaves out what containers, bridges and tunnels have: they come up without the phone's having moved. A
// mobile network's interfaces are of a kind.
func isUplink(each link) bool {
	return slices.Contains([]string{"", "rmnet", "wwan"}, each.kind)
}
