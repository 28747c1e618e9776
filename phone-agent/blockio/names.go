// SPDX-License-Identifier: Apache-2.0

package blockio

import (
	"bytes"
	"strings"
)

// Names is what is known outside of the trace.
type Names interface {
	// Device is never refused: a device that is not there any more is known by its number.
	Device(number uint32) Device
	Process(tid uint32) Process
}

// Device is a block device.
type Device struct {
	// Name is "sda2".
	Name string
	// Disk is the number of the disk of which it is a partition, else its own.
	Disk uint32
	// Stacked: of the device mapper. It submits bios to the devices below.
	Stacked bool
	Mount   string
}

// Process is that of a thread. What is not known is zero or empty.
type Process struct {
	PID     uint32
	Name    string
	Command string
}

// who is a thread with its process.
type who struct {
	tid     uint32
	comm    comm
	command string
	process Process
	// journal: a thread of a file system, which writes what fsyncs wait for.
	journal bool
}

// journals are the beginnings of these threads' names: ext4's, and those of f2fs for checkpoints and flushes.
var journals = []string{"jbd2/", "f2fs_ckpt-", "f2fs_flush-"}

func (n *threads) named(tid uint32, name comm) *who {
	known := n.known[tid]
	if known != nil && known.comm == name {
		return known
	}
	command := string(name[:])
	if end := bytes.IndexByte(name[:], 0); end >= 0 {
		command = command[:end]
	}
	return n.keep(&who{tid: tid, comm: name, command: command, process: n.names.Process(tid)})
}

// threads are those that were seen. When there are too many all are looked up again: their names may have changed, too.
type threads struct {
	names Names
	known map[uint32]*who
}

const threadsMax = 1024

// numbered is for events that have no name in them.
func (n *threads) numbered(tid uint32) *who {
	if known := n.known[tid]; known != nil {
		return known
	}
	process := n.names.Process(tid)
	w := &who{tid: tid, command: process.Command, process: process}
	copy(w.comm[:], process.Command)
	return n.keep(w)
}

func (n *threads) keep(w *who) *who {
	for _, start := range journals {
		w.journal = w.journal || strings.HasPrefix(w.command, start)
	}
	if len(n.known) >= threadsMax {
		clear(n.known)
	}
	n.known[w.tid] = w
	return w
}

// devices are those that were seen.
type devices struct {
	names Names
	known map[uint32]Device
}

const devicesMax = 256

func (n *devices) numbered(number uint32) Device {
	device, known := n.known[number]
	if !known {
		device = n.names.Device(number)
		if len(n.known) >= devicesMax {
			clear(n.known)
		}
		n.known[number] = device
	}
	return device
}
