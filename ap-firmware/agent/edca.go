// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"

	"github.com/airbound/airbound/ap-firmware/edca"
	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/status"
	"github.com/airbound/airbound/internal/lease"
	"github.com/airbound/airbound/internal/reasontext"
	"github.com/airbound/airbound/internal/sparselog"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// EDCA is what the agent sets EDCA parameters with. Every field but Off is needed.
type EDCA struct {
	// Off is why a controller cannot set parameters here; empty if it can.
	Off string
	// Settings returns what hostapd's configuration says now; nil if that is not known.
	Settings func() *hostapd.Settings
	// ConfigPath is the file that Settings come from; empty if none is named.
	ConfigPath string
	// SetQueues sets the parameters of some queues and returns the index of the interface.
	SetQueues func([]edca.Queue) (uint32, error)
	// Announce sets what hostapd announces to the stations, of some queues; before is what it announces so far. With an
	// error, isChanged is whether hostapd may have taken a part.
	Announce func(before edca.Values, queues []edca.Queue) (isChanged bool, err error)
	// Records keeps what must be written back if the agent ends without doing so.
	Records Records
	// Left is the record of an earlier agent; nil if there is none.
	Left  *edca.Record
	Guard Guard
	// State is who the agent is; the rest of it is filled in.
	State     status.State
	SaveState func(status.State) error
	// AgentName is a random name of the process.
	AgentName string
	// Radios has who sets the queues of each radio.
	Radios *Radios
}

// Records keeps one record across a crash.
type Records interface {
	SaveRecord(record edca.Record) error
	RemoveRecord() error
}

// Guard writes the own values back when the agent cannot.
type Guard interface {
	// Protect makes sure that the guard runs and knows the lease's deadline, CLOCK_MONOTONIC.
	Protect(deadlineUS int64) error
	// Release ends the guard.
	Release()
}

const (
	// refusedForUS is how long a refusal of the driver is taken for its capability. Then the controller may try again.
	refusedForUS = 60_000_000
	// restoreAgainUS is the time between two tries to write the own values back.
	restoreAgainUS = 1_000_000
	// guardPollUS is how often the guard's life is checked while there is something to guard.
	guardPollUS = 1_000_000
)

// queues is the part of the agent that sets EDCA parameters.
type queues struct {
	cfg       EDCA
	logger    *slog.Logger
	account   *account
	malformed *sparselog.Counter
	lease     edca.Lease
	// touched are the categories that may have other values than their own in the kernel, and own is what returns. Own
	// values are read before they are replaced: hostapd.conf may change later, and hostapd uses it at its next start.
	touched        []edca.Category
	own            edca.Values
	announced      announced
	interfaceIndex uint32
	// wmmSeen is whether a station has agreed on WMM since the access point started.
	wmmSeen bool
	// refusal is why the driver set nothing, until retryUS.
	refusal string
	retryUS int64
	// When the next try to write back, and the next check of the guard, is due.
	nextRestoreUS, nextGuardUS int64
	// Whether the set in force changed otherwise than by a command, and that was not reported yet.
	changed bool
	// wiphy is the BSS's radio by the last sample; sampled is whether there was one.
	wiphy   uint32
	sampled bool
	// starts is what the radio's count of starts was when the set in force was applied.
	starts uint64
	// isMultiLink is whether the BSS is a multi-link device's.
	isMultiLink bool
}

// start writes back what an earlier agent left.
func (q *queues) start(nowUS int64) {
	q.account.explain("the controller has not set EDCA parameters yet")
	if left := q.cfg.Left; left != nil {
		q.takeOver(left)
		q.account.explain("an earlier agent ended without writing the own values back; this one does")
		q.logger.Warn("an earlier agent did not write the own values back, doing it now", "own", fmt.Sprint(left.Own),
			"announced", fmt.Sprint(left.OwnStations))
		q.restore(nowUS)
	}
}

