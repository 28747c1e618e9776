// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/airbound/airbound/phone-agent/blockio"
	"github.com/airbound/airbound/phone-agent/blockio/machine"
)

const (
	sda  = 8 << 20
	sda1 = sda + 1
	sda2 = sda + 2
	dm   = 254 << 20
	dm1  = dm + 1
	loop = 7 << 20
)

// phone is a machine: dm-1 on dm-0 on sda2; sda1; a loop device.
//
//	dm-1 (254:1, /data) -> dm-0 (254:0) -> sda2 (8:2) \
//	                                       sda1 (8:1, "/a b") - sda (8:0)          loop0 (7:0)
func phone(t *testing.T) machine.Machine {
	t.Helper()
	m := machine.Machine{Proc: filepath.Join(t.TempDir(), "proc"), Sys: filepath.Join(t.TempDir(), "sys")}
	file := func(path, text string) {
		t.Helper()
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}
	link := func(from, to string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(from), 0o700), os.Symlink(to, from)); err != nil {
			t.Fatal(err)
		}
	}
	devices := filepath.Join(m.Sys, "devices")
	for folder, number := range map[string]string{
		"sda": "8:0", "sda/sda1": "8:1", "sda/sda2": "8:2", "dm-0": "254:0", "dm-1": "254:1", "loop0": "7:0",
	} {
		place := filepath.Join(devices, folder)
		file(filepath.Join(place, "dev"), number+"\n")
		link(filepath.Join(m.Sys, "class", "block", filepath.Base(folder)), place)
		link(filepath.Join(m.Sys, "dev", "block", number), place)
	}
	file(filepath.Join(devices, "sda", "sda1", "partition"), "1\n")
	file(filepath.Join(devices, "sda", "sda2", "partition"), "2\n")
	file(filepath.Join(devices, "dm-0", "dm", "name"), "crypt\n")
	file(filepath.Join(devices, "dm-1", "dm", "name"), "userdata\n")
	link(filepath.Join(devices, "sda", "sda2", "holders", "dm-0"), filepath.Join(devices, "dm-0"))
	link(filepath.Join(devices, "dm-0", "slaves", "sda2"), filepath.Join(devices, "sda", "sda2"))
	link(filepath.Join(devices, "dm-0", "holders", "dm-1"), filepath.Join(devices, "dm-1"))
	link(filepath.Join(devices, "dm-1", "slaves", "dm-0"), filepath.Join(devices, "dm-0"))
	file(filepath.Join(m.Proc, "self", "mountinfo"), `22 1 8:1 / /a\040b rw - ext4 /dev/sda1 rw
23 1 254:1 / /data rw - f2fs /dev/dm-1 rw
24 1 254:1 /x /data/again rw - f2fs /dev/dm-1 rw
25 1 0:99 / /proc rw
nonsense
`)
	file(filepath.Join(m.Proc, "filesystems"), "nodev\tproc\n\text4\n")
	file(filepath.Join(m.Proc, "123", "status"), "Name:\tBinder:1\nTgid:\t100\n")
	file(filepath.Join(m.Proc, "100", "cmdline"), "/system/bin/com.example.app\x00--x\x00")
	file(filepath.Join(m.Proc, "40", "status"), "Name:\tjbd2/sda1-8\nTgid:\t40\n")
	file(filepath.Join(m.Proc, "40", "cmdline"), "")
	return m
}

func TestDevice(t *testing.T) {
	t.Parallel()
	m := phone(t)
	for number, want := range map[uint32]blockio.Device{
		sda:  {Name: "sda", Disk: sda},
		sda1: {Name: "sda1", Disk: sda, Mount: "/a b"},
		dm1:  {Name: "dm-1", Disk: dm1, Stacked: true, Mount: "/data"},
		99:   {Name: "0:99", Disk: 99},
	} {
		if got := m.Device(number); got != want {
			t.Errorf("%d: %+v, want %+v", number, got, want)
		}
	}
	if !m.Exists(loop) || m.Exists(loop+1) {
		t.Error("of 7:0 and 7:1 only the first exists")
	}
	if !m.HasFileSystem("ext4") || m.HasFileSystem("ext") || m.HasFileSystem("f2fs") {
		t.Error("ext4 is the only file system")
	}
}

func TestProcess(t *testing.T) {
	t.Parallel()
	m := phone(t)
	for tid, want := range map[uint32]blockio.Process{
		123: {PID: 100, Name: "com.example.app", Command: "Binder:1"},
		40:  {PID: 40, Name: "jbd2/sda1-8", Command: "jbd2/sda1-8"},
		7:   {},
	} {
		if got := m.Process(tid); got != want {
			t.Errorf("%d: %+v, want %+v", tid, got, want)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	m := phone(t)
	node := filepath.Join(t.TempDir(), "userdata")
	if err := errors.Join(os.WriteFile(filepath.Join(filepath.Dir(node), "dm-1"), nil, 0o600),
		os.Symlink("dm-1", node)); err != nil {
		t.Fatal(err)
	}
	everything := []uint32{sda, sda1, sda2, dm, dm1}
	mapped := []uint32{sda, sda2, dm, dm1}
	for name, want := range map[string]struct {
		name        string
		all, uppers []uint32
	}{
		"sda":   {"sda", everything, nil},
		"8:0":   {"sda", everything, nil},
		"sda1":  {"sda1", []uint32{sda, sda1}, []uint32{sda1}},
		"/a b":  {"sda1", []uint32{sda, sda1}, []uint32{sda1}},
		"sda2":  {"sda2", mapped, []uint32{sda2, dm, dm1}},
		"/data": {"dm-1", mapped, []uint32{dm1}},
		node:    {"dm-1", mapped, []uint32{dm1}},
		"loop0": {"loop0", []uint32{loop}, nil},
	} {
		got, err := m.Find(name)
		slices.Sort(got.All)
		if err != nil || got.Name != want.name || !slices.Equal(got.All, want.all) ||
			!slices.Equal(slices.Sorted(maps.Keys(got.Uppers)), want.uppers) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, name := range []string{"sdb", "9:9", "/nowhere", ""} {
		if _, err := m.Find(name); err == nil || !strings.HasPrefix(err.Error(), "no block device "+name+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
