// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/edca"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/internal/sparselog"
)

// apply brings the set in force into the kernel. A category that the set before had and this one has not gets its own
// values again. What must be undone is recorded, and guarded, before anything is set.
func (q *queues) apply(nowUS int64) {
	q.account.due = true
	if owner := q.cfg.Radios.claim(q.wiphy, q.cfg.State.Interface).owner; owner != q.cfg.State.Interface {
		q.refuse(nowUS, errors.New(claimedBy(owner))) // The interface is on another radio now.
		return
	}
	q.readOwn()
	if err := q.protect(); err != nil {
		q.refuse(nowUS, err)
		return
	}
	if !q.setQueues(nowUS, q.lease.Queues()) || !q.announce(nowUS, q.lease.Announced()) {
		return
	}
	q.nextGuardUS = nowUS + guardPollUS
	q.account.state.Counters.SetsApplied++
	q.starts = q.cfg.Radios.radio(q.wiphy).starts
	q.account.state.RestoreError = ""
}

// setQueues brings the own queues' part of a set into the kernel.
func (q *queues) setQueues(nowUS int64, queues []edca.Queue) bool {
	categories := edca.CategoriesOf(queues)
	concerned := append(slices.Clone(categories), q.touched...)
	if len(concerned) == 0 {
		return true
	}
	before := q.touched
	q.touched = concerned
	index, err := q.cfg.SetQueues(q.own.With(queues).Of(concerned))
	if err == nil {
		q.touched, q.interfaceIndex = categories, index
		return true
	}
	q.refuse(nowUS, err)
	if len(before) == 0 && errors.Is(err, nl80211.ErrRefused) && q.account.state.RestoreError != "" &&
		len(q.announced.touched) == 0 {
		// A driver that refuses the own values as well has set nothing: there is nothing to write back.
		q.restored()
	}
	return false
}

// protect records what must be undone of the set in force, and has it guarded.
func (q *queues) protect() error {
	own := append(edca.CategoriesOf(q.lease.Queues()), q.touched...)
	announced := append(edca.CategoriesOf(q.lease.Announced()), q.announced.touched...)
	deadlineUS := q.lease.InForce().DeadlineUS
	if err := q.cfg.Records.SaveRecord(q.recordOf(own, announced, deadlineUS)); err != nil {
		return err
	}
	return q.cfg.Guard.Protect(deadlineUS)
}

// refuse ends the set in force, and takes the failure for the driver's or the guard's capability.
func (q *queues) refuse(nowUS int64, err error) {
	q.refusal, q.retryUS = refusalOf(err), nowUS+refusedForUS
	q.failed(nowUS, err)
}

// failed ends the set in force, since it could not be applied or cannot be guarded.
func (q *queues) failed(nowUS int64, err error) {
	q.account.state.Counters.ApplyFailures++
	q.changed = true
	q.account.explain("setting EDCA parameters failed: " + err.Error())
	q.logger.Error("cannot set EDCA parameters, restoring the access point's own", "error", err)
	q.lease.Drop()
	q.restore(nowUS)
}

// refusalOf says what a person can do about a refusal.
func refusalOf(err error) string {
	switch {
	case errors.Is(err, unix.EPERM) && errors.Is(err, nl80211.ErrRefused):
		return "the kernel does not permit it: the agent needs CAP_NET_ADMIN"
	case errors.Is(err, unix.EOPNOTSUPP):
		return "the driver cannot set the parameters of its transmit queues"
	default:
		return err.Error()
	}
}

// restore writes the own values back. If that fails it is tried again at every wake.
func (q *queues) restore(nowUS int64) {
	q.account.due = true
	err := q.restoreQueues()
	againUS := int64(restoreAgainUS)
	if err == nil {
		againUS = restoreAnnouncedAgainUS
	}
	if err = errors.Join(err, q.restoreAnnounced()); err == nil {
		q.restored()
		return
	}
	q.account.state.RestoreError, q.nextRestoreUS = err.Error(), nowUS+againUS
	if sparselog.Add(&q.account.state.Counters.OwnNotRestored, 1) {
		q.logger.Error("cannot write the own EDCA parameters back, will try again", "error", err)
	}
}

func (q *queues) restoreQueues() error {
	if len(q.touched) == 0 {
		return nil
	}
	_, err := q.cfg.SetQueues(q.own.Of(q.touched))
	if err == nil || errors.Is(err, nl80211.ErrNotUp) {
		q.touched = nil
		return nil
	}
	return err
}

// restored follows when nothing is left to be written back.
func (q *queues) restored() {
	q.touched, q.announced.touched, q.account.state.RestoreError = nil, nil, ""
	q.cfg.Radios.release(q.cfg.State.Interface)
	q.cfg.Guard.Release()
	if err := q.cfg.Records.RemoveRecord(); err != nil {
		q.logger.Warn("the record of the own values stays; the next start writes them again", "error", err)
	}
}

// hostapdStarted follows when hostapd, or the kernel, has set the parameters of all queues: the set in force is applied
// again, and a driver that refused gets another try.
func (q *queues) hostapdStarted(nowUS int64) {
	q.expire(nowUS)
	q.wmmSeen, q.account.due = false, true
	q.permit()
	if q.sampled {
		q.starts = q.cfg.Radios.started(q.wiphy).starts
	}
	switch {
	case q.lease.InForce().Generation != 0:
		q.touched, q.announced.touched = nil, nil
		q.account.state.Counters.AppliedAgain++
		q.logger.Info("hostapd or the interface started, setting EDCA parameters again")
		q.apply(nowUS)
	case q.isLeft():
		q.own = q.settings().Own
		if settings := q.cfg.Settings(); settings != nil {
			q.announced.own = settings.Stations
		}
		q.restore(nowUS)
	}
}

// applyAfterOthers applies the set in force again after another BSS of the radio has started, which sets the queues of
// the whole radio if the driver has one set. This BSS's own values are what they were.
func (q *queues) applyAfterOthers(nowUS int64) {
	starts := q.cfg.Radios.radio(q.wiphy).starts
	if q.lease.InForce().Generation == 0 || starts == q.starts {
		return
	}
	q.starts = starts
	q.account.state.Counters.AppliedAgain++
	q.logger.Info("another BSS of the radio started, setting EDCA parameters again")
	q.apply(nowUS)
}
