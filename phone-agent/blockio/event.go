// SPDX-License-Identifier: Apache-2.0

package blockio

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/airbound/airbound/phone-agent/trace/ring"
)

// KernelEvent is a trace event that this package reads.
type KernelEvent struct {
	// System is the directory of Name below tracefs's events.
	System, Name string
	// Without names what a recording lacks on a kernel that does not have the event; empty: there is none without it.
	Without string

	kind   kind
	fields []wanted
}

// kind is what happened.
type kind uint8

const (
	queued kind = iota
	remapped
	issued
	completed
	requeued
	syncEntered
	syncLeft
)

// event is a trace event's content. Which fields it has depends on its kind.
type event struct {
	kind    kind
	timeNS  uint64
	tid     uint32
	device  uint32
	sector  uint64
	sectors uint32
	bytes   uint32
	op      operation
	comm    comm
	// The place of a bio before it was remapped.
	oldDevice uint32
	oldSector uint64
	// status is negative for an error.
	status   int32
	inode    uint64
	dataOnly bool
}

// comm is the name of a thread, as the kernel has it: up to 15 bytes and zeros.
type comm [16]byte

// wanted is a field of an event: the sizes that it may have, and what to do with its bytes.
type wanted struct {
	name  string
	sizes []int
	set   func(e *event, data []byte)
}

var (
	tid     = wanted{"common_pid", []int{4}, func(e *event, d []byte) { e.tid = binary.LittleEndian.Uint32(d) }}
	device  = wanted{"dev", []int{4}, func(e *event, d []byte) { e.device = binary.LittleEndian.Uint32(d) }}
	sector  = wanted{"sector", []int{8}, func(e *event, d []byte) { e.sector = binary.LittleEndian.Uint64(d) }}
	sectors = wanted{"nr_sector", []int{4}, func(e *event, d []byte) { e.sectors = binary.LittleEndian.Uint32(d) }}
	length  = wanted{"bytes", []int{4}, func(e *event, d []byte) { e.bytes = binary.LittleEndian.Uint32(d) }}
	name    = wanted{"comm", []int{16}, func(e *event, d []byte) { e.comm = comm(d) }}
	// RWBS_LEN: 8 in Linux 6.1 and 6.12, 10 in 6.18.
	letters = wanted{"rwbs", []int{8, 9, 10, 11, 12}, func(e *event, d []byte) { e.op = parseOperation(d) }}
	inode   = wanted{"ino", []int{4, 8}, func(e *event, d []byte) { e.inode = number(d) }}
)

// number reads an unsigned number of four or eight bytes: some fields are as long as the kernel's registers.
func number(data []byte) uint64 {
	if len(data) == 4 {
		return uint64(binary.LittleEndian.Uint32(data))
	}
	return binary.LittleEndian.Uint64(data)
}

var failure = signed("error", func(e *event, v int32) { e.status = v })

var dataOnly = signed("datasync", func(e *event, v int32) { e.dataOnly = v != 0 })

func signed(name string, set func(e *event, value int32)) wanted {
	return wanted{name, []int{4}, func(e *event, d []byte) {
		set(e, int32(binary.LittleEndian.Uint32(d))) //nolint:gosec // the kernel's own type
	}}
}

const (
	noSubmitters = "who submitted a request, and why"
	noSyncs      = "which requests belong to an fsync, on this file system"
)

// KernelEvents are all that there are. fsyncs are those of the file systems of phones.
var KernelEvents = []KernelEvent{
	{
		System: "block", Name: "block_rq_issue", kind: issued,
		fields: []wanted{tid, device, sector, sectors, length, letters, name},
	},
	{
		System: "block", Name: "block_rq_complete", kind: completed,
		fields: []wanted{tid, device, sector, sectors, letters, failure},
	},
	{
		System: "block", Name: "block_rq_requeue", kind: requeued, Without: "how often a request was issued again",
		fields: []wanted{tid, device, sector, sectors, letters},
	},
	{
		System: "block", Name: "block_bio_queue", kind: queued, Without: noSubmitters,
		fields: []wanted{tid, device, sector, sectors, letters, name},
	},
	{
		System: "block", Name: "block_bio_remap", kind: remapped, Without: noSubmitters + ", below a device mapper",
		fields: []wanted{
			tid, device, sector, sectors, letters,
			{"old_dev", []int{4}, func(e *event, d []byte) { e.oldDevice = binary.LittleEndian.Uint32(d) }},
			{"old_sector", []int{8}, func(e *event, d []byte) { e.oldSector = binary.LittleEndian.Uint64(d) }},
		},
	},
	syncEnter("ext4"), syncExit("ext4"), syncEnter("f2fs"), syncExit("f2fs"),
}

func syncEnter(system string) KernelEvent {
	fields := []wanted{tid, device, inode}
	if system == "ext4" { // f2fs reports it at the end.
		fields = append(fields, dataOnly)
	}
	return KernelEvent{
		System: system, Name: system + "_sync_file_enter", kind: syncEntered, Without: noSyncs, fields: fields,
	}
}

func syncExit(system string) KernelEvent {
	fields := []wanted{tid, device, inode, signed("ret", func(e *event, v int32) { e.status = v })}
	if system != "ext4" {
		fields = append(fields, dataOnly)
	}
	return KernelEvent{
		System: system, Name: system + "_sync_file_exit", kind: syncLeft, Without: noSyncs, fields: fields,
	}
}

// Decoder reads events by the formats of this kernel.
type Decoder struct{ plans map[uint16]plan }

// plan is where an event's fields are, and how many bytes it has at least.
type plan struct {
	kind   kind
	bytes  int
	fields []placed
}

type placed struct {
	from, to int
	set      func(e *event, data []byte)
}

// Add takes an event's format. An error names the field that is not as this package knows it; the event is then
// skipped.
func (d *Decoder) Add(known KernelEvent, format ring.Format) error {
	p := plan{kind: known.kind}
	for _, want := range known.fields {
		field, err := format.Field(want.name, want.sizes...)
		if err != nil {
			return err
		}
		end := field.Offset + field.Size
		p.fields = append(p.fields, placed{field.Offset, end, want.set})
		p.bytes = max(p.bytes, end)
	}
	if d.plans == nil {
		d.plans = map[uint16]plan{}
	}
	d.plans[format.ID] = p
	return nil
}

var errUnknown = errors.New("an event that was not enabled")

func (d *Decoder) decode(from ring.Event, to *event) error {
	p, known := d.plans[from.ID]
	if !known {
		return fmt.Errorf("event %d: %w", from.ID, errUnknown)
	}
	if len(from.Data) < p.bytes {
		return fmt.Errorf("event %d has %d bytes, less than %d", from.ID, len(from.Data), p.bytes)
	}
	*to = event{kind: p.kind, timeNS: from.TimeNS}
	for _, field := range p.fields {
		field.set(to, from.Data[field.from:field.to])
	}
	return nil
}
