// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/neighbours"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/report"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const (
	measured  = airboundv1.AirtimeSource_AIRTIME_SOURCE_MEASURED
	estimated = airboundv1.AirtimeSource_AIRTIME_SOURCE_ESTIMATED
)

var (
	phone1 = mac.Address{2, 0, 0, 0, 1, 0}
	phone2 = mac.Address{2, 0, 0, 0, 2, 0}
)

func sample(stations ...nl80211.Station) report.Sample {
	return report.Sample{Kernel: nl80211.Snapshot{Stations: stations}}
}

func TestEveryFieldArrives(t *testing.T) {
	in := report.Sample{
		MonotonicUS: 81_234_567,
		Kernel: nl80211.Snapshot{
			Interface: nl80211.Interface{
				Index: 3, Name: "wlan0", MAC: mac.Address{2}, SSID: []byte{0xff, 'a'}, Type: unix.NL80211_IFTYPE_AP,
				FrequencyMHz: 5180, CenterFrequencyMHz: 5210, WidthMHz: 80,
			},
			Survey: &nl80211.Survey{
				FrequencyMHz: 5180, InUse: true, ActiveMS: new(uint64(10_000)), BusyMS: 6000, RXMS: 3000, TXMS: 2000,
			},
			Stations: []nl80211.Station{{
				MAC: phone1, Associated: true, Authorized: true,
				SignalDBM: new(int8(-61)), RXBytes: 1 << 40, TXBytes: 7, RXPackets: 11,
				TXPackets: 12, TXRetries: 13, TXFailed: 14, RXBitrate: nl80211.Bitrate{Kbps: 54_000},
				TXBitrate:   nl80211.Bitrate{Kbps: 433_300, Format: nl80211.FormatVHT},
				RXAirtimeUS: new(uint64(5_000_000)), TXAirtimeUS: new(uint64(600)), ConnectedSeconds: 90,
				VLAN: "wlan0.20", FourAddress: true, CountsTIDs: true, RXVideo: 8, RXVoice: 1 << 33,
			}},
		},
		Addresses: neighbours.Table{
			phone1: {netip.MustParseAddr("10.0.0.11"), netip.MustParseAddr("fe80::11")},
			phone2: {netip.MustParseAddr("10.0.0.12")},
		},
		Trigger:              airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_STATION_JOINED,
		MalformedInputsTotal: 5,
	}
	want := &airboundv1.AccessPointReport{
		Bssid:       []byte{2, 0, 0, 0, 0, 0},
		Ssid:        []byte{0xff, 'a'},
		Interface:   "wlan0",
		Sequence:    1,
		MonotonicUs: 81_234_567,
		Channel: &airboundv1.Channel{
			CenterFrequencyMhz: 5210, WidthMhz: 80, PrimaryFrequencyMhz: 5180, Band: airboundv1.Band_BAND_5_GHZ,
		},
		Survey: &airboundv1.ChannelSurvey{
			ActiveUs: 10_000_000,
			BusyUs:   6_000_000,
			RxUs:     3_000_000,
			TxUs:     2_000_000,
		},
		Stations: []*airboundv1.Station{
			{
				Mac: []byte{
					2,
					0,
					0,
					0,
					1,
					0,
				},
				SignalDbm:       new(int32(-61)),
				RxBytes:         1 << 40,
				TxBytes:         7,
				RxPackets:       11,
				TxPackets:       12,
				TxRetries:       13,
				TxFailed:        14,
				RxBitrateKbps:   54_000,
				TxBitrateKbps:   433_300,
				RxAirtimeUs:     5_000_000,
				TxAirtimeUs:     600,
				AirtimeSource:   measured,
				ConnectedTimeMs: 90_000,
				Aggregates:      true,
				RxRateFormat:    airboundv1.RateFormat_RATE_FORMAT_LEGACY,
				TxRateFormat:    airboundv1.RateFormat_RATE_FORMAT_VHT,
				VlanInterface:   "wlan0.20",
				FourAddress:     true,
				IpAddresses:     [][]byte{{10, 0, 0, 11}, netip.MustParseAddr("fe80::11").AsSlice()},

				CountsCategories: true, RxVideoPackets: 8, RxVoicePackets: 1 << 33,
			},
		},
		Trigger:              airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_STATION_JOINED,
		MalformedInputsTotal: 5,
		AgentVersion:         "1.2.3",
	}
	reporter := report.Reporter{AgentVersion: "1.2.3"}
	if got := reporter.Next(in); !proto.Equal(got, want) {
		t.Fatalf("got  %v\nwant %v", got, want)
	}
	if got := reporter.Next(in).GetSequence(); got != 2 {
		t.Fatalf("sequence of the second report is %d, want 2", got)
	}
}

