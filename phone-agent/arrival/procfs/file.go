// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Files is the Kernel of a real /proc.
type Files struct {
	request string
	tables  []string
}

var _ Kernel = Files{}

// NewFiles finds the files of the network namespace that procRoot (usually /proc) shows. Nothing is opened yet.
func NewFiles(procRoot string) Files {
	net := filepath.Join(procRoot, "net")
	return Files{
		request: filepath.Join(net, "tcp_retransmit"),
		tables:  []string{filepath.Join(net, "tcp"), filepath.Join(net, "tcp6")},
	}
}

// Probe implements Kernel.
func (f Files) Probe() error {
	opened, err := os.OpenFile(f.request, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return opened.Close()
}

// Request implements Kernel. os.File.Write would make a second transaction of a short write.
func (f Files) Request(transaction []byte) error {
	descriptor, err := syscall.Open(f.request, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: f.request, Err: err}
	}
	written, err := syscall.Write(descriptor, transaction)
	if err == nil && written != len(transaction) {
		err = io.ErrShortWrite
	}
	if closeErr := syscall.Close(descriptor); err == nil {
		err = closeErr
	}
	if err != nil {
		return &os.PathError{Op: "write", Path: f.request, Err: err}
	}
	return nil
}

// Tables implements Kernel.
func (f Files) Tables() ([][]byte, error) {
	var found [][]byte
	for _, path := range f.tables {
		text, err := os.ReadFile(path)
		switch {
		case err == nil:
			found = append(found, text)
		case !errors.Is(err, fs.ErrNotExist): // A kernel without IPv6 has no second table.
			return nil, err
		}
	}
	return found, nil
}
