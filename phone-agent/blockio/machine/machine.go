// SPDX-License-Identifier: Apache-2.0

// Package machine knows the block devices and processes of this machine, by sysfs and procfs.
package machine

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/airbound/airbound/phone-agent/blockio"
)

// Machine is where its files are.
type Machine struct {
	// Proc is where the proc file system is, Sys is sysfs.
	Proc, Sys string
}

// The kernel's own form of a device number (include/linux/kdev_t.h).
const minorBits = 20

func number(major, minor uint64) uint32 {
	return uint32(major<<minorBits | minor&(1<<minorBits-1)) //nolint:gosec // 12 and 20 bits
}

func text(device uint32) string {
	return fmt.Sprintf("%d:%d", device>>minorBits, device&(1<<minorBits-1))
}

func parse(text string) (uint32, error) {
	major, minor, found := strings.Cut(strings.TrimSpace(text), ":")
	first, errFirst := strconv.ParseUint(major, 10, 12)
	second, errSecond := strconv.ParseUint(minor, 10, minorBits)
	if !found || errFirst != nil || errSecond != nil {
		return 0, fmt.Errorf("%q is no number of a device", text)
	}
	return number(first, second), nil
}

// Device looks a device up. One that is not there has its number as its name.
func (m Machine) Device(device uint32) blockio.Device {
	unknown := blockio.Device{Name: text(device), Disk: device}
	folder, err := m.folder(text(device))
	if err != nil {
		return unknown
	}
	found := blockio.Device{
		Name: nameOf(folder), Disk: device, Stacked: exists(filepath.Join(folder, "dm")), Mount: m.mounts()[device],
	}
	if exists(filepath.Join(folder, "partition")) {
		if found.Disk, err = numberOf(filepath.Dir(folder)); err != nil {
			return unknown
		}
	}
	return found
}

// Exists reports whether the machine has a device of this number.
func (m Machine) Exists(device uint32) bool {
	_, err := m.folder(text(device))
	return err == nil
}

// folder is a device's own one in sysfs, by its number.
func (m Machine) folder(number string) (string, error) {
	return filepath.EvalSymlinks(filepath.Join(m.Sys, "dev", "block", number))
}

// nameOf is a device's name; sysfs has an exclamation mark for a slash.
func nameOf(folder string) string { return strings.ReplaceAll(filepath.Base(folder), "!", "/") }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func numberOf(folder string) (uint32, error) {
	content, err := os.ReadFile(filepath.Join(folder, "dev"))
	if err != nil {
		return 0, err
	}
	return parse(string(content))
}

// mounts are the places where devices are mounted, the first of each. Without procfs there are none.
func (m Machine) mounts() map[uint32]string {
	places := map[uint32]string{}
	content, err := os.ReadFile(filepath.Join(m.Proc, "self", "mountinfo"))
	if err != nil {
		return places
	}
	// 36 35 98:0 /root /mount/point options ... (proc_pid_mountinfo(5))
	const deviceField, placeField = 2, 4
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(line)
		if len(fields) <= placeField {
			continue
		}
		device, err := parse(fields[deviceField])
		if _, known := places[device]; err == nil && !known {
			places[device] = unescaped(fields[placeField])
		}
	}
	return places
}

// unescaped has a blank for \040, and so on.
func unescaped(text string) string {
	for _, each := range []string{" ", "\t", "\n", "\\"} {
		text = strings.ReplaceAll(text, fmt.Sprintf("\\%03o", each[0]), each)
	}
	return text
}