func TestWhatTheDriverDoesNotReportIsAbsent(t *testing.T) {
	var reporter report.Reporter
	got := reporter.Next(sample(nl80211.Station{MAC: phone1, Associated: true, Authorized: true}))
	if got.GetSurvey() != nil || got.GetStations()[0].SignalDbm != nil {
		t.Fatalf("got %v, want neither a survey nor a signal", got)
	}
	in := sample()
	in.Kernel.Survey = &nl80211.Survey{FrequencyMHz: 2437, InUse: true}
	if got := reporter.Next(in); got.GetSurvey() != nil {
		t.Fatalf("got survey %v of a driver that does not measure", got.GetSurvey())
	}
}

func TestWhoIsAssociated(t *testing.T) {
	withoutKeys := mac.Address{2, 0, 0, 0, 3, 0}
	stations := []nl80211.Station{
		{MAC: phone1, Associated: true, Authorized: true}, {MAC: phone2}, {MAC: withoutKeys, Associated: true},
	}
	tests := map[string]struct {
		isAuthorized func(*nl80211.Station) bool
		want         []mac.Address
	}{
		"the kernel alone":     {nil, []mac.Address{phone1}},
		"hostapd has everyone": {func(*nl80211.Station) bool { return true }, []mac.Address{phone1, withoutKeys}},
		"hostapd has another":  {func(station *nl80211.Station) bool { return station.MAC == phone2 }, nil},
		"hostapd was first":    {func(*nl80211.Station) bool { return false }, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var reporter report.Reporter
			in := sample(stations...)
			in.IsAuthorized = test.isAuthorized
			got := reporter.Next(in).GetStations()
			var macs []mac.Address
			for _, station := range got {
				macs = append(macs, mac.Address(station.GetMac()))
			}
			if !slices.Equal(macs, test.want) {
				t.Fatalf("got %v, want %v", macs, test.want)
			}
		})
	}
}

func TestAStationAggregatesIfEitherOfItsRatesIsOf80211nOrLater(t *testing.T) {
	later := nl80211.Bitrate{Kbps: 65_000, Format: nl80211.FormatHT}
	for name, test := range map[string]struct {
		rx, tx nl80211.Bitrate
		want   bool
	}{
		"neither":  {nl80211.Bitrate{Kbps: 54_000}, nl80211.Bitrate{}, false},
		"uplink":   {later, nl80211.Bitrate{Kbps: 6_000}, true},
		"downlink": {nl80211.Bitrate{Kbps: 6_000}, later, true},
		"no rate":  {nl80211.Bitrate{}, nl80211.Bitrate{}, false},
	} {
		var reporter report.Reporter
		station := nl80211.Station{
			MAC: phone1, Associated: true, Authorized: true, RXBitrate: test.rx, TXBitrate: test.tx,
		}
		if got := reporter.Next(sample(station)).GetStations()[0]; got.GetAggregates() != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestWithoutRatesWMMDecidesWhetherAStationAggregates(t *testing.T) {
	for name, test := range map[string]struct {
		rx   nl80211.Bitrate
		wmm  bool
		want bool
	}{
		"with WMM":            {nl80211.Bitrate{}, true, true},
		"without WMM":         {nl80211.Bitrate{}, false, false},
		"with WMM and a rate": {nl80211.Bitrate{Kbps: 54_000}, true, false},
	} {
		var reporter report.Reporter
		station := nl80211.Station{MAC: phone1, Associated: true, Authorized: true, WMM: test.wmm, RXBitrate: test.rx}
		if got := reporter.Next(sample(station)).GetStations()[0]; got.GetAggregates() != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
