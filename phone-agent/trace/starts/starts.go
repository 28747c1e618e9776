// SPDX-License-Identifier: Apache-2.0

// Package starts waits until a connection of a network namespace may begin to send, with the kernel's trace events. It
// reads nothing of them but that they happened: which connections send, and where to, is in the kernel's monitor.
package starts

import (
	"errors"
	"fmt"
	"time"

	"github.com/airbound/airbound/phone-agent/trace/tracefs"
)

// Apart is the pause after a notice. What happens meanwhile is one notice at its end, so that an application that opens
// hundreds of connections a second costs 20 wake-ups a second.
const Apart = 50 * time.Millisecond

// bufferKiB is the least that the kernel accepts for each processor (two pages, on machines with pages of 4 KiB).
const bufferKiB = 8

// Watch is a goroutine that waits for trace events in an instance of tracing of its own.
type Watch struct {
	instance *tracefs.Instance
	pause    func() <-chan time.Time
	seen     chan struct{}
	closing  chan struct{}
	failed   chan error
	ended    chan struct{}
}

// Start makes the instance, for the process with this number and the network namespace with this inode number. Close
// removes it. pause returns a channel that ends the pause after a notice.
func Start(root tracefs.Root, pid int, netns uint32, pause func() <-chan time.Time) (*Watch, error) {
	instance, err := root.Start(tracefs.Config{PID: pid, Netns: netns, StartsOnly: true, BufferKiB: bufferKiB})
	if err != nil {
		return nil, err
	}
	w := &Watch{
		instance: instance,
		pause:    pause,
		seen:     make(chan struct{}, 1),
		closing:  make(chan struct{}),
		failed:   make(chan error, 1),
		ended:    make(chan struct{}),
	}
	go w.follow()
	return w, nil
}

// Seen has a value after a connection may have begun to send: one, however often that was.
func (w *Watch) Seen() <-chan struct{} { return w.seen }

// Failed has an error if the events cannot be read any more. Seen has no further value then.
func (w *Watch) Failed() <-chan error { return w.failed }

// Close ends the goroutine and removes the instance.
func (w *Watch) Close() error {
	close(w.closing)
	w.instance.Interrupt()
	<-w.ended
	return w.instance.Remove()
}

func (w *Watch) follow() {
	defer close(w.ended)
	for {
		happened, err := w.wait()
		if err != nil {
			w.failed <- fmt.Errorf("wait for trace events: %w", errors.Join(err, w.instance.Stop()))
			return
		}
		if !happened {
			return
		}
		select {
		case w.seen <- struct{}{}:
		default:
		}
		select {
		case <-w.pause():
		case <-w.closing:
			return
		}
	}
}

// wait returns false if the watch was closed.
func (w *Watch) wait() (happened bool, err error) {
	text, err := w.instance.Read()
	happened = text != nil
	// All that is in the kernel's buffer is one notice.
	for text != nil && err == nil {
		text, err = w.instance.Drain()
	}
	return happened, err
}
