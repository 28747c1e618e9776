// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"log/slog"

	"github.com/airbound/airbound/ap-firmware/status"
	"github.com/airbound/airbound/internal/lease"
	"github.com/airbound/airbound/internal/reasontext"
	"github.com/airbound/airbound/internal/sparselog"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// leasedSet is what limits of windows and flows to stations have in common: the controller's set in force, why there
// can be none, and what the state file says of both.
type leasedSet[Entry comparable] struct {
	words     setWords
	logger    *slog.Logger
	malformed *sparselog.Counter
	lease     *lease.Lease[Entry]
	// refusal is why there can be no set now, as the kernel said when it was last asked.
	refusal string
	// changed is whether the set in force changed otherwise than by a command, and that was not reported yet.
	changed bool
	state   status.Leased
	// due is whether the state file must be written, and savedEndsUS the end of the lease that is in it.
	due         bool
	savedEndsUS int64
	notRemoved  uint64
}

// setWords is how a kind of set is named in the log and in the state file.
type setWords struct {
	// entries are what the set has, doing is what the kernel does with them.
	entries, doing string
	// lacking is said when the kernel cannot begin, beginning when it can again, without when a lease has ended.
	lacking, beginning, without string
}

// setCommand is a command that replaces a set, or prolongs it.
type setCommand interface {
	GetGeneration() uint64
	GetReason() *airboundv1.Reason
}

// explain replaces the reason, with one of the agent's own.
func (s *leasedSet[Entry]) explain(reason string) {
	s.state.Reason, s.state.ReasonCode, s.due = reason, "", true
}

// isInForce returns whether there is a set.
func (s *leasedSet[Entry]) isInForce() bool { return s.lease.InForce().Generation != 0 }

// connected begins a stream to the controller.
func (s *leasedSet[Entry]) connected() {
	s.lease.NewStream()
	s.changed = false
}

// refuse takes over why there can be no set; nil if there can.
func (s *leasedSet[Entry]) refuse(err error) {
	refusal := ""
	if err != nil {
		refusal = err.Error()
	}
	if refusal == s.refusal {
		return
	}
	s.refusal, s.due = refusal, true
	if refusal != "" {
		s.logger.Warn(s.words.lacking+", trying again", "error", refusal)
	} else {
		s.logger.Info(s.words.beginning)
	}
}

// refused counts a command that was not executed.
func (s *leasedSet[Entry]) refused(err error) {
	s.state.LastRefusal, s.due = err.Error(), true
	if sparselog.Add(&s.state.CommandsRefused, 1) {
		s.logger.Warn("refused a command", "total", s.state.CommandsRefused, "error", err)
	}
}

// accepted takes over why the set in force is another one than before, or none.
func (s *leasedSet[Entry]) accepted(outcome lease.Outcome, command setCommand) {
	if outcome == lease.Prolonged {
		return
	}
	inForce, sentence := s.lease.InForce(), reasontext.Sentence(command.GetReason())
	if outcome == lease.Emptied {
		sentence = fmt.Sprintf("the controller ended the %s: %s", s.words.entries, sentence)
	}
	s.explain(sentence)
	s.state.ReasonCode = command.GetReason().GetCode().String()
	s.logger.Info("a new set of "+s.words.entries, "generation", command.GetGeneration(), "entries",
		len(inForce.Entries), "lease_ms", inForce.LeaseMS, "reason", sentence, "code", s.state.ReasonCode)
}

// applied counts a set that the kernel has. A renewal is written to the state file at half of the lease.
func (s *leasedSet[Entry]) applied(nowUS int64, outcome lease.Outcome) {
	if s.savedEndsUS-nowUS < int64(s.lease.InForce().LeaseMS)*usPerMS/2 {
		s.due = true
	}
	if outcome == lease.Replaced {
		s.state.SetsApplied++
	}
}

// failed ends the set in force, since it could not be applied.
func (s *leasedSet[Entry]) failed(err error) {
	s.state.ApplyFailures++
	s.changed = true
	s.explain(s.words.doing + " failed: " + err.Error())
	s.logger.Error(s.words.doing+" failed, the set ends", "error", err)
	s.lease.Drop()
}

// removed says so if the kernel could not remove a set at once: it ends it with its lease.
func (s *leasedSet[Entry]) removed(err error) {
	if err != nil && sparselog.Add(&s.notRemoved, 1) {
		s.logger.Error("cannot remove the "+s.words.entries+"; they end with their lease", "error", err)
	}
}

// expire returns whether the lease has ended; in the kernel it ends by itself.
func (s *leasedSet[Entry]) expire(nowUS int64) bool {
	generation := s.lease.InForce().Generation
	if !s.lease.Expire(nowUS) {
		return false
	}
	s.state.LeasesEnded++
	s.changed = true
	s.explain(fmt.Sprintf("the lease on generation %d ended without a renewal", generation))
	s.logger.Warn("the lease ended, "+s.words.without, "generation", generation)
	return true
}

// saved is what is written to the state file now.
func (s *leasedSet[Entry]) saved(refusal string, stations int) status.Leased {
	inForce := s.lease.InForce()
	s.savedEndsUS = inForce.DeadlineUS
	now := s.state
	now.Refusal, now.Generation, now.Stations = refusal, inForce.Generation, stations
	now.LeaseEndsUS = inForce.DeadlineUS
	return now
}