// command executes a command of the controller. One that is refused is counted and changes nothing.
func (q *queues) command(nowUS int64, command *airboundv1.AccessPointCommand) {
	q.expire(nowUS)
	if err := q.execute(nowUS, command); err != nil {
		q.account.state.LastRefusal = err.Error()
		q.account.due = true
		if sparselog.Add(&q.account.state.Counters.CommandsRefused, 1) {
			q.logger.Warn("refused a command", "total", q.account.state.Counters.CommandsRefused, "error", err)
		}
	}
	if q.lease.InForce().Generation == 0 && !q.isLeft() {
		q.cfg.Radios.release(q.cfg.State.Interface)
	}
}

func (q *queues) execute(nowUS int64, command *airboundv1.AccessPointCommand) error {
	set := command.GetSetEdca()
	if set == nil {
		q.malformed.Add()
		return errors.New("not a command of this contract")
	}
	if err := q.permits(set); err != nil {
		return err
	}
	if len(set.GetQueues())+len(set.GetStations()) > 0 {
		if owner := q.cfg.Radios.claim(q.wiphy, q.cfg.State.Interface).owner; owner != q.cfg.State.Interface {
			return fmt.Errorf("set_edca: cannot set EDCA parameters: %s", claimedBy(owner))
		}
	}
	outcome, err := q.lease.Set(nowUS, set, q.stationsNow(q.settings()))
	if err != nil {
		q.malformed.Add()
		return err
	}
	if outcome == lease.Prolonged {
		q.prolonged(nowUS)
		return nil
	}
	sentence := reasontext.Sentence(set.GetReason())
	if outcome == lease.Emptied {
		sentence = "the controller restored the own values: " + sentence
	}
	q.account.explain(sentence)
	q.account.state.ReasonCode = set.GetReason().GetCode().String()
	q.logger.Info("new EDCA parameters", "generation", set.GetGeneration(), "queues", fmt.Sprint(q.lease.Queues()),
		"stations", fmt.Sprint(q.lease.Announced()), "lease_ms", q.lease.InForce().LeaseMS,
		"reason", sentence, "code", q.account.state.ReasonCode)
	if outcome == lease.Emptied {
		q.restore(nowUS)
	} else {
		q.apply(nowUS)
	}
	return nil
}

// permits returns why a set cannot be applied here. One that restores the own values is never refused for that, and
// what is in force is prolonged also while hostapd starts again.
func (q *queues) permits(set *airboundv1.SetEdca) error {
	if refusal := q.cannot(); refusal != "" && len(set.GetQueues()) > 0 {
		return fmt.Errorf("set_edca: cannot set EDCA parameters: %s", refusal)
	}
	isRenewal := set.GetGeneration() == q.lease.InForce().Generation
	if refusal := q.cannotAnnounce(); refusal != "" && len(set.GetStations()) > 0 && !isRenewal {
		return fmt.Errorf("set_edca: cannot set what the stations use: %s", refusal)
	}
	return nil
}

// cannot returns why the access point's own queues cannot be set; empty if they can.
func (q *queues) cannot() string {
	if refusal := q.unavailable(); refusal != "" {
		return refusal
	}
	return q.refusal
}

// unavailable returns why nothing can be set at all; empty if something may be.
func (q *queues) unavailable() string {
	switch owner := q.cfg.Radios.radio(q.wiphy).owner; {
	case q.cfg.Off != "":
		return q.cfg.Off
	case q.isMultiLink:
		return "a multi-link device has queues for each link, which this agent does not set"
	case q.sampled && owner != "" && owner != q.cfg.State.Interface:
		return claimedBy(owner)
	}
	return ""
}

func claimedBy(owner string) string {
	return "another BSS of the radio, that of " + owner + ", has set them: BSSs of a radio may share its queues"
}

func (q *queues) prolonged(nowUS int64) {
	if err := q.cfg.Guard.Protect(q.lease.InForce().DeadlineUS); err != nil {
		q.refuse(nowUS, err)
		return
	}
	q.account.renewed(nowUS, q.lease.InForce().LeaseMS)
}

