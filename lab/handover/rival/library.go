// SPDX-License-Identifier: Apache-2.0

package rival

import (
	"context"
	"fmt"
	"net"

	"github.com/airbound/airbound/phone-agent/handover"
)

// library is phone-agent/handover. Its application makes records periodically, as the paper's does.
type library struct {
	// events says whether the phone learns of the completion, waitForNotice that it waits for a notice all the same:
	// the paper's method alone.
	events, waitForNotice bool
	// newestFirst is the order of the records, where the others keep that of the application.
	newestFirst bool

	arrivals chan handover.Event
	queue    *queue
}

// Start makes a session with both its connections.
func (l *library) Start(ctx context.Context, env *Env) error {
	l.queue = newQueue()
	var listener *handover.Listener
	err := env.Server.In(func() error {
		tcp, err := (&net.ListenConfig{}).Listen(ctx, "tcp", env.Remote.String())
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		udp, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(env.Remote))
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		listener = handover.Serve(tcp, udp, handover.Config{}) //nolint:contextcheck // it has a Close
		return nil
	})
	if err != nil {
		return err
	}
	go func() {
		if err := receive(ctx, env, listener); err != nil {
			env.Failed(err)
		}
	}()
	config := handover.Config{
		WaitForNotice: l.waitForNotice,
		NewestFirst:   l.newestFirst,
		Switched:      func(info handover.SwitchInfo) { env.Note(switched + info.Reason) },
		DialContext: func(ctx context.Context, network, address string) (conn net.Conn, err error) {
			err = env.Phone.In(func() error {
				conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
				return err //nolint:wrapcheck // it has all that is known
			})
			return conn, err
		},
	}
	if l.events {
		l.arrivals = make(chan handover.Event, 1)
		config.Events = l.arrivals
	}
	conn, err := handover.Dial(ctx, env.Remote.String(), config)
	if err != nil {
		return fmt.Errorf("begin a session: %w", err)
	}
	go func() {
		for {
			data := l.queue.take()
			env.Written(data)
			if _, err := conn.Send(ctx, data); err != nil {
				env.Failed(fmt.Errorf("send: %w", err))
				return
			}
		}
	}()
	return nil
}

// switched begins the note of a switch; the reason follows.
const switched = "switches: "

func receive(ctx context.Context, env *Env, listener *handover.Listener) error {
	conn, err := listener.Accept(ctx)
	if err != nil {
		return fmt.Errorf("accept a session: %w", err)
	}
	for {
		record, err := conn.Receive(ctx)
		if err != nil {
			return fmt.Errorf("receive: %w", err)
		}
		env.Deliver(record.Data)
	}
}

// Send queues a record.
func (l *library) Send(data []byte) { l.queue.put(data) }

// Returned passes the event on.
func (l *library) Returned() {
	if l.events {
		l.arrivals <- handover.Event{Kind: "completion"}
	}
}
