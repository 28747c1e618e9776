// SPDX-License-Identifier: Apache-2.0

package tracefs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// pipe reads trace_pipe. It waits in poll(2), which an eventfd can interrupt. os.File could wait as well, but after its
// deadline it would not read what is left.
type pipe struct {
	waker
	path   string
	file   int
	buffer []byte
}

// waker ends a wait. interrupt may be called while or after it is closed. So may reads of what is closed with it, by a
// reader that was abandoned: they lock mutex and look at closed.
type waker struct {
	mutex  sync.Mutex
	wake   int
	closed bool
}

func newWaker() (int, error) {
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return 0, fmt.Errorf("make an eventfd: %w", err)
	}
	return wake, nil
}

// The kernel returns at most a page at a time.
const pipeBytes = 64 << 10

func openPipe(path string) (*pipe, error) {
	file, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	wake, err := newWaker()
	if err != nil {
		return nil, errors.Join(err, unix.Close(file))
	}
	return &pipe{waker: waker{wake: wake}, path: path, file: file, buffer: make([]byte, pipeBytes)}, nil
}

func (p *pipe) wait() ([]byte, error) {
	for {
		waiting := []unix.PollFd{
			{Fd: int32(p.file), Events: unix.POLLIN}, //nolint:gosec // a descriptor fits
			{Fd: int32(p.wake), Events: unix.POLLIN}, //nolint:gosec // as above
		}
		if _, err := unix.Poll(waiting, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return nil, p.failed("poll", err)
		}
		if waiting[1].Revents != 0 {
			return nil, nil
		}
		if waiting[0].Revents&unix.POLLIN == 0 {
			if waiting[0].Revents != 0 {
				return nil, fmt.Errorf("%s was closed by the kernel", p.path)
			}
			continue
		}
		if text, err := p.read(); text != nil || err != nil {
			return text, err
		}
	}
}

func (w *waker) interrupt() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if !w.closed {
		// Fails only when the counter is full, at 2^64 - 2 interrupts.
		_, _ = unix.Write(w.wake, binary.NativeEndian.AppendUint64(nil, 1))
	}
}

// read returns nil if there is nothing to be read now.
func (p *pipe) read() ([]byte, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for {
		if p.closed {
			return nil, p.failed("read", os.ErrClosed)
		}
		n, err := unix.Read(p.file, p.buffer)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN), err == nil && n == 0:
			return nil, nil
		case err != nil:
			return nil, p.failed("read", err)
		}
		return p.buffer[:n], nil
	}
}

func (p *pipe) close() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.closed = true
	if err := errors.Join(unix.Close(p.file), unix.Close(p.wake)); err != nil {
		return p.failed("close", err)
	}
	return nil
}

func (p *pipe) failed(operation string, err error) error {
	return &os.PathError{Op: operation, Path: p.path, Err: err}
}
