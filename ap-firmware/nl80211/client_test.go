// SPDX-License-Identifier: Apache-2.0

package nl80211_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/genetlink/genltest"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/nl80211/nl80211test"
)

func device(index uint32, name string) nl80211test.Device {
	return nl80211test.Device{
		Interface: nl80211.Interface{
			Index: index, Name: name, MAC: mac.Address{2}, SSID: []byte("cell"), Type: unix.NL80211_IFTYPE_AP,
			FrequencyMHz: 5180, CenterFrequencyMHz: 5210, WidthMHz: 80,
		},
		Surveys: []nl80211.Survey{
			{FrequencyMHz: 5200, ActiveMS: new(uint64(9))},
			{FrequencyMHz: 5180, InUse: true, ActiveMS: new(uint64(1000)), BusyMS: 600, RXMS: 300, TXMS: 200},
		},
		Stations: []nl80211.Station{
			{MAC: phone1, Associated: true, Authorized: true, RXBytes: 1 << 40},
			{MAC: mac.Address{2, 0, 0, 0, 2, 0}},
		},
	}
}

func connect(t *testing.T, kernel *nl80211test.Kernel) (client *nl80211.Client, malformed *[]error) {
	t.Helper()
	malformed = &[]error{}
	client, err := nl80211.New(kernel.Dial(), func(err error) { *malformed = append(*malformed, err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client, malformed
}

func TestSnapshot(t *testing.T) {
	var kernel nl80211test.Kernel
	first, second := device(3, "wlan0"), device(4, "wlan1")
	second.Stations = nil
	kernel.Set(first, second)
	client, _ := connect(t, &kernel)
	got, err := client.Snapshot("wlan0")
	want := nl80211.Snapshot{Interface: first.Interface, Survey: &first.Surveys[1], Stations: first.Stations}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v, want %+v", got, err, want)
	}
	if got, err = client.Snapshot("wlan1"); err != nil || got.Interface.Index != 4 || len(got.Stations) != 0 {
		t.Fatalf("got %+v, %v, want the empty wlan1", got, err)
	}
	first.Interface.Index = 9 // Removed and created again.
	kernel.Set(first)
	if got, err = client.Snapshot("wlan0"); err != nil || got.Interface.Index != 9 || len(got.Stations) != 2 {
		t.Fatalf("got %+v, %v, want index 9", got, err)
	}
	kernel.Set()
	if _, err = client.Snapshot("wlan0"); !errors.Is(err, nl80211.ErrNoInterface) {
		t.Fatalf("error is %v, want no such interface", err)
	}
}

// hostapd puts stations of other VLANs, and WDS peers, on interfaces of their own. They are stations of the BSS.
func TestStationsOfVLANs(t *testing.T) {
	var kernel nl80211test.Kernel
	vlan := func(index uint32, name string, last byte) nl80211test.Device {
		vlan := device(index, name)
		vlan.Interface.Type, vlan.Interface.SSID, vlan.Surveys = unix.NL80211_IFTYPE_AP_VLAN, nil, nil
		vlan.Interface.FrequencyMHz, vlan.Interface.CenterFrequencyMHz, vlan.Interface.WidthMHz = 0, 0, 0
		// One of its own, and one that the driver lists with the BSS's as well.
		vlan.Stations = []nl80211.Station{{MAC: mac.Address{2, 0, 0, 0, 9, last}, Associated: true}, {MAC: phone1}}
		return vlan
	}
	bss, guests, peer := device(3, "wlan0"), vlan(4, "wlan0.20", 1), vlan(5, "wlan0.sta1", 2)
	peer.Interface.FourAddress = true
	ofAnotherBSS, ofAnotherRadio, noVLAN := vlan(6, "wlan1.20", 3), vlan(7, "wlan2.20", 4), vlan(8, "wlan0-1", 5)
	ofAnotherBSS.Interface.MAC[5], ofAnotherRadio.Interface.Wiphy = 1, 1
	noVLAN.Interface.Type = unix.NL80211_IFTYPE_AP
	kernel.Set(ofAnotherBSS, bss, guests, ofAnotherRadio, peer, noVLAN)
	client, malformed := connect(t, &kernel)
	got, err := client.Snapshot("wlan0")
	if err != nil || !slices.Equal(got.Indexes(), []uint32{3, 4, 5}) || len(*malformed) > 0 {
		t.Fatalf("got %+v, %v, refused %v", got, err, *malformed)
	}
	guest, bridge := guests.Stations[0], peer.Stations[0]
	guest.VLAN, bridge.VLAN, bridge.FourAddress = "wlan0.20", "wlan0.sta1", true
	if want := append(slices.Clone(bss.Stations), guest, bridge); !reflect.DeepEqual(got.Stations, want) {
		t.Errorf("got %+v, want %+v", got.Stations, want)
	}
}

func TestSurveyOfTheChannel(t *testing.T) {
	unmarked := device(3, "wlan0")
	unmarked.Surveys[1].InUse = false
	moved := device(3, "wlan0") // Of a wide channel the driver may name another part.
	moved.Surveys = append(moved.Surveys[:0:0], moved.Surveys[1], moved.Surveys[1])
	moved.Surveys[0].FrequencyMHz, moved.Surveys[1].InUse = 5200, false
	unmeasured := device(3, "wlan0")
	unmeasured.Surveys = []nl80211.Survey{{FrequencyMHz: 5180, InUse: true}}
	none := device(3, "wlan0")
	none.Surveys = nil
	tests := map[string]struct {
		device nl80211test.Device
		want   *nl80211.Survey
	}{
		"in use":                           {device(3, "wlan0"), &device(3, "wlan0").Surveys[1]},
		"unmarked":                         {unmarked, &unmarked.Surveys[1]},
		"in use, but of another frequency": {moved, &moved.Surveys[0]},
		"unmeasured":                       {unmeasured, nil},
		"none":                             {none, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var kernel nl80211test.Kernel
			kernel.Set(test.device)
			client, _ := connect(t, &kernel)
			got, err := client.Snapshot("wlan0")
			if err != nil || !reflect.DeepEqual(got.Survey, test.want) {
				t.Fatalf("got %+v, %v, want %+v", got.Survey, err, test.want)
			}
		})
	}
}

func TestStationsAreSeenWithoutASurvey(t *testing.T) {
	// A driver that has none, and one that cannot answer now: that is counted.
	for refusal, counted := range map[syscall.Errno]int{syscall.EOPNOTSUPP: 0, syscall.EBUSY: 1, syscall.EIO: 1} {
		t.Run(refusal.Error(), func(t *testing.T) {
			var kernel nl80211test.Kernel
			kernel.Set(device(3, "wlan0"))
			kernel.RefuseSurveys(refusal)
			client, malformed := connect(t, &kernel)
			got, err := client.Snapshot("wlan0")
			if err != nil || got.Survey != nil || len(got.Stations) != 2 {
				t.Fatalf("got %+v, %v, want stations and no survey", got, err)
			}
			if len(*malformed) != counted || (counted == 1 && !errors.Is((*malformed)[0], refusal)) {
				t.Errorf("counted %v", *malformed)
			}
		})
	}
}

func TestABrokenMessageCostsNoOther(t *testing.T) {
	var kernel nl80211test.Kernel
	kernel.Set(device(3, "wlan0"))
	kernel.SetGarbage([]byte{1}, nil, golden(t, "station-80211g.bin")[:500])
	client, malformed := connect(t, &kernel)
	got, err := client.Snapshot("wlan0")
	if err != nil || len(got.Stations) != 2 {
		t.Fatalf("got %+v, %v, want the two whole stations", got, err)
	}
	if len(*malformed) != 3 {
		t.Fatalf("refused %v, want three messages", *malformed)
	}
}

// A connection that breaks is no answer of the kernel: neither "no survey" nor "no such interface".
func TestABrokenConnectionIsAnError(t *testing.T) {
	broken := errors.New("connection reset")
	for command, names := range map[uint8]string{
		unix.NL80211_CMD_GET_INTERFACE: "list wireless interfaces",
		unix.NL80211_CMD_GET_SURVEY:    "get survey of wlan0",
		unix.NL80211_CMD_GET_STATION:   "get stations of wlan0",
	} {
		var kernel nl80211test.Kernel
		kernel.Set(device(3, "wlan0"))
		kernel.Break(command, broken)
		client, malformed := connect(t, &kernel)
		got, err := client.Snapshot("wlan0")
		if !errors.Is(err, broken) || errors.Is(err, nl80211.ErrNoInterface) || !strings.Contains(err.Error(), names) {
			t.Errorf("%s: %+v, %v", names, got, err)
		}
		if len(*malformed) > 0 {
			t.Errorf("%s: refused %v", names, *malformed)
		}
	}
}

func TestASocketThatCannotBeOpened(t *testing.T) {
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	client, err := nl80211.Dial(func(error) {})
	if restoreErr := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); restoreErr != nil {
		t.Fatal(restoreErr)
	}
	if client != nil || !errors.Is(err, unix.EMFILE) ||
		!strings.HasPrefix(err.Error(), "open generic netlink socket: ") {
		t.Errorf("%v, %v", client, err)
	}
}

// A kernel without nl80211 is what most machines that build this have.
func TestAKernelWithoutWirelessIsAnError(t *testing.T) {
	client, err := nl80211.New(genltest.Dial(func(genetlink.Message, netlink.Message) ([]genetlink.Message, error) {
		return nil, genltest.Error(int(syscall.ENOENT))
	}), func(error) {})
	if client != nil || !errors.Is(err, syscall.ENOENT) ||
		!strings.HasPrefix(err.Error(), "find nl80211 in the kernel: ") {
		t.Errorf("%v, %v", client, err)
	}
}
