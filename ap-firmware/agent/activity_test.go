// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/agent"
	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/nl80211/nl80211test"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const (
	senders  = airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_SENDERS
	look     = 200 * time.Millisecond
	ackBytes = 86 // With what the driver counts of 802.11.
	// reportBytes are those of a phone's agent when it reports: one packet.
	reportBytes = 131
)

// sent is what a phone has sent since it associated.
type sent struct{ bytes, packets int }

// busyCell is a cell whose agent looks five times a second, three looks after its last report by the interval.
func busyCell(t *testing.T) *cell {
	t.Helper()
	c := newCell(t, time.Second)
	c.agent = agent.New(agent.Config{
		Version: "1.2", Interval: time.Second, LookInterval: look, Sampler: c.kernel,
		RefreshAssociations: func() { c.refreshed++ }, Malformed: &c.malformed, EDCA: c.edca(), Logger: c.logger(),
	}, c.nowUS)
	c.have(sent{}, sent{})
	c.agent.Connected(c.nowUS)
	c.pass(2300 * time.Millisecond)
	return c
}

// have sets the counters of both phones.
func (c *cell) have(phones ...sent) {
	device := nl80211test.Device{Interface: nl80211.Interface{
		Index: 3, Name: "wlan0", MAC: mac.Address{2}, Type: unix.NL80211_IFTYPE_AP, FrequencyMHz: 2437,
		CenterFrequencyMHz: 2437, WidthMHz: 20,
	}}
	for i, phone := range phones {
		device.Stations = append(device.Stations, nl80211.Station{
			MAC: []mac.Address{phone1, phone2}[i], Associated: true, Authorized: true,
			RXBytes: uint64(phone.bytes), RXPackets: uint32(phone.packets),
		})
	}
	c.wireless.Set(device)
}

// run lets looks pass, in each of which phone 1 sends some full packets and phone 2 as many ACKs, and returns the
// triggers of the reports, and the last report.
func (c *cell) run(total *[2]sent, packets ...int) (triggers []airboundv1.AccessPointReportTrigger,
	last *airboundv1.AccessPointReport,
) {
	c.t.Helper()
	for _, n := range packets {
		total[0].bytes, total[0].packets = total[0].bytes+n*1534, total[0].packets+n
		total[1].bytes, total[1].packets = total[1].bytes+n*ackBytes, total[1].packets+n
		c.have(total[0], total[1])
		reports, _ := c.pass(look)
		for _, report := range reports {
			triggers, last = append(triggers, report.GetTrigger()), report
		}
	}
	return triggers, last
}

func TestAStationThatBeginsOrStopsIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	c, total := busyCell(t), [2]sent{}
	triggers, report := c.run(&total, 100)
	if !slices.Equal(triggers, []airboundv1.AccessPointReportTrigger{senders}) {
		t.Fatalf("begins: %v", triggers)
	}
	stations := report.GetStations()
	if report.GetRecentUs() != 200_000 || stations[0].GetRecentRxBytes() != 153_400 ||
		stations[0].GetRecentRxPackets() != 100 ||
		stations[0].GetSilent() || !stations[1].GetSilent() || stations[1].GetRecentRxPackets() != 100 {
		t.Errorf("%v", report)
	}
	for range 3 {
		triggers, _ = c.run(&total, 100, 100, 100, 100, 100)
		if slices.Contains(triggers, senders) || len(triggers) != 1 {
			t.Errorf("sends on: %v", triggers)
		}
	}
	triggers, report = c.run(&total, 0)
	if !slices.Equal(triggers, []airboundv1.AccessPointReportTrigger{senders}) || !report.GetStations()[0].GetSilent() {
		t.Errorf("stops: %v %v", triggers, report)
	}
	if triggers, _ = c.run(&total, 0, 0, 0, 0, 0); slices.Contains(triggers, senders) {
		t.Errorf("is silent: %v", triggers)
	}
}

func TestAStationThatPausesAsItDoesIsNotSilent(t *testing.T) {
	t.Parallel()
	c, total := busyCell(t), [2]sent{}
	c.run(&total, 20, 0, 0, 20) // The first pause is not known yet.
	triggers, _ := c.run(&total, 0, 0, 20, 0, 0, 20, 0, 0, 20)
	if slices.Contains(triggers, senders) {
		t.Errorf("pauses: %v", triggers)
	}
	if triggers, _ = c.run(&total, 0, 0, 0, 0, 0); !slices.Contains(triggers, senders) {
		t.Errorf("stops: %v", triggers)
	}
}

