// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/agent"
	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/neighbours"
	"github.com/airbound/airbound/ap-firmware/neighbours/neighbourstest"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/nl80211/nl80211test"
	"github.com/airbound/airbound/internal/sparselog"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const (
	interval = airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_INTERVAL
	joined   = airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_STATION_JOINED
	left     = airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_STATION_LEFT
)

var (
	phone1 = mac.Address{2, 0, 0, 0, 1, 0}
	phone2 = mac.Address{2, 0, 0, 0, 2, 0}
)

// cell is an agent with a fake kernel and a clock of its own.
type cell struct {
	t          *testing.T
	agent      *agent.Agent
	wireless   nl80211test.Kernel
	routing    neighbourstest.Kernel
	sockets    *agent.Sockets
	kernel     *agent.Kernel
	dialled    int
	nowUS      int64
	refreshed  int
	malformed  sparselog.Counter
	log        bytes.Buffer
	authorized hostapd.Associations
	edcaParts
}

func newCell(t *testing.T, period time.Duration) *cell {
	t.Helper()
	c := &cell{t: t, nowUS: 100_000_000}
	c.sockets = agent.NewSockets(
		func(malformed func(error)) (*nl80211.Client, error) {
			c.dialled++
			return nl80211.New(c.wireless.Dial(), malformed)
		},
		func(malformed func(error)) (*neighbours.Client, error) {
			return neighbours.New(c.routing.Dial(), malformed), nil
		})
	c.kernel = c.sockets.Kernel("wlan0", func(error) { c.malformed.Add() })
	t.Cleanup(func() {
		if err := c.sockets.Close(); err != nil {
			t.Error(err)
		}
	})
	c.routing.SetLink(3, 0)
	c.agent = agent.New(agent.Config{
		Version: "1.2", Interval: period, Sampler: c.kernel, RefreshAssociations: func() { c.refreshed++ },
		Malformed: &c.malformed, EDCA: c.edca(), Logger: c.logger(),
	}, c.nowUS)
	c.stations()
	return c
}

func (c *cell) logger() *slog.Logger { return slog.New(slog.NewTextHandler(&c.log, nil)) }

func (c *cell) stations(stations ...mac.Address) {
	device := nl80211test.Device{Interface: nl80211.Interface{
		Index: 3, Name: "wlan0", MAC: mac.Address{2}, Type: unix.NL80211_IFTYPE_AP, FrequencyMHz: 2437,
		CenterFrequencyMHz: 2437, WidthMHz: 20,
	}}
	for _, station := range stations {
		device.Stations = append(device.Stations, nl80211.Station{MAC: station, Associated: true, Authorized: true})
	}
	c.wireless.Set(device)
}

// hostapd reports a new set of associations.
func (c *cell) hostapd(stations ...mac.Address) {
	list := make([]hostapd.Station, len(stations))
	for i, station := range stations {
		list[i] = hostapd.Station{MAC: station, Authorized: true}
	}
	change := c.authorized.Replace(list)
	c.agent.Update(c.nowUS, hostapd.Update{Associations: c.authorized.Clone(), Change: change})
}

// pass lets time pass, calling Wake when it is due, and returns the reports with their times.
func (c *cell) pass(duration time.Duration) (reports []*airboundv1.AccessPointReport, at []time.Duration) {
	c.t.Helper()
	start, end := c.nowUS, c.nowUS+duration.Microseconds()
	for wakes := 0; c.agent.NextWakeUS() <= end; wakes++ {
		if wakes > 10_000 {
			c.t.Fatal("the agent spins")
		}
		c.nowUS = max(c.nowUS, c.agent.NextWakeUS())
		if report := c.agent.Wake(c.nowUS); report != nil {
			reports = append(reports, report)
			at = append(at, time.Duration(c.nowUS-start)*time.Microsecond)
		}
	}
	c.nowUS = end
	return reports, at
}

func TestTheSecondReportOfAStreamFollowsSoon(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		interval time.Duration
		want     []time.Duration
	}{
		"a second":        {time.Second, []time.Duration{0, 300 * time.Millisecond, 1300 * time.Millisecond}},
		"a short one":     {200 * time.Millisecond, []time.Duration{0, 200 * time.Millisecond, 400 * time.Millisecond}},
		"a minute":        {time.Minute, []time.Duration{0, 300 * time.Millisecond}},
		"exactly as long": {300 * time.Millisecond, []time.Duration{0, 300 * time.Millisecond, 600 * time.Millisecond}},
	} {
		c := newCell(t, test.interval)
		for stream := range 2 {
			c.agent.Connected(c.nowUS)
			reports, at := c.pass(2 * time.Second)
			if len(at) < len(test.want) {
				t.Fatalf("%s, stream %d: reports at %v", name, stream, at)
			}
			for i, want := range test.want {
				if at[i] != want || reports[i].GetTrigger() != interval || reports[i].GetAgentVersion() != "1.2" {
					t.Errorf(
						"%s, stream %d: report %d at %v is %v, want it at %v",
						name,
						stream,
						i,
						at[i],
						reports[i],
						want,
					)
				}
			}
			c.agent.Disconnected(c.nowUS)
		}
	}
}