// expire restores the own values if the lease has ended.
func (q *queues) expire(nowUS int64) {
	generation := q.lease.InForce().Generation
	if !q.lease.Expire(nowUS) {
		return
	}
	q.account.state.Counters.LeasesEnded++
	q.changed = true
	q.account.explain(fmt.Sprintf("the lease on generation %d ended without a renewal", generation))
	q.logger.Warn("the lease ended, restoring the access point's own EDCA parameters", "generation", generation)
	q.restore(nowUS)
}

// permit ends a refusal of the driver, and one of hostapd.
func (q *queues) permit() {
	if q.refusal != "" || q.announced.refusal != "" {
		q.refusal, q.announced.refusal, q.changed, q.account.due = "", "", true, true
	}
}

// connected follows the beginning and the end of a stream.
func (q *queues) connected(isConnected bool) {
	q.account.state.Connected, q.account.due = isConnected, true
	if isConnected {
		q.account.failing("", &q.account.connectionError)
		q.lease.NewStream()
		q.changed = false
	}
}

// observe takes over what a sample of the kernel says.
func (q *queues) observe(nowUS int64, snapshot nl80211.Snapshot) {
	q.wiphy, q.sampled, q.isMultiLink = snapshot.Interface.Wiphy, true, len(snapshot.Interface.Links) > 0
	if !q.wmmSeen && slices.ContainsFunc(snapshot.Stations, func(s nl80211.Station) bool { return s.WMM }) {
		q.wmmSeen, q.account.due = true, true
	}
	if len(q.lease.Queues()) > 0 && snapshot.Interface.Index != q.interfaceIndex {
		q.hostapdStarted(nowUS) // The interface was removed and created again.
	}
	if q.cannot() != q.account.state.Refusal || q.cannotAnnounce() != q.account.state.StationsRefusal {
		q.account.due = true // Another BSS of the radio has set the queues, or does no more.
	}
}

// wake does what is due.
func (q *queues) wake(nowUS int64) {
	q.expire(nowUS)
	if q.account.state.RestoreError != "" && nowUS >= q.nextRestoreUS {
		q.restore(nowUS)
	}
	if q.refusal != "" && nowUS >= q.retryUS || q.announced.refusal != "" && nowUS >= q.announced.retryUS {
		q.permit()
	}
	if inForce := q.lease.InForce(); inForce.Generation != 0 && nowUS >= q.nextGuardUS {
		q.nextGuardUS = nowUS + guardPollUS
		if err := q.cfg.Guard.Protect(inForce.DeadlineUS); err != nil {
			q.refuse(nowUS, err)
		}
		q.applyAfterOthers(nowUS)
	}
	q.announceAgain(nowUS)
}

// nextWakeUS is when wake must be called at the latest.
func (q *queues) nextWakeUS() int64 {
	next := int64(math.MaxInt64)
	if inForce := q.lease.InForce(); inForce.Generation != 0 {
		next = min(inForce.DeadlineUS, q.nextGuardUS)
		if len(q.lease.Announced()) > 0 && q.announced.attached {
			next = min(next, q.announced.nextUS)
		}
	}
	if q.account.state.RestoreError != "" {
		next = min(next, q.nextRestoreUS)
	}
	if q.refusal != "" {
		next = min(next, q.retryUS)
	}
	if q.announced.refusal != "" {
		next = min(next, q.announced.retryUS)
	}
	return next
}

// stop restores the own values for good.
func (q *queues) stop(nowUS int64) error {
	q.lease.Drop()
	q.restore(nowUS)
	q.account.explain("the agent stopped")
	q.account.state.Connected, q.account.state.Stopped = false, q.account.state.RestoreError == ""
	if q.account.state.RestoreError != "" {
		return fmt.Errorf("write the own EDCA parameters back: %s", q.account.state.RestoreError)
	}
	return nil
}
