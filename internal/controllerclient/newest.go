// SPDX-License-Identifier: Apache-2.0

package controllerclient

import "context"

// newest is a channel of one message, in which the newest replaces the one before. It ends with its context
// or its input.
type newest[T any] struct {
	out     chan *T
	synced  chan struct{}
	stopped chan struct{}
}

// keepNewest receives from in at all times. A message that is still waiting when the next one comes is replaced; merge,
// unless nil, is called with both before.
func keepNewest[T any](ctx context.Context, in <-chan *T, merge func(older, newer *T)) *newest[T] {
	n := &newest[T]{out: make(chan *T, 1), synced: make(chan struct{}), stopped: make(chan struct{})}
	go func() {
		defer close(n.stopped)
		for {
			select {
			case <-ctx.Done():
				return
			case <-n.synced:
			case message, more := <-in:
				if !more {
					return
				}
				if older := n.takeWaiting(); older != nil && merge != nil {
					merge(older, message)
				}
				// Never blocks: this goroutine is the only one that sends.
				n.out <- message
			}
		}
	}()
	return n
}

// drop discards what was received before.
func (n *newest[T]) drop() {
	select {
	case n.synced <- struct{}{}: // what was received has been put into out by now
	case <-n.stopped:
	}
	n.takeWaiting()
}

// takeWaiting returns nil if nothing is waiting.
func (n *newest[T]) takeWaiting() *T {
	select {
	case message := <-n.out:
		return message
	default:
		return nil
	}
}
