// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"math/rand/v2"
	"testing"

	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/report"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// uplink is a station of a driver that measures no airtime.
func uplink(packets uint32, bytes uint64, rate nl80211.Bitrate) nl80211.Station {
	return nl80211.Station{
		MAC: phone1, Associated: true, Authorized: true, RXPackets: packets, RXBytes: bytes, RXBitrate: rate,
	}
}

func only(t *testing.T, reporter *report.Reporter, station nl80211.Station) *airboundv1.Station {
	t.Helper()
	stations := reporter.Next(sample(station)).GetStations()
	if len(stations) != 1 {
		t.Fatalf("got %v, want one station", stations)
	}
	return stations[0]
}

func TestEstimateOfOneFrame(t *testing.T) {
	tests := map[string]struct {
		bytes uint64
		rate  nl80211.Bitrate
		// wantUS is worked out by hand: preamble + 8 * (bytes + 4) / rate + SIFS and ACK.
		wantUS uint64
	}{
		"OFDM at 54":          {1536, nl80211.Bitrate{Kbps: 54_000}, 20 + 228 + 44},
		"OFDM at 6":           {1536, nl80211.Bitrate{Kbps: 6_000}, 20 + 2053 + 60},
		"OFDM at 9, short":    {104, nl80211.Bitrate{Kbps: 9_000}, 20 + 96 + 60},
		"CCK at 11":           {1536, nl80211.Bitrate{Kbps: 11_000}, 192 + 1120 + 258},
		"CCK at 5.5":          {1536, nl80211.Bitrate{Kbps: 5_500}, 192 + 2240 + 258},
		"DSSS at 2":           {100, nl80211.Bitrate{Kbps: 2_000}, 192 + 416 + 258},
		"OFDM at 2.2":         {100, nl80211.Bitrate{Kbps: 2_200}, 20 + 378 + 60}, // of a channel of 5 MHz
		"counters gone wrong": {1 << 63, nl80211.Bitrate{Kbps: 1}, 1e15},
		"DSSS at 1":           {100, nl80211.Bitrate{Kbps: 1_000}, 192 + 832 + 314},
		"OFDM at 12":          {104, nl80211.Bitrate{Kbps: 12_000}, 20 + 72 + 48},
		"OFDM at 18":          {104, nl80211.Bitrate{Kbps: 18_000}, 20 + 48 + 48},
		"OFDM at 24":          {104, nl80211.Bitrate{Kbps: 24_000}, 20 + 36 + 44},
		"aggregates at 433":   {1536, nl80211.Bitrate{Kbps: 433_300, Format: nl80211.FormatVHT}, 28},
		"an MCS rate at 5.5":  {1536, nl80211.Bitrate{Kbps: 5_500, Format: nl80211.FormatHT}, 2240},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var reporter report.Reporter
			got := only(t, &reporter, uplink(1, test.bytes, test.rate))
			if got.GetRxAirtimeUs() != test.wantUS || got.GetAirtimeSource() != estimated {
				t.Fatalf(
					"got %d us, %v, want %d us, estimated",
					got.GetRxAirtimeUs(),
					got.GetAirtimeSource(),
					test.wantUS,
				)
			}
		})
	}
}

func TestRetriesTakeAirtime(t *testing.T) {
	var reporter report.Reporter
	got := only(t, &reporter, nl80211.Station{
		MAC: phone1, Associated: true, Authorized: true, TXPackets: 10, TXRetries: 5, TXBytes: 10 * 1346,
		TXBitrate: nl80211.Bitrate{Kbps: 54_000},
	})
	if got.GetTxAirtimeUs() != 15*(20+200)+10*44 { // 8 * (1346 + 4) bits at 54 Mb/s are 200 us.
		t.Fatalf("got %d us, want those of 15 frames and 10 ACKs", got.GetTxAirtimeUs())
	}
}

// A counter that decreased belongs to a new association, whatever the others did.
func TestEachCounterThatWentBackBeginsAnew(t *testing.T) {
	downlink := func(packets, retries uint32, bytes uint64) nl80211.Station {
		return nl80211.Station{
			MAC: phone1, Associated: true, Authorized: true, TXPackets: packets, TXRetries: retries, TXBytes: bytes,
			TXBitrate: nl80211.Bitrate{Kbps: 54_000},
		}
	}
	const beforeUS = 15*220 + 10*44
	for name, test := range map[string]struct {
		now    nl80211.Station
		wantUS uint64
	}{
		"none moved":   {downlink(10, 5, 10*1346), beforeUS},
		"all moved":    {downlink(20, 8, 20*1346), beforeUS + 13*220 + 10*44},
		"packets back": {downlink(5, 5, 10*1346), 10*20 + 3994 + 5*44}, // 8 * 10 * (2692 + 4) bits
		"retries back": {downlink(10, 4, 10*1346), 14*220 + 10*44},
		"bytes back":   {downlink(10, 5, 10*671), 15*(20+100) + 10*44},
	} {
		var reporter report.Reporter
		if got := only(t, &reporter, downlink(10, 5, 10*1346)).GetTxAirtimeUs(); got != beforeUS {
			t.Errorf("%s: %d us before", name, got)
		}
		if got := only(t, &reporter, test.now).GetTxAirtimeUs(); got != test.wantUS {
			t.Errorf("%s: got %d us, want %d", name, got, test.wantUS)
		}
	}
}

