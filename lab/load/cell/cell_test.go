// SPDX-License-Identifier: Apache-2.0

package cell_test

import (
	"math"
	"net/netip"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/airbound/airbound/lab/load/cell"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const (
	secondUS = 1_000_000
	startUS  = 60 * secondUS
	interval = airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_INTERVAL
)

func parameters() cell.Parameters {
	return cell.Parameters{
		Seed: 1, Cells: 2, TerminalsPerCell: 10, Sending: 1, IntervalUS: secondUS, ChangeEveryUS: 10 * secondUS,
	}
}

// run gives one cell's reports for so many seconds, with a change whenever one is due.
func run(c *cell.Cell, fromUS int64, seconds int) []*airboundv1.AccessPointReport {
	var reports []*airboundv1.AccessPointReport
	for c.NextUS() < fromUS+int64(seconds)*secondUS {
		nowUS := c.NextUS()
		report, ok := proto.Clone(c.Report(nowUS, interval)).(*airboundv1.AccessPointReport)
		if ok {
			reports = append(reports, report)
		}
		c.ChangeSenders(nowUS)
	}
	return reports
}

func TestTheFirstReportsFollowTheContract(t *testing.T) {
	cells, _ := cell.New(parameters(), startUS)
	c := cells[0]
	c.Connected(startUS)
	reports := run(c, startUS, 10)
	if gap := reports[1].GetMonotonicUs() - reports[0].GetMonotonicUs(); gap > 500_000 {
		t.Errorf("the second report comes after %d us", gap)
	}
	for i, report := range reports {
		if report.GetSequence() != uint64(i+1) {
			t.Errorf("report %d has sequence %d", i, report.GetSequence())
		}
	}
	if n := len(reports); n < 10 || n > 12 {
		t.Errorf("%d reports in 10 s", n)
	}
}

func TestCountersShowTheSendersAndTheCapacity(t *testing.T) {
	cells, terminals := cell.New(parameters(), startUS)
	c := cells[0]
	c.Connected(startUS)
	reports := run(c, startUS, 5)
	before, after := reports[2], reports[4]
	seconds := float64(after.GetMonotonicUs()-before.GetMonotonicUs()) / secondUS
	var payload, packets float64
	for i, station := range after.GetStations() {
		old := before.GetStations()[i]
		frames := float64(station.GetRxPackets() - old.GetRxPackets())
		packets += frames
		payload += float64(station.GetRxBytes()-old.GetRxBytes()) - 34*frames
		connectedMS := station.GetConnectedTimeMs() - old.GetConnectedTimeMs()
		if connectedMS != uint64(math.Round(seconds*1000)) {
			t.Errorf("connected time moved by %d ms in %v s", connectedMS, seconds)
		}
		if address := netip.AddrFrom4([4]byte(station.GetIpAddresses()[0])); address != terminals[i].Source {
			t.Errorf("station %d has address %v, its stream %v", i, address, terminals[i].Source)
		}
	}
	if mbps := payload * 8 / seconds / 1e6; math.Abs(mbps-90) > 1 {
		t.Errorf("the cell carries %v Mb/s", mbps)
	}
	if size := payload / packets; math.Abs(size-1500) > 20 {
		t.Errorf("packets have %v bytes", size)
	}
	busyUS := after.GetSurvey().GetBusyUs() - before.GetSurvey().GetBusyUs()
	activeUS := after.GetSurvey().GetActiveUs() - before.GetSurvey().GetActiveUs()
	busy := float64(busyUS) / float64(activeUS)
	if math.Abs(busy-0.9) > 0.01 {
		t.Errorf("busy ratio %v", busy)
	}
	if c.ActiveSenders() != 10 {
		t.Errorf("%d senders of 10", c.ActiveSenders())
	}
}

func TestTheNextReportAfterAChangeShowsAllOfIt(t *testing.T) {
	cells, _ := cell.New(parameters(), startUS)
	c := cells[0]
	c.Connected(startUS)
	c.StartChanges(startUS)
	numbers := map[int]int{}
	for range 45 {
		nowUS := c.NextUS()
		c.Report(nowUS, interval)
		numbers[c.ActiveSenders()]++
		changed := c.ChangeSenders(nowUS)
		if changed != nil && len(changed) != 5 {
			t.Errorf("%d terminals changed", len(changed))
		}
	}
	// The first report shows nothing: there is no other to compare it with.
	delete(numbers, 0)
	if len(numbers) != 2 || numbers[5] < 15 || numbers[10] < 15 {
		t.Errorf("numbers of senders: %v", numbers)
	}
}

