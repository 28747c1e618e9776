// SPDX-License-Identifier: Apache-2.0

package windows_test

import (
	"net/netip"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/windows"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const secondNS = 1_000_000_000

// flow is one of a station's to an address that sends at a time.
func flow(station mac.Address, address netip.Addr, port uint16, atNS uint64) windows.Flow {
	key := windows.FlowKey{Station: station, Family: windows.IPv4, StationPort: port, RemotePort: 443}
	if address.Is6() {
		key.Family = windows.IPv6
	}
	copy(key.RemoteAddress[:], address.AsSlice())
	return windows.Flow{
		Key: key, SeenNS: atNS, SentNS: atNS, SentBytes: 1000, ReceivedBytes: 10, MSSBytes: 1460, Scaled: true,
		Wired: windows.Half{SRTTUS: 30_000, MinUS: 20_000}, Air: windows.Half{SRTTUS: 10_000, MinUS: 5_000},
	}
}

func TestConnectionsArePutTogetherByDestination(t *testing.T) {
	t.Parallel()
	table := windows.NewTable()
	const now = 100 * secondNS
	one := flow(phone1, server, 1, now)
	two := flow(phone1, server, 2, now)
	two.Wired, two.MSSBytes = windows.Half{SRTTUS: 50_000, MinUS: 15_000}, 1400
	idle := flow(phone1, server, 3, now)
	idle.SentNS, idle.Scaled = now-secondNS, false
	old := flow(phone1, server, 4, now-60*secondNS)
	ended := flow(phone1, server, 5, now)
	ended.Ended = true
	unknown := flow(phone1, server, 6, now)
	unknown.Air = windows.Half{}
	other := flow(phone1, remote, 7, now)
	foreign := flow(phone2, server, 8, now)
	table.Observe(now, 8, []windows.Flow{one, two, idle, old, ended, unknown, other, foreign})
	got := table.Destinations(phone1, now)
	want := &airboundv1.StationDestination{
		Address: server.AsSlice(), Connections: 4, ConnectionsSending: 3, SrttUs: 50_000, MinRttUs: 20_000,
		MssBytes: 1400, SentBytes: 6000, ReceivedBytes: 60, ConnectionsUnscaled: 1,
	}
	if len(got) != 2 || !proto.Equal(got[0], want) || netip.AddrFrom16([16]byte(got[1].GetAddress())) != remote {
		t.Errorf("%v", got)
	}
	if got := table.Destinations(phone2, now); len(got) != 1 || got[0].GetConnections() != 1 {
		t.Errorf("%v", got)
	}
	if table.Connections() != 8 || table.EvictedTotal() != 0 {
		t.Errorf("%d, %d", table.Connections(), table.EvictedTotal())
	}
}

// Bytes are cumulative, whatever becomes of the connections.
func TestBytesOfForgottenConnectionsStay(t *testing.T) {
	t.Parallel()
	table := windows.NewTable()
	one, two := flow(phone1, server, 1, secondNS), flow(phone1, server, 2, secondNS)
	sent := func(now, created uint64, flows ...windows.Flow) uint64 {
		t.Helper()
		table.Observe(now, created, flows)
		got := table.Destinations(phone1, now)
		if len(got) != 1 {
			t.Fatalf("%v", got)
		}
		return got[0].GetSentBytes()
	}
	if got := sent(secondNS, 2, one, two); got != 2000 {
		t.Error(got)
	}
	two.SentBytes = 5000
	if got := sent(2*secondNS, 2, two); got != 6000 || table.EvictedTotal() != 1 {
		t.Error(got, table.EvictedTotal())
	}
	two.SentBytes = 300 // Another connection with the same ports.
	if got := sent(3*secondNS, 2, two); got != 6300 {
		t.Error(got)
	}
	if got := sent(4*secondNS, 3, one, two); got != 7300 || table.EvictedTotal() != 1 {
		t.Error(got, table.EvictedTotal())
	}
	// Nothing is left of a destination that the kernel knows no connection to.
	table.Observe(5*secondNS, 3, nil)
	if got := table.Destinations(phone1, 5*secondNS); len(got) != 0 || table.EvictedTotal() != 3 {
		t.Error(got, table.EvictedTotal())
	}
}

func TestConnectionsOfTheAgentBeforeAreNotForgotten(t *testing.T) {
	t.Parallel()
	table := windows.NewTable()
	one, two := flow(phone1, server, 1, secondNS), flow(phone1, server, 2, secondNS)
	table.Observe(secondNS, 0, []windows.Flow{one, two})
	if table.EvictedTotal() != 0 {
		t.Error(table.EvictedTotal())
	}
	one.Ended = true
	ended := table.Observe(7*secondNS, 0, []windows.Flow{one, two})
	if len(ended) != 1 || ended[0] != one.Key {
		t.Fatal(ended)
	}
	table.Deleted()
	table.Observe(8*secondNS, 1, []windows.Flow{two})
	if table.EvictedTotal() != 1 { // One was created and is not there.
		t.Error(table.EvictedTotal())
	}
}

// Of many destinations those that matter are reported.
func TestTheDestinationsOfAStationAreLimited(t *testing.T) {
	t.Parallel()
	table := windows.NewTable()
	const now = 100 * secondNS
	var flows []windows.Flow
	for i := range 200 {
		idle := flow(phone1, netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 1, now-uint64(i)*1000)
		idle.SentNS = 0
		flows = append(flows, idle)
	}
	sending := flow(phone1, remote, 1, now-secondNS/2)
	table.Observe(now, 201, append(flows, sending))
	got := table.Destinations(phone1, now)
	if len(got) != windows.DestinationsMax || got[63].GetConnectionsSending() != 1 || got[62].GetAddress()[3] != 62 {
		t.Errorf("%d, %v", len(got), got)
	}
}
