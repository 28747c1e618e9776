// SPDX-License-Identifier: Apache-2.0

package nl80211_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/nl80211/nl80211test"
)

var phone1 = mac.Address{2, 0, 0, 0, 1, 0}

func TestParseStationOfARealKernel(t *testing.T) {
	tests := map[string]nl80211.Station{
		"station-80211g.bin": {
			MAC: phone1, Associated: true, Authorized: true, SignalDBM: new(int8(-50)),
			RXBytes: 8572, TXBytes: 7769, RXPackets: 16, TXPackets: 10,
			RXBitrate: nl80211.Bitrate{Kbps: 48_000}, TXBitrate: nl80211.Bitrate{Kbps: 12_000},
			RXAirtimeUS: new(uint64(12_722)), TXAirtimeUS: new(uint64(13_206)), ConnectedSeconds: 3, CountsTIDs: true,
		},
		"station-80211n.bin": {
			MAC: phone1, Associated: true, Authorized: true, WMM: true, SignalDBM: new(int8(-50)),
			RXBytes: 8703, TXBytes: 7929, RXPackets: 20, TXPackets: 12,
			RXBitrate:   nl80211.Bitrate{Kbps: 13_000, Format: nl80211.FormatHT},
			TXBitrate:   nl80211.Bitrate{Kbps: 13_000, Format: nl80211.FormatHT},
			RXAirtimeUS: new(uint64(17_355)), TXAirtimeUS: new(uint64(17_438)), ConnectedSeconds: 3,
			CountsTIDs: true, RXVoice: 2, // Messages of the key exchange.
		},
		"station-no-airtime.bin": {
			MAC: phone1, Associated: true, Authorized: true, SignalDBM: new(int8(-30)),
			RXBytes: 8572, TXBytes: 7769, RXPackets: 16, TXPackets: 10,
			RXBitrate: nl80211.Bitrate{Kbps: 54_000}, TXBitrate: nl80211.Bitrate{Kbps: 54_000},
			RXAirtimeUS: new(uint64(0)), TXAirtimeUS: new(uint64(0)), ConnectedSeconds: 3, CountsTIDs: true,
		},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := nl80211.ParseStation(golden(t, name))
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("got %+v, %v, want %+v", got, err, want)
			}
		})
	}
}