func TestEstimateFollowsTheRate(t *testing.T) {
	var reporter report.Reporter
	fast, slow := nl80211.Bitrate{Kbps: 54_000}, nl80211.Bitrate{Kbps: 6_000}
	steps := []struct {
		station nl80211.Station
		wantUS  uint64
	}{
		{uplink(1, 1346, fast), 264},
		{uplink(2, 2*1346, slow), 264 + 20 + 1800 + 60},
		{uplink(2, 2*1346, fast), 2144},                                       // Nothing moved.
		{uplink(3, 3*1346, nl80211.Bitrate{}), 2144},                          // No rate yet: accounted for below.
		{uplink(4, 4*1346, fast), 2144 + 2*264},                               //
		{uplink(1, 1346, fast), 264},                                          // A new association.
		{nl80211.Station{MAC: phone2, Associated: true, Authorized: true}, 0}, // phone1 is forgotten.
		{uplink(2, 2*1346, fast), 528},
	}
	for i, step := range steps {
		if got := only(t, &reporter, step.station).GetRxAirtimeUs(); got != step.wantUS {
			t.Fatalf("step %d: got %d us, want %d", i, got, step.wantUS)
		}
	}
}

func TestOneRateServesBothDirections(t *testing.T) {
	var reporter report.Reporter
	station := uplink(1, 1346, nl80211.Bitrate{})
	station.TXBitrate = nl80211.Bitrate{Kbps: 54_000}
	if got := only(t, &reporter, station).GetRxAirtimeUs(); got != 264 {
		t.Fatalf("got %d us, want 264", got)
	}
	station = nl80211.Station{MAC: phone2, Associated: true, Authorized: true, TXPackets: 1, TXBytes: 1346}
	station.RXBitrate = nl80211.Bitrate{Kbps: 54_000}
	if got := only(t, &reporter, station).GetTxAirtimeUs(); got != 264 {
		t.Fatalf("downlink: got %d us, want 264", got)
	}
}

func TestMeasuredAirtimeIsTaken(t *testing.T) {
	fast := nl80211.Bitrate{Kbps: 54_000}
	with := func(rxUS, txUS *uint64) nl80211.Station {
		station := uplink(1, 1346, fast)
		station.TXPackets, station.TXBytes = 2, 2*1346
		station.RXAirtimeUS, station.TXAirtimeUS = rxUS, txUS
		return station
	}
	zero, some, more := new(uint64(0)), new(uint64(333)), new(uint64(555))
	tests := map[string]struct {
		station        nl80211.Station
		wantUS, wantTX uint64
		source         airboundv1.AirtimeSource
	}{
		"both":                             {with(some, more), 333, 555, measured},
		"the driver does not measure":      {with(zero, zero), 264, 528, estimated},
		"the driver does not report":       {with(nil, nil), 264, 528, estimated},
		"the driver reports uplink only":   {with(some, nil), 333, 528, estimated},
		"the driver reports downlink only": {with(nil, more), 264, 555, estimated},
		"the driver measures uplink only":  {with(some, zero), 333, 528, estimated},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var reporter report.Reporter
			got := only(t, &reporter, test.station)
			if got.GetRxAirtimeUs() != test.wantUS || got.GetTxAirtimeUs() != test.wantTX ||
				got.GetAirtimeSource() != test.source {
				t.Fatalf("got %v, want %d us, %d us, %v", got, test.wantUS, test.wantTX, test.source)
			}
		})
	}
}

func TestADriverThatMeasuredOnceMeasuresAlways(t *testing.T) {
	var reporter report.Reporter
	busy := uplink(9, 9000, nl80211.Bitrate{Kbps: 54_000})
	idle := nl80211.Station{MAC: phone2, Associated: true, Authorized: true}
	busy.RXAirtimeUS, busy.TXAirtimeUS = new(uint64(1)), new(uint64(1))
	idle.RXAirtimeUS, idle.TXAirtimeUS = new(uint64(0)), new(uint64(0))
	reporter.Next(sample(busy))
	if got := only(t, &reporter, idle); got.GetAirtimeSource() != measured {
		t.Fatalf("a station that has sent nothing is %v, want measured", got.GetAirtimeSource())
	}
}

