// SPDX-License-Identifier: Apache-2.0

package stationflows_test

import (
	"bytes"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/stationflows"
	"github.com/airbound/airbound/internal/lease"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const video = airboundv1.AccessCategory_ACCESS_CATEGORY_VIDEO

var (
	phone1 = mac.Address{2, 0, 0, 0, 1, 0}
	phone2 = mac.Address{2, 0, 0, 0, 2, 0}
	server = netip.MustParseAddr("198.51.100.7")
	remote = netip.MustParseAddr("2001:db8::7")
)

func flowOf(station mac.Address, address netip.Addr) *airboundv1.StationFlow {
	return &airboundv1.StationFlow{Mac: station[:], Address: address.AsSlice(), Category: video}
}

func setOf(generation uint64, flows ...*airboundv1.StationFlow) *airboundv1.SetStationFlows {
	return &airboundv1.SetStationFlows{Generation: generation, Flows: flows, LeaseMs: 5000}
}

func TestTheOrderOfTheFlowsMeansNothing(t *testing.T) {
	t.Parallel()
	var l stationflows.Lease
	one, other, third := flowOf(phone2, server), flowOf(phone1, remote), flowOf(phone1, server)
	for i, step := range []struct {
		set     *airboundv1.SetStationFlows
		want    lease.Outcome
		refusal string
	}{
		{setOf(3, one, other, third), lease.Replaced, ""},
		{setOf(3, third, other, one), lease.Prolonged, ""},
		{setOf(3, one), 0, "set_station_flows: generation 3 came before with other entries"},
	} {
		if got, err := l.Set(0, step.set); got != step.want || (err == nil) != (step.refusal == "") ||
			err != nil && err.Error() != step.refusal {
			t.Errorf("%d: %v, %v", i, got, err)
		}
	}
	want := []stationflows.Flow{
		{Station: phone1, Address: server}, {Station: phone1, Address: remote}, {Station: phone2, Address: server},
	}
	if got := l.InForce(); !reflect.DeepEqual(got.Entries, want) || got.DeadlineUS != 5_000_000 {
		t.Errorf("%+v", got)
	}
	if got, err := l.Set(0, &airboundv1.SetStationFlows{Generation: 4}); got != lease.Emptied || err != nil {
		t.Error(got, err)
	}
}

func TestMalformedSetsAreRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	good := flowOf(phone1, server)
	many := make([]*airboundv1.StationFlow, stationflows.FlowsMax+1)
	for i := range many {
		many[i] = flowOf(mac.Address{2, 1, 0, 0, byte(i >> 8), byte(i)}, server)
	}
	categories := func(category airboundv1.AccessCategory) *airboundv1.SetStationFlows {
		flow := flowOf(phone1, server)
		flow.Category = category
		return setOf(1, flow)
	}
	for want, set := range map[string]*airboundv1.SetStationFlows{
		"513 flows are more than 512":                      setOf(1, many...),
		"flows[1]: mac: 0 octets":                          setOf(1, good, &airboundv1.StationFlow{}),
		"flows[0]: mac: 7 octets":                          setOf(1, &airboundv1.StationFlow{Mac: make([]byte, 7)}),
		"flows[0]: mac: 00:00:00:00:00:00 is no station's": setOf(1, flowOf(mac.Address{}, server)),
		"mac: ff:ff:ff:ff:ff:ff is no station's": setOf(1,
			flowOf(mac.Address{255, 255, 255, 255, 255, 255}, server)),
		"address of 02:00:00:00:01:00: 0 octets are no IP": setOf(1, flowOf(phone1, netip.Addr{})),
		"::ffff:1.2.3.4 is one of IPv4, which has 4 octets": setOf(1,
			flowOf(phone1, netip.MustParseAddr("::ffff:1.2.3.4"))),
		"address of 02:00:00:00:01:00: it is unspecified": setOf(1, flowOf(phone1, netip.IPv6Unspecified())),
		"and address 198.51.100.7 are there twice":        setOf(1, good, good),
		"02:00:00:00:01:00 and 198.51.100.7: ACCESS_CATEGORY_VOICE is not ACCESS_CATEGORY_VIDEO": categories(
			airboundv1.AccessCategory_ACCESS_CATEGORY_VOICE),
		"ACCESS_CATEGORY_UNSPECIFIED is not": categories(0),
		"lease_ms 999 is not within 1000 to 60000": {
			Generation: 1, Flows: []*airboundv1.StationFlow{good}, LeaseMs: 999,
		},
		"flows[0]: mac: 0 octets: not a MAC": setOf(1, nil),
	} {
		var l stationflows.Lease
		if _, err := l.Set(0, setOf(1, flowOf(phone2, remote))); err != nil {
			t.Fatal(err)
		}
		set.Generation = 2
		if _, err := l.Set(1, set); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "set_station_flows: ") {
			t.Errorf("no %q: %v", want, err)
		}
		if l.InForce().Generation != 1 {
			t.Errorf("%q: %+v", want, l.InForce())
		}
	}
	var l stationflows.Lease
	if _, err := l.Set(0, setOf(1, many[1:]...)); err != nil {
		t.Error(err)
	}
}

func FuzzSets(f *testing.F) {
	f.Add(uint64(1), phone1[:], []byte{1, 2, 3, 4}, int32(3), uint32(5000))
	f.Add(uint64(9), phone1[:], []byte{}, int32(0), uint32(60_000))
	f.Fuzz(func(t *testing.T, generation uint64, station, address []byte, category int32, leaseMS uint32) {
		var l stationflows.Lease
		flow := &airboundv1.StationFlow{
			Mac: station, Address: address, Category: airboundv1.AccessCategory(category),
		}
		_, err := l.Set(0, &airboundv1.SetStationFlows{
			Generation: generation, Flows: []*airboundv1.StationFlow{flow, flowOf(phone2, server)}, LeaseMs: leaseMS,
		})
		inForce := l.InForce()
		if (err == nil) != (inForce.Generation != 0) {
			t.Fatalf("%v, %+v", err, inForce)
		}
		if err != nil {
			return
		}
		found := 0
		for _, got := range inForce.Entries {
			if bytes.Equal(got.Station[:], station) && bytes.Equal(got.Address.AsSlice(), address) {
				found++
			}
		}
		if found != 1 || len(inForce.Entries) != 2 || flow.GetCategory() != video || inForce.DeadlineUS < 1_000_000 {
			t.Errorf("%+v", inForce)
		}
	})
}
