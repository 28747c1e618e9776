// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/report"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

func TestTheLinksOfAMultiLinkDevice(t *testing.T) {
	t.Parallel()
	low := nl80211.Link{ID: 0, MAC: mac.Address{2, 5: 0x10}, Channel: nl80211.Channel{
		FrequencyMHz: 5180, CenterFrequencyMHz: 5210, SecondCenterFrequencyMHz: 5530, WidthMHz: 160,
	}}
	high := nl80211.Link{ID: 2, MAC: mac.Address{2, 5: 0x12}, Channel: nl80211.Channel{
		FrequencyMHz: 5975, CenterFrequencyMHz: 6105, WidthMHz: 320,
	}}
	survey := nl80211.Survey{ActiveMS: new(uint64(1000)), BusyMS: 400}
	in := report.Sample{Kernel: nl80211.Snapshot{
		Interface:   nl80211.Interface{Name: "wlan0", MAC: mac.Address{2}, Links: []nl80211.Link{low, high}},
		LinkSurveys: []*nl80211.Survey{&survey, {ActiveMS: new(uint64(10)), BusyMS: 11}},
		Stations: []nl80211.Station{{
			MAC: phone1, Associated: true, Authorized: true, MultiLink: true,
			Links: []nl80211.StationLink{
				{ID: 0}, {ID: 2, MAC: mac.Address{2, 5: 0x22}, Info: &nl80211.Station{
					RXBytes: 1, TXBytes: 2, SignalDBM: new(int8(-50)), RXBitrate: nl80211.Bitrate{Kbps: 100},
					TXBitrate: nl80211.Bitrate{Kbps: 200},
				}},
			},
		}},
	}}
	channels := []*airboundv1.Channel{
		{
			CenterFrequencyMhz: 5210, SecondCenterFrequencyMhz: 5530, WidthMhz: 160, PrimaryFrequencyMhz: 5180,
			Band: airboundv1.Band_BAND_5_GHZ,
		},
		{
			CenterFrequencyMhz: 6105, WidthMhz: 320, PrimaryFrequencyMhz: 5975, Band: airboundv1.Band_BAND_6_GHZ,
		},
	}
	want := []*airboundv1.Link{
		{
			LinkId: 0, Bssid: []byte{2, 0, 0, 0, 0, 0x10}, Channel: channels[0],
			Survey: &airboundv1.ChannelSurvey{ActiveUs: 1_000_000, BusyUs: 400_000},
		},
		{LinkId: 2, Bssid: []byte{2, 0, 0, 0, 0, 0x12}, Channel: channels[1]},
	}
	var reporter report.Reporter
	got := reporter.Next(in)
	for i := range want {
		if !proto.Equal(got.GetLinks()[i], want[i]) {
			t.Errorf("link %d: %v", i, got.GetLinks()[i])
		}
	}
	// No one channel is the device's.
	if got.GetChannel() != nil || got.GetSurvey() != nil || got.GetSurveysRefusedTotal() != 1 ||
		got.GetSurveyRefusal() == "" {
		t.Errorf("%v", got)
	}
	if station := got.GetStations()[0]; !station.GetMultiLink() || station.GetLinks() != 0b101 {
		t.Errorf("%v", station)
	}
	// With one link, there is no doubt.
	in.Kernel.Interface.Links, in.Kernel.LinkSurveys = in.Kernel.Interface.Links[:1], in.Kernel.LinkSurveys[:1]
	got = reporter.Next(in)
	if !proto.Equal(got.GetChannel(), channels[0]) || got.GetSurvey().GetBusyUs() != 400_000 {
		t.Errorf("%v", got)
	}
}
