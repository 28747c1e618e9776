// SPDX-License-Identifier: Apache-2.0

// Package events has the events that show that the phone can send again: it has arrived at an access point or a base
// station, or got a link or an address. Sources of any kind report the same Event, and what several of them report of
// one arrival is one event (Merger).
//
// This package is pure: bytes, values and the time come in. Its sub-folders have the sources and the sockets.
package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Source is who reports an event.
type Source string

// The sources.
const (
	// NL80211 is the kernel's Wi-Fi.
	NL80211 Source = "nl80211"
	// RTNetlink is the kernel's list of links and addresses.
	RTNetlink Source = "rtnetlink"
	// Stream is the agent's own stream from the controller.
	Stream Source = "stream"
	// File is a file that a script or an app writes.
	File Source = "file"
	// Program is a program at the agent's Unix socket.
	Program Source = "program"
	// Loopback is an app at the agent's loopback port.
	Loopback Source = "loopback"
	// Controller reports what an access point reported to it.
	Controller Source = "controller"
)

// Sources are all of them, in the order of the wire contract.
func Sources() []Source {
	return []Source{NL80211, RTNetlink, Stream, File, Program, Loopback, Controller}
}

// Kind is what happened.
type Kind string

// The kinds.
const (
	// Association is with an access point: another one, or the same one again.
	Association Kind = "association"
	// LinkUp is of an interface that was down.
	LinkUp Kind = "link_up"
	// Address is another address of the phone's.
	Address Kind = "address"
	// BaseStation is another base station.
	BaseStation Kind = "base_station"
	// FirstDatagram is the first one down after a silence in which some were expected.
	FirstDatagram Kind = "first_datagram"
)

func kinds() []Kind { return []Kind{Association, LinkUp, Address, BaseStation, FirstDatagram} }

// Event is one report that the phone can send again.
type Event struct {
	// AtUS is CLOCK_BOOTTIME, when the agent received the report.
	AtUS   int64  `json:"at_boottime_us"`
	Source Source `json:"source"`
	Kind   Kind   `json:"kind"`
	// Interface is empty if not known.
	Interface string `json:"interface,omitempty"`
	// Place is the access point's BSSID or the base station's id; empty if not known.
	Place string `json:"place,omitempty"`
}

const (
	// interfaceOctetsMax is the kernel's IFNAMSIZ without its zero.
	interfaceOctetsMax = 15
	// placeOctetsMax is several times what the id of a base station needs: network code, area and cell.
	placeOctetsMax = 64
)

// ErrRefused is wrapped by every error about an event that is not one.
var ErrRefused = errors.New("not an event of an arrival")

func refused(format string, values ...any) error {
	return fmt.Errorf("%w: %w", ErrRefused, fmt.Errorf(format, values...))
}

// Check returns what is wrong with the values of an event.
func (e Event) Check() error {
	switch {
	case e.AtUS < 0:
		return refused("the time %d µs is negative", e.AtUS)
	case !slices.Contains(Sources(), e.Source):
		return refused("no source %q", shortened(string(e.Source)))
	}
	return Report{Kind: e.Kind, Interface: e.Interface, Place: e.Place}.Check()
}

// Report is the part of an event that its source knows.
type Report struct {
	Kind      Kind   `json:"kind"`
	Interface string `json:"interface,omitempty"`
	Place     string `json:"place,omitempty"`
}

// Check returns what is wrong with the values of a report.
func (r Report) Check() error {
	if !slices.Contains(kinds(), r.Kind) {
		return refused("no kind %q", shortened(string(r.Kind)))
	}
	if len(r.Interface) > interfaceOctetsMax || strings.ContainsFunc(r.Interface, notOfInterface) {
		return refused("%q is not the name of an interface", shortened(r.Interface))
	}
	if r.Place == "" {
		return nil
	}
	return CheckPlace(r.Place)
}

// CheckPlace returns what is wrong with the id of an access point or a base station: 1 to 64 letters, digits and
// the characters ":._-".
func CheckPlace(place string) error {
	if place == "" || len(place) > placeOctetsMax || strings.ContainsFunc(place, notOfPlace) {
		return refused("%q is not the id of a base station or an access point", shortened(place))
	}
	return nil
}

// notOfInterface are the characters that the kernel takes in no name, and those that a log cannot show.
func notOfInterface(letter rune) bool {
	return letter <= ' ' || letter > '~' || letter == '/' || letter == ':'
}

func notOfPlace(letter rune) bool {
	isLetter := 'a' <= letter && letter <= 'z' || 'A' <= letter && letter <= 'Z'
	return !isLetter && (letter < '0' || letter > '9') && !strings.ContainsRune(":._-", letter)
}

// shortened keeps a text that was refused from filling a log.
func shortened(text string) string {
	const octetsMax = 80
	if len(text) > octetsMax {
		return text[:octetsMax] + "..."
	}
	return text
}

// Follower is a source that waits for something to happen.
type Follower interface {
	// Follow calls report with each report and refused with each input that is none, until ctx ends. It returns before
	// that if the phone does not have what it follows, and the error says why.
	Follow(ctx context.Context, report func(Report), refused func(error)) error
}
