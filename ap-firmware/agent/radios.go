// SPDX-License-Identifier: Apache-2.0

package agent

import "sync"

// Radios has which BSS sets the transmit queues of each radio. nl80211 sets them for one interface, but many drivers
// have one set of queues for the whole radio (ath9k), and others one for each BSS (mt76, ath10k); which, nl80211 does
// not say. So one BSS of a radio at a time may set them: the first that gets a command to, until its own values are in
// force again. Its methods are safe for concurrent use.
type Radios struct {
	mutex  sync.Mutex
	radios map[uint32]radio
}

// radio is one radio, a wiphy.
type radio struct {
	// owner is the interface whose BSS sets the queues; empty if none does.
	owner string
	// starts counts how often the kernel may have set the queues of all BSSs, since one of them started.
	starts uint64
}

// NewRadios makes Radios whose queues nobody sets.
func NewRadios() *Radios { return &Radios{radios: map[uint32]radio{}} }

func (r *Radios) radio(wiphy uint32) radio {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.radios[wiphy]
}

// claim makes an interface's BSS the one that sets the queues, unless another one is; it returns which is.
func (r *Radios) claim(wiphy uint32, interfaceName string) radio {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	claimed := r.radios[wiphy]
	if claimed.owner == "" {
		claimed.owner = interfaceName
		r.radios[wiphy] = claimed
	}
	return claimed
}

// release ends a claim, of whichever radio.
func (r *Radios) release(interfaceName string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for wiphy, each := range r.radios {
		if each.owner == interfaceName {
			each.owner = ""
			r.radios[wiphy] = each
		}
	}
}

// started follows when a BSS of the radio has started.
func (r *Radios) started(wiphy uint32) radio {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	started := r.radios[wiphy]
	started.starts++
	r.radios[wiphy] = started
	return started
}
