// SPDX-License-Identifier: Apache-2.0

package rival

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/lab/handover/record"
)

// option sets what differs between the connections of rivals.
type option func(fd int) error

// thin has the kernel not double its timeout while fewer than four packets are in flight.
func thin(fd int) error {
	return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_THIN_LINEAR_TIMEOUTS, 1)
}

// stream sends all records over one connection of the kernel's TCP.
type stream struct {
	nothing

	set   option
	queue *queue
}

// Start connects.
func (s *stream) Start(ctx context.Context, env *Env) error {
	s.queue = newQueue()
	if err := serve(ctx, env, false); err != nil {
		return err
	}
	conn, err := dial(ctx, env, s.set)
	if err != nil {
		return err
	}
	go func() {
		for {
			if err := write(env, conn, s.queue.take()); err != nil {
				env.Failed(err)
				return
			}
		}
	}()
	return nil
}

// Send queues a record.
func (s *stream) Send(data []byte) { s.queue.put(data) }

// write gives a record to a connection; it waits while the send buffer is full.
func write(env *Env, conn net.Conn, data []byte) error {
	if _, err := conn.Write(data); err != nil {
		return fmt.Errorf("write a record: %w", err)
	}
	env.Written(data)
	return nil
}

// dial connects to the server from the phone. Go sets TCP_NODELAY.
func dial(ctx context.Context, env *Env, set option) (*net.TCPConn, error) {
	var connected *net.TCPConn
	err := env.Phone.In(func() error {
		dialer := net.Dialer{Control: func(_, _ string, socket syscall.RawConn) error {
			var failed error
			if err := socket.Control(func(fd uintptr) {
				if set != nil {
					failed = set(int(fd))
				}
			}); err != nil {
				return err //nolint:wrapcheck // the socket's own
			}
			return failed
		}}
		dialer.KeepAlive = -1
		conn, err := dialer.DialContext(ctx, "tcp", env.Remote.String())
		if err != nil {
			return fmt.Errorf("connect: %w", err)
		}
		connected, _ = conn.(*net.TCPConn)
		return nil
	})
	return connected, err
}

// serve accepts connections and delivers the records of each. A connection that breaks off fails the study, unless
// `breaks`: its end is then what a rival does.
func serve(ctx context.Context, env *Env, breaks bool) error {
	return env.Server.In(func() error {
		listener, err := (&net.ListenConfig{KeepAlive: -1}).Listen(ctx, "tcp", env.Remote.String())
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					env.Failed(fmt.Errorf("accept: %w", err))
					return
				}
				go func() {
					if err := deliver(env, conn); err != nil && !breaks {
						env.Failed(err)
					}
				}()
			}
		}()
		return nil
	})
}

// deliver passes on the records of a stream until it ends.
func deliver(env *Env, stream io.Reader) error {
	for {
		data := make([]byte, record.Bytes)
		if _, err := io.ReadFull(stream, data); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("read a record: %w", err)
		}
		env.Deliver(data)
	}
}
