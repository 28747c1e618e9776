// SPDX-License-Identifier: Apache-2.0

package wireless_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/genetlink/genltest"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/internal/wireless"
	"github.com/airbound/airbound/internal/wireless/wirelesstest"
)

const timeout = 30 * time.Second

// followed follows a kernel until the test ends. What happens is sent to the channel, in its order.
func followed(t *testing.T, dial func() (wireless.EventSource, error)) <-chan string {
	t.Helper()
	happened := make(chan string, 100)
	follower := wireless.Follower{
		Dial: dial, WaitMin: time.Millisecond, WaitMax: 2 * time.Millisecond,
		Deliver: func(message genetlink.Message) { happened <- string(message.Data) },
		Again:   func() { happened <- "again" },
		Failed:  func(err error) { happened <- err.Error() },
	}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { follower.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
	return happened
}

func await(t *testing.T, happened <-chan string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		select {
		case got := <-happened:
			if got != want {
				t.Fatalf("got %q, want %q", got, want)
			}
		case <-time.After(timeout):
			t.Fatalf("never: %s", want)
		}
	}
}

func dialled(t *testing.T, events *wirelesstest.Events, sockets int) {
	t.Helper()
	for deadline := time.Now().Add(timeout); events.Dialled() < sockets; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d sockets, want %d", events.Dialled(), sockets)
		}
	}
}

func TestEventsAreFollowedOverASocketThatFails(t *testing.T) {
	var events wirelesstest.Events
	happened := followed(t, events.Dial)
	dialled(t, &events, 1)
	events.Send(unix.NL80211_CMD_CONNECT, []byte("first"))
	await(t, happened, "first")
	events.Fail(unix.ENOBUFS)
	await(t, happened, "receive from nl80211: no buffer space available", "again")
	events.Send(unix.NL80211_CMD_CONNECT, []byte("second"))
	await(t, happened, "second")
}

// A kernel without nl80211 stays without: it is said once.
func TestACauseIsReportedOnce(t *testing.T) {
	refusals := []string{"no nl80211", "no nl80211", "no nl80211", "another"}
	var events wirelesstest.Events
	happened := followed(t, func() (wireless.EventSource, error) {
		if len(refusals) == 0 {
			return events.Dial()
		}
		refusal := refusals[0]
		refusals = refusals[1:]
		return nil, errors.New(refusal)
	})
	await(t, happened, "no nl80211", "another", "again")
}

func kernel(t *testing.T, answer genltest.Func) *wireless.Conn {
	t.Helper()
	conn, err := wireless.New(genltest.Dial(genltest.ServeFamily(wirelesstest.Family(), answer)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

var errMalformed = errors.New("malformed")

func parse(attributes []byte) (string, error) {
	if len(attributes) == 0 {
		return "", errMalformed
	}
	return string(attributes), nil
}

func TestDump(t *testing.T) {
	encoder := netlink.NewAttributeEncoder()
	encoder.Uint32(unix.NL80211_ATTR_IFINDEX, 3)
	ofThree, err := encoder.Encode()
	if err != nil {
		t.Fatal(err)
	}
	conn := kernel(t, func(request genetlink.Message, header netlink.Message) ([]genetlink.Message, error) {
		if header.Header.Flags&^netlink.Acknowledge != netlink.Request|netlink.Dump {
			return nil, syscall.EINVAL
		}
		switch {
		case request.Header.Command == unix.NL80211_CMD_GET_INTERFACE && len(request.Data) == 0:
			return []genetlink.Message{
				wirelesstest.Message(unix.NL80211_CMD_NEW_INTERFACE, []byte("wlan0")),
				wirelesstest.Message(unix.NL80211_CMD_NEW_INTERFACE, nil),
				wirelesstest.Message(unix.NL80211_CMD_NEW_INTERFACE, []byte("wlan1")),
			}, nil
		case request.Header.Command == unix.NL80211_CMD_GET_STATION && slices.Equal(request.Data, ofThree):
			return nil, io.EOF // This is how genltest wants an empty dump.
		default:
			return nil, &netlink.OpError{Op: "receive", Err: syscall.ENODEV, Sequence: 1}
		}
	})
	var refused []error
	refuse := func(err error) { refused = append(refused, err) }
	got, err := wireless.Dump(conn, unix.NL80211_CMD_GET_INTERFACE, 0, parse, refuse)
	if !slices.Equal(got, []string{"wlan0", "wlan1"}) || err != nil || len(refused) != 1 ||
		!errors.Is(refused[0], errMalformed) {
		t.Errorf("got %q, %v, refused %v", got, err, refused)
	}
	if got, err := wireless.Dump(conn, unix.NL80211_CMD_GET_STATION, 3, parse, refuse); len(got) > 0 || err != nil {
		t.Errorf("none: %q, %v", got, err)
	}
	if _, err := wireless.Dump(conn, unix.NL80211_CMD_GET_STATION, 4, parse, refuse); !errors.Is(err, unix.ENODEV) {
		t.Errorf("no such interface: %v", err)
	}
}

// The kernel of the machine has the group, or no nl80211 at all.
func TestDialEventsOfTheMachinesOwnKernel(t *testing.T) {
	source, err := wireless.DialEvents()
	if err == nil {
		err = source.Close()
	} else if errors.Is(err, unix.ENOENT) {
		return
	}
	if err != nil {
		t.Error(err)
	}
}