func TestParseInterfaceOfARealKernel(t *testing.T) {
	want := nl80211.Interface{
		Index: 3, Name: "wlan0", MAC: mac.Address{2}, SSID: []byte("airbound"), Type: unix.NL80211_IFTYPE_AP,
		FrequencyMHz: 2437, CenterFrequencyMHz: 2437, WidthMHz: 20,
	}
	got, err := nl80211.ParseInterface(golden(t, "interface.bin"))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestParseSurveyOfARealKernel(t *testing.T) {
	want := nl80211.Survey{
		FrequencyMHz: 2437, InUse: true, ActiveMS: new(uint64(5142)), BusyMS: 145, RXMS: 40, TXMS: 101,
	}
	got, err := nl80211.ParseSurvey(golden(t, "survey.bin"))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestParseStationOfAPoorDriver(t *testing.T) {
	tests := map[string]struct {
		info func(*netlink.AttributeEncoder) error
		want nl80211.Station
	}{
		"nothing": {
			func(*netlink.AttributeEncoder) error { return nil },
			nl80211.Station{MAC: phone1, Associated: true, Authorized: true},
		},
		"counters of 32 bits": {
			func(info *netlink.AttributeEncoder) error {
				info.Uint32(unix.NL80211_STA_INFO_RX_BYTES, 7)
				info.Uint32(unix.NL80211_STA_INFO_TX_BYTES, 8)
				return nil
			},
			nl80211.Station{MAC: phone1, Associated: true, Authorized: true, RXBytes: 7, TXBytes: 8},
		},
		"counters of 64 bits before those of 32": {
			func(info *netlink.AttributeEncoder) error {
				info.Uint64(unix.NL80211_STA_INFO_RX_BYTES64, 1<<32+7)
				info.Uint64(unix.NL80211_STA_INFO_TX_BYTES64, 1<<33+8)
				info.Uint32(unix.NL80211_STA_INFO_RX_BYTES, 7)
				info.Uint32(unix.NL80211_STA_INFO_TX_BYTES, 8)
				return nil
			},
			nl80211.Station{MAC: phone1, Associated: true, Authorized: true, RXBytes: 1<<32 + 7, TXBytes: 1<<33 + 8},
		},
		"frames that were lost": {
			func(info *netlink.AttributeEncoder) error {
				info.Uint32(unix.NL80211_STA_INFO_TX_RETRIES, 5)
				info.Uint32(unix.NL80211_STA_INFO_TX_FAILED, 6)
				return nil
			},
			nl80211.Station{MAC: phone1, Associated: true, Authorized: true, TXRetries: 5, TXFailed: 6},
		},
		"packets of every traffic identifier": {
			func(info *netlink.AttributeEncoder) error {
				info.Nested(unix.NL80211_STA_INFO_TID_STATS, func(list *netlink.AttributeEncoder) error {
					for tid := range 17 {
						list.Nested(uint16(tid)+1, func(counters *netlink.AttributeEncoder) error {
							counters.Uint64(unix.NL80211_TID_STATS_RX_MSDU, 1<<tid)
							counters.Uint64(unix.NL80211_TID_STATS_TX_MSDU, 1<<40)
							return nil
						})
					}
					return nil
				})
				return nil
			},
			nl80211.Station{
				MAC: phone1, Associated: true, Authorized: true, CountsTIDs: true, RXVideo: 1<<4 + 1<<5,
				RXVoice: 1<<6 + 1<<7,
			},
		},
		"no packets by traffic identifier": {
			func(info *netlink.AttributeEncoder) error {
				info.Nested(unix.NL80211_STA_INFO_TID_STATS, func(list *netlink.AttributeEncoder) error {
					list.Nested(6, func(counters *netlink.AttributeEncoder) error {
						counters.Uint64(unix.NL80211_TID_STATS_TX_MSDU, 7)
						return nil
					})
					return nil
				})
				return nil
			},
			nl80211.Station{MAC: phone1, Associated: true, Authorized: true},
		},
		"rates of 16 and of 32 bits": {
			func(info *netlink.AttributeEncoder) error {
				info.Nested(unix.NL80211_STA_INFO_RX_BITRATE, func(rate *netlink.AttributeEncoder) error {
					rate.Uint16(unix.NL80211_RATE_INFO_BITRATE, 540)
					return nil
				})
				info.Nested(unix.NL80211_STA_INFO_TX_BITRATE, func(rate *netlink.AttributeEncoder) error {
					rate.Uint32(unix.NL80211_RATE_INFO_BITRATE32, 96_078)
					return nil
				})
				return nil
			},
			nl80211.Station{
				MAC: phone1, Associated: true, Authorized: true,
				RXBitrate: nl80211.Bitrate{Kbps: 54_000}, TXBitrate: nl80211.Bitrate{Kbps: 9_607_800},
			},
		},
		"a rate beyond every unit": {
			func(info *netlink.AttributeEncoder) error {
				info.Nested(unix.NL80211_STA_INFO_RX_BITRATE, func(rate *netlink.AttributeEncoder) error {
					rate.Uint32(unix.NL80211_RATE_INFO_BITRATE32, 0xffffffff)
					return nil
				})
				return nil
			},
			nl80211.Station{
				MAC: phone1, Associated: true, Authorized: true, RXBitrate: nl80211.Bitrate{Kbps: 0xffffffff},
			},
		},
		"authenticated only": {
			func(info *netlink.AttributeEncoder) error {
				info.Bytes(unix.NL80211_STA_INFO_STA_FLAGS, []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0})
				return nil
			},
			nl80211.Station{MAC: phone1},
		},
		"associated, without keys yet": {
			func(info *netlink.AttributeEncoder) error {
				const set = 1<<unix.NL80211_STA_FLAG_AUTHENTICATED | 1<<unix.NL80211_STA_FLAG_ASSOCIATED
				info.Bytes(unix.NL80211_STA_INFO_STA_FLAGS,
					binary.NativeEndian.AppendUint32([]byte{0xff, 0xff, 0xff, 0xff}, set))
				return nil
			},
			nl80211.Station{MAC: phone1, Associated: true},
		},
		"does not know what is associated": {
			func(info *netlink.AttributeEncoder) error {
				info.Bytes(unix.NL80211_STA_INFO_STA_FLAGS, make([]byte, 8))
				return nil
			},
			nl80211.Station{MAC: phone1, Associated: true, Authorized: true},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := nl80211.ParseStation(stationWith(t, test.info))
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Fatalf("got %+v, %v, want %+v", got, err, test.want)
			}
		})
	}
}

