// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"math"

	"github.com/airbound/airbound/phone-agent/status"
)

// startSampleOffsetsUS are when the kernel is sampled after it reported a new connection or a window that begins to
// grow: at once, since data may be queued already; and when most applications have written their first data, which they
// do some milliseconds after connect(2) returns. What is written later is seen by the regular samples, or when the
// window grows.
var startSampleOffsetsUS = [...]int64{0, 10_000, 50_000}

// startSamples are the additional samples after StartSeen.
type startSamples struct {
	seenUS int64
	// When the next one is due.
	nextUS int64
}

func noStart() startSamples { return startSamples{nextUS: math.MaxInt64} }

func (s *startSamples) seen(nowUS int64) { s.seenUS, s.nextUS = nowUS, nowUS }

// sampled plans the next one after any sample.
func (s *startSamples) sampled(nowUS int64) {
	if s.nextUS == math.MaxInt64 {
		return
	}
	s.nextUS = math.MaxInt64
	for _, offsetUS := range startSampleOffsetsUS {
		if dueUS := s.seenUS + offsetUS; dueUS > nowUS {
			s.nextUS = dueUS
			return
		}
	}
}

// StartSeen is called when the kernel reports that a connection may begin to send. The next Wake samples the kernel.
// The caller limits how often this is: each call costs up to three samples.
func (a *Agent) StartSeen(nowUS int64) {
	a.state.Counters.StartsSeen++
	// Without a stream there is nobody to report to, and the first report of a stream has everything.
	if a.connected {
		a.starts.seen(nowUS)
	}
}

// StartsUnseen is called when StartSeen will not be called any more.
func (a *Agent) StartsUnseen(nowUS int64, why error) {
	a.cfg.Logger.Warn("trace events failed: the start of sending is seen by sampling", "error", why)
	a.state.Starts = status.Starts{By: status.Sampling, Why: why.Error()}
	a.saved.due = true
	a.save(nowUS)
}
