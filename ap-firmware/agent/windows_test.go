// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/ap-firmware/agent"
	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/windows"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// fakeWindows remembers what the kernel would have.
type fakeWindows struct {
	attachErr, limitErr, detachErr error
	indexes                        []uint32
	attaches                       int
	limits                         []windows.Limit
	deadlineUS                     int64
	detached                       bool
	sets                           int
}

func (f *fakeWindows) Attach(_ string, indexes []uint32) error {
	f.attaches++
	f.indexes = indexes
	return f.attachErr
}

func (f *fakeWindows) Detach(string) error {
	f.detached = f.detachErr == nil
	return f.detachErr
}

func (f *fakeWindows) SetLimits(_ string, limits []windows.Limit, deadlineUS int64) error {
	if f.limitErr != nil && len(limits) > 0 {
		return f.limitErr
	}
	f.limits, f.deadlineUS = limits, deadlineUS
	f.sets++
	return nil
}

func (f *fakeWindows) Observe(int64) (windows.Observation, error) {
	return windows.Observation{Connections: 7, ConnectionsMax: 4096, EvictedTotal: 1, LimitedTotal: 9}, nil
}

func (f *fakeWindows) Destinations(station mac.Address) []*airboundv1.StationDestination {
	return []*airboundv1.StationDestination{{Address: []byte{10, 0, 0, station[4]}, SentBytes: 5}}
}

func newWindowsCell(t *testing.T, with agent.Windows) *cell {
	t.Helper()
	c := newCell(t, time.Second)
	c.agent = agent.New(agent.Config{
		Version: "1.2", Interval: time.Second, Sampler: c.kernel, RefreshAssociations: func() { c.refreshed++ },
		Malformed: &c.malformed, EDCA: c.edca(), Windows: with, DatapathID: func() uint64 { return 0x020000000009 },
		Logger: c.logger(),
	}, c.nowUS)
	return c
}

func (c *cell) windows(set *airboundv1.SetWindows) {
	c.command(&airboundv1.AccessPointCommand{Command: &airboundv1.AccessPointCommand_SetWindows{SetWindows: set}})
}

func windowsOf(generation uint64, stations ...mac.Address) *airboundv1.SetWindows {
	set := &airboundv1.SetWindows{
		Generation: generation, LeaseMs: 5000,
		Reason: &airboundv1.Reason{Code: airboundv1.ReasonCode_REASON_CODE_UPLOADS},
	}
	for _, station := range stations {
		set.Limits = append(set.Limits, &airboundv1.WindowLimit{Mac: station[:], MaxBytes: 30_000})
	}
	return set
}

func TestTheStateCountsStationsNotLimits(t *testing.T) {
	t.Parallel()
	c := newWindowsCell(t, agent.Windows{On: true, Kernel: &fakeWindows{}})
	c.stations(phone1, phone2)
	c.agent.Connected(c.nowUS)
	c.lastReport(time.Second)
	set := windowsOf(4, phone1, phone1, phone2)
	set.Limits[1].Address = []byte{192, 0, 2, 1}
	c.windows(set)
	if saved := c.saved.Windows; saved.Limits != 3 || saved.Stations != 2 {
		t.Errorf("%+v", saved)
	}
}

func (c *cell) lastReport(duration time.Duration) *airboundv1.AccessPointReport {
	c.t.Helper()
	reports, _ := c.pass(duration)
	if len(reports) == 0 {
		c.t.Fatal("no report")
	}
	return reports[len(reports)-1]
}

