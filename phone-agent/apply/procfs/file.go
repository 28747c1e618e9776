// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// Files is the Kernel of a real /proc.
type Files struct{ rules, stat string }

// NewFiles finds the files of the network namespace that procRoot (usually /proc) shows. Nothing is opened yet.
func NewFiles(procRoot string) Files {
	return Files{
		rules: filepath.Join(procRoot, "net", "tcp_cwnd_bounds"),
		stat:  filepath.Join(procRoot, "net", "tcp_cwnd_bounds_stat"),
	}
}

// Read implements Kernel.
func (f Files) Read() ([]byte, error) { return os.ReadFile(f.rules) }

// ReadStat implements Kernel.
func (f Files) ReadStat() ([]byte, error) { return os.ReadFile(f.stat) }

// Write implements Kernel. os.File.Write would make a second transaction of a short write, so write(2) is called here,
// once. The file is truncated for tests with regular files; /proc ignores that.
func (f Files) Write(transaction []byte) error {
	descriptor, err := retried(func() (int, error) {
		return syscall.Open(f.rules, syscall.O_WRONLY|syscall.O_TRUNC|syscall.O_CLOEXEC, 0)
	})
	if err != nil {
		return &os.PathError{Op: "open", Path: f.rules, Err: err}
	}
	written, err := retried(func() (int, error) { return syscall.Write(descriptor, transaction) })
	if err == nil && written != len(transaction) {
		err = io.ErrShortWrite
	}
	if closeErr := syscall.Close(descriptor); err == nil {
		err = closeErr
	}
	if err != nil {
		return &os.PathError{Op: "write", Path: f.rules, Err: err}
	}
	return nil
}

// retried repeats a system call that a signal interrupted before it did anything.
func retried(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}
