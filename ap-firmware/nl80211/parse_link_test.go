// SPDX-License-Identifier: Apache-2.0

package nl80211_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/nl80211/nl80211test"
)

// multiLink is an access point with three links.
func multiLink() nl80211.Interface {
	return nl80211.Interface{
		Index: 3, Name: "wlan0", MAC: mac.Address{2}, SSID: []byte("airbound"), Type: unix.NL80211_IFTYPE_AP,
		Links: []nl80211.Link{
			{ID: 0, MAC: mac.Address{2, 5: 0x10}, Channel: nl80211.Channel{
				FrequencyMHz: 2437, CenterFrequencyMHz: 2437, WidthMHz: 20,
			}},
			{ID: 1, MAC: mac.Address{2, 5: 0x11}, Channel: nl80211.Channel{
				FrequencyMHz: 5180, CenterFrequencyMHz: 5210, SecondCenterFrequencyMHz: 5530, WidthMHz: 160,
			}},
			{ID: 2, MAC: mac.Address{2, 5: 0x12}, Channel: nl80211.Channel{
				FrequencyMHz: 5975, CenterFrequencyMHz: 6105, WidthMHz: 320,
			}},
		},
	}
}

func TestTheLinksOfAnAccessPoint(t *testing.T) {
	t.Parallel()
	got, err := nl80211.ParseInterface(golden(t, "interface-multi-link.bin"))
	if err != nil || !reflect.DeepEqual(got, multiLink()) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestTheLinksOfAStation(t *testing.T) {
	t.Parallel()
	got, err := nl80211.ParseStation(golden(t, "station-multi-link.bin"))
	if err != nil || got.MAC != phone1 || !got.MultiLink || len(got.Links) != 2 || !got.Authorized || !got.WMM {
		t.Fatalf("got %+v, %v", got, err)
	}
	first, second := got.Links[0], got.Links[1]
	if first.ID != 1 || first.MAC != (mac.Address{2, 4: 1, 5: 0x11}) || first.Info.RXBytes != 5_000_000_000 ||
		second.ID != 2 || second.Info.TXBytes != 2000 || *second.Info.SignalDBM != -60 {
		t.Errorf("%+v, %+v", first, second)
	}
	// The kernel counts each link; the station's are the sums, and what belongs to one is the busier one's.
	if got.RXBytes != 5_000_001_000 || got.TXBytes != 2007 || got.RXPackets != 3005 || got.TXPackets != 10 ||
		got.TXRetries != 2 || *got.RXAirtimeUS != 900_100 || *got.TXAirtimeUS != 270 || got.ConnectedSeconds != 9 ||
		*got.SignalDBM != -55 || got.RXBitrate != (nl80211.Bitrate{Kbps: 1_201_000, Format: nl80211.FormatEHT}) {
		t.Errorf("%+v", got)
	}
}

func TestAMultiLinkStationOfAnOlderKernel(t *testing.T) {
	t.Parallel()
	linkAddress, device := []byte{2, 0, 0, 0, 1, 0x10}, []byte{2, 0, 0, 0, 1, 0}
	linkID := attribute(t, unix.NL80211_ATTR_MLO_LINK_ID, []byte{1})
	infoOf := func(kind uint16, octets int) []byte {
		inner := attribute(t, kind, append([]byte{9}, make([]byte, octets-1)...))
		return attribute(t, unix.NL80211_ATTR_STA_INFO|unix.NLA_F_NESTED, inner)
	}
	bytes64 := infoOf(unix.NL80211_STA_INFO_RX_BYTES, 8)
	tests := map[string]struct {
		attributes [][]byte
		want       nl80211.Station
	}{
		"the device, and the address on the link": {
			[][]byte{
				attribute(t, unix.NL80211_ATTR_MAC, linkAddress), linkID,
				attribute(t, unix.NL80211_ATTR_MLD_ADDR, device),
			},
			nl80211.Station{
				MAC: phone1, Associated: true, Authorized: true, MultiLink: true,
				Links: []nl80211.StationLink{{ID: 1, MAC: mac.Address(linkAddress)}},
			},
		},
		"the device alone": {
			[][]byte{
				attribute(t, unix.NL80211_ATTR_MAC, device), linkID, attribute(t, unix.NL80211_ATTR_MLD_ADDR, device),
			},
			nl80211.Station{
				MAC: phone1, Associated: true, Authorized: true, MultiLink: true, Links: []nl80211.StationLink{{ID: 1}},
			},
		},
		"no such device, on a link of the access point": {
			[][]byte{attribute(t, unix.NL80211_ATTR_MAC, device), linkID},
			nl80211.Station{
				MAC: phone1, Associated: true, Authorized: true, Links: []nl80211.StationLink{{ID: 1}},
			},
		},
		"sums have 64 bits under the number of 32": {
			[][]byte{attribute(t, unix.NL80211_ATTR_MAC, device), bytes64},
			nl80211.Station{MAC: phone1, Associated: true, Authorized: true, RXBytes: 9},
		},
	}
	for name, test := range tests {
		var attributes []byte
		for _, each := range test.attributes {
			attributes = append(attributes, each...)
		}
		got, err := nl80211.ParseStation(attributes)
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, test.want)
		}
	}
}

