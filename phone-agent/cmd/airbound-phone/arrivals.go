// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/airbound/airbound/phone-agent/arrival"
	"github.com/airbound/airbound/phone-agent/arrival/procfs"
	"github.com/airbound/airbound/phone-agent/status"
)

// againAfter is when Retransmit runs for a second time: the network behind the access point may not have known the
// phone's new place when the first segments came.
const againAfter = time.Second

// arrivals makes TCP retransmit when the phone has arrived at an access point. A nil one does nothing.
type arrivals struct {
	open func() (arrival.BackEnd, error)
	// openServers opens what sends messages to servers; nil if the owner does not allow them.
	openServers func() (arrival.Servers, error)
	tables      func() ([][]byte, error)
	report      arrivalReports
	logger      *slog.Logger

	// Held for one step of an arrival at a time.
	mutex sync.Mutex
	// How many there were: the next one does what is left of the one before, and measures the silence anew.
	count uint64
	// When the path may have been lost before the arrival that is being handled; zero if none is.
	lostAt    time.Time
	backEnd   arrival.BackEnd
	isRefused bool
	// downloads is nil if there are no messages to servers.
	downloads *arrival.Downloads
	// When the kernel reported that the phone has no access point; zero while it has one.
	leftAt time.Time
}

// unnoticed is how long a path may be lost before the kernel reports it: mac80211 misses seven beacons of 102 ms, then
// probes the access point twice for half a second each (net/mac80211/mlme.c), and the supplicant looks for another one.
const unnoticed = 3 * time.Second

// arrivalReports are what arrivals have done and seen.
type arrivalReports struct {
	// by is called once it is known what makes TCP retransmit.
	by func(status.Retransmission)
	// done is called each time that connections waited.
	done func(arrival.Outcome)
	// downloadsBy and downloadsDone are the same of downloads, whose servers wait.
	downloadsBy   func(status.Retransmission)
	downloadsDone func(arrival.DownloadsOutcome)
	// answered is called with the silence after an arrival: how long it took until one of the connections that waited
	// was answered.
	answered func(silence time.Duration)
}

// newArrivals makes one. A patched kernel's interface is preferred, if there is one.
// Servers are sent messages only if asksServers.
func newArrivals(procRoot string, asksServers bool, report arrivalReports, logger *slog.Logger) *arrivals {
	files := procfs.NewFiles(procRoot)
	open := func() (arrival.BackEnd, error) {
		patched, err := procfs.Open(files)
		if err == nil {
			return patched, nil
		}
		if !errors.Is(err, arrival.ErrNotSupported) {
			logger.Warn("after an arrival the patched kernel's interface is not used", "error", err)
		}
		return arrival.OpenStock()
	}
	made := &arrivals{open: open, tables: files.Tables, report: report, logger: logger}
	if asksServers {
		made.openServers = func() (arrival.Servers, error) { return arrival.OpenStockServers() }
	}
	return made
}

