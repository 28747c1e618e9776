// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"

	"github.com/airbound/airbound/ap-firmware/edca"
	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/hostapd/hostapdtest"
	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/nl80211/nl80211test"
	"github.com/airbound/airbound/ap-firmware/statedir"
	"github.com/airbound/airbound/internal/identity"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// Two radios: wlan0 and wlan1 are BSSs of the one for 2.4 GHz, wlan2 is that of the one for 6 GHz. A monitor is no BSS.
const (
	indexOfWLAN1 = 4
	indexOfWLAN2 = 5
)

func accessPointDevice(
	index uint32, name string, wiphy, frequencyMHz uint32, stations ...mac.Address,
) nl80211test.Device {
	device := nl80211test.Device{Interface: nl80211.Interface{
		Index: index, Name: name, MAC: mac.Address{2, 5: byte(index)}, SSID: []byte("cell"), Wiphy: wiphy,
		Type: unix.NL80211_IFTYPE_AP, FrequencyMHz: frequencyMHz, CenterFrequencyMHz: frequencyMHz, WidthMHz: 20,
	}}
	for _, station := range stations {
		device.Stations = append(device.Stations, nl80211.Station{MAC: station, Associated: true, Authorized: true})
	}
	return device
}

func wlan0(stations ...mac.Address) nl80211test.Device {
	return accessPointDevice(indexOfWLAN0, "wlan0", 0, 2437, stations...)
}

func wlan1(stations ...mac.Address) nl80211test.Device {
	return accessPointDevice(indexOfWLAN1, "wlan1", 0, 2437, stations...)
}

func wlan2(stations ...mac.Address) nl80211test.Device {
	return accessPointDevice(indexOfWLAN2, "wlan2", 1, 5955, stations...)
}

// newAccessPointCell is a cell whose agent looks for BSSs itself, and often.
func newAccessPointCell(t *testing.T) *cell {
	t.Helper()
	c := newCell(t)
	c.options.interfaces = nil
	c.options.hostapdControl = filepath.Dir(c.options.hostapdControl)
	c.options.interval = 20 * time.Millisecond
	c.options.discovery = discoveryTimes{
		lookEvery: 10 * time.Millisecond, looksApart: time.Millisecond, servedAfterwards: 50 * time.Millisecond,
	}
	for _, index := range []uint32{indexOfWLAN1, indexOfWLAN2} {
		c.routing.SetLink(index, 0)
		c.kernel.SetQueues(index, hostapd.DefaultSettings(false).Own)
	}
	return c
}

// awaitBSS takes reports until one of the interface satisfies the condition.
func (c *cell) awaitBSS(
	what, name string, condition func(*airboundv1.AccessPointReport) bool,
) *airboundv1.AccessPointReport {
	c.t.Helper()
	timedOut := time.After(timeout)
	for {
		select {
		case got := <-c.reports:
			if got.GetInterface() == name && condition(got) {
				return got
			}
		case <-timedOut:
			c.t.Fatalf("never: %s", what)
		}
	}
}

func hasStations(n int) func(*airboundv1.AccessPointReport) bool {
	return func(report *airboundv1.AccessPointReport) bool { return len(report.GetStations()) == n }
}

func any1(*airboundv1.AccessPointReport) bool { return true }

// streamOf returns the stream that an interface's reports come by.
func (c *cell) streamOf(name string) grpc.BidiStreamingServer[request, response] {
	c.t.Helper()
	var found grpc.BidiStreamingServer[request, response]
	eventually(c.t, "stream of "+name, func() bool {
		c.byInterface.mutex.Lock()
		defer c.byInterface.mutex.Unlock()
		found = c.byInterface.streams[name]
		return found != nil
	})
	return found
}

