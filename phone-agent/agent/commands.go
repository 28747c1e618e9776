// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"

	"github.com/airbound/airbound/internal/reasontext"
	"github.com/airbound/airbound/internal/sparselog"
	"github.com/airbound/airbound/phone-agent/apply"
	"github.com/airbound/airbound/phone-agent/bounds"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// Command executes a command of the controller. One that is refused is counted and changes nothing.
func (a *Agent) Command(nowUS int64, command *airboundv1.TerminalCommand) {
	a.expire(nowUS)
	a.expireFlows(nowUS)
	a.refuse(a.execute(nowUS, command))
	a.save(nowUS)
}

// refuse counts a command that was not executed; nil is none.
func (a *Agent) refuse(err error) {
	if err == nil {
		return
	}
	a.state.LastRefusal = "command: " + err.Error()
	a.saved.due = true
	if sparselog.Add(&a.state.Counters.CommandsRefused, 1) {
		a.cfg.Logger.Warn("refused a command", "total", a.state.Counters.CommandsRefused, "error", err)
	}
}

func (a *Agent) execute(nowUS int64, command *airboundv1.TerminalCommand) error {
	switch command := command.GetCommand().(type) {
	case *airboundv1.TerminalCommand_SetBounds:
		return a.setBounds(nowUS, command.SetBounds)
	case *airboundv1.TerminalCommand_RenewLease:
		renewed, err := a.lease.Renew(nowUS, command.RenewLease)
		switch {
		case err != nil:
			return err
		case renewed:
			a.renewed(nowUS)
			if err := a.extend(); err != nil {
				a.giveUp(nowUS, err)
			}
		default:
			a.state.Counters.RenewalsIgnored++
		}
		return nil
	case *airboundv1.TerminalCommand_SetFlows:
		removes := len(command.SetFlows.GetFlows()) == 0 && a.flows.lease.InForce().Generation != 0
		if !a.heldFlows.Admit(nowUS, command.SetFlows, removes) {
			a.state.Counters.SetsHeldBack++
			return nil
		}
		return a.setFlows(nowUS, command.SetFlows)
	case *airboundv1.TerminalCommand_SetReporting:
		return a.setReporting(nowUS, command.SetReporting)
	case *airboundv1.TerminalCommand_Arrived:
		// What is to be done about it is not the agent's: it goes by way of the other sources' reports.
		_, err := ArrivalReport(command.Arrived)
		return err
	default:
		return errors.New("not a command of this contract")
	}
}

func (a *Agent) setBounds(nowUS int64, command *airboundv1.SetBounds) error {
	if err := a.lease.Set(nowUS, command); err != nil {
		return err
	}
	dueUS := a.pace.Take(nowUS)
	switch {
	case dueUS == nowUS, a.lease.InForce().Generation == 0 && a.inKernel != 0:
		a.putInForce(nowUS, command) // What is to be removed never waits.
	case a.lease.InForce().Generation == 0:
		a.waiting = nil
		a.state.Counters.SetsHeldBack++ // There is nothing to remove.
	default:
		a.waiting, a.waitingUS = command, dueUS
		a.state.Counters.SetsHeldBack++
	}
	return nil
}

// putWaitingInForce puts the last of the sets that came too fast in force, if it is its time. Its lease began when it
// came.
func (a *Agent) putWaitingInForce(nowUS int64) {
	if a.waiting == nil || nowUS < a.waitingUS {
		return
	}
	if dueUS := a.pace.Take(nowUS); dueUS != nowUS {
		a.waitingUS = dueUS
		return
	}
	a.putInForce(nowUS, a.waiting)
}

