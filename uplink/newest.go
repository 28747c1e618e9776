// SPDX-License-Identifier: Apache-2.0

package uplink

import "context"

// keepNewest passes messages on through a channel that holds at most one: a message that still waits when the next one
// comes is dropped. The second channel closes when the goroutine has ended.
func keepNewest[T any](ctx context.Context, in <-chan *T) (newest <-chan *T, stopped <-chan struct{}) {
	out, done := make(chan *T, 1), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case message, more := <-in:
				if !more {
					return
				}
				select {
				case <-out:
				default:
				}
				// Never blocks: this goroutine is the only one that sends.
				out <- message
			}
		}
	}()
	return out, done
}
