// SPDX-License-Identifier: Apache-2.0

package tracefs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/trace/ring"
)

// RawConfig is what is recorded as the kernel has it, in binary, and how.
type RawConfig struct {
	PID    int
	Events []Event
	// Size of the kernel's buffer for each processor.
	BufferKiB uint32
	// Every is the time between two looks into the buffer. Nothing wakes up between them.
	Every time.Duration
}

// Raw is a recording of binary events. Its methods are those of Instance.
type Raw struct {
	*Instance
	waker
	merger *ring.Merger
	files  []int
	every  time.Duration
	// nowNS is when the buffer was looked into last; looked is whether all of that time has been read.
	nowNS  uint64
	looked bool
}

// Format reads how this kernel lays out an event. The error is fs.ErrNotExist if it has no such event.
func (r Root) Format(system, name string) (ring.Format, error) {
	text, err := os.ReadFile(filepath.Join(r.path, "events", system, name, "format"))
	if errors.Is(err, fs.ErrNotExist) {
		return ring.Format{}, fmt.Errorf("the kernel has no trace event %s: %w", name, err)
	}
	if err != nil {
		return ring.Format{}, fmt.Errorf("read the format of %s: %w", name, err)
	}
	return ring.ParseFormat(string(text))
}

// StartRaw makes an instance and records until Stop. On an error nothing is left behind.
func (r Root) StartRaw(config RawConfig) (_ *Raw, err error) {
	text, err := os.ReadFile(filepath.Join(r.path, "events", "header_page"))
	if err != nil {
		return nil, fmt.Errorf("read the layout of a page: %w", err)
	}
	layout, err := ring.ParseLayout(string(text))
	if err != nil {
		return nil, err
	}
	instance, err := r.prepare(config.PID, config.BufferKiB, config.Events)
	if err != nil {
		return nil, err
	}
	raw := &Raw{Instance: instance, every: config.Every, looked: true}
	if raw.wake, err = newWaker(); err != nil {
		return nil, errors.Join(err, instance.Remove())
	}
	if err = raw.open(layout); err == nil {
		err = instance.set("tracing_on", "1")
	}
	if err != nil {
		return nil, errors.Join(err, raw.Remove())
	}
	return raw, nil
}

func (r *Raw) open(layout ring.Layout) error {
	paths, err := filepath.Glob(filepath.Join(r.path, "per_cpu", "cpu*", "trace_pipe_raw"))
	if err != nil || len(paths) == 0 {
		return fmt.Errorf("open the buffers: no per_cpu/cpu*/trace_pipe_raw (%w)", errors.Join(err, fs.ErrNotExist))
	}
	for _, path := range paths {
		file, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return &os.PathError{Op: "open", Path: path, Err: err}
		}
		r.files = append(r.files, file)
	}
	r.merger = ring.NewMerger(layout, len(r.files), r)
	return nil
}

// Next reads a page of a processor's buffer, for the merger.
func (r *Raw) Next(cpu int, page []byte) (bool, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for {
		if r.closed {
			return false, r.failed("read", os.ErrClosed)
		}
		n, err := unix.Read(r.files[cpu], page)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN), err == nil && n == 0:
			return false, nil
		case err != nil:
			return false, r.failed("read", err)
		default:
			clear(page[n:])
			return true, nil
		}
	}
}

// Read returns the next events, and after them one of the kind ring.Now; then it waits for the next look into the
// buffer. Nil, and no error, means that Interrupt was called.
func (r *Raw) Read() ([]ring.Event, error) {
	if r.looked {
		if interrupted, err := r.wait(r.every); interrupted || err != nil {
			return nil, err
		}
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
			return nil, fmt.Errorf("read the clock: %w", err)
		}
		r.nowNS, r.looked = uint64(now.Nano()), false //nolint:gosec // since the boot
	}
	events, err := r.merger.Batch(r.nowNS - min(r.nowNS, inFlightNS))
	if err != nil || len(events) > 0 {
		return events, err
	}
	r.looked = true
	return []ring.Event{{Kind: ring.Now, TimeNS: r.nowNS}}, nil
}

// inFlightNS is longer than a processor needs from the time of an event to its entry in the buffer, with interrupts
// between. An event that takes longer is late, and comes after younger ones of other processors.
const inFlightNS = 10_000_000

// Drain returns the next events without waiting, nil if there are no more.
func (r *Raw) Drain() ([]ring.Event, error) {
	events, err := r.merger.Rest()
	if len(events) == 0 {
		return nil, err
	}
	return events, err
}

// LostUnreported counts the events that were lost and that no gap reports. A page with no room for the number of those
// that were overwritten before it only says that there are some (kernel/trace/ring_buffer.c, ring_buffer_read_page).
func (r *Raw) LostUnreported() (uint64, error) {
	lost, err := r.stats(append([]string{"overrun"}, unreported...))
	return lost - min(lost, r.merger.Lost), err
}

// Interrupt ends a waiting Read and all later ones. It may be called at any time, from anywhere.
func (r *Raw) Interrupt() { r.interrupt() }

// Remove removes the instance with everything in it.
func (r *Raw) Remove() error {
	_ = r.Stop() // If it fails, so does the rest.
	r.mutex.Lock()
	r.closed = true
	err := unix.Close(r.wake)
	for _, file := range r.files {
		err = errors.Join(err, unix.Close(file))
	}
	r.mutex.Unlock()
	return errors.Join(err, r.Instance.Remove())
}

func (r *Raw) failed(operation string, err error) error {
	return &os.PathError{Op: operation, Path: filepath.Join(r.path, "per_cpu"), Err: err}
}

// wait waits for an interruption, and not longer than limit.
func (w *waker) wait(limit time.Duration) (interrupted bool, err error) {
	waiting := []unix.PollFd{{Fd: int32(w.wake), Events: unix.POLLIN}} //nolint:gosec // a descriptor fits
	n, err := unix.Poll(waiting, int(limit.Milliseconds()))
	if err != nil && !errors.Is(err, unix.EINTR) {
		return false, fmt.Errorf("wait for trace events: %w", err)
	}
	return n > 0, nil
}

// FilterDevices selects events whose field dev is one of these device numbers, in the kernel's own form
// (include/linux/kdev_t.h: 12 bits of major and 20 of minor number); of none: all events.
func FilterDevices(devices []uint32) string {
	terms := make([]string, 0, len(devices))
	for _, device := range devices {
		terms = append(terms, fmt.Sprintf("dev == %d", device))
	}
	return strings.Join(terms, " || ")
}
