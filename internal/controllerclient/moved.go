// SPDX-License-Identifier: Apache-2.0

package controllerclient

import (
	"context"
	"errors"
	"sync"
)

var errMoved = errors.New("the machine is at another access point")

// watchMoves ends a context with errMoved as its cause when the machine moves, until stop is called, which reports
// whether that happened.
func watchMoves(moved <-chan struct{}, end context.CancelCauseFunc) (stop func() bool) {
	happened, stopped := false, make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		select {
		case <-moved:
			happened = true
			end(errMoved)
		case <-stopped:
		}
	})
	return func() bool {
		close(stopped)
		group.Wait()
		return happened
	}
}

func drain(channel <-chan struct{}) {
	select {
	case <-channel:
	default:
	}
}