// report has the agent of phone 1 send a report.
func (s *sent) report() { s.bytes, s.packets = s.bytes+reportBytes, s.packets+1 }

func TestWhatAPhonesAgentReportsIsNoPauseOfItsUpload(t *testing.T) {
	t.Parallel()
	c, total := busyCell(t), [2]sent{}
	for range 2 {
		total[0].report()
		c.run(&total, 0, 0, 0, 0, 0)
	}
	if triggers, _ := c.run(&total, 20); !slices.Contains(triggers, senders) {
		t.Fatalf("begins: %v", triggers)
	}
	if triggers, _ := c.run(&total, 0); !slices.Contains(triggers, senders) {
		t.Errorf("stops: %v", triggers)
	}
}

func TestWhatAPhonesAgentReportsDoesNotProlongItsUpload(t *testing.T) {
	t.Parallel()
	c, total := busyCell(t), [2]sent{}
	c.run(&total, 20, 0, 0, 20, 0, 0, 20) // Pauses of 0.4 s: silent after 0.7 s.
	c.run(&total, 0)
	total[0].report() // That it has stopped.
	if _, report := c.run(&total, 0, 0, 0); !report.GetStations()[0].GetSilent() {
		t.Errorf("stops: %v", report)
	}
}

func TestSmallPacketsAreDataIfThereAreEnough(t *testing.T) {
	t.Parallel()
	c, total := busyCell(t), [2]sent{}
	c.run(&total, 100)
	for range 20 {
		total[0].bytes, total[0].packets = total[0].bytes+2*334, total[0].packets+2 // 3 kB of IP a second.
		if triggers, _ := c.run(&total, 0); slices.Contains(triggers, senders) {
			t.Fatal("stops")
		}
	}
}

func TestAPauseBetweenUploadsIsNone(t *testing.T) {
	t.Parallel()
	c, total := busyCell(t), [2]sent{}
	c.run(&total, 2, 0, 0, 0, 0) // Such as a request.
	c.run(&total, 20)
	if triggers, _ := c.run(&total, 0); !slices.Contains(triggers, senders) {
		t.Errorf("stops: %v", triggers)
	}
}

func TestNoPauseIsAllowedForLongerThanASecond(t *testing.T) {
	t.Parallel()
	c, total := busyCell(t), [2]sent{}
	c.run(&total, 20, 0, 0, 0, 0)
	c.nowUS += look.Microseconds() + 1000 // A look that is late, so that the fifth after it is not a second later.
	c.run(&total, 20)
	if triggers, _ := c.run(&total, 0, 0, 0); slices.Contains(triggers, senders) {
		t.Fatalf("pauses: %v", triggers)
	}
	if triggers, _ := c.run(&total, 0); !slices.Contains(triggers, senders) {
		t.Errorf("stops: %v", triggers)
	}
}

func TestAPacketIsNoUpload(t *testing.T) {
	t.Parallel()
	c, total := busyCell(t), [2]sent{}
	if triggers, _ := c.run(&total, 1, 0, 1, 0, 0, 0, 3, 0, 0); slices.Contains(triggers, senders) {
		t.Errorf("%v", triggers)
	}
}

func TestAStationThatAssociatesAnewBeginsAtZero(t *testing.T) {
	t.Parallel()
	c, total := busyCell(t), [2]sent{}
	c.run(&total, 100, 100, 100)
	total = [2]sent{}
	_, report := c.run(&total, 1, 1, 1, 1, 1)
	for _, station := range report.GetStations() {
		if station.GetRecentRxBytes() > 2*1534 {
			t.Errorf("%v", station)
		}
	}
}

func TestWithoutLooksThereIsNoLastMoment(t *testing.T) {
	t.Parallel()
	c := newCell(t, time.Second)
	c.stations(phone1)
	c.agent.Connected(c.nowUS)
	reports, at := c.pass(3 * time.Second)
	if len(at) != 4 || reports[3].GetRecentUs() != 0 || reports[3].GetStations()[0].GetSilent() {
		t.Errorf("%v at %v", reports, at)
	}
}

// controller/tests/core/test_uploads.py reads the same table.
func TestTheFiguresAreThoseOfTheController(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/active-senders.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int64{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([a-z ]+) \| ([0-9]+) \|`).FindAllStringSubmatch(string(text), -1) {
		if found[row[1]], err = strconv.ParseInt(row[2], 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	delete(found, "start packet") // Of the controller alone.
	if !maps.Equal(found, agent.Figures) {
		t.Errorf("%v, in the code %v", found, agent.Figures)
	}
}
