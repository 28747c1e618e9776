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
	if err := a.execute(nowUS, command); err != nil {
		a.state.LastRefusal = "command: " + err.Error()
		a.saved.due = true
		if sparselog.Add(&a.state.Counters.CommandsRefused, 1) {
			a.cfg.Logger.Warn("refused a command", "total", a.state.Counters.CommandsRefused, "error", err)
		}
	}
	a.save(nowUS)
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
	return nil
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
