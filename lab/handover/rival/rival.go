// SPDX-License-Identifier: Apache-2.0

// Package rival has the ways of sending records that the study compares.
//
// Each has both ends in one process: the phone's sockets are made in one network namespace, the server's in another.
// Before time zero a rival makes its connections; from then on the application gives it a record each period.
package rival

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Port is the server's, TCP and UDP.
const Port = 7000

// Rival is one way of sending records.
type Rival interface {
	// Start makes both ends ready.
	Start(ctx context.Context, env *Env) error
	// Send takes a record to be sent. It does not wait: an application that makes a record each period goes on.
	Send(data []byte)
	// Returned is called at the moment at which the path is back.
	Returned()
}

// Env is where a rival runs.
type Env struct {
	Phone, Server Host
	// Local and Remote are the phone's address and the server's.
	Local  netip.Addr
	Remote netip.AddrPort
	// Deliver takes what has arrived at the server's application, from any goroutine.
	Deliver func(data []byte)
	// Written takes a record that the phone has given to its kernel, from any goroutine.
	Written func(data []byte)
	// Note takes a sentence about what a rival did.
	Note func(text string)
	// Failed takes an error that ends the study.
	Failed func(err error)
	// Now is the time since time zero.
	Now func() time.Duration
}

// Host makes sockets in a network namespace.
type Host interface {
	// In runs a function in the namespace; sockets that it makes stay there.
	In(do func() error) error
}

var rivals = map[string]func() Rival{
	"udp":              func() Rival { return &udp{} },
	"tcp":              func() Rival { return &stream{} },
	"tcp-thin":         func() Rival { return &stream{set: thin} },
	"tcp-user-timeout": func() Rival { return &reconnecting{} },
	"connections":      func() Rival { return &inTurn{} },
	"quic":             func() Rival { return &overQUIC{} },
	"quic-migration":   func() Rival { return &overQUIC{migrates: true} },
	"library":          func() Rival { return &library{} },
	"library-method":   func() Rival { return &library{events: true, waitForNotice: true} },
	"library-event":    func() Rival { return &library{events: true} },
	"library-newest":   func() Rival { return &library{events: true, newestFirst: true} },
}

// New makes a rival by its name.
func New(name string) (Rival, error) {
	rival, known := rivals[name]
	if !known {
		return nil, fmt.Errorf("%q is no rival; there are %v", name, Names())
	}
	return rival(), nil
}

// Names lists the rivals.
func Names() []string {
	names := make([]string, 0, len(rivals))
	for name := range rivals {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// nothing is of rivals that do nothing when the path is back.
type nothing struct{}

// Returned does nothing.
func (nothing) Returned() {}
