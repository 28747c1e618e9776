// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"time"
)

const (
	// grace is the agent's: it ends the lease at the deadline itself, unless it hangs.
	grace = time.Second
	// retryAfter is the time between two tries to write back.
	retryAfter = 200 * time.Millisecond
	// triesMax limits the tries after the agent's end. The record stays for the agent's next start.
	triesMax = 50
)

// Watch is the guard process. It writes to ready that it is one, and everything that restore needs must be there before
// it is called. It returns when the agent has released it, and when the pipe has ended otherwise and restore has
// succeeded, or has failed for too long.
//
// restore restores what was there before the agent; nowUS is the clock of the deadlines. While the agent lives, restore
// must leave what the agent needs: one that goes on at this moment may just have begun its next set.
func Watch(
	pipe io.Reader, ready io.Writer, nowUS func() int64, restore func(agentLives bool) error, logger *slog.Logger,
) error {
	if _, err := ready.Write([]byte{isReady}); err != nil {
		logger.Warn("the agent does not wait for its guard", "error", err) // It has ended, which the pipe tells.
	}
	deadlines := make(chan int64)
	go receive(pipe, deadlines)
	overdue := time.NewTimer(0)
	overdue.Stop()
	for {
		select {
		case deadlineUS, open := <-deadlines:
			if !open {
				return afterTheEnd(restore)
			}
			if deadlineUS == released {
				return nil
			}
			overdue.Reset(time.Duration(deadlineUS-nowUS())*time.Microsecond + grace)
		case <-overdue.C:
			if err := restore(true); err != nil {
				logger.Warn("the agent hangs; cannot restore, will try again", "error", err)
				overdue.Reset(retryAfter)
			}
		}
	}
}

// receive ends with the pipe.
func receive(pipe io.Reader, deadlines chan<- int64) {
	defer close(deadlines)
	message := make([]byte, deadlineBytes)
	for {
		if _, err := io.ReadFull(pipe, message); err != nil {
			return
		}
		deadlines <- int64(binary.LittleEndian.Uint64(message)) //nolint:gosec // as it was sent
	}
}

func afterTheEnd(restore func(agentLives bool) error) error {
	for try := 1; ; try++ {
		err := restore(false)
		if err == nil {
			return nil
		}
		if try == triesMax {
			return fmt.Errorf("restore, %d tries: %w", try, err)
		}
		time.Sleep(retryAfter)
	}
}