func TestReportsComeEveryInterval(t *testing.T) {
	t.Parallel()
	c := newCell(t, time.Second)
	if _, at := c.pass(5 * time.Second); len(at) > 0 || c.agent.NextWakeUS() != math.MaxInt64 || c.dialled > 0 {
		t.Errorf("without a controller: reports at %v, %d sockets", at, c.dialled)
	}
	c.agent.Connected(c.nowUS)
	reports, at := c.pass(10 * time.Second)
	if len(at) != 11 || c.dialled != 1 {
		t.Fatalf("reports at %v, %d sockets", at, c.dialled)
	}
	for i, report := range reports {
		if report.GetSequence() != uint64(i+1) || report.GetMonotonicUs() != 105_000_000+uint64(at[i].Microseconds()) {
			t.Errorf("report %d at %v is %v", i, at[i], report)
		}
	}
	c.nowUS = c.agent.NextWakeUS() + time.Second.Microseconds() // The report is exactly one interval late.
	if _, at := c.pass(500 * time.Millisecond); len(at) != 1 {
		t.Errorf("late: reports at %v", at)
	}
	c.pass(500 * time.Millisecond)
	c.nowUS += time.Hour.Microseconds() // The machine was suspended.
	if _, at := c.pass(time.Second); len(at) != 2 {
		t.Errorf("after an hour: reports at %v", at)
	}
}

func TestAChangeAtTheMomentOfTheIntervalsReportIsItsTrigger(t *testing.T) {
	t.Parallel()
	c := newCell(t, time.Second)
	c.agent.Connected(c.nowUS)
	c.pass(time.Second)
	c.nowUS = c.agent.NextWakeUS()
	c.stations(phone1)
	c.hostapd(phone1)
	reports, _ := c.pass(500 * time.Millisecond)
	if len(reports) != 1 || reports[0].GetTrigger() != joined {
		t.Errorf("%v", reports)
	}
}

func TestChangesAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	c := newCell(t, time.Minute)
	c.agent.Connected(c.nowUS)
	c.pass(time.Second)
	expect := func(what string, want airboundv1.AccessPointReportTrigger, stations int) {
		t.Helper()
		reports, at := c.pass(time.Second)
		if len(reports) != 1 || reports[0].GetTrigger() != want || len(reports[0].GetStations()) != stations ||
			at[0] != 0 {
			t.Errorf("%s: %v at %v", what, reports, at)
		}
	}
	c.stations(phone1)
	c.hostapd(phone1)
	expect("one joined", joined, 1)
	c.stations(phone1, phone2)
	c.hostapd()
	expect("one left, the kernel still lists it", left, 0)
	c.hostapd(phone1)
	c.hostapd(phone1, phone2)
	c.hostapd(phone2)
	expect("several changes at once", joined, 1)
	c.hostapd()
	c.hostapd(phone1)
	expect("left and joined", joined, 1)
	c.agent.Update(c.nowUS, hostapd.Update{})
	if reports, _ := c.pass(time.Second); len(reports) > 0 {
		t.Errorf("no change: %v", reports)
	}
	c.agent.Disconnected(c.nowUS)
	c.hostapd(phone2)
	if reports, _ := c.pass(time.Second); len(reports) > 0 {
		t.Errorf("without a controller: %v", reports)
	}
	c.agent.Connected(c.nowUS)
	if reports, _ := c.pass(100 * time.Millisecond); len(reports) != 1 || reports[0].GetTrigger() != interval {
		t.Errorf("a new stream: %v", reports)
	}
}

