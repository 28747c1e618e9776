// SPDX-License-Identifier: Apache-2.0

package uplink

import "context"

// newest holds at most one message, the one that came last. It ends with its context or its input.
type newest[T any] struct {
	out     chan *T
	settle  chan struct{}
	stopped chan struct{}
}

// keepNewest receives from in at all times; a message that still waits when the next one comes is dropped.
func keepNewest[T any](ctx context.Context, in <-chan *T) *newest[T] {
	n := &newest[T]{out: make(chan *T, 1), settle: make(chan struct{}), stopped: make(chan struct{})}
	go func() {
		defer close(n.stopped)
		for {
			select {
			case <-ctx.Done():
				return
			case <-n.settle:
			case message, more := <-in:
				if !more {
					return
				}
				n.takeWaiting()
				// Never blocks: this goroutine is the only one that sends.
				n.out <- message
			}
		}
	}()
	return n
}

// drop forgets what was received before.
func (n *newest[T]) drop() {
	select {
	case n.settle <- struct{}{}: // what was received has been put into out by now
	case <-n.stopped:
	}
	n.takeWaiting()
}

func (n *newest[T]) takeWaiting() {
	select {
	case <-n.out:
	default:
	}
}
