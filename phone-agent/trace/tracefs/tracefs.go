// SPDX-License-Identifier: Apache-2.0

// Package tracefs records the kernel's trace events, or waits for them, in an instance of its own below
// /sys/kernel/tracing: it does not affect other users of tracing, and their settings do not affect it.
package tracefs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/airbound/airbound/phone-agent/trace"
)

// Places are where tracefs is mounted; the second since older systems reach it through debugfs only.
var Places = []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}

// Kernel are the calls that work on a directory of instances; tests have others.
type Kernel struct {
	// Mkdir makes an instance, Rmdir removes it with everything in it.
	Mkdir func(path string) error
	Rmdir func(path string) error
	// Alive reports whether a process exists and runs this program.
	Alive func(pid int) bool
}

// RealKernel is the machine's own.
func RealKernel() Kernel {
	return Kernel{
		Mkdir: func(path string) error { return os.Mkdir(path, 0o700) },
		Rmdir: func(path string) error { return retried("rmdir", path, syscall.Rmdir) },
		Alive: sameProgram,
	}
}

// sameProgram compares the names as well: process numbers are reused, and threads have some, too.
func sameProgram(pid int) bool {
	own, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	}
	other, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return err == nil && bytes.Equal(own, other)
}

// Root is a mounted tracefs.
type Root struct {
	path   string
	kernel Kernel
}

// Find finds tracefs at one of these places, and the monitor's events in it. The error names what is missing and what
// to do.
func Find(places []string, kernel Kernel) (Root, error) {
	root, err := Mounted(places, kernel)
	if err != nil {
		return Root{}, err
	}
	for _, event := range trace.EventNames {
		if _, err := os.Stat(filepath.Join(root.path, "events", trace.EventSystem, event)); err != nil {
			return Root{}, fmt.Errorf(
				"the kernel has no trace event %s: it lacks Airbound's series or CONFIG_EVENT_TRACING: %w",
				event,
				err,
			)
		}
	}
	return root, nil
}

// Mounted finds tracefs at one of these places, whatever events it has.
func Mounted(places []string, kernel Kernel) (Root, error) {
	for _, place := range places {
		root := Root{place, kernel}
		if _, err := os.Stat(root.instances()); err != nil {
			if errors.Is(err, fs.ErrPermission) {
				return Root{}, fmt.Errorf("%w: tracing needs root", err)
			}
			continue
		}
		return root, nil
	}
	return Root{}, fmt.Errorf(
		"no tracefs at %s; mount it with: mount -t tracefs tracefs %s (or the kernel lacks CONFIG_EVENT_TRACING)",
		strings.Join(places, " or "),
		places[0],
	)
}

func (r Root) instances() string { return filepath.Join(r.path, "instances") }

const instancePrefix = "airbound-"

// instanceNames are those that a process may give its instance: in another PID namespace there may be a process of the
// same number.
func instanceNames(pid int) []string {
	names := []string{instancePrefix + strconv.Itoa(pid)}
	for i := 1; i < 8; i++ {
		names = append(names, fmt.Sprintf("%s-%d", names[0], i))
	}
	return names
}

