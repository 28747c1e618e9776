// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/stationflows"
	"github.com/airbound/airbound/ap-firmware/status"
	"github.com/airbound/airbound/internal/lease"
	"github.com/airbound/airbound/internal/sparselog"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// StationFlows is what the agent gives packets to stations another access category with. Its zero value does not.
type StationFlows struct {
	// On is whether the access point's owner permits it.
	On     bool
	Kernel StationFlowsKernel
}

// StationFlowsKernel is the kernel's part, which the BSSs of a process share. A BSS is named by its interface.
type StationFlowsKernel interface {
	// Try returns what is lacking, and changes nothing.
	Try(bss string) error
	// Set makes sure that the flows are in force at the BSS's interfaces, or at the one that is named like it. The
	// kernel ends them at the deadline, CLOCK_MONOTONIC, by itself. After an error nothing is in force.
	Set(bss string, indexes []uint32, flows []stationflows.Flow, deadlineUS int64) error
	// End ends all flows of the BSS.
	End(bss string) error
	// MarkedTotal counts the packets that were given another category.
	MarkedTotal(bss string) (uint64, error)
}

const (
	// setAgainUS is the time between two looks whether a set is still in force while there are no reports.
	setAgainUS = 2_000_000
	// tryAgainUS is the time between two tries whether the kernel can do it, unless the interfaces have changed.
	tryAgainUS = 60_000_000
)

// flows is the part of the agent that gives packets to stations another access category.
type flows struct {
	leasedSet[stationflows.Flow]
	flows   *stationflows.Lease
	cfg     StationFlows
	bss     string
	indexes []uint32
	// nextUS is when the set in force is looked at again, or without one the kernel is tried again.
	nextUS      int64
	marked      uint64
	countErrors uint64
}

func newFlows(cfg Config) flows {
	set := &stationflows.Lease{}
	return flows{
		leasedSet: leasedSet[stationflows.Flow]{
			logger: cfg.Logger, malformed: cfg.Malformed, lease: &set.Lease, words: setWords{
				entries: "flows", doing: "giving packets a category",
				lacking:   "cannot give packets to stations a category",
				beginning: "packets to stations can be given a category",
				without:   "packets to stations go as they come",
			},
		},
		flows: set, cfg: cfg.StationFlows, bss: cfg.EDCA.State.Interface,
	}
}

func (f *flows) start(nowUS int64) {
	if !f.cfg.On {
		return
	}
	f.explain("the controller has not given packets a category yet")
	f.try(nowUS)
}

func (f *flows) cannot() string {
	if !f.cfg.On {
		return "switched off on the access point"
	}
	return f.refusal
}

// try finds out whether the kernel can do it.
func (f *flows) try(nowUS int64) {
	f.nextUS = nowUS + tryAgainUS
	f.refuse(f.cfg.Kernel.Try(f.bss))
}

// command executes a command of the controller. One that is refused is counted and changes nothing.
func (f *flows) command(nowUS int64, command *airboundv1.SetStationFlows) {
	f.expire(nowUS)
	if err := f.execute(nowUS, command); err != nil {
		f.refused(err)
	}
}

func (f *flows) execute(nowUS int64, command *airboundv1.SetStationFlows) error {
	// An empty set is never refused for that.
	if refusal := f.cannot(); refusal != "" && len(command.GetFlows()) > 0 {
		return fmt.Errorf("set_station_flows: cannot give packets a category: %s", refusal)
	}
	outcome, err := f.flows.Set(nowUS, command)
	if err != nil {
		f.malformed.Add()
		return err
	}
	f.accepted(outcome, command)
	switch {
	case outcome == lease.Emptied:
		f.remove(nowUS)
	case f.apply(nowUS, f.indexes):
		f.applied(nowUS, outcome)
	}
	return nil
}

