// SPDX-License-Identifier: Apache-2.0

package wifi_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/wifi"
	"github.com/airbound/airbound/phone-agent/wifi/wifitest"
)

var (
	roof  = wifi.Address{2, 0, 0, 0, 0, 1}
	attic = wifi.Address{2, 0, 0, 0, 0, 2}
	phone = wifi.Address{2, 0, 0, 0, 1, 10}
	other = wifi.Address{2, 0, 0, 0, 1, 11}
)

func station(index uint32, name string, peers ...wifitest.Peer) wifitest.Device {
	return wifitest.Device{
		Interface: wifi.Interface{Index: index, Name: name, MAC: phone, Station: true, SSID: []byte("home")},
		Peers:     peers,
	}
}

func associated(with wifi.Address) wifitest.Peer {
	return wifitest.Peer{MAC: with, Flags: wifitest.Associated}
}

func find(t *testing.T, name string, devices ...wifitest.Device) (wifi.Link, error) {
	t.Helper()
	var kernel wifitest.Kernel
	kernel.Set(devices...)
	client, err := wifi.New(kernel.Dial())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client.Find(name)
}

func TestFind(t *testing.T) {
	t.Parallel()
	accessPoint := wifitest.Device{Interface: wifi.Interface{Index: 1, Name: "ap0", MAC: other, SSID: []byte("spot")}}
	p2p := wifitest.Device{Interface: wifi.Interface{MAC: other, Station: true}} // It has neither name nor index.
	connected := wifi.Link{Interface: "wlan0", MAC: phone, BSSID: roof, SSID: "home"}
	direct := wifitest.Peer{MAC: other, Flags: wifitest.Associated | 1<<unix.NL80211_STA_FLAG_TDLS_PEER}
	authenticated := wifitest.Peer{MAC: attic, Flags: 1 << unix.NL80211_STA_FLAG_AUTHENTICATED}
	noTable := station(3, "wlan0")
	noTable.PeersRefused = syscall.EOPNOTSUPP
	gone := station(2, "wlan0")
	gone.PeersRefused = syscall.ENODEV
	garbled := station(3, "wlan0", associated(roof))
	garbled.Garbage = true
	toRoof, toAttic := station(3, "wlan0", associated(roof)), station(2, "wlan1", associated(attic))
	alone := wifi.Link{Interface: "wlan0", MAC: phone}
	of := func(devices ...wifitest.Device) []wifitest.Device { return devices }
	tests := map[string]struct {
		name    string
		devices []wifitest.Device
		want    wifi.Link
	}{
		"the only one":  {"", of(toRoof), connected},
		"beside others": {"", of(accessPoint, p2p, toRoof), connected},
		"by name":       {"wlan0", of(toAttic, toRoof), connected},
		"the connected one": {
			"", of(station(3, "wlan0"), toAttic),
			wifi.Link{Interface: "wlan1", MAC: phone, BSSID: attic, SSID: "home"},
		},
		"of two, wlan0":    {"", of(toAttic, toRoof), connected},
		"wlan0 by itself":  {"", of(station(2, "wlan1"), station(3, "wlan0")), alone},
		"the first":        {"", of(station(5, "b"), station(4, "a")), wifi.Link{Interface: "a", MAC: phone}},
		"TDLS peers":       {"", of(station(3, "wlan0", direct, associated(roof))), connected},
		"on the way in":    {"", of(station(3, "wlan0", authenticated)), alone},
		"without flags":    {"", of(station(3, "wlan0", wifitest.Peer{MAC: roof, NoFlags: true})), connected},
		"no station table": {"", of(noTable), alone},
		"removed just now": {"", of(gone, station(3, "wlan1")), wifi.Link{Interface: "wlan1", MAC: phone}},
		"a broken message": {"", of(garbled), connected},
		"an access point":  {"ap0", of(accessPoint), wifi.Link{Interface: "ap0", MAC: other}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := find(t, test.name, test.devices...); err != nil || got != test.want {
				t.Errorf("%+v, %v, want %+v", got, err, test.want)
			}
		})
	}
}

func TestFindNothing(t *testing.T) {
	t.Parallel()
	gone := station(2, "wlan0")
	gone.PeersRefused = syscall.ENODEV
	for name, devices := range map[string][]wifitest.Device{
		"": nil, "wlan1": {station(3, "wlan0")}, "wlan0": {gone},
	} {
		if got, err := find(t, name, devices...); !errors.Is(err, wifi.ErrNone) {
			t.Errorf("%q: %+v, %v", name, got, err)
		}
	}
	refused := station(3, "wlan0")
	refused.PeersRefused = syscall.EIO
	if _, err := find(t, "", refused); !errors.Is(err, syscall.EIO) ||
		!strings.HasPrefix(err.Error(), "get the access point of wlan0: query the kernel: ") {
		t.Error(err)
	}
	garbage := station(3, "wlan0")
	garbage.Garbage = true
	if _, err := find(t, "", garbage); !errors.Is(err, wifi.ErrMalformed) {
		t.Error(err)
	}
}

// A kernel without nl80211 is what most machines that build this have; one with it has interfaces or none.
func TestDialTheMachinesOwnKernel(t *testing.T) {
	t.Parallel()
	client, err := wifi.Dial()
	if err != nil {
		if !strings.HasPrefix(err.Error(), "find nl80211 in the kernel: ") {
			t.Error(err)
		}
		return
	}
	link, err := client.Find("")
	if err != nil && !errors.Is(err, wifi.ErrNone) || (err == nil) != (link.Interface != "") {
		t.Errorf("%+v, %v", link, err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
}
