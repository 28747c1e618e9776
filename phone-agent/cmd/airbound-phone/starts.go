// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/status"
	"github.com/airbound/airbound/phone-agent/trace/starts"
	"github.com/airbound/airbound/phone-agent/trace/tracefs"
)

// startsWatch is how the start of sending is noticed: by trace events, or by sampling alone.
type startsWatch struct {
	status.Starts
	// Nil without trace events, and so are the channels.
	watch  *starts.Watch
	seen   <-chan struct{}
	failed <-chan error
}

// watchStarts never fails: a phone without trace events is sampled.
func watchStarts(options runOptions, logger *slog.Logger) startsWatch {
	if options.noTracing {
		return startsWatch{Starts: status.Starts{By: status.Sampling, Why: "--no-tracing"}}
	}
	watch, err := newWatch(options, logger)
	if err != nil {
		logger.Warn("no trace events: the start of sending is seen by sampling", "error", err)
		return startsWatch{Starts: status.Starts{By: status.Sampling, Why: err.Error()}}
	}
	return startsWatch{
		Starts: status.Starts{By: status.TraceEvents}, watch: watch, seen: watch.Seen(), failed: watch.Failed(),
	}
}

func newWatch(options runOptions, logger *slog.Logger) (*starts.Watch, error) {
	netns, err := netnsOf(options.procRoot)
	if err != nil {
		return nil, err
	}
	root, err := tracefs.Find(tracefsPlaces(options.tracefs), tracefs.RealKernel())
	if err != nil {
		return nil, err
	}
	removed, err := root.CleanUp(os.Getpid())
	if removed > 0 {
		logger.Info("removed instances of tracing that were left behind", "instances", removed)
	}
	if err != nil {
		return nil, err
	}
	return starts.Start(root, os.Getpid(), netns, func() <-chan time.Time { return time.After(starts.Apart) })
}

// close removes the instance of tracing.
func (w startsWatch) close(logger *slog.Logger) {
	if w.watch == nil {
		return
	}
	if err := w.watch.Close(); err != nil {
		logger.Warn("cannot remove the instance of tracing; the next start will", "error", err)
	}
}

// netnsOf is the inode number of the network namespace of this process.
func netnsOf(procRoot string) (uint32, error) {
	var self unix.Stat_t
	if err := unix.Stat(filepath.Join(procRoot, "self", "ns", "net"), &self); err != nil {
		return 0, fmt.Errorf("find out the network namespace: %w", err)
	}
	return uint32(self.Ino), nil //nolint:gosec // namespaces have 32-bit numbers
}

// tracefsPlaces are where tracefs may be: the directory that was asked for, or the usual ones.
func tracefsPlaces(asked string) []string {
	if asked != "" {
		return []string{asked}
	}
	return tracefs.Places
}