func TestTheSameSeedGivesTheSameReports(t *testing.T) {
	history := func(seed uint64) []*airboundv1.AccessPointReport {
		p := parameters()
		p.Seed = seed
		cells, _ := cell.New(p, startUS)
		cells[1].Connected(startUS)
		cells[1].StartChanges(startUS)
		return run(cells[1], startUS, 30)
	}
	same := func(a, b []*airboundv1.AccessPointReport) bool {
		for i := range min(len(a), len(b)) {
			if !proto.Equal(a[i], b[i]) {
				return false
			}
		}
		return len(a) == len(b)
	}
	if !same(history(1), history(1)) {
		t.Error("same seed, other reports")
	}
	if same(history(1), history(2)) {
		t.Error("other seed, same reports")
	}
}

func TestAStationThatRoamsBeginsAnew(t *testing.T) {
	cells, terminals := cell.New(parameters(), startUS)
	a, b := cells[0], cells[1]
	a.Connected(startUS)
	b.Connected(startUS)
	run(a, startUS, 5)
	run(b, startUS, 5)
	nowUS := int64(startUS + 5*secondUS)
	left, joined := a.Roam(nowUS, terminals[3], b)
	if terminals[3].Cell() != b || len(a.Members()) != 9 || len(b.Members()) != 11 {
		t.Fatal("did not roam")
	}
	if n := len(a.Report(nowUS, left).GetStations()); n != 9 {
		t.Errorf("%d stations where it left", n)
	}
	report := b.Report(nowUS, joined)
	if station := report.GetStations()[10]; station.GetRxBytes() != 0 || station.GetConnectedTimeMs() != 0 {
		t.Errorf("the station begins with %v", station)
	}
	if report.GetTrigger() != airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_STATION_JOINED {
		t.Errorf("trigger is %v", report.GetTrigger())
	}
	run(b, nowUS, 3)
	if b.ActiveSenders() != 11 {
		t.Errorf("%d senders", b.ActiveSenders())
	}
}

func TestAddressesAreDistinct(t *testing.T) {
	p := parameters()
	p.Cells, p.TerminalsPerCell, p.FirstCell = 300, 20, 7
	cells, terminals := cell.New(p, startUS)
	seen := map[netip.Addr]bool{}
	add := func(address netip.Addr) {
		if seen[address] || !address.IsLoopback() {
			t.Errorf("address %v", address)
		}
		seen[address] = true
	}
	for _, c := range cells {
		add(c.Source)
	}
	for _, terminal := range terminals {
		add(terminal.Source)
	}
	p.SharedAddress = true
	cells, terminals = cell.New(p, startUS)
	if cells[3].Source != terminals[3].Source {
		t.Error("not shared")
	}
	cells[0].Connected(startUS)
	if addresses := cells[0].Report(startUS, interval).GetStations()[0].GetIpAddresses(); len(addresses) > 0 {
		t.Errorf("reports %v", addresses)
	}
}

func TestTimesKeepToTheirPlan(t *testing.T) {
	p := parameters()
	p.ReconnectEveryUS = 10 * secondUS
	_, terminals := cell.New(p, startUS)
	times := &terminals[0].Reconnects
	if times.Due(startUS + 1000*secondUS) {
		t.Error("due before changes started")
	}
	terminals[0].StartChanges(startUS)
	count := 0
	// However late one is looked at, no event is lost.
	for nowUS := int64(startUS); nowUS < startUS+1000*secondUS; nowUS += 3 * secondUS {
		if times.Due(nowUS) {
			count++
		}
	}
	if count < 90 || count > 110 {
		t.Errorf("%d in 1000 s, one each 10 s was asked for", count)
	}
}

func TestATerminalThatRejoinsIsAnotherStation(t *testing.T) {
	p := parameters()
	cells, terminals := cell.New(p, startUS)
	c, before := cells[0], map[string]bool{}
	c.Connected(startUS)
	for _, station := range c.Report(startUS, interval).GetStations() {
		before[string(station.GetMac())] = true
	}
	joined := airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_STATION_JOINED
	if trigger := c.Rejoin(startUS+secondUS, terminals[0]); trigger != joined {
		t.Errorf("trigger %v", trigger)
	}
	seen := map[string]bool{}
	for _, station := range c.Report(startUS+secondUS, joined).GetStations() {
		mac := station.GetMac()
		seen[string(mac)] = true
		if before[string(mac)] {
			continue
		}
		if len(mac) != 6 || mac[0]&3 != 2 || station.GetConnectedTimeMs() != 0 || station.GetRxBytes() != 0 {
			t.Errorf("the new station is %v", station)
		}
	}
	if len(seen) != p.TerminalsPerCell || len(c.Members()) != p.TerminalsPerCell {
		t.Errorf("%d stations, %d members", len(seen), len(c.Members()))
	}
	var report airboundv1.TerminalReport
	terminals[0].Report(startUS+secondUS, &report)
	if mac := string(report.GetMac()); before[mac] || !seen[mac] {
		t.Errorf("the terminal reports %x", mac)
	}
}
