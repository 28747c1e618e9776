// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"

	"github.com/airbound/airbound/phone-agent/bounds"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// Command takes a command of the controller. One that is refused is counted and changes nothing.
func (a *Agent) Command(nowUS int64, command *airboundv1.TerminalCommand) {
	a.expire(nowUS)
	if err := a.obey(nowUS, command); err != nil {
		a.state.LastRefusal = "command: " + err.Error()
		a.saved.due = true
		if count(&a.state.Counters.CommandsRefused, 1) {
			a.cfg.Logger.Warn("refused a command", "total", a.state.Counters.CommandsRefused, "error", err)
		}
	}
	a.save(nowUS)
}

func (a *Agent) obey(nowUS int64, command *airboundv1.TerminalCommand) error {
	switch command := command.GetCommand().(type) {
	case *airboundv1.TerminalCommand_SetBounds:
		if err := a.lease.Set(nowUS, setOf(command.SetBounds)); err != nil {
			return err
		}
		held := a.lease.Held()
		a.state.Reason = held.Reason
		if held.Generation == 0 {
			a.state.Reason = fmt.Sprintf("the controller lifted all bounds with generation %d", command.SetBounds.GetGeneration())
		}
		a.cfg.Logger.Info("new bounds", "generation", held.Generation, "rules", shown(held.Rules), "lease_ms", held.LeaseMS,
			"reason", a.state.Reason)
		a.apply()
		return nil
	case *airboundv1.TerminalCommand_RenewLease:
		renewed, err := a.lease.Renew(nowUS, command.RenewLease.GetGeneration(), command.RenewLease.GetLeaseMs())
		switch {
		case err != nil:
			return err
		case renewed:
			a.renewed(nowUS)
		default:
			a.state.Counters.RenewalsPassedOver++
		}
		return nil
	default:
		return errors.New("neither set_bounds nor renew_lease")
	}
}

// rulesLogged keeps a set of hundreds of rules from filling the log; `status` tells them all.
const rulesLogged = 8

func shown(rules []bounds.Rule) string {
	if len(rules) <= rulesLogged {
		return fmt.Sprint(rules)
	}
	return fmt.Sprintf("%v and %d more", rules[:rulesLogged], len(rules)-rulesLogged)
}

// expire restores the kernel's defaults if the lease has ended.
func (a *Agent) expire(nowUS int64) {
	generation := a.lease.Held().Generation
	if !a.lease.Expire(nowUS) {
		return
	}
	a.state.Counters.LeasesEnded++
	a.state.Reason = fmt.Sprintf("the lease on generation %d ended without a renewal", generation)
	a.apply()
	a.cfg.Logger.Warn("the lease ended, the kernel's defaults return", "generation", generation)
}

// apply brings the set in force into the kernel. If that fails, the kernel's defaults are what is left to want.
func (a *Agent) apply() {
	a.saved.due = true
	outcome, err := a.cfg.BackEnd.Set(a.lease.Held().Rules)
	if outcome.ForeignChange {
		a.state.Counters.ForeignChanges++
		a.cfg.Logger.Warn("someone else had changed the kernel's rules")
	}
	if err == nil {
		a.state.Counters.SetsApplied++
		a.state.RestoreError = ""
		return
	}
	a.state.Counters.ApplyFailures++
	a.state.Reason = "applying bounds failed: " + err.Error()
	a.cfg.Logger.Error("cannot apply bounds, restoring the kernel's defaults", "error", err)
	a.lease.Drop()
	a.restore()
}

func (a *Agent) restore() {
	a.saved.due = true
	if err := a.cfg.BackEnd.CleanUp(); err != nil {
		a.state.RestoreError = err.Error()
		if count(&a.state.Counters.DefaultsNotRestored, 1) {
			a.cfg.Logger.Error("cannot restore the kernel's defaults, will try again", "error", err)
		}
		return
	}
	a.state.RestoreError = ""
}

// retryRestore keeps trying to give the phone back its defaults, at the pace of the samples.
func (a *Agent) retryRestore() {
	if a.state.RestoreError != "" {
		a.restore()
	}
}
