// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"

	"github.com/airbound/airbound/internal/lease"
	"github.com/airbound/airbound/internal/reasontext"
	"github.com/airbound/airbound/internal/sparselog"
	"github.com/airbound/airbound/phone-agent/flows"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// Flows is how an agent changes how packets leave.
type Flows struct {
	// Can is what it can do. Without any, neither Kernel nor Admission is used.
	Can    flows.Capabilities
	Kernel flows.Kernel
	// Admission is nil unless Can.CanAdmit.
	Admission flows.Admission
}

// flowState is what of the flows is not in the status.
type flowState struct {
	lease *flows.Lease
	// Whether the driver has admitted time, or may have.
	admitted bool
	// Why not, as it was counted and logged for this set.
	admissionFailure string
	// When the driver is asked again.
	admitNextUS int64
}

func (a *Agent) setFlows(nowUS int64, command *airboundv1.SetFlows) error {
	outcome, err := a.flows.lease.Set(nowUS, command)
	if err != nil {
		a.state.Counters.FlowSetsRefused++
		return err
	}
	inForce := a.flows.lease.InForce()
	if outcome != lease.Prolonged {
		a.saved.due = true
		a.flows.admissionFailure = ""
		sentence := reasontext.Sentence(command.GetReason())
		if outcome == lease.Emptied {
			sentence = "the controller removed all flows: " + sentence
		}
		a.state.Flows.Reason = sentence
		a.cfg.Logger.Info("new flows", "generation", command.GetGeneration(), "flows", fmt.Sprint(inForce.Entries),
			"lease_ms", inForce.LeaseMS, "reason", sentence)
	} else if leaseUS := int64(inForce.LeaseMS) * 1000; a.saved.flowsEndUS-nowUS < leaseUS/2 {
		a.saved.due = true
	}
	a.applyFlows(nowUS)
	return nil
}

// applyFlows brings the set in force into the kernel. If that fails, packets leave as they are, and the next Wake
// reports.
func (a *Agent) applyFlows(nowUS int64) {
	if a.cfg.Flows.Kernel == nil {
		return
	}
	inForce := a.flows.lease.InForce()
	if err := a.cfg.Flows.Kernel.Set(a.state.Interface, inForce.Entries, inForce.DeadlineUS); err != nil {
		a.flowsFailed(err)
		a.flows.lease.Drop()
		a.state.Flows.Reason = "applying flows failed: " + err.Error()
		a.boundsChanged, a.nextSampleUS = true, nowUS
		a.admit()
		return
	}
	a.state.Flows.Failure = a.flows.admissionFailure
	a.admit()
}

func (a *Agent) flowsFailed(err error) {
	a.saved.due = true
	a.state.Flows.Failure = err.Error()
	if sparselog.Add(&a.state.Counters.FlowFailures, 1) {
		a.cfg.Logger.Error("cannot apply flows as they were set", "error", err, "total", a.state.Counters.FlowFailures)
	}
}

// admit has the driver admit what the set in force has. Without that, the marks stay: where the access point demands no
// admission they need none.
func (a *Agent) admit() {
	wanted := flows.AdmittedUSPerS(a.flows.lease.InForce().Entries)
	before := a.state.Flows.AdmittedUSPerS
	a.state.Flows.AdmittedUSPerS = 0
	if wanted > 0 || a.flows.admitted {
		admitted, err := a.askDriver(wanted)
		if admitted {
			a.state.Flows.AdmittedUSPerS = wanted
		}
		if err != nil && a.flows.admissionFailure == "" {
			a.flows.admissionFailure = "admission: " + err.Error()
			a.flowsFailed(fmt.Errorf("admission: %w", err))
		}
		if err == nil && a.flows.admissionFailure != "" {
			a.flows.admissionFailure, a.state.Flows.Failure = "", ""
		}
	}
	if a.state.Flows.AdmittedUSPerS != before {
		a.saved.due = true
	}
}

func (a *Agent) askDriver(usPerS uint32) (admitted bool, err error) {
	if a.cfg.Flows.Admission == nil {
		return false, fmt.Errorf("this agent cannot have time admitted: %s", a.cfg.Flows.Can.Refusal)
	}
	admitted, err = a.cfg.Flows.Admission.Admit(a.state.Interface, usPerS)
	a.flows.admitted = usPerS > 0 || err != nil
	return admitted, err
}

// expireFlows leaves packets as they are if the lease has ended. Otherwise it asks for admission again that is missing:
// the access point may demand it only now, or the driver has forgotten it with an association.
func (a *Agent) expireFlows(nowUS int64) {
	generation := a.flows.lease.InForce().Generation
	if a.flows.lease.Expire(nowUS) {
		a.state.Counters.FlowLeasesEnded++
		a.boundsChanged, a.nextSampleUS = true, nowUS
		a.saved.due = true
		a.applyFlows(nowUS)
		a.state.Flows.Reason = fmt.Sprintf("the lease on generation %d ended without another set", generation)
		a.cfg.Logger.Warn("the lease of flows ended, packets leave as they are", "generation", generation)
		return
	}
	missing := generation != 0 && a.state.Flows.AdmittedUSPerS == 0 || generation == 0 && a.flows.admitted
	if missing && nowUS >= a.flows.admitNextUS {
		a.flows.admitNextUS = nowUS + leasePollUS
		a.admit()
	}
}

// flowsMoved brings the flows to another interface, and has the driver admit again what it forgets with an association.
func (a *Agent) flowsMoved(nowUS int64) {
	if a.flows.lease.InForce().Generation != 0 {
		a.applyFlows(nowUS)
	}
}

// stopFlows leaves packets as they are for good.
func (a *Agent) stopFlows() error {
	a.flows.lease.Drop()
	a.state.Flows.Reason = ""
	if a.cfg.Flows.Kernel == nil {
		return nil
	}
	a.admit()
	return a.cfg.Flows.Kernel.Close()
}

// countFlows takes over the kernel's counters.
func (a *Agent) countFlows() {
	if a.cfg.Flows.Kernel == nil {
		return
	}
	counts, err := a.cfg.Flows.Kernel.Counters()
	if err != nil {
		return // The last ones stay.
	}
	a.state.Flows.Counters = counts
}

// flowReport is what is reported of them; nil if the agent takes none.
func (a *Agent) flowReport() *airboundv1.FlowState {
	if a.cfg.Flows.Can.Max() == 0 {
		return nil
	}
	a.countFlows()
	counts := a.state.Flows.Counters
	return &airboundv1.FlowState{
		Generation:   a.flows.lease.InForce().Generation,
		RefusedTotal: a.state.Counters.FlowSetsRefused, FailuresTotal: a.state.Counters.FlowFailures,
		Failure: a.state.Flows.Failure, MarkedPacketsTotal: counts.Marked, PacedPacketsTotal: counts.Paced,
		DroppedPacketsTotal: counts.Dropped,
	}
}