// Whatever the counters do, an estimate never decreases while they grow, and is within what the slowest and the fastest
// rate would take.
func TestEstimateOnlyGrows(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var reporter report.Reporter
		var packets, retries uint32
		var bytes, last uint64
		for range 50 {
			moved := random.Uint32N(1000)
			packets += moved
			retries += random.Uint32N(moved + 1)
			bytes += uint64(moved) * random.Uint64N(2000)
			const slowestKbps, fastestKbps = 1000, 1_000_000
			rate := nl80211.Bitrate{
				Kbps: slowestKbps + random.Uint32N(fastestKbps-slowestKbps), Format: nl80211.Format(random.IntN(2)),
			}
			got := only(t, &reporter, nl80211.Station{
				MAC: phone1, Associated: true, Authorized: true,
				TXPackets: packets, TXRetries: retries, TXBytes: bytes, TXBitrate: rate,
			}).GetTxAirtimeUs()
			if got < last {
				t.Fatalf("airtime went back from %d to %d us", last, got)
			}
			// At 1 Mb/s a bit takes 1 us, at 1 Gb/s 1/1000. A packet is retried once at most here. Each step truncates
			// 1 us.
			highest := uint64(packets+retries)*(192+8*4) + uint64(packets)*314 + 2*8*bytes
			if lowest := 8 * bytes / 1000; got > highest || got+50 < lowest {
				t.Fatalf("airtime of %d packets, %d retries, %d bytes is %d us, want %d to %d",
					packets, retries, bytes, got, lowest, highest)
			}
			last = got
		}
	}
}

func FuzzEstimate(f *testing.F) {
	f.Add(uint32(1), uint64(1500), uint32(54_000), uint32(2), uint64(3000), uint32(0))
	f.Add(uint32(0), uint64(1<<63), uint32(1), uint32(1<<31), uint64(1<<64-1), uint32(1<<32-1))
	f.Fuzz(func(t *testing.T, packets1 uint32, bytes1 uint64, kbps1, packets2 uint32, bytes2 uint64, kbps2 uint32) {
		const mostUS = 1e15 // of one report
		var reporter report.Reporter
		var last uint64
		for i, station := range []nl80211.Station{
			uplink(packets1, bytes1, nl80211.Bitrate{Kbps: kbps1}),
			uplink(packets2, bytes2, nl80211.Bitrate{Kbps: kbps2}),
		} {
			got := only(t, &reporter, station).GetRxAirtimeUs()
			if got > uint64(i+1)*mostUS {
				t.Fatalf("airtime of %+v is %d us", station, got)
			}
			if grows := packets2 >= packets1 && bytes2 >= bytes1; grows && got < last {
				t.Fatalf("airtime went back from %d to %d us", last, got)
			}
			last = got
		}
	})
}

// A driver that measures others, and has 0 for a station whose bytes flow, does not measure that one.
func TestADurationOf0BesideMeasuredOnesIsNoMeasurement(t *testing.T) {
	var reporter report.Reporter
	other := nl80211.Station{
		MAC: phone2, Associated: true, Authorized: true, RXAirtimeUS: new(uint64(9)), TXAirtimeUS: new(uint64(9)),
	}
	next := func(packets uint32, measuredUS uint64) *airboundv1.Station {
		station := uplink(packets, uint64(packets)*1346, nl80211.Bitrate{Kbps: 54_000}) // 264 us for each
		station.RXAirtimeUS, station.TXAirtimeUS = &measuredUS, new(uint64(0))
		return reporter.Next(sample(station, other)).GetStations()[0]
	}
	for _, step := range []struct {
		packets    uint32
		measuredUS uint64
		wantUS     uint64
		want       airboundv1.AirtimeSource
	}{
		{189, 0, 0, measured},          // 49 896 us: too little to tell
		{190, 0, 190 * 264, estimated}, // 50 160 us
		{1000, 0, 1000 * 264, estimated},
		{1001, 400, 1000 * 264, measured}, // It measures after all. What it has missed stays in.
		{1002, 600, 1000*264 + 200, measured},
	} {
		got := next(step.packets, step.measuredUS)
		if got.GetRxAirtimeUs() != step.wantUS || got.GetAirtimeSource() != step.want || got.GetTxAirtimeUs() > 0 {
			t.Errorf("%d packets: %v, want %d us, %v", step.packets, got, step.wantUS, step.want)
		}
	}
}
