// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"errors"
	"math"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/ap-firmware/agent"
	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/stationflows"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// fakeFlows remembers what the kernel would have.
type fakeFlows struct {
	tryErr, setErr, endErr error
	// vlansErr is what a set fails with for all interfaces that are not named like the BSS.
	vlansErr   error
	tries      int
	sets       int
	indexes    []uint32
	flows      []stationflows.Flow
	deadlineUS int64
}

func (f *fakeFlows) Try(string) error {
	f.tries++
	return f.tryErr
}

func (f *fakeFlows) Set(_ string, indexes []uint32, flows []stationflows.Flow, deadlineUS int64) error {
	f.sets++
	if err := f.setErr; err != nil {
		f.flows = nil
		return err
	}
	if f.vlansErr != nil && len(indexes) > 0 {
		return f.vlansErr
	}
	f.indexes, f.flows, f.deadlineUS = indexes, flows, deadlineUS
	return nil
}

func (f *fakeFlows) End(string) error {
	if f.endErr == nil {
		f.flows = nil
	}
	return f.endErr
}

func (f *fakeFlows) MarkedTotal(string) (uint64, error) { return 9, nil }

func newFlowsCell(t *testing.T, kernel *fakeFlows) *cell {
	t.Helper()
	c := newCell(t, time.Second)
	c.agent = agent.New(agent.Config{
		Version: "1.2", Interval: time.Second, Sampler: c.kernel, RefreshAssociations: func() { c.refreshed++ },
		Malformed: &c.malformed, EDCA: c.edca(), StationFlows: agent.StationFlows{On: true, Kernel: kernel},
		Logger: c.logger(),
	}, c.nowUS)
	return c
}

func (c *cell) flows(set *airboundv1.SetStationFlows) {
	c.command(&airboundv1.AccessPointCommand{
		Command: &airboundv1.AccessPointCommand_SetStationFlows{SetStationFlows: set},
	})
}

func flowsOf(generation uint64, stations ...mac.Address) *airboundv1.SetStationFlows {
	set := &airboundv1.SetStationFlows{
		Generation: generation, LeaseMs: 5000,
		Reason: &airboundv1.Reason{Code: airboundv1.ReasonCode_REASON_CODE_UPLOADS},
	}
	for _, station := range stations {
		set.Flows = append(set.Flows, &airboundv1.StationFlow{
			Mac: station[:], Address: []byte{192, 0, 2, 1}, Category: airboundv1.AccessCategory_ACCESS_CATEGORY_VIDEO,
		})
	}
	return set
}

func TestFlowsAreInForceUnderALease(t *testing.T) {
	t.Parallel()
	kernel := &fakeFlows{}
	c := newFlowsCell(t, kernel)
	c.stations(phone1, phone2)
	c.agent.Connected(c.nowUS)
	state := c.lastReport(time.Second).GetStationFlows()
	if !state.GetCanSet() || state.GetFlowsMax() != stationflows.FlowsMax || state.GetMarkedPacketsTotal() != 9 {
		t.Errorf("%v", state)
	}
	if kernel.tries != 1 || kernel.sets != 0 {
		t.Errorf("%+v", kernel)
	}
	c.flows(flowsOf(4, phone1))
	want := []stationflows.Flow{{Station: phone1, Address: netip.MustParseAddr("192.0.2.1")}}
	if !reflect.DeepEqual(kernel.flows, want) || kernel.deadlineUS != c.nowUS+5_000_000 ||
		!reflect.DeepEqual(kernel.indexes, []uint32{indexOfWLAN0}) {
		t.Errorf("%+v", kernel)
	}
	saved := c.saved.StationFlows
	if saved == nil || saved.Generation != 4 || saved.Flows != 1 || saved.Stations != 1 || saved.SetsApplied != 1 ||
		saved.ReasonCode != "REASON_CODE_UPLOADS" {
		t.Errorf("%+v", saved)
	}
	kernel.sets = 0
	if got := c.lastReport(2 * time.Second).GetStationFlows().GetGeneration(); got != 4 || kernel.sets != 2 {
		t.Errorf("%d, and the kernel was looked at %d times in 2 s", got, kernel.sets)
	}
	c.flows(flowsOf(4, phone1)) // Prolonged.
	if kernel.deadlineUS != c.nowUS+5_000_000 || c.saved.StationFlows.SetsApplied != 1 {
		t.Errorf("%+v", kernel)
	}
	c.flows(flowsOf(3, phone2)) // Older.
	bad := flowsOf(9, phone2)
	bad.Flows[0].Mac = []byte{1}
	c.flows(bad)
	if got := c.lastReport(time.Second).GetStationFlows(); got.GetRefusedTotal() != 2 || got.GetGeneration() != 4 {
		t.Errorf("%v", got)
	}
	if !strings.Contains(c.saved.StationFlows.LastRefusal, "flows[0]: mac: 1 octets") || c.malformed.Total() != 2 {
		t.Errorf("%+v", c.saved.StationFlows)
	}
	// Without a controller the interface is found by its name, and the lease ends.
	c.agent.Disconnected(c.nowUS)
	c.pass(2500 * time.Millisecond)
	if kernel.indexes != nil || len(kernel.flows) != 1 {
		t.Errorf("%+v", kernel)
	}
	c.pass(2500 * time.Millisecond)
	if len(kernel.flows) != 0 || c.saved.StationFlows.LeasesEnded != 1 || c.saved.StationFlows.Generation != 0 {
		t.Errorf("%+v, %+v", kernel, c.saved.StationFlows)
	}
	if next := c.agent.NextWakeUS(); next != math.MaxInt64 {
		t.Errorf("it wakes at %d", next)
	}
}