// left is called when the phone has no access point any more.
func (a *arrivals) left() {
	if a == nil {
		return
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.leftAt.IsZero() {
		a.leftAt = time.Now()
	}
}

// prepare opens the kernel's interfaces, which takes longer than to use them. A phone that stays where it is never
// needs them, so it is called when its link changes for the first time.
func (a *arrivals) prepare() {
	if a == nil {
		return
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.prepareDownloads()
	if a.backEnd != nil || a.isRefused {
		return
	}
	backEnd, err := a.open()
	if err != nil {
		a.isRefused = true
		a.logger.Info("after an arrival TCP waits for its own timers", "error", err)
		a.report.by(status.Retransmission{By: status.TimersOnly, Why: err.Error()})
		return
	}
	a.backEnd = backEnd
	a.report.by(status.Retransmission{By: backEnd.Name()})
}

func (a *arrivals) prepareDownloads() {
	if a.openServers == nil {
		return
	}
	servers, err := a.openServers()
	a.openServers = nil
	if err != nil {
		a.logger.Info("after an arrival servers wait for their own timers", "error", err)
		a.report.downloadsBy(status.Retransmission{By: status.TimersOnly, Why: err.Error()})
		return
	}
	a.downloads = arrival.NewDownloads(servers)
	a.report.downloadsBy(status.Retransmission{By: arrival.ToServers})
}

// arrived is called when the phone can send again, and returns when all is done.
func (a *arrivals) arrived(ctx context.Context) {
	if a == nil {
		return
	}
	at := time.Now()
	a.prepare()
	silence, number, lostAt := a.begin()
	defer a.end(number)
	a.retransmit(lostAt)
	a.askServers(func(downloads *arrival.Downloads, now time.Time) (arrival.DownloadsOutcome, error) {
		return downloads.Arrived(now, now.Sub(lostAt))
	})
	again := at.Add(againAfter)
	for silence != nil || !again.IsZero() {
		next := again
		if silence != nil {
			look := time.Now().Add(answerPoll(time.Since(at)))
			if again.IsZero() || look.Before(again) {
				next = look
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(next)):
		}
		if !a.isLast(number) {
			return
		}
		if silence != nil && !a.stillSilent(silence, at) {
			silence = nil
		}
		if !again.IsZero() && !time.Now().Before(again) {
			a.retransmit(lostAt)
			a.askServers((*arrival.Downloads).Again)
			again = time.Time{}
		}
	}
}

// How often answers are looked for: the silence is as exact as that, and ends after a minute at the latest.
const (
	answerFirst, answerPollFirst   = 500 * time.Millisecond, 10 * time.Millisecond
	answerSecond, answerPollSecond = 5 * time.Second, 100 * time.Millisecond
	answersEnd, answerPollLast     = time.Minute, time.Second
)

func answerPoll(passed time.Duration) time.Duration {
	switch {
	case passed < answerFirst:
		return answerPollFirst
	case passed < answerSecond:
		return answerPollSecond
	default:
		return answerPollLast
	}
}

// begin is the beginning of an arrival: the number that it has, when its outage may have begun, and the silence after
// it; nil if no connection waits.
//
// Whatever waits while an earlier arrival is being handled was not answered since: it is the same outage.
func (a *arrivals) begin() (silence *procfs.Silence, number uint64, lostAt time.Time) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.count++
	if lostAt = a.pathLostAt(); a.lostAt.IsZero() || lostAt.Before(a.lostAt) {
		a.lostAt = lostAt
	}
	tables, err := a.tables()
	if err == nil {
		silence, err = procfs.NewSilence(tables)
	}
	if err != nil {
		a.logger.Warn("the silence after an arrival is not known", "error", err)
		silence = nil
	} else if silence.Waiting() == 0 {
		silence = nil
	}
	return silence, a.count, a.lostAt
}

// end is the end of an arrival, unless another one has begun.
func (a *arrivals) end(number uint64) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.count == number {
		a.lostAt = time.Time{}
	}
}

func (a *arrivals) isLast(number uint64) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.count == number
}

// stillSilent looks for an answer to one of the connections that waited at an arrival, and reports the first.
func (a *arrivals) stillSilent(silence *procfs.Silence, at time.Time) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	passed := time.Since(at)
	if passed >= answersEnd {
		return false
	}
	tables, err := a.tables()
	answered := false
	if err == nil {
		answered, err = silence.Answered(tables)
	}
	if err != nil {
		a.logger.Warn("the silence after an arrival is not known", "error", err)
		return false
	}
	if answered {
		a.report.answered(passed)
	}
	return !answered && silence.Waiting() > 0
}

// pathLostAt is the earliest time at which the outage that ends now may have begun.
func (a *arrivals) pathLostAt() time.Time {
	at := a.leftAt
	if at.IsZero() { // It has roamed without a report of a disconnection.
		at = time.Now()
	}
	a.leftAt = time.Time{}
	return at.Add(-unnoticed)
}

func (a *arrivals) retransmit(lostAt time.Time) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.backEnd == nil {
		return
	}
	outcome, err := a.backEnd.Retransmit(time.Since(lostAt))
	if err != nil {
		a.logger.Warn("after an arrival some connections wait for TCP's own timers", "error", err)
	}
	if outcome.Unanswered > 0 {
		a.logger.Info("arrived, TCP retransmits",
			"unanswered", outcome.Unanswered, "at_once", outcome.AtOnce, "messages", outcome.Messages,
			"refused", outcome.Refused, "unsent", outcome.Unsent)
		a.report.done(outcome)
	}
}

// askServers sends messages to the servers of downloads that have stopped, if there may be any.
func (a *arrivals) askServers(ask func(*arrival.Downloads, time.Time) (arrival.DownloadsOutcome, error)) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.downloads == nil {
		return
	}
	outcome, err := ask(a.downloads, time.Now())
	if err != nil {
		a.logger.Warn("after an arrival some servers wait for their own timers", "error", err)
	}
	if outcome != (arrival.DownloadsOutcome{}) {
		a.logger.Info("arrived, servers are asked to retransmit",
			"silent", outcome.Silent, "resumed", outcome.Resumed, "messages", outcome.Messages,
			"refused", outcome.Refused, "unsent", outcome.Unsent)
		a.report.downloadsDone(outcome)
	}
}

func (a *arrivals) close() {
	if a == nil {
		return
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	var err error
	if a.backEnd != nil {
		err = a.backEnd.Close()
	}
	if a.downloads != nil {
		err = errors.Join(err, a.downloads.Close())
	}
	if err != nil {
		a.logger.Warn("cannot close what an arrival needs", "error", err)
	}
}
