// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// An End of a link; the value is what the names of its files begin with.
type End string

// The ends.
const (
	Near End = "near-"
	Far  End = "far-"
)

const (
	pollInterval = 10 * time.Millisecond
	messageBytes = 1 << 16
	// waitingMax is how many files an end leaves to be read: the kernel's send buffer, so to speak.
	waitingMax = 16
)

// OpenDirectory opens one end of a stream that two machines have by a directory which both can see: a file for each
// write, numbered, which the other end removes. Each end asks for the next file every 10 ms; nothing else is needed of
// the machines. In particular no interrupt: while User Mode Linux 6.1 with time-travel=ext waits, it loses those of
// consoles and network devices (_sigio_handler uses up epoll's edge, and finds nothing when it is called again).
func OpenDirectory(ctx context.Context, path string, end End) (net.Conn, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil, errors.Join(fmt.Errorf("%s is no directory", path), err)
	}
	other := Near
	if end == Near {
		other = Far
	}
	ours, theirs := net.Pipe()
	ctx, cancel := context.WithCancel(ctx)
	failed := func() {
		cancel()
		_ = theirs.Close()
	}
	go func() {
		defer failed()
		_ = mailbox{path, end}.send(ctx, theirs)
	}()
	go func() {
		defer failed()
		_ = mailbox{path, other}.receive(ctx, theirs)
	}()
	return ours, nil
}

// mailbox is one direction: the files of the end that writes.
type mailbox struct {
	directory string
	writer    End
}

func (m mailbox) file(number uint64) string {
	return filepath.Join(m.directory, string(m.writer)+strconv.FormatUint(number, 10))
}

func (m mailbox) send(ctx context.Context, from net.Conn) error {
	data := make([]byte, messageBytes)
	for number := uint64(0); ; number++ {
		n, err := from.Read(data)
		if err != nil {
			return err //nolint:wrapcheck // the stream is closed
		}
		if number >= waitingMax {
			if err := m.waitUntilRead(ctx, number-waitingMax); err != nil {
				return err
			}
		}
		// The file has its name only when it is complete.
		partial := filepath.Join(m.directory, string(m.writer)+"partial")
		if err := os.WriteFile(partial, data[:n], 0o600); err != nil {
			return err //nolint:wrapcheck // it has the path
		}
		if err := os.Rename(partial, m.file(number)); err != nil {
			return err //nolint:wrapcheck // it has the path
		}
	}
}

func (m mailbox) waitUntilRead(ctx context.Context, number uint64) error {
	for {
		if _, err := os.Lstat(m.file(number)); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

func (m mailbox) receive(ctx context.Context, to net.Conn) error {
	for number := uint64(0); ; number++ {
		data, err := os.ReadFile(m.file(number))
		for errors.Is(err, fs.ErrNotExist) {
			if err := pause(ctx); err != nil {
				return err
			}
			data, err = os.ReadFile(m.file(number))
		}
		if err != nil {
			return err //nolint:wrapcheck // it has the path
		}
		if err := os.Remove(m.file(number)); err != nil {
			return err //nolint:wrapcheck // it has the path
		}
		if _, err := to.Write(data); err != nil {
			return err //nolint:wrapcheck // the stream is closed
		}
	}
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err() //nolint:wrapcheck // the caller ends as well
	case <-time.After(pollInterval):
		return nil
	}
}
