// SPDX-License-Identifier: Apache-2.0

// Package logdrop has a writer for logs that drops lines instead of blocking its caller: an agent must not stop, with
// bounds in the kernel, because nobody reads its log.
package logdrop

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// Writer writes lines from a goroutine of its own. It is safe for concurrent use.
type Writer struct {
	to   io.Writer
	done chan struct{}

	mutex   sync.Mutex
	lines   chan []byte
	dropped uint64
	closed  bool
}

// New returns a Writer to `to` that buffers at most linesMax lines.
func New(to io.Writer, linesMax int) *Writer {
	w := &Writer{to: to, done: make(chan struct{}), lines: make(chan []byte, linesMax)}
	go w.write()
	return w
}

// Write takes one line, or drops it if the buffer is full. It always succeeds.
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

// Close returns once the buffer is written or the timeout is over. Later lines are dropped.
func (w *Writer) Close(timeout time.Duration) {
	w.mutex.Lock()
	if !w.closed {
		w.closed = true
		close(w.lines)
	}
	w.mutex.Unlock()
	select {
	case <-w.done:
	case <-time.After(timeout):
	}
}

func (w *Writer) write() {
	defer close(w.done)
	for line := range w.lines {
		// An error of the log itself cannot be logged.
		_, _ = w.to.Write(line)
		if dropped := w.takeDropped(); dropped > 0 {
			_, _ = fmt.Fprintf(w.to, "log lines dropped, because nobody read them: %d\n", dropped)
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
