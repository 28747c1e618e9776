// SPDX-License-Identifier: Apache-2.0

package neighbours_test

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/neighbours"
	"github.com/airbound/airbound/ap-firmware/neighbours/neighbourstest"
)

const (
	wlan   = 3
	bridge = 5
	other  = 7
)

var (
	phone1 = mac.Address{2, 0, 0, 0, 1, 0}
	phone2 = mac.Address{2, 0, 0, 0, 2, 0}
)

func entry(index uint32, station mac.Address, ip string, state uint16) neighbours.Neighbour {
	return neighbours.Neighbour{InterfaceIndex: index, MAC: station, IP: netip.MustParseAddr(ip), State: state}
}

func addresses(texts ...string) []netip.Addr {
	parsed := make([]netip.Addr, len(texts))
	for i, text := range texts {
		parsed[i] = netip.MustParseAddr(text)
	}
	return parsed
}

func connect(t *testing.T, kernel *neighbourstest.Kernel) (client *neighbours.Client, malformed *[]error) {
	t.Helper()
	malformed = &[]error{}
	client = neighbours.New(kernel.Dial(), func(err error) { *malformed = append(*malformed, err) })
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client, malformed
}

func TestTableOfAnInterfaceAndItsBridge(t *testing.T) {
	t.Parallel()
	var kernel neighbourstest.Kernel
	kernel.SetLink(wlan, bridge)
	kernel.SetLink(other, 0)
	kernel.Set(
		entry(bridge, phone1, "10.0.0.11", unix.NUD_REACHABLE),
		entry(bridge, phone1, "fe80::11", unix.NUD_STALE),
		entry(wlan, phone1, "2001:db8::11", unix.NUD_DELAY),
		entry(wlan, phone1, "10.0.0.11", unix.NUD_PROBE),
		entry(bridge, phone2, "10.0.0.12", unix.NUD_PERMANENT),
		entry(bridge, phone2, "10.0.0.13", unix.NUD_FAILED),
		entry(bridge, phone2, "10.0.0.14", unix.NUD_INCOMPLETE),
		entry(bridge, phone2, "10.0.0.15", unix.NUD_NONE),
		entry(bridge, phone2, "ff02::1", unix.NUD_PERMANENT),
		entry(bridge, phone2, "224.0.0.1", unix.NUD_PERMANENT),
		entry(bridge, phone2, "255.255.255.255", unix.NUD_PERMANENT),
		entry(bridge, phone2, "127.0.0.1", unix.NUD_REACHABLE),
		entry(bridge, phone2, "0.0.0.0", unix.NUD_REACHABLE),
		entry(bridge, mac.Address{}, "10.0.0.16", unix.NUD_REACHABLE),
		entry(other, phone2, "10.0.9.12", unix.NUD_REACHABLE),
		neighbours.Neighbour{InterfaceIndex: bridge, MAC: phone2, State: unix.NUD_REACHABLE}, // a forwarding entry
	)
	client, malformed := connect(t, &kernel)
	want := neighbours.Table{phone1: addresses("10.0.0.11", "2001:db8::11", "fe80::11"), phone2: addresses("10.0.0.12")}
	if got, err := client.Table(wlan); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	want = neighbours.Table{phone2: addresses("10.0.9.12")}
	if got, err := client.Table(other); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("without a bridge: got %v, %v, want %v", got, err, want)
	}
	if len(*malformed) > 0 {
		t.Errorf("refused %v", *malformed)
	}
	kernel.Set()
	if got, err := client.Table(wlan); err != nil || len(got) > 0 {
		t.Errorf("an empty table: %v, %v", got, err)
	}
}

// A VLAN's interface is a port of another bridge; hostapd removes it with its last station.
func TestNeighboursOfVLANs(t *testing.T) {
	t.Parallel()
	const guests, gone = 20, 21
	var kernel neighbourstest.Kernel
	kernel.SetLink(wlan, bridge)
	kernel.SetLink(guests, other)
	kernel.Set(
		entry(bridge, phone1, "10.0.0.11", unix.NUD_REACHABLE), entry(other, phone2, "10.0.9.12", unix.NUD_REACHABLE),
	)
	client, _ := connect(t, &kernel)
	want := neighbours.Table{phone1: addresses("10.0.0.11"), phone2: addresses("10.0.9.12")}
	if got, err := client.Table(wlan, gone, guests); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if got, err := client.Table(gone, wlan); !errors.Is(err, unix.ENODEV) || got != nil {
		t.Errorf("without the BSS's interface: %v, %v", got, err)
	}
}