func TestParsersRefuse(t *testing.T) {
	station := func(attributes []byte) error { _, err := nl80211.ParseStation(attributes); return err }
	survey := func(attributes []byte) error { _, err := nl80211.ParseSurvey(attributes); return err }
	networkInterface := func(attributes []byte) error { _, err := nl80211.ParseInterface(attributes); return err }
	wrongFlags := func(info *netlink.AttributeEncoder) error {
		info.Bytes(unix.NL80211_STA_INFO_STA_FLAGS, make([]byte, 4))
		return nil
	}
	shortCounter := func(info *netlink.AttributeEncoder) error {
		info.Bytes(unix.NL80211_STA_INFO_RX_BYTES64, make([]byte, 4))
		return nil
	}
	tests := map[string]struct {
		parse      func([]byte) error
		attributes []byte
		names      string
	}{
		"station without address": {station, nil, "no MAC address"},
		"station cut":             {station, golden(t, "station-80211g.bin")[:1001], "parse station"},
		"station header cut":      {station, []byte{1, 2, 3}, "parse station"},
		"station of five octets": {
			station,
			attribute(t, unix.NL80211_ATTR_MAC, make([]byte, 5)),
			"5 octets: not a MAC address",
		},
		"flags of four bytes":   {station, stationWith(t, wrongFlags), "parse station " + phone1.String()},
		"counter of four bytes": {station, stationWith(t, shortCounter), "parse station " + phone1.String()},
		"survey empty":          {survey, nil, "no frequency"},
		"survey cut":            {survey, golden(t, "survey.bin")[:33], "parse survey"},
		"interface cut":         {networkInterface, golden(t, "interface.bin")[:50], "parse interface"},
		"interface index short": {
			networkInterface,
			attribute(t, unix.NL80211_ATTR_IFINDEX, []byte{1}),
			"parse interface",
		},
		"width of a later kernel": {
			networkInterface,
			append(attribute(t, unix.NL80211_ATTR_WIPHY_FREQ, []byte{1, 0, 0, 0}),
				attribute(t, unix.NL80211_ATTR_CHANNEL_WIDTH, []byte{unix.NL80211_CHAN_WIDTH_320 + 1, 0, 0, 0})...),
			"channel width 14 is unknown",
		},
		"unknown width": {
			networkInterface,
			append(attribute(t, unix.NL80211_ATTR_WIPHY_FREQ, []byte{1, 0, 0, 0}),
				attribute(t, unix.NL80211_ATTR_CHANNEL_WIDTH, []byte{99, 0, 0, 0})...),
			"width",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := test.parse(test.attributes)
			if !errors.Is(err, nl80211.ErrMalformed) || !strings.Contains(err.Error(), test.names) {
				t.Fatalf("error is %v, want a malformed message that names %q", err, test.names)
			}
		})
	}
}

func TestTheWidthOfAChannel(t *testing.T) {
	for width, wantMHz := range map[byte]uint32{
		unix.NL80211_CHAN_WIDTH_20_NOHT: 20, unix.NL80211_CHAN_WIDTH_20: 20, unix.NL80211_CHAN_WIDTH_40: 40,
		unix.NL80211_CHAN_WIDTH_80: 80, unix.NL80211_CHAN_WIDTH_80P80: 160, unix.NL80211_CHAN_WIDTH_160: 160,
		unix.NL80211_CHAN_WIDTH_5: 5, unix.NL80211_CHAN_WIDTH_10: 10, unix.NL80211_CHAN_WIDTH_1: 1,
		unix.NL80211_CHAN_WIDTH_2: 2, unix.NL80211_CHAN_WIDTH_4: 4, unix.NL80211_CHAN_WIDTH_8: 8,
		unix.NL80211_CHAN_WIDTH_16: 16, unix.NL80211_CHAN_WIDTH_320: 320,
	} {
		attributes := append(attribute(t, unix.NL80211_ATTR_WIPHY_FREQ, binary.NativeEndian.AppendUint32(nil, 2437)),
			attribute(t, unix.NL80211_ATTR_CHANNEL_WIDTH, binary.NativeEndian.AppendUint32(nil, uint32(width)))...)
		got, err := nl80211.ParseInterface(attributes)
		// Without the frequency of its middle, the channel is that of 20 MHz.
		if err != nil || got.WidthMHz != wantMHz || got.CenterFrequencyMHz != 2437 {
			t.Errorf("width %d: got %+v, %v, want %d MHz", width, got, err, wantMHz)
		}
	}
}

func TestInterfaceThatIsDown(t *testing.T) {
	got, err := nl80211.ParseInterface(attribute(t, unix.NL80211_ATTR_IFNAME, []byte("wlan0\x00")))
	if want := (nl80211.Interface{Name: "wlan0"}); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v, want %+v", got, err, want)
	}
}