func TestEveryBSSHasAStreamOfItsOwn(t *testing.T) {
	c := newAccessPointCell(t)
	monitor := accessPointDevice(9, "mon0", 0, 2437)
	monitor.Interface.Type = unix.NL80211_IFTYPE_MONITOR
	c.kernel.Set(wlan0(phone1), monitor, wlan2(phone2))
	c.startAgent()
	if got := c.awaitBSS("wlan0", "wlan0", any1); mac.Address(got.GetStations()[0].GetMac()) != phone1 {
		t.Errorf("%v", got)
	}
	got := c.awaitBSS("wlan2", "wlan2", any1)
	if mac.Address(got.GetStations()[0].GetMac()) != phone2 ||
		got.GetChannel().GetBand() != airboundv1.Band_BAND_6_GHZ || mac.Address(got.GetBssid())[5] != indexOfWLAN2 {
		t.Errorf("%v", got)
	}
	if c.streamOf("wlan0") == c.streamOf("wlan2") {
		t.Error("one stream")
	}
	// One more comes up, without a word. Its hostapd is another one.
	server, err := hostapdtest.Start(filepath.Join(c.options.hostapdControl, "wlan1"), "wlan1", phone1.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Kill() })
	c.kernel.Set(wlan0(), wlan1(phone1, phone2), wlan2(phone2))
	c.awaitBSS("wlan1, by its hostapd's list", "wlan1", hasStations(1))
	c.awaitBSS("wlan0", "wlan0", hasStations(0))
	text, code := c.status()
	for _, want := range []string{
		"interface    wlan0\n", "interface    wlan1\n", "interface    wlan2\n", "5955 MHz (6 GHz)",
	} {
		if code != 0 || !strings.Contains(text, want) {
			t.Errorf("status %d, no %q in\n%s", code, want, text)
		}
	}
	select {
	case stray := <-c.streams:
		if len(c.streams) > 2 {
			t.Errorf("%d more streams than BSSs, %v", len(c.streams)-2, stray)
		}
	default:
	}
}

func TestABSSThatVanishesDisturbsNoOther(t *testing.T) {
	c := newAccessPointCell(t)
	c.kernel.Set(wlan0(phone1), wlan2(phone2))
	c.startAgent()
	c.awaitBSS("wlan0", "wlan0", any1)
	before := c.awaitBSS("wlan2", "wlan2", any1).GetSequence()
	other := c.streamOf("wlan2")
	gone := c.streamOf("wlan0")
	c.kernel.Set(wlan2(phone2))
	eventually(t, "the stream of wlan0 ends", func() bool { return gone.Context().Err() != nil })
	eventually(t, "its directory is free", func() bool {
		running, err := statedir.New(c.options.state.parent, "wlan0").Running()
		return err == nil && !running
	})
	text, code := c.status("--json")
	var account struct{ Agents []struct{ Interface string } }
	if err := json.Unmarshal([]byte(text), &account); err != nil || code != 0 || len(account.Agents) != 1 ||
		account.Agents[0].Interface != "wlan2" {
		t.Errorf("status %d, %v:\n%s", code, err, text)
	}
	c.awaitBSS("wlan2 continues", "wlan2", func(report *airboundv1.AccessPointReport) bool {
		return report.GetSequence() > before+3
	})
	if other.Context().Err() != nil {
		t.Error("the stream of wlan2 ended")
	}
	// It returns, with another index.
	back := accessPointDevice(17, "wlan0", 0, 2437, phone1, phone2)
	c.routing.SetLink(17, 0)
	c.kernel.Set(back, wlan2(phone2))
	c.awaitBSS("wlan0 again", "wlan0", hasStations(2))
	if other.Context().Err() != nil {
		t.Error("the stream of wlan2 ended")
	}
}

// wifi reload takes a second or two: the stream stays.
func TestABSSThatReturnsSoonKeepsItsStream(t *testing.T) {
	c := newAccessPointCell(t)
	c.options.discovery.servedAfterwards = time.Hour
	c.kernel.Set(wlan0(phone1))
	c.startAgent()
	c.awaitBSS("wlan0", "wlan0", hasStations(1))
	stream := c.streamOf("wlan0")
	c.kernel.Set()
	eventually(t, "last error", func() bool {
		text, _ := c.status()
		return strings.Contains(text, "error        kernel: find wlan0 in this network namespace")
	})
	c.kernel.Set(wlan0(phone1, phone2))
	c.awaitBSS("wlan0 again", "wlan0", hasStations(2))
	if stream.Context().Err() != nil {
		t.Error("its stream ended")
	}
	eventually(t, "no error", func() bool {
		text, _ := c.status()
		return !strings.Contains(text, "error  ")
	})
}

