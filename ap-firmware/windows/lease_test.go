// SPDX-License-Identifier: Apache-2.0

package windows_test

import (
	"bytes"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/windows"
	"github.com/airbound/airbound/internal/lease"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

var (
	phone1 = mac.Address{2, 0, 0, 0, 1, 0}
	phone2 = mac.Address{2, 0, 0, 0, 2, 0}
	server = netip.MustParseAddr("198.51.100.7")
	remote = netip.MustParseAddr("2001:db8::7")
)

func limitOf(station mac.Address, address netip.Addr, maxBytes uint32) *airboundv1.WindowLimit {
	return &airboundv1.WindowLimit{Mac: station[:], Address: address.AsSlice(), MaxBytes: maxBytes}
}

func setOf(generation uint64, limits ...*airboundv1.WindowLimit) *airboundv1.SetWindows {
	return &airboundv1.SetWindows{Generation: generation, Limits: limits, LeaseMs: 5000}
}

func TestTheOrderOfTheLimitsMeansNothing(t *testing.T) {
	t.Parallel()
	var l windows.Lease
	one, other := limitOf(phone2, server, 5000), limitOf(phone1, netip.Addr{}, 6000)
	for i, step := range []struct {
		set     *airboundv1.SetWindows
		want    lease.Outcome
		refusal string
	}{
		{setOf(3, one, other), lease.Replaced, ""},
		{setOf(3, other, one), lease.Prolonged, ""},
		{setOf(3, one), 0, "set_windows: generation 3 came before with other entries"},
	} {
		if got, err := l.Set(0, step.set); got != step.want || (err == nil) != (step.refusal == "") ||
			err != nil && err.Error() != step.refusal {
			t.Errorf("%d: %v, %v", i, got, err)
		}
	}
	want := []windows.Limit{
		{Station: phone1, MaxBytes: 6000}, {Station: phone2, Address: server, MaxBytes: 5000},
	}
	if got := l.InForce(); !reflect.DeepEqual(got.Entries, want) || got.DeadlineUS != 5_000_000 {
		t.Errorf("%+v", got)
	}
	if got, err := l.Set(0, &airboundv1.SetWindows{Generation: 4}); got != lease.Emptied || err != nil {
		t.Error(got, err)
	}
}

func TestMalformedSetsAreRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	good := limitOf(phone1, server, 5000)
	many := make([]*airboundv1.WindowLimit, windows.LimitsMax+1)
	for i := range many {
		many[i] = limitOf(mac.Address{2, 1, 0, 0, byte(i >> 8), byte(i)}, server, 1)
	}
	for want, set := range map[string]*airboundv1.SetWindows{
		"1025 limits are more than 1024":                    setOf(1, many...),
		"limits[1]: mac: 0 octets":                          setOf(1, good, &airboundv1.WindowLimit{MaxBytes: 1}),
		"limits[0]: mac: 7 octets":                          setOf(1, &airboundv1.WindowLimit{Mac: make([]byte, 7)}),
		"limits[0]: mac: 00:00:00:00:00:00 is no station's": setOf(1, limitOf(mac.Address{}, server, 1)),
		"mac: ff:ff:ff:ff:ff:ff is no station's": setOf(1,
			limitOf(mac.Address{255, 255, 255, 255, 255, 255}, server, 1)),
		"address of 02:00:00:00:01:00: 5 octets": setOf(1,
			&airboundv1.WindowLimit{Mac: phone1[:], Address: make([]byte, 5), MaxBytes: 1}),
		"::ffff:1.2.3.4 is one of IPv4":            setOf(1, limitOf(phone1, netip.MustParseAddr("::ffff:1.2.3.4"), 1)),
		"it is unspecified":                        setOf(1, limitOf(phone1, netip.MustParseAddr("0.0.0.0"), 1)),
		"max_bytes of 02:00:00:00:01:00 is 0":      setOf(1, limitOf(phone1, server, 0)),
		"and address 198.51.100.7 are there twice": setOf(1, good, limitOf(phone1, server, 7)),
		"and address any are there twice": setOf(1,
			limitOf(phone1, netip.Addr{}, 1), limitOf(phone1, netip.Addr{}, 1)),
		"lease_ms 999 is not within 1000 to 60000": {
			Generation: 1, Limits: []*airboundv1.WindowLimit{good}, LeaseMs: 999,
		},
		"lease_ms 60001": {
			Generation: 1, Limits: []*airboundv1.WindowLimit{good}, LeaseMs: 60_001,
		},
		"limits[0]: mac: 0 octets: not a MAC": setOf(1, nil),
	} {
		var l windows.Lease
		if _, err := l.Set(0, setOf(1, limitOf(phone2, remote, 9))); err != nil {
			t.Fatal(err)
		}
		set.Generation = 2
		if _, err := l.Set(1, set); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "set_windows: ") {
			t.Errorf("no %q: %v", want, err)
		}
		if l.InForce().Generation != 1 {
			t.Errorf("%q: %+v", want, l.InForce())
		}
	}
	var l windows.Lease
	if _, err := l.Set(0, setOf(1, many[1:]...)); err != nil {
		t.Error(err)
	}
}

func FuzzSets(f *testing.F) {
	f.Add(uint64(1), phone1[:], []byte{1, 2, 3, 4}, uint32(5000), uint32(5000))
	f.Add(uint64(9), phone1[:], []byte{}, uint32(1), uint32(60_000))
	f.Fuzz(func(t *testing.T, generation uint64, station, address []byte, maxBytes, leaseMS uint32) {
		var l windows.Lease
		limit := &airboundv1.WindowLimit{Mac: station, Address: address, MaxBytes: maxBytes}
		set := &airboundv1.SetWindows{
			Generation: generation, Limits: []*airboundv1.WindowLimit{limit}, LeaseMs: leaseMS,
		}
		_, err := l.Set(0, set)
		inForce := l.InForce()
		if (err == nil) != (inForce.Generation != 0) {
			t.Fatalf("%v, %+v", err, inForce)
		}
		if err != nil {
			return
		}
		got := inForce.Entries[0]
		if !bytes.Equal(got.Station[:], station) || got.MaxBytes == 0 || inForce.DeadlineUS < 1_000_000 {
			t.Errorf("%+v", inForce)
		}
	})
}