func TestWindowsAreLimitedUnderALease(t *testing.T) {
	t.Parallel()
	kernel := &fakeWindows{}
	c := newWindowsCell(t, agent.Windows{On: true, Kernel: kernel})
	if kernel.attaches != 1 || kernel.indexes != nil {
		t.Errorf("it begins with %+v", kernel)
	}
	c.stations(phone1, phone2)
	c.agent.Connected(c.nowUS)
	report := c.lastReport(time.Second)
	state := report.GetWindows()
	if !state.GetCanSet() || state.GetConnections() != 7 || state.GetConnectionsMax() != 4096 ||
		state.GetConnectionsEvictedTotal() != 1 || state.GetLimitedSegmentsTotal() != 9 ||
		state.GetLimitsMax() != windows.LimitsMax || report.GetDatapathId() != 0x020000000009 {
		t.Errorf("%v", report)
	}
	if got := report.GetStations()[1].GetDestinations(); len(got) != 1 || got[0].GetAddress()[3] != phone2[4] {
		t.Errorf("%v", got)
	}
	if !reflect.DeepEqual(kernel.indexes, []uint32{indexOfWLAN0}) {
		t.Errorf("%v", kernel.indexes)
	}
	c.windows(windowsOf(4, phone1))
	want := []windows.Limit{{Station: phone1, MaxBytes: 30_000}}
	if !reflect.DeepEqual(kernel.limits, want) || kernel.deadlineUS != c.nowUS+5_000_000 {
		t.Errorf("%+v", kernel)
	}
	saved := c.saved.Windows
	if saved == nil || saved.Generation != 4 || saved.Limits != 1 || saved.Stations != 1 || saved.SetsApplied != 1 ||
		saved.ReasonCode != "REASON_CODE_UPLOADS" {
		t.Errorf("%+v", saved)
	}
	if got := c.lastReport(2 * time.Second).GetWindows().GetGeneration(); got != 4 {
		t.Error(got)
	}
	c.windows(windowsOf(4, phone1)) // Prolonged.
	if kernel.deadlineUS != c.nowUS+5_000_000 || c.saved.Windows.SetsApplied != 1 {
		t.Errorf("%+v", kernel)
	}
	c.windows(windowsOf(3, phone2)) // Older.
	bad := windowsOf(9, phone2)
	bad.Limits[0].Mac = []byte{1}
	c.windows(bad)
	if got := c.lastReport(time.Second).GetWindows(); got.GetRefusedTotal() != 2 || got.GetGeneration() != 4 {
		t.Errorf("%v", got)
	}
	if !strings.Contains(c.saved.Windows.LastRefusal, "limits[0]: mac: 1 octets") || c.malformed.Total() != 2 {
		t.Errorf("%+v", c.saved.Windows)
	}
	// Without a controller the lease ends, and that is in no report.
	c.agent.Disconnected(c.nowUS)
	c.pass(5 * time.Second)
	if len(kernel.limits) != 0 || c.saved.Windows.LeasesEnded != 1 || c.saved.Windows.Generation != 0 {
		t.Errorf("%+v, %+v", kernel, c.saved.Windows)
	}
	// EDCA parameters are another subject.
	if c.saved.Counters.CommandsRefused != 0 {
		t.Errorf("%+v", c.saved.Counters)
	}
	if err := c.agent.Stop(c.nowUS); err != nil || !kernel.detached {
		t.Error(err)
	}
}

func TestAnEmptySetEndsTheLimits(t *testing.T) {
	t.Parallel()
	kernel := &fakeWindows{}
	c := newWindowsCell(t, agent.Windows{On: true, Kernel: kernel})
	c.agent.Connected(c.nowUS)
	c.windows(windowsOf(1, phone1))
	c.windows(&airboundv1.SetWindows{Generation: 2})
	if len(kernel.limits) != 0 || c.lastReport(time.Second).GetWindows().GetGeneration() != 0 {
		t.Errorf("%+v", kernel)
	}
}

func TestTheEndOfTheLeaseIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	c := newWindowsCell(t, agent.Windows{On: true, Kernel: &fakeWindows{}})
	c.stations()
	c.agent.Connected(c.nowUS)
	c.pass(500 * time.Millisecond)
	set := windowsOf(1, phone1)
	set.LeaseMs = 1234
	c.windows(set)
	endUS := c.nowUS + 1_234_000
	for {
		next := c.agent.NextWakeUS()
		if next == math.MaxInt64 {
			t.Fatal("it never wakes")
		}
		c.nowUS = max(c.nowUS, next)
		if report := c.agent.Wake(c.nowUS); report != nil && report.GetWindows().GetGeneration() == 0 {
			break
		}
	}
	if c.nowUS != endUS {
		t.Errorf("%d us later", c.nowUS-endUS)
	}
}

