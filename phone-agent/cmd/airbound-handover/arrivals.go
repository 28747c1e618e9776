// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/airbound/airbound/phone-agent/events"
	"github.com/airbound/airbound/phone-agent/events/follow"
	"github.com/airbound/airbound/phone-agent/handover"
)

// arrivals gives the agent's arrivals to each session.
type arrivals struct {
	// heard, unless nil, is called with each, by one goroutine.
	heard func(events.Event)

	mutex      sync.Mutex
	subscribed map[chan handover.Event]struct{}
}

func (a *arrivals) subscribe() chan handover.Event {
	channel := make(chan handover.Event, 1) // One that waits is as good as several.
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.subscribed[channel] = struct{}{}
	return channel
}

func (a *arrivals) unsubscribe(channel chan handover.Event) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	delete(a.subscribed, channel)
}

func (a *arrivals) publish(event handover.Event) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for channel := range a.subscribed {
		select {
		case channel <- event:
		default:
		}
	}
}

// follow publishes what the agent's socket reports, and connects again when the agent was started again. The first
// connection must succeed.
func (a *arrivals) follow(ctx context.Context, socket, token string, stderr io.Writer) (stop func(), err error) {
	network := "unix"
	if token != "" {
		network = "tcp"
	}
	connection, err := follow.Dial(ctx, network, socket, token)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		for ctx.Err() == nil {
			if connection != nil {
				stopClosing := context.AfterFunc(ctx, func() { _ = connection.Close() })
				a.read(connection)
				if stopClosing() {
					_ = connection.Close()
				}
			}
			const pause = time.Second
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			var err error
			if connection, err = follow.Dial(ctx, network, socket, token); err != nil {
				connection = nil
				fmt.Fprintf(stderr, "no arrivals: %v\n", err)
			}
		}
	}()
	return cancel, nil
}

// read publishes until the connection ends. The time is that of the report's arrival here, which is a moment later.
func (a *arrivals) read(connection *follow.Conn) {
	for {
		event, err := connection.Next()
		switch {
		case err == nil:
			if a.heard != nil {
				a.heard(event)
			}
			a.publish(handover.Event{Kind: string(event.Kind)})
		case errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed):
			return
		default:
			if _, isNet := errors.AsType[net.Error](err); isNet {
				return
			}
		}
	}
}
