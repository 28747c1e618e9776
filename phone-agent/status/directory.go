// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Directory is where a running agent keeps its lock and its state. One agent runs per directory.
type Directory struct{ path string }

// NewDirectory touches nothing yet.
func NewDirectory(path string) Directory { return Directory{path: path} }

func (d Directory) statePath() string { return filepath.Join(d.path, "state.json") }
func (d Directory) lockPath() string  { return filepath.Join(d.path, "lock") }

// ErrRunning says that another agent holds the directory.
var ErrRunning = errors.New("another airbound-phone runs")

// Lock makes the directory this process's own, creating it if need be. The kernel lets go of the lock when the process
// ends, however it ends.
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
		if held, askErr := heldByAgent(lock); held || askErr != nil {
			err = errors.Join(ErrRunning, askErr)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", d.lockPath(), err), lock.Close())
	}
	return lock.Close, nil
}

// heldByAgent asks without locking: even a moment's lock could be what an agent that starts now finds. Anybody may read the
// file and lock it for reading; only an agent locks it for writing.
func heldByAgent(lock *os.File) (bool, error) {
	asked := unix.Flock_t{Type: unix.F_RDLCK}
	if err := unix.FcntlFlock(lock.Fd(), unix.F_OFD_GETLK, &asked); err != nil {
		return false, fmt.Errorf("ask for the lock's holder: %w", err)
	}
	return asked.Type != unix.F_UNLCK, nil
}

// Running tells whether an agent holds the directory now.
func (d Directory) Running() (bool, error) {
	lock, err := os.Open(d.lockPath())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for a running agent: %w", err)
	}
	held, err := heldByAgent(lock)
	if err := errors.Join(err, lock.Close()); err != nil {
		return false, fmt.Errorf("look for a running agent: %w", err)
	}
	return held, nil
}

// Save replaces the state file as a whole: a reader sees the old or the new one.
func (d Directory) Save(state State) error {
	text, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("encode the state: %w", err)
	}
	next := d.statePath() + ".new"
	if err := os.WriteFile(next, append(text, '\n'), 0o644); err != nil { //nolint:gosec // the status is for everyone
		return fmt.Errorf("write the state: %w", err)
	}
	if err := os.Rename(next, d.statePath()); err != nil {
		return fmt.Errorf("replace the state file: %w", err)
	}
	return nil
}

// Load reads what the last agent wrote; nil if none did.
func (d Directory) Load() (*State, error) {
	text, err := os.ReadFile(d.statePath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // no state is an answer, not an error
	}
	if err != nil {
		return nil, fmt.Errorf("read the state file: %w", err)
	}
	state, err := ParseState(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.statePath(), err)
	}
	return &state, nil
}