func TestWhyWindowsCannotBeLimited(t *testing.T) {
	t.Parallel()
	broken := &fakeWindows{limitErr: errors.New("no memory")}
	gone := &fakeWindows{attachErr: errors.New("find wlan0: no such interface")}
	for _, test := range []struct {
		name    string
		with    agent.Windows
		refusal string
		last    string
	}{
		{"lacking", agent.Windows{On: true, Off: "no BPF"}, "no BPF", "no BPF"},
		{"not attached", agent.Windows{On: true, Kernel: gone}, "find wlan0", "find wlan0"},
		{"failing", agent.Windows{On: true, Kernel: broken}, "", ""},
	} {
		c := newWindowsCell(t, test.with)
		c.stations(phone1)
		c.agent.Connected(c.nowUS)
		c.windows(windowsOf(1, phone1))
		state := c.lastReport(time.Second).GetWindows()
		if !strings.Contains(state.GetRefusal(), test.refusal) || state.GetCanSet() != (test.refusal == "") ||
			state.GetGeneration() != 0 || !strings.Contains(c.saved.Windows.LastRefusal, test.last) {
			t.Errorf("%s: %v, %+v", test.name, state, c.saved.Windows)
		}
		// An empty set is not refused.
		refused := state.GetRefusedTotal()
		c.windows(&airboundv1.SetWindows{Generation: 2})
		if got := c.lastReport(time.Second).GetWindows().GetRefusedTotal(); got != refused {
			t.Errorf("%s: %d refused", test.name, got)
		}
	}
	c := newWindowsCell(t, agent.Windows{On: true, Kernel: broken})
	c.windows(windowsOf(1, phone1))
	if got := c.saved.Windows; len(broken.limits) != 0 || got.ApplyFailures != 1 ||
		!strings.Contains(got.Reason, "limiting windows failed: no memory") {
		t.Errorf("%+v", got)
	}
}

// An agent whose owner does not permit it says nothing of windows, and refuses.
func TestWindowsAreOffByDefault(t *testing.T) {
	t.Parallel()
	c := newCell(t, time.Second)
	c.stations(phone1)
	c.agent.Connected(c.nowUS)
	c.windows(windowsOf(1, phone1))
	report := c.lastReport(time.Second)
	if report.GetWindows() != nil || report.GetStations()[0].GetDestinations() != nil || report.GetDatapathId() != 0 ||
		c.saved.Windows != nil {
		t.Errorf("%v", report)
	}
	c.agent.Disconnected(c.nowUS)
	if next := c.agent.NextWakeUS(); next != math.MaxInt64 {
		t.Error(next)
	}
}

// The stop is tried again, as that of EDCA parameters is.
func TestAStopThatFails(t *testing.T) {
	t.Parallel()
	kernel := &fakeWindows{detachErr: errors.New("busy")}
	c := newWindowsCell(t, agent.Windows{On: true, Kernel: kernel})
	if err := c.agent.Stop(c.nowUS); err == nil || !strings.Contains(err.Error(), "busy") {
		t.Error(err)
	}
	kernel.detachErr = nil
	if err := c.agent.Stop(c.nowUS); err != nil || !kernel.detached {
		t.Error(err)
	}
}

func TestOfSetsThatComeTooFastTheLastOneCounts(t *testing.T) {
	t.Parallel()
	kernel := &fakeWindows{}
	c := newWindowsCell(t, agent.Windows{On: true, Kernel: kernel})
	c.stations(phone1, phone2)
	c.agent.Connected(c.nowUS)
	const count = 1000
	for generation := range uint64(count) {
		limits := windowsOf(generation+1, phone1)
		limits.Limits[0].MaxBytes = uint32(30_000 + generation)
		c.windows(limits)
		c.pass(time.Millisecond)
	}
	c.pass(100 * time.Millisecond)
	if got := kernel.limits; len(got) != 1 || got[0].MaxBytes != 30_000+count-1 || kernel.sets > 22 {
		t.Errorf("%+v, set %d times", got, kernel.sets)
	}
	c.lastReport(11 * time.Second) // counters are saved every 10 s
	if got := c.saved.Counters; got.SetsHeldBack < count-21 || got.CommandsRefused != 0 {
		t.Errorf("%+v", got)
	}
}

func TestWhatRemovesLimitsNeverWaits(t *testing.T) {
	t.Parallel()
	kernel := &fakeWindows{}
	c := newWindowsCell(t, agent.Windows{On: true, Kernel: kernel})
	c.stations(phone1)
	c.agent.Connected(c.nowUS)
	for generation := range uint64(100) {
		c.windows(windowsOf(2*generation+1, phone1))
		c.windows(windowsOf(2*generation + 2))
		if len(kernel.limits) > 0 {
			t.Fatalf("%+v after the removal of generation %d", kernel.limits, 2*generation+1)
		}
	}
	if c.pass(time.Second); len(kernel.limits) > 0 || kernel.sets > 42 {
		t.Errorf("%+v, set %d times", kernel.limits, kernel.sets)
	}
}