// CleanUp removes the instances of processes that were killed, and returns how many. Those of processes that exist, and
// those that a process reads, stay.
func (r Root) CleanUp(ownPID int) (removed int, err error) {
	entries, err := os.ReadDir(r.instances())
	if err != nil {
		return 0, fmt.Errorf("list instances that were left behind: %w", err)
	}
	for _, entry := range entries {
		number, named := strings.CutPrefix(entry.Name(), instancePrefix)
		number, _, _ = strings.Cut(number, "-")
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
	// Only window changes with which a connection may begin to send; no events.
	StartsOnly bool
	// Size of the kernel's buffer for each processor.
	BufferKiB uint32
}

func (c Config) filter() string {
	filter := fmt.Sprintf("netns == %d", c.Netns)
	if c.UID != nil {
		filter += fmt.Sprintf(" && uid == %d", *c.UID)
	}
	if c.StartsOnly {
		filter += " && " + startsFilter
	}
	return filter
}

// startsFilter selects window changes
//   - with nothing in flight: the first window of a connection, and one that is reduced after an idle time because data
//     is written again (tcp_cwnd_restart);
//   - in the slow start of a connection that lost nothing (no ssthresh), up to twice TCP_INIT_CWND: it grows with the
//     acknowledgements of the first data, however late that was written.
const startsFilter = "(unacked_bytes == 0 || (ssthresh_segs == 2147483647 && cwnd_segs <= 20))"

// events are those to enable.
func (c Config) events() []Event {
	names := trace.EventNames
	if c.StartsOnly {
		names = []string{trace.WindowName}
	}
	events := make([]Event, 0, len(names))
	for _, name := range names {
		events = append(events, Event{trace.EventSystem, name, c.filter()})
	}
	return events
}

// Event is a trace event to record.
type Event struct {
	// System is the directory below events in which it is.
	System, Name string
	// Filter selects by the event's fields, in the kernel (Documentation/trace/events.rst); empty: all.
	Filter string
}

func (e Event) directory() string { return filepath.Join("events", e.System, e.Name) }

// A new instance inherits the options of the kernel's own buffer, which another tracer may have set
// (kernel/trace/trace.c, trace_array_create): whether old or new records are lost when the buffer is full, and the
// format of a line.
var options = []setting{
	{"overwrite", "1"},
	{"context-info", "1"},
	{"raw", "0"},
	{"hex", "0"},
	{"bin", "0"},
	{"fields", "0"},
	{"verbose", "0"},
	{"latency-format", "0"},
	{"block", "0"},
	{"stacktrace", "0"},
	{"userstacktrace", "0"},
}

// setting is a file of an instance, and what is written into it.
type setting struct{ file, value string }

func (r Root) makeInstance(pid int) (*Instance, error) {
	var err error
	for _, name := range instanceNames(pid) {
		path := filepath.Join(r.instances(), name)
		if err = r.kernel.Mkdir(path); err == nil {
			return &Instance{path: path, kernel: r.kernel}, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return nil, fmt.Errorf("make an instance of tracing: %w", err)
}

// Start makes the instance and records until Stop. On an error nothing is left behind.
func (r Root) Start(config Config) (*Instance, error) {
	instance, err := r.prepare(config.PID, config.BufferKiB, config.events())
	if err != nil {
		return nil, err
	}
	if instance.pipe, err = openPipe(filepath.Join(instance.path, "trace_pipe")); err == nil {
		err = instance.set("tracing_on", "1")
	}
	if err != nil {
		return nil, errors.Join(err, instance.Remove())
	}
	return instance, nil
}

// prepare makes an instance in which the events are enabled and which does not record yet. On an error nothing is left
// behind.
func (r Root) prepare(pid int, bufferKiB uint32, events []Event) (_ *Instance, err error) {
	instance, err := r.makeInstance(pid)
	if err != nil {
		return nil, err
	}
	instance.events = events
	defer func() {
		if err != nil {
			err = errors.Join(err, instance.Remove())
		}
	}()
	settings := []setting{
		{"tracing_on", "0"},
		{"trace_clock", "mono"},
		{"buffer_size_kb", strconv.FormatUint(uint64(bufferKiB), 10)},
	}
	for _, event := range events {
		if event.Filter != "" {
			settings = append(settings, setting{filepath.Join(event.directory(), "filter"), event.Filter})
		}
		settings = append(settings, setting{filepath.Join(event.directory(), "enable"), "1"})
	}
	for _, option := range options {
		// An option that this kernel does not have is not set.
		err := instance.set(filepath.Join("options", option.file), option.value)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	for _, setting := range settings {
		if err := instance.set(setting.file, setting.value); err != nil {
			return nil, err
		}
	}
	return instance, nil
}

// retried repeats a system call that a signal interrupted before it did anything, and names it in its error.
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
