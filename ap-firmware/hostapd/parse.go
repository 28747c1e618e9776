// SPDX-License-Identifier: Apache-2.0

// Package hostapd reads from hostapd's control socket (hostapd 2.4 and later) which stations it has authorized, and
// changes of that as they happen.
//
// The parsers in this file are pure. What the socket delivers is another process's text and is checked.
package hostapd

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/airbound/airbound/ap-firmware/mac"
)

// ErrMalformed is wrapped by every error about what hostapd sent.
var ErrMalformed = errors.New("malformed hostapd message")

// EventKind is what an event means here.
type EventKind int

// Events. hostapd has about a hundred; those that do not concern associations are EventOther.
const (
	EventOther EventKind = iota
	// EventStationJoined follows a station's authorization: it may send data from now on.
	EventStationJoined
	// EventStationLeft follows disassociation, deauthentication and timeout.
	EventStationLeft
	// EventTerminating is the last event before hostapd exits.
	EventTerminating
	// EventEnabled follows the (re)start of the access point or of its interface: hostapd, or the kernel, has set the
	// parameters of its transmit queues.
	EventEnabled
)

// Event is one unsolicited message.
type Event struct {
	Kind EventKind
	// MAC is the station's; zero unless a station joined or left.
	MAC mac.Address
	// Name is hostapd's own, "AP-STA-CONNECTED".
	Name string
}

// Station is one entry of hostapd's station list.
type Station struct {
	MAC mac.Address
	// Authorized means that the station is associated and, in a protected network, has its keys.
	Authorized bool
}

// Status is the reply to STATUS: the interfaces that one hostapd process serves on a radio.
type Status struct {
	// State is hostapd's interface state; "ENABLED" when the access point is up.
	State string
	// Interfaces has one network interface name for each BSS.
	Interfaces []string
}

// IsEvent reports whether a datagram is an event, "<3>AP-STA-CONNECTED 02:...", and not a reply to a command.
func IsEvent(datagram []byte) bool { return bytes.HasPrefix(datagram, []byte("<")) }

// ParseEvent parses an event. Unknown names are EventOther; only broken framing and broken arguments are errors.
func ParseEvent(datagram []byte) (Event, error) {
	text, priority := strings.TrimRight(string(datagram), "\n"), "<0>"
	if len(text) < len(priority) || text[0] != '<' || text[1] < '0' || text[1] > '9' || text[2] != '>' {
		return Event{}, fmt.Errorf("parse event %q: no priority: %w", excerpt(text), ErrMalformed)
	}
	fields := strings.Fields(text[len(priority):])
	if len(fields) == 0 {
		return Event{}, fmt.Errorf("parse event %q: no name: %w", excerpt(text), ErrMalformed)
	}
	event := Event{Name: fields[0]}
	switch event.Name {
	case "AP-STA-CONNECTED":
		event.Kind = EventStationJoined
	case "AP-STA-DISCONNECTED":
		event.Kind = EventStationLeft
	case "CTRL-EVENT-TERMINATING":
		event.Kind = EventTerminating
		return event, nil
	case "AP-ENABLED", "INTERFACE-ENABLED":
		event.Kind = EventEnabled
		return event, nil
	default:
		return event, nil
	}
	if len(fields) < 2 {
		return Event{}, fmt.Errorf("parse event %q: no station: %w", excerpt(text), ErrMalformed)
	}
	var err error
	if event.MAC, err = mac.Parse(fields[1]); err != nil {
		return Event{}, fmt.Errorf("parse event %q: %w: %w", excerpt(text), ErrMalformed, err)
	}
	return event, nil
}

// ParseStation parses the reply to STA-FIRST and STA-NEXT. ok is false at the end of the list: an empty reply or, if
// the station that the command named has left, "FAIL".
func ParseStation(reply []byte) (station Station, ok bool, err error) {
	text := strings.TrimRight(string(reply), "\n")
	if text == "" || text == "FAIL" {
		return Station{}, false, nil
	}
	lines := strings.Split(text, "\n")
	if station.MAC, err = mac.Parse(lines[0]); err != nil {
		return Station{}, false, fmt.Errorf("parse station: %w: %w", ErrMalformed, err)
	}
	flags, found := field(lines, "flags")
	if !found {
		return Station{}, false, fmt.Errorf("parse station %s: no flags: %w", station.MAC, ErrMalformed)
	}
	station.Authorized = strings.Contains(flags, "[AUTHORIZED]")
	return station, true, nil
}

// ParseStatus parses the reply to STATUS.
func ParseStatus(reply []byte) (Status, error) {
	lines := strings.Split(string(reply), "\n")
	var status Status
	var found bool
	if status.State, found = field(lines, "state"); !found {
		return Status{}, fmt.Errorf("parse status %q: no state: %w", excerpt(string(reply)), ErrMalformed)
	}
	for i := 0; ; i++ {
		name, found := field(lines, fmt.Sprintf("bss[%d]", i))
		if !found {
			return status, nil
		}
		status.Interfaces = append(status.Interfaces, name)
	}
}

func field(lines []string, key string) (value string, found bool) {
	for _, line := range lines {
		if value, found = strings.CutPrefix(line, key+"="); found {
			return value, true
		}
	}
	return "", false
}

// excerpt limits what garbage can put into a log.
func excerpt(text string) string {
	const lengthMax = 64
	if len(text) > lengthMax {
		return text[:lengthMax] + "..."
	}
	return text
}
