// SPDX-License-Identifier: Apache-2.0

package arrival_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/phone-agent/arrival"
)

// many is more messages than a test sends.
const many = 1000

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
	outcome, err := arrival.Retransmit(kernel, many)
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
	outcome, err := arrival.Retransmit(newTimers(nil), many)
	if err != nil || outcome != (arrival.Outcome{}) {
		t.Errorf("%+v, %v", outcome, err)
	}
}

func TestAKernelThatDoesNotHeedIt(t *testing.T) {
	t.Parallel()
	deaf := waiting(1, 5)
	kernel := newTimers(nil, deaf)
	kernel.connections[0].Una = 8
	outcome, err := arrival.Retransmit(&changing{kernel, deaf}, many)
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
		outcome, err := arrival.Retransmit(kernel, many)
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
	outcome, err := arrival.Retransmit(kernel, many)
	if want := (arrival.Outcome{Unanswered: 4, AtOnce: 1, Messages: 1, Refused: 2}); outcome != want {
		t.Errorf("%+v, not %+v", outcome, want)
	}
	if !errors.Is(err, refused) || !strings.Contains(err.Error(), "the first of 2") ||
		!strings.Contains(err.Error(), "10.0.0.11:1") {
		t.Error(err)
	}
}

func TestNoMoreMessagesThanAllowed(t *testing.T) {
	t.Parallel()
	for allowed, want := range map[uint64]arrival.Outcome{
		0: {Unanswered: 3, Unsent: 3},
		2: {Unanswered: 3, AtOnce: 2, Messages: 2, Unsent: 1},
		4: {Unanswered: 3, AtOnce: 2, Messages: 4, Unsent: 1}, // The third needs three messages.
		5: {Unanswered: 3, AtOnce: 3, Messages: 5},
	} {
		kernel := newTimers(map[uint16]int{1: 1, 2: 1, 3: 3}, waiting(1, 4), waiting(2, 4), waiting(3, 4))
		outcome, err := arrival.Retransmit(kernel, allowed)
		if err != nil || outcome != want {
			t.Errorf("%d: %+v, %v, not %+v", allowed, outcome, err, want)
		}
	}
	// Those that are refused count as well.
	kernel := newTimers(nil, waiting(1, 4), waiting(2, 4), waiting(3, 4))
	kernel.errs = []error{errors.New("refused"), errors.New("refused")}
	outcome, _ := arrival.Retransmit(kernel, 2)
	if want := (arrival.Outcome{Unanswered: 3, Refused: 2, Unsent: 1}); outcome != want {
		t.Errorf("%+v, not %+v", outcome, want)
	}
}

func TestTheBudgetOfMessages(t *testing.T) {
	t.Parallel()
	budget := arrival.NewBudget(4096, 1024)
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	all := budget.Left(now)
	budget.Spend(all)
	for _, step := range []struct {
		after time.Duration
		left  uint64
	}{
		{0, 0},
		{-time.Hour, 0},
		{time.Hour + 500*time.Millisecond, 512}, // An hour forward again, and half a second.
		{time.Second, 1536},
		{time.Millisecond, 1537},
		{time.Minute, all},
		{100 * 365 * 24 * time.Hour, all},
	} {
		now = now.Add(step.after)
		if left := budget.Left(now); left != step.left {
			t.Errorf("after %s: %d, not %d", step.after, left, step.left)
		}
	}
}

// However often it is asked, a budget gives what it had and its rate.
func TestTheBudgetIsNotGivenTwice(t *testing.T) {
	t.Parallel()
	budget := arrival.NewBudget(4096, 1024)
	start := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	spent := uint64(0)
	for passed := time.Duration(0); passed <= 10*time.Second; passed += 700 * time.Microsecond {
		left := budget.Left(start.Add(passed))
		budget.Spend(left)
		spent += left
	}
	if spent < 4096+10_000 || spent > 4096+10_240 {
		t.Errorf("%d messages in 10 s", spent)
	}
}