// Process looks a thread up. One that has ended is not known.
func (m Machine) Process(tid uint32) blockio.Process {
	var found blockio.Process
	status, err := os.ReadFile(filepath.Join(m.Proc, strconv.FormatUint(uint64(tid), 10), "status"))
	if err != nil {
		return found
	}
	for line := bufio.NewScanner(bytes.NewReader(status)); line.Scan(); {
		key, value, _ := strings.Cut(line.Text(), ":")
		value = strings.TrimSpace(value)
		switch key {
		case "Name":
			found.Command = value
		case "Tgid":
			if pid, err := strconv.ParseUint(value, 10, 32); err == nil {
				found.PID = uint32(pid)
			}
		}
	}
	found.Name = found.Command // A thread of the kernel has no arguments.
	arguments, err := os.ReadFile(filepath.Join(m.Proc, strconv.FormatUint(uint64(found.PID), 10), "cmdline"))
	if first, _, _ := bytes.Cut(arguments, []byte{0}); err == nil && len(first) > 0 {
		found.Name = filepath.Base(string(first))
	}
	return found
}

// Stack is a device with those above and below it.
type Stack struct {
	Name   string
	Number uint32
	// All are the numbers of the device itself, of those above it (its partitions, devices of the device mapper) and of
	// those below it.
	All []uint32
	// Uppers are, unless the device is a whole disk, itself and those above it: requests of its disk are of others too.
	Uppers map[uint32]bool
}

// Find finds a device by its name ("sda2"), file ("/dev/block/by-name/userdata"), number ("8:2") or mount point
// ("/data").
func (m Machine) Find(wanted string) (Stack, error) {
	folder, err := m.find(wanted)
	if err != nil {
		return Stack{}, fmt.Errorf("no block device %s: %w", wanted, err)
	}
	stack := Stack{Name: nameOf(folder)}
	if stack.Number, err = numberOf(folder); err != nil {
		return Stack{}, fmt.Errorf("no block device %s: %w", wanted, err)
	}
	above := map[uint32]bool{stack.Number: true}
	collect(folder, above, uppersOf)
	all := map[uint32]bool{}
	collect(folder, all, lowersOf)
	if exists(filepath.Join(folder, "partition")) || exists(filepath.Join(folder, "dm")) {
		stack.Uppers = above
	}
	for device := range above {
		all[device] = true
	}
	for device := range all {
		stack.All = append(stack.All, device)
	}
	return stack, nil
}

func (m Machine) find(wanted string) (string, error) {
	if _, err := parse(wanted); err == nil {
		return m.folder(wanted)
	}
	if strings.HasPrefix(wanted, "/") {
		for device, place := range m.mounts() {
			if place == filepath.Clean(wanted) {
				return m.folder(text(device))
			}
		}
		file, err := filepath.EvalSymlinks(wanted)
		if err != nil {
			return "", errors.Unwrap(err)
		}
		wanted = filepath.Base(file)
	}
	return filepath.EvalSymlinks(filepath.Join(m.Sys, "class", "block", strings.ReplaceAll(wanted, "/", "!")))
}

// collect adds the numbers of a device's neighbours in a direction, and of theirs.
func collect(folder string, found map[uint32]bool, neighbours func(folder string) []string) {
	for _, next := range neighbours(folder) {
		device, err := numberOf(next)
		if err != nil || found[device] {
			continue
		}
		found[device] = true
		collect(next, found, neighbours)
	}
}

func uppersOf(folder string) []string {
	uppers := linked(filepath.Join(folder, "holders"))
	entries, _ := os.ReadDir(folder) // What cannot be read has none.
	for _, entry := range entries {
		if below := filepath.Join(folder, entry.Name()); entry.IsDir() && exists(filepath.Join(below, "partition")) {
			uppers = append(uppers, below)
		}
	}
	return uppers
}

func lowersOf(folder string) []string {
	if exists(filepath.Join(folder, "partition")) {
		return []string{filepath.Dir(folder)}
	}
	return linked(filepath.Join(folder, "slaves"))
}

func linked(folder string) []string {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var found []string
	for _, entry := range entries {
		if to, err := filepath.EvalSymlinks(filepath.Join(folder, entry.Name())); err == nil {
			found = append(found, to)
		}
	}
	return found
}

// HasFileSystem reports whether the kernel can mount such a file system.
func (m Machine) HasFileSystem(name string) bool {
	content, err := os.ReadFile(filepath.Join(m.Proc, "filesystems"))
	return err == nil && strings.Contains(string(content), "\t"+name+"\n")
}
