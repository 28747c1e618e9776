// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// ProcFile is the RulesFile of a real /proc.
type ProcFile struct{ path string }

// NewProcFile finds the rules of the network namespace that procRoot (usually /proc) shows.
func NewProcFile(procRoot string) ProcFile {
	return ProcFile{path: filepath.Join(procRoot, "net", "tcp_cwnd_bounds")}
}

// Read implements RulesFile.
func (f ProcFile) Read() ([]byte, error) { return os.ReadFile(f.path) }

// Write implements RulesFile. os.File.Write would turn a short write into a second transaction, so write(2) is called
// here, once. The file is truncated for the sake of regular files that stand in for /proc; /proc ignores it.
func (f ProcFile) Write(transaction []byte) error {
	descriptor, err := retried(func() (int, error) {
		return syscall.Open(f.path, syscall.O_WRONLY|syscall.O_TRUNC|syscall.O_CLOEXEC, 0)
	})
	if err != nil {
		return &os.PathError{Op: "open", Path: f.path, Err: err}
	}
	written, err := retried(func() (int, error) { return syscall.Write(descriptor, transaction) })
	if err == nil && written != len(transaction) {
		err = io.ErrShortWrite
	}
	if closeErr := syscall.Close(descriptor); err == nil {
		err = closeErr
	}
	if err != nil {
		return &os.PathError{Op: "write", Path: f.path, Err: err}
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
