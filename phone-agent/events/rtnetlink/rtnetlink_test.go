// SPDX-License-Identifier: Apache-2.0

package rtnetlink_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/events"
	"github.com/airbound/airbound/phone-agent/events/rtnetlink"
)

const (
	up   = unix.IFF_UP | unix.IFF_RUNNING
	down = unix.IFF_UP
)

func encoded(tb testing.TB, header []byte, encode func(*netlink.AttributeEncoder)) []byte {
	tb.Helper()
	encoder := netlink.NewAttributeEncoder()
	encode(encoder)
	attributes, err := encoder.Encode()
	if err != nil {
		tb.Fatal(err)
	}
	return append(header, attributes...)
}

func link(tb testing.TB, index, flags uint32, name, kind string) netlink.Message {
	tb.Helper()
	header := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(header[4:], index)
	binary.NativeEndian.PutUint32(header[8:], flags)
	return netlink.Message{Header: netlink.Header{Type: unix.RTM_NEWLINK}, Data: encoded(tb, header,
		func(encoder *netlink.AttributeEncoder) {
			if name != "" {
				encoder.String(unix.IFLA_IFNAME, name)
			}
			if kind != "" {
				encoder.Nested(unix.IFLA_LINKINFO, func(info *netlink.AttributeEncoder) error {
					info.String(unix.IFLA_INFO_KIND, kind)
					return nil
				})
			}
		})}
}

func address(tb testing.TB, index uint32, text string, scope uint8, flags uint32) netlink.Message {
	tb.Helper()
	ip := netip.MustParseAddr(text)
	header := make([]byte, unix.SizeofIfAddrmsg)
	header[0], header[3] = unix.AF_INET, scope
	if ip.Is6() {
		header[0] = unix.AF_INET6
	}
	binary.NativeEndian.PutUint32(header[4:], index)
	return netlink.Message{Header: netlink.Header{Type: unix.RTM_NEWADDR}, Data: encoded(tb, header,
		func(encoder *netlink.AttributeEncoder) {
			if ip.Is4() { // Of a link with two ends this is the other one.
				encoder.Bytes(unix.IFA_ADDRESS, []byte{192, 0, 2, 1})
				encoder.Bytes(unix.IFA_LOCAL, ip.AsSlice())
			} else {
				encoder.Bytes(unix.IFA_ADDRESS, ip.AsSlice())
			}
			encoder.Uint32(unix.IFA_FLAGS, flags)
		})}
}

func gone(message netlink.Message) netlink.Message {
	message.Header.Type++ // RTM_DELLINK follows RTM_NEWLINK, RTM_DELADDR follows RTM_NEWADDR.
	return message
}

func parsed(t *testing.T, message netlink.Message) rtnetlink.Change {
	t.Helper()
	change, isOurs, err := rtnetlink.Parse(message.Header.Type, message.Data)
	if err != nil || !isOurs {
		t.Fatalf("%t, %v", isOurs, err)
	}
	return change
}

func TestWhatShowsAnArrival(t *testing.T) {
	t.Parallel()
	var tracker rtnetlink.Tracker
	linkUp := events.Report{Kind: events.LinkUp, Interface: "wlan0"}
	another := events.Report{Kind: events.Address, Interface: "wlan0"}
	none := events.Report{}
	for _, step := range []struct {
		what    string
		message netlink.Message
		want    events.Report
	}{
		{"an interface without a link", link(t, 3, down, "wlan0", ""), none},
		{"its link is up", link(t, 3, up, "wlan0", ""), linkUp},
		{"still up", link(t, 3, up, "wlan0", ""), none},
		{"an address", address(t, 3, "10.0.0.11", unix.RT_SCOPE_UNIVERSE, 0), another},
		{"its lifetime", address(t, 3, "10.0.0.11", unix.RT_SCOPE_UNIVERSE, 0), none},
		{"IPv6, looking for duplicates", address(t, 3, "2001:db8::1", 0, unix.IFA_F_TENTATIVE), none},
		{"a duplicate", address(t, 3, "2001:db8::1", 0, unix.IFA_F_DADFAILED), none},
		{"no duplicate", address(t, 3, "2001:db8::1", 0, 0), another},
		{"of the link only", address(t, 3, "fe80::1", unix.RT_SCOPE_LINK, 0), none},
		{"an address has gone", gone(address(t, 3, "10.0.0.11", 0, 0)), none},
		{"and is back", address(t, 3, "10.0.0.11", 0, 0), another},
		{"of an interface that is not known", address(t, 9, "10.0.0.12", 0, 0), none},
		{"the link is down", link(t, 3, down, "", ""), none},
		{"a message without the name", link(t, 3, up, "", ""), linkUp},
		{"a container's end", link(t, 4, up, "veth1", "veth"), none},
		{"its address", address(t, 4, "10.9.0.1", 0, 0), none},
		{"down", link(t, 4, down, "veth1", ""), none},
		{"and up, without the kind", link(t, 4, up, "veth1", ""), none},
		{"loopback", link(t, 1, up|unix.IFF_LOOPBACK, "lo", ""), none},
		{"a modem that is plugged in", link(t, 5, up, "rmnet0", "rmnet"), events.Report{
			Kind: events.LinkUp, Interface: "rmnet0",
		}},
		{"an interface is removed", gone(link(t, 3, up, "wlan0", "")), none},
		{"and made again", link(t, 3, up, "wlan0", ""), linkUp},
	} {
		got, isArrival, err := tracker.Observe(parsed(t, step.message))
		if got != step.want || isArrival != (step.want != none) || err != nil {
			t.Errorf("%s: %+v, %t, %v", step.what, got, isArrival, err)
		}
	}
}

