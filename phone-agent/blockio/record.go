// SPDX-License-Identifier: Apache-2.0

// Package blockio makes a record of each request to a block device from the kernel's trace events: when it was issued
// and completed, what it did and where, who submitted it, and which fsync it belongs to. It is pure: events come in,
// records go out. Names of devices and processes come from an interface.
package blockio

import (
	"fmt"
	"strconv"
	"strings"
)

// Events of a record, beside gaps.
const (
	// Request: a request to a block device, written when it is completed.
	Request = "request"
	// Fsync: an fsync, fdatasync or write with O_SYNC, written when it returns, after its requests.
	Fsync = "fsync"
	// Lost: a gap. The kernel overwrote Times trace events before they were read, at least.
	Lost = "lost"
	// Refused: a gap. A trace event could not be read.
	Refused = "refused"
)

// What was seen of a request or an fsync.
const (
	Whole = "whole"
	// Begin: it did not end before the recording did, or its end was lost.
	Begin = "begin"
	// End: it began before the recording did, or its beginning was lost. TimeNS is that of its end.
	End = "end"
)

// Record is a request or an fsync. The order of the fields is that of CSV and JSON; what an fsync does not have is zero
// or empty.
type Record struct {
	// TimeNS is when the request was issued to the device, or the fsync was called; CLOCK_MONOTONIC.
	TimeNS uint64 `json:"time_ns"`
	Event  string `json:"event"`
	// How many events a gap stands for, else 1.
	Times uint64 `json:"times"`
	Seen  string `json:"seen"`
	// LatencyNS is the time from the issue to the completion, or that of the call.
	LatencyNS uint64 `json:"latency_ns"`
	// QueuedNS is the time before the issue since the oldest bio of the request was submitted.
	QueuedNS uint64 `json:"queued_ns"`
	// Device is the disk: "sda".
	Device string `json:"device"`
	// Upper is the device to which the bio was submitted: a partition, a device of the device mapper, or the disk; of
	// an fsync, the file system's. Mount is where that is mounted.
	Upper string `json:"upper"`
	Mount string `json:"mount"`
	Kind  string `json:"kind"`
	Flags string `json:"flags"`
	// Sector is of 512 bytes, of the disk.
	Sector uint64 `json:"sector"`
	Bytes  uint64 `json:"bytes"`
	// Status is 0 or a negative error of errno(3).
	Status   int32  `json:"status"`
	Requeues uint32 `json:"requeues"`
	// TID and Command are the thread that submitted the first bio, or called fsync; PID and Process its process.
	// 0 and empty: not known.
	TID     uint32 `json:"tid"`
	Command string `json:"command"`
	PID     uint32 `json:"pid"`
	Process string `json:"process"`
	// Bios is how many the request consists of, as far as they were seen. Of a flush: how many wait for it.
	Bios uint32 `json:"bios"`
	// IssuerTID and Issuer are the thread that issued the request, often one of the kernel's.
	IssuerTID uint32 `json:"issuer_tid"`
	Issuer    string `json:"issuer"`
	// Sync numbers the fsyncs of a recording from 1; a request has that of the one it belongs to, else 0.
	Sync        uint64 `json:"sync"`
	SyncTID     uint32 `json:"sync_tid"`
	SyncCommand string `json:"sync_command"`
	SyncProcess string `json:"sync_process"`
	Inode       uint64 `json:"inode"`
	// SyncsWaiting is how many fsyncs waited for the journal when it submitted the request: only if it is 1 is Sync
	// the only cause.
	SyncsWaiting uint32 `json:"syncs_waiting"`
	// Requests and Flushes are those of an fsync, Bytes is what they wrote.
	Requests uint32 `json:"requests"`
	Flushes  uint32 `json:"flushes"`

	upper   uint32
	syncPID uint32
}

// IsGap reports whether the record stands for records that are missing.
func (r *Record) IsGap() bool { return r.Event == Lost || r.Event == Refused }

// Gap returns the kind of gap that the record is, and how many events are missing.
func (r *Record) Gap() (kind string, times uint64, is bool) { return r.Event, r.Times, r.IsGap() }

// Columns are those of CSV.
var Columns = []string{
	"time_ns", "event", "times", "seen", "latency_ns", "queued_ns", "device", "upper", "mount", "kind", "flags",
	"sector", "bytes", "status", "requeues", "tid", "command", "pid", "process", "bios", "issuer_tid", "issuer", "sync",
	"sync_tid", "sync_command", "sync_process", "inode", "syncs_waiting", "requests", "flushes",
}

// AppendCells appends the values of Columns.
func (r *Record) AppendCells(to []string) []string {
	return append(to,
		decimal(r.TimeNS), r.Event, decimal(r.Times), r.Seen, decimal(r.LatencyNS), decimal(r.QueuedNS), r.Device,
		r.Upper, r.Mount, r.Kind, r.Flags, decimal(r.Sector), decimal(r.Bytes), strconv.Itoa(int(r.Status)),
		decimal(r.Requeues), decimal(r.TID), r.Command, decimal(r.PID), r.Process, decimal(r.Bios),
		decimal(r.IssuerTID), r.Issuer, decimal(r.Sync), decimal(r.SyncTID), r.SyncCommand, r.SyncProcess,
		decimal(r.Inode), decimal(r.SyncsWaiting), decimal(r.Requests), decimal(r.Flushes),
	)
}

func decimal[T uint32 | uint64](value T) string { return strconv.FormatUint(uint64(value), 10) }

const nsPerMS = 1e6

// Text is a line for people.
func (r *Record) Text() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%6d.%06d  %-8s ", r.TimeNS/1e9, r.TimeNS%1e9/1e3, r.Device)
	if r.Event == Fsync {
		fmt.Fprintf(&text, "%-9s %9.3f ms  #%d of inode %d: %d requests, %d B, %d flushes", r.Kind,
			float64(r.LatencyNS)/nsPerMS, r.Sync, r.Inode, r.Requests, r.Bytes, r.Flushes)
	} else {
		fmt.Fprintf(&text, "%-9s %9.3f ms  %d B at %d", r.Kind, float64(r.LatencyNS)/nsPerMS, r.Bytes, r.Sector)
	}
	if r.Flags != "" {
		text.WriteString("  " + r.Flags)
	}
	fmt.Fprintf(&text, "  by %s", thread(r.Command, r.TID))
	if r.Sync != 0 && r.Event == Request {
		fmt.Fprintf(&text, "  for fsync #%d of %s, inode %d", r.Sync, thread(r.SyncCommand, r.SyncTID), r.Inode)
	}
	if r.Upper != r.Device || r.Mount != "" {
		fmt.Fprintf(&text, "  on %s %s", r.Upper, r.Mount)
	}
	if r.Seen != Whole {
		fmt.Fprintf(&text, "  only its %s was seen", r.Seen)
	}
	if r.Status != 0 {
		fmt.Fprintf(&text, "  error %d", r.Status)
	}
	return strings.TrimRight(text.String(), " ")
}

func thread(command string, tid uint32) string {
	if tid == 0 && command == "" {
		return "unknown"
	}
	return fmt.Sprintf("%s[%d]", command, tid)
}