func TestAddressesOfTheStations(t *testing.T) {
	t.Parallel()
	c := newCell(t, time.Second)
	c.stations(phone1, phone2)
	c.routing.Set(neighbours.Neighbour{
		InterfaceIndex: 3, MAC: phone1, IP: netip.MustParseAddr("10.0.0.11"), State: unix.NUD_REACHABLE,
	})
	c.agent.Connected(c.nowUS)
	reports, _ := c.pass(0)
	if got := reports[0].GetStations(); len(got) != 2 || len(got[0].GetIpAddresses()) != 1 ||
		len(got[1].GetIpAddresses()) != 0 {
		t.Errorf("%v", got)
	}
	c.routing.Refuse(unix.EPERM)
	if reports, _ = c.pass(20 * time.Second); len(reports) != 20 {
		t.Errorf("%d reports in 20 s without a neighbour table", len(reports))
	}
	if got := reports[0].GetStations(); len(got) != 2 || len(got[0].GetIpAddresses()) != 0 {
		t.Errorf("%v", got)
	}
	if got := strings.Count(c.log.String(), "cannot read the stations' IP addresses"); got != 5 {
		t.Errorf("20 failures are logged %d times, want 5", got)
	}
	c.routing.Refuse(0)
	if reports, _ = c.pass(time.Second); len(reports[0].GetStations()[0].GetIpAddresses()) != 1 {
		t.Errorf("afterwards: %v", reports)
	}
}

func TestAKernelThatCannotBeReadCostsItsReportOnly(t *testing.T) {
	t.Parallel()
	c := newCell(t, time.Second)
	c.agent.Connected(c.nowUS)
	c.pass(2 * time.Second)
	c.wireless.Break(unix.NL80211_CMD_GET_STATION, errors.New("connection reset"))
	if reports, _ := c.pass(5 * time.Second); len(reports) > 0 {
		t.Errorf("%v", reports)
	}
	if got := strings.Count(c.log.String(), "cannot read the BSS"); got != 1 {
		t.Errorf("the same failure is logged %d times", got)
	}
	if c.dialled != 5 { // The first, and one after each failure but the last.
		t.Errorf("%d sockets", c.dialled)
	}
	c.wireless.Break(unix.NL80211_CMD_GET_STATION, nil)
	if reports, _ := c.pass(time.Second); len(reports) != 1 {
		t.Errorf("%v", reports)
	}
	c.wireless.Set(nl80211test.Device{Interface: nl80211.Interface{
		Index: 3, Name: "wlan0", MAC: mac.Address{2}, Type: unix.NL80211_IFTYPE_STATION,
	}})
	reports, _ := c.pass(time.Second)
	if len(reports) > 0 || !strings.Contains(c.log.String(), "wlan0 is not an access point") {
		t.Errorf("%v\n%s", reports, c.log.String())
	}
}

func TestSocketsAreOpenedAgainAfterTheyWereClosed(t *testing.T) {
	t.Parallel()
	c := newCell(t, time.Second)
	for want := 1; want <= 2; want++ {
		for range 2 {
			if _, err := c.kernel.Snapshot(); err != nil || c.dialled != want {
				t.Errorf("%v, %d sockets, want %d", err, c.dialled, want)
			}
			if _, err := c.kernel.Addresses(3); err != nil {
				t.Error(err)
			}
		}
		for range 2 { // The second time there is nothing to be closed.
			if err := c.sockets.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestASocketThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	sockets := agent.NewSockets(
		func(func(error)) (*nl80211.Client, error) { return nil, unix.EPERM },
		func(func(error)) (*neighbours.Client, error) { return nil, unix.EMFILE })
	kernel := sockets.Kernel("wlan0", func(error) {})
	if _, err := kernel.Snapshot(); !errors.Is(err, unix.EPERM) {
		t.Errorf("%v", err)
	}
	if _, err := kernel.Addresses(3); !errors.Is(err, unix.EMFILE) {
		t.Errorf("%v", err)
	}
	if err := sockets.Close(); err != nil {
		t.Error(err)
	}
}

func TestADifferenceFromHostapdsListIsChecked(t *testing.T) {
	t.Parallel()
	c := newCell(t, time.Second)
	c.stations(phone1, phone2)
	c.agent.Connected(c.nowUS)
	c.pass(2 * time.Second)
	if c.refreshed != 0 {
		t.Errorf("refreshed %d times while hostapd is not connected", c.refreshed)
	}
	c.hostapd(phone1, phone2)
	c.pass(2 * time.Second)
	if c.refreshed != 0 {
		t.Errorf("refreshed %d times without a difference", c.refreshed)
	}
	c.hostapd(phone1)
	c.pass(0)
	if c.refreshed != 0 {
		t.Errorf("refreshed %d times by a change: the kernel's table lags behind", c.refreshed)
	}
	c.pass(time.Second)
	if c.refreshed != 1 {
		t.Errorf("refreshed %d times, want once: the kernel has one more", c.refreshed)
	}
	c.stations()
	c.pass(time.Second)
	if c.refreshed != 2 {
		t.Errorf("refreshed %d times, want twice: the kernel has one less", c.refreshed)
	}
}
