// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/agent"
	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/nl80211/nl80211test"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// sendingWindows has connections with RTTs.
type sendingWindows struct{ fakeWindows }

func (f *sendingWindows) Destinations(mac.Address) []*airboundv1.StationDestination {
	return []*airboundv1.StationDestination{
		{ConnectionsSending: 3, SrttUs: 20_000, MinRttUs: 8_000},
		{ConnectionsSending: 1, SrttUs: 40_000, MinRttUs: 12_000},
		{ConnectionsSending: 9, SrttUs: 90_000},
		{SrttUs: 70_000, MinRttUs: 1_000},
	}
}

// counters are what a driver has of a station.
func counters(station mac.Address, rxBytes, txBytes, airtimeUS uint64) nl80211.Station {
	return nl80211.Station{
		MAC: station, Associated: true, Authorized: true, RXBytes: rxBytes, TXBytes: txBytes, RXAirtimeUS: &airtimeUS,
		TXAirtimeUS: new(uint64(1)), RXBitrate: nl80211.Bitrate{Kbps: 26_000},
	}
}

func (c *cell) stationsWith(stations ...nl80211.Station) {
	c.wireless.Set(nl80211test.Device{Interface: nl80211.Interface{
		Index: 3, Name: "wlan0", MAC: mac.Address{2}, Type: unix.NL80211_IFTYPE_AP, FrequencyMHz: 2437,
		CenterFrequencyMHz: 2437, WidthMHz: 20,
	}, Stations: stations})
}

// Who takes the air is written every 5 s, with what came and went since the time before.
func TestWhatStationsDoIsWrittenForTheStatus(t *testing.T) {
	t.Parallel()
	kernel := &sendingWindows{}
	c := newWindowsCell(t, agent.Windows{On: true, Kernel: kernel})
	c.stationsWith(counters(phone1, 1_000_000, 50_000, 100_000), counters(phone2, 1_000_000, 1_000_000, 100_000))
	c.agent.Connected(c.nowUS)
	c.pass(0)
	if got := c.saved.Devices; len(got) != 2 || got[0].UpKbps != 0 || got[0].AirPercent != 0 || got[0].Uploads {
		t.Errorf("of a station that has just come nothing is known: %+v", got)
	}
	c.windows(&airboundv1.SetWindows{
		Generation: 1, LeaseMs: 60_000, Reason: &airboundv1.Reason{Code: airboundv1.ReasonCode_REASON_CODE_UPLOADS},
		Limits: []*airboundv1.WindowLimit{
			{Mac: phone2[:], MaxBytes: 30_000}, {Mac: phone2[:], Address: []byte{192, 0, 2, 1}, MaxBytes: 40_000},
		},
	})
	// 5 s: 8 Mb/s up by phone2 in 3 s of airtime; 16 Mb/s down to phone1, whose ACKs are 0.4 Mb/s.
	c.stationsWith(counters(phone1, 1_250_000, 10_050_000, 600_000), counters(phone2, 6_000_000, 1_000_000, 3_100_000))
	c.pass(4900 * time.Millisecond)
	if got := c.saved.Devices; got[0].UpKbps != 0 {
		t.Errorf("before the time: %+v", got)
	}
	c.pass(400 * time.Millisecond)
	got := c.saved.Devices
	if len(got) != 2 || got[0].MAC != phone2.String() || got[1].MAC != phone1.String() {
		t.Fatalf("who takes the most air comes first: %+v", got)
	}
	first, second := got[0], got[1]
	if first.UpKbps < 7_000 || first.UpKbps > 8_100 || first.AirPercent < 55 || first.AirPercent > 60.1 ||
		!first.Uploads || first.UpPHYKbps != 26_000 || first.LimitBytes != 40_000 || first.SRTTUS != 25_000 ||
		first.MinRTTUS != 9_000 {
		t.Errorf("%+v", first)
	}
	if second.Uploads || second.DownKbps < 14_000 || second.LimitBytes != 0 {
		t.Errorf("ACKs are no upload: %+v", second)
	}
	// One that associates again counts from zero.
	c.stationsWith(counters(phone2, 10, 10, 10))
	c.pass(6 * time.Second)
	if got := c.saved.Devices; len(got) != 1 || got[0].UpKbps != 0 || got[0].AirPercent != 0 {
		t.Errorf("%+v", got)
	}
	c.windows(&airboundv1.SetWindows{Generation: 2, LeaseMs: 60_000})
	if got := c.saved.Devices; len(got) != 1 || got[0].LimitBytes != 0 {
		t.Errorf("%+v", got)
	}
}