func TestAnEventGoesToTheBSSOfItsInterface(t *testing.T) {
	c := newAccessPointCell(t)
	c.options.interval = time.Hour
	c.kernel.Set(wlan0(), wlan2())
	c.startAgent()
	for _, name := range []string{"wlan0", "wlan0", "wlan2", "wlan2"} { // The two at the beginning of each stream.
		_ = name
		<-c.reports
	}
	eventually(t, "a socket for events", func() bool { return c.events.Dialled() == 1 })
	c.kernel.Set(wlan0(), wlan2(phone1))
	if err := c.events.Station(nl80211.StationEvent{InterfaceIndex: indexOfWLAN2, MAC: phone1}); err != nil {
		t.Fatal(err)
	}
	if got := <-c.reports; got.GetInterface() != "wlan2" || got.GetTrigger() != joined {
		t.Errorf("%v", got)
	}
}

// A station's event on an interface that nobody serves is a reason to look.
func TestAnEventOfAnUnknownInterfaceMakesALook(t *testing.T) {
	c := newAccessPointCell(t)
	c.options.discovery.lookEvery = time.Hour
	c.kernel.Set(wlan0())
	c.startAgent()
	c.awaitBSS("wlan0", "wlan0", any1)
	eventually(t, "a socket for events", func() bool { return c.events.Dialled() == 1 })
	c.kernel.Set(wlan0(), wlan2(phone1))
	if err := c.events.Station(nl80211.StationEvent{InterfaceIndex: indexOfWLAN2, MAC: phone1}); err != nil {
		t.Fatal(err)
	}
	c.awaitBSS("wlan2", "wlan2", hasStations(1))
}

// Two BSSs of one radio may share its queues: one at a time sets them.
func TestOneBSSOfARadioSetsItsQueues(t *testing.T) {
	c := newAccessPointCell(t)
	c.kernel.Set(wlan0(), wlan1(), wlan2())
	stop := c.startAgent()
	for _, name := range []string{"wlan0", "wlan1", "wlan2"} {
		c.awaitBSS(name, name, func(report *airboundv1.AccessPointReport) bool { return report.GetEdca().GetCanSet() })
	}
	first, second, other := c.streamOf("wlan0"), c.streamOf("wlan1"), c.streamOf("wlan2")
	sendSet(t, first, setOf(7, 20*time.Second, 5))
	c.awaitQueues("set by wlan0", bestEffort(5))
	refused := c.awaitBSS("wlan1 cannot", "wlan1", func(report *airboundv1.AccessPointReport) bool {
		return !report.GetEdca().GetCanSet()
	})
	const want = "another BSS of the radio, that of wlan0, has set them"
	if !strings.HasPrefix(refused.GetEdca().GetRefusal(), want) {
		t.Errorf("%v", refused.GetEdca())
	}
	sendSet(t, second, setOf(7, 20*time.Second, 4))
	c.awaitBSS("it is refused", "wlan1", func(report *airboundv1.AccessPointReport) bool {
		return report.GetEdca().GetRefusedTotal() == 1
	})
	sendSet(t, other, setOf(7, 20*time.Second, 6)) // Another radio.
	queuesOf := func(index uint32) edca.Parameters { return c.kernel.Queues(index)[edca.BestEffort] }
	eventually(t, "set by wlan2", func() bool { return queuesOf(indexOfWLAN2).AIFSN == 6 })
	if got := queuesOf(indexOfWLAN1); got != c.own()[edca.BestEffort] {
		t.Errorf("wlan1 has %v", got)
	}
	// wlan0 ends its set: then wlan1 may.
	sendSet(t, first, &airboundv1.SetEdca{Generation: 8})
	c.awaitBSS("wlan1 can", "wlan1", func(report *airboundv1.AccessPointReport) bool {
		return report.GetEdca().GetCanSet()
	})
	sendSet(t, second, setOf(8, 20*time.Second, 4))
	eventually(t, "set by wlan1", func() bool { return queuesOf(indexOfWLAN1).AIFSN == 4 })
	stop()
	for _, index := range []uint32{indexOfWLAN0, indexOfWLAN1, indexOfWLAN2} {
		if got := c.kernel.Queues(index); got != c.own() {
			t.Errorf("after the end: %d has %v", index, got)
		}
	}
}