// putInForce brings the set that the lease has accepted last into the kernel.
func (a *Agent) putInForce(nowUS int64, command *airboundv1.SetBounds) {
	inForce, sentence := a.lease.InForce(), reasontext.Sentence(command.GetReason())
	if inForce.Generation == 0 {
		sentence = "the controller removed all bounds: " + sentence
	}
	a.explain(sentence)
	a.state.ReasonCode = command.GetReason().GetCode().String()
	a.state.ActiveSenders, a.state.CapacityBPS = command.GetActiveSenders(), command.GetCapacityBps()
	a.cfg.Logger.Info("new bounds", "generation", command.GetGeneration(), "rules", shortened(inForce.Entries),
		"lease_ms", inForce.LeaseMS, "reason", sentence, "code", a.state.ReasonCode,
		"active_senders", command.GetActiveSenders(), "capacity_bps", command.GetCapacityBps())
	a.apply(nowUS)
}

// explain replaces the reason, with one of the agent's own.
func (a *Agent) explain(reason string) {
	a.state.Reason, a.state.ReasonCode, a.state.ActiveSenders, a.state.CapacityBPS = reason, "", 0, 0
}

// rulesLogged keeps a set of hundreds of rules from filling the log; `status` shows them all.
const rulesLogged = 8

func shortened(rules []bounds.Rule) string {
	if len(rules) <= rulesLogged {
		return fmt.Sprint(rules)
	}
	return fmt.Sprintf("%v and %d more", rules[:rulesLogged], len(rules)-rulesLogged)
}

// expire restores the kernel's defaults if the lease has ended.
func (a *Agent) expire(nowUS int64) {
	generation := a.lease.InForce().Generation
	if !a.lease.Expire(nowUS) {
		return
	}
	a.state.Counters.LeasesEnded++
	a.explain(fmt.Sprintf("the lease on generation %d ended without a renewal", generation))
	a.boundsChanged, a.nextSampleUS = true, nowUS
	a.apply(nowUS)
	a.cfg.Logger.Warn("the lease ended, restoring the kernel's defaults", "generation", generation)
}

// apply brings the set in force into the kernel. If that fails, the kernel's defaults are restored, and the next Wake
// reports.
func (a *Agent) apply(nowUS int64) {
	a.saved.due = true
	a.waiting = nil
	if err := a.extend(); err != nil {
		a.giveUp(nowUS, err)
		return
	}
	outcome, err := a.cfg.BackEnd.Set(a.lease.InForce().Entries)
	if outcome.ExternalChange {
		a.state.Counters.ExternalChanges++
		a.cfg.Logger.Warn("something else had changed the kernel's rules")
	}
	if err == nil {
		a.state.Counters.SetsApplied++
		a.state.RestoreError = ""
		a.inKernel = a.lease.InForce().Generation
		return
	}
	a.giveUp(nowUS, err)
}

// extend gives a back end that has a lease of its own the one in force.
func (a *Agent) extend() error {
	leaser, has := a.cfg.BackEnd.(apply.Leaser)
	if inForce := a.lease.InForce(); has && inForce.Generation != 0 {
		return leaser.Lease(inForce.DeadlineUS)
	}
	return nil
}

// giveUp restores the kernel's defaults after a failure of the back end.
func (a *Agent) giveUp(nowUS int64, err error) {
	a.saved.due = true
	a.waiting, a.inKernel = nil, 0
	a.boundsChanged, a.nextSampleUS = true, nowUS
	a.state.Counters.ApplyFailures++
	a.explain("applying bounds failed: " + err.Error())
	a.cfg.Logger.Error("cannot apply bounds, restoring the kernel's defaults", "error", err)
	a.lease.Drop()
	a.restore()
}

func (a *Agent) restore() {
	a.saved.due = true
	if err := a.cfg.BackEnd.CleanUp(); err != nil {
		a.state.RestoreError = err.Error()
		if sparselog.Add(&a.state.Counters.DefaultsNotRestored, 1) {
			a.cfg.Logger.Error("cannot restore the kernel's defaults, will try again", "error", err)
		}
		return
	}
	a.state.RestoreError = ""
}

// retryRestore tries again to restore the kernel's defaults, at every sample.
func (a *Agent) retryRestore() {
	if a.state.RestoreError != "" {
		a.restore()
	}
}
