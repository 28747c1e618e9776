// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"github.com/airbound/airbound/ap-firmware/edca"
	"github.com/airbound/airbound/ap-firmware/hostapd"
)

const (
	// announceAgainUS is how often what is in force is announced again: hostapd forgets it when it reads its
	// configuration again (SIGHUP), and sends no event then.
	announceAgainUS = 10_000_000
	// restoreAnnouncedAgainUS is the time between two tries to announce the own values: a hostapd that hangs takes a
	// second of each.
	restoreAnnouncedAgainUS = 5_000_000
)

// announced is what hostapd announces to the stations: the part of a set that does not concern the kernel.
type announced struct {
	// touched are the categories that may be announced otherwise than of its own, and own is what returns.
	touched []edca.Category
	own     edca.Values
	// current is what hostapd announces, as far as that is known.
	current edca.Values
	// attached is whether hostapd's control socket answers.
	attached bool
	// refusal is why hostapd took nothing, until retryUS.
	refusal string
	retryUS int64
	// nextUS is when what is in force is announced again.
	nextUS int64
}

// cannotAnnounce returns why what is announced to the stations cannot be set; empty if it can.
func (q *queues) cannotAnnounce() string {
	if refusal := q.unavailable(); refusal != "" {
		return refusal
	}
	settings := q.cfg.Settings()
	switch {
	case !q.announced.attached:
		return "hostapd's control socket does not answer"
	case settings == nil:
		return "what the access point announces of its own is not known: no configuration of hostapd was read"
	case !settings.WMM:
		return "the access point announces no WMM"
	}
	return q.announced.refusal
}

// hostapdAttached takes over whether hostapd's control socket answers.
func (q *queues) hostapdAttached(attached bool) {
	q.account.due = q.account.due || q.announced.attached != attached
	q.announced.attached = attached
}

// announce brings what is to be announced to hostapd. What the set before announced and this one does not, gets its own
// values again.
func (q *queues) announce(nowUS int64, stations []edca.Queue) bool {
	concerned := append(edca.CategoriesOf(stations), q.announced.touched...)
	if len(concerned) == 0 {
		return true
	}
	before := q.announced.touched
	q.announced.touched = concerned
	isChanged, err := q.tell(q.announced.own.With(stations).Of(concerned))
	if !isChanged {
		q.announced.touched = before
	}
	if err == nil || len(stations) == 0 && hostapd.IsGone(err) { // Its next start announces its own values.
		q.announced.touched, q.announced.nextUS = edca.CategoriesOf(stations), nowUS+announceAgainUS
		return true
	}
	q.announced.refusal, q.announced.retryUS = announceRefusal(err), nowUS+refusedForUS
	q.failed(nowUS, err)
	return false
}

// tell has hostapd announce some queues.
func (q *queues) tell(queues []edca.Queue) (isChanged bool, err error) {
	isChanged, err = q.cfg.Announce(q.announced.current, queues)
	if isChanged {
		q.announced.current = q.announced.current.With(queues)
	}
	return isChanged, err
}

func announceRefusal(err error) string {
	if hostapd.IsGone(err) {
		return "hostapd's control socket does not answer"
	}
	return err.Error()
}

// restoreAnnounced announces the own values.
func (q *queues) restoreAnnounced() error {
	if len(q.announced.touched) == 0 {
		return nil
	}
	_, err := q.tell(q.announced.own.Of(q.announced.touched))
	if err == nil || hostapd.IsGone(err) {
		q.announced.touched = nil
		return nil
	}
	return err
}

// announceAgain repeats what is in force.
func (q *queues) announceAgain(nowUS int64) {
	stations := q.lease.Announced()
	if len(stations) > 0 && q.announced.attached && nowUS >= q.announced.nextUS {
		q.announce(nowUS, stations)
	}
}
