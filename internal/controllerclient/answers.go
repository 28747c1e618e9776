// SPDX-License-Identifier: Apache-2.0

package controllerclient

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/metadata"
)

// A process that is stopped, or hangs, keeps its connections: its kernel acknowledges what arrives, and grpc-go's
// keepalive takes 18 s. So a controller that is asked to (answersKey in the metadata of the stream) answers reports, by
// a command or by a response without one, and a stream without an answer is given up.
//
// How long an agent waits follows from how long answers took, as TCP's retransmission timeout does: in a full cell
// without bounds an RTT is over 2 s, and a stream that is given up there costs more than it gains.
const (
	// answerWaitMin is long for a controller: a garbage collection or a renewal that is late is no reason to leave.
	answerWaitMin = 2 * time.Second
	// answerWaitMax is shorter than the keepalive.
	answerWaitMax = 10 * time.Second
	// unansweredFor: a controller leaves a report unanswered so shortly after it has sent something, and answers the
	// next one (ANSWERED_AFTER_S of controller/airbound/grpc/session.py). That is as far away as the last one was.
	unansweredFor   = 2 * time.Second
	answerAfterNext = time.Second
	// answerWaitFactor is of the longest of the last answers.
	answerWaitFactor = 3
	answersKept      = 8

	answersKey, answersValue = "airbound-answers", "1"
)

var errNoAnswer = errors.New("the controller does not answer")

func askForAnswers(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, answersKey, answersValue)
}

// answerTimes is how long the last answers took, over all streams of an agent.
type answerTimes struct {
	mu   sync.Mutex
	last [answersKept]time.Duration
	next int
}

func (t *answerTimes) add(took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last[t.next] = took
	t.next = (t.next + 1) % answersKept
}

// wait is how long the next answer may take.
func (t *answerTimes) wait() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	longest := time.Duration(0)
	for _, took := range t.last {
		longest = max(longest, took)
	}
	return min(max(answerWaitMin, answerWaitFactor*longest), answerWaitMax)
}

// answers ends one stream whose controller does not answer. A controller that has never sent a response without a
// command on it does not know of answers, and is given any time. There is a timer only while an answer is due.
type answers struct {
	times *answerTimes
	end   context.CancelCauseFunc

	mu         sync.Mutex
	timer      *time.Timer
	expected   bool
	sentAt     time.Time // the first report after which nothing came; zero: none
	lastAt     time.Time // the last report
	receivedAt time.Time
	answered   bool // since the last report began to be sent
}

// sends is called before each report is sent: an answer may come before sent is called.
func (a *answers) sends() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answered = false
}

// sent is called with each report.
func (a *answers) sent() {
	a.mu.Lock()
	defer a.mu.Unlock()
	now, interval := time.Now(), answerWaitMax // of the first report
	if !a.lastAt.IsZero() {
		interval = now.Sub(a.lastAt)
	}
	a.lastAt = now
	if !a.sentAt.IsZero() || a.answered {
		return
	}
	a.sentAt = now
	if a.expected {
		wait := a.times.wait()
		if now.Sub(a.receivedAt) < unansweredFor {
			wait = max(wait, min(interval+answerAfterNext, answerWaitMax))
		}
		a.timer = time.AfterFunc(wait, func() { a.end(fmt.Errorf("%w within %v", errNoAnswer, wait)) })
	}
}

// received is called with each response; isAnswer means that it has no command.
func (a *answers) received(isAnswer bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.expected = a.expected || isAnswer
	a.receivedAt, a.answered = time.Now(), true
	if a.sentAt.IsZero() {
		return
	}
	a.times.add(time.Since(a.sentAt))
	a.sentAt = time.Time{}
	a.stopTimer()
}

func (a *answers) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopTimer()
}

func (a *answers) stopTimer() {
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
}
