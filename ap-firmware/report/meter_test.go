// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"math/rand/v2"
	"testing"

	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/report"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// sender is a station that sends 1536 bytes at 54 Mb/s at a time: 292.148 us by the estimate, 300 us by its driver.
type sender struct {
	packets          uint32
	nowUS, airtimeUS uint64
	stands           bool
}

const (
	estimateUS = 292_148 // of 1000 frames
	frameUS    = 300
)

// next is a second later, with so many frames more.
func (s *sender) next(t *testing.T, reporter *report.Reporter, frames uint32) *airboundv1.Station {
	t.Helper()
	s.packets += frames
	s.nowUS += 1_000_000
	if !s.stands {
		s.airtimeUS += frameUS * uint64(frames)
	}
	station := uplink(s.packets, 1536*uint64(s.packets), nl80211.Bitrate{Kbps: 54_000})
	station.RXAirtimeUS, station.TXAirtimeUS = new(s.airtimeUS), new(uint64(1))
	in := sample(station)
	in.MonotonicUS = s.nowUS
	return reporter.Next(in).GetStations()[0]
}

func TestADurationThatStandsStillIsNoMeasurement(t *testing.T) {
	t.Parallel()
	var reporter report.Reporter
	var s sender
	expect := func(what string, frames uint32, wantUS uint64, source airboundv1.AirtimeSource) {
		t.Helper()
		if got := s.next(t, &reporter, frames); got.GetRxAirtimeUs() != wantUS || got.GetAirtimeSource() != source {
			t.Errorf("%s: got %d us, %v, want %d us, %v", what,
				got.GetRxAirtimeUs(), got.GetAirtimeSource(), wantUS, source)
		}
	}
	expect("measured", 1000, 300_000, measured)
	s.stands = true
	expect("one second still", 1000, 300_000, measured)
	expect("two", 1000, 300_000, measured)
	expect("three: all of it at once", 1000, 300_000+3*estimateUS, estimated)
	expect("four", 1000, 300_000+4*estimateUS, estimated)
	s.stands = false
	// The driver has missed 4000 frames. Nothing decreases, and they stay in.
	expect("it counts again", 1, 300_000+4*estimateUS, measured)
	expect("and again", 1000, 300_000+4*estimateUS+1000*frameUS, measured)
}

func TestAirtimeIsEstimatedOnRequest(t *testing.T) {
	t.Parallel()
	reporter := report.Reporter{EstimateAirtime: true}
	var s sender
	if got := s.next(t, &reporter, 1000); got.GetRxAirtimeUs() != estimateUS || got.GetAirtimeSource() != estimated {
		t.Errorf("%v", got)
	}
}

func TestADriverThatAsksItsFirmwareSeldomMeasures(t *testing.T) {
	t.Parallel()
	var reporter report.Reporter
	var s sender
	s.next(t, &reporter, 1000)
	// It brings the whole of three seconds at once, after it was taken for one that stands still.
	s.stands = true
	for range 4 {
		s.next(t, &reporter, 1000)
	}
	s.stands = false
	s.airtimeUS += 4000 * frameUS
	if got := s.next(t, &reporter, 1000); got.GetRxAirtimeUs() != 6000*frameUS || got.GetAirtimeSource() != measured {
		t.Errorf("%v", got)
	}
}

func TestAStationThatSendsNothingStandsStillRightly(t *testing.T) {
	t.Parallel()
	var reporter report.Reporter
	var s sender
	s.next(t, &reporter, 1000)
	for range 100 {
		if got := s.next(t, &reporter, 0); got.GetRxAirtimeUs() != 300_000 || got.GetAirtimeSource() != measured {
			t.Fatalf("%v", got)
		}
	}
	s.stands = true
	for range 100 { // Beacons of power saving: 2 ms of airtime a second by the estimate are soon 50 ms.
		s.next(t, &reporter, 1)
	}
	if got := s.next(t, &reporter, 1); got.GetAirtimeSource() != measured {
		t.Errorf("30 ms of 101 frames: %v", got)
	}
	for range 110 {
		s.next(t, &reporter, 1)
	}
	if got := s.next(t, &reporter, 1); got.GetAirtimeSource() != estimated {
		t.Errorf("over 50 ms: %v", got)
	}
}

func TestAnotherAssociationBeginsAnew(t *testing.T) {
	t.Parallel()
	var reporter report.Reporter
	var s sender
	s.next(t, &reporter, 1000)
	s.stands = true
	for range 5 {
		s.next(t, &reporter, 1000)
	}
	s.packets, s.airtimeUS, s.stands = 0, 0, false
	if got := s.next(t, &reporter, 100); got.GetRxAirtimeUs() != 30_000 || got.GetAirtimeSource() != measured {
		t.Errorf("%v", got)
	}
}

// Whatever a driver does short of going back, what is reported does not decrease, and is no more than measurement and
// estimate together.
func TestAirtimeIsBounded(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var reporter report.Reporter
		s := sender{}
		frames := uint64(1000)
		before := s.next(t, &reporter, 1000).GetRxAirtimeUs() // From then on the driver is known to measure.
		for range 60 {
			more := uint32(random.IntN(2000))
			if random.IntN(5) == 0 {
				s.stands = !s.stands
			}
			frames += uint64(more)
			got := s.next(t, &reporter, more)
			airtimeUS := got.GetRxAirtimeUs()
			if airtimeUS < before || airtimeUS < s.airtimeUS || airtimeUS > s.airtimeUS+frames*frameUS {
				t.Fatalf("%d us after %d, driver %d, frames %d", airtimeUS, before, s.airtimeUS, frames)
			}
			before = airtimeUS
		}
	}
}