func TestListsAreCompared(t *testing.T) {
	t.Parallel()
	var tracker rtnetlink.Tracker
	wlan, modem := parsed(t, link(t, 3, up, "wlan0", "")), parsed(t, link(t, 5, down, "wwan0", "wwan"))
	first, other := parsed(t, address(t, 3, "10.0.0.11", 0, 0)), parsed(t, address(t, 3, "10.0.0.12", 0, 0))
	if got, err := tracker.List([]rtnetlink.Change{first, wlan, modem}); err != nil || got != nil {
		t.Errorf("what there was before: %v, %v", got, err)
	}
	if got, err := tracker.List([]rtnetlink.Change{first, wlan, modem}); err != nil || got != nil {
		t.Errorf("the same: %v, %v", got, err)
	}
	modem.Up = true
	want := []events.Report{
		{Kind: events.LinkUp, Interface: "wwan0"}, {Kind: events.Address, Interface: "wlan0"},
	}
	if got, err := tracker.List([]rtnetlink.Change{other, wlan, modem}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("events were lost: %v, %v", got, err)
	}
	if got, isArrival, err := tracker.Observe(first); err != nil || !isArrival {
		t.Errorf("an address that the list no longer had: %v, %v", got, err)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	var tracker rtnetlink.Tracker
	var refused int
	for index := range uint32(10_000) {
		_, _, errLink := tracker.Observe(rtnetlink.Change{Index: index + 1, Name: "wlan0"})
		_, _, errAddress := tracker.Observe(rtnetlink.Change{
			Index: index + 1, Address: netip.MustParseAddr("10.0.0.1"), Usable: true,
		})
		for _, err := range []error{errLink, errAddress} {
			if err != nil {
				refused++
			}
		}
	}
	if refused != 10_000-256+10_000-1024 {
		t.Errorf("%d refused", refused)
	}
}

func TestMessagesOfNoneOfOurs(t *testing.T) {
	t.Parallel()
	port := link(t, 3, up, "wlan0", "")
	port.Data[0] = unix.AF_BRIDGE
	for _, message := range []netlink.Message{port, {Header: netlink.Header{Type: unix.RTM_NEWROUTE}}} {
		if change, isOurs, err := rtnetlink.Parse(message.Header.Type, message.Data); isOurs || err != nil {
			t.Errorf("%+v, %v", change, err)
		}
	}
}

func TestRefusedMessages(t *testing.T) {
	t.Parallel()
	header := func(size int, index uint32) []byte {
		made := make([]byte, size)
		binary.NativeEndian.PutUint32(made[4:], index)
		return made
	}
	cut := func(size int) []byte { return append(header(size, 3), 1, 2, 3) }
	odd := encoded(t, header(unix.SizeofIfAddrmsg, 3), func(encoder *netlink.AttributeEncoder) {
		encoder.Bytes(unix.IFA_ADDRESS, make([]byte, 5))
	})
	for name, test := range map[string]struct {
		kind  netlink.HeaderType
		data  []byte
		names string
	}{
		"empty link":            {unix.RTM_NEWLINK, nil, "0 bytes are shorter"},
		"empty address":         {unix.RTM_DELADDR, nil, "0 bytes are shorter"},
		"link header cut":       {unix.RTM_DELLINK, make([]byte, 15), "15 bytes are shorter"},
		"address header cut":    {unix.RTM_NEWADDR, make([]byte, 7), "7 bytes are shorter"},
		"link attribute cut":    {unix.RTM_NEWLINK, cut(unix.SizeofIfInfomsg), "parse link"},
		"address attribute cut": {unix.RTM_NEWADDR, cut(unix.SizeofIfAddrmsg), "parse address"},
		"link 0":                {unix.RTM_NEWLINK, header(unix.SizeofIfInfomsg, 0), "no index"},
		"no address":            {unix.RTM_NEWADDR, header(unix.SizeofIfAddrmsg, 3), "no address"},
		"address of 5 octets":   {unix.RTM_NEWADDR, odd, "5 octets"},
	} {
		change, isOurs, err := rtnetlink.Parse(test.kind, test.data)
		if !errors.Is(err, rtnetlink.ErrMalformed) || isOurs || !strings.Contains(err.Error(), test.names) {
			t.Errorf("%s: %+v, %v", name, change, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, message := range []netlink.Message{
		link(f, 3, up, "wlan0", "rmnet"), address(f, 3, "10.0.0.11", 0, 0), address(f, 3, "2001:db8::1", 0, 0),
	} {
		f.Add(uint16(message.Header.Type), message.Data)
	}
	f.Fuzz(func(t *testing.T, kind uint16, data []byte) {
		change, isOurs, err := rtnetlink.Parse(netlink.HeaderType(kind), data)
		if isOurs && (err != nil || change.Index == 0) {
			t.Errorf("%+v, %v", change, err)
		}
		var tracker rtnetlink.Tracker
		if report, isArrival, _ := tracker.Observe(change); isArrival && report.Kind == "" {
			t.Errorf("%+v", report)
		}
	})
}

// socket is a fake socket: what is sent to its channel is received, and a nil message is an error.
type socket struct {
	messages chan []netlink.Message
	closed   chan struct{}
}

func (s *socket) Receive() ([]netlink.Message, error) {
	select {
	case messages := <-s.messages:
		if messages == nil {
			return nil, unix.ENOBUFS
		}
		return messages, nil
	case <-s.closed:
		return nil, io.EOF
	}
}

func (s *socket) Close() error {
	close(s.closed)
	return nil
}

func TestFollow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sockets []*socket
		listed := []netlink.Message{link(t, 3, down, "wlan0", "")}
		client := rtnetlink.Client{
			Dial: func() (rtnetlink.Conn, error) {
				sockets = append(sockets, &socket{make(chan []netlink.Message), make(chan struct{})})
				return sockets[len(sockets)-1], nil
			},
			List: func() ([]netlink.Message, error) { return listed, nil },
		}
		reports, refused := make(chan events.Report, 10), make(chan error, 10)
		ended := make(chan error)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			ended <- client.Follow(ctx, func(report events.Report) { reports <- report },
				func(err error) { refused <- err })
		}()
		synctest.Wait()
		broken := netlink.Message{Header: netlink.Header{Type: unix.RTM_NEWLINK}}
		sockets[0].messages <- []netlink.Message{broken, link(t, 3, up, "wlan0", "")}
		if got := <-reports; got.Kind != events.LinkUp || got.Interface != "wlan0" {
			t.Errorf("%+v", got)
		}
		if err := <-refused; !errors.Is(err, rtnetlink.ErrMalformed) {
			t.Error(err)
		}
		listed = []netlink.Message{link(t, 3, up, "wlan0", ""), address(t, 3, "10.0.0.11", 0, 0)}
		sockets[0].messages <- nil
		if got := <-reports; got.Kind != events.Address {
			t.Errorf("after events were lost: %+v", got)
		}
		if err := <-refused; !errors.Is(err, unix.ENOBUFS) {
			t.Error(err)
		}
		cancel()
		if err := <-ended; err != nil || len(reports)+len(refused) > 0 {
			t.Errorf("%v; %d reports and %d errors more", err, len(reports), len(refused))
		}
		for i, each := range sockets {
			select {
			case <-each.closed:
			default:
				t.Errorf("socket %d stays open", i)
			}
		}
	})
}

// The kernel's own list, of whatever this machine has: nothing of it is new.
func TestTheKernelsOwnList(t *testing.T) {
	t.Parallel()
	client := rtnetlink.New()
	all, err := client.List()
	if err != nil || len(all) == 0 {
		t.Fatalf("%d messages, %v", len(all), err)
	}
	var tracker rtnetlink.Tracker
	changes := make([]rtnetlink.Change, 0, len(all))
	for _, message := range all {
		changes = append(changes, parsed(t, message))
	}
	if got, err := tracker.List(changes); err != nil || got != nil {
		t.Errorf("%v, %v", got, err)
	}
	conn, err := client.Dial()
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}
