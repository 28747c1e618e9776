// SPDX-License-Identifier: Apache-2.0

package cell_test

import (
	"slices"
	"testing"

	"github.com/airbound/airbound/lab/load/cell"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// withFlows is a terminal that sends to four addresses, after its first report.
func withFlows(t *testing.T, classes bool) *phone {
	t.Helper()
	p := parameters()
	p.Flows, p.Classes = 4, classes
	_, terminals := cell.New(p, startUS)
	made := &phone{Terminal: terminals[4], nowUS: startUS}
	made.Connected(startUS)
	made.next(startUS)
	if self := made.report.GetAgent(); (self.GetFlowsMax() > 0) != classes || self.GetCanMark() != classes ||
		self.GetBackEnd().GetCanSelectUidDestination() != classes {
		t.Errorf("classes %t: %v", classes, self)
	}
	return made
}

func TestATerminalSendsToSeveralAddresses(t *testing.T) {
	t.Parallel()
	one := newPhone(t, false)
	one.triggers(10)
	whole := one.report.GetDestinations()[0].GetDeliveredBytes()
	for _, classes := range []bool{false, true} {
		p := withFlows(t, classes)
		p.triggers(10)
		addresses, uids, sum := map[string]bool{}, map[uint32]bool{}, uint64(0)
		for _, d := range p.report.GetDestinations() {
			addresses[string(d.GetAddress())], uids[d.GetUids()[0]] = true, true
			sum += d.GetDeliveredBytes()
			if d.GetSrttUs() < d.GetMinRttUs() || d.GetConnectionsSending() != 1 ||
				(len(d.GetClasses()) == 1) != classes {
				t.Errorf("classes %t: %v", classes, d)
			}
		}
		if len(addresses) != 4 || len(uids) != 4 || sum < whole-4 || sum > whole+4 {
			t.Errorf("classes %t: %d addresses, %d users, %d bytes, not %d",
				classes, len(addresses), len(uids), sum, whole)
		}
	}
}

// A flow that is live sends what it needs, and its queue is what is on its way: it is no false claim.
func TestFlowsAreOfClassesInTurn(t *testing.T) {
	t.Parallel()
	p := withFlows(t, true)
	p.triggers(10)
	destinations := p.report.GetDestinations()
	before := destinations[0].GetDeliveredBytes()
	p.triggers(10)
	for i, d := range destinations {
		part := d.GetClasses()[0]
		if int(part.GetApplicationClass()) != i+1 || part.GetDeliveredBytes() != d.GetDeliveredBytes() ||
			part.GetQueuedBytes() != d.GetQueuedBytes() || part.GetConnectionsSending() != 1 ||
			!slices.Equal(part.GetUids(), d.GetUids()) {
			t.Errorf("%d: %v", i, d)
		}
	}
	live, bps := destinations[0], float64(destinations[0].GetDeliveredBytes()-before)*8/10
	if bps < 0.69e6 || bps > 0.71e6 {
		t.Errorf("live sends %.0f b/s", bps)
	}
	if queued := float64(live.GetQueuedBytes()) * 8; queued > bps*(0.5+float64(live.GetMinRttUs())/1e6) {
		t.Errorf("live has %.0f bits queued", queued)
	}
	if destinations[1].GetDeliveredBytes() <= 2*live.GetDeliveredBytes() {
		t.Errorf("the others have %v", destinations[1])
	}
}

func setFlows(generation uint64, leaseMS uint32, flows int) *airboundv1.TerminalCommand {
	set := &airboundv1.SetFlows{Generation: generation, LeaseMs: leaseMS, Flows: make([]*airboundv1.Flow, flows)}
	return &airboundv1.TerminalCommand{Command: &airboundv1.TerminalCommand_SetFlows{SetFlows: set}}
}

func TestFlowsAreInForceUntilTheirLeaseEnds(t *testing.T) {
	t.Parallel()
	p := withFlows(t, true)
	inForce := func(want uint64) {
		t.Helper()
		p.next(p.nowUS + 2*secondUS)
		if got := p.report.GetFlows().GetGeneration(); got != want {
			t.Errorf("generation %d, not %d", got, want)
		}
	}
	p.Command(p.nowUS, setFlows(3, 6000, 1))
	inForce(3)
	p.triggers(4)
	p.Command(p.nowUS, setFlows(3, 6000, 1)) // The same set prolongs the lease.
	p.triggers(4)
	inForce(3)
	p.triggers(4)
	inForce(0)
	p.Command(p.nowUS, setFlows(4, 6000, 1))
	p.Command(p.nowUS, setFlows(5, 6000, 0))
	inForce(0)
	if p.RefusedTotal() != 0 {
		t.Errorf("%d refused", p.RefusedTotal())
	}
	for _, command := range []*airboundv1.TerminalCommand{
		setFlows(5, 6000, 1), setFlows(6, 999, 1), setFlows(6, 6000, cell.FlowsMax+1),
	} {
		p.Command(p.nowUS, command)
	}
	if p.RefusedTotal() != 3 {
		t.Errorf("%d refused", p.RefusedTotal())
	}
	unable := withFlows(t, false)
	unable.Command(unable.nowUS, setFlows(1, 6000, 1))
	if unable.RefusedTotal() != 1 {
		t.Error("a terminal without classes takes flows")
	}
}
