// SPDX-License-Identifier: Apache-2.0

package tracefs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Instance is a recording.
type Instance struct {
	path   string
	kernel Kernel
	events []Event
	pipe   *pipe
}

// Read waits for the next text and returns it; it is valid until the next call. Nil, and no error, means that Interrupt
// was called. It may be read once more after Stop.
func (i *Instance) Read() ([]byte, error) { return i.pipe.wait() }

// Interrupt ends a waiting Read and all later ones. It may be called at any time, from anywhere.
func (i *Instance) Interrupt() { i.pipe.interrupt() }

// Stop ends the recording. What is in the kernel's buffer remains to be read with Drain. It may be called from
// anywhere.
func (i *Instance) Stop() error { return i.set("tracing_on", "0") }

// Overwritten records appear in the trace as LOST lines. These two losses appear only in the per-CPU stats.
var unreported = []string{"commit overrun", "dropped events"}

// LostUnreported counts the records that were lost and that the text does not report.
func (i *Instance) LostUnreported() (uint64, error) { return i.stats(unreported) }

// stats is the sum of these counters of all processors.
func (i *Instance) stats(counters []string) (uint64, error) {
	files, err := filepath.Glob(filepath.Join(i.path, "per_cpu", "cpu*", "stats"))
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("count what was lost: no per_cpu/cpu*/stats (%w)", errors.Join(err, fs.ErrNotExist))
	}
	var sum uint64
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return sum, fmt.Errorf("count what was lost: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			if !slices.Contains(counters, name) {
				continue
			}
			count, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				return sum, fmt.Errorf("count what was lost: %s: %s: %w", file, name, err)
			}
			sum += count
		}
	}
	return sum, nil
}

// Drain returns the next text without waiting, nil if there is no more.
func (i *Instance) Drain() ([]byte, error) { return i.pipe.read() }

// Remove removes the instance with everything in it. If a process has a file of it open it stays, but records nothing.
func (i *Instance) Remove() error {
	// If one of these fails, so does Rmdir.
	_ = i.Stop()
	for _, event := range i.events {
		_ = i.set(filepath.Join(event.directory(), "enable"), "0")
	}
	var err error
	if i.pipe != nil {
		// An instance with an open pipe is busy.
		err = i.pipe.close()
	}
	if removeErr := i.kernel.Rmdir(i.path); removeErr != nil {
		err = errors.Join(err, fmt.Errorf("remove the instance of tracing: %w", removeErr))
	}
	return err
}

// set writes a setting with one write(2). The file is truncated for tests with regular files.
func (i *Instance) set(name, value string) error {
	file, err := os.OpenFile(filepath.Join(i.path, name), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return fmt.Errorf("set %s to %q: %w", name, value, err)
	}
	_, err = file.WriteString(value)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("set %s to %q: %w", name, value, err)
	}
	return nil
}