func TestNoTwoAgentsForOneBSS(t *testing.T) {
	c := newAccessPointCell(t)
	c.kernel.Set(wlan0(), wlan2())
	unlock, err := statedir.New(c.options.state.parent, "wlan0").Lock()
	if err != nil {
		t.Fatal(err)
	}
	c.startAgent()
	c.awaitBSS("wlan2", "wlan2", any1) // wlan0 is another agent's.
	c.byInterface.mutex.Lock()
	if c.byInterface.streams["wlan0"] != nil {
		t.Error("wlan0 is served twice")
	}
	c.byInterface.mutex.Unlock()
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	c.awaitBSS("wlan0, since the other agent ended", "wlan0", any1)
	// By name it is an error.
	c.options.interfaces = []string{"wlan5", "wlan2"}
	if err := run(t.Context(), c.options, c.sockets(), slog.New(slog.DiscardHandler)); err == nil ||
		!strings.Contains(err.Error(), "another agent is running") {
		t.Errorf("%v", err)
	}
	if running, err := statedir.New(c.options.state.parent, "wlan5").Running(); running || err != nil {
		t.Errorf("wlan5 is locked still, %v", err)
	}
}

// All BSSs of an access point have one certificate, and one enrolment.
func TestTheBSSsShareACertificate(t *testing.T) {
	c := newAccessPointCell(t)
	c.kernel.Set(wlan0(), wlan2())
	controller := c.secure()
	c.options.security.Token = controller.Invite(identity.RoleAccessPoint, "ap-1")
	c.startAgent()
	c.awaitBSS("wlan0", "wlan0", any1)
	c.awaitBSS("wlan2", "wlan2", any1)
	if got := controller.Counts(); got.Enrolments != 1 {
		t.Errorf("%+v", got)
	}
	eventually(t, "both have its status", func() bool {
		text, _ := c.status()
		return strings.Count(text, "spiffe://test.example/access-point/ap-1") == 2
	})
}

func TestOnceOfAllBSSs(t *testing.T) {
	c := newAccessPointCell(t)
	c.kernel.Set(wlan0(phone1), wlan2(phone2))
	var stdout, log bytes.Buffer
	options := onceOptions{bssOptions: c.options.bssOptions}
	logger := slog.New(slog.NewTextHandler(&log, nil))
	if err := once(t.Context(), options, c.sockets(), logger, &stdout); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"wlan0  BSSID", phone1.String(), "wlan2  BSSID", phone2.String(), "6 GHz"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in\n%s", want, stdout.String())
		}
	}
	stdout.Reset()
	options.json = true
	if err := once(t.Context(), options, c.sockets(), logger, &stdout); err != nil {
		t.Fatal(err)
	}
	decoder, names := json.NewDecoder(&stdout), []string{}
	for decoder.More() {
		var one struct{ Interface string }
		if err := decoder.Decode(&one); err != nil {
			t.Fatal(err)
		}
		names = append(names, one.Interface)
	}
	if strings.Join(names, " ") != "wlan0 wlan2" {
		t.Error(names)
	}
	c.kernel.Set()
	if err := once(t.Context(), options, c.sockets(), logger, &stdout); err == nil {
		t.Error("no BSS, no error")
	}
}

// One process serves the BSSs of two configurations; each has its own values.
func TestEachBSSReadsTheConfigurationThatNamesIt(t *testing.T) {
	c := newAccessPointCell(t)
	c.kernel.Set(wlan0(), wlan2())
	directory := t.TempDir()
	for name, text := range map[string]string{
		"phy0.conf": "interface=wlan0\ntx_queue_data2_aifs=4\n",
		"phy1.conf": "interface=wlan2\ntx_queue_data2_aifs=6\n",
	} {
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.options.hostapdConfig = []string{filepath.Join(directory, "phy0.conf"), filepath.Join(directory, "phy1.conf")}
	c.startAgent()
	for name, want := range map[string]uint32{"wlan0": 4, "wlan2": 6} {
		got := c.awaitBSS(name, name, any1)
		if own := got.GetEdca().GetOwn()[edca.BestEffort]; own.GetAifsn() != want || got.GetMalformedInputsTotal() > 0 {
			t.Errorf("%s: %v", name, own)
		}
	}
}
