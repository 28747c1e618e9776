// SPDX-License-Identifier: Apache-2.0

package tracefs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Instance is a recording.
type Instance struct {
	path   string
	kernel Kernel
	pipe   *pipe
}

// Read waits for the next text and returns it; it is good until the next call. Nil, and no error, means that Interrupt was
// called. It may be read once more after Stop.
func (i *Instance) Read() ([]byte, error) { return i.pipe.wait() }

// Interrupt ends a waiting Read and all later ones. It may be called at any time, from anywhere.
func (i *Instance) Interrupt() { i.pipe.interrupt() }

// Stop ends the recording. What is in the kernel's buffer remains to be read with Drain.
func (i *Instance) Stop() error { return i.set("tracing_on", "0") }

// Drain returns the next text without waiting, nil if there is no more.
func (i *Instance) Drain() ([]byte, error) { return i.pipe.read() }

// Remove ends the instance with everything in it.
func (i *Instance) Remove() error {
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

// set writes a setting with one write(2). The file is truncated for the sake of regular files that stand in for tracefs.
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
