// SPDX-License-Identifier: Apache-2.0

package blockio_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/airbound/airbound/phone-agent/blockio"
	"github.com/airbound/airbound/phone-agent/trace/ring"
	"github.com/airbound/airbound/phone-agent/trace/ring/ringtest"
	"github.com/airbound/airbound/phone-agent/trace/rows"
)

// kernel has events as a version of Linux lays them out.
type kernel map[string]ringtest.Layout

// newKernel: Linux 6.1 has eight letters of rwbs and no ioprio, 6.18 has ten and one; others differ likewise.
func newKernel(letters int, later ...ringtest.Field) kernel {
	var (
		dev      = ringtest.Field{Name: "dev", Type: "dev_t", Size: 4}
		sector   = ringtest.Field{Name: "sector", Type: "sector_t", Size: 8}
		sectors  = ringtest.Field{Name: "nr_sector", Type: "unsigned int", Size: 4}
		length   = ringtest.Field{Name: "bytes", Type: "unsigned int", Size: 4}
		rwbs     = ringtest.Field{Name: "rwbs", Type: fmt.Sprintf("char[%d]", letters), Size: letters}
		comm     = ringtest.Field{Name: "comm", Type: "char[16]", Size: 16}
		cmd      = ringtest.Field{Name: "cmd", Type: "__data_loc char[]", Size: 4}
		inode    = ringtest.Field{Name: "ino", Type: "ino_t", Size: 8}
		dataSync = ringtest.Field{Name: "datasync", Type: "int", Size: 4}
		result   = ringtest.Field{Name: "ret", Type: "int", Size: 4}
		failure  = ringtest.Field{Name: "error", Type: "int", Size: 4}
	)
	with := func(first []ringtest.Field, rest ...ringtest.Field) []ringtest.Field {
		return append(append(first, later...), rest...)
	}
	place := []ringtest.Field{dev, sector, sectors}
	fields := map[string][]ringtest.Field{
		"block_rq_issue":    with([]ringtest.Field{dev, sector, sectors, length}, rwbs, comm, cmd),
		"block_rq_complete": with([]ringtest.Field{dev, sector, sectors, failure}, rwbs, cmd),
		"block_rq_requeue":  with([]ringtest.Field{dev, sector, sectors}, rwbs, cmd),
		"block_bio_queue":   append(place[:3:3], rwbs, comm),
		"block_bio_remap": append(place[:3:3], ringtest.Field{Name: "old_dev", Type: "dev_t", Size: 4},
			ringtest.Field{Name: "old_sector", Type: "sector_t", Size: 8}, rwbs),
		"ext4_sync_file_enter": {dev, inode, {Name: "parent", Type: "ino_t", Size: 8}, dataSync},
		"ext4_sync_file_exit":  {dev, inode, result},
		"f2fs_sync_file_enter": {dev, inode, {Name: "pino", Type: "ino_t", Size: 8}},
		"f2fs_sync_file_exit":  {dev, inode, {Name: "cp_reason", Type: "int", Size: 4}, dataSync, result},
	}
	k := kernel{}
	for i, event := range blockio.KernelEvents {
		k[event.Name] = ringtest.NewLayout(event.Name, uint16(2000+i), fields[event.Name]...)
	}
	return k
}

var ioprio = ringtest.Field{Name: "ioprio", Type: "unsigned short", Size: 2}

// kernels are those that are tested.
func kernels() map[string]kernel {
	return map[string]kernel{"6.1": newKernel(8), "6.18": newKernel(10, ioprio)}
}

