// SPDX-License-Identifier: Apache-2.0

package main

import (
	"log/slog"
	"sync"
	"time"
)

// malformedLogInterval keeps a source of garbage from filling the log.
const malformedLogInterval = 10 * time.Second

// malformedInputs counts what had to be refused, and logs some of it. It is safe for concurrent use.
type malformedInputs struct {
	logger *slog.Logger
	now    func() time.Time

	mu       sync.Mutex
	total    uint64
	unlogged uint64
	lastLog  time.Time
}

func (m *malformedInputs) add(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total++
	now := m.now()
	if !m.lastLog.IsZero() && now.Sub(m.lastLog) < malformedLogInterval {
		m.unlogged++
		return
	}
	m.logger.Warn("refused malformed input", "error", err, "total", m.total, "unlogged_before", m.unlogged)
	m.lastLog, m.unlogged = now, 0
}

func (m *malformedInputs) count() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.total
}
