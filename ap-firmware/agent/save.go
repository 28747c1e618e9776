// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"github.com/airbound/airbound/ap-firmware/edca"
	"github.com/airbound/airbound/ap-firmware/status"
	"github.com/airbound/airbound/internal/sparselog"
)

// The state file is written at once when the set in force, or its reason, has changed. Others are written later: a
// renewed lease once half of the lease last written is over; counters, and the time of the last report, every
// countersSavedUS.

const countersSavedUS = 10_000_000

// savedState is what is in the state file.
type savedState struct {
	// Whether it must be written now.
	due          bool
	counters     status.Counters
	lastReportUS int64
	endsUS       int64
	atUS         int64
}

// renewed makes the state file be written if the lease in it is half over.
func (q *queues) renewed(nowUS int64) {
	leaseUS := int64(q.lease.InForce().LeaseMS) * usPerMS
	if q.saved.endsUS-nowUS < leaseUS/2 {
		q.saved.due = true
	}
}

func (q *queues) save(nowUS int64) {
	inForce := q.lease.InForce()
	isNews := q.state.Counters != q.saved.counters || q.state.LastReportUS != q.saved.lastReportUS
	countersOld := isNews && nowUS-q.saved.atUS >= countersSavedUS
	if !q.saved.due && !countersOld && !q.limits.due {
		return
	}
	q.state.Windows = q.limits.saved()
	settings, own := q.ownNow()
	q.state.Refusal, q.state.OwnSource = q.cannot(), q.source()
	q.state.StationsRefusal = q.cannotAnnounce()
	q.state.Generation = inForce.Generation
	q.state.Queues = append([]edca.Queue{}, q.lease.Queues()...) // Never null in JSON.
	q.state.Announced = append([]edca.Queue{}, q.lease.Announced()...)
	q.state.Own, q.state.Stations, q.state.WMM = own.Queues(), settings.Stations.Queues(), settings.WMM
	q.state.LeaseEndsUS, q.state.WrittenUS = inForce.DeadlineUS, nowUS
	// After a failure as well: with a full disk, one try for each countersSavedUS is enough. The failure is counted,
	// which makes the next try due.
	q.saved = savedState{
		counters: q.state.Counters, lastReportUS: q.state.LastReportUS, endsUS: inForce.DeadlineUS, atUS: nowUS,
	}
	err := q.cfg.SaveState(q.state)
	if err != nil && sparselog.Add(&q.state.Counters.StateWritesFailed, 1) {
		q.logger.Warn("cannot write the state file", "error", err, "total", q.state.Counters.StateWritesFailed)
	}
}