func TestAnEmptySetEndsTheFlows(t *testing.T) {
	t.Parallel()
	kernel := &fakeFlows{}
	c := newFlowsCell(t, kernel)
	c.agent.Connected(c.nowUS)
	c.flows(flowsOf(1, phone1))
	c.flows(&airboundv1.SetStationFlows{Generation: 2})
	if len(kernel.flows) != 0 || c.lastReport(time.Second).GetStationFlows().GetGeneration() != 0 {
		t.Errorf("%+v", kernel)
	}
}

func TestTheEndOfTheFlowsLeaseIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	c := newFlowsCell(t, &fakeFlows{})
	c.stations()
	c.agent.Connected(c.nowUS)
	c.pass(500 * time.Millisecond)
	set := flowsOf(1, phone1)
	set.LeaseMs = 1234
	c.flows(set)
	endUS := c.nowUS + 1_234_000
	for {
		next := c.agent.NextWakeUS()
		if next == math.MaxInt64 {
			t.Fatal("it never wakes")
		}
		c.nowUS = max(c.nowUS, next)
		if report := c.agent.Wake(c.nowUS); report != nil && report.GetStationFlows().GetGeneration() == 0 {
			break
		}
	}
	if c.nowUS != endUS {
		t.Errorf("%d us later", c.nowUS-endUS)
	}
}

// What the kernel lacks is tried again after a minute, or when there are other interfaces.
func TestWhyFlowsCannotBeSet(t *testing.T) {
	t.Parallel()
	kernel := &fakeFlows{tryErr: errors.New("no BPF")}
	c := newFlowsCell(t, kernel)
	c.stations(phone1)
	c.agent.Connected(c.nowUS)
	c.flows(flowsOf(1, phone1))
	state := c.lastReport(time.Second).GetStationFlows()
	if state.GetCanSet() || state.GetRefusal() != "no BPF" || state.GetGeneration() != 0 || kernel.sets != 0 ||
		!strings.Contains(c.saved.StationFlows.LastRefusal, "cannot give packets a category: no BPF") {
		t.Errorf("%v, %+v", state, c.saved.StationFlows)
	}
	// An empty set is not refused.
	c.flows(&airboundv1.SetStationFlows{Generation: 2})
	if got := c.lastReport(time.Second).GetStationFlows().GetRefusedTotal(); got != 1 {
		t.Errorf("%d refused", got)
	}
	// At the start, and when the first report had the interfaces.
	if kernel.tries != 2 {
		t.Errorf("%d tries", kernel.tries)
	}
	kernel.tryErr = nil
	c.pass(61 * time.Second)
	if state := c.lastReport(time.Second).GetStationFlows(); !state.GetCanSet() || kernel.tries != 3 {
		t.Errorf("%v after %d tries", state, kernel.tries)
	}
}

func TestASetThatFailsEnds(t *testing.T) {
	t.Parallel()
	kernel := &fakeFlows{}
	c := newFlowsCell(t, kernel)
	c.stations(phone1)
	c.agent.Connected(c.nowUS)
	c.lastReport(time.Second)
	// One of the interfaces has gone since: the BSS's own remains.
	kernel.vlansErr = errors.New("no such device")
	c.flows(flowsOf(1, phone1))
	if len(kernel.flows) != 1 || kernel.indexes != nil {
		t.Errorf("%+v", kernel)
	}
	kernel.setErr = errors.New("no memory")
	state := c.lastReport(time.Second).GetStationFlows()
	saved := c.saved.StationFlows
	if state.GetCanSet() || state.GetRefusal() != "no memory" || state.GetGeneration() != 0 ||
		saved.ApplyFailures != 1 || !strings.Contains(saved.Reason, "giving packets a category failed: no memory") {
		t.Errorf("%v, %+v", state, saved)
	}
}

// An agent whose owner does not permit it says nothing of flows, and refuses.
func TestFlowsAreOff(t *testing.T) {
	t.Parallel()
	c := newCell(t, time.Second)
	c.stations(phone1)
	c.agent.Connected(c.nowUS)
	c.flows(flowsOf(1, phone1))
	c.flows(&airboundv1.SetStationFlows{Generation: 2})
	if report := c.lastReport(time.Second); report.GetStationFlows() != nil || c.saved.StationFlows != nil {
		t.Errorf("%v", report)
	}
	if err := c.agent.Stop(c.nowUS); err != nil {
		t.Error(err)
	}
}

// The stop is tried again, as that of EDCA parameters is.
func TestAStopOfFlowsThatFails(t *testing.T) {
	t.Parallel()
	kernel := &fakeFlows{endErr: errors.New("busy")}
	c := newFlowsCell(t, kernel)
	c.flows(flowsOf(1, phone1))
	if err := c.agent.Stop(c.nowUS); err == nil || !strings.Contains(err.Error(), "busy") {
		t.Error(err)
	}
	kernel.endErr = nil
	if err := c.agent.Stop(c.nowUS); err != nil || len(kernel.flows) != 0 {
		t.Error(err)
	}
}
