// SPDX-License-Identifier: Apache-2.0

package wifi_test

import (
	"encoding/binary"
	"errors"
	"reflect"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/wifi"
	"github.com/airbound/airbound/phone-agent/wifi/wifitest"
)

func attribute(kind uint16, content ...byte) []byte {
	const header = 4
	out := binary.NativeEndian.AppendUint16(nil, uint16(header+len(content)))
	out = binary.NativeEndian.AppendUint16(out, kind)
	return append(append(out, content...), make([]byte, (header-len(content)%header)%header)...)
}

// Order and padding are those of Linux 6.1 with mac80211 (ap-firmware/nl80211/testdata/interface.bin), of a station.
func TestParseInterfaceAsLinuxSendsIt(t *testing.T) {
	t.Parallel()
	got, err := wifi.ParseInterface([]byte("\x08\x00\x03\x00\x03\x00\x00\x00\x0a\x00\x04\x00wlan0\x00\x00\x00" +
		"\x08\x00\x01\x00\x00\x00\x00\x00\x08\x00\x05\x00\x02\x00\x00\x00\x04\x00\xe5\x00" +
		"\x0c\x00\x99\x00\x01\x00\x00\x00\x00\x00\x00\x00\x0a\x00\x06\x00\x02\x00\x00\x00\x01\x0a\x00\x00" +
		"\x0c\x00\x34\x00airbound"))
	want := wifi.Interface{Index: 3, Name: "wlan0", MAC: phone, Station: true, SSID: []byte("airbound")}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestParsersRefuse(t *testing.T) {
	t.Parallel()
	networkInterface := func(text []byte) error { _, err := wifi.ParseInterface(text); return err }
	peer := func(text []byte) error { _, err := wifi.ParsePeer(text); return err }
	event := func(text []byte) error { _, err := wifi.ParseEvent(unix.NL80211_CMD_ROAM, text); return err }
	flags := attribute(unix.NL80211_STA_INFO_STA_FLAGS, 1, 2, 3, 4)
	whole := wifitest.EncodePeer(wifitest.Peer{MAC: roof})
	for name, test := range map[string]struct {
		parse func([]byte) error
		text  []byte
	}{
		"interface cut":          {networkInterface, []byte{1, 2, 3}},
		"index of one byte":      {networkInterface, attribute(unix.NL80211_ATTR_IFINDEX, 1)},
		"MAC of five octets":     {networkInterface, attribute(unix.NL80211_ATTR_MAC, 1, 2, 3, 4, 5)},
		"station cut":            {peer, whole[:len(whole)-5]},
		"station without a MAC":  {peer, nil},
		"flags of four bytes":    {peer, append(whole[:12:12], attribute(unix.NL80211_ATTR_STA_INFO, flags...)...)},
		"event of nothing":       {event, nil},
		"event cut":              {event, []byte{9, 0, 3, 0, 1}},
		"event of a short index": {event, attribute(unix.NL80211_ATTR_IFINDEX, 1, 0)},
	} {
		if err := test.parse(test.text); !errors.Is(err, wifi.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEventsOfOtherThings(t *testing.T) {
	t.Parallel()
	for _, command := range []uint8{unix.NL80211_CMD_NEW_STATION, unix.NL80211_CMD_AUTHENTICATE, 255} {
		if index, err := wifi.ParseEvent(command, []byte{1}); index != 0 || err != nil {
			t.Errorf("%d: %d, %v", command, index, err)
		}
	}
}

func TestAddressAsText(t *testing.T) {
	t.Parallel()
	if got := phone.String() + " " + (wifi.Address{}).String(); got != "02:00:00:00:01:0a " {
		t.Error(got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(uint8(unix.NL80211_CMD_ROAM), wifitest.EncodeInterface(station(3, "wlan0")))
	f.Add(uint8(unix.NL80211_CMD_CONNECT), wifitest.EncodePeer(associated(roof)))
	f.Add(uint8(0), []byte(nil))
	f.Fuzz(func(t *testing.T, command uint8, attributes []byte) {
		refused := func(err error, zero bool) {
			if err != nil && (!errors.Is(err, wifi.ErrMalformed) || !zero) {
				t.Fatalf("%v", err)
			}
		}
		parsed, err := wifi.ParseInterface(attributes)
		refused(err, reflect.DeepEqual(parsed, wifi.Interface{}))
		peer, err := wifi.ParsePeer(attributes)
		refused(err, peer == wifi.Peer{})
		if err == nil && peer.MAC == (wifi.Address{}) {
			t.Fatal("a station without an address")
		}
		index, err := wifi.ParseEvent(command, attributes)
		refused(err, index == 0)
		can, err := wifi.ParseAdmission(attributes)
		refused(err, !can)
	})
}