func TestLinksThatCannotBe(t *testing.T) {
	t.Parallel()
	link := func(attributes ...[]byte) []byte {
		var all []byte
		for _, each := range attributes {
			all = append(all, each...)
		}
		return attribute(t, 1|unix.NLA_F_NESTED, all)
	}
	id := func(id byte) []byte { return attribute(t, unix.NL80211_ATTR_MLO_LINK_ID, []byte{id}) }
	address := attribute(t, unix.NL80211_ATTR_MAC, phone1[:])
	links := func(list ...[]byte) []byte {
		return append(address, attribute(t, unix.NL80211_ATTR_MLO_LINKS|unix.NLA_F_NESTED, link(list...)[4:])...)
	}
	width := attribute(t, unix.NL80211_ATTR_CHANNEL_WIDTH, []byte{14, 0, 0, 0})
	frequency := attribute(t, unix.NL80211_ATTR_WIPHY_FREQ, []byte{0x85, 9, 0, 0})
	both := map[string]struct {
		attributes []byte
		want       string
	}{
		"no ID":         {links(link(address)), "no ID"},
		"ID 15":         {links(link(id(15))), "no ID, or one that cannot be"},
		"twice":         {links(link(id(3)), link(id(3))), "link 3 is there twice"},
		"short address": {links(link(id(3), attribute(t, unix.NL80211_ATTR_MAC, []byte{1}))), "1 octet"},
		"short ID":      {links(link(attribute(t, unix.NL80211_ATTR_MLO_LINK_ID, []byte{1, 2}))), ""},
	}
	for name, test := range both {
		_, err := nl80211.ParseStation(test.attributes)
		_, ofInterface := nl80211.ParseInterface(test.attributes)
		for _, err := range []error{err, ofInterface} {
			if !errors.Is(err, nl80211.ErrMalformed) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, err := nl80211.ParseInterface(links(link(id(3), frequency, width))); !errors.Is(err, nl80211.ErrMalformed) {
		t.Error(err)
	}
}

// Every link has a survey of its own; the one of the radio that is in use first is nobody's.
func TestTheSurveysOfLinks(t *testing.T) {
	t.Parallel()
	var kernel nl80211test.Kernel
	survey := func(frequencyMHz uint32, busyMS uint64) nl80211.Survey {
		return nl80211.Survey{FrequencyMHz: frequencyMHz, InUse: true, ActiveMS: new(uint64(1000)), BusyMS: busyMS}
	}
	kernel.Set(nl80211test.Device{
		Interface: multiLink(), Surveys: []nl80211.Survey{survey(5975, 300), survey(2437, 200)},
		Stations: []nl80211.Station{{
			MAC: phone1, Associated: true, Authorized: true, MultiLink: true, RXBytes: 7,
			Links: []nl80211.StationLink{{ID: 0, Info: &nl80211.Station{RXBytes: 7}}, {ID: 2}},
		}},
	})
	client, malformed := connect(t, &kernel)
	got, err := client.Snapshot("wlan0")
	if err != nil || got.Survey != nil || len(got.LinkSurveys) != 3 || got.LinkSurveys[0].BusyMS != 200 ||
		got.LinkSurveys[1] != nil || got.LinkSurveys[2].BusyMS != 300 || len(*malformed) > 0 {
		t.Fatalf("%+v, %v, %v", got, err, *malformed)
	}
	if station := got.Stations[0]; len(station.Links) != 2 || station.RXBytes != 7 || station.Links[1].Info != nil {
		t.Errorf("%+v", station)
	}
}
