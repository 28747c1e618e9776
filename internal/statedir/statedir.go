// SPDX-License-Identifier: Apache-2.0

// Package statedir is the directory of a running agent: its lock, so that one agent runs, and its files, which are
// replaced as a whole.
package statedir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Directory is one agent's directory.
type Directory struct{ path string }

// New opens and creates nothing yet.
func New(path string) Directory { return Directory{path: path} }

func (d Directory) lockPath() string { return filepath.Join(d.path, "lock") }

// ErrRunning means that another agent has locked the directory.
var ErrRunning = errors.New("another agent is running")

// Lock locks the directory, which is created if it does not exist. The kernel releases the lock when the process ends,
// however it ends.
func (d Directory) Lock() (unlock func() error, err error) {
	if err := os.MkdirAll(d.path, 0o755); err != nil { //nolint:gosec // people who are not root may read the status
		return nil, fmt.Errorf("create the state directory: %w", err)
	}
	lock, err := os.OpenFile(d.lockPath(), os.O_RDWR|os.O_CREATE, 0o644) //nolint:gosec // as above
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	err = unix.FcntlFlock(lock.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		if locked, testErr := lockedByAgent(lock); locked || testErr != nil {
			err = errors.Join(ErrRunning, testErr)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", d.lockPath(), err), lock.Close())
	}
	return lock.Close, nil
}

// lockedByAgent tests the lock without taking it: taking it even briefly could make an agent that is just starting
// find the directory locked. Anybody may read the file and lock it for reading; only an agent locks it for writing.
func lockedByAgent(lock *os.File) (bool, error) {
	conflicting := unix.Flock_t{Type: unix.F_RDLCK}
	if err := unix.FcntlFlock(lock.Fd(), unix.F_OFD_GETLK, &conflicting); err != nil {
		return false, fmt.Errorf("test the lock: %w", err)
	}
	return conflicting.Type != unix.F_UNLCK, nil
}

// Running reports whether an agent has locked the directory.
func (d Directory) Running() (bool, error) {
	lock, err := os.Open(d.lockPath())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	var locked bool
	if err == nil {
		locked, err = lockedByAgent(lock)
		err = errors.Join(err, lock.Close())
	}
	if err != nil {
		return false, fmt.Errorf("check for a running agent: %w", err)
	}
	return locked, nil
}

// Save replaces a file as a whole with the JSON of a value: a reader sees the old or the new one.
func (d Directory) Save(name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode the state: %w", err)
	}
	path := filepath.Join(d.path, name)
	next := path + ".new"
	if err := os.WriteFile(next, append(text, '\n'), 0o644); err != nil { //nolint:gosec // the status is for everyone
		return fmt.Errorf("write the state: %w", err)
	}
	if err := os.Rename(next, path); err != nil {
		return fmt.Errorf("replace the state file: %w", err)
	}
	return nil
}

// Load reads a file and parses it; nil if there is none.
func Load[T any](d Directory, name string, parse func([]byte) (T, error)) (*T, error) {
	path := filepath.Join(d.path, name)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // no state is an answer, not an error
	}
	if err != nil {
		return nil, fmt.Errorf("read the state file: %w", err)
	}
	state, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &state, nil
}

// Remove removes a file; that there is none is no error.
func (d Directory) Remove(name string) error {
	if err := os.Remove(filepath.Join(d.path, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the state file: %w", err)
	}
	return nil
}
