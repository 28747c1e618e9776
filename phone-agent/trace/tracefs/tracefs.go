// SPDX-License-Identifier: Apache-2.0

// Package tracefs records the kernel's tcp_monitor trace events in an instance of its own below /sys/kernel/tracing: other
// users of the kernel's tracing see nothing of it, and nothing of theirs is changed.
package tracefs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"airbound/phone-agent/trace"
)

// Places are where tracefs is mounted; the second since older systems reach it through debugfs only.
var Places = []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}

// Kernel is what a directory of instances answers to; tests have one that is none.
type Kernel struct {
	// Mkdir makes an instance, Rmdir ends it with everything in it.
	Mkdir func(path string) error
	Rmdir func(path string) error
	// Alive tells whether a process lives.
	Alive func(pid int) bool
}

// RealKernel is the machine's own.
func RealKernel() Kernel {
	return Kernel{
		Mkdir: func(path string) error { return os.Mkdir(path, 0o700) },
		Rmdir: func(path string) error { return retried("rmdir", path, syscall.Rmdir) },
		Alive: func(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) },
	}
}

// Root is a mounted tracefs that knows the monitor's events.
type Root struct {
	path   string
	kernel Kernel
}

// Find looks for tracefs in these places, and in it for the monitor's events. The error says what is missing and what to do.
func Find(places []string, kernel Kernel) (Root, error) {
	for _, place := range places {
		root := Root{place, kernel}
		if _, err := os.Stat(root.instances()); err != nil {
			if errors.Is(err, fs.ErrPermission) {
				return Root{}, fmt.Errorf("%w: tracing needs root", err)
			}
			continue
		}
		for _, event := range trace.EventNames {
			if _, err := os.Stat(filepath.Join(place, "events", trace.EventSystem, event)); err != nil {
				return Root{}, fmt.Errorf("the kernel has no trace event %s: it lacks Airbound's series or CONFIG_EVENT_TRACING: %w", event, err)
			}
		}
		return root, nil
	}
	return Root{}, fmt.Errorf("no tracefs at %s; mount it with: mount -t tracefs tracefs %s (or the kernel lacks CONFIG_EVENT_TRACING)",
		strings.Join(places, " or "), places[0])
}

func (r Root) instances() string { return filepath.Join(r.path, "instances") }

const instancePrefix = "airbound-"

// CleanUp ends what recordings that were killed left behind, and returns how many. Those of processes that live, and those
// that somebody reads, stay.
func (r Root) CleanUp(ownPID int) (removed int, err error) {
	entries, err := os.ReadDir(r.instances())
	if err != nil {
		return 0, fmt.Errorf("look for instances that were left behind: %w", err)
	}
	for _, entry := range entries {
		number, named := strings.CutPrefix(entry.Name(), instancePrefix)
		pid, err := strconv.Atoi(number)
		if !named || err != nil || (pid != ownPID && r.kernel.Alive(pid)) {
			continue
		}
		switch err := r.kernel.Rmdir(filepath.Join(r.instances(), entry.Name())); {
		case err == nil:
			removed++
		case errors.Is(err, syscall.EBUSY), errors.Is(err, fs.ErrNotExist):
		default:
			return removed, fmt.Errorf("remove the instance %s that was left behind: %w", entry.Name(), err)
		}
	}
	return removed, nil
}

// Config is what is recorded, and how.
type Config struct {
	PID int
	// Inode number of the network namespace to which recording is confined.
	Netns uint32
	// Nil: every user.
	UID *uint32
	// Of the kernel's buffer, for each processor.
	BufferKiB uint32
}

func (c Config) filter() string {
	filter := fmt.Sprintf("netns == %d", c.Netns)
	if c.UID != nil {
		filter += fmt.Sprintf(" && uid == %d", *c.UID)
	}
	return filter
}

// Start makes the instance and records until Stop. On an error nothing is left behind.
func (r Root) Start(config Config) (_ *Instance, err error) {
	path := filepath.Join(r.instances(), instancePrefix+strconv.Itoa(config.PID))
	if err := r.kernel.Mkdir(path); err != nil {
		return nil, fmt.Errorf("make an instance of tracing: %w", err)
	}
	instance := &Instance{path: path, kernel: r.kernel}
	defer func() {
		if err != nil {
			err = errors.Join(err, instance.Remove())
		}
	}()
	settings := []struct{ file, value string }{
		{"tracing_on", "0"},
		{"trace_clock", "mono"},
		{"buffer_size_kb", strconv.FormatUint(uint64(config.BufferKiB), 10)},
	}
	for _, event := range trace.EventNames {
		directory := filepath.Join("events", trace.EventSystem, event)
		settings = append(settings, []struct{ file, value string }{
			{filepath.Join(directory, "filter"), config.filter()}, {filepath.Join(directory, "enable"), "1"},
		}...)
	}
	for _, setting := range settings {
		if err := instance.set(setting.file, setting.value); err != nil {
			return nil, err
		}
	}
	if instance.pipe, err = openPipe(filepath.Join(path, "trace_pipe")); err != nil {
		return nil, err
	}
	return instance, instance.set("tracing_on", "1")
}

// retried repeats a system call that a signal interrupted before it did anything, and says in its error what was called.
func retried(operation, path string, call func(path string) error) error {
	for {
		err := call(path)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EINTR) {
			return &os.PathError{Op: operation, Path: path, Err: err}
		}
	}
}
