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

// Watch is the guard process. It returns when the agent has released it, and when the pipe has ended otherwise and
// restore has succeeded, or has failed for too long.
// restore writes the own values back if there is a record of them; nowUS is CLOCK_MONOTONIC. While the agent lives it
// must keep the record: an agent that goes on at this moment may just have written another, for its next set.
func Watch(pipe io.Reader, nowUS func() int64, restore func(agentLives bool) error, logger *slog.Logger) error {
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
				logger.Warn("the agent hangs; cannot write the own values back, will try again", "error", err)
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
			return fmt.Errorf("write the own values back, %d tries: %w", try, err)
		}
		time.Sleep(retryAfter)
	}
}