// apply makes sure that the set in force is in the kernel. If it cannot be, the set ends.
func (f *flows) apply(nowUS int64, indexes []uint32) bool {
	f.nextUS = nowUS + setAgainUS
	inForce := f.lease.InForce()
	err := f.cfg.Kernel.Set(f.bss, indexes, inForce.Entries, inForce.DeadlineUS)
	if err != nil && len(indexes) > 0 { // A VLAN's interface may be gone since the last report.
		err = f.cfg.Kernel.Set(f.bss, nil, inForce.Entries, inForce.DeadlineUS)
	}
	if err == nil {
		return true
	}
	f.failed(err)
	f.nextUS = nowUS + tryAgainUS
	f.refuse(err)
	return false
}

// remove removes the flows. If that fails the kernel ends them with their lease.
func (f *flows) remove(nowUS int64) {
	f.nextUS = nowUS + tryAgainUS
	if f.cfg.On {
		f.removed(f.cfg.Kernel.End(f.bss))
	}
}

// expire follows the end of the lease.
func (f *flows) expire(nowUS int64) {
	if f.leasedSet.expire(nowUS) {
		f.remove(nowUS)
	}
}

// observe takes over what a sample of the kernel says.
func (f *flows) observe(nowUS int64, snapshot nl80211.Snapshot) {
	if !f.cfg.On {
		return
	}
	indexes := snapshot.Indexes()
	areOthers := !slices.Equal(indexes, f.indexes)
	f.indexes = indexes
	switch {
	case f.isInForce():
		f.apply(nowUS, indexes)
	case f.refusal != "" && areOthers:
		f.try(nowUS)
	}
	marked, err := f.cfg.Kernel.MarkedTotal(f.bss)
	if err != nil {
		if sparselog.Add(&f.countErrors, 1) {
			f.logger.Warn("cannot count the packets of flows", "error", err, "total", f.countErrors)
		}
		return
	}
	f.marked = marked
}

// message is what a report says; nil if the owner does not permit it.
func (f *flows) message() *airboundv1.StationFlowState {
	if !f.cfg.On {
		return nil
	}
	refusal := f.cannot()
	return &airboundv1.StationFlowState{
		CanSet: refusal == "", Refusal: refusal, Generation: f.lease.InForce().Generation,
		RefusedTotal: f.state.CommandsRefused, FlowsMax: stationflows.FlowsMax, MarkedPacketsTotal: f.marked,
	}
}

// wake does what is due.
func (f *flows) wake(nowUS int64) {
	if !f.cfg.On {
		return
	}
	f.expire(nowUS)
	switch {
	case nowUS < f.nextUS:
	case f.isInForce():
		f.apply(nowUS, nil) // There was no report for a while: which interfaces there are is not known.
	case f.refusal != "":
		f.try(nowUS)
	}
}

// nextWakeUS is when wake must be called at the latest.
func (f *flows) nextWakeUS() int64 {
	if inForce := f.lease.InForce(); inForce.Generation != 0 {
		return min(f.nextUS, inForce.DeadlineUS)
	}
	if f.refusal != "" {
		return f.nextUS
	}
	return math.MaxInt64
}

// stop ends it for good.
func (f *flows) stop() error {
	if !f.cfg.On {
		return nil
	}
	f.lease.Drop()
	f.explain("the agent stopped")
	if err := f.cfg.Kernel.End(f.bss); err != nil {
		return errors.Join(errors.New("remove the program of flows"), err)
	}
	return nil
}

// saved is what is written to the state file now; nil if the owner does not permit it.
func (f *flows) saved() *status.StationFlows {
	f.due = false
	if !f.cfg.On {
		return nil
	}
	entries := f.lease.InForce().Entries
	stations := map[mac.Address]struct{}{}
	for _, flow := range entries {
		stations[flow.Station] = struct{}{}
	}
	return &status.StationFlows{
		Leased: f.leasedSet.saved(f.cannot(), len(stations)), Flows: len(entries), PacketsMarked: f.marked,
	}
}
