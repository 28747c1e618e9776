// SPDX-License-Identifier: Apache-2.0

package wifi_test

import (
	"errors"
	"syscall"
	"testing"

	"github.com/airbound/airbound/phone-agent/wifi"
	"github.com/airbound/airbound/phone-agent/wifi/wifitest"
)

func withWMM(access wifi.Address) wifitest.Peer {
	return wifitest.Peer{MAC: access, Flags: wifitest.Associated | wifitest.WMM}
}

// admitting is a kernel with an interface wlan0, index 3, whose access point demands admission.
type admitting struct {
	wifitest.Kernel
	*wifi.Admission

	t *testing.T
}

func newAdmitting(t *testing.T, peers ...wifitest.Peer) *admitting {
	t.Helper()
	k := &admitting{t: t}
	k.Admission = &wifi.Admission{Dial: func() (*wifi.Client, error) { return wifi.New(k.Kernel.Dial()) }}
	k.associate(peers...)
	return k
}

func (k *admitting) associate(peers ...wifitest.Peer) {
	device := station(3, "wlan0", peers...)
	device.CanAdmit, device.Demands = true, true
	k.Set(device)
	k.Associate()
}

// admit fails the test unless the stream is then as wanted.
func (k *admitting) admit(usPerS uint32, want wifitest.Stream) {
	k.t.Helper()
	admitted, err := k.Admit("wlan0", usPerS)
	if got := k.Stream(3); err != nil || got != want || admitted != (want != wifitest.Stream{}) {
		k.t.Errorf("%d us/s: %t, %v, %+v", usPerS, admitted, err, got)
	}
}

func streamTo(peer wifi.Address, units uint16) wifitest.Stream {
	return wifitest.Stream{Peer: peer, ID: 5, Priority: 5, Units: units}
}

func TestTimeIsAdmitted(t *testing.T) {
	t.Parallel()
	k := newAdmitting(t, withWMM(roof))
	k.admit(0, wifitest.Stream{})
	k.admit(100_000, streamTo(roof, 3125))
	k.admit(100_000, streamTo(roof, 3125))
	k.admit(1_000_000, streamTo(roof, 31_250))
	k.admit(31, streamTo(roof, 1))
	k.admit(0, wifitest.Stream{})
	k.admit(64, streamTo(roof, 2))
	// The same access point again, and then another one: the driver has forgotten the stream.
	k.associate(withWMM(roof))
	k.admit(64, streamTo(roof, 2))
	k.associate(withWMM(attic))
	k.admit(64, streamTo(attic, 2))
	k.associate()
	k.admit(64, wifitest.Stream{})
	k.associate(withWMM(roof))
	k.admit(64, streamTo(roof, 2))
}

// Where nothing is demanded there is nothing to admit; it may be demanded later.
func TestNothingIsAdmittedWhereNothingIsDemanded(t *testing.T) {
	t.Parallel()
	k := newAdmitting(t)
	device := station(3, "wlan0", withWMM(roof))
	device.CanAdmit = true
	k.Set(device)
	k.admit(64, wifitest.Stream{})
	device.Demands = true
	k.Set(device)
	k.admit(64, streamTo(roof, 2))
	device.Demands = false
	k.Set(device)
	if admitted, err := k.Admit("wlan0", 64); admitted || err != nil {
		t.Errorf("not demanded any more: %t, %v", admitted, err)
	}
	device.Demands = true
	k.Set(device)
	k.admit(64, streamTo(roof, 2))
	device.Demands = false
	k.Set(device)
	k.admit(0, wifitest.Stream{})
}

func TestRefusalsOfAdmission(t *testing.T) {
	t.Parallel()
	device := func(change func(*wifitest.Device)) wifitest.Device {
		device := station(3, "wlan0", withWMM(roof))
		device.CanAdmit, device.Demands = true, true
		change(&device)
		return device
	}
	for want, refusing := range map[string]wifitest.Device{
		wifi.ErrNoAdmission.Error():   device(func(d *wifitest.Device) { d.CanAdmit = false }),
		"the access point has no WMM": device(func(d *wifitest.Device) { d.Peers = []wifitest.Peer{associated(roof)} }),
		"no Wi-Fi interface":          device(func(d *wifitest.Device) { d.Name = "wlan1" }),
		"get the access point of wlan0: query the kernel: netlink receive: recvmsg: " +
			"netlink receive: input/output error": device(func(d *wifitest.Device) { d.PeersRefused = syscall.EIO }),
		"have time admitted on wlan0: netlink receive: operation not permitted": device(
			func(d *wifitest.Device) { d.StreamRefused = syscall.EPERM }),
	} {
		k := newAdmitting(t)
		k.Set(refusing)
		if admitted, err := k.Admit("wlan0", 64); err == nil || err.Error() != want || admitted {
			t.Errorf("want %q: %t, %v", want, admitted, err)
		}
	}
}

func TestAnotherProgramsStreamStays(t *testing.T) {
	t.Parallel()
	k := newAdmitting(t, withWMM(roof))
	k.SetStream(3, wifitest.Stream{Peer: roof, ID: 6, Priority: 5, Units: 9})
	admitted, err := k.Admit("wlan0", 64)
	if err == nil || err.Error() != "another program has had time admitted" || admitted || k.Stream(3).ID != 6 {
		t.Errorf("%t, %v, %+v", admitted, err, k.Stream(3))
	}
	if admitted, err := k.Admit("wlan0", 0); err != nil || admitted || k.Stream(3).ID != 6 {
		t.Errorf("%t, %v, %+v", admitted, err, k.Stream(3))
	}
}

func TestWhetherADriverCanBeGivenAdmittedTime(t *testing.T) {
	t.Parallel()
	k := newAdmitting(t, withWMM(roof))
	if err := k.Supported("wlan0"); err != nil {
		t.Error(err)
	}
	if err := k.Supported("wlan1"); !errors.Is(err, wifi.ErrNone) {
		t.Error(err)
	}
	k.Set(station(3, "wlan0"))
	if err := k.Supported("wlan0"); !errors.Is(err, wifi.ErrNoAdmission) {
		t.Error(err)
	}
	k.Admission.Dial = func() (*wifi.Client, error) { return nil, syscall.ENOENT }
	if err := k.Supported("wlan0"); !errors.Is(err, syscall.ENOENT) {
		t.Error(err)
	}
	if _, err := k.Admit("wlan0", 64); !errors.Is(err, syscall.ENOENT) {
		t.Error(err)
	}
}
