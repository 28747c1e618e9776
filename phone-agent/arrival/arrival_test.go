// SPDX-License-Identifier: Apache-2.0

package arrival_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/airbound/airbound/phone-agent/arrival"
)

// timers is a Kernel of connections that retransmit when so many doublings have been taken back.
type timers struct {
	connections []arrival.Connection
	// By the port: how many messages until it sends; more than there are doublings: never.
	until      map[uint16]int
	messages   map[uint16]int
	errs       []error
	errsOfList []error
}

func next(errs *[]error) error {
	if len(*errs) == 0 {
		return nil
	}
	first := (*errs)[0]
	*errs = (*errs)[1:]
	return first
}

func (k *timers) Unanswered() ([]arrival.Connection, error) {
	return append([]arrival.Connection(nil), k.connections...), next(&k.errsOfList)
}

func (k *timers) Revert(connection arrival.Connection) error {
	if err := next(&k.errs); err != nil {
		return err
	}
	port := connection.Local.Port()
	k.messages[port]++
	for i := range k.connections {
		if is := &k.connections[i]; is.Local == connection.Local && is.Una == connection.Una && is.Backoff > 0 {
			is.Backoff--
			if k.until[port]--; k.until[port] == 0 {
				is.Retransmits, is.Backoff = is.Retransmits+1, is.Backoff+1
			}
		}
	}
	return nil
}

func waiting(port uint16, backoff uint8) arrival.Connection {
	return arrival.Connection{
		Local:  netip.AddrPortFrom(netip.MustParseAddr("10.0.0.11"), port),
		Remote: netip.MustParseAddrPort("10.0.4.1:5001"), Una: 7, Retransmits: backoff, Backoff: backoff,
	}
}

func newTimers(until map[uint16]int, connections ...arrival.Connection) *timers {
	return &timers{connections: connections, until: until, messages: map[uint16]int{}}
}

func TestEachConnectionSendsOnce(t *testing.T) {
	t.Parallel()
	kernel := newTimers(map[uint16]int{1: 1, 2: 3, 3: 99}, waiting(1, 4), waiting(2, 5), waiting(3, 2), waiting(4, 0))
	outcome, err := arrival.Retransmit(kernel)
	if want := (arrival.Outcome{Unanswered: 4, AtOnce: 2, Messages: 6}); err != nil || outcome != want {
		t.Errorf("%+v, %v, not %+v", outcome, err, want)
	}
	for port, want := range map[uint16]int{1: 1, 2: 3, 3: 2, 4: 0} {
		if kernel.messages[port] != want {
			t.Errorf("port %d: %d messages, not %d", port, kernel.messages[port], want)
		}
	}
}

func TestNothingWaits(t *testing.T) {
	t.Parallel()
	outcome, err := arrival.Retransmit(newTimers(nil))
	if err != nil || outcome != (arrival.Outcome{}) {
		t.Errorf("%+v, %v", outcome, err)
	}
}

func TestAKernelThatDoesNotHeedIt(t *testing.T) {
	t.Parallel()
	deaf := waiting(1, 5)
	kernel := newTimers(nil, deaf)
	kernel.connections[0].Una = 8
	outcome, err := arrival.Retransmit(&changing{kernel, deaf})
	if err != nil || outcome.AtOnce != 0 || outcome.Messages > 20 {
		t.Errorf("%+v, %v", outcome, err)
	}
}

// changing lists the same connection each time.
type changing struct {
	*timers
	always arrival.Connection
}

func (k *changing) Unanswered() ([]arrival.Connection, error) {
	return []arrival.Connection{k.always}, nil
}

func TestErrorsEndItAndSayWhatWasDone(t *testing.T) {
	t.Parallel()
	wrong := errors.New("wrong")
	for name, of := range map[string]struct {
		errsOfList []error
		messages   uint64
	}{
		"first list":  {[]error{wrong}, 0},
		"second list": {[]error{nil, wrong}, 2},
	} {
		kernel := newTimers(map[uint16]int{}, waiting(1, 4), waiting(2, 4))
		kernel.errsOfList = of.errsOfList
		outcome, err := arrival.Retransmit(kernel)
		if !errors.Is(err, wrong) || outcome.Messages != of.messages {
			t.Errorf("%s: %+v, %v", name, outcome, err)
		}
	}
}

func TestAConnectionWithoutItsMessageDoesNotKeepTheOthers(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	kernel := newTimers(map[uint16]int{4: 1}, waiting(1, 4), waiting(2, 4), waiting(3, 4), waiting(4, 4))
	kernel.errs = []error{refused, arrival.ErrAddressGone, refused}
	outcome, err := arrival.Retransmit(kernel)
	if want := (arrival.Outcome{Unanswered: 4, AtOnce: 1, Messages: 1}); outcome != want {
		t.Errorf("%+v, not %+v", outcome, want)
	}
	if !errors.Is(err, refused) || !strings.Contains(err.Error(), "the first of 2") ||
		!strings.Contains(err.Error(), "10.0.0.11:1") {
		t.Error(err)
	}
}
