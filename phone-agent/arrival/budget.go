// SPDX-License-Identifier: Apache-2.0

package arrival

import "time"

// A phone has hundreds of connections, and few doublings each; arrivals are at least a second apart. More than that is
// a program that opens thousands of connections, or reports thousands of arrivals.
const (
	messagesAtOnce    = 4096
	messagesPerSecond = 1024
)

// Budget limits the messages that are sent.
type Budget struct {
	// Most may be sent at once, and so many a second in the long run.
	most, perSecond uint64
	spent           uint64
	// When spent was so much.
	at time.Time
}

// NewBudget has all.
func NewBudget(most, perSecond uint64) Budget { return Budget{most: most, perSecond: perSecond} }

// Left is how many messages may be sent now.
func (b *Budget) Left(now time.Time) uint64 {
	// A clock that goes back gives nothing, and a long time no more than all.
	if passed := min(now.Sub(b.at), time.Minute); passed > 0 {
		back := uint64(passed) * b.perSecond / uint64(time.Second)
		if back >= b.spent {
			b.spent, b.at = 0, now
		} else if back > 0 {
			b.spent -= back
			b.at = b.at.Add(time.Duration(back * uint64(time.Second) / b.perSecond)) //nolint:gosec // within a minute
		}
	}
	return b.most - b.spent
}

// Spend takes over that messages were sent, no more than Left.
func (b *Budget) Spend(messages uint64) { b.spent = min(b.spent+messages, b.most) }