func TestAStationHasAtMost16Addresses(t *testing.T) {
	t.Parallel()
	var kernel neighbourstest.Kernel
	kernel.SetLink(wlan, 0)
	var entries []neighbours.Neighbour
	for i := range 20 {
		entries = append(entries, entry(wlan, phone1, fmt.Sprintf("2001:db8::%x", i+1), unix.NUD_STALE))
	}
	entries = append(entries, entry(wlan, phone1, "fe80::1", unix.NUD_REACHABLE))
	client, _ := connect(t, &kernel)
	for range entries { // The kernel's order has no meaning.
		entries = append(entries[1:], entries[0])
		kernel.Set(entries...)
		got, err := client.Table(wlan)
		if err != nil || len(got[phone1]) != neighbours.AddressesMax {
			t.Fatalf("got %v, %v", got, err)
		}
		if got := got[phone1]; got[15] != netip.MustParseAddr("fe80::1") ||
			got[14] != netip.MustParseAddr("2001:db8::f") {
			t.Errorf("got %v, want the one that is not stale and the first 15 of the others", got)
		}
	}
}

func TestABrokenEntryCostsNoOther(t *testing.T) {
	t.Parallel()
	var kernel neighbourstest.Kernel
	kernel.SetLink(wlan, 0)
	kernel.Set(entry(wlan, phone1, "10.0.0.11", unix.NUD_REACHABLE))
	kernel.SetGarbage([]byte{1}, nil)
	client, malformed := connect(t, &kernel)
	got, err := client.Table(wlan)
	if err != nil || len(got) != 1 || len(*malformed) != 2 || !errors.Is((*malformed)[0], neighbours.ErrMalformed) {
		t.Errorf("got %v, %v, refused %v", got, err, *malformed)
	}
}

func TestErrorsOfTheKernel(t *testing.T) {
	t.Parallel()
	var kernel neighbourstest.Kernel
	client, _ := connect(t, &kernel)
	if got, err := client.Table(wlan); !errors.Is(err, syscall.ENODEV) || got != nil {
		t.Errorf("no such link: %v, %v", got, err)
	}
	kernel.SetLink(wlan, 0)
	kernel.Refuse(unix.EPERM)
	if got, err := client.Table(wlan); !errors.Is(err, syscall.EPERM) || got != nil {
		t.Errorf("refused: %v, %v", got, err)
	}
	kernel.Refuse(0)
	kernel.SetLinkCopies(1)
	if got, err := client.Table(wlan); !errors.Is(err, neighbours.ErrMalformed) || got != nil ||
		!strings.Contains(err.Error(), "2 messages, want 1") {
		t.Errorf("two links for one: %v, %v", got, err)
	}
	kernel.SetLinkCopies(0)
	if got, err := client.Table(wlan); err != nil || len(got) > 0 {
		t.Errorf("afterwards: %v, %v", got, err)
	}
}

