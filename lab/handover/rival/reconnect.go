// SPDX-License-Identifier: Apache-2.0

package rival

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/lab/handover/record"
)

const (
	// userTimeout is as long as the paper's server waits for a record.
	userTimeout = 3 * time.Second
	// dialTimeout is for how long a connection is tried; then another is, with a timer that is not doubled.
	dialTimeout = time.Second
	// keptRecords is more than a send buffer has room for.
	keptRecords = 8192
)

// reconnecting gives up a connection whose data has not been acknowledged for userTimeout (TCP_USER_TIMEOUT), and
// makes another. What was not acknowledged is sent again, so a record may arrive twice.
type reconnecting struct {
	nothing

	lock   sync.Mutex
	filled *sync.Cond
	// waiting is what is to be written, written what the present connection has, the last keptRecords.
	waiting, written [][]byte
}

func setUserTimeout(fd int) error {
	return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(userTimeout.Milliseconds()))
}

// Start makes the first connection.
func (r *reconnecting) Start(ctx context.Context, env *Env) error {
	r.filled = sync.NewCond(&r.lock)
	if err := serve(ctx, env, true); err != nil {
		return err
	}
	conn, err := dial(ctx, env, setUserTimeout)
	if err != nil {
		return err
	}
	go r.run(ctx, env, conn)
	return nil
}

// Send queues a record.
func (r *reconnecting) Send(data []byte) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.waiting = append(r.waiting, data)
	r.filled.Broadcast()
}

func (r *reconnecting) run(ctx context.Context, env *Env, conn *net.TCPConn) {
	for ctx.Err() == nil {
		err := r.writeAll(env, conn)
		env.Note(fmt.Sprintf("gives up the connection: %v", err))
		unacknowledged, err := inKernel(conn)
		if err != nil {
			env.Failed(err)
			return
		}
		_ = conn.Close()
		r.again(unacknowledged)
		if conn = redial(ctx, env); conn == nil {
			return
		}
		env.Note("has another connection")
	}
}

// writeAll writes what is to be written, until the connection fails.
func (r *reconnecting) writeAll(env *Env, conn *net.TCPConn) error {
	failed := make(chan struct{})
	var reason error
	go func() {
		// Nothing comes from the server: a read ends with the connection's error.
		_, reason = conn.Read(make([]byte, 1))
		r.lock.Lock()
		close(failed)
		r.filled.Broadcast()
		r.lock.Unlock()
	}()
	for {
		r.lock.Lock()
		for len(r.waiting) == 0 && !closed(failed) {
			r.filled.Wait()
		}
		if closed(failed) {
			r.lock.Unlock()
			return reason
		}
		next := r.waiting[0]
		r.waiting = r.waiting[1:]
		r.written = append(r.written, next)
		r.written = r.written[max(0, len(r.written)-keptRecords):]
		r.lock.Unlock()
		if err := write(env, conn, next); err != nil {
			<-failed
			return err
		}
	}
}

func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// again has the records of the last bytes written once more, whole.
func (r *reconnecting) again(unacknowledged int) {
	r.lock.Lock()
	defer r.lock.Unlock()
	count := min((unacknowledged+record.Bytes-1)/record.Bytes, len(r.written))
	repeated := r.written[len(r.written)-count:]
	r.waiting = append(append([][]byte{}, repeated...), r.waiting...)
	r.written = nil
}

func redial(ctx context.Context, env *Env) *net.TCPConn {
	for ctx.Err() == nil {
		limited, stop := context.WithTimeout(ctx, dialTimeout)
		conn, err := dial(limited, env, setUserTimeout)
		stop()
		if err == nil {
			return conn
		}
	}
	return nil
}

// inKernel is how many bytes of a connection the peer has not acknowledged.
func inKernel(conn *net.TCPConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("look at a connection: %w", err)
	}
	var bytes int
	var failed error
	if err := raw.Control(func(fd uintptr) {
		bytes, failed = unix.IoctlGetInt(int(fd), unix.TIOCOUTQ)
	}); err != nil {
		return 0, fmt.Errorf("look at a connection: %w", err)
	}
	if failed != nil {
		return 0, fmt.Errorf("read what is not acknowledged: %w", failed)
	}
	return bytes, nil
}