func FuzzParseStation(f *testing.F) {
	for _, name := range []string{"station-80211g.bin", "station-80211n.bin", "station-no-airtime.bin"} {
		f.Add(golden(f, name))
	}
	f.Add(golden(f, "station-multi-link.bin"))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, attributes []byte) {
		station, err := nl80211.ParseStation(attributes)
		if err != nil {
			if !errors.Is(err, nl80211.ErrMalformed) || !reflect.DeepEqual(station, nl80211.Station{}) {
				t.Fatalf("got %+v, %v", station, err)
			}
			return
		}
		station.RXBitrate.Kbps -= station.RXBitrate.Kbps % 100
		station.TXBitrate.Kbps -= station.TXBitrate.Kbps % 100
		for _, link := range station.Links {
			if link.Info != nil {
				link.Info.RXBitrate.Kbps -= link.Info.RXBitrate.Kbps % 100
				link.Info.TXBitrate.Kbps -= link.Info.TXBitrate.Kbps % 100
			}
		}
		again, err := nl80211test.EncodeStation(station)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := nl80211.ParseStation(again); err != nil || !reflect.DeepEqual(got, station) {
			t.Fatalf("%+v came back as %+v, %v", station, got, err)
		}
	})
}

func FuzzParseSurvey(f *testing.F) {
	f.Add(golden(f, "survey.bin"))
	f.Fuzz(func(t *testing.T, attributes []byte) {
		survey, err := nl80211.ParseSurvey(attributes)
		if (err == nil) != (survey.FrequencyMHz != 0) || err != nil && !errors.Is(err, nl80211.ErrMalformed) {
			t.Fatalf("got %+v, %v", survey, err)
		}
	})
}

func FuzzParseInterface(f *testing.F) {
	f.Add(golden(f, "interface.bin"))
	f.Add(golden(f, "interface-multi-link.bin"))
	f.Fuzz(func(t *testing.T, attributes []byte) {
		got, err := nl80211.ParseInterface(attributes)
		if err != nil && !errors.Is(err, nl80211.ErrMalformed) {
			t.Fatalf("error is %v", err)
		}
		if (got.FrequencyMHz != 0) != (got.WidthMHz != 0) {
			t.Fatalf("got %+v: a channel has both a frequency and a width", got)
		}
		for i, link := range got.Links {
			if link.ID > 14 || i > 0 && link.ID <= got.Links[i-1].ID ||
				(link.FrequencyMHz != 0) != (link.WidthMHz != 0) {
				t.Fatalf("links %+v", got.Links)
			}
		}
	})
}

func golden(tb testing.TB, name string) []byte {
	tb.Helper()
	attributes, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return attributes
}

func attribute(tb testing.TB, kind uint16, value []byte) []byte {
	tb.Helper()
	encoder := netlink.NewAttributeEncoder()
	encoder.Bytes(kind, value)
	attributes, err := encoder.Encode()
	if err != nil {
		tb.Fatal(err)
	}
	return attributes
}

func stationWith(tb testing.TB, info func(*netlink.AttributeEncoder) error) []byte {
	tb.Helper()
	encoder := netlink.NewAttributeEncoder()
	encoder.Bytes(unix.NL80211_ATTR_MAC, []byte{2, 0, 0, 0, 1, 0})
	encoder.Nested(unix.NL80211_ATTR_STA_INFO, info)
	attributes, err := encoder.Encode()
	if err != nil {
		tb.Fatal(err)
	}
	return attributes
}

func TestARateOf80211nOrLaterMayBeAggregated(t *testing.T) {
	for name, test := range map[string]struct {
		attribute uint16
		want      nl80211.Format
	}{
		"HT":     {unix.NL80211_RATE_INFO_MCS, nl80211.FormatHT},
		"VHT":    {unix.NL80211_RATE_INFO_VHT_MCS, nl80211.FormatVHT},
		"HE":     {unix.NL80211_RATE_INFO_HE_MCS, nl80211.FormatHE},
		"EHT":    {unix.NL80211_RATE_INFO_EHT_MCS, nl80211.FormatEHT},
		"legacy": {unix.NL80211_RATE_INFO_SHORT_GI, nl80211.FormatLegacy},
	} {
		got, err := nl80211.ParseStation(stationWith(t, func(info *netlink.AttributeEncoder) error {
			info.Nested(unix.NL80211_STA_INFO_TX_BITRATE, func(rate *netlink.AttributeEncoder) error {
				rate.Uint8(test.attribute, 7)
				return nil
			})
			return nil
		}))
		if err != nil || got.TXBitrate.Format != test.want ||
			got.TXBitrate.Aggregated() != (name != "legacy") {
			t.Errorf("%s: %+v, %v", name, got.TXBitrate, err)
		}
	}
}