func (k kernel) decoder(t *testing.T) blockio.Decoder {
	t.Helper()
	var decoder blockio.Decoder
	for _, event := range blockio.KernelEvents {
		format, err := ring.ParseFormat(k[event.Name].Text)
		if err == nil {
			err = decoder.Add(event, format)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return decoder
}

func (k kernel) event(name string, timeNS uint64, values map[string]any) ring.Event {
	data := k[name].Data(values)
	return ring.Event{TimeNS: timeNS, ID: uint16(data[0]) | uint16(data[1])<<8, Data: data}
}

// devices of the tests: 8:0 is a disk with the partitions 8:1 and 8:2 at the sectors 1000 and 100000; 254:0 is of the
// device mapper, on 8:2, and is mounted at /data.
const (
	disk   = 8 << 20
	first  = disk + 1
	second = disk + 2
	mapped = 254 << 20
)

// names knows the threads that the scripts name, but as if they had ended if they have no process.
type names struct{}

func (names) Device(number uint32) blockio.Device {
	switch number {
	case first:
		return blockio.Device{Name: "sda1", Disk: disk, Mount: "/"}
	case second:
		return blockio.Device{Name: "sda2", Disk: disk}
	case mapped:
		return blockio.Device{Name: "dm-0", Disk: mapped, Stacked: true, Mount: "/data"}
	}
	return blockio.Device{Name: map[uint32]string{disk: "sda"}[number], Disk: number}
}

func (names) Process(tid uint32) blockio.Process {
	if tid < 100 {
		return blockio.Process{}
	}
	return blockio.Process{PID: tid / 100 * 100, Name: fmt.Sprintf("app%d", tid/100), Command: fmt.Sprintf("t%d", tid)}
}

// script makes events of lines, for people:
//
//	MS queue|issue|complete|requeue DEVICE RWBS SECTOR+SECTORS [COMMAND/]TID [error]
//	MS remap DEVICE RWBS SECTOR+SECTORS TID from DEVICE SECTOR
//	MS enter|leave DEVICE INODE TID [datasync or result]
//	lost N
func (k kernel) script(t *testing.T, text string) []ring.Event {
	t.Helper()
	var events []ring.Event
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if words[0] == "lost" {
			events = append(events, ring.Event{Kind: ring.Lost, Times: number(t, words[1])})
			continue
		}
		events = append(events, k.line(t, words))
	}
	return events
}

func (k kernel) line(t *testing.T, words []string) ring.Event {
	t.Helper()
	words = append(words, "0", "0", "0")
	timeNS := number(t, words[0]) * 1_000_000
	values := map[string]any{"dev": deviceNumber(t, words[2])}
	if words[1] == "enter" || words[1] == "leave" {
		system := map[bool]string{true: "f2fs", false: "ext4"}[words[2] == "254:0"]
		values["ino"], values["common_pid"] = number(t, words[3]), number(t, words[4])
		if words[1] == "enter" {
			values["datasync"] = number(t, words[5])
			return k.event(system+"_sync_file_enter", timeNS, values)
		}
		values["ret"] = number(t, words[5])
		return k.event(system+"_sync_file_exit", timeNS, values)
	}
	at, length, _ := strings.Cut(words[4], "+")
	slash := strings.LastIndexByte(words[5], '/')
	command, thread := words[5][:max(slash, 0)], words[5][slash+1:]
	values["rwbs"], values["comm"] = words[3], command
	values["sector"], values["nr_sector"] = number(t, at), number(t, length)
	values["bytes"], values["common_pid"] = number(t, length)*512, number(t, thread)
	name := map[string]string{
		"queue": "block_bio_queue", "issue": "block_rq_issue", "complete": "block_rq_complete",
		"requeue": "block_rq_requeue", "remap": "block_bio_remap",
	}[words[1]]
	if words[1] == "remap" {
		values["old_dev"], values["old_sector"] = deviceNumber(t, words[7]), number(t, words[8])
	} else {
		values["error"] = number(t, words[6])
	}
	return k.event(name, timeNS, values)
}

// number reads a number; -1 has all bits set.
func number(t *testing.T, text string) uint64 {
	t.Helper()
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return uint64(value)
}

func deviceNumber(t *testing.T, text string) uint64 {
	t.Helper()
	major, minor, _ := strings.Cut(text, ":")
	return number(t, major)<<20 | number(t, minor)
}

// kept are the records that were written.
type kept struct {
	records []blockio.Record
	err     error
}

func (k *kept) Write(row rows.Row) error {
	record, is := row.(*blockio.Record)
	if !is {
		return errors.New("no record")
	}
	k.records = append(k.records, *record)
	return k.err
}

// recorded are the records of a script.
func recorded(t *testing.T, k kernel, script string) (records []blockio.Record, counts blockio.Counts) {
	t.Helper()
	var out kept
	recorder := blockio.NewRecorder(k.decoder(t), names{}, &out)
	if err := errors.Join(recorder.Feed(k.script(t, script)), recorder.Finish()); err != nil {
		t.Fatal(err)
	}
	if len(recorder.Refusals) > 0 {
		t.Fatal(recorder.Refusals)
	}
	return out.records, recorder.Counts
}

// discarding counts nothing and keeps nothing.
type discarding struct{}

func (*discarding) Write(rows.Row) error { return nil }