func attributes(t *testing.T, header []byte, encode func(*netlink.AttributeEncoder)) []byte {
	t.Helper()
	encoder := netlink.NewAttributeEncoder()
	encode(encoder)
	encoded, err := encoder.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return append(header, encoded...)
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	ipv4, ipv6 := make([]byte, unix.SizeofNdMsg), make([]byte, unix.SizeofNdMsg)
	ipv4[0], ipv6[0] = unix.AF_INET, unix.AF_INET6
	destination := func(octets int) func(*netlink.AttributeEncoder) {
		return func(encoder *netlink.AttributeEncoder) { encoder.Bytes(unix.NDA_DST, make([]byte, octets)) }
	}
	for name, test := range map[string]struct {
		message []byte
		names   string
	}{
		"empty":                {nil, "0 bytes are shorter"},
		"header cut":           {ipv4[:11], "11 bytes are shorter"},
		"attribute cut":        {append(append([]byte{}, ipv4...), 1, 2, 3), "parse neighbour"},
		"no address":           {ipv4, "no address"},
		"IPv4 of 16 octets":    {attributes(t, append([]byte{}, ipv4...), destination(16)), "family 2 has 16 octets"},
		"IPv6 of 4 octets":     {attributes(t, append([]byte{}, ipv6...), destination(4)), "family 10 has 4 octets"},
		"address of no family": {attributes(t, append([]byte{}, ipv4...), destination(5)), "family 2 has 5 octets"},
	} {
		got, err := neighbours.ParseNeighbour(test.message)
		if !errors.Is(err, neighbours.ErrMalformed) || !strings.Contains(err.Error(), test.names) || got.IP.IsValid() {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	short := attributes(t, make([]byte, unix.SizeofIfInfomsg), func(encoder *netlink.AttributeEncoder) {
		encoder.Uint16(unix.IFLA_MASTER, 1)
	})
	for name, message := range map[string][]byte{
		"empty": nil, "header cut": make([]byte, 15), "master of 2 bytes": short,
		"attribute cut": append(make([]byte, unix.SizeofIfInfomsg), 1, 2, 3),
	} {
		if got, err := neighbours.ParseMaster(message); !errors.Is(err, neighbours.ErrMalformed) || got != 0 {
			t.Errorf("link, %s: %v, %v", name, got, err)
		}
	}
}

func TestALinkLayerAddressOfAnotherLengthIsNone(t *testing.T) {
	t.Parallel()
	header := make([]byte, unix.SizeofNdMsg)
	header[0] = unix.AF_INET
	message := attributes(t, header, func(encoder *netlink.AttributeEncoder) {
		encoder.Bytes(unix.NDA_DST, []byte{10, 0, 0, 1})
		encoder.Bytes(unix.NDA_LLADDR, make([]byte, 4)) // an IPIP tunnel's
	})
	if got, err := neighbours.ParseNeighbour(message); err != nil || !got.MAC.IsZero() {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestIPv4MappedAddressesAreIPv4(t *testing.T) {
	t.Parallel()
	message, err := neighbourstest.EncodeNeighbour(entry(wlan, phone1, "::ffff:10.0.0.1", unix.NUD_REACHABLE))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := neighbours.ParseNeighbour(message); err != nil || got.IP != netip.MustParseAddr("10.0.0.1") {
		t.Errorf("got %+v, %v", got, err)
	}
}

// Not parallel: the limit is that of the whole process.
func TestASocketThatCannotBeOpened(t *testing.T) { //nolint:paralleltest // see above
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	client, err := neighbours.Dial(func(error) {})
	if restoreErr := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); restoreErr != nil {
		t.Fatal(restoreErr)
	}
	if client != nil || !errors.Is(err, unix.EMFILE) || !strings.HasPrefix(err.Error(), "open rtnetlink socket: ") {
		t.Errorf("%v, %v", client, err)
	}
}

// FuzzParseNeighbour: an entry that is accepted can be encoded and read again.
func FuzzParseNeighbour(f *testing.F) {
	for _, seed := range []neighbours.Neighbour{
		entry(wlan, phone1, "10.0.0.11", unix.NUD_REACHABLE), entry(bridge, phone2, "2001:db8::1", unix.NUD_STALE),
		{InterfaceIndex: bridge, MAC: phone2},
	} {
		message, err := neighbourstest.EncodeNeighbour(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(message)
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		parsed, err := neighbours.ParseNeighbour(message)
		if err != nil {
			if !errors.Is(err, neighbours.ErrMalformed) || parsed != (neighbours.Neighbour{}) {
				t.Fatalf("got %+v, %v", parsed, err)
			}
			return
		}
		again, err := neighbourstest.EncodeNeighbour(parsed)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := neighbours.ParseNeighbour(again); err != nil || (parsed.IP.IsValid() && got != parsed) {
			t.Fatalf("%+v came back as %+v, %v", parsed, got, err)
		}
	})
}

func FuzzParseMaster(f *testing.F) {
	message, err := neighbourstest.EncodeLink(wlan, bridge)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(message)
	f.Fuzz(func(t *testing.T, message []byte) {
		master, err := neighbours.ParseMaster(message)
		if err != nil && (!errors.Is(err, neighbours.ErrMalformed) || master != 0) {
			t.Fatalf("got %v, %v", master, err)
		}
	})
}

// The kernel of the machine that runs the test has a loopback interface, whose neighbours are none.
func TestTheRealKernelAnswers(t *testing.T) {
	t.Parallel()
	client, err := neighbours.Dial(func(err error) { t.Errorf("refused: %v", err) })
	if err != nil {
		t.Fatal(err)
	}
	const loopback = 1
	if got, err := client.Table(loopback); err != nil || len(got) > 0 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := client.Table(1 << 30); !errors.Is(err, syscall.ENODEV) {
		t.Errorf("no such link: %v", err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
}
