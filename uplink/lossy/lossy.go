// SPDX-License-Identifier: Apache-2.0

// Package lossy has a writer for logs that never keeps its caller waiting: an agent must not stand still, with bounds in
// the kernel, because nobody reads what it says.
package lossy

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// Writer passes lines on from a goroutine of its own. It is safe for concurrent use.
type Writer struct {
	to   io.Writer
	done chan struct{}

	mutex   sync.Mutex
	lines   chan []byte
	dropped uint64
	closed  bool
}

// New passes on to `to` and keeps at most so many lines that it has not taken yet.
func New(to io.Writer, linesMax int) *Writer {
	w := &Writer{to: to, done: make(chan struct{}), lines: make(chan []byte, linesMax)}
	go w.pass()
	return w
}

// Write takes one line, or drops it if too many wait. It always succeeds.
func (w *Writer) Write(line []byte) (int, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.closed {
		return len(line), nil
	}
	select {
	case w.lines <- bytes.Clone(line):
	default:
		w.dropped++
	}
	return len(line), nil
}

// Close ends it, once what waits is written or the patience is over.
func (w *Writer) Close(patience time.Duration) {
	w.mutex.Lock()
	if !w.closed {
		w.closed = true
		close(w.lines)
	}
	w.mutex.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-w.done:
	case <-timer.C:
	}
}

func (w *Writer) pass() {
	defer close(w.done)
	for line := range w.lines {
		// An error has nobody to be told to.
		_, _ = w.to.Write(line)
		if dropped := w.takeDropped(); dropped > 0 {
			_, _ = fmt.Fprintf(w.to, "lines of the log dropped, since nobody read them: %d\n", dropped)
		}
	}
}

func (w *Writer) takeDropped() uint64 {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	dropped := w.dropped
	w.dropped = 0
	return dropped
}
